//! One client over stdio: lines in, answers and notifications out.
//!
//! Every request ends in exactly one answer, panics included. The end of the input, or an output
//! that can no longer be written, is an orderly shutdown.

use std::collections::HashSet;
use std::io::BufRead;
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;

use super::dispatch::{self, Lane, Method, find};
use super::events::WireEvents;
use super::frame::{self, BadLine, Line, Request, RequestId, rpc_code};
use super::outbound::Outbound;
use super::types::{HandshakeParams, Role};
use crate::error::{ErrorCode, HostError};
use crate::host::Host;

/// Protocol versions this host speaks.
pub const SUPPORTED_VERSIONS: &[u32] = &[1];
/// Plain methods executing at once.
const RPC_SLOTS: usize = 32;
/// How long a client that reads nothing is waited for, where its answers no longer fit.
pub const UNREAD_PATIENCE: Duration = Duration::from_secs(5);
/// Lines read ahead of their dispatch.
const READ_AHEAD: usize = 64;
/// Bytes of lines read ahead; a longer line is read when nothing else waits.
const READ_AHEAD_BYTES: usize = 16 * 1024 * 1024;

/// Who is at the other end, once the handshake is done.
#[derive(Debug, Clone)]
pub struct Peer {
    /// Its role.
    pub role: Role,
    /// It shows cards.
    pub review: bool,
}

/// One client's connection.
pub struct Connection {
    pub(super) host: Arc<Host>,
    outbound: Outbound,
    peer: OnceLock<Peer>,
    ids: Mutex<HashSet<String>>,
    slots: Semaphore,
}

/// What the reader thread hands over.
enum Incoming {
    Line(Vec<u8>),
    TooLong,
}

/// How many bytes are read ahead of their dispatch.
#[derive(Default)]
struct ReadAhead {
    bytes: Mutex<usize>,
    taken: Condvar,
}

impl ReadAhead {
    /// Waits until a line of this length may wait too. Blocking.
    fn add(&self, length: usize) {
        let mut bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        while *bytes > 0 && *bytes + length > READ_AHEAD_BYTES {
            bytes = self
                .taken
                .wait(bytes)
                .unwrap_or_else(PoisonError::into_inner);
        }
        *bytes += length;
    }

    /// A line was taken.
    fn take(&self, length: usize) {
        let mut bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        *bytes = bytes.saturating_sub(length);
        self.taken.notify_one();
    }
}

impl Connection {
    /// Serves one client until its input ends or `stop` is ready, then shuts the host down in
    /// order: what waits is denied, what runs is ended, what changed is on record.
    ///
    /// `input` is read on a thread of its own; `outbound` must be the queue that `host`'s events
    /// go to, and [`Outbound::write_all`] must be running on it.
    pub async fn serve(
        host: Arc<Host>,
        outbound: Outbound,
        input: impl BufRead + Send + 'static,
        stop: impl Future<Output = ()>,
    ) {
        let mut stop = std::pin::pin!(stop);
        let connection = Arc::new(Self {
            host,
            outbound,
            peer: OnceLock::new(),
            ids: Mutex::default(),
            slots: Semaphore::new(RPC_SLOTS),
        });
        let (sender, mut lines) = mpsc::channel(READ_AHEAD);
        let ahead = Arc::new(ReadAhead::default());
        let counted = Arc::clone(&ahead);
        std::thread::spawn(move || read_all(input, &sender, &counted));
        let mut requests = JoinSet::new();
        loop {
            tokio::select! {
                incoming = lines.recv() => {
                    let Some(incoming) = incoming else { break };
                    if let Incoming::Line(line) = &incoming {
                        ahead.take(line.len());
                    }
                    // What is answered in line waits for the client to read. One that sends and
                    // never reads must not keep the end of its input from being seen.
                    let received = connection.receive(incoming, &mut requests);
                    if tokio::time::timeout(UNREAD_PATIENCE, received).await.is_err() {
                        tracing::warn!("the client does not read its answers: shutting down");
                        break;
                    }
                }
                () = connection.outbound.broken() => break,
                () = &mut stop => {
                    tracing::info!("asked to end: shutting down");
                    break;
                }
                Some(_) = requests.join_next() => {}
            }
        }
        connection.host.shutdown().await;
        // As long as one answer after the other is taken, there is somebody who reads them.
        loop {
            match tokio::time::timeout(UNREAD_PATIENCE, requests.join_next()).await {
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(_) => {
                    tracing::warn!("the client did not read its last answers");
                    break;
                }
            }
        }
        connection.outbound.close();
    }

