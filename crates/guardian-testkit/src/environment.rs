//! Programs that tests start.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

/// A command with empty input, a home of its own, and an environment that is the same for
/// everybody: PATH is kept, nothing else is.
#[must_use]
pub fn scrubbed_command(program: impl AsRef<OsStr>, home: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear();
    if let Some(path) = std::env::var_os("PATH") {
        command.env("PATH", path);
    }
    command
        .env("HOME", home)
        .env("LANG", "C.UTF-8")
        .env("LC_ALL", "C.UTF-8")
        .env("TZ", "UTC")
        .env("TERM", "dumb")
        .env("XDG_CONFIG_HOME", home.join(".config"))
        .env("XDG_DATA_HOME", home.join(".local/share"))
        .env("XDG_CACHE_HOME", home.join(".cache"))
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_TERMINAL_PROMPT", "0")
        .stdin(Stdio::null());
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_sees_nothing_of_the_environment_of_the_tests() {
        let output = scrubbed_command("env", Path::new("/nowhere"))
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains("HOME=/nowhere\n"));
        assert!(!text.contains("CARGO"), "{text}");
    }
}
