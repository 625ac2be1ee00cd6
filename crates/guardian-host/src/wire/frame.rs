//! Framing: NDJSON lines in, JSON-RPC 2.0 requests out (SPEC §15).

use std::io::BufRead;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// Longest line accepted, in bytes without the line end.
pub const MAX_LINE: usize = 16 * 1024 * 1024;

/// Numeric JSON-RPC codes.
pub mod rpc_code {
    /// The line is not JSON, or not UTF-8.
    pub const PARSE_ERROR: i32 = -32700;
    /// The line is JSON but not a request.
    pub const INVALID_REQUEST: i32 = -32600;
    /// No such method.
    pub const METHOD_NOT_FOUND: i32 = -32601;
    /// The parameters do not fit.
    pub const INVALID_PARAMS: i32 = -32602;
    /// Everything else; `data.code` says what.
    pub const SERVER_ERROR: i32 = -32000;
}

/// A request's id exactly as the client wrote it, to be echoed byte for byte.
#[derive(Debug, Clone)]
pub struct RequestId(Box<RawValue>);

impl RequestId {
    /// The id of an answer to something that had none.
    #[must_use]
    pub fn null() -> Self {
        Self(RawValue::NULL.to_owned())
    }

    /// The JSON text.
    #[must_use]
    pub fn as_json(&self) -> &str {
        self.0.get()
    }

    fn parse(raw: Box<RawValue>) -> Option<Self> {
        let first = raw.get().bytes().next()?;
        let acceptable = matches!(first, b'"' | b'-' | b'0'..=b'9' | b'n');
        acceptable.then_some(Self(raw))
    }
}

/// One request or notification.
#[derive(Debug, Clone)]
pub struct Request {
    /// `None` for a notification.
    pub id: Option<RequestId>,
    /// Method name.
    pub method: String,
    /// Parameters; an empty object when missing.
    pub params: Value,
}

/// A line that is not a request, with what to answer.
#[derive(Debug, Clone)]
pub struct BadLine {
    /// The id, where one could be read.
    pub id: RequestId,
    /// Numeric code.
    pub code: i32,
    /// What is wrong.
    pub message: String,
}

impl BadLine {
    fn new(id: Option<RequestId>, code: i32, message: impl Into<String>) -> Self {
        Self {
            id: id.unwrap_or_else(RequestId::null),
            code,
            message: message.into(),
        }
    }
}

#[derive(Deserialize)]
struct Envelope {
    jsonrpc: Option<Value>,
    // A present `null` id is a request with the id null, so absence is told apart by hand.
    #[serde(default, deserialize_with = "present")]
    id: Option<Box<RawValue>>,
    method: Option<Value>,
    params: Option<Box<RawValue>>,
}

fn present<'de, D>(deserializer: D) -> Result<Option<Box<RawValue>>, D::Error>
where
    D: serde::Deserializer<'de>,
{
    Box::<RawValue>::deserialize(deserializer).map(Some)
}

/// Parses one line.
///
/// # Errors
/// [`BadLine`] with the answer it deserves.
pub fn parse_line(line: &[u8]) -> Result<Request, BadLine> {
    let text = std::str::from_utf8(line)
        .map_err(|_| BadLine::new(None, rpc_code::PARSE_ERROR, "the line is not valid UTF-8"))?;
    let trimmed = text.trim_start();
    if trimmed.starts_with('[') && serde_json::from_str::<&RawValue>(text).is_ok() {
        return Err(BadLine::new(
            None,
            rpc_code::INVALID_REQUEST,
            "batches are not supported: send one request a line",
        ));
    }
    let envelope: Envelope = match serde_json::from_str(text) {
        Ok(envelope) => envelope,
        Err(error) if error.is_data() => {
            return Err(BadLine::new(
                None,
                rpc_code::INVALID_REQUEST,
                "a request is a JSON object with each member once",
            ));
        }
        Err(_) => {
            return Err(BadLine::new(
                None,
                rpc_code::PARSE_ERROR,
                "the line is not valid JSON",
            ));
        }
    };
    let id = match envelope.id {
        None => None,
        Some(raw) => Some(RequestId::parse(raw).ok_or_else(|| {
            BadLine::new(
                None,
                rpc_code::INVALID_REQUEST,
                "`id` must be a string, a number or null",
            )
        })?),
    };
    if envelope.jsonrpc.as_ref().and_then(Value::as_str) != Some("2.0") {
        return Err(BadLine::new(
            id,
            rpc_code::INVALID_REQUEST,
            "`jsonrpc` must be \"2.0\"",
        ));
    }
    let Some(Value::String(method)) = envelope.method else {
        return Err(BadLine::new(
            id,
            rpc_code::INVALID_REQUEST,
            "`method` must be a string",
        ));
    };
    match parameters(envelope.params.as_deref()) {
        Ok(params) => Ok(Request { id, method, params }),
        Err(message) => Err(BadLine::new(id, rpc_code::INVALID_PARAMS, message)),
    }
}

/// Read after the id, so that what is wrong in them is answered to whoever asks.
fn parameters(raw: Option<&RawValue>) -> Result<Value, String> {
    let Some(raw) = raw else {
        return Ok(Value::Object(serde_json::Map::new()));
    };
    let params: Value = serde_json::from_str(raw.get()).map_err(|error| {
        let text = error.to_string();
        if text.contains("surrogate") || text.contains("hex escape") {
            "`params` hold half of a character (`\\ud800` to `\\udfff` without its other half), \
             which is no text: send the whole character or leave it out"
                .to_owned()
        } else {
            format!("`params` cannot be read: {text}")
        }
    })?;
    if params.is_object() {
        Ok(params)
    } else {
        Err("`params` must be an object".to_owned())
    }
}