    /// The peer, once it has shaken hands.
    pub(super) fn peer(&self) -> Option<&Peer> {
        self.peer.get()
    }

    async fn receive(self: &Arc<Self>, incoming: Incoming, requests: &mut JoinSet<()>) {
        let line = match incoming {
            Incoming::Line(line) if line.iter().all(u8::is_ascii_whitespace) => return,
            Incoming::Line(line) => line,
            Incoming::TooLong => {
                let message = format!("a line may hold at most {} bytes", frame::MAX_LINE);
                let line = error_line(
                    &RequestId::null(),
                    rpc_code::INVALID_REQUEST,
                    &message,
                    None,
                );
                return self.outbound.answer(line).await;
            }
        };
        match frame::parse_line(&line) {
            Ok(request) => self.dispatch(request, requests).await,
            Err(bad) => self.outbound.answer(bad_line(&bad)).await,
        }
    }

    async fn dispatch(self: &Arc<Self>, request: Request, requests: &mut JoinSet<()>) {
        if request.method == "app.handshake" {
            // In line, so that whatever follows it sees the role it set.
            let result = self.handshake(request.params);
            return self.reply(request.id.as_ref(), result).await;
        }
        let method = match self.admit(&request) {
            Ok(method) => method,
            Err(refusal) => return self.refuse(request.id.as_ref(), refusal).await,
        };
        if let Some(id) = &request.id
            && !self.lock_ids().insert(id.as_json().to_owned())
        {
            let message = "a request with this id is in flight";
            let line = error_line(id, rpc_code::INVALID_REQUEST, message, None);
            return self.outbound.answer(line).await;
        }
        let connection = Arc::clone(self);
        // Built here, in order of arrival: the gate queues mutations of a path by it.
        let answer = (method.handler)(Arc::clone(self), request.params);
        requests.spawn(async move {
            let _slot = match method.lane {
                Lane::Plain => connection.slots.acquire().await.ok(),
                Lane::Control | Lane::Call => None,
            };
            // A task of its own, so that a panic ends it and not the answer.
            let result = match tokio::spawn(answer).await {
                Ok(result) => result,
                Err(error) if error.is_panic() => {
                    Err(HostError::internal("the request met a fault in the host"))
                }
                Err(_) => Err(HostError::internal("the request was dropped")),
            };
            if let Some(id) = &request.id {
                connection.lock_ids().remove(id.as_json());
            }
            connection.reply(request.id.as_ref(), result).await;
        });
    }

