//! Sessions and their turns (SPEC §1).

use std::path::PathBuf;

use guardian_rules::{OperatingMode, SessionPermissionMode};
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use crate::clock::Timestamp;
use crate::error::Conflict;
use crate::grants::{StoredGrant, grants_of};
use crate::row;
use crate::settings::{Settings, settings_of};
use crate::snapshots::drop_unnamed_blobs;
use crate::writer::Durability;
use crate::{SessionId, Store, StoreError};

/// A session's row. Everything a decision depends on is read from here at the time of the call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// Its id.
    pub id: SessionId,
    /// Its project directory, bound once. `None`: no workspace.
    pub project_path: Option<PathBuf>,
    /// For people.
    pub title: Option<String>,
    /// Which tools exist.
    pub mode: OperatingMode,
    /// Who approves.
    pub permission_mode: SessionPermissionMode,
    /// When it was made.
    pub created_at: Timestamp,
    /// When its row last changed.
    pub updated_at: Timestamp,
    /// Grows with every change of the row; for [`Store::configure_session`].
    pub revision: u64,
}

/// A session to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSession {
    /// Its id.
    pub id: SessionId,
    /// Its project directory, canonical; checked by the caller.
    pub project_path: Option<PathBuf>,
    /// For people.
    pub title: Option<String>,
    /// Which tools exist.
    pub mode: OperatingMode,
    /// Who approves.
    pub permission_mode: SessionPermissionMode,
}

impl NewSession {
    /// A session in agent mode that inherits its permission mode.
    #[must_use]
    pub fn new(id: SessionId, project_path: Option<PathBuf>) -> Self {
        Self {
            id,
            project_path,
            title: None,
            mode: OperatingMode::Agent,
            permission_mode: SessionPermissionMode::Inherit,
        }
    }
}

/// What to change of a session; `None` leaves as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionChange {
    /// Operating mode.
    pub mode: Option<OperatingMode>,
    /// Permission mode.
    pub permission_mode: Option<SessionPermissionMode>,
    /// Title; `Some(None)` removes it.
    pub title: Option<Option<String>>,
}

/// The command shell a turn is pinned to (SPEC §10).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellPin {
    /// Stable id, such as `bash`.
    pub id: String,
    /// Its dialect, such as `posix`.
    pub dialect: String,
}

/// A turn to be begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTurn {
    /// Its id, unique within the session.
    pub id: String,
    /// `None` when no shell was found.
    pub shell: Option<ShellPin>,
    /// The user's own words, from the operator. Stored redacted.
    pub user_message: Option<String>,
    /// A new prompt: what is counted per prompt begins anew.
    pub new_prompt: bool,
}

/// A turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// Its id.
    pub id: String,
    /// Number of the prompt it belongs to, from 1.
    pub prompt: u64,
    /// Its pinned shell.
    pub shell: Option<ShellPin>,
    /// The user's words, redacted.
    pub user_message: Option<String>,
    /// When it began.
    pub started_at: Timestamp,
    /// When it ended; `None` while it runs.
    pub ended_at: Option<Timestamp>,
}

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnOutcome {
    /// `session.endTurn`.
    Ended,
    /// Aborted.
    Aborted,
    /// The host went away while it ran.
    Interrupted,
}

impl TurnOutcome {
    fn word(self) -> &'static str {
        match self {
            Self::Ended => "ended",
            Self::Aborted => "aborted",
            Self::Interrupted => "interrupted",
        }
    }
}

/// A session with everything that is looked up about it at every call ([`Store::session_state`]).
#[derive(Debug)]
pub struct SessionState {
    /// Its row.
    pub session: Session,
    /// Its running turn.
    pub running_turn: Option<Turn>,
    /// The settings that hold for all sessions.
    pub settings: Settings,
    /// Its grants in force. What cannot be read of them is the caller's to judge (none, SPEC §1).
    pub grants: Result<Vec<StoredGrant>, StoreError>,
}

