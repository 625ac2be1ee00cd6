//! Background jobs: commands that go on after their call has returned, until somebody ends them or
//! their session ends.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{
    Abort, BashContext, BashError, BashRequest, BashResult, OutputSink, OutputStream,
    run_bash_blocking,
};

/// Of a running job this much of the end of each stream can be looked at.
const RECENT_BYTES: usize = 32 * 1024;
/// So many ended jobs of a session can still be looked at.
const KEPT_JOBS: usize = 20;

/// The background jobs of all sessions.
///
/// A job belongs to the session it was started for; another session sees nothing of it.
#[derive(Default)]
pub struct Jobs {
    jobs: Mutex<HashMap<String, Arc<Job>>>,
}

struct Job {
    id: String,
    session: String,
    command: String,
    started: Instant,
    abort: Abort,
    recent: Arc<Recent>,
    state: Mutex<State>,
    ended: Condvar,
}

enum State {
    Running,
    Ended {
        after: Duration,
        result: Box<Result<BashResult, BashError>>,
        at: Instant,
    },
}

/// The end of both streams of a running job, and whoever else listens.
struct Recent {
    streams: Mutex<[RecentText; 2]>,
    next: Arc<dyn OutputSink>,
}

#[derive(Default)]
struct RecentText {
    text: String,
    cut: bool,
}

impl OutputSink for Recent {
    fn chunk(&self, stream: OutputStream, seq: u64, chunk: String) {
        {
            let mut streams = lock(&self.streams);
            let [stdout, stderr] = &mut *streams;
            let kept = match stream {
                OutputStream::Stdout => stdout,
                OutputStream::Stderr => stderr,
            };
            kept.text.push_str(&chunk);
            // Twice the size before it is cut: each byte is moved once on average.
            if kept.text.len() > 2 * RECENT_BYTES {
                let from = kept.text.ceil_char_boundary(kept.text.len() - RECENT_BYTES);
                kept.text.drain(..from);
                kept.cut = true;
            }
        }
        self.next.chunk(stream, seq, chunk);
    }

    fn finished(&self, next_seq: u64) {
        self.next.finished(next_seq);
    }
}

/// No such job in this session.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no background job `{id}` in this session{}",
    known_text(known)
)]
pub struct NoSuchJob {
    /// What was asked for.
    pub id: String,
    /// Which jobs there are.
    pub known: Vec<String>,
}

fn known_text(known: &[String]) -> String {
    if known.is_empty() {
        String::new()
    } else {
        format!("; there are: {}", known.join(", "))
    }
}

impl Jobs {
    /// None yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts a command as a job and returns its id at once. `request.timeout` is kept when it is
    /// given; `when_over` is called from the job's thread when nothing of it is left.
    ///
    /// # Errors
    /// The system has no thread to give. A command that cannot be started is a job that has ended.
    pub fn start(
        &self,
        session: &str,
        request: BashRequest,
        mut context: BashContext,
        when_over: impl FnOnce() + Send + 'static,
    ) -> Result<String, BashError> {
        let number: String = super::marker().chars().take(8).collect();
        let id = format!("job-{number}");
        let recent = Arc::new(Recent {
            streams: Mutex::default(),
            next: Arc::clone(&context.sink),
        });
        context.sink = recent.clone();
        let job = Arc::new(Job {
            id: id.clone(),
            session: session.to_owned(),
            command: request.command.clone(),
            started: Instant::now(),
            abort: context.abort.clone(),
            recent,
            state: Mutex::new(State::Running),
            ended: Condvar::new(),
        });
        let mut jobs = lock(&self.jobs);
        let running = Arc::clone(&job);
        std::thread::Builder::new()
            .name("bash-job".to_owned())
            .spawn(move || {
                let result = run_bash_blocking(&request, &context);
                let at = Instant::now();
                let after = at.duration_since(running.started);
                *lock(&running.state) = State::Ended {
                    after,
                    result: Box::new(result),
                    at,
                };
                running.ended.notify_all();
                when_over();
            })
            .map_err(BashError::Exhausted)?;
        jobs.insert(id.clone(), job);
        forget_old(&mut jobs, session);
        Ok(id)
    }

    /// The session's jobs, the oldest first: `{jobs: [{jobId, command, status, durationMs}]}`.
    #[must_use]
    pub fn list(&self, session: &str) -> Value {
        let jobs: Vec<Value> = self
            .of_session(session)
            .iter()
            .map(|job| job.summary())
            .collect();
        json!({ "jobs": jobs })
    }

    /// How many jobs of the session run: each counts as one of its commands.
    #[must_use]
    pub fn running(&self, session: &str) -> usize {
        self.of_session(session)
            .iter()
            .filter(|job| job.is_running())
            .count()
    }

