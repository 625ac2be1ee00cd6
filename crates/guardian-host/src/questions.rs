//! Questions of the model to the user (`asktool`, SPEC §13.2). They permit nothing, wait without
//! end, and are skipped when their turn ends or nobody is there to answer.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use guardian_facts::input::{AskInput, Question};
use guardian_store::{AuditEntry, AuditEvent, Durability, SessionId};
use serde_json::json;
use tokio::sync::oneshot;

use crate::error::{ErrorCode, HostError};
use crate::events::Event;
use crate::gate::{Passage, aborted};
use crate::host::Host;
use crate::outcome::{Stop, ToolOutcome};
use crate::sessions::random_id;

/// Between a question and its answers.
const AFTER_QUESTION: &str = "：";
/// Between answers.
const BETWEEN_ANSWERS: &str = "、";
/// Between questions.
const BETWEEN_QUESTIONS: &str = "\n---\n";
/// Longest answer of the user, in bytes.
const LONGEST_ANSWER: usize = 64 * 1024;

/// Answers, one entry a question; `None` = skipped.
pub type Answers = Vec<Option<Vec<String>>>;

/// Questions that wait for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskRequest {
    /// Id of the request.
    pub request_id: String,
    /// Its session.
    pub session_id: String,
    /// Its turn.
    pub turn_id: Option<String>,
    /// Its call.
    pub tool_call_id: String,
    /// The questions as people may see them.
    pub questions: Vec<Question>,
}

struct Waiting {
    session_id: String,
    /// As the model asked them, and as they were shown.
    asked: Vec<Question>,
    shown: Vec<Question>,
    answer: oneshot::Sender<Answers>,
}

/// All questions that wait.
#[derive(Default)]
pub(crate) struct Questions {
    clients: AtomicUsize,
    waiting: Mutex<HashMap<String, Waiting>>,
}

impl Questions {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Skips what waits in a session.
    pub(crate) fn skip_session(&self, session_id: &str) {
        let mut waiting = self.lock();
        let ids: Vec<String> = waiting
            .iter()
            .filter(|(_, one)| one.session_id == session_id)
            .map(|(id, _)| id.clone())
            .collect();
        for id in ids {
            if let Some(one) = waiting.remove(&id) {
                let skipped = vec![None; one.asked.len()];
                // A call that is gone needs no answer.
                let _ = one.answer.send(skipped);
            }
        }
    }
}

/// Takes a request off the list, also when its call is dropped.
struct Listed<'h> {
    host: &'h Host,
    request_id: String,
}

impl Drop for Listed<'_> {
    fn drop(&mut self) {
        self.host.questions.lock().remove(&self.request_id);
    }
}

impl Host {
    /// Says that a client which shows questions is there. Until then they are skipped.
    pub fn attach_questions(&self) {
        self.questions.clients.fetch_add(1, Ordering::AcqRel);
    }

    /// The body of `asktool`.
    pub(crate) async fn ask_user(
        &self,
        passage: &Passage,
        input: &AskInput,
    ) -> Result<ToolOutcome, Stop> {
        let id = &passage.request.tool_call_id;
        if self.questions.clients.load(Ordering::Acquire) == 0 {
            let mut outcome = outcome(id, input, vec![None; input.questions.len()]);
            outcome.content["notice"] = "nobody is there to answer; decide yourself".into();
            return Ok(outcome);
        }
        let request_id = random_id("q")?;
        let shown: Vec<Question> = input.questions.iter().map(|one| self.shown(one)).collect();
        let (answer, answered) = oneshot::channel();
        let waiting = Waiting {
            session_id: passage.request.session_id.clone(),
            asked: input.questions.clone(),
            shown: shown.clone(),
            answer,
        };
        self.questions.lock().insert(request_id.clone(), waiting);
        let _listed = Listed {
            host: self,
            request_id: request_id.clone(),
        };
        self.events.emit(Event::AskRequest {
            request: Arc::new(AskRequest {
                request_id,
                session_id: passage.request.session_id.clone(),
                turn_id: passage.request.turn_id.clone(),
                tool_call_id: self.redactor.redact_text(id).into_owned(),
                questions: shown,
            }),
        });
        tokio::select! {
            biased;
            // The end of a turn skips first and cancels then.
            Ok(answers) = answered => Ok(outcome(id, input, answers)),
            () = passage.in_flight.cancel.cancelled() => Err(aborted(passage).into()),
        }
    }

    fn shown(&self, question: &Question) -> Question {
        let text = |text: &str| self.redactor.redact_text(text).into_owned();
        Question {
            question: text(&question.question),
            options: question.options.iter().map(|one| text(one)).collect(),
            multi_select: question.multi_select,
        }
    }

