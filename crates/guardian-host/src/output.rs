//! Output of a command on its way to the clients: the host's own secrets are taken out of it.
//!
//! This is the one alteration of what a model gets (SPEC §14): values of the host's secret
//! variables, in the output of commands only.

use std::sync::{Arc, Mutex, PoisonError};

use guardian_tools::bash::{OutputSink, OutputStream};

use crate::events::{Event, EventSink, Stream};
use crate::outcome::ToolRequest;

const MASK: &str = "[REDACTED:environment]";
/// An end that begins a secret with fewer characters says nothing about it.
const TELLING: usize = 4;

/// Emits what a command prints as it comes.
pub(crate) struct CommandOutput {
    events: Arc<dyn EventSink>,
    session_id: String,
    tool_call_id: String,
    own_secrets: Arc<[String]>,
    /// Of each stream the end that may turn out to be the beginning of a secret.
    held: Mutex<[String; 2]>,
}

impl CommandOutput {
    pub(crate) fn new(
        events: Arc<dyn EventSink>,
        request: &ToolRequest,
        own_secrets: Arc<[String]>,
    ) -> Self {
        Self {
            events,
            session_id: request.session_id.clone(),
            tool_call_id: request.tool_call_id.clone(),
            own_secrets,
            held: Mutex::default(),
        }
    }

    fn emit(&self, stream: OutputStream, seq: u64, chunk: String) {
        self.events.emit(Event::ToolOutput {
            session_id: self.session_id.clone(),
            tool_call_id: self.tool_call_id.clone(),
            stream: match stream {
                OutputStream::Stdout => Stream::Stdout,
                OutputStream::Stderr => Stream::Stderr,
            },
            seq,
            chunk,
        });
    }
}

impl OutputSink for CommandOutput {
    fn chunk(&self, stream: OutputStream, seq: u64, chunk: String) {
        let chunk = {
            let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
            let held = held_of(&mut held, stream);
            let text = mask(&(std::mem::take(held) + &chunk), &self.own_secrets);
            let (now, later) = text.split_at(text.len() - begun(&text, &self.own_secrets));
            *held = later.to_owned();
            now.to_owned()
        };
        // Empty when all of it is held back: a missing number would say that something was lost.
        self.emit(stream, seq, chunk);
    }

    fn finished(&self, next_seq: u64) {
        let mut seq = next_seq;
        for stream in [OutputStream::Stdout, OutputStream::Stderr] {
            let rest = {
                let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
                std::mem::take(held_of(&mut held, stream))
            };
            if !rest.is_empty() {
                self.emit(stream, seq, hide_begun(rest, &self.own_secrets));
                seq += 1;
            }
        }
    }
}

fn held_of(held: &mut [String; 2], stream: OutputStream) -> &mut String {
    let [stdout, stderr] = held;
    match stream {
        OutputStream::Stdout => stdout,
        OutputStream::Stderr => stderr,
    }
}

/// Masks the streams of a result, or of a job that still runs.
pub(crate) fn mask_streams(content: &mut serde_json::Value, own_secrets: &[String]) {
    for stream in ["stdout", "stderr"] {
        if let Some(text) = content.get(stream).and_then(serde_json::Value::as_str) {
            content[stream] = hide_begun(mask(text, own_secrets), own_secrets).into();
        }
    }
}

fn mask(text: &str, own_secrets: &[String]) -> String {
    let mut text = text.to_owned();
    for secret in own_secrets {
        if text.contains(secret.as_str()) {
            text = text.replace(secret.as_str(), MASK);
        }
    }
    text
}

/// An end that begins a secret whose rest was cut off, or has not come yet, is masked too.
fn hide_begun(mut text: String, own_secrets: &[String]) -> String {
    let begun = begun(&text, own_secrets);
    let from = text.len() - begun;
    if text
        .get(from..)
        .is_some_and(|end| end.chars().count() >= TELLING)
    {
        text.truncate(from);
        text.push_str(MASK);
    }
    text
}

/// Bytes at the end of the text that are the beginning of a secret.
fn begun(text: &str, own_secrets: &[String]) -> usize {
    own_secrets
        .iter()
        .filter_map(|secret| {
            (1..secret.len().min(text.len() + 1))
                .rev()
                .filter(|&length| secret.is_char_boundary(length))
                .find(|&length| text.ends_with(&secret[..length]))
        })
        .max()
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Default)]
    struct Kept(Mutex<Vec<(Stream, u64, String)>>);

    impl EventSink for Kept {
        fn emit(&self, event: Event) {
            if let Event::ToolOutput {
                stream, seq, chunk, ..
            } = event
            {
                self.0.lock().unwrap().push((stream, seq, chunk));
            }
        }
    }

    /// What a client sees of a text that comes in these pieces.
    fn shown(pieces: &[&str], secrets: &[&str]) -> (String, Vec<u64>) {
        let kept = Arc::new(Kept::default());
        let request = ToolRequest::new("s", "c", "Bash", serde_json::json!({}));
        let secrets: Arc<[String]> = secrets.iter().map(|one| (*one).to_owned()).collect();
        let output = CommandOutput::new(kept.clone(), &request, secrets);
        for (seq, piece) in pieces.iter().enumerate() {
            output.chunk(OutputStream::Stdout, seq as u64, (*piece).to_owned());
        }
        output.finished(pieces.len() as u64);
        let kept = kept.0.lock().unwrap();
        (
            kept.iter().map(|(.., chunk)| &**chunk).collect(),
            kept.iter().map(|(_, seq, _)| *seq).collect(),
        )
    }

    const SECRET: &str = "hunter2-hunter2";

    #[test]
    fn a_secret_that_a_chunk_splits_does_not_come_through() {
        let (text, numbers) = shown(&["a hunter2-", "hunter", "2 b"], &[SECRET]);
        assert_eq!(text, format!("a {MASK} b"));
        assert_eq!(numbers, [0, 1, 2]);
        // What only looked like one is not lost, and what was cut off does not tell.
        assert_eq!(shown(&["hunter2-", "x"], &[SECRET]).0, "hunter2-x");
        assert_eq!(shown(&["a h"], &[SECRET]), ("a h".to_owned(), vec![0, 1]));
        assert_eq!(shown(&["a hunter2-hun"], &[SECRET]).0, format!("a {MASK}"));
    }

    #[test]
    fn a_result_that_was_cut_within_a_secret_does_not_tell_it() {
        let mut content = serde_json::json!({"stdout": "x hunter2-hunte", "stderr": SECRET});
        mask_streams(&mut content, &[SECRET.to_owned()]);
        assert_eq!(content["stdout"], format!("x {MASK}"));
        assert_eq!(content["stderr"], MASK);
    }

    proptest! {
        #[test]
        fn chunks_show_what_the_whole_text_would(
            parts in prop::collection::vec(prop_oneof![
                Just("hunter2-hunter2".to_owned()), Just("hunter2-".to_owned()), "[a-zü]{0,6}",
            ], 0..8),
            cuts in prop::collection::vec(1usize..9, 0..30),
        ) {
            let text = parts.concat() + "."; // the end begins no secret
            let mut pieces = Vec::new();
            let mut rest = text.as_str();
            for cut in cuts {
                let at = rest.floor_char_boundary(cut.min(rest.len()));
                let (piece, after) = rest.split_at(at);
                pieces.push(piece);
                rest = after;
            }
            pieces.push(rest);
            let (shown, _) = shown(&pieces, &[SECRET]);
            prop_assert!(!shown.contains(SECRET));
            prop_assert_eq!(shown, mask(&text, &[SECRET.to_owned()]));
        }
    }
}
