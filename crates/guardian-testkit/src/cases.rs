//! The case files: inputs that users of coding agents stumbled over, with the right outcome.
//!
//! They lie beside the repository (`../shared/cases`), not in it. Where they are absent the
//! readers return `None` after printing a notice, so that a clone elsewhere stays green.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;

/// What should happen; the first word of `expect`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Expectation {
    /// Runs without a prompt.
    Allow,
    /// A person decides; a denial passes too.
    Ask,
    /// Never runs.
    Deny,
    /// A result or a fact, described in words.
    Result,
}

/// One command of `commands-*.jsonl`: preset `balanced`, permission mode `ask`, mode agent, a
/// person attached, nothing accepted before.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandCase {
    /// Unique.
    pub id: String,
    /// The Bash command.
    pub command: String,
    /// See [`CommandCase::expectation`].
    pub expect: String,
    /// Why.
    pub why: String,
    /// What it is about.
    pub kind: String,
}

/// One case of `reports.jsonl`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReportCase {
    /// Unique.
    pub id: String,
    /// What it is about.
    pub area: String,
    /// What is done.
    pub input: ReportInput,
    /// See [`ReportCase::expectation`].
    pub expect: String,
    /// Why.
    pub why: String,
}

/// What is done in a report. `setup`, `then` and `reviewer` are prose: such a case needs test code
/// of its own.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ReportInput {
    /// The tool, when there is one.
    pub tool: Option<String>,
    /// Its arguments.
    pub args: Option<serde_json::Value>,
    /// Rules in the notation of the case files.
    pub rules: Option<serde_json::Value>,
    /// Everything else.
    #[serde(flatten)]
    pub rest: serde_json::Map<String, serde_json::Value>,
}

/// The three files of commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CommandFile {
    /// What agents run all day: the measure of friction.
    Everyday,
    /// Commands that look harmless or dangerous and are not.
    Trick,
    /// Attacks.
    Adversarial,
}

impl CommandFile {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Everyday, Self::Trick, Self::Adversarial];

    fn name(self) -> &'static str {
        match self {
            Self::Everyday => "commands-everyday.jsonl",
            Self::Trick => "commands-trick.jsonl",
            Self::Adversarial => "commands-adversarial.jsonl",
        }
    }
}

impl CommandCase {
    /// What should happen.
    ///
    /// # Panics
    /// When the word is not one of the four: the file is wrong.
    #[must_use]
    pub fn expectation(&self) -> Expectation {
        expectation(&self.id, &self.expect)
    }
}

impl ReportCase {
    /// What should happen.
    ///
    /// # Panics
    /// When the word is not one of the four: the file is wrong.
    #[must_use]
    pub fn expectation(&self) -> Expectation {
        expectation(&self.id, &self.expect)
    }
}

#[expect(
    clippy::panic,
    reason = "a case file that is wrong must fail the test that reads it"
)]
fn expectation(id: &str, expect: &str) -> Expectation {
    // Either passes, as for `ask`.
    if expect.starts_with("deny/ask") || expect.starts_with("ask/deny") {
        return Expectation::Ask;
    }
    let word: String = expect
        .chars()
        .take_while(char::is_ascii_alphabetic)
        .collect();
    match word.as_str() {
        "allow" => Expectation::Allow,
        "ask" => Expectation::Ask,
        "deny" => Expectation::Deny,
        "result" => Expectation::Result,
        _ => panic!("case {id}: `{expect}` is no expectation"),
    }
}

/// The directory of the case files, whether or not it exists: `GUARDIAN_CASES`, or
/// `../shared/cases` beside the repository.
#[must_use]
pub fn directory() -> PathBuf {
    if let Some(directory) = std::env::var_os("GUARDIAN_CASES") {
        return PathBuf::from(directory);
    }
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/cases")
}

/// The commands of a file.
///
/// # Panics
/// When the file is there and cannot be read or understood.
#[must_use]
pub fn commands(file: CommandFile) -> Option<Vec<CommandCase>> {
    read(&directory(), file.name())
}

/// The reports.
///
/// # Panics
/// When the file is there and cannot be read or understood.
#[must_use]
pub fn reports() -> Option<Vec<ReportCase>> {
    read(&directory(), "reports.jsonl")
}

#[expect(
    clippy::panic,
    reason = "a case file that is wrong must fail the test that reads it"
)]
fn read<T: DeserializeOwned>(directory: &Path, name: &str) -> Option<Vec<T>> {
    let path = directory.join(name);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            eprintln!("notice: no case file {name}; its cases are not run");
            return None;
        }
        Err(error) => panic!("{}: {error}", path.display()),
    };
    let lines = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty());
    let cases = lines.map(|(index, line)| match serde_json::from_str(line) {
        Ok(case) => case,
        Err(error) => panic!("{name}:{}: {error}", index + 1),
    });
    Some(cases.collect())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_case_files_are_understood_and_their_ids_unique() {
        let mut ids = Vec::new();
        for file in CommandFile::ALL {
            for case in commands(file).unwrap_or_default() {
                assert_ne!(case.expectation(), Expectation::Result, "{}", case.id);
                ids.push(case.id);
            }
        }
        for case in reports().unwrap_or_default() {
            let _ = case.expectation();
            ids.push(case.id);
        }
        let unique: BTreeSet<&String> = ids.iter().collect();
        assert_eq!(unique.len(), ids.len());
    }

    #[test]
    fn an_absent_file_is_no_failure_and_a_broken_one_is() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(read::<CommandCase>(directory.path(), "none.jsonl"), None);
        std::fs::write(directory.path().join("bad.jsonl"), "{\"id\": 1}\n").unwrap();
        let path = directory.path().to_path_buf();
        let result = std::panic::catch_unwind(|| read::<CommandCase>(&path, "bad.jsonl"));
        assert!(result.is_err());
    }

    #[test]
    #[should_panic(expected = "no expectation")]
    fn an_unknown_expectation_fails() {
        expectation("x", "maybe");
    }
}
