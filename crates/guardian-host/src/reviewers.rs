//! The reviewers that are not people, as this host has them: where earlier answers are kept, how a
//! review command is run, which model is asked (SPEC §8).

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use guardian_review::model::{DEADLINE_ALONE, DEADLINE_BEFORE_HUMAN};
use guardian_review::{
    AnswerMemory, CacheReviewer, Chain, ChainLink, CommandReviewer, HumanClients, HumanReviewer,
    ModelReviewer, PendingQueue, RememberedAnswer, ReviewCommand, ReviewCommandError,
    ReviewCommandOutput, ReviewConfig, Reviewer, ReviewerSpec,
};
use guardian_store::{SessionId, Store};
use guardian_tools::bash::environment::{CallPlaces, EnvironmentRules, Variables, prepare};
use guardian_tools::bash::{
    Abort, BashContext, BashLimits, BashRequest, Ending, Exit, NoSink, SandboxRequest,
    ShellCatalogue, SupervisorProgram, run_bash,
};

use crate::blocking::blocking;
use crate::error::HostError;
use crate::review_host::Clients;
use crate::sessions::random_id;

/// Longest answer of a review command.
const COMMAND_ANSWER_BYTES: usize = 64 * 1024;

/// What reviewers are made of.
pub(crate) struct ReviewerParts<'p> {
    pub(crate) config: &'p ReviewConfig,
    pub(crate) queue: &'p Arc<PendingQueue>,
    pub(crate) clients: &'p Arc<Clients>,
    pub(crate) store: &'p Store,
    pub(crate) commands: CommandRunner,
    /// Environment that guardian was started with: holds the model's key.
    pub(crate) environment: &'p Variables,
}

/// The configured chain.
///
/// # Errors
/// `INVALID_PARAMS` for a configuration that cannot be used: a chain that silently lacks a
/// reviewer would not be the chain that the user wrote.
pub(crate) fn chain(parts: ReviewerParts<'_>) -> Result<Chain, HostError> {
    let config = parts.config;
    let specs = config
        .reviewers()
        .map_err(|error| HostError::invalid_params(error.to_string()))?;
    let deadline = if specs.contains(&ReviewerSpec::Human) {
        DEADLINE_BEFORE_HUMAN
    } else {
        DEADLINE_ALONE
    };
    let commands: Arc<dyn ReviewCommand> = Arc::new(parts.commands);
    let link = |spec: ReviewerSpec| -> Result<ChainLink, HostError> {
        let reviewer: Arc<dyn Reviewer> = match spec {
            ReviewerSpec::Human => {
                let clients = Arc::clone(parts.clients) as Arc<dyn HumanClients>;
                Arc::new(HumanReviewer::new(Arc::clone(parts.queue), clients))
            }
            ReviewerSpec::Cache => Arc::new(CacheReviewer::new(Arc::new(StoredAnswers {
                store: parts.store.clone(),
            }))),
            ReviewerSpec::Command(program) => {
                check_program(&program)?;
                let commands = Arc::clone(&commands);
                let timeout = config.command_timeout();
                Arc::new(CommandReviewer::new(program, timeout, commands))
            }
            ReviewerSpec::Model => {
                let model = config.model.clone().ok_or_else(|| {
                    HostError::invalid_params("the chain names a model and none is configured")
                })?;
                let key = match &model.api_key_env {
                    None => None,
                    Some(name) => Some(key_of(name, parts.environment)?),
                };
                Arc::new(ModelReviewer::over_http(model, key, deadline))
            }
        };
        Ok(ChainLink {
            reviewer,
            on_failure: config.on_failure,
        })
    };
    Ok(Chain::new(
        specs.into_iter().map(link).collect::<Result<_, _>>()?,
    ))
}

/// A review command that cannot run is said at the start, and not at every call.
fn check_program(program: &Path) -> Result<(), HostError> {
    use std::os::unix::fs::PermissionsExt;
    let shown = program.display();
    let wrong = |why: &dyn std::fmt::Display| {
        HostError::invalid_params(format!("the review command `{shown}` {why}"))
    };
    let metadata =
        std::fs::metadata(program).map_err(|error| wrong(&format!("cannot be used: {error}")))?;
    if !metadata.is_file() || metadata.permissions().mode() & 0o111 == 0 {
        return Err(wrong(&"is not an executable file"));
    }
    Ok(())
}

/// The value of the variable that the configuration names.
fn key_of(name: &str, environment: &Variables) -> Result<String, HostError> {
    let value = environment
        .get(std::ffi::OsStr::new(name))
        .and_then(|value| value.to_str())
        .map(str::trim)
        .filter(|value| !value.is_empty());
    value.map(str::to_owned).ok_or_else(|| {
        HostError::invalid_params(format!(
            "`review.model.apiKeyEnv` names `{name}`, which is not set"
        ))
    })
}

/// Earlier answers, in the store.
struct StoredAnswers {
    store: Store,
}

