use schemars::JsonSchema;
use serde_json::{Value, json};

use super::arguments::{Arguments, PATH, Parameter, plain};
use super::{ArgumentError, refuse_empty_path};
use crate::RawArgs;

/// Most bytes of a submitted plan or goal (SPEC §13.1).
pub const MAX_PLAN_BYTES: usize = 512 * 1024;
/// Most bytes of its title, its question, a search, and of a delegate's name.
const MAX_LINE_BYTES: usize = 8 * 1024;
/// Most bytes of a delegate's task.
const MAX_TASK_BYTES: usize = 256 * 1024;

/// Arguments of `BrowserPreview`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreviewInput {
    /// File of the workspace to show.
    pub path: String,
}

/// Arguments of `ToolSearch`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchInput {
    /// The exact name of a tool, or words for what is needed.
    pub query: String,
}

/// Arguments of `SubmitPlan` and `SubmitGoal`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubmitInput {
    /// What it is called.
    pub title: String,
    /// The whole text, kept byte for byte.
    pub markdown: String,
    /// What the user is asked about it.
    pub question: String,
}

/// Arguments of `Task`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskInput {
    /// Name of the definition.
    pub agent: String,
    /// What the delegate shall do.
    pub task: String,
    /// The same in a few words, for the user.
    pub description: Option<String>,
}

/// What a caller may send to `BrowserPreview`.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is used")]
pub(super) struct PreviewArguments {
    /// File of the workspace to show to the user, for example an HTML page.
    #[schemars(length(min = 1))]
    path: String,
}

/// What a caller may send to tools without arguments.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct NoArguments {}

/// What a caller may send to `ToolSearch`.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is used")]
pub(super) struct SearchArguments {
    /// The exact name of a tool, or a few words for what you need.
    #[schemars(length(min = 1))]
    query: String,
}

/// What a caller may send to `SubmitPlan` and `SubmitGoal`.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is used")]
pub(super) struct SubmitArguments {
    /// A short title.
    #[schemars(length(min = 1))]
    title: String,
    /// The whole text as Markdown, at most 512 KiB.
    #[schemars(length(min = 1))]
    markdown: String,
    /// What to ask the user about it.
    #[schemars(length(min = 1))]
    question: String,
}

/// What a caller may send to `Task`.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is used")]
pub(super) struct TaskArguments {
    /// Name of the agent definition.
    #[schemars(length(min = 1))]
    agent: String,
    /// Everything the delegate needs to know: it does not see this conversation.
    #[schemars(length(min = 1))]
    task: String,
    /// The task in a few words, for the user.
    description: Option<String>,
}

const PREVIEW: &[Parameter] = &[PATH];
const NOTHING: &[Parameter] = &[];
const SEARCH: &[Parameter] = &[plain("query")];
const SUBMIT: &[Parameter] = &[plain("title"), plain("markdown"), plain("question")];
const TASK: &[Parameter] = &[plain("agent"), plain("task"), plain("description")];

fn preview_example() -> Value {
    json!({"path": "site/index.html"})
}

fn no_example() -> Value {
    json!({})
}

fn search_example() -> Value {
    json!({"query": "find files by name"})
}

fn submit_example() -> Value {
    json!({
        "title": "Add a login page",
        "markdown": "# Add a login page\n\n1. …",
        "question": "Shall I carry this out?",
    })
}

fn task_example() -> Value {
    json!({"agent": "explore", "task": "Find where sessions are stored and how they expire."})
}

impl PreviewInput {
    /// Parses strictly.
    ///
    /// # Errors
    /// The arguments are not what `BrowserPreview` takes.
    pub fn parse(args: &RawArgs) -> Result<Self, ArgumentError> {
        let arguments = Arguments::open(args.as_object(), PREVIEW, preview_example)?;
        let path = arguments.string("path")?;
        refuse_empty_path(&arguments, &path)?;
        Ok(Self { path })
    }
}

/// Refuses every argument.
pub(crate) fn parse_nothing(args: &RawArgs) -> Result<(), ArgumentError> {
    Arguments::open(args.as_object(), NOTHING, no_example).map(drop)
}

impl SearchInput {
    /// Parses strictly.
    ///
    /// # Errors
    /// The arguments are not what `ToolSearch` takes.
    pub fn parse(args: &RawArgs) -> Result<Self, ArgumentError> {
        let arguments = Arguments::open(args.as_object(), SEARCH, search_example)?;
        Ok(Self {
            query: text(&arguments, "query", MAX_LINE_BYTES)?,
        })
    }
}

impl SubmitInput {
    /// Parses strictly. The Markdown is taken as it is.
    ///
    /// # Errors
    /// The arguments are not what the submit tools take.
    pub fn parse(args: &RawArgs) -> Result<Self, ArgumentError> {
        let arguments = Arguments::open(args.as_object(), SUBMIT, submit_example)?;
        Ok(Self {
            title: text(&arguments, "title", MAX_LINE_BYTES)?,
            markdown: text(&arguments, "markdown", MAX_PLAN_BYTES)?,
            question: text(&arguments, "question", MAX_LINE_BYTES)?,
        })
    }
}

impl TaskInput {
    /// Parses strictly.
    ///
    /// # Errors
    /// The arguments are not what `Task` takes.
    pub fn parse(args: &RawArgs) -> Result<Self, ArgumentError> {
        let arguments = Arguments::open(args.as_object(), TASK, task_example)?;
        Ok(Self {
            agent: text(&arguments, "agent", MAX_LINE_BYTES)?,
            task: text(&arguments, "task", MAX_TASK_BYTES)?,
            description: arguments.optional_string("description")?,
        })
    }
}

/// A text that says something and is not too long.
fn text(
    arguments: &Arguments<'_>,
    name: &'static str,
    most: usize,
) -> Result<String, ArgumentError> {
    let text = arguments.string(name)?;
    if text.trim().is_empty() {
        let message = format!("`{name}` is empty");
        return Err(arguments.error(name, message, "a text"));
    }
    if text.len() > most {
        let message = format!("`{name}` has {} bytes", text.len());
        return Err(arguments.error(name, message, format!("at most {most} bytes")));
    }
    Ok(text)
}
