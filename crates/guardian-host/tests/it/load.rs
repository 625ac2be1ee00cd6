//! Many sessions at once, every card answered at random: no answer is lost or counted twice, what
//! runs is what was allowed, and nothing starves. `cargo xtask bench load` runs the same for
//! longer and prints its figures.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

use guardian_host::review::{HumanAnswer, Posted};
use guardian_host::rules::{OperatingMode, SessionPermissionMode};
use guardian_host::{
    Event, EventSink, Host, HostConfig, HostError, NewSession, Places, ToolRequest,
};
use serde_json::{Value, json};

/// How much load.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) sessions: usize,
    pub(crate) calls_in_flight: usize,
    pub(crate) time: Duration,
}

/// What came of it.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    /// Calls by tool.
    pub(crate) calls: HashMap<&'static str, u64>,
    /// Reads, shortest first.
    pub(crate) reads: Vec<Duration>,
    /// Calls that ended otherwise than the answer to their card says.
    pub(crate) wrong: Vec<String>,
    /// Answers that settled a card that was settled before.
    pub(crate) answered_twice: u64,
    /// Cards, and how many of them were settled by an answer.
    pub(crate) cards: u64,
    pub(crate) answered: u64,
    /// Calls turned away for lack of room.
    pub(crate) overloaded: u64,
    /// Fewest calls of one session.
    pub(crate) fewest: u64,
    /// Resident memory in KiB, at the first quarter and at the end.
    pub(crate) memory: (u64, u64),
}

impl Figures {
    /// The time that so many of 100 reads took at most.
    pub(crate) fn read_percentile(&self, percent: usize) -> Duration {
        let index = (self.reads.len() * percent / 100).min(self.reads.len().saturating_sub(1));
        self.reads.get(index).copied().unwrap_or_default()
    }
}

/// Small pseudo-random numbers: the same run every time as far as threads allow.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

/// People who answer at random, sometimes twice and sometimes a card that is not there.
struct Crowd {
    cards: mpsc::Sender<Arc<Posted>>,
}

impl EventSink for Crowd {
    fn emit(&self, event: Event) {
        if let Event::PermissionRequest { posted } = event {
            // Nobody answers any more at the end; the deadline does.
            let _ = self.cards.send(posted);
        }
    }
}

/// The host, while it is there: it owns the crowd's sender, so holding it would never let the
/// crowd go home.
type HostSlot = Arc<Mutex<Option<Arc<Host>>>>;

/// What was answered, by session and call.
type Answers = Arc<Mutex<HashMap<(String, String), bool>>>;

#[derive(Default)]
struct Counts {
    cards: AtomicU64,
    answered: AtomicU64,
    twice: AtomicU64,
}

