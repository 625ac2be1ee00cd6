//! Reading shell text: from the text of a `Bash` call to its [`Facts`] (SPEC §6.1).

use std::path::Path;

use crate::{FactContext, Facts, Opacity, Reading, Span};

/// The language of a shell text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dialect {
    /// GNU bash 5; POSIX `sh` text is read as bash.
    Bash,
    /// PowerShell: never Complete.
    PowerShell,
    /// Windows `cmd`: never Complete.
    Cmd,
}

/// Reads the text of a `Bash` call that starts in `cwd` (absolute).
///
/// Total: never fails. What could not be read makes [`Facts::reading`] Partial.
#[must_use]
pub fn read(command: &str, cwd: &Path, cx: &FactContext<'_>) -> Facts {
    read_dialect(Dialect::Bash, command, cwd, cx)
}

/// [`read`] for a shell of another dialect (SPEC §10: the shell that the turn has pinned).
#[must_use]
pub fn read_dialect(dialect: Dialect, command: &str, _cwd: &Path, _cx: &FactContext<'_>) -> Facts {
    let mut facts = Facts::empty("Bash");
    facts.reading = Reading::Partial;
    facts.opacity.push(Opacity {
        span: Some(Span {
            start: 0,
            end: command.len(),
        }),
        code: "unread",
        reason: format!("{dialect:?} text is not read yet"),
        command: None,
    });
    facts.summary = "runs a command that could not be read".to_owned();
    facts
}