impl Store {
    /// Makes a session.
    ///
    /// # Errors
    /// [`Conflict::SessionExists`] when the id is taken.
    pub fn create_session(&self, new: NewSession) -> Result<Session, StoreError> {
        let now = self.now();
        let path = new
            .project_path
            .as_deref()
            .map(row::path_bytes)
            .transpose()?;
        let title = new
            .title
            .map(|title| self.redactor().redact_text(&title).into_owned());
        self.write(Durability::Machine, move |context| {
            let added = context.connection.prepare_cached(
                "INSERT INTO sessions (id, project_path, title, mode, permission_mode, created_at, updated_at, revision)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, 1) ON CONFLICT DO NOTHING",
            )?.execute(params![
                new.id.as_str(),
                path,
                title,
                row::operating_mode(new.mode),
                row::session_permission_mode(new.permission_mode),
                now.0,
            ])?;
            if added == 0 {
                return Err(Conflict::SessionExists(new.id.to_string()).into());
            }
            session_of(context.connection, &new.id)
        })
    }

    /// Reads a session.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] only when the look succeeded and there is none.
    pub fn session(&self, id: &SessionId) -> Result<Session, StoreError> {
        self.read(|connection| session_of(connection, id))
    }

    /// What decides about a session's calls, all of one moment.
    ///
    /// # Errors
    /// As [`Self::session`].
    pub fn session_state(&self, id: &SessionId) -> Result<SessionState, StoreError> {
        let now = self.now();
        self.read(|connection| {
            // One lock for all of it. Only read, so how it ends makes no difference.
            let _moment = connection.unchecked_transaction()?;
            Ok(SessionState {
                session: session_of(connection, id)?,
                running_turn: running_turn_of(connection, id)?,
                settings: settings_of(connection)?,
                grants: grants_of(connection, id, now),
            })
        })
    }

