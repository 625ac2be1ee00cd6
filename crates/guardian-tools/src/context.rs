//! What a body may use besides its input: limits, cancellation, and the traits through which this
//! crate reaches outward. The host implements them; tests do with a few lines.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use guardian_facts::classes::Hiding;

use crate::ToolFailure;
use crate::output::{ChangeBefore, UpcomingChange};

/// Limits of the file tools (SPEC §9). Values come from the configuration; [`Self::spec`] is what
/// the specification says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileLimits {
    /// Bytes of text in one result.
    pub result_bytes: usize,
    /// Lines in one result.
    pub result_lines: usize,
    /// Characters shown of one line.
    pub line_chars: usize,
    /// Files up to this many bytes are hashed for their tag; larger ones get the `s:` form.
    pub hashed_bytes: u64,
    /// Files up to this many bytes can be edited or replaced with an undo.
    pub snapshot_bytes: u64,
    /// Files larger than this are not edited at all (their bytes are held in memory).
    pub edit_bytes: u64,
    /// Images up to this many bytes are returned with their data.
    pub image_bytes: u64,
    /// How long a walk (Glob, Grep) or a read may take before it returns what it has.
    pub walk_time: Duration,
    /// Threads of one walk.
    pub walk_threads: usize,
}

impl FileLimits {
    /// The values of SPEC §9, with as many threads as the machine has cores (at most 8).
    #[must_use]
    pub fn spec() -> Self {
        Self {
            result_bytes: 48 * 1024,
            result_lines: 2000,
            line_chars: 2000,
            hashed_bytes: 16 * 1024 * 1024,
            snapshot_bytes: 16 * 1024 * 1024,
            edit_bytes: 64 * 1024 * 1024,
            image_bytes: 4 * 1024 * 1024,
            walk_time: Duration::from_secs(30),
            walk_threads: cores().min(8),
        }
    }
}

/// Cores that this process may use. Asked once: the answer is read from the control groups, which
/// takes twenty system calls, and every call of a tool has limits.
fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| std::thread::available_parallelism().map_or(1, std::num::NonZero::get))
}

/// Tells a running body that its call was aborted. Asked often: must be cheap.
pub trait Cancel: Send + Sync {
    /// True once the call was aborted; never becomes false again.
    fn is_cancelled(&self) -> bool;
}

/// A call that nobody can abort.
#[derive(Debug, Clone, Copy)]
pub struct NeverCancelled;

impl Cancel for NeverCancelled {
    fn is_cancelled(&self) -> bool {
        false
    }
}

impl Cancel for std::sync::atomic::AtomicBool {
    fn is_cancelled(&self) -> bool {
        self.load(std::sync::atomic::Ordering::Relaxed)
    }
}

/// What a session knows of a file that it met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Look {
    /// Its content, or a part of it, was shown or written.
    Content,
    /// Only which version it is: a Read that refused it as binary, an image that was described.
    /// A Write over this version is not stale, but still one over content that was never read.
    Version,
}

/// A file as a session last met it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenFile {
    /// Its tag then.
    pub tag: String,
    /// What was seen.
    pub look: Look,
}

/// The last tag that Read, Write or Edit met, per (session, canonical path). The host binds the
/// session.
pub trait FileTags: Send + Sync {
    /// This file as the session last met it; `None` when it never did.
    fn last(&self, canonical: &Path) -> Option<SeenFile>;

    /// Keeps the tag that a body met.
    fn remember(&self, canonical: &Path, tag: &str, look: Look);

    /// Was any content of this file shown or written in the session?
    fn has_read(&self, canonical: &Path) -> bool {
        self.last(canonical)
            .is_some_and(|seen| seen.look == Look::Content)
    }

    /// Keeps the tag of a file whose content was not shown. What the session knows of the same
    /// version already is not forgotten.
    fn remember_version(&self, canonical: &Path, tag: &str) {
        if self.last(canonical).is_none_or(|seen| seen.tag != tag) {
            self.remember(canonical, tag, Look::Version);
        }
    }
}

