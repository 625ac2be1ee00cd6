//! The backstop of self-protection (SPEC §7.2): inside a tool call, `guardian` refuses everything
//! but its read-only commands. The wall is the floor rule; this only catches what slips past it.

use crate::arguments::Command;

/// Set by guardian in the environment of every command it runs.
const INSIDE_CALL: &str = "GUARDIAN_INSIDE_CALL";

/// Why this command must not run here, if it must not.
pub(crate) fn refusal(command: &Command) -> Option<String> {
    std::env::var_os(INSIDE_CALL)?;
    match command {
        Command::Check(_) | Command::Explain(_) | Command::Doctor(_) | Command::Tools(_) => None,
        Command::Policy(_)
        | Command::Replay(_)
        | Command::Trust(_)
        | Command::Serve(_)
        | Command::Exec(_)
        | Command::Sessions(_)
        | Command::Plans(_)
        | Command::Audit(_)
        | Command::Review(_) => Some(
            "guardian does not run this command inside a tool call: an agent must not operate \
             the program that watches it"
                .to_owned(),
        ),
    }
}
