//! An endpoint on loopback that answers as a test says, however badly.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

/// What the endpoint does with one request.
#[derive(Debug, Clone)]
pub(crate) enum Act {
    /// Answers.
    Reply { status: u16, body: String },
    /// Sends this header line and no body.
    Header(&'static str),
    /// Sends a body byte by byte, for ever.
    Drip,
    /// Sends this many megabytes.
    Flood(usize),
    /// Says nothing.
    Hang,
    /// Hangs up.
    Close,
}

/// A running endpoint.
pub(crate) struct Endpoint {
    pub(crate) url: String,
    requests: Arc<Mutex<Vec<(String, Value)>>>,
}

impl Endpoint {
    /// Answers requests in this order; further ones get the last act again.
    pub(crate) fn start(acts: Vec<Act>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1/review", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        std::thread::spawn(move || {
            for (number, stream) in listener.incoming().enumerate() {
                let act = acts.get(number).or(acts.last()).cloned().unwrap();
                let seen = Arc::clone(&seen);
                std::thread::spawn(move || serve(stream.unwrap(), &act, &seen));
            }
        });
        Self { url, requests }
    }

    /// Head and body of each request so far.
    pub(crate) fn requests(&self) -> Vec<(String, Value)> {
        self.requests.lock().unwrap().clone()
    }
}

fn serve(mut stream: TcpStream, act: &Act, seen: &Mutex<Vec<(String, Value)>>) {
    let Some((head, body)) = read_request(&mut stream) else {
        return;
    };
    let body = serde_json::from_slice(&body).unwrap();
    seen.lock().unwrap().push((head, body));
    // The client may hang up at any time.
    let _ = answer(&mut stream, act);
}

fn read_request(stream: &mut TcpStream) -> Option<(String, Vec<u8>)> {
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let length = stream.read(&mut piece).ok().filter(|length| *length > 0)?;
        bytes.extend_from_slice(&piece[..length]);
        let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
            continue;
        };
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        let length: usize = head
            .lines()
            .find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length").then_some(value)
            })
            .map_or(0, |value| value.trim().parse().unwrap());
        if bytes.len() >= end + 4 + length {
            return Some((head, bytes[end + 4..end + 4 + length].to_vec()));
        }
    }
}

fn answer(stream: &mut TcpStream, act: &Act) -> std::io::Result<()> {
    match act {
        Act::Reply { status, body } => write!(
            stream,
            "HTTP/1.1 {status} Words\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        ),
        Act::Header(line) => write!(
            stream,
            "HTTP/1.1 302 Found\r\n{line}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        ),
        Act::Drip => {
            write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n")?;
            loop {
                stream.write_all(b" ")?;
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        Act::Flood(megabytes) => {
            write!(stream, "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n")?;
            let megabyte = vec![b' '; 1024 * 1024];
            (0..*megabytes).try_for_each(|_| stream.write_all(&megabyte))
        }
        Act::Hang => {
            // Until the client gives up.
            let mut piece = [0; 16];
            while stream.read(&mut piece)? > 0 {}
            Ok(())
        }
        Act::Close => Ok(()),
    }
}

/// An answer in the schema.
pub(crate) fn decision(decision: &str) -> Value {
    json!({
        "risk": "low",
        "authorisation": "explicit",
        "decision": decision,
        "rationale": "the user asked for it",
    })
}

/// A chat completion with this text.
pub(crate) fn chat(content: &str) -> Act {
    let body = json!({
        "choices": [{ "finish_reason": "stop", "message": { "role": "assistant", "content": content } }],
        "usage": { "total_tokens": 700 },
    });
    Act::Reply {
        status: 200,
        body: body.to_string(),
    }
}