    /// Handshake done, method known, role sufficient.
    fn admit(&self, request: &Request) -> Result<&'static Method, Refusal> {
        let method = find(&request.method);
        let before_handshake = matches!(request.method.as_str(), "app.health" | "app.getVersion");
        match (self.peer.get(), method) {
            (None, Some(method)) if before_handshake => Ok(method),
            (None, _) => Err(Refusal::Host(HostError::new(
                ErrorCode::Unauthorized,
                "the first request must be `app.handshake`",
            ))),
            (Some(_), None) => Err(Refusal::UnknownMethod(request.method.clone())),
            (Some(peer), Some(method))
                if method.role == Role::Operator && peer.role == Role::Agent =>
            {
                Err(Refusal::Host(HostError::new(
                    ErrorCode::Unauthorized,
                    format!("`{}` needs the role operator", method.name),
                )))
            }
            (Some(_), Some(method)) => Ok(method),
        }
    }

    fn handshake(&self, params: Value) -> Result<String, HostError> {
        let params: HandshakeParams = dispatch::parse_params(params)?;
        if !SUPPORTED_VERSIONS.contains(&params.protocol_version) {
            return Err(HostError::new(
                ErrorCode::ProtocolMismatch,
                format!(
                    "protocol version {} is not supported",
                    params.protocol_version
                ),
            )
            .with("supported", SUPPORTED_VERSIONS));
        }
        let role = params.role.unwrap_or(Role::Operator);
        // An agent cannot answer cards, whatever it says of itself.
        let review = params.capabilities.review && role == Role::Operator;
        if self.peer.set(Peer { role, review }).is_err() {
            return Err(HostError::new(
                ErrorCode::Conflict,
                "the handshake is already done",
            ));
        }
        if review {
            self.host.attach_reviewer();
        }
        if params.capabilities.questions && role == Role::Operator {
            self.host.attach_questions();
        }
        self.host.set_vision(params.capabilities.vision);
        let result = super::methods::app::handshake(&self.host);
        serde_json::to_string(&result).map_err(HostError::internal)
    }

    /// Answers with a result, which is JSON text, or with an error.
    async fn reply(&self, id: Option<&RequestId>, result: Result<String, HostError>) {
        let Some(id) = id else { return };
        let line = match result {
            Ok(result) => format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{result}}}",
                id.as_json(),
            ),
            Err(error) => host_error_line(id, &error),
        };
        self.outbound.answer(line).await;
    }

    async fn refuse(&self, id: Option<&RequestId>, refusal: Refusal) {
        let Some(id) = id else { return };
        let line = match refusal {
            Refusal::Host(error) => host_error_line(id, &error),
            Refusal::UnknownMethod(name) => {
                let message = format!("there is no method `{name}`");
                error_line(id, rpc_code::METHOD_NOT_FOUND, &message, None)
            }
        };
        self.outbound.answer(line).await;
    }

    fn lock_ids(&self) -> std::sync::MutexGuard<'_, HashSet<String>> {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

enum Refusal {
    Host(HostError),
    UnknownMethod(String),
}

/// Opens a queue whose events go to the client, with the writer thread running on `output`.
pub fn open_outbound(
    output: impl std::io::Write + Send + 'static,
) -> (Outbound, Arc<WireEvents>, std::thread::JoinHandle<()>) {
    let outbound = Outbound::default();
    let events = Arc::new(WireEvents::new(outbound.clone()));
    let writer = outbound.clone();
    let thread = std::thread::spawn(move || writer.write_all(output));
    (outbound, events, thread)
}

fn read_all(mut input: impl BufRead, lines: &mpsc::Sender<Incoming>, ahead: &ReadAhead) {
    let mut buffer = Vec::new();
    loop {
        let incoming = match frame::read_line(&mut input, &mut buffer) {
            Ok(Line::Ready) => {
                ahead.add(buffer.len());
                Incoming::Line(std::mem::take(&mut buffer))
            }
            Ok(Line::TooLong) => Incoming::TooLong,
            Ok(Line::End) | Err(_) => return,
        };
        if lines.blocking_send(incoming).is_err() {
            return;
        }
    }
}

fn bad_line(bad: &BadLine) -> String {
    let data = (bad.code == rpc_code::INVALID_PARAMS)
        .then(|| json!({ "code": ErrorCode::InvalidParams.as_str() }));
    error_line(&bad.id, bad.code, &bad.message, data)
}

fn host_error_line(id: &RequestId, error: &HostError) -> String {
    let code = match error.code {
        ErrorCode::InvalidParams => rpc_code::INVALID_PARAMS,
        _ => rpc_code::SERVER_ERROR,
    };
    let mut data = error.data.clone();
    data.insert("code".to_owned(), error.code.as_str().into());
    if error.code.is_retryable() {
        data.insert("retryable".to_owned(), true.into());
    }
    error_line(id, code, &error.message, Some(Value::Object(data)))
}

fn error_line(id: &RequestId, code: i32, message: &str, data: Option<Value>) -> String {
    let mut error = json!({ "code": code, "message": message });
    if let Some(data) = data {
        error["data"] = data;
    }
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{},\"error\":{}}}",
        id.as_json(),
        json_text(&error)
    )
}

/// A JSON value as one line. Values made of strings and numbers always serialise; into a string
/// directly, as the formatter looks at every piece again.
pub(super) fn json_text(value: &Value) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