    /// The user's answers to a request.
    ///
    /// # Errors
    /// `ASKTOOL_NOT_FOUND` when none of this id waits; `ASKTOOL_INVALID_ARGUMENT` when the answers
    /// do not fit the questions, which go on waiting.
    pub async fn answer_questions(
        &self,
        request_id: &str,
        answers: Answers,
    ) -> Result<(), HostError> {
        let (session_id, given) = {
            let mut waiting = self.questions.lock();
            let Some(one) = waiting.get(request_id) else {
                let message = "no question waits under this id";
                return Err(HostError::new(ErrorCode::AsktoolNotFound, message));
            };
            check(&one.asked, &answers)?;
            let given = answers.iter().flatten().count();
            let answers = meant(one, answers);
            let session_id = one.session_id.clone();
            if let Some(one) = waiting.remove(request_id) {
                // A call that is gone needs no answer.
                let _ = one.answer.send(answers);
            }
            (session_id, given)
        };
        let entry = AuditEntry {
            session: SessionId::new(session_id).ok(),
            decided_by: Some("human".to_owned()),
            detail: Some(json!({ "requestId": request_id, "answered": given })),
            ..AuditEntry::new(AuditEvent::Question)
        };
        self.with_store(move |store| store.append_audit(entry, Durability::Process).map(drop))
            .await
    }
}

fn check(questions: &[Question], answers: &Answers) -> Result<(), HostError> {
    let wrong = |message: String, pointer: String| {
        HostError::new(ErrorCode::AsktoolInvalidArgument, message).with("pointer", pointer)
    };
    if answers.len() != questions.len() {
        let message = format!(
            "there are {} questions and {} answers",
            questions.len(),
            answers.len()
        );
        return Err(wrong(message, "/answers".to_owned()));
    }
    for (index, (question, answer)) in questions.iter().zip(answers).enumerate() {
        let given = answer.as_deref().unwrap_or_default();
        let pointer = format!("/answers/{index}");
        if given.len() > 1 && !question.multi_select {
            let message = "the question takes one answer".to_owned();
            return Err(wrong(message, pointer));
        }
        if given.iter().any(|one| one.len() > LONGEST_ANSWER) {
            let message = format!("an answer may have {LONGEST_ANSWER} bytes");
            return Err(wrong(message, pointer));
        }
    }
    Ok(())
}

/// An option that was shown redacted stands for the option that the model offered.
fn meant(waiting: &Waiting, answers: Answers) -> Answers {
    let pairs = waiting.asked.iter().zip(&waiting.shown);
    answers
        .into_iter()
        .zip(pairs)
        .map(|(answer, (asked, shown))| {
            let one = |text: String| {
                let offered = shown.options.iter().position(|option| *option == text);
                offered.map_or(text, |at| asked.options[at].clone())
            };
            answer.map(|texts| texts.into_iter().map(one).collect())
        })
        .collect()
}

fn outcome(id: &str, input: &AskInput, answers: Answers) -> ToolOutcome {
    let text = text(&input.questions, &answers);
    ToolOutcome::success(id, json!({ "text": text, "answers": answers }))
}

/// What the model reads: each question with its answers, byte for byte as SPEC §13.2 says.
fn text(questions: &[Question], answers: &Answers) -> String {
    let lines: Vec<String> = questions
        .iter()
        .zip(answers)
        .map(|(question, answer)| {
            let answers = answer.as_deref().unwrap_or_default().join(BETWEEN_ANSWERS);
            format!("{}{AFTER_QUESTION}{answers}", question.question)
        })
        .collect();
    lines.join(BETWEEN_QUESTIONS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(text: &str, multi_select: bool) -> Question {
        Question {
            question: text.to_owned(),
            options: vec!["a".to_owned(), "b".to_owned()],
            multi_select,
        }
    }

    fn answer(texts: &[&str]) -> Option<Vec<String>> {
        Some(texts.iter().map(|text| (*text).to_owned()).collect())
    }

    #[test]
    fn the_bytes_are_those_of_the_contract() {
        let questions = [
            question("Which?", false),
            question("两个？", true),
            question("Why?", false),
        ];
        let answers = vec![answer(&["a"]), answer(&["a", "my own"]), None];
        assert_eq!(
            text(&questions, &answers).as_bytes(),
            "Which?：a\n---\n两个？：a、my own\n---\nWhy?：".as_bytes()
        );
        assert_eq!(text(&questions[..1], &vec![None]), "Which?：");
    }

    #[test]
    fn answers_must_fit_the_questions() {
        let questions = [question("One?", false), question("Many?", true)];
        assert!(check(&questions, &vec![answer(&["x"]), answer(&["a", "b"])]).is_ok());
        assert!(check(&questions, &vec![None, None]).is_ok());
        for wrong in [
            vec![None],
            vec![None, None, None],
            vec![answer(&["a", "b"]), None],
        ] {
            let error = check(&questions, &wrong).unwrap_err();
            assert_eq!(error.code, ErrorCode::AsktoolInvalidArgument);
        }
    }
}
