//! Exit codes. Part of the command line's contract: documented, and never reused.

/// How the process ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExitCode {
    /// Done; for `check`: allow.
    Done = 0,
    /// guardian itself could not do its work.
    Broken = 1,
    /// The command line or its JSON is wrong.
    Usage = 2,
    /// For `check`: a reviewer would be asked.
    Ask = 10,
    /// Denied.
    Denied = 11,
    /// The tool ran and failed.
    ToolFailed = 12,
    /// A policy file is wrong, or its cases are.
    Invalid = 13,
    /// A change could not be taken back.
    NotTakenBack = 14,
    /// A part of the input could not be read, so that the figures leave it out.
    NotAllRead = 15,
}

impl From<ExitCode> for std::process::ExitCode {
    fn from(code: ExitCode) -> Self {
        Self::from(code as u8)
    }
}

/// The table for `--help`.
pub(crate) const EXIT_CODES: &str = "Exit codes:
  0   done (check: allow)
  1   guardian could not do its work
  2   wrong usage, or what it names is not there
  10  check: a reviewer would be asked
  11  denied
  12  the tool ran and failed
  13  a policy file is wrong, or a case of `policy test`
  14  review: a change could not be taken back
  15  replay: a part of the transcripts could not be read";