#[async_trait]
impl AnswerMemory for StoredAnswers {
    async fn recall(
        &self,
        session_id: &str,
        turn_id: &str,
        key: &str,
    ) -> Result<Option<RememberedAnswer>, String> {
        let store = self.store.clone();
        let session = SessionId::new(session_id).map_err(|error| error.to_string())?;
        let (turn, key) = (turn_id.to_owned(), key.to_owned());
        let found = blocking(move || store.cached_decision(&session, &turn, &key))
            .await
            .map_err(|error| error.to_string())?
            .map_err(|error| error.to_string())?;
        Ok(found.map(|decision| RememberedAnswer {
            allowed: decision.allowed,
            reviewer: decision.reviewer,
            rationale: decision.rationale,
        }))
    }
}

/// Runs review commands as guardian runs every command: under a supervisor, with a filtered
/// environment, and with nothing of it left when it is over. Its directory is guardian's own.
pub(crate) struct CommandRunner {
    pub(crate) data_dir: PathBuf,
    pub(crate) environment: Variables,
    pub(crate) rules: EnvironmentRules,
    pub(crate) shells: ShellCatalogue,
    pub(crate) supervisor: Option<Arc<SupervisorProgram>>,
}

#[async_trait]
impl ReviewCommand for CommandRunner {
    async fn run(
        &self,
        program: &Path,
        stdin: Vec<u8>,
        timeout: Duration,
    ) -> Result<ReviewCommandOutput, ReviewCommandError> {
        let failed = |what: &dyn std::fmt::Display| ReviewCommandError::Failed(what.to_string());
        let input = InputFile::new(&self.data_dir, &stdin).map_err(|error| failed(&error))?;
        let (program, file) = (quoted(program), quoted(&input.path));
        let (Some(program), Some(file)) = (program, file) else {
            return Err(failed(&"its path is not Unicode"));
        };
        let context = self.context().map_err(|error| failed(&error))?;
        let request = BashRequest {
            // The program replaces the shell: nothing of the request is shell text.
            command: format!("exec {program} < {file}"),
            timeout: Some(timeout),
            tool_call_id: "review-command".to_owned(),
        };
        let result = run_bash(request, context)
            .await
            .map_err(|error| failed(&error))?;
        drop(input);
        if result.ending == Ending::TimedOut {
            return Err(ReviewCommandError::TimedOut);
        }
        if result.stdout.truncated {
            return Err(failed(&"its answer is too long"));
        }
        Ok(ReviewCommandOutput {
            exit_code: match result.exit {
                Exit::Code(code) => Some(code),
                _ => None,
            },
            stdout: result.stdout.text.into_bytes(),
            stderr: result.stderr.text.into_bytes(),
        })
    }
}

impl CommandRunner {
    fn context(&self) -> Result<BashContext, HostError> {
        let directory = std::fs::File::open(&self.data_dir).map_err(HostError::internal)?;
        let nowhere = self.data_dir.join("review-command");
        let places = CallPlaces {
            workspace: &self.data_dir,
            scratch: &nowhere,
        };
        let shell = self.shells.effective(None).map_err(HostError::internal)?;
        Ok(BashContext {
            workspace: Arc::new(OwnedFd::from(directory)),
            workspace_path: self.data_dir.clone(),
            environment: Arc::new(prepare(&self.environment, &self.rules, places)),
            scratch: nowhere,
            shell: shell.shell,
            abort: Abort::new().map_err(HostError::internal)?,
            sink: Arc::new(NoSink),
            limits: BashLimits {
                output_bytes: COMMAND_ANSWER_BYTES,
                // Nothing of a review is kept beyond its answer.
                spill_bytes: 0,
                ..BashLimits::standard()
            },
            supervisor: self.supervisor.clone(),
            sandbox: SandboxRequest::off(),
        })
    }
}

/// A path as one word of the shell.
fn quoted(path: &Path) -> Option<String> {
    let text = path.to_str()?;
    Some(format!("'{}'", text.replace('\'', r"'\''")))
}

/// The request on its way to a command; gone when the command is over.
struct InputFile {
    path: PathBuf,
}

impl InputFile {
    fn new(data_dir: &Path, bytes: &[u8]) -> Result<Self, HostError> {
        use std::io::Write;
        use std::os::unix::fs::OpenOptionsExt;
        let path = data_dir.join(random_id("review-input")?);
        let mut file = std::fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
            .map_err(HostError::internal)?;
        let input = Self { path };
        file.write_all(bytes).map_err(HostError::internal)?;
        Ok(input)
    }
}

impl Drop for InputFile {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_file(&self.path) {
            tracing::warn!(%error, "the input of a review command could not be removed");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_word_whatever_it_holds() {
        assert_eq!(
            quoted(Path::new("/opt/it's $HOME/`x`")).unwrap(),
            r"'/opt/it'\''s $HOME/`x`'"
        );
    }
}
