//! Tool requests and their outcomes.

use guardian_tools::ToolFailure;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::error::{ErrorCode, HostError};

/// A tool call as it comes to the gate. Nothing in it is believed but the call itself: modes,
/// workspace and risk are looked up.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolRequest {
    /// Which session.
    pub session_id: String,
    /// Which turn; `None` for a call outside a turn.
    pub turn_id: Option<String>,
    /// Id of the call, unique in the session while it is in flight.
    pub tool_call_id: String,
    /// Name of the tool.
    pub tool_name: String,
    /// Its arguments, not yet looked at.
    pub args: Value,
    /// Number of tool calls in the assistant's message, when known.
    pub batch_size: Option<u32>,
    /// The delegate that makes the call.
    pub delegate_id: Option<String>,
    /// Shell id that the caller expects.
    pub expected_shell_id: Option<String>,
    /// Dialect that the caller expects.
    pub expected_shell_dialect: Option<String>,
    /// Shortens the tool's time, in milliseconds.
    pub timeout_ms: Option<u64>,
}

impl ToolRequest {
    /// A call outside any turn.
    #[must_use]
    pub fn new(
        session_id: impl Into<String>,
        tool_call_id: impl Into<String>,
        tool_name: impl Into<String>,
        args: Value,
    ) -> Self {
        Self {
            session_id: session_id.into(),
            turn_id: None,
            tool_call_id: tool_call_id.into(),
            tool_name: tool_name.into(),
            args,
            batch_size: None,
            delegate_id: None,
            expected_shell_id: None,
            expected_shell_dialect: None,
            timeout_ms: None,
        }
    }
}

/// How a call ended, past the gate's door: a normal result, also when the tool failed.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOutcome {
    /// Id of the call.
    pub tool_call_id: String,
    /// The tool did what was asked.
    pub ok: bool,
    /// Why not.
    pub error_code: Option<ErrorCode>,
    /// What the model gets.
    pub content: Value,
    /// It was not permitted.
    pub denied: bool,
    /// What the runtime should do, e.g. `{terminate: true}`.
    pub runtime: Option<Box<Value>>,
    /// The content as JSON text, once it was written out.
    text: Option<Box<ContentText>>,
}

/// A content as JSON text: written out once, for its size on record and for the wire.
#[derive(Debug, Clone)]
struct ContentText(Box<RawValue>);

impl PartialEq for ContentText {
    fn eq(&self, other: &Self) -> bool {
        self.0.get() == other.0.get()
    }
}

impl ToolOutcome {
    /// A success.
    #[must_use]
    pub fn success(tool_call_id: &str, content: Value) -> Self {
        Self {
            tool_call_id: tool_call_id.to_owned(),
            ok: true,
            error_code: None,
            content,
            denied: false,
            runtime: None,
            text: None,
        }
    }

    /// A failure with a sentence for the model.
    #[must_use]
    pub fn failure(tool_call_id: &str, code: ErrorCode, message: &str) -> Self {
        let content = json!({ "error": message, "code": code.as_str() });
        Self::failed_with(tool_call_id, code, content)
    }

    /// A failure with content of its own, such as the output of a command.
    #[must_use]
    pub fn failed_with(tool_call_id: &str, code: ErrorCode, content: Value) -> Self {
        Self {
            tool_call_id: tool_call_id.to_owned(),
            ok: false,
            error_code: Some(code),
            content,
            denied: false,
            runtime: None,
            text: None,
        }
    }

    /// The same with a request to the runtime.
    #[must_use]
    pub fn with_runtime(self, runtime: Value) -> Self {
        Self {
            runtime: Some(Box::new(runtime)),
            ..self
        }
    }

    /// Not permitted.
    #[must_use]
    pub fn denied(tool_call_id: &str, cause: &str, message: &str) -> Self {
        let code = ErrorCode::ToolDenied;
        let content = json!({ "error": message, "code": code.as_str(), "cause": cause });
        Self {
            denied: true,
            ..Self::failed_with(tool_call_id, code, content)
        }
    }

    /// A tool body's failure.
    #[must_use]
    pub fn of_failure(tool_call_id: &str, failure: &ToolFailure) -> Self {
        let code = ErrorCode::named(failure.code.as_str()).unwrap_or(ErrorCode::Internal);
        let denied = code == ErrorCode::ToolDenied;
        Self {
            denied,
            ..Self::failed_with(tool_call_id, code, failure.to_content())
        }
    }

    /// Writes the content out as JSON text; returns its length in bytes. The last thing that is
    /// done to an outcome: [`Self::into_content_text`] hands out this text.
    pub(crate) fn write_out(&mut self) -> usize {
        // A JSON value always is one as text.
        self.text = serde_json::value::to_raw_value(&self.content)
            .ok()
            .map(|text| Box::new(ContentText(text)));
        let text = self.text.as_ref();
        text.map_or(0, |text| text.0.get().len())
    }

    /// The content as JSON text.
    ///
    /// # Errors
    /// Never for a content that is JSON.
    pub(crate) fn into_content_text(self) -> Result<Box<RawValue>, serde_json::Error> {
        match self.text {
            Some(text) => Ok(text.0),
            None => serde_json::value::to_raw_value(&self.content),
        }
    }

    /// The outcome as it stands on the wire (SPEC §2).
    #[must_use]
    pub fn to_value(&self) -> Value {
        let mut value = json!({
            "toolCallId": self.tool_call_id,
            "ok": self.ok,
            "isError": !self.ok,
            "content": self.content,
        });
        if let Some(code) = self.error_code {
            value["errorCode"] = code.as_str().into();
        }
        if self.denied {
            value["denied"] = true.into();
        }
        if let Some(runtime) = &self.runtime {
            value["runtime"] = runtime.as_ref().clone();
        }
        value
    }
}

/// How a step of the gate ends a call early.
#[derive(Debug)]
pub(crate) enum Stop {
    /// With a result.
    Outcome(ToolOutcome),
    /// With a protocol or session failure.
    Error(HostError),
}

impl From<HostError> for Stop {
    fn from(error: HostError) -> Self {
        Self::Error(error)
    }
}

impl From<ToolOutcome> for Stop {
    fn from(outcome: ToolOutcome) -> Self {
        Self::Outcome(outcome)
    }
}
