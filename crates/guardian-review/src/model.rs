//! A model as reviewer (SPEC §8). Off unless the user's configuration names an endpoint.
//!
//! It may allow once, deny or abstain; [`crate::Chain`] takes an allow away again where only a
//! person may give it. What goes wrong (no connection, a refusal, an answer that does not fit the
//! schema, lateness) is a failure and leads to the next reviewer, never an answer.

mod answer;
mod api;
mod config;
mod http;
mod prompt;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::{Semaphore, oneshot};
use tokio::time::Instant;

use self::api::Unread;
pub use self::config::{ModelApi, ModelConfig, OutputMode};
pub use self::http::{HttpTransport, ModelTransport, Reply, TransportError};
pub use self::prompt::{PROMPT_VERSION, Prompt};
use crate::{Answer, ReviewError, ReviewRequest, Reviewer, ReviewerKind};

/// Time in which the model must have answered where a person is asked after it.
pub const DEADLINE_BEFORE_HUMAN: Duration = Duration::from_secs(30);
/// The same where nobody is asked after it.
pub const DEADLINE_ALONE: Duration = Duration::from_secs(90);
/// Attempts at one answer.
const ATTEMPTS: u32 = 3;
/// Pause after the first failed attempt; it doubles.
const PAUSE: Duration = Duration::from_millis(250);
/// Requests under way at once, of all sessions.
const AT_ONCE: usize = 4;
/// Turns whose spending is remembered.
const TURNS: usize = 256;

/// Asks a model.
pub struct ModelReviewer {
    config: ModelConfig,
    transport: Arc<dyn ModelTransport>,
    deadline: Duration,
    at_once: Arc<Semaphore>,
    /// Tokens by turn, oldest turn first.
    spent: Mutex<VecDeque<(String, u64)>>,
}

impl ModelReviewer {
    /// A reviewer over HTTP; `key` is the value of the variable that the configuration names.
    #[must_use]
    pub fn over_http(config: ModelConfig, key: Option<String>, deadline: Duration) -> Self {
        let headers = api::headers(config.api, key);
        let transport = HttpTransport::new(config.endpoint.clone(), headers);
        Self::new(config, Arc::new(transport), deadline)
    }

    /// A reviewer over another transport.
    #[must_use]
    pub fn new(
        config: ModelConfig,
        transport: Arc<dyn ModelTransport>,
        deadline: Duration,
    ) -> Self {
        Self {
            config,
            transport,
            deadline,
            at_once: Arc::new(Semaphore::new(AT_ONCE)),
            spent: Mutex::default(),
        }
    }

    async fn ask(
        &self,
        prompt: &Prompt,
        turn: &str,
        until: Instant,
    ) -> Result<Answer, ReviewError> {
        let body: Arc<[u8]> = api::body(&self.config, prompt)
            .to_string()
            .into_bytes()
            .into();
        let mut pause = PAUSE;
        let mut last = ReviewError::Failed("the model was not asked".to_owned());
        for attempt in 1..=ATTEMPTS {
            if self.spent_in(turn) >= self.config.max_turn_tokens {
                let message = "the token budget of this turn is used up".to_owned();
                return Err(ReviewError::Failed(message));
            }
            match self.attempt(Arc::clone(&body), prompt, turn, until).await {
                Ok(answer) => return Ok(answer),
                Err(Attempt::Over(error)) => return Err(error),
                Err(Attempt::Again(error)) => last = error,
            }
            if attempt < ATTEMPTS {
                tokio::time::sleep(pause).await;
                pause *= 2;
            }
        }
        Err(last)
    }

