//! What a wrapper leaves of the environment for the command that it runs.

use super::environment::Inherited;
use super::reader::Reader;
use super::values::{State, Value};

/// Wrappers that hand on the environment as they got it. Of any other nothing is known.
const KEEP_ENVIRONMENT: [&str; 33] = [
    "bash",
    "rbash",
    "sh",
    "dash",
    "ash",
    "zsh",
    "ksh",
    "fish",
    "nice",
    "nohup",
    "stdbuf",
    "timeout",
    "time",
    "xargs",
    "find",
    "fd",
    "fdfind",
    "parallel",
    "strace",
    "ltrace",
    "setsid",
    "ionice",
    "chrt",
    "taskset",
    "flock",
    "watch",
    "script",
    "entr",
    "hyperfine",
    "command",
    "builtin",
    "eval",
    "exec",
];

/// What the flags of `env` do.
enum EnvFlag<'w> {
    Clears,
    Unsets(&'w str),
    UnsetsNext,
    SkipsNext,
    Nothing,
    Unknown,
}

impl Reader<'_> {
    /// The state in which the command at `index` runs another one.
    pub(super) fn handed_on(&self, index: usize, state: &mut State) {
        let Some(fact) = self.facts.commands.get(index) else {
            return;
        };
        match fact.program.name.as_deref() {
            Some("env") => {}
            Some(name) if KEEP_ENVIRONMENT.contains(&name) => return,
            _ => {
                if state.environment.inherited == Inherited::Kept {
                    state.environment.inherited = Inherited::Unknown;
                }
                return;
            }
        }
        let mut words = fact.argv.iter().skip(1);
        while let Some(word) = words.next() {
            let Some(text) = word.as_literal() else {
                if word.literal_prefix().contains('=') && !word.literal_prefix().starts_with('-') {
                    continue;
                }
                state.environment.inherited = Inherited::Unknown;
                return;
            };
            if text == "--" || (!text.starts_with('-') && !text.contains('=')) {
                return;
            }
            if !text.starts_with('-') {
                continue;
            }
            match env_flag(text) {
                EnvFlag::Clears => state.environment.clear(),
                EnvFlag::Unsets(name) => state.set(name, Value::Unset),
                EnvFlag::UnsetsNext => match words.next().and_then(|word| word.as_literal()) {
                    Some(name) => state.set(name, Value::Unset),
                    None => state.environment.clear(),
                },
                EnvFlag::SkipsNext => {
                    words.next();
                }
                EnvFlag::Nothing => {}
                EnvFlag::Unknown => state.environment.inherited = Inherited::Unknown,
            }
        }
    }
}

fn env_flag(text: &str) -> EnvFlag<'_> {
    if let Some(long) = text.strip_prefix("--") {
        let (name, value) = match long.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (long, None),
        };
        let begins = |whole: &str| !name.is_empty() && whole.starts_with(name);
        return match value {
            None if begins("ignore-environment") && name.len() > "ignore-".len() => EnvFlag::Clears,
            Some(value) if begins("unset") => EnvFlag::Unsets(value),
            None if begins("unset") => EnvFlag::UnsetsNext,
            Some(_) if begins("chdir") => EnvFlag::Nothing,
            None if begins("chdir") => EnvFlag::SkipsNext,
            None if begins("null") || (begins("debug") && name.len() > 2) => EnvFlag::Nothing,
            _ => EnvFlag::Unknown,
        };
    }
    let letters = text.get(1..).unwrap_or("");
    if letters.is_empty() {
        return EnvFlag::Clears;
    }
    for (at, letter) in letters.char_indices() {
        let rest = letters.get(at + 1..).unwrap_or("");
        match letter {
            'i' => return EnvFlag::Clears,
            '0' | 'v' => {}
            'u' if rest.is_empty() => return EnvFlag::UnsetsNext,
            'u' => return EnvFlag::Unsets(rest),
            'C' if rest.is_empty() => return EnvFlag::SkipsNext,
            'C' => return EnvFlag::Nothing,
            _ => return EnvFlag::Unknown,
        }
    }
    EnvFlag::Nothing
}
