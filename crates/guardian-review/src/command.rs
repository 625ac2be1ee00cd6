//! A program as reviewer.
//!
//! The request goes to its standard input as JSON ([`crate::wire::RequestV1`]); its standard output
//! is `{"decision": "allow-once" | "deny" | "abstain", "reason": "…"}`, or the bare word `abstain`.
//! Exit status 2 with nothing on standard output is a denial too, with standard error as the
//! reason, as hooks of several agents have it. Anything else, every other exit status than 0, and
//! lateness are failures.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use guardian_redact::one_line;
use serde::Deserialize;

use crate::wire::RequestV1;
use crate::{Answer, ReviewError, ReviewRequest, Reviewer, ReviewerKind};

/// Longest reason that is taken from standard error, in characters.
const REASON: usize = 600;

/// What a command printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewCommandOutput {
    /// Exit status; `None` when a signal ended it.
    pub exit_code: Option<i32>,
    /// Standard output, at most 64 KiB; cut output is a failure of [`ReviewCommand::run`].
    pub stdout: Vec<u8>,
    /// The beginning of standard error; may be cut.
    pub stderr: Vec<u8>,
}

/// A command that could not be run to its end.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReviewCommandError {
    /// It took too long and was ended with everything it had started.
    #[error("the command took too long")]
    TimedOut,
    /// It could not be started or read.
    #[error("the command could not be run: {0}")]
    Failed(String),
}

/// Runs a program for [`CommandReviewer`]. Implemented by the host with guardian-tools, which owns
/// every spawn: working directory is guardian's data directory, the environment is filtered.
#[async_trait]
pub trait ReviewCommand: Send + Sync {
    /// Runs `program` without arguments, gives it `stdin`, and returns when no process of it is
    /// alive, at the latest after `timeout`. Dropping the future ends the program.
    ///
    /// # Errors
    /// [`ReviewCommandError`] when there is no complete output.
    async fn run(
        &self,
        program: &Path,
        stdin: Vec<u8>,
        timeout: Duration,
    ) -> Result<ReviewCommandOutput, ReviewCommandError>;
}

/// Asks a program.
pub struct CommandReviewer {
    program: PathBuf,
    name: String,
    timeout: Duration,
    runner: Arc<dyn ReviewCommand>,
}

impl CommandReviewer {
    /// A reviewer that runs `program` (absolute).
    #[must_use]
    pub fn new(program: PathBuf, timeout: Duration, runner: Arc<dyn ReviewCommand>) -> Self {
        let name = format!("command:{}", program.display());
        Self {
            program,
            name,
            timeout,
            runner,
        }
    }
}

/// The JSON that a command prints.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CommandAnswer {
    decision: String,
    reason: Option<String>,
}

#[async_trait]
impl Reviewer for CommandReviewer {
    fn name(&self) -> &str {
        &self.name
    }

    fn kind(&self) -> ReviewerKind {
        ReviewerKind::Automatic
    }

    async fn review(&self, request: &ReviewRequest) -> Result<Answer, ReviewError> {
        let stdin = serde_json::to_vec(&RequestV1::of(request))
            .map_err(|error| ReviewError::Failed(error.to_string()))?;
        // The runner keeps the time; this one holds also when it does not.
        let late = ReviewError::TimedOut {
            after: self.timeout,
        };
        let grace = self.timeout + Duration::from_secs(2);
        let run = self.runner.run(&self.program, stdin, self.timeout);
        let output = match tokio::time::timeout(grace, run).await {
            Ok(Ok(output)) => output,
            Ok(Err(ReviewCommandError::TimedOut)) | Err(_) => return Err(late),
            Ok(Err(error)) => return Err(ReviewError::Failed(error.to_string())),
        };
        understand(&output)
    }
}

