//! The built-in tools as a model sees them: name, description, risk, schema.

use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde_json::Value;

use super::asktool::AskArguments;
use super::bash::{BashArguments, JobArguments};
use super::control::{
    NoArguments, PreviewArguments, SearchArguments, SubmitArguments, TaskArguments,
};
use super::edit::EditArguments;
use super::glob::GlobArguments;
use super::grep::GrepArguments;
use super::read::ReadArguments;
use super::write::WriteArguments;

/// One built-in tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolDescription {
    /// Its name.
    pub name: &'static str,
    /// What it does, with its limits and the arguments that narrow a result.
    pub description: &'static str,
    /// `low` or `high` (SPEC §2).
    pub risk: &'static str,
    /// JSON Schema of the arguments, generated from the Rust type.
    pub schema: Value,
}

/// The tools whose arguments this crate parses, in a fixed order.
#[must_use]
pub fn tool_catalogue() -> Vec<ToolDescription> {
    vec![
        ToolDescription {
            name: "Read",
            description: "Read a text file. Returns at most 2000 lines and 48 KiB; `offset` and \
                `limit` select a part of a longer file. Lines over 2000 characters are clipped. \
                Images are described, other binary files refused; for a directory use Glob.",
            risk: "low",
            schema: schema::<ReadArguments>(),
        },
        ToolDescription {
            name: "Glob",
            description: "Find files by name, newest first. Returns at most 1000 paths and 48 KiB \
                (`limit`, default 100); `path` narrows the search to a directory. Skips what \
                .gitignore and .guardianignore name, dependency and build directories, and secret \
                files; links are not followed.",
            risk: "low",
            schema: schema::<GlobArguments>(),
        },
        ToolDescription {
            name: "Grep",
            description: "Search file contents with a Rust regular expression, newest files first. \
                Returns at most 2000 lines and 48 KiB (`headLimit`, default 200); `path`, `include` \
                and `outputMode` (`filesWithMatches`, `count`) narrow a large result. Skips binary, \
                ignored and secret files; use this instead of grep or rg in Bash.",
            risk: "low",
            schema: schema::<GrepArguments>(),
        },
        ToolDescription {
            name: "Write",
            description: "Create a file or replace its whole content. Missing directories are \
                created. Read an existing file first; to change a part of it use Edit.",
            risk: "high",
            schema: schema::<WriteArguments>(),
        },
        ToolDescription {
            name: "Edit",
            description: "Replace text in a file. `old_string` must occur exactly once; give more \
                surrounding lines when it does not. `edits` makes several replacements, all or \
                nothing. Line endings and encoding of the file are kept.",
            risk: "high",
            schema: schema::<EditArguments>(),
        },
        ToolDescription {
            name: "Bash",
            description: "Run a bash command in the workspace, without a terminal and with empty \
                input. Ends after `timeout` seconds (default 60, at most 300) with everything it \
                started; `background` returns a job id instead. Output is cut to 96 KiB and 4000 \
                lines per stream, the rest is in a file the result names. Use Read, Glob, Grep, \
                Write and Edit for files.",
            risk: "high",
            schema: schema::<BashArguments>(),
        },
        ToolDescription {
            name: "BashOutput",
            description: "Read what a background job of this session printed so far, and whether it \
                still runs.",
            risk: "low",
            schema: schema::<JobArguments>(),
        },
        ToolDescription {
            name: "BashKill",
            description: "End a background job of this session with everything it started.",
            risk: "low",
            schema: schema::<JobArguments>(),
        },
        ToolDescription {
            name: "BrowserPreview",
            description: "Show a file of the workspace to the user in a browser. For pages and images that were built; it returns nothing of the file.",
            risk: "low",
            schema: schema::<PreviewArguments>(),
        },
        ToolDescription {
            name: "asktool",
            description: "Ask the user up to 20 questions at once, each with options to choose from; the user may also write an answer or skip. Waits until they are answered. An answer is information, it permits nothing.",
            risk: "low",
            schema: schema::<AskArguments>(),
        },
        ToolDescription {
            name: "new_context",
            description: "Ask for the conversation to be compacted at the next turn. Changes nothing else.",
            risk: "low",
            schema: schema::<NoArguments>(),
        },
        ToolDescription {
            name: "ToolSearch",
            description: "Find tools that are not loaded yet: give an exact name to load one, or a few words for what you need to load at most 4. Their schemas are there from the next turn.",
            risk: "low",
            schema: schema::<SearchArguments>(),
        },
        ToolDescription {
            name: "EnterPlanMode",
            description: "Begin to plan: Write, Edit and plugin tools are off until a plan was submitted with SubmitPlan and the user approved it. Must be the only tool call of its message.",
            risk: "low",
            schema: schema::<NoArguments>(),
        },
        ToolDescription {
            name: "EnterGoalMode",
            description: "Begin to work out a goal: Write, Edit and plugin tools are off until a goal was submitted with SubmitGoal and the user approved it. Must be the only tool call of its message.",
            risk: "low",
            schema: schema::<NoArguments>(),
        },
        ToolDescription {
            name: "SubmitPlan",
            description: "Submit the finished plan as Markdown (at most 512 KiB) for the user's approval. It is written to a new file in .pi/plan. Ends the turn; must be the only tool call of its message.",
            risk: "low",
            schema: schema::<SubmitArguments>(),
        },
        ToolDescription {
            name: "SubmitGoal",
            description: "Submit the finished goal as Markdown (at most 512 KiB) for the user's approval. It is written to a new file in .pi/goal. Ends the turn; must be the only tool call of its message.",
            risk: "low",
            schema: schema::<SubmitArguments>(),
        },
        ToolDescription {
            name: "Task",
            description: "Start a delegate with a task of its own. It has exactly the tools of its definition; at most 4 work at once, a fifth waits.",
            risk: "low",
            schema: schema::<TaskArguments>(),
        },
    ]
}

fn schema<T: JsonSchema>() -> Value {
    let generator = SchemaGenerator::new(SchemaSettings::draft2020_12().with(|settings| {
        // Models read schemas better without references.
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    }));
    let mut schema = generator.into_root_schema_for::<T>().to_value();
    if let Value::Object(object) = &mut schema {
        object.shift_remove("title");
        object.shift_remove("description");
    }
    schema
}