fn answer_cards(
    received: &mpsc::Receiver<Arc<Posted>>,
    slot: &HostSlot,
    answers: &Answers,
    counts: &Counts,
) {
    let mut dice = Dice(0x2545_f491_4f6c_dd1d);
    while let Ok(posted) = received.recv() {
        let host = slot.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(host) = host else { return };
        counts.cards.fetch_add(1, Ordering::Relaxed);
        let request = &posted.request;
        let (session, id) = (&request.session_id, &request.request_id);
        let word = [
            "allow-once",
            "deny",
            "allow-once",
            "yes",
            "allow-always-for-tool",
        ][usize::try_from(dice.roll(5)).unwrap_or_default()];
        let meaning = HumanAnswer::word(word).interpret(request).is_allow();
        let key = (session.clone(), request.tool_call_id.clone());
        if let Ok(mut answers) = answers.lock() {
            answers.insert(key, meaning);
        }
        if dice.roll(4) == 0 {
            // Somebody else's card.
            host.resolve_permission("nobody", id, &HumanAnswer::word("allow-once"));
        }
        if host.resolve_permission(session, id, &HumanAnswer::word(word)) {
            counts.answered.fetch_add(1, Ordering::Relaxed);
        }
        if host.resolve_permission(session, id, &HumanAnswer::word("allow-once")) {
            counts.twice.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Runs the plan in a directory.
pub(crate) async fn run(directory: &Path, plan: Plan) -> Result<Figures, HostError> {
    let (cards, received) = mpsc::channel();
    let slot = HostSlot::default();
    let (answers, counts) = (Answers::default(), Arc::new(Counts::default()));
    let answering = {
        let (slot, answers, counts) =
            (Arc::clone(&slot), Arc::clone(&answers), Arc::clone(&counts));
        std::thread::spawn(move || answer_cards(&received, &slot, &answers, &counts))
    };
    let mut config = HostConfig::at(Places {
        data_dir: directory.join("data"),
        config_dir: directory.join("config"),
        managed_policy: directory.join("none.toml"),
        home: directory.join("home"),
        executables: Vec::new(),
    })?;
    config.environment = [("PATH", "/usr/bin:/bin"), ("HOME", "/nonexistent")]
        .map(|(name, value)| (name.into(), value.into()))
        .into();
    let host = Host::open(config, Arc::new(Crowd { cards })).await?;
    *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&host));
    host.attach_reviewer();
    for number in 0..plan.sessions {
        let workspace = directory.join(format!("w{number}"));
        std::fs::create_dir_all(&workspace)
            .and_then(|()| std::fs::write(workspace.join("read.txt"), "line\n".repeat(400)))
            .map_err(HostError::internal)?;
        host.create_session(NewSession {
            session_id: Some(format!("s{number}")),
            title: None,
            project_path: Some(workspace),
            mode: OperatingMode::Agent,
            permission_mode: SessionPermissionMode::Ask,
        })
        .await?;
    }
    let until = Instant::now() + plan.time;
    let workers: Vec<_> = (0..plan.sessions)
        .flat_map(|session| (0..plan.calls_in_flight).map(move |worker| (session, worker)))
        .map(|(session, worker)| {
            let (host, answers) = (Arc::clone(&host), Arc::clone(&answers));
            tokio::spawn(work(host, answers, session, worker, until))
        })
        .collect();
    tokio::time::sleep(plan.time / 4).await;
    let early = resident();
    let mut figures = Figures::default();
    let mut by_session: HashMap<usize, u64> = HashMap::new();
    for worker in workers {
        let (session, done) = worker.await.map_err(HostError::internal)??;
        for (tool, count) in done.calls {
            *figures.calls.entry(tool).or_default() += count;
            *by_session.entry(session).or_default() += count;
        }
        figures.reads.extend(done.reads);
        figures.wrong.extend(done.wrong);
        figures.overloaded += done.overloaded;
    }
    figures.memory = (early, resident());
    host.shutdown().await;
    drop(host);
    drop(slot.lock().unwrap_or_else(PoisonError::into_inner).take());
    answering
        .join()
        .map_err(|_| HostError::internal("the crowd met a fault"))?;
    figures.reads.sort_unstable();
    figures.fewest = by_session.values().copied().min().unwrap_or_default();
    figures.cards = counts.cards.load(Ordering::Relaxed);
    figures.answered = counts.answered.load(Ordering::Relaxed);
    figures.answered_twice = counts.twice.load(Ordering::Relaxed);
    Ok(figures)
}

/// One caller: one call after the other.
async fn work(
    host: Arc<Host>,
    answers: Answers,
    session: usize,
    worker: usize,
    until: Instant,
) -> Result<(usize, Figures), HostError> {
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15 ^ (((session as u64) << 32) | (worker as u64 + 1)));
    let mut done = Figures::default();
    let id = format!("s{session}");
    for number in 0.. {
        if Instant::now() >= until {
            break;
        }
        let (tool, args): (&'static str, Value) = match dice.roll(10) {
            0..=5 => ("Read", json!({ "path": "read.txt" })),
            6..=7 => {
                let path = format!("out-{worker}.txt");
                (
                    "Write",
                    json!({ "path": path, "content": format!("{number}\n") }),
                )
            }
            _ => ("Bash", json!({ "command": "exit 0" })),
        };
        let call = format!("{worker}-{number}");
        let request = ToolRequest::new(id.clone(), call.clone(), tool.to_owned(), args);
        let began = Instant::now();
        let outcome = host.execute(request).await?;
        if tool == "Read" {
            done.reads.push(began.elapsed());
        }
        *done.calls.entry(tool).or_default() += 1;
        let code = outcome.error_code.map(|code| code.as_str());
        if code == Some("HOST_OVERLOADED") {
            done.overloaded += 1;
            continue;
        }
        let answer = answers
            .lock()
            .ok()
            .and_then(|mut answers| answers.remove(&(id.clone(), call.clone())));
        // An allowed Write may find that another caller of its session was faster.
        let fits = match answer {
            None => outcome.ok,
            Some(false) => outcome.denied,
            Some(true) => outcome.ok || matches!(code, Some("STALE_APPROVAL" | "STALE_FILE")),
        };
        if !fits {
            done.wrong.push(format!(
                "{tool} {id} {call}: {answer:?} {:?}",
                outcome.content
            ));
        }
    }
    Ok((session, done))
}

/// Resident memory in KiB.
fn resident() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = pages.split_whitespace().nth(1).map(str::parse::<u64>);
    pages.and_then(Result::ok).unwrap_or_default() * 4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn no_answer_is_lost_or_counted_twice_and_no_session_starves() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let plan = Plan {
            sessions: 16,
            calls_in_flight: 4,
            time: Duration::from_secs(3),
        };
        let figures = run(&root, plan).await.unwrap();
        assert!(figures.wrong.is_empty(), "{:#?}", figures.wrong);
        assert_eq!(figures.answered_twice, 0);
        assert_eq!(figures.cards, figures.answered);
        assert!(figures.read_percentile(99) >= figures.read_percentile(50));
        assert!(
            figures.fewest > 0 && !figures.reads.is_empty(),
            "{figures:?}"
        );
    }
}
