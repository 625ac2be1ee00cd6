//! Publishing the head of the audit chain where an attacker of this machine's files cannot take it
//! back, so that a cut tail shows (SPEC §14).

use std::io::Write;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use guardian_store::Head;
use schemars::JsonSchema;
use serde::Deserialize;

/// Least time between two publications. What is held back goes out with the next one, or when the
/// host stops: after a crash the published head may be this much older than the chain.
const INTERVAL: Duration = Duration::from_secs(1);
/// Where the system's log listens.
const SYSLOG: &str = "/dev/log";
/// Facility authpriv, severity informational.
const PRIORITY: u8 = 10 * 8 + 6;

/// The section `[audit]` of the user's configuration.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct AuditConfig {
    /// Days that rows are kept (1–36500).
    pub retention_days: u32,
    /// Where the head of the chain is published: `file:/absolute/path` (a line is appended), or
    /// `syslog`.
    pub publish_head: Vec<String>,
}

impl Default for AuditConfig {
    /// 90 days, published nowhere.
    fn default() -> Self {
        Self {
            retention_days: 90,
            publish_head: Vec::new(),
        }
    }
}

/// A section `[audit]` that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`audit.{key}`: {reason}")]
pub struct AuditConfigError {
    key: &'static str,
    reason: String,
}

/// One place that heads go to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeadPlace {
    /// A line is appended to this file.
    File(PathBuf),
    /// A datagram is sent to this socket.
    Syslog(PathBuf),
}

impl AuditConfig {
    /// The places, checked.
    ///
    /// # Errors
    /// [`AuditConfigError`] with the key that is wrong.
    pub fn places(&self) -> Result<Vec<HeadPlace>, AuditConfigError> {
        if !(1..=36_500).contains(&self.retention_days) {
            return Err(AuditConfigError {
                key: "retentionDays",
                reason: "it must be between 1 and 36500".to_owned(),
            });
        }
        let place = |text: &String| match text.strip_prefix("file:").map(Path::new) {
            Some(path) if path.is_absolute() => Ok(HeadPlace::File(path.to_owned())),
            None if text == "syslog" => Ok(HeadPlace::Syslog(SYSLOG.into())),
            _ => Err(AuditConfigError {
                key: "publishHead",
                reason: format!("`{text}` is neither `syslog` nor `file:/absolute/path`"),
            }),
        };
        self.publish_head.iter().map(place).collect()
    }

    /// Milliseconds that rows are kept.
    #[must_use]
    pub fn retention_ms(&self) -> i64 {
        i64::from(self.retention_days) * 24 * 60 * 60 * 1000
    }
}

/// Publishes heads. Called by whoever commits, one at a time.
#[derive(Debug)]
pub struct HeadPublisher {
    places: Vec<HeadPlace>,
    interval: Duration,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    last: Option<Instant>,
    held_back: Option<Head>,
}

impl HeadPublisher {
    /// A publisher to these places.
    #[must_use]
    pub fn new(places: Vec<HeadPlace>) -> Self {
        Self::with_interval(places, INTERVAL)
    }

    fn with_interval(places: Vec<HeadPlace>, interval: Duration) -> Self {
        Self {
            places,
            interval,
            state: Mutex::default(),
        }
    }

    /// Publishes a head, now or with a later one.
    pub fn publish(&self, head: &Head) {
        if self.places.is_empty() {
            return;
        }
        let mut state = self
            .state
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if state
            .last
            .is_some_and(|last| last.elapsed() < self.interval)
        {
            state.held_back = Some(*head);
            return;
        }
        state.last = Some(Instant::now());
        state.held_back = None;
        drop(state);
        self.send(head);
    }

    fn send(&self, head: &Head) {
        for place in &self.places {
            let sent = match place {
                HeadPlace::File(path) => append_line(path, head),
                HeadPlace::Syslog(socket) => send_datagram(socket, head),
            };
            // Publishing is a second line of defence: the call it is about goes on.
            if let Err(error) = sent {
                tracing::warn!(%error, ?place, "the head of the record could not be published");
            }
        }
    }
}

impl Drop for HeadPublisher {
    fn drop(&mut self) {
        let state = self
            .state
            .get_mut()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(head) = state.held_back.take() {
            self.send(&head);
        }
    }
}

fn append_line(path: &Path, head: &Head) -> std::io::Result<()> {
    let mut file = std::fs::OpenOptions::new()
        .append(true)
        .create(true)
        .open(path)?;
    // One write, so that lines of several processes do not mix.
    file.write_all(format!("{}\n", head.to_line()).as_bytes())
}

fn send_datagram(socket: &Path, head: &Head) -> std::io::Result<()> {
    let sender = UnixDatagram::unbound()?;
    // A log that does not keep up must not hold the writer.
    sender.set_nonblocking(true)?;
    let text = format!(
        "<{PRIORITY}>guardian[{}]: audit head {}",
        std::process::id(),
        head.to_line()
    );
    sender.send_to(text.as_bytes(), socket).map(drop)
}

/// The furthest head in a text of published lines: a file of this module's, or lines of a system
/// log that end with a head.
#[must_use]
pub fn last_published(text: &str) -> Option<Head> {
    let head = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [.., seq, hash] = words.as_slice() else {
            return None;
        };
        Head::from_line(&format!("{seq} {hash}"))
    };
    text.lines().filter_map(head).max_by_key(|head| head.seq)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(seq: u64) -> Head {
        Head { seq, hash: [7; 32] }
    }

    #[test]
    fn places_are_checked() {
        let places = |text: &str| {
            AuditConfig {
                publish_head: vec![text.to_owned()],
                ..AuditConfig::default()
            }
            .places()
        };
        assert_eq!(
            places("file:/x/heads").unwrap(),
            [HeadPlace::File("/x/heads".into())]
        );
        assert_eq!(
            places("syslog").unwrap(),
            [HeadPlace::Syslog(SYSLOG.into())]
        );
        for bad in ["file:heads", "heads", "syslog:", "file:"] {
            assert!(places(bad).is_err(), "{bad}");
        }
        let never = AuditConfig {
            retention_days: 0,
            ..AuditConfig::default()
        };
        assert!(never.places().is_err());
    }

    #[test]
    fn the_first_and_the_last_head_are_published_however_fast_they_come() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("heads");
        let places = vec![HeadPlace::File(file.clone())];
        let publisher = HeadPublisher::with_interval(places, Duration::from_secs(3600));
        (1..=50).for_each(|seq| publisher.publish(&head(seq)));
        drop(publisher);
        let text = std::fs::read_to_string(&file).unwrap();
        assert_eq!(
            text,
            format!("{}\n{}\n", head(1).to_line(), head(50).to_line())
        );
        assert_eq!(last_published(&text), Some(head(50)));
    }

    #[test]
    fn a_system_log_gets_a_line_from_which_the_head_is_read_back() {
        let directory = tempfile::tempdir().unwrap();
        let socket = directory.path().join("log");
        let log = UnixDatagram::bind(&socket).unwrap();
        HeadPublisher::new(vec![HeadPlace::Syslog(socket)]).publish(&head(9));
        let mut buffer = [0; 512];
        let length = log.recv(&mut buffer).unwrap();
        let line = std::str::from_utf8(&buffer[..length]).unwrap();
        assert!(line.starts_with("<86>guardian["), "{line}");
        assert_eq!(last_published(line), Some(head(9)));
    }

    #[test]
    fn a_log_that_is_not_there_stops_nothing() {
        let place = HeadPlace::Syslog("/nonexistent/log".into());
        HeadPublisher::new(vec![place]).publish(&head(1));
    }
}