/// Keeps the bytes of a file as they were before a change, so that the change can be undone.
pub trait SnapshotSink: Send + Sync {
    /// Keeps `bytes` (content-addressed, redaction must not touch them) and returns the key under
    /// which they are found again.
    ///
    /// # Errors
    /// Why they could not be kept (quota, disk), in words for a notice. The change then goes on
    /// with `reversible: false`.
    fn keep(&self, bytes: &[u8]) -> Result<String, String>;

    /// Notes a change of the workspace that is about to be made, so that it is on record even when
    /// this process does not live to say that it was made. Called after [`Self::keep`], before the
    /// disk changes; the change may still fail or be aborted then.
    ///
    /// # Errors
    /// Why it could not be noted. The change is not made then.
    fn about_to_change(&self, change: &UpcomingChange) -> Result<(), String>;

    /// [`Self::keep`] and, if the bytes are kept, [`Self::about_to_change`]: one of the two that
    /// every change of an existing file calls, for sinks that can do both at once.
    ///
    /// # Errors
    /// As [`Self::about_to_change`].
    fn keep_and_note(&self, bytes: &[u8], change: &UpcomingChange) -> Result<Keeping, String> {
        let key = match self.keep(bytes) {
            Ok(key) => key,
            Err(why) => return Ok(Keeping::Refused(why)),
        };
        let mut change = change.clone();
        if let ChangeBefore::Bytes { key: kept, .. } = &mut change.before {
            *kept = Some(key.clone());
        }
        self.about_to_change(&change)?;
        Ok(Keeping::Kept(key))
    }
}

/// What became of bytes that were to be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Keeping {
    /// They are, under this key, and the change is noted.
    Kept(String),
    /// They are not, for this reason, and nothing is noted.
    Refused(String),
}

/// Which files an implicit walk leaves out, whatever the ignore files say (SPEC §3: secret files
/// and sensitive paths). Implemented over the path classes of guardian-facts.
pub trait HiddenFiles: Send + Sync {
    /// What a walk leaves out of one directory (absolute, canonical). Asked once per directory.
    fn beneath<'a>(&'a self, directory: &Path) -> Box<dyn HiddenNames + 'a>;
}

/// Which entries of one directory a walk leaves out.
pub trait HiddenNames {
    /// May a walk name and open this file, or descend into this directory? Asked of every entry:
    /// must be cheap.
    fn hiding(&self, name: &OsStr) -> Hiding;
}

/// Hides nothing. For tests and for walks beneath scratch, where the classes do not apply.
#[derive(Debug, Clone, Copy)]
pub struct NothingHidden;

impl HiddenFiles for NothingHidden {
    fn beneath<'a>(&'a self, _directory: &Path) -> Box<dyn HiddenNames + 'a> {
        Box::new(Self)
    }
}

impl HiddenNames for NothingHidden {
    fn hiding(&self, _name: &OsStr) -> Hiding {
        Hiding::Shown
    }
}

/// Did the client declare that its model sees images?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Vision {
    /// Yes: images come with their data.
    Declared,
    /// No: images are described only.
    Absent,
}

/// Everything a file tool body may use besides its bound input.
#[derive(Clone, Copy)]
pub struct ToolContext<'a> {
    /// Limits.
    pub limits: &'a FileLimits,
    /// Abort of this call.
    pub cancel: &'a dyn Cancel,
    /// When the call's own time ends (`timeoutMs`, or 30 s); `None` for no limit besides
    /// [`FileLimits::walk_time`].
    pub deadline: Option<Instant>,
    /// Last tags of the session.
    pub tags: &'a dyn FileTags,
    /// Where before-bytes go; `None` when the session keeps none.
    pub snapshots: Option<&'a dyn SnapshotSink>,
    /// What walks leave out.
    pub hidden: &'a dyn HiddenFiles,
    /// Whether images are sent.
    pub vision: Vision,
}

impl ToolContext<'_> {
    /// The way out at every step before the point of no return.
    pub(crate) fn check(&self) -> Result<(), ToolFailure> {
        if self.cancel.is_cancelled() {
            return Err(ToolFailure::aborted());
        }
        if self
            .deadline
            .is_some_and(|deadline| Instant::now() >= deadline)
        {
            return Err(ToolFailure::timed_out());
        }
        Ok(())
    }
}
