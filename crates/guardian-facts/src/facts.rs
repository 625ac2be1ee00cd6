//! Facts: the whole of what is known, and known to be unknown, of one call.

use crate::{Access, CommandFact};

/// A byte range in the text that an extractor read (the Bash command).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

/// Is every command that runs known, with argv, assignments and redirects?
///
/// Not to be mixed with [`crate::Effects`], which is about what one known command does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reading {
    /// Yes.
    Complete,
    /// Something may run that is not among the facts.
    Partial,
}

/// One thing that could not be determined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opacity {
    /// Where in the text, if it has a place there.
    pub span: Option<Span>,
    /// Stable kebab-case id, e.g. `unlisted-program`, `parse-error`, `inline-code`.
    pub code: &'static str,
    /// One sentence for people, lower-case.
    pub reason: String,
    /// The command that it belongs to; `None` when it makes the reading Partial.
    pub command: Option<usize>,
}

/// A network address that a call would reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// Host name or address; `None` when it depends on something unknown.
    pub host: Option<String>,
    /// Port, when written.
    pub port: Option<u16>,
    /// The command that reaches it.
    pub command: Option<usize>,
}

/// A file whose content the call runs as code (script operand, `source`, Makefile, …).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeFile {
    /// The file.
    pub path: crate::PathFact,
    /// BLAKE3 of its content, lower-case hex; `None` when it could not be read.
    pub hash: Option<String>,
    /// The command that runs it.
    pub command: usize,
}

/// A path that a word of an opaque command may name (`make -f /tmp/Makefile`, `xyzzy secrets`). What
/// is done with it is not known, so it is no access: an allow rule must not reach further than these
/// paths allow, a deny rule asks about them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedPath {
    /// Where it leads.
    pub target: crate::Target,
    /// The command whose word it is.
    pub command: usize,
}

/// Danger that the loose reading saw in text that the strict reading does not cover.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LooseFinding {
    /// Where.
    pub span: Span,
    /// Words of the suspected command, as written.
    pub words: Vec<String>,
    /// What it would be if it ran.
    pub facts: Box<Facts>,
    /// `true` in an error or unaccounted region with the hit in command position: may deny.
    /// `false` in opaque text (inline code, script files): only raises to ask.
    pub command_position: bool,
}

/// Everything that is known of one call. Policy looks at this and at nothing else of the call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// The tool's name.
    pub tool: String,
    /// What would be touched.
    pub accesses: Vec<Access>,
    /// What would run, in source order.
    pub commands: Vec<CommandFact>,
    /// What would be reached over the network.
    pub endpoints: Vec<Endpoint>,
    /// Files run as code.
    pub code_files: Vec<CodeFile>,
    /// What words of opaque commands may name, beyond what is among the accesses.
    pub named_paths: Vec<NamedPath>,
    /// What project commands run, as the project defines it.
    pub definitions: Vec<crate::Definition>,
    /// What could not be determined.
    pub opacity: Vec<Opacity>,
    /// Is every command known?
    pub reading: Reading,
    /// Targets of recursive deletes that git ignores in the workspace (resolved paths): the floor
    /// exempts regenerable directories among them (SPEC §7.3).
    pub git_ignored: Vec<std::path::PathBuf>,
    /// Indices of accesses, sorted, that may go through a link which an earlier command of the text brings
    /// (`git checkout other; echo hi > a`). Deny and ask rules take their places for unknown; the
    /// floor does not (docs/adr/0026).
    pub maybe_linked: Vec<usize>,
    /// What the loose reading saw; empty when `reading` is Complete and nothing is opaque.
    pub findings: Vec<LooseFinding>,
    /// One line for people: "deletes build/ in the workspace".
    pub summary: String,
}

impl Facts {
    /// Facts of a call of which nothing is known yet: complete and empty.
    #[must_use]
    pub fn empty(tool: impl Into<String>) -> Self {
        Self {
            tool: tool.into(),
            accesses: Vec::new(),
            commands: Vec::new(),
            endpoints: Vec::new(),
            code_files: Vec::new(),
            named_paths: Vec::new(),
            definitions: Vec::new(),
            opacity: Vec::new(),
            reading: Reading::Complete,
            git_ignored: Vec::new(),
            maybe_linked: Vec::new(),
            findings: Vec::new(),
            summary: String::new(),
        }
    }

    /// Facts of a call of which nothing can be known (an unregistered tool, a failed extractor).
    /// Never covered by anything but an explicit decision.
    #[must_use]
    pub fn unknown(tool: impl Into<String>, reason: impl Into<String>) -> Self {
        let tool = tool.into();
        let reason = reason.into();
        Self {
            summary: format!("calls `{tool}`, whose effects are not known"),
            reading: Reading::Partial,
            opacity: vec![Opacity {
                span: None,
                code: "unknown-tool",
                reason,
                command: None,
            }],
            ..Self::empty(tool)
        }
    }
}