    /// All sessions, last changed first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn sessions(&self) -> Result<Vec<Session>, StoreError> {
        self.read(|connection| {
            let mut statement = connection
                .prepare_cached(&format!("{SELECT_SESSION} ORDER BY updated_at DESC, id"))?;
            let rows = statement.query_map([], session_row)?;
            rows.map(|row| row?.into_session()).collect()
        })
    }

    /// Changes a session, if it still is as the caller read it (`expected_revision`; `None` to
    /// change it whatever it is).
    ///
    /// # Errors
    /// [`Conflict::SessionChanged`] when it is not; [`crate::PlanConflict`] while a proposal waits
    /// for its answer, and for another mode while a delegate is at work.
    pub fn configure_session(
        &self,
        id: &SessionId,
        expected_revision: Option<u64>,
        change: SessionChange,
    ) -> Result<Session, StoreError> {
        let (id, now) = (id.clone(), self.now());
        let title = change
            .title
            .map(|title| title.map(|title| self.redactor().redact_text(&title).into_owned()));
        self.write(Durability::Machine, move |context| {
            let current = session_of(context.connection, &id)?;
            if expected_revision.is_some_and(|expected| expected != current.revision) {
                return Err(Conflict::SessionChanged(id.to_string()).into());
            }
            crate::plans::check_configurable(context.connection, &id, now)?;
            let other_mode = change.mode.is_some_and(|mode| mode != current.mode);
            if other_mode && crate::delegates::has_open(context.connection, &id)? {
                return Err(crate::PlanConflict::DelegateOpen.into());
            }
            let title = title.unwrap_or(current.title);
            context.connection.prepare_cached(
                "UPDATE sessions SET mode = ?2, permission_mode = ?3, title = ?4, updated_at = ?5,
                 revision = revision + 1 WHERE id = ?1",
            )?.execute(params![
                id.as_str(),
                row::operating_mode(change.mode.unwrap_or(current.mode)),
                row::session_permission_mode(change.permission_mode.unwrap_or(current.permission_mode)),
                title,
                now.0,
            ])?;
            session_of(context.connection, &id)
        })
    }

    /// Binds a session without a project to its directory, once and for all.
    ///
    /// # Errors
    /// [`Conflict::ProjectBound`] when it has another one.
    pub fn bind_project(
        &self,
        id: &SessionId,
        project_path: PathBuf,
    ) -> Result<Session, StoreError> {
        let (id, now) = (id.clone(), self.now());
        self.write(Durability::Machine, move |context| {
            let current = session_of(context.connection, &id)?;
            match current.project_path {
                Some(bound) if bound == project_path => return session_of(context.connection, &id),
                Some(project) => return Err(Conflict::ProjectBound { session: id.to_string(), project }.into()),
                None => {}
            }
            context.connection.prepare_cached(
                "UPDATE sessions SET project_path = ?2, updated_at = ?3, revision = revision + 1 WHERE id = ?1",
            )?.execute(params![id.as_str(), row::path_bytes(&project_path)?, now.0])?;
            session_of(context.connection, &id)
        })
    }

    /// Deletes a session with its turns, grants, artifacts and review snapshots. Its audit rows
    /// stay. Scratch is the caller's.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] when there is none.
    pub fn delete_session(&self, id: &SessionId) -> Result<(), StoreError> {
        let (id, blobs) = (id.clone(), self.blob_directory());
        self.write(Durability::Machine, move |context| {
            let connection = context.connection;
            let deleted = connection
                .prepare_cached("DELETE FROM sessions WHERE id = ?1")?
                .execute([id.as_str()])?;
            if deleted == 0 {
                return Err(StoreError::not_found("session", id.as_str()));
            }
            drop_unnamed_blobs(connection, &blobs)?;
            Ok(())
        })
    }

    /// Begins a turn.
    ///
    /// # Errors
    /// [`Conflict::TurnRunning`] when one is running; [`StoreError::NotFound`] without a session.
    pub fn begin_turn(&self, session: &SessionId, new: NewTurn) -> Result<Turn, StoreError> {
        let (session, now) = (session.clone(), self.now());
        if new.id.is_empty() || new.id.len() > 256 {
            return Err(StoreError::Invalid(
                "a turn's id has 1 to 256 bytes".to_owned(),
            ));
        }
        let user_message = new
            .user_message
            .map(|text| self.redactor().redact_text(&text).into_owned());
        self.write(Durability::Process, move |context| {
            let connection = context.connection;
            session_of(connection, &session)?;
            if let Some(running) = running_turn_of(connection, &session)? {
                return Err(Conflict::TurnRunning { session: session.to_string(), turn: running.id }.into());
            }
            let last: u64 = connection
                .prepare_cached("SELECT coalesce(max(prompt), 0) FROM turns WHERE session_id = ?1")?
                .query_row([session.as_str()], |row| row.get(0))?;
            let prompt = if new.new_prompt || last == 0 { last + 1 } else { last };
            let added = connection.prepare_cached(
                "INSERT INTO turns (session_id, id, prompt, shell_id, shell_dialect, user_message, started_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING",
            )?.execute(params![
                session.as_str(),
                new.id,
                prompt,
                new.shell.as_ref().map(|shell| &shell.id),
                new.shell.as_ref().map(|shell| &shell.dialect),
                user_message,
                now.0,
            ])?;
            if added == 0 {
                return Err(Conflict::TurnNotRunning { session: session.to_string(), turn: new.id }.into());
            }
            running_turn_of(connection, &session)?.ok_or_else(|| StoreError::not_found("turn", new.id))
        })
    }

    /// What the user wrote when turns of the session began, newest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn user_messages(
        &self,
        session: &SessionId,
        limit: usize,
    ) -> Result<Vec<String>, StoreError> {
        self.read(|connection| user_messages_of(connection, session, limit))
    }

    /// The session has, or had, a turn of this id.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn knows_turn(&self, session: &SessionId, turn: &str) -> Result<bool, StoreError> {
        self.read(|connection| {
            let mut statement = connection
                .prepare_cached("SELECT 1 FROM turns WHERE session_id = ?1 AND id = ?2")?;
            Ok(statement.exists([session.as_str(), turn])?)
        })
    }

    /// The running turn of a session.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn running_turn(&self, session: &SessionId) -> Result<Option<Turn>, StoreError> {
        self.read(|connection| running_turn_of(connection, session))
    }

    /// Ends the running turn, which must be this one.
    ///
    /// # Errors
    /// [`Conflict::TurnNotRunning`] when it is not.
    pub fn end_turn(
        &self,
        session: &SessionId,
        turn: &str,
        outcome: TurnOutcome,
    ) -> Result<(), StoreError> {
        let (session, turn, now) = (session.clone(), turn.to_owned(), self.now());
        self.write(Durability::Process, move |context| {
            let ended = context.connection.prepare_cached(
                "UPDATE turns SET ended_at = ?3, outcome = ?4 WHERE session_id = ?1 AND id = ?2 AND ended_at IS NULL",
            )?.execute(params![session.as_str(), turn, now.0, outcome.word()])?;
            if ended == 0 {
                return Err(Conflict::TurnNotRunning { session: session.to_string(), turn }.into());
            }
            Ok(())
        })
    }

    /// Ends what a former owner of the session left running. Only for the holder of the lease.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn interrupt_turns(&self, lease: &crate::Lease) -> Result<usize, StoreError> {
        let (session, now) = (lease.session().clone(), self.now());
        self.write(Durability::Process, move |context| {
            Ok(context.connection.prepare_cached(
                "UPDATE turns SET ended_at = ?2, outcome = ?3 WHERE session_id = ?1 AND ended_at IS NULL",
            )?.execute(params![session.as_str(), now.0, TurnOutcome::Interrupted.word()])?)
        })
    }
}

