//! The bodies of guardian's execution tools: Read, Glob, Grep, Write, Edit and Bash.
//!
//! This is the only crate that touches the user's files and starts processes. It knows neither
//! policy nor reviewers nor the store: it reaches outward only through the traits in
//! [`context`](ToolContext) ([`Cancel`], [`FileTags`], [`SnapshotSink`], [`HiddenFiles`]).
//!
//! The way of a file tool call: facts (with canonical paths, answered by [`RealProbe`]) →
//! [`bind`] opens exactly what was judged, as handles → the gate decides →
//! [`Permitted::assume_checked`] → [`run_file_tool`]. After a wait for an approval,
//! [`BoundInput::rebind`] makes sure that the target is still the approved one. Between check and
//! use travel handles, never path strings.

pub mod bash;

mod bind;
mod browser_preview;
mod change;
mod closest;
mod contained;
mod context;
mod diff;
mod document;
mod edit;
mod encoding;
mod failure;
mod file;
mod glob;
mod grep;
mod grep_file;
mod grep_lines;
mod hidden;
mod ignore_rules;
mod image;
mod matching;
mod metadata;
mod nearest;
mod newest;
mod open;
mod output;
mod pending;
mod preview;
mod probe;
mod read;
mod replace;
mod rollback;
mod roots;
mod run;
mod splice;
mod tag;
mod temporary;
mod walk;
mod walk_notice;
mod window;
mod write;

pub use bind::{Binding, Bound, BoundContent, BoundInput, BoundTarget, Permitted, bind};
pub use change::{Comparison, compare_contents};
pub use contained::{Contained, ContainedKind, Place};
pub use context::{
    Cancel, FileLimits, FileTags, HiddenFiles, HiddenNames, Keeping, Look, NeverCancelled,
    NothingHidden, SeenFile, SnapshotSink, ToolContext, Vision,
};
pub use diff::{Hunk, HunkLine, LineKind};
pub use document::{
    NewDocument, SMALL_FILE_BYTES, SmallFile, create_document, own_files, read_document, sha256_of,
    workspace_files,
};
pub use encoding::{Encoding, LineEnding};
pub use failure::{FailureCode, ToolFailure};
pub use guardian_facts::classes::Hiding;
pub use hidden::ClassesHidden;
pub use open::{Capabilities, Feature, Step, StepWatch, Unwatched};
pub use output::{ChangeBefore, ChangeOperation, ChangeRecord, ToolOutput, UpcomingChange};
pub use pending::{SweepReport, sweep_pending};
pub use preview::{ChangeOutlook, ChangePreview, prepare_change, preview};
pub use probe::RealProbe;
pub use rollback::{RestoreTo, RollbackOutcome, RollbackRequest, rollback};
pub use roots::{RootKind, Roots, RootsError};
pub use run::run_file_tool;
