//! The two dialects: what is sent, and where in the reply the answer stands.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::answer::{ModelAnswer, schema};
use super::config::{ModelApi, ModelConfig, OutputMode};
use super::prompt::Prompt;

/// Name of the tool by which the Anthropic dialect answers in a schema.
const TOOL: &str = "decide";

/// An answer read from a reply, and what it cost where the reply says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Read {
    pub(super) answer: ModelAnswer,
    pub(super) tokens: Option<u64>,
}

/// A reply without an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Unread {
    /// Not as agreed; another attempt may do better.
    Garbage(String),
    /// The model or the endpoint will not answer this; asking again is no use.
    Refused(String),
}

/// Headers that go along.
pub(super) fn headers(api: ModelApi, key: Option<String>) -> Vec<(&'static str, String)> {
    match api {
        ModelApi::OpenaiCompatible => key
            .map(|key| ("authorization", format!("Bearer {key}")))
            .into_iter()
            .collect(),
        ModelApi::Anthropic => {
            let mut headers = vec![("anthropic-version", "2023-06-01".to_owned())];
            headers.extend(key.map(|key| ("x-api-key", key)));
            headers
        }
    }
}

/// The JSON to send.
pub(super) fn body(config: &ModelConfig, prompt: &Prompt) -> Value {
    match config.api {
        ModelApi::OpenaiCompatible => {
            let mut body = json!({
                "model": config.model,
                "temperature": 0,
                "max_tokens": config.max_output_tokens,
                "messages": [
                    { "role": "system", "content": prompt.system },
                    { "role": "user", "content": prompt.user },
                ],
            });
            if config.output == OutputMode::Schema {
                body["response_format"] = json!({
                    "type": "json_schema",
                    "json_schema": { "name": TOOL, "strict": true, "schema": schema() },
                });
            }
            body
        }
        ModelApi::Anthropic => {
            let mut body = json!({
                "model": config.model,
                "temperature": 0,
                "max_tokens": config.max_output_tokens,
                "system": prompt.system,
                "messages": [{ "role": "user", "content": prompt.user }],
            });
            if config.output == OutputMode::Schema {
                body["tools"] = json!([{
                    "name": TOOL,
                    "description": "Gives the decision about the proposed action.",
                    "input_schema": schema(),
                }]);
                body["tool_choice"] = json!({ "type": "tool", "name": TOOL });
            }
            body
        }
    }
}

/// Reads the answer from the body of a reply with a good status.
pub(super) fn read(api: ModelApi, body: &[u8]) -> Result<Read, Unread> {
    let garbage = |what: &dyn std::fmt::Display| Unread::Garbage(format!("{what}"));
    let text = std::str::from_utf8(body).map_err(|_| garbage(&"the reply is not UTF-8"))?;
    match api {
        ModelApi::OpenaiCompatible => {
            let reply: ChatReply = serde_json::from_str(text)
                .map_err(|_| garbage(&"the reply is no chat completion"))?;
            read_chat(&reply)
        }
        ModelApi::Anthropic => {
            let reply: MessageReply<'_> =
                serde_json::from_str(text).map_err(|_| garbage(&"the reply is no message"))?;
            read_message(&reply)
        }
    }
}

#[derive(Deserialize)]
struct ChatReply {
    choices: Vec<ChatChoice>,
    usage: Option<ChatUsage>,
}

#[derive(Deserialize)]
struct ChatChoice {
    finish_reason: Option<String>,
    message: ChatMessage,
}

#[derive(Deserialize)]
struct ChatMessage {
    content: Option<String>,
    refusal: Option<String>,
}

#[derive(Deserialize)]
struct ChatUsage {
    total_tokens: Option<u64>,
}

fn read_chat(reply: &ChatReply) -> Result<Read, Unread> {
    let [choice] = reply.choices.as_slice() else {
        return Err(Unread::Garbage(
            "the reply has not exactly one choice".to_owned(),
        ));
    };
    if choice.message.refusal.is_some() {
        return Err(Unread::Refused("the model refused to answer".to_owned()));
    }
    match choice.finish_reason.as_deref() {
        Some("stop") => {}
        Some("content_filter") => {
            return Err(Unread::Refused(
                "the endpoint filtered the answer".to_owned(),
            ));
        }
        // Cut answers may end just where they look whole.
        other => {
            let reason = other.unwrap_or("nothing").escape_debug();
            return Err(Unread::Garbage(format!("the answer ended with `{reason}`")));
        }
    }
    let content = choice.message.content.as_deref().unwrap_or_default();
    Ok(Read {
        answer: ModelAnswer::parse(content).map_err(Unread::Garbage)?,
        tokens: reply.usage.as_ref().and_then(|usage| usage.total_tokens),
    })
}

#[derive(Deserialize)]
struct MessageReply<'r> {
    #[serde(borrow)]
    content: Vec<Block<'r>>,
    stop_reason: Option<String>,
    usage: Option<MessageUsage>,
}

#[derive(Deserialize)]
struct Block<'r> {
    #[serde(rename = "type")]
    kind: String,
    name: Option<String>,
    text: Option<String>,
    /// As it was written, so that a member given twice is seen.
    #[serde(borrow)]
    input: Option<&'r RawValue>,
}

#[derive(Deserialize)]
struct MessageUsage {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
}

fn read_message(reply: &MessageReply<'_>) -> Result<Read, Unread> {
    let blocks = |kind: &str| -> Vec<&Block<'_>> {
        reply
            .content
            .iter()
            .filter(|block| block.kind == kind)
            .collect()
    };
    let (calls, texts) = (blocks("tool_use"), blocks("text"));
    let text = match (
        reply.stop_reason.as_deref(),
        calls.as_slice(),
        texts.as_slice(),
    ) {
        (Some("refusal"), ..) => {
            return Err(Unread::Refused("the model refused to answer".to_owned()));
        }
        (Some("tool_use"), [call], _) if call.name.as_deref() == Some(TOOL) => {
            call.input.map(RawValue::get).unwrap_or_default()
        }
        (Some("end_turn" | "stop_sequence"), [], [text]) => {
            text.text.as_deref().unwrap_or_default()
        }
        (other, ..) => {
            let reason = other.unwrap_or("nothing").escape_debug();
            return Err(Unread::Garbage(format!("the answer ended with `{reason}`")));
        }
    };
    let tokens = reply.usage.as_ref().map(|usage| {
        let (input, output) = (usage.input_tokens, usage.output_tokens);
        input.unwrap_or(0).saturating_add(output.unwrap_or(0))
    });
    Ok(Read {
        answer: ModelAnswer::parse(text).map_err(Unread::Garbage)?,
        tokens,
    })
}
