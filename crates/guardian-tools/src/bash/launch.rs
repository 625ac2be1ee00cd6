//! Starting the shell: its arguments, and the retry when the system has no process to give.

use std::ffi::OsString;
use std::io;
use std::process::{Child, Command};
use std::time::Duration;

/// Linux takes at most 128 KiB in one argument; a longer command goes as several.
const ARGUMENT_BYTES: usize = 100 * 1024;

/// The arguments with which bash runs `command` and nothing else: no profile, no rc file, and no
/// part of the text can be taken for an option.
///
/// A long text is handed over in pieces that the shell joins and evaluates, with the positional
/// parameters cleared first (in the same line, so that line numbers stay).
pub(super) fn bash_arguments(command: &str) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = ["--noprofile", "--norc", "-c", "--"].map(Into::into).into();
    if command.len() <= ARGUMENT_BYTES {
        arguments.push(command.into());
        return arguments;
    }
    let pieces = split_at_characters(command, ARGUMENT_BYTES);
    let joined: String = (1..=pieces.len())
        .map(|number| format!("${{{number}}}"))
        .collect();
    arguments.push(format!("eval \"set --; {joined}\"").into());
    arguments.push("bash".into());
    arguments.extend(pieces.into_iter().map(Into::into));
    arguments
}

fn split_at_characters(mut text: &str, bytes: usize) -> Vec<&str> {
    let mut pieces = Vec::new();
    while text.len() > bytes {
        let (piece, rest) = text.split_at(text.floor_char_boundary(bytes));
        pieces.push(piece);
        text = rest;
    }
    pieces.push(text);
    pieces
}

/// Starts a process; waits a little when the system has none to give. What has started is never
/// started again.
///
/// # Errors
/// What the last attempt said.
pub(super) fn spawn_with_retry(command: &mut Command) -> io::Result<Child> {
    let mut pause = Duration::from_millis(10);
    for _ in 0..5 {
        match command.spawn() {
            Err(error) if is_exhaustion(&error) => {
                std::thread::sleep(pause);
                pause *= 2;
            }
            other => return other,
        }
    }
    command.spawn()
}

/// Did the system refuse for lack of processes, memory or file descriptors?
pub(super) fn is_exhaustion(error: &io::Error) -> bool {
    use rustix::io::Errno;
    [Errno::AGAIN, Errno::NOMEM, Errno::MFILE, Errno::NFILE]
        .iter()
        .any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_end_between_characters() {
        assert_eq!(split_at_characters("aäb", 2), ["a", "ä", "b"]);
        assert_eq!(split_at_characters("", 2), [""]);
    }

    #[test]
    fn a_text_that_looks_like_an_option_is_a_command() {
        let arguments = bash_arguments("-x");
        assert_eq!(arguments.last().unwrap(), "-x");
        assert_eq!(arguments[arguments.len() - 2], "--");
    }
}
