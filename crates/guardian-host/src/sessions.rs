//! Sessions and turns: durable rows, looked up at the time of every call.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use guardian_facts::RootPaths;
use guardian_rules::{Grant, OperatingMode, PermissionMode, SessionPermissionMode};
use guardian_store::{
    DelegateEnd, Lease, NewTurn, Proposal, SessionId, SessionState, ShellPin, Store, StoreError,
    TurnOutcome,
};
use guardian_tools::{FailureCode, Look, Roots, SeenFile, ToolFailure};

use crate::blocking::blocking;
use crate::calls::CallsOf;
use crate::control::ControlRuntime;
use crate::error::{ErrorCode, HostError};
use crate::host::Host;
use crate::repair::RepairGuard;
use crate::scratch;
use guardian_review::AbortReason;

/// A session as it is now.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionInfo {
    /// Its id.
    pub session_id: String,
    /// For people.
    pub title: Option<String>,
    /// Its project directory.
    pub project_path: Option<PathBuf>,
    /// Its roots.
    pub roots: RootPaths,
    /// Which tools exist.
    pub mode: OperatingMode,
    /// Who approves, as stored.
    pub permission_mode: SessionPermissionMode,
    /// Who approves, in force.
    pub effective_permission_mode: PermissionMode,
    /// Its running turn.
    pub running_turn: Option<String>,
    /// Shell that the running turn pinned: id and dialect.
    pub pinned_shell: Option<(String, String)>,
    /// Milliseconds since the epoch.
    pub created_at: i64,
    /// Milliseconds since the epoch.
    pub updated_at: i64,
}

/// A session to be made.
#[derive(Debug, Clone)]
pub struct NewSession {
    /// Its id; made up when missing.
    pub session_id: Option<String>,
    /// For people.
    pub title: Option<String>,
    /// Its project directory, absolute.
    pub project_path: Option<PathBuf>,
    /// Which tools exist.
    pub mode: OperatingMode,
    /// Who approves.
    pub permission_mode: SessionPermissionMode,
}

/// A session that was made, with what its user should know.
#[derive(Debug, Clone)]
pub struct CreatedSession {
    /// The session.
    pub info: SessionInfo,
    /// Sentences for people.
    pub warnings: Vec<String>,
}

/// What to change of a session; `None` leaves as it is.
#[derive(Debug, Clone, Default)]
pub struct SessionChange {
    /// Title.
    pub title: Option<String>,
    /// Operating mode.
    pub mode: Option<OperatingMode>,
    /// Permission mode.
    pub permission_mode: Option<SessionPermissionMode>,
}

/// A turn that was begun.
#[derive(Debug, Clone)]
pub struct TurnInfo {
    /// Its id.
    pub turn_id: String,
    /// Its shell.
    pub shell_id: Option<String>,
    /// The shell's dialect.
    pub shell_dialect: Option<String>,
}

/// The files that a session met, by canonical path.
#[derive(Default)]
struct KnownFiles {
    seen: HashMap<PathBuf, SeenFile>,
    /// Those of which the store does not know it yet.
    unsaved: HashSet<PathBuf>,
}

/// What this process keeps of a session: nothing that a decision depends on.
#[derive(Default)]
pub(crate) struct SessionRuntime {
    roots: Mutex<Option<(RootPaths, Arc<Roots>)>>,
    files: Mutex<KnownFiles>,
    lease: Mutex<Option<Lease>>,
    pub(crate) reviews: crate::reviews::ReviewState,
    repairs: Mutex<RepairGuard>,
    pub(crate) control: ControlRuntime,
}

