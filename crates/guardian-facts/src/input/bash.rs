use schemars::JsonSchema;
use serde_json::{Value, json};

use super::ArgumentError;
use super::arguments::{Arguments, Parameter, plain};
use crate::RawArgs;

/// Most bytes of a command (SPEC §10).
pub const MAX_COMMAND_BYTES: usize = 256 * 1024;
/// Default timeout in seconds.
pub const DEFAULT_TIMEOUT_SECONDS: u32 = 60;
/// Largest timeout in seconds.
pub const MAX_TIMEOUT_SECONDS: u32 = 300;

/// Arguments of `Bash`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BashInput {
    /// Command text.
    pub command: String,
    /// Seconds, 1–300; default 60.
    pub timeout: u32,
    /// Run as a background job and return at once.
    pub background: bool,
    /// The model's own words for what it does; shown, decides nothing.
    pub description: Option<String>,
}

/// What a caller may send to `Bash`.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is used")]
pub(super) struct BashArguments {
    /// Command for bash, at most 256 KiB. It runs in the workspace, without a terminal and with
    /// empty input; `cd` does not outlive the call.
    command: String,
    /// Seconds until the command and everything it started is ended (1–300, default 60).
    #[schemars(range(min = 1, max = 300))]
    timeout: Option<u32>,
    /// Return a job id at once and let the command run on; see BashOutput and BashKill.
    background: Option<bool>,
    /// What the command does, in a few words for the user.
    description: Option<String>,
}

/// Arguments of `BashOutput` and `BashKill`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobInput {
    /// A background job of this session.
    pub job_id: String,
}

/// What a caller may send to `BashOutput` and `BashKill`.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is used")]
pub(super) struct JobArguments {
    /// The id that a Bash call with `background` returned.
    #[schemars(length(min = 1))]
    job_id: String,
}

const PARAMETERS: &[Parameter] = &[
    plain("command"),
    plain("timeout"),
    plain("background"),
    plain("description"),
];
const JOB_PARAMETERS: &[Parameter] = &[Parameter {
    name: "jobId",
    aliases: &["job_id"],
}];

fn example() -> Value {
    json!({"command": "cargo test", "timeout": 120, "description": "run the tests"})
}

fn job_example() -> Value {
    json!({"jobId": "job-1"})
}

impl BashInput {
    /// Parses strictly.
    ///
    /// # Errors
    /// The arguments are not what `Bash` takes.
    pub fn parse(args: &RawArgs) -> Result<Self, ArgumentError> {
        let arguments = Arguments::open(args.as_object(), PARAMETERS, example)?;
        let command = arguments.string("command")?;
        if command.len() > MAX_COMMAND_BYTES {
            let message = format!("`command` has {} bytes", command.len());
            let expected =
                format!("at most {MAX_COMMAND_BYTES} bytes; write a longer script to a file");
            return Err(arguments.error("command", message, expected));
        }
        if command.contains('\0') {
            return Err(arguments.error(
                "command",
                "`command` holds a NUL character",
                "text without NUL",
            ));
        }
        Ok(Self {
            command,
            timeout: arguments
                .within("timeout", 1, MAX_TIMEOUT_SECONDS)?
                .unwrap_or(DEFAULT_TIMEOUT_SECONDS),
            background: arguments.boolean("background")?,
            description: arguments.optional_string("description")?,
        })
    }
}

impl JobInput {
    /// Parses strictly.
    ///
    /// # Errors
    /// The arguments are not what the job tools take.
    pub fn parse(args: &RawArgs) -> Result<Self, ArgumentError> {
        let arguments = Arguments::open(args.as_object(), JOB_PARAMETERS, job_example)?;
        let job_id = arguments.string("jobId")?;
        if job_id.is_empty() {
            return Err(arguments.error("jobId", "`jobId` is empty", "the id of a background job"));
        }
        Ok(Self { job_id })
    }
}