const SELECT_SESSION: &str = "SELECT id, project_path, title, mode, permission_mode, created_at, updated_at, revision FROM sessions";

/// A row as it is stored.
struct SessionRow {
    id: String,
    project_path: Option<Vec<u8>>,
    title: Option<String>,
    mode: String,
    permission_mode: String,
    created_at: i64,
    updated_at: i64,
    revision: u64,
}

fn session_row(row: &Row<'_>) -> rusqlite::Result<SessionRow> {
    Ok(SessionRow {
        id: row.get(0)?,
        project_path: row.get(1)?,
        title: row.get(2)?,
        mode: row.get(3)?,
        permission_mode: row.get(4)?,
        created_at: row.get(5)?,
        updated_at: row.get(6)?,
        revision: row.get(7)?,
    })
}

impl SessionRow {
    fn into_session(self) -> Result<Session, StoreError> {
        Ok(Session {
            id: SessionId::new(self.id).map_err(|error| StoreError::Corrupt(error.to_string()))?,
            project_path: self.project_path.map(row::path_from_bytes).transpose()?,
            title: self.title,
            mode: row::parse_operating_mode(&self.mode)?,
            permission_mode: row::parse_session_permission_mode(&self.permission_mode)?,
            created_at: Timestamp(self.created_at),
            updated_at: Timestamp(self.updated_at),
            revision: self.revision,
        })
    }
}

pub(crate) fn session_of(connection: &Connection, id: &SessionId) -> Result<Session, StoreError> {
    connection
        .prepare_cached(&format!("{SELECT_SESSION} WHERE id = ?1"))?
        .query_row([id.as_str()], session_row)
        .optional()?
        .ok_or_else(|| StoreError::not_found("session", id.as_str()))?
        .into_session()
}

fn user_messages_of(
    connection: &Connection,
    session: &SessionId,
    limit: usize,
) -> Result<Vec<String>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT user_message FROM turns WHERE session_id = ?1 AND user_message IS NOT NULL
         ORDER BY started_at DESC, ended_at IS NULL DESC LIMIT ?2",
    )?;
    let rows = statement.query_map(rusqlite::params![session.as_str(), limit], |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(crate) fn running_turn_of(
    connection: &Connection,
    session: &SessionId,
) -> Result<Option<Turn>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT id, prompt, shell_id, shell_dialect, user_message, started_at, ended_at FROM turns
         WHERE session_id = ?1 AND ended_at IS NULL",
    )?;
    let turn = statement
        .query_row([session.as_str()], |row| {
            let shell_id: Option<String> = row.get(2)?;
            let dialect: Option<String> = row.get(3)?;
            Ok(Turn {
                id: row.get(0)?,
                prompt: row.get(1)?,
                shell: shell_id
                    .zip(dialect)
                    .map(|(id, dialect)| ShellPin { id, dialect }),
                user_message: row.get(4)?,
                started_at: Timestamp(row.get(5)?),
                ended_at: row.get::<_, Option<i64>>(6)?.map(Timestamp),
            })
        })
        .optional()?;
    Ok(turn)
}