/// What [`read_line`] found.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// A line within the limit, in the buffer.
    Ready,
    /// A line over [`MAX_LINE`]; it was skipped to its end.
    TooLong,
    /// The end of the input.
    End,
}

/// Reads the next line into `buffer`, without its line end; never holds more than [`MAX_LINE`].
///
/// # Errors
/// Those of the reader.
pub fn read_line(reader: &mut impl BufRead, buffer: &mut Vec<u8>) -> std::io::Result<Line> {
    buffer.clear();
    let mut too_long = false;
    loop {
        let available = match reader.fill_buf() {
            Ok(available) => available,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if available.is_empty() {
            return Ok(match (too_long, buffer.is_empty()) {
                (true, _) => Line::TooLong,
                (false, true) => Line::End,
                (false, false) => Line::Ready,
            });
        }
        let end = memchr::memchr(b'\n', available);
        let taken = end.unwrap_or(available.len());
        if !too_long {
            if buffer.len() + taken > MAX_LINE {
                too_long = true;
                buffer.clear();
                buffer.shrink_to(64 * 1024);
            } else {
                buffer.extend_from_slice(&available[..taken]);
            }
        }
        reader.consume(end.map_or(taken, |end| end + 1));
        if end.is_some() {
            if buffer.last() == Some(&b'\r') {
                buffer.pop();
            }
            return Ok(if too_long { Line::TooLong } else { Line::Ready });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_bad(line: &str, code: i32, id: &str) {
        let bad = parse_line(line.as_bytes()).unwrap_err();
        assert_eq!(
            (bad.code, bad.id.as_json()),
            (code, id),
            "{line}: {}",
            bad.message
        );
    }

    #[test]
    fn parameters_that_are_no_text_are_answered_to_whoever_asks() {
        for params in [
            r#"{"content":"\udc00"}"#.to_owned(),
            r#"{"content":"\ud83d"}"#.to_owned(),
            format!("{}1{}", "{\"a\":".repeat(200), "}".repeat(200)),
        ] {
            let line = format!(r#"{{"jsonrpc":"2.0","id":"mine","method":"x","params":{params}}}"#);
            check_bad(&line, rpc_code::INVALID_PARAMS, "\"mine\"");
        }
    }

    #[test]
    fn bad_lines_get_their_code() {
        check_bad("nonsense", rpc_code::PARSE_ERROR, "null");
        check_bad("{\"jsonrpc\":\"2.0\"", rpc_code::PARSE_ERROR, "null");
        check_bad("[]", rpc_code::INVALID_REQUEST, "null");
        check_bad(
            "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}]",
            rpc_code::INVALID_REQUEST,
            "null",
        );
        check_bad("42", rpc_code::INVALID_REQUEST, "null");
        check_bad(
            "{\"jsonrpc\":\"1.0\",\"id\":7,\"method\":\"x\"}",
            rpc_code::INVALID_REQUEST,
            "7",
        );
        check_bad(
            "{\"id\":\"a\",\"method\":\"x\"}",
            rpc_code::INVALID_REQUEST,
            "\"a\"",
        );
        check_bad(
            "{\"jsonrpc\":\"2.0\",\"id\":1}",
            rpc_code::INVALID_REQUEST,
            "1",
        );
        check_bad(
            "{\"jsonrpc\":\"2.0\",\"id\":[1],\"method\":\"x\"}",
            rpc_code::INVALID_REQUEST,
            "null",
        );
        check_bad(
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":[1]}",
            rpc_code::INVALID_PARAMS,
            "1",
        );
        check_bad(
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"x\"}",
            rpc_code::INVALID_REQUEST,
            "null",
        );
        assert_eq!(
            parse_line(b"\xff{}").unwrap_err().code,
            rpc_code::PARSE_ERROR
        );
    }

    #[test]
    fn ids_are_kept_to_the_byte() {
        for id in [
            "1",
            "-0",
            "1.50",
            "12345678901234567890123",
            "\"\\u00e4\"",
            "null",
        ] {
            let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"m\"}}");
            assert_eq!(
                parse_line(line.as_bytes()).unwrap().id.unwrap().as_json(),
                id
            );
        }
    }

    #[test]
    fn no_id_is_a_notification() {
        let request = parse_line(b"{\"jsonrpc\":\"2.0\",\"method\":\"m\"}").unwrap();
        assert!(request.id.is_none());
        assert_eq!(request.params, serde_json::json!({}));
    }

    #[test]
    fn over_long_lines_are_skipped_without_being_held() {
        let mut input = vec![b'x'; MAX_LINE + 1];
        input.extend_from_slice(b"\nnext\r\nlast");
        let mut reader = std::io::BufReader::new(input.as_slice());
        let mut buffer = Vec::new();
        assert_eq!(read_line(&mut reader, &mut buffer).unwrap(), Line::TooLong);
        assert!(buffer.is_empty());
        assert_eq!(read_line(&mut reader, &mut buffer).unwrap(), Line::Ready);
        assert_eq!(buffer, b"next");
        assert_eq!(read_line(&mut reader, &mut buffer).unwrap(), Line::Ready);
        assert_eq!(buffer, b"last");
        assert_eq!(read_line(&mut reader, &mut buffer).unwrap(), Line::End);
    }
}
