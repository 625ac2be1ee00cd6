//! The host: what everything else hangs on.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use guardian_redact::{Preview, PreviewLimits, Redactor};
use guardian_review::{AbortReason, Chain, PendingQueue};
use guardian_store::{Store, StoreError, StoreOptions};
use guardian_tools::bash::environment::{EnvironmentRules, secret_values};
use guardian_tools::bash::{
    Jobs, LoginEnvironment, Platform, ShellCatalogue, SupervisorProgram, ThisMachine,
};
use guardian_tools::{RealProbe, sweep_pending};
use serde_json::Value;

use crate::admission::Admission;
use crate::audit_head::HeadPublisher;
use crate::blocking::blocking;
use crate::calls::{Calls, CallsOf};
use crate::config::{CommandsConfig, HostConfig};
use crate::confinement::Confinements;
use crate::error::{ErrorCode, HostError};
use crate::events::{Event, EventSink};
use crate::judge::Judge;
use crate::path_order::PathOrder;
use crate::policies::Policies;
use crate::questions::Questions;
use crate::review_host::{Clients, WaitingCalls};
use crate::reviewers::{self, CommandRunner, ReviewerParts};
use crate::scratch;
use crate::sessions::SessionRuntime;

/// The permission system and tool host. One per process; shared by everything that serves.
pub struct Host {
    pub(crate) config: HostConfig,
    pub(crate) judge: Arc<Judge>,
    pub(crate) probe: RealProbe,
    pub(crate) store: Store,
    pub(crate) redactor: Redactor,
    pub(crate) events: Arc<dyn EventSink>,
    pub(crate) clients: Arc<Clients>,
    pub(crate) queue: Arc<PendingQueue>,
    pub(crate) chain: Chain,
    pub(crate) waiting: WaitingCalls,
    pub(crate) admission: Admission,
    pub(crate) calls: Calls,
    pub(crate) path_order: PathOrder,
    pub(crate) vision: AtomicBool,
    /// A turn has begun in this process.
    pub(crate) turn_began: AtomicBool,
    pub(crate) login: LoginEnvironment,
    pub(crate) environment_rules: EnvironmentRules,
    pub(crate) shells: ShellCatalogue,
    pub(crate) jobs: Jobs,
    /// Values of the host's own secret variables, at least 8 characters each.
    pub(crate) own_secrets: Arc<[String]>,
    /// `None`: commands run with the weaker ownership by process group.
    pub(crate) supervisor: Option<Arc<SupervisorProgram>>,
    pub(crate) confinements: Arc<Confinements>,
    pub(crate) policies: Arc<Policies>,
    pub(crate) questions: Questions,
    runtimes: Mutex<HashMap<String, Arc<SessionRuntime>>>,
}

/// How long aborted calls may take to be over. Far above what ending a command takes.
const CALLS_END_WITHIN: std::time::Duration = std::time::Duration::from_secs(30);

/// Figures for `app.health`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Health {
    /// Calls executing.
    pub executing: usize,
    /// Calls waiting for a slot.
    pub queued: usize,
    /// Cards waiting for an answer.
    pub pending_reviews: usize,
    /// Calls in flight, waiting ones included.
    pub in_flight: usize,
}

impl Host {
    /// Opens the store, sweeps what earlier sessions left, and is ready.
    ///
    /// # Errors
    /// When the data directory cannot be used, or a configuration does not load.
    pub async fn open(
        config: HostConfig,
        events: Arc<dyn EventSink>,
    ) -> Result<Arc<Self>, HostError> {
        blocking(move || Self::open_blocking(config, events))
            .await
            .map_err(|_| HostError::internal("the host could not be opened"))?
    }

