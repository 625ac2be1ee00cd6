//! Ids of what could not be determined ([`crate::Opacity::code`]) that more than one place knows of.

/// A variable changes which program a name stands for, or what it reads first.
pub const EXECUTION_VARIABLE: &str = "execution-variable";
/// Code that ran in the same shell may have changed what follows.
pub const CODE_IN_THIS_SHELL: &str = "code-in-this-shell";
/// No entry of the catalogue is about the program.
pub const UNLISTED_PROGRAM: &str = "unlisted-program";
/// No entry is about the subcommand.
pub const UNLISTED_SUBCOMMAND: &str = "unlisted-subcommand";
/// The catalogue says that the program may do anything.
pub const OPAQUE_PROGRAM: &str = "opaque-program";
/// The program runs what the project says.
pub const PROJECT_CODE: &str = "project-code";
/// A program of `awk` that is not proven.
pub const AWK_PROGRAM: &str = "awk-program";
/// Which program runs is not known.
pub const UNKNOWN_PROGRAM: &str = "unknown-program";
/// A shell reads text that is not known.
pub const UNKNOWN_SHELL_TEXT: &str = "unknown-shell-text";
/// A program runs code that it reads from its input.
pub const STDIN_CODE: &str = "stdin-code";
/// A name may stand for other words.
pub const ALIAS: &str = "alias";
/// A name may stand for another program.
pub const HASH: &str = "hash";
/// A program runs a file.
pub const CODE_FILE: &str = "code-file";
/// A link may lead anywhere.
pub const LINK: &str = "link";
/// Options of the shell change how the rest is read.
pub const SHELL_OPTIONS: &str = "shell-options";

/// Causes for which a command is opaque although all of its words are known to be data.
pub const SAYS_NOTHING_OF_WORDS: &[&str] = &[
    EXECUTION_VARIABLE,
    CODE_IN_THIS_SHELL,
    LINK,
    "backup-path",
    "default-protocol",
    "git-config",
    "git-config-override",
    "git-hooks",
    "git-untracked",
    "names-from-file",
    "tool-version",
    "unknown-operand",
    "word-may-be-flag",
];

/// Programs without a flag table whose words are names and prose, not commands or code.
pub const TAKES_PROSE: &[&str] = &["gh", "glab", "hub", "tea"];