impl SessionRuntime {
    /// The session's root handles, opened once. A session is bound to a path: where another
    /// directory stands there now (cloned anew), that one is opened; where none does, nothing of
    /// the session runs, and says so. Blocking.
    pub(crate) fn roots(&self, paths: &RootPaths) -> Result<Arc<Roots>, ToolFailure> {
        let mut kept = self.roots.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, roots)) = kept.as_ref()
            && of == paths
            && roots.workspace_is_in_place()
        {
            return Ok(Arc::clone(roots));
        }
        let roots = Roots::open(paths)
            .map(Arc::new)
            .map_err(|error| ToolFailure::new(FailureCode::ToolFailed, error.to_string()))?;
        *kept = Some((paths.clone(), Arc::clone(&roots)));
        Ok(roots)
    }

    /// Makes the scratch directory. True when it was missing and is there now. Blocking.
    pub(crate) fn make_scratch(&self, paths: &RootPaths) -> bool {
        let missing = std::fs::symlink_metadata(&paths.scratch).is_err();
        missing && self.roots(paths).is_ok_and(|roots| roots.scratch().is_ok())
    }

    fn files(&self) -> MutexGuard<'_, KnownFiles> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The files that were met since this was last asked, for the record.
    pub(crate) fn unsaved_files(&self) -> Vec<guardian_store::SeenFile> {
        let mut files = self.files();
        let KnownFiles { seen, unsaved } = &mut *files;
        unsaved
            .drain()
            .filter_map(|path| {
                let SeenFile { tag, look } = seen.get(&path)?.clone();
                let content = look == Look::Content;
                Some(guardian_store::SeenFile { path, tag, content })
            })
            .collect()
    }

    /// They could not be recorded: the next record has them.
    pub(crate) fn keep_unsaved(&self, files: &[guardian_store::SeenFile]) {
        let paths = files.iter().map(|file| file.path.clone());
        self.files().unsaved.extend(paths);
    }

    /// What the session met before this process had it.
    fn recall_files(&self, store: &Store, session: &SessionId) -> Result<(), StoreError> {
        let recalled = store.seen_files(session)?;
        let mut files = self.files();
        for file in recalled {
            let look = if file.content {
                Look::Content
            } else {
                Look::Version
            };
            let seen = SeenFile {
                tag: file.tag,
                look,
            };
            files.seen.entry(file.path).or_insert(seen);
        }
        Ok(())
    }

    /// Works on the failed repairs of the running prompt.
    pub(crate) fn repairs<T>(&self, work: impl FnOnce(&mut RepairGuard) -> T) -> T {
        work(&mut self.repairs.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The session is this process's.
    pub(crate) fn holds_lease(&self) -> bool {
        let lease = self.lease.lock().unwrap_or_else(PoisonError::into_inner);
        lease.is_some()
    }

    /// Takes the session for this process, and ends what a process that went away left open.
    /// Returns the proposals that this interrupted.
    fn hold_lease(&self, store: &Store, session: &SessionId) -> Result<Vec<Proposal>, StoreError> {
        let mut kept = self.lease.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.is_some() {
            return Ok(Vec::new());
        }
        let lease = store.lease(session)?;
        let interrupted = interrupt(store, &lease)?;
        self.recall_files(store, session)?;
        *kept = Some(lease);
        Ok(interrupted)
    }
}

impl guardian_tools::FileTags for SessionRuntime {
    fn last(&self, canonical: &Path) -> Option<SeenFile> {
        self.files().seen.get(canonical).cloned()
    }

    fn remember(&self, canonical: &Path, tag: &str, look: Look) {
        let tag = tag.to_owned();
        let now = SeenFile { tag, look };
        let mut files = self.files();
        if files.seen.get(canonical) == Some(&now) {
            return;
        }
        files.seen.insert(canonical.to_owned(), now);
        files.unsaved.insert(canonical.to_owned());
    }
}

impl Host {
    /// Makes a session.
    ///
    /// # Errors
    /// `INVALID_PARAMS` for an id or project directory that is not acceptable (SPEC §1),
    /// `CONFLICT` when the id is taken.
    pub async fn create_session(
        self: &std::sync::Arc<Self>,
        new: NewSession,
    ) -> Result<CreatedSession, HostError> {
        let id = match new.session_id {
            Some(text) => session_id(&text)?,
            None => session_id(&random_id("s")?)?,
        };
        let mut warnings = Vec::new();
        let project_path = match new.project_path {
            None => None,
            Some(path) => Some(self.acceptable_project(path, &mut warnings).await?),
        };
        let row = guardian_store::NewSession {
            id: id.clone(),
            project_path,
            title: new.title,
            mode: new.mode,
            permission_mode: new.permission_mode,
        };
        self.with_store(move |store| store.create_session(row))
            .await?;
        self.emit_session_change(id.as_str(), "created");
        let info = self.session(id.as_str()).await?;
        // What holds for a session is what its files say when it begins; later they only tighten.
        self.policy_of(&info).await?;
        Ok(CreatedSession { info, warnings })
    }

    /// Looks a session up.
    ///
    /// # Errors
    /// `SESSION_NOT_FOUND` only when the look succeeded and there is none; else `INTERNAL`.
    pub async fn session(&self, id: &str) -> Result<SessionInfo, HostError> {
        Ok(self.session_and_grants(id)?.0)
    }

    /// [`Self::session`], and its grants of the same moment. Grants that cannot be read count as
    /// none (SPEC §1).
    pub(crate) fn session_and_grants(
        &self,
        id: &str,
    ) -> Result<(SessionInfo, Vec<Grant>), HostError> {
        // A text that is no id names no session.
        let id = SessionId::new(id).map_err(|_| not_found(id))?;
        let SessionState {
            session,
            running_turn,
            settings,
            grants,
        } = self.look_up(|store| store.session_state(&id))?;
        let grants = crate::grants::readable(grants.map_err(crate::host::store_error));
        let info = self.info(session, running_turn, settings.default_permission_mode);
        Ok((info, grants))
    }

    /// All sessions, last changed first.
    ///
    /// # Errors
    /// `INTERNAL` when the store cannot be read.
    pub async fn list_sessions(&self) -> Result<Vec<SessionInfo>, HostError> {
        let (sessions, settings) = self
            .with_store(|store| {
                let sessions = store.sessions()?;
                let with_turns = sessions.into_iter().map(|session| {
                    let turn = store.running_turn(&session.id)?;
                    Ok::<_, StoreError>((session, turn))
                });
                Ok((
                    with_turns.collect::<Result<Vec<_>, _>>()?,
                    store.settings()?,
                ))
            })
            .await?;
        let mode = settings.default_permission_mode;
        Ok(sessions
            .into_iter()
            .map(|(session, turn)| self.info(session, turn, mode))
            .collect())
    }

    /// Changes a session's title or modes; what waits for an answer is decided anew.
    ///
    /// # Errors
    /// `SESSION_NOT_FOUND`, `INTERNAL`; `PLAN_CONFIGURATION_BLOCKED` while a proposal waits,
    /// `CONFLICT` for another mode while a delegate is at work.
    pub async fn configure_session(
        self: &std::sync::Arc<Self>,
        id: &str,
        change: SessionChange,
    ) -> Result<SessionInfo, HostError> {
        let id = SessionId::new(id).map_err(|_| not_found(id))?;
        let row = guardian_store::SessionChange {
            mode: change.mode,
            permission_mode: change.permission_mode,
            title: change.title.map(Some),
        };
        self.session(id.as_str()).await?;
        // Whoever runs the session's calls must be who changes what they may do: cards that wait
        // in another process would not be decided anew.
        self.own_session(id.as_str()).await?;
        self.expire_plans().await?;
        let changed = id.clone();
        self.with_store(move |store| store.configure_session(&changed, None, row))
            .await?;
        self.re_evaluate(Some(id.as_str())).await;
        self.emit_session_change(id.as_str(), "configured");
        self.session(id.as_str()).await
    }

    /// Ends what runs in a session, then removes its rows, grants, scratch and snapshots. Its
    /// audit rows stay.
    ///
    /// # Errors
    /// `SESSION_NOT_FOUND`, `INTERNAL`.
    pub async fn delete_session(self: &Arc<Self>, id: &str) -> Result<(), HostError> {
        let id = SessionId::new(id).map_err(|_| not_found(id))?;
        self.session(id.as_str()).await?;
        // Calls that another process runs could not be stopped from here.
        self.own_session(id.as_str()).await?;
        self.stop_calls(CallsOf::Session(id.as_str())).await?;
        let deleted = id.clone();
        self.with_store(move |store| store.delete_session(&deleted))
            .await?;
        // A call that came in meanwhile stops at the missing row; what it started before ends here.
        self.stop_calls(CallsOf::Session(id.as_str())).await?;
        self.end_jobs(Some(id.as_str())).await;
        self.forget_runtime(id.as_str());
        self.policies.forget(id.as_str());
        let (data_dir, name) = (self.config.places.data_dir.clone(), id.to_string());
        let removed = blocking(move || scratch::remove(&data_dir, &name)).await;
        if !matches!(removed, Ok(Ok(()))) {
            tracing::warn!(
                session = id.as_str(),
                "the scratch directory could not be removed"
            );
        }
        self.emit_session_change(id.as_str(), "deleted");
        Ok(())
    }

    /// Begins a turn: pins the shell, resets what is per prompt.
    ///
    /// # Errors
    /// `AGENT_BUSY` when one is running, `CONFLICT` when another process owns the session.
    pub async fn begin_turn(
        &self,
        id: &str,
        user_message: Option<String>,
        new_prompt: bool,
    ) -> Result<TurnInfo, HostError> {
        let id = SessionId::new(id).map_err(|_| not_found(id))?;
        self.session(id.as_str()).await?;
        let runtime = self.runtime(id.as_str());
        let shell = self.effective_shell().await?;
        let turn_id = random_id("t")?;
        let new = NewTurn {
            id: turn_id.clone(),
            shell: shell.as_ref().map(|(id, dialect)| ShellPin {
                id: id.clone(),
                dialect: dialect.clone(),
            }),
            user_message,
            new_prompt,
        };
        self.own_session(id.as_str()).await?;
        let of = id.clone();
        self.with_store(move |store| store.begin_turn(&of, new))
            .await?;
        if new_prompt {
            runtime.control.lock_active_tools().clear();
        }
        self.turn_began
            .store(true, std::sync::atomic::Ordering::Release);
        if new_prompt {
            runtime.repairs(|guard| *guard = RepairGuard::default());
        }
        self.emit_session_change(id.as_str(), "turnStarted");
        let (shell_id, shell_dialect) = shell.unzip();
        Ok(TurnInfo {
            turn_id,
            shell_id,
            shell_dialect,
        })
    }

    /// Ends a turn; everything pending in it is resolved.
    ///
    /// # Errors
    /// `CONFLICT` when it is not the running one.
    pub async fn end_turn(&self, id: &str, turn_id: &str) -> Result<(), HostError> {
        self.finish_turn(id, turn_id, TurnOutcome::Ended).await
    }

    /// Ends a turn as it happened.
    pub(crate) async fn finish_turn(
        &self,
        id: &str,
        turn_id: &str,
        outcome: TurnOutcome,
    ) -> Result<(), HostError> {
        let id = SessionId::new(id).map_err(|_| not_found(id))?;
        self.own_session(id.as_str()).await?;
        let (of, turn) = (id.clone(), turn_id.to_owned());
        self.with_store(move |store| store.end_turn(&of, &turn, outcome))
            .await?;
        // Skipped before their calls are aborted: they end well.
        self.questions.skip_session(id.as_str());
        // The next turn may have begun already: its calls go on.
        self.stop_calls(CallsOf::Turn(id.as_str(), turn_id)).await?;
        self.close_delegates(id.as_str(), None, DelegateEnd::Aborted)
            .await?;
        self.emit_session_change(id.as_str(), "turnEnded");
        Ok(())
    }

    /// Makes sure that the session's turns and scratch are this process's (SPEC §15.1).
    ///
    /// # Errors
    /// `CONFLICT` when another process has the session.
    pub(crate) async fn own_session(&self, id: &str) -> Result<(), HostError> {
        let runtime = self.runtime(id);
        if runtime.holds_lease() {
            return Ok(());
        }
        let id = SessionId::new(id).map_err(|_| not_found(id))?;
        let interrupted = self
            .with_store(move |store| runtime.hold_lease(store, &id))
            .await?;
        interrupted
            .iter()
            .for_each(|proposal| self.emit_plan(proposal));
        Ok(())
    }

    /// Denies their cards, aborts the calls and waits until they are over.
    async fn stop_calls(&self, calls: CallsOf<'_>) -> Result<(), HostError> {
        match calls {
            CallsOf::Session(id) => {
                self.queue.abort_session(id, AbortReason::Session);
            }
            CallsOf::Turn(id, turn) => {
                for posted in self.queue.pending(Some(id)) {
                    let request = &posted.request;
                    if request.turn_id.as_deref().is_none_or(|of| of == turn) {
                        let call = &request.tool_call_id;
                        self.queue.abort_call(id, call, AbortReason::Turn);
                    }
                }
            }
        }
        self.calls.abort_of(calls);
        if self.calls_end(Some(calls)).await {
            return Ok(());
        }
        Err(HostError::internal(
            "calls of the session did not end in time; try again",
        ))
    }

    fn info(
        &self,
        session: guardian_store::Session,
        turn: Option<guardian_store::Turn>,
        default_mode: Option<PermissionMode>,
    ) -> SessionInfo {
        let roots = self.roots_of(session.id.as_str(), session.project_path.clone());
        let (running_turn, pinned_shell) = match turn {
            None => (None, None),
            Some(turn) => (
                Some(turn.id),
                turn.shell.map(|shell| (shell.id, shell.dialect)),
            ),
        };
        SessionInfo {
            session_id: session.id.to_string(),
            title: session.title,
            project_path: session.project_path,
            roots,
            mode: session.mode,
            permission_mode: session.permission_mode,
            effective_permission_mode: session.permission_mode.effective(default_mode),
            running_turn,
            pinned_shell,
            created_at: session.created_at.0,
            updated_at: session.updated_at.0,
        }
    }

    fn roots_of(&self, session_id: &str, workspace: Option<PathBuf>) -> RootPaths {
        let places = &self.config.places;
        RootPaths {
            workspace,
            scratch: scratch::directory(&places.data_dir, session_id),
            home: places.home.clone(),
            guardian_data: places.data_dir.clone(),
            guardian_config: vec![places.config_dir.clone(), places.managed_policy.clone()],
            guardian_executables: places.executables.clone(),
        }
    }

    /// The canonical project directory, when it may be a workspace.
    async fn acceptable_project(
        &self,
        path: PathBuf,
        warnings: &mut Vec<String>,
    ) -> Result<PathBuf, HostError> {
        let shown = path.display().to_string();
        let refuse = |why: &str| {
            HostError::invalid_params(format!("`{shown}` {why}")).with("pointer", "/projectPath")
        };
        if !path.is_absolute() {
            return Err(refuse("is not an absolute path"));
        }
        let canonical = blocking(move || {
            let canonical = std::fs::canonicalize(path)?;
            let passed_over = crate::policies::passed_over(&canonical);
            Ok::<_, std::io::Error>((canonical.is_dir(), passed_over, canonical))
        })
        .await
        .map_err(|_| HostError::internal("the project directory could not be looked at"))?;
        let canonical = match canonical {
            Ok((true, passed_over, canonical)) => {
                let sentence =
                    |file: PathBuf| crate::policies::passed_over_sentence(&file, &canonical);
                warnings.extend(passed_over.map(sentence));
                canonical
            }
            Ok((false, ..)) => return Err(refuse("is not a directory")),
            Err(error) => return Err(refuse(&format!("cannot be used: {error}"))),
        };
        if canonical.parent().is_none() {
            return Err(refuse(
                "is the whole file system, which cannot be a workspace",
            ));
        }
        if canonical.starts_with(&self.config.places.data_dir) {
            return Err(refuse("lies in guardian's own data directory"));
        }
        if canonical == self.config.places.home {
            warnings.push(
                "the workspace is the home directory: everything in it is inside the workspace"
                    .to_owned(),
            );
        }
        Ok(canonical)
    }
}

/// Ends what a process that went away left open: its turns do not block the session, its proposals
/// are not answered, its delegates do not call, the changes that it was making are on record.
pub(crate) fn interrupt(store: &Store, lease: &Lease) -> Result<Vec<Proposal>, StoreError> {
    store.interrupt_turns(lease)?;
    store.interrupt_delegates(lease)?;
    if let Err(error) = crate::unfinished::settle(store, lease) {
        // They stay noted, and their bytes kept, for the next time.
        tracing::warn!(%error, "changes that were interrupted could not be settled");
    }
    store.interrupt_proposals(lease)
}

/// A validated id from a request.
fn session_id(text: &str) -> Result<SessionId, HostError> {
    SessionId::new(text)
        .map_err(|error| HostError::invalid_params(error.to_string()).with("pointer", "/sessionId"))
}

fn not_found(id: &str) -> HostError {
    let shown: String = id.chars().take(160).collect();
    HostError::new(ErrorCode::SessionNotFound, format!("no session `{shown}`"))
}

/// An id that nobody can guess.
pub(crate) fn random_id(prefix: &str) -> Result<String, HostError> {
    let mut bytes = [0_u8; 12];
    getrandom::fill(&mut bytes)
        .map_err(|error| HostError::internal(format!("no randomness: {error}")))?;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("{prefix}-{hex}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_random_and_valid() {
        let (a, b) = (random_id("s").unwrap(), random_id("s").unwrap());
        assert_ne!(a, b);
        assert!(SessionId::new(a).is_ok());
    }

    #[test]
    fn a_text_that_is_no_id_names_no_session() {
        assert_eq!(not_found("../x").code, ErrorCode::SessionNotFound);
        assert_eq!(
            session_id("bad id!").unwrap_err().code,
            ErrorCode::InvalidParams
        );
    }
}