    fn open_blocking(
        mut config: HostConfig,
        events: Arc<dyn EventSink>,
    ) -> Result<Arc<Self>, HostError> {
        let rules = EnvironmentRules::builtin().map_err(HostError::internal)?;
        let mut own_secrets = secret_values(&config.environment, &rules);
        // Whatever its name: the reviewing model's key is a secret, and no command gets it.
        let key = config.user.review.model.as_ref();
        let key = key.and_then(|model| model.api_key_env.clone());
        if let Some(value) = key.as_ref().and_then(|name| {
            let value = config.environment.get(std::ffi::OsStr::new(name))?;
            value.to_str().filter(|value| value.len() >= 8)
        }) && !own_secrets.iter().any(|known| known == value)
        {
            own_secrets.push(value.to_owned());
        }
        let own_secrets: Arc<[String]> = own_secrets.into();
        let env = &config.user.env;
        let blocked = env.block.iter().cloned().chain(key).collect();
        let rules = rules.with_user(env.pass.clone(), blocked);
        let redactor = Redactor::builtin().with_known_values(own_secrets.iter().cloned());
        let options = StoreOptions::new(&config.places.data_dir)
            .clock(Arc::clone(&config.clock))
            .redactor(redactor.clone())
            .review_quota(config.review_quota_bytes);
        let places = config
            .user
            .audit
            .places()
            .map_err(|error| HostError::invalid_params(error.to_string()))?;
        let publisher = HeadPublisher::new(places);
        let options = options.publish_head(move |head| publisher.publish(head));
        let store = Store::open(options).map_err(store_error)?;
        if let Some(recovery) = store.recovery() {
            tracing::error!(
                moved_to = %recovery.moved_to.display(),
                reason = recovery.reason,
                "the database was damaged and has been moved aside; nothing of it is in force"
            );
        }
        // Scratch paths are compared as canonical ones.
        config.places.data_dir = std::fs::canonicalize(&config.places.data_dir)
            .map_err(|error| HostError::internal(format!("the data directory: {error}")))?;
        let judge = Arc::new(Judge::of_user(&config.user)?.with_redactor(redactor.clone()));
        let policies = Policies::open(&config.places, Arc::clone(&judge), store.clone())?;
        let queue = PendingQueue::new(config.user.review.human_timeout());
        let clients = Arc::new(Clients::new(Arc::clone(&events)));
        let supervisor = find_supervisor(&config.user.commands);
        let shells = ShellCatalogue::discover(Platform::current(), &ThisMachine);
        let chain = reviewers::chain(ReviewerParts {
            config: &config.user.review,
            queue: &queue,
            clients: &clients,
            store: &store,
            commands: CommandRunner {
                data_dir: config.places.data_dir.clone(),
                environment: config.environment.clone(),
                rules: rules.clone(),
                shells: shells.clone(),
                supervisor: supervisor.clone(),
            },
            environment: &config.environment,
        })?;
        let host = Self {
            admission: Admission::new(config.admission),
            judge,
            probe: RealProbe::new(),
            store,
            redactor,
            events,
            clients,
            queue,
            chain,
            waiting: WaitingCalls::default(),
            calls: Calls::default(),
            path_order: PathOrder::default(),
            vision: AtomicBool::new(false),
            turn_began: AtomicBool::new(false),
            login: LoginEnvironment::new(config.environment.clone()),
            environment_rules: rules,
            supervisor,
            confinements: Arc::new(Confinements::new()?),
            own_secrets,
            jobs: Jobs::new(),
            shells,
            policies: Arc::new(policies),
            questions: Questions::default(),
            runtimes: Mutex::default(),
            config,
        };
        host.sweep();
        Ok(Arc::new(host))
    }

    /// Says that a client which shows cards is there. Until then every session is headless.
    pub fn attach_reviewer(&self) {
        self.clients.attach();
    }

    /// Says whether the client takes image data.
    pub fn set_vision(&self, vision: bool) {
        self.vision.store(vision, Ordering::Relaxed);
    }

    /// Figures for `app.health`.
    #[must_use]
    pub fn health(&self) -> Health {
        let figures = self.admission.figures();
        Health {
            executing: figures.executing,
            queued: figures.queued,
            pending_reviews: self.queue.pending(None).len(),
            in_flight: self.calls.in_flight(None),
        }
    }

    /// Aborts one call, or remembers to for 60 s when it has not arrived yet. True when it was in
    /// flight. Idempotent.
    pub fn abort_call(&self, session_id: &str, tool_call_id: &str) -> bool {
        // The card first, so that it is taken away as aborted and not as abandoned.
        self.queue
            .abort_call(session_id, tool_call_id, AbortReason::Call);
        self.calls.abort(session_id, tool_call_id)
    }

    /// Ends everything: cards are denied, calls aborted, their processes gone when this returns.
    pub async fn shutdown(self: &Arc<Self>) {
        self.queue.close(AbortReason::Host);
        self.calls.abort_all();
        if !self.calls_end(None).await {
            tracing::error!("aborted calls did not end in time");
        }
        // Only now can no call start another one.
        self.end_jobs(None).await;
    }

    /// Waits until the aborted calls of a session, or all, are over; false when they are not within
    /// [`CALLS_END_WITHIN`]. They end by themselves: a body that hangs in the kernel must not make
    /// the host hang with it.
    pub(crate) async fn calls_end(&self, calls: Option<CallsOf<'_>>) -> bool {
        let over = async {
            while self.calls.in_flight(calls) > 0 {
                tokio::time::sleep(std::time::Duration::from_millis(2)).await;
            }
        };
        tokio::time::timeout(CALLS_END_WITHIN, over).await.is_ok()
    }

    /// A value as people may see it: redacted, cut.
    pub(crate) fn preview(&self, value: &Value) -> Value {
        Preview::new(&self.redactor, value, PreviewLimits::CARD).value
    }

    /// What this process keeps of a session.
    pub(crate) fn runtime(&self, session_id: &str) -> Arc<SessionRuntime> {
        let mut runtimes = self.runtimes.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(runtimes.entry(session_id.to_owned()).or_default())
    }

