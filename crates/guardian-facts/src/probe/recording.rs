//! A probe that keeps what was asked.

use std::path::Path;
use std::sync::Mutex;

use super::{FileContent, LinkOrDirectory, PathProbe, ProbeEntry, ProbeLog, Resolved, SecretLook};

/// Passes every question on and keeps it with its answer.
pub struct RecordingProbe<'a> {
    inner: &'a dyn PathProbe,
    log: Mutex<Vec<ProbeEntry>>,
}

impl<'a> RecordingProbe<'a> {
    /// Wraps a probe.
    #[must_use]
    pub fn new(inner: &'a dyn PathProbe) -> Self {
        Self {
            inner,
            log: Mutex::new(Vec::new()),
        }
    }

    /// Everything that was asked, in order.
    #[must_use]
    pub fn into_log(self) -> ProbeLog {
        ProbeLog(
            self.log
                .into_inner()
                .unwrap_or_else(std::sync::PoisonError::into_inner),
        )
    }

    fn keep(&self, question: &'static str, path: &Path, answer: String) {
        let mut log = self
            .log
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        log.push(ProbeEntry {
            question,
            path: path.to_owned(),
            answer,
        });
    }
}

impl PathProbe for RecordingProbe<'_> {
    fn resolve(&self, path: &Path) -> Resolved {
        let answer = self.inner.resolve(path);
        let text = match (&answer.error, answer.kind, answer.identity) {
            (Some(error), _, _) => format!("error: {error}"),
            (None, None, _) => format!("{} (missing)", answer.path.display()),
            (None, Some(kind), Some(id)) => {
                format!(
                    "{} ({kind:?}, {}:{}, links {})",
                    answer.path.display(),
                    id.device,
                    id.inode,
                    answer.links
                )
            }
            (None, Some(kind), None) => format!("{} ({kind:?})", answer.path.display()),
        };
        self.keep("resolve", path, text);
        answer
    }

    fn read_file(&self, path: &Path, max: usize) -> Option<FileContent> {
        let answer = self.inner.read_file(path, max);
        let text = answer.as_ref().map_or_else(
            || "unreadable".to_owned(),
            |content| format!("{} bytes, {}", content.size, content.hash),
        );
        self.keep("read", path, text);
        answer
    }

    fn list(&self, directory: &Path, max: usize) -> Option<Vec<String>> {
        let answer = self.inner.list(directory, max);
        let text = answer.as_ref().map_or_else(
            || "unreadable".to_owned(),
            |names| {
                let digest = digest(names.iter().flat_map(|name| name.bytes().chain([0])));
                format!("{} names, {digest:016x}", names.len())
            },
        );
        self.keep("list", directory, text);
        answer
    }

    fn links_and_directories(&self, directory: &Path, max: usize) -> Option<Vec<LinkOrDirectory>> {
        let answer = self.inner.links_and_directories(directory, max);
        let text = answer.as_ref().map_or_else(
            || "unreadable".to_owned(),
            |entries| {
                let digest = digest(entries.iter().flat_map(|entry| {
                    let end = if entry.is_link { 0 } else { b'/' };
                    entry.name.bytes().chain([end])
                }));
                format!("{} links and directories, {digest:016x}", entries.len())
            },
        );
        self.keep("links", directory, text);
        answer
    }

    fn look_for_secrets(
        &self,
        directory: &Path,
        max: usize,
        is_secret: &dyn Fn(&Path) -> bool,
    ) -> SecretLook {
        let answer = self.inner.look_for_secrets(directory, max, is_secret);
        self.keep("secrets", directory, format!("{answer:?}"));
        answer
    }
}

/// Names are part of the input: a changed directory is another answer.
fn digest(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