    /// What a job has printed: of a running one the end of each stream, of one that has ended its
    /// result (SPEC §10).
    ///
    /// # Errors
    /// The session has no such job.
    pub fn output(&self, session: &str, id: &str) -> Result<Value, NoSuchJob> {
        Ok(self.get(session, id)?.view())
    }

    /// Ends a job and everything it started; returns when nothing of it is left. A job that has
    /// ended already is not an error. Blocking.
    ///
    /// # Errors
    /// The session has no such job.
    pub fn kill(&self, session: &str, id: &str) -> Result<Value, NoSuchJob> {
        let job = self.get(session, id)?;
        job.abort.abort();
        job.wait();
        Ok(job.view())
    }

    /// Ends all jobs of a session and forgets them. Blocking.
    pub fn end_session(&self, session: &str) {
        self.end(|job| job.session == session);
    }

    /// Ends all jobs: the host shuts down. Blocking.
    pub fn end_all(&self) {
        self.end(|_| true);
    }

    fn end(&self, which: impl Fn(&Job) -> bool) {
        let ending: Vec<Arc<Job>> = {
            let mut jobs = lock(&self.jobs);
            let ids: Vec<String> = jobs
                .values()
                .filter(|job| which(job))
                .map(|job| job.id.clone())
                .collect();
            ids.iter().filter_map(|id| jobs.remove(id)).collect()
        };
        for job in &ending {
            job.abort.abort();
        }
        for job in &ending {
            job.wait();
        }
    }

    fn of_session(&self, session: &str) -> Vec<Arc<Job>> {
        let jobs = lock(&self.jobs);
        let mut found: Vec<_> = jobs
            .values()
            .filter(|job| job.session == session)
            .cloned()
            .collect();
        found.sort_by_key(|job| job.started);
        found
    }

    fn get(&self, session: &str, id: &str) -> Result<Arc<Job>, NoSuchJob> {
        let jobs = self.of_session(session);
        jobs.iter()
            .find(|job| job.id == id)
            .cloned()
            .ok_or_else(|| NoSuchJob {
                id: id.to_owned(),
                known: jobs.iter().map(|job| job.id.clone()).collect(),
            })
    }
}

impl Drop for Jobs {
    /// Nobody could end them any more.
    fn drop(&mut self) {
        self.end_all();
    }
}

impl Job {
    fn is_running(&self) -> bool {
        matches!(*lock(&self.state), State::Running)
    }

    fn wait(&self) {
        let mut state = lock(&self.state);
        while matches!(*state, State::Running) {
            state = self
                .ended
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn ended_at(&self) -> Option<Instant> {
        match &*lock(&self.state) {
            State::Running => None,
            State::Ended { at, .. } => Some(*at),
        }
    }

    fn summary(&self) -> Value {
        let (status, after) = match &*lock(&self.state) {
            State::Running => ("running", self.started.elapsed()),
            State::Ended { after, .. } => ("ended", *after),
        };
        let shown: String = self.command.chars().take(200).collect();
        json!({
            "jobId": self.id,
            "command": shown,
            "status": status,
            "durationMs": u64::try_from(after.as_millis()).unwrap_or(u64::MAX),
        })
    }

    fn view(&self) -> Value {
        let mut view = self.summary();
        match &*lock(&self.state) {
            State::Running => {
                let streams = lock(&self.recent.streams);
                let [stdout, stderr] = &*streams;
                view["stdout"] = json!(stdout.text);
                view["stderr"] = json!(stderr.text);
                view["truncated"] = json!(stdout.cut || stderr.cut);
            }
            State::Ended { result, .. } => match &**result {
                Ok(result) => {
                    if let (Value::Object(view), Value::Object(result)) =
                        (&mut view, result.to_json())
                    {
                        view.extend(result);
                    }
                }
                Err(error) => {
                    view["error"] = json!(error.to_string());
                    view["code"] = json!(error.code());
                }
            },
        }
        view
    }
}

/// Ended jobs of a session beyond [`KEPT_JOBS`] are forgotten, the oldest first.
fn forget_old(jobs: &mut HashMap<String, Arc<Job>>, session: &str) {
    let mut ended: Vec<(Instant, String)> = jobs
        .values()
        .filter(|job| job.session == session)
        .filter_map(|job| Some((job.ended_at()?, job.id.clone())))
        .collect();
    ended.sort();
    let excess = ended.len().saturating_sub(KEPT_JOBS);
    for (_, id) in ended.into_iter().take(excess) {
        jobs.remove(&id);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