    /// Forgets what this process kept of a session.
    pub(crate) fn forget_runtime(&self, session_id: &str) {
        self.runtimes
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(session_id);
    }

    pub(crate) fn emit_session_change(&self, session_id: &str, change: &'static str) {
        self.events.emit(Event::SessionChanged {
            session_id: session_id.to_owned(),
            change,
        });
    }

    /// Looks a few rows up, right here: in a local database beside one writer that takes less time
    /// than handing the question to another thread and waiting for it. Every call asks several.
    pub(crate) fn look_up<T>(
        &self,
        look: impl FnOnce(&Store) -> Result<T, StoreError>,
    ) -> Result<T, HostError> {
        look(&self.store).map_err(store_error)
    }

    /// Runs a blocking operation of the store off the async threads.
    pub(crate) async fn with_store<T: Send + 'static>(
        &self,
        operation: impl FnOnce(&Store) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, HostError> {
        let store = self.store.clone();
        blocking(move || operation(&store))
            .await
            .map_err(|_| HostError::internal("the store met a fault"))?
            .map_err(store_error)
    }

    /// Ends what hosts left open that are gone. A session that another process holds is skipped.
    fn interrupt_orphans(&self) -> Result<(), StoreError> {
        for session in self.store.sessions_left_open()? {
            match self.store.lease(&session) {
                Ok(lease) => crate::sessions::interrupt(&self.store, &lease).map(drop)?,
                Err(StoreError::Conflict(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Removes what killed processes and gone sessions left, and audit rows past their time;
    /// failures are for the log only.
    fn sweep(&self) {
        let kept_since = self.store.now().0 - self.config.user.audit.retention_ms();
        if let Err(error) = self
            .store
            .prune_audit(guardian_store::Timestamp(kept_since))
        {
            tracing::warn!(%error, "old rows of the record could not be removed");
        }
        if let Err(error) = self.store.sweep_grants() {
            tracing::warn!(%error, "expired grants could not be removed");
        }
        if let Err(error) = self.interrupt_orphans() {
            tracing::warn!(%error, "what an earlier host left open could not be ended");
        }
        if let Err(error) = self.store.sweep_blobs() {
            tracing::warn!(%error, "kept bytes could not be swept");
        }
        let data_dir = &self.config.places.data_dir;
        let swept = sweep_pending(data_dir);
        for kept in &swept.kept {
            tracing::warn!(
                path = %kept.display(),
                "a change was interrupted; this file holds what somebody else wrote meanwhile"
            );
        }
        let candidates = match scratch::candidates(data_dir) {
            Ok(candidates) => candidates,
            Err(error) => {
                tracing::warn!(%error, "scratch directories could not be listed");
                return;
            }
        };
        let lives = self.store.sessions().and_then(|sessions| {
            let life = |session: guardian_store::Session| {
                let running = self.store.running_turn(&session.id)?.is_some();
                let life = if running {
                    scratch::SessionLife::Running
                } else {
                    scratch::SessionLife::Resting
                };
                Ok((session.id.to_string(), life))
            };
            sessions
                .into_iter()
                .map(life)
                .collect::<Result<BTreeMap<_, _>, StoreError>>()
        });
        match lives {
            Ok(lives) => {
                scratch::sweep(data_dir, &candidates, &lives, SystemTime::now());
            }
            Err(error) => tracing::warn!(%error, "the scratch sweep is skipped"),
        }
    }
}

/// The configured supervisor, or the one beside this executable. Without one commands still run,
/// and their results say that only their process group is owned.
fn find_supervisor(config: &CommandsConfig) -> Option<Arc<SupervisorProgram>> {
    match config.find_supervisor() {
        Ok(program) => Some(Arc::new(program)),
        Err(error) => {
            tracing::warn!(%error, "no supervisor: commands are owned by process group only");
            None
        }
    }
}

/// A store failure as a host error. "Not there" is said only when the store was read.
pub(crate) fn store_error(error: StoreError) -> HostError {
    use guardian_store::Conflict;
    let message = error.to_string();
    match error {
        StoreError::NotFound {
            what: "session", ..
        } => HostError::new(ErrorCode::SessionNotFound, message),
        StoreError::NotFound { .. } => HostError::new(ErrorCode::NotFound, message),
        StoreError::Conflict(Conflict::TurnRunning { .. }) => {
            HostError::new(ErrorCode::AgentBusy, message)
        }
        StoreError::Conflict(Conflict::Plan(conflict)) => {
            HostError::new(crate::plans::code_of(conflict), message)
        }
        StoreError::Conflict(_) => HostError::new(ErrorCode::Conflict, message),
        StoreError::Invalid(_) => HostError::invalid_params(message),
        StoreError::Busy
        | StoreError::Unavailable { .. }
        | StoreError::Corrupt(_)
        | StoreError::ReadOnly
        | StoreError::Full
        | StoreError::TooNew { .. }
        | StoreError::Closed => HostError::internal(message),
    }
}
