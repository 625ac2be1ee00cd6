//! How a tool fails: a code of SPEC §17, a sentence for the model, and details as data.

use serde_json::{Map, Value, json};

/// The codes of SPEC §17 that a tool body can answer with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FailureCode {
    /// A fault of guardian itself.
    Internal,
    /// The arguments do not fit the tool or what they name.
    InvalidArgument,
    /// What was named is not there.
    NotFound,
    /// The tool needs a workspace and the session has none.
    WorkspaceRequired,
    /// Not permitted.
    ToolDenied,
    /// The time limit passed before anything could be returned.
    ToolTimeout,
    /// The user or the client aborted the call.
    ToolAborted,
    /// The tool ran and did not succeed.
    ToolFailed,
    /// The file is not text.
    ToolBinaryContent,
    /// The file's content is another one than the session last saw.
    StaleFile,
    /// The target is another one than the one that was judged.
    StaleApproval,
    /// The system has no process or memory to give.
    ProcessResourceExhausted,
    /// No usable shell on this machine.
    ShellNotFound,
    /// The shell is another one than the turn's pin.
    CommandShellChanged,
    /// The required sandbox cannot be put in force.
    SandboxUnavailable,
    /// The bytes for a rollback are not kept any more.
    SnapshotUnavailable,
}

impl FailureCode {
    /// The code as it stands on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Internal => "INTERNAL",
            Self::InvalidArgument => "INVALID_ARGUMENT",
            Self::NotFound => "NOT_FOUND",
            Self::WorkspaceRequired => "WORKSPACE_REQUIRED",
            Self::ToolDenied => "TOOL_DENIED",
            Self::ToolTimeout => "TOOL_TIMEOUT",
            Self::ToolAborted => "TOOL_ABORTED",
            Self::ToolFailed => "TOOL_FAILED",
            Self::ToolBinaryContent => "TOOL_BINARY_CONTENT",
            Self::StaleFile => "STALE_FILE",
            Self::StaleApproval => "STALE_APPROVAL",
            Self::ProcessResourceExhausted => "PROCESS_RESOURCE_EXHAUSTED",
            Self::ShellNotFound => "SHELL_NOT_FOUND",
            Self::CommandShellChanged => "COMMAND_SHELL_CHANGED",
            Self::SandboxUnavailable => "SANDBOX_UNAVAILABLE",
            Self::SnapshotUnavailable => "SNAPSHOT_UNAVAILABLE",
        }
    }

    /// Whether the same call may succeed when it is simply sent again (SPEC §15.1).
    #[must_use]
    pub fn is_retryable(self) -> bool {
        matches!(
            self,
            Self::StaleApproval | Self::ToolTimeout | Self::ProcessResourceExhausted
        )
    }
}

/// A failed tool call. Part of a normal result, never a protocol error.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ToolFailure {
    /// Which kind.
    pub code: FailureCode,
    /// For the model: what went wrong and what to do next, lower-case.
    pub message: String,
    /// Further fields of the result's `content` (an object).
    pub details: Value,
    /// The same call may be sent again.
    pub retryable: bool,
}

impl ToolFailure {
    /// A failure without details.
    #[must_use]
    pub fn new(code: FailureCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            details: Value::Object(Map::new()),
            retryable: code.is_retryable(),
        }
    }

    /// The same with one more field in [`Self::details`].
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        if let Value::Object(map) = &mut self.details {
            map.insert(key.to_owned(), value.into());
        }
        self
    }

    /// The `content` of a failed result: `{error, code, …details}`.
    #[must_use]
    pub fn to_content(&self) -> Value {
        let mut content = json!({ "error": self.message, "code": self.code.as_str() });
        if let (Value::Object(content), Value::Object(details)) = (&mut content, &self.details) {
            for (key, value) in details {
                content.entry(key.clone()).or_insert_with(|| value.clone());
            }
            if self.retryable {
                content.insert("retryable".to_owned(), Value::Bool(true));
            }
        }
        content
    }

    pub(crate) fn aborted() -> Self {
        Self::new(
            FailureCode::ToolAborted,
            "the call was aborted; nothing was changed",
        )
    }

    pub(crate) fn timed_out() -> Self {
        Self::new(
            FailureCode::ToolTimeout,
            "the time limit passed; nothing was changed",
        )
    }

    pub(crate) fn stale(path: &str) -> Self {
        Self::new(
            FailureCode::StaleApproval,
            format!(
                "`{path}` is not the file or directory that was judged any more (it was replaced, \
                 or a link was put in its way); nothing was touched, send the call again"
            ),
        )
    }

    /// What a system call said, in words that a model can act on.
    pub(crate) fn system(action: &str, path: &str, errno: rustix::io::Errno) -> Self {
        use rustix::io::Errno;
        let path = clipped(path);
        let code = match errno {
            Errno::NOENT => FailureCode::NotFound,
            Errno::NFILE | Errno::MFILE | Errno::NOMEM => FailureCode::ProcessResourceExhausted,
            _ => FailureCode::ToolFailed,
        };
        Self::new(code, format!("cannot {action} `{path}`: {}", words(errno)))
            .with("errno", errno.raw_os_error())
    }

    /// Says that the directory, not the file, is what refuses.
    pub(crate) fn because_of_directory(
        mut self,
        directory: &str,
        errno: rustix::io::Errno,
    ) -> Self {
        use rustix::io::Errno;
        let why = match errno {
            Errno::ACCESS | Errno::PERM => {
                "has no permission for this user to make or replace files in it".to_owned()
            }
            Errno::BUSY | Errno::XDEV => {
                "cannot have this file replaced, which is a mount point".to_owned()
            }
            errno => format!("takes no new file ({})", words(errno)),
        };
        self.message
            .push_str(&format!("; its directory `{}` {why}", clipped(directory)));
        self
    }
}

/// What an error of the system means.
pub(crate) fn words(errno: rustix::io::Errno) -> String {
    use rustix::io::Errno;
    match errno {
        Errno::ACCESS | Errno::PERM => "permission denied".to_owned(),
        Errno::NOSPC => "no space left on the device".to_owned(),
        Errno::DQUOT => "the disk quota is exceeded".to_owned(),
        Errno::ROFS => "the file system is read-only".to_owned(),
        Errno::NAMETOOLONG => "the name is too long".to_owned(),
        Errno::NOTDIR => "a part of the path is not a directory".to_owned(),
        Errno::NOENT => "it does not exist".to_owned(),
        Errno::LOOP => "too many links, or a loop of links".to_owned(),
        other => std::io::Error::from(other).to_string().to_lowercase(),
    }
}

/// Characters of a path that a message shows.
const SHOWN_OF_PATH: usize = 300;

/// A path as a message shows it: a very long one without its middle.
pub(crate) fn clipped(path: &str) -> std::borrow::Cow<'_, str> {
    let count = path.chars().count();
    if count <= SHOWN_OF_PATH {
        return path.into();
    }
    let half = SHOWN_OF_PATH / 2;
    let head: String = path.chars().take(half).collect();
    let tail: String = path.chars().skip(count - half).collect();
    format!("{head}…{tail}").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_carries_error_code_and_details() {
        let failure = ToolFailure::new(FailureCode::StaleFile, "changed").with("tag", "abc");
        assert_eq!(
            failure.to_content(),
            json!({"error": "changed", "code": "STALE_FILE", "tag": "abc"})
        );
    }

    #[test]
    fn details_never_replace_the_code() {
        let failure = ToolFailure::new(FailureCode::NotFound, "no").with("code", "OTHER");
        assert_eq!(failure.to_content()["code"], "NOT_FOUND");
    }
}