    async fn attempt(
        &self,
        body: Arc<[u8]>,
        prompt: &Prompt,
        turn: &str,
        until: Instant,
    ) -> Result<Answer, Attempt> {
        let failed = |message: String| ReviewError::Failed(message);
        let reply = match self.post(body, until).await {
            Ok(reply) => reply,
            Err(TransportError::TimedOut) => {
                let after = self.deadline;
                return Err(Attempt::Over(ReviewError::TimedOut { after }));
            }
            Err(error @ TransportError::TooLong) => {
                return Err(Attempt::Over(failed(error.to_string())));
            }
            Err(error) => return Err(Attempt::Again(failed(error.to_string()))),
        };
        match reply.status {
            200 => {}
            status @ (408 | 409 | 429 | 500..=599) => {
                let message = format!("the endpoint answered with status {status}");
                return Err(Attempt::Again(failed(message)));
            }
            // Also redirects: the prompt goes where the user said and nowhere else.
            status => {
                let message = format!("the endpoint answered with status {status}");
                return Err(Attempt::Over(failed(message)));
            }
        }
        let read = api::read(self.config.api, &reply.body);
        let estimate = prompt
            .tokens()
            .saturating_add(self.config.max_output_tokens);
        let reported = read.as_ref().ok().and_then(|read| read.tokens);
        self.spend(turn, reported.unwrap_or(estimate));
        match read {
            Ok(read) => Ok(read.answer.meaning()),
            Err(Unread::Garbage(message)) => Err(Attempt::Again(failed(message))),
            Err(Unread::Refused(message)) => Err(Attempt::Over(failed(message))),
        }
    }

    /// Posts on a thread of its own. A thread that nobody waits for any more ends by its own
    /// timeout, and holds its place among [`AT_ONCE`] until then.
    async fn post(&self, body: Arc<[u8]>, until: Instant) -> Result<Reply, TransportError> {
        let place = Arc::clone(&self.at_once)
            .acquire_owned()
            .await
            .map_err(|_| TransportError::Failed("guardian stops".to_owned()))?;
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(TransportError::TimedOut);
        }
        let transport = Arc::clone(&self.transport);
        let (sender, reply) = oneshot::channel();
        let thread = std::thread::Builder::new().name("guardian-review".to_owned());
        let started = thread.spawn(move || {
            // Whoever asked may have gone.
            let _ = sender.send(transport.post(&body, left));
            drop(place);
        });
        if started.is_err() {
            return Err(TransportError::Failed(
                "no thread could be started".to_owned(),
            ));
        }
        reply
            .await
            .unwrap_or_else(|_| Err(TransportError::Failed("the request met a fault".to_owned())))
    }

    fn spent_in(&self, turn: &str) -> u64 {
        let spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        spent
            .iter()
            .find(|(one, _)| one == turn)
            .map_or(0, |(_, tokens)| *tokens)
    }

    fn spend(&self, turn: &str, tokens: u64) {
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, sum)) = spent.iter_mut().find(|(one, _)| one == turn) {
            *sum = sum.saturating_add(tokens);
            return;
        }
        if spent.len() == TURNS {
            spent.pop_front();
        }
        spent.push_back((turn.to_owned(), tokens));
    }
}

/// A failed attempt.
enum Attempt {
    /// Another one may succeed.
    Again(ReviewError),
    /// No other one will.
    Over(ReviewError),
}

#[async_trait]
impl Reviewer for ModelReviewer {
    fn name(&self) -> &str {
        "model"
    }

    fn kind(&self) -> ReviewerKind {
        ReviewerKind::Automatic
    }

    fn version(&self) -> String {
        let ModelConfig {
            api,
            endpoint,
            model,
            ..
        } = &self.config;
        format!("model {PROMPT_VERSION} {api:?} {endpoint} {model}")
    }

    async fn review(&self, request: &ReviewRequest) -> Result<Answer, ReviewError> {
        let Some(prompt) = Prompt::new(request, self.config.max_input_tokens) else {
            tracing::info!("an action is too long for the reviewing model");
            return Ok(Answer::Abstain);
        };
        let turn = format!(
            "{} {}",
            request.session_id,
            request.turn_id.as_deref().unwrap_or_default()
        );
        let until = Instant::now() + self.deadline;
        let asked = self.ask(&prompt, &turn, until);
        let late = ReviewError::TimedOut {
            after: self.deadline,
        };
        tokio::time::timeout_at(until, asked)
            .await
            .unwrap_or(Err(late))
    }
}