/// Reads a command's answer.
fn understand(output: &ReviewCommandOutput) -> Result<Answer, ReviewError> {
    let failed = |message: String| Err(ReviewError::Failed(message));
    match output.exit_code {
        Some(0) => {}
        Some(2) if output.stdout.trim_ascii().is_empty() => {
            let reason = String::from_utf8_lossy(&output.stderr);
            let reason: String = reason.trim().chars().take(REASON).collect();
            let feedback = Some(one_line(&reason)).filter(|reason| !reason.is_empty());
            return Ok(Answer::Deny { feedback });
        }
        Some(code) => return failed(format!("the command ended with status {code}")),
        None => return failed("the command was ended by a signal".to_owned()),
    }
    let Ok(text) = std::str::from_utf8(&output.stdout) else {
        return failed("the command's answer is not UTF-8".to_owned());
    };
    if text.trim() == "abstain" {
        return Ok(Answer::Abstain);
    }
    let answer: CommandAnswer = match serde_json::from_str(text) {
        Ok(answer) => answer,
        Err(error) => return failed(format!("the command's answer is not understood: {error}")),
    };
    match answer.decision.as_str() {
        "allow-once" => Ok(Answer::AllowOnce),
        "deny" => Ok(Answer::Deny {
            feedback: answer.reason,
        }),
        "abstain" => Ok(Answer::Abstain),
        other => failed(format!("the command answered `{}`", other.escape_debug())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(exit_code: Option<i32>, stdout: &str, expect: Result<Answer, &str>) {
        let output = ReviewCommandOutput {
            exit_code,
            stdout: stdout.as_bytes().to_vec(),
            stderr: b"not on a Friday\n".to_vec(),
        };
        match (understand(&output), expect) {
            (Ok(answer), Ok(expected)) => assert_eq!(answer, expected),
            (Err(error), Err(part)) => {
                assert!(
                    error.to_string().contains(part),
                    "`{error}` has no `{part}`"
                );
            }
            (got, expected) => panic!("{got:?} instead of {expected:?}"),
        }
    }

    #[test]
    fn the_documented_answers_are_understood() {
        check(
            Some(0),
            r#"{"decision":"allow-once"}"#,
            Ok(Answer::AllowOnce),
        );
        check(
            Some(0),
            r#"{"decision":"abstain","reason":"not mine"}"#,
            Ok(Answer::Abstain),
        );
        check(Some(0), "abstain\n", Ok(Answer::Abstain));
        let feedback = Some("use the staging host".to_owned());
        let deny = Answer::Deny { feedback };
        check(
            Some(0),
            r#"{"decision":"deny","reason":"use the staging host"}"#,
            Ok(deny),
        );
    }

    #[test]
    fn status_2_without_a_word_is_a_denial_with_its_reason() {
        let feedback = Some("not on a Friday".to_owned());
        check(Some(2), " \n", Ok(Answer::Deny { feedback }));
        check(Some(2), r#"{"decision":"allow-once"}"#, Err("status 2"));
        check(Some(126), "", Err("status 126"));
        check(Some(127), "", Err("status 127"));
    }

    #[test]
    fn nothing_else_is_an_allow() {
        check(Some(0), "", Err("not understood"));
        check(Some(0), "allow-once", Err("not understood"));
        check(Some(0), "true", Err("not understood"));
        check(Some(0), r#"{"decision":"allow"}"#, Err("answered `allow`"));
        check(
            Some(0),
            r#"{"decision":"Allow-Once"}"#,
            Err("answered `Allow-Once`"),
        );
        check(
            Some(0),
            r#"{"decision":"allow-session"}"#,
            Err("answered `allow-session`"),
        );
        check(
            Some(0),
            r#"{"decision":"allow-once","and":1}"#,
            Err("unknown field"),
        );
        check(
            Some(0),
            r#"{"decision":"deny","decision":"allow-once"}"#,
            Err("duplicate field"),
        );
        check(
            Some(0),
            r#"{"decision":"allow-once"} {}"#,
            Err("trailing characters"),
        );
        check(Some(1), r#"{"decision":"allow-once"}"#, Err("status 1"));
        check(None, r#"{"decision":"allow-once"}"#, Err("signal"));
    }
}
