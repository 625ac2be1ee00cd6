//! Delegates: the helpers that a session started (SPEC §13.6), and which definitions of a
//! repository the user has seen.

use std::path::Path;

use guardian_rules::OperatingMode;
use rusqlite::{Connection, OptionalExtension as _, params};
use serde_json::json;

use crate::audit::{self, AuditEntry, AuditEvent};
use crate::clock::Timestamp;
use crate::error::Conflict;
use crate::row;
use crate::sessions::session_of;
use crate::writer::Durability;
use crate::{Lease, SessionId, Store, StoreError};

/// Delegates of one session at once.
pub const OPEN_DELEGATES: usize = 4;

/// A delegate to be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDelegate {
    /// Its id, which nobody can guess.
    pub id: String,
    /// Name of its definition.
    pub name: String,
    /// The tools that it may use, exactly.
    pub tools: Vec<String>,
    /// The turn that started it.
    pub turn: Option<String>,
    /// The call that started it.
    pub tool_call: String,
}

/// A delegate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delegate {
    /// Its id.
    pub id: String,
    /// Name of its definition.
    pub name: String,
    /// The tools that it may use, exactly.
    pub tools: Vec<String>,
    /// The turn that started it.
    pub turn: Option<String>,
    /// The call that started it.
    pub tool_call: String,
    /// When.
    pub opened_at: Timestamp,
    /// When it was closed; `None` while it is at work.
    pub closed_at: Option<Timestamp>,
}

/// How a delegate ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DelegateEnd {
    /// Its client says that it is done.
    Finished,
    /// Its turn or session ended.
    Aborted,
    /// The host went away.
    Interrupted,
}

impl DelegateEnd {
    fn word(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Aborted => "aborted",
            Self::Interrupted => "interrupted",
        }
    }
}

impl Store {
    /// Opens a delegate.
    ///
    /// # Errors
    /// [`Conflict::DelegatesFull`] when [`OPEN_DELEGATES`] are at work, [`Conflict::NotAgent`]
    /// outside agent mode.
    pub fn open_delegate(
        &self,
        session: &SessionId,
        new: NewDelegate,
    ) -> Result<Delegate, StoreError> {
        let (session, now, redactor) = (session.clone(), self.now(), self.redactor().clone());
        self.write(Durability::Process, move |context| {
            let connection = context.connection;
            if session_of(connection, &session)?.mode != OperatingMode::Agent {
                return Err(Conflict::NotAgent(session.to_string()).into());
            }
            if open_count(connection, &session)? >= OPEN_DELEGATES {
                return Err(Conflict::DelegatesFull(session.to_string()).into());
            }
            connection
                .prepare_cached(
                    "INSERT INTO delegates (session_id, id, name, tools, turn_id, tool_call_id, opened_at)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                )?
                .execute(params![
                    session.as_str(),
                    new.id,
                    new.name,
                    new.tools.join(" "),
                    new.turn,
                    new.tool_call,
                    now.0
                ])?;
            let delegate = delegate_of(connection, &session, &new.id)?;
            let body = audit::body_of(entry(&session, &delegate, "opened"), &redactor, now)?;
            audit::append(context, body)?;
            Ok(delegate)
        })
    }

    /// A delegate of the session, at work or not.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] when the session never had one of this id.
    pub fn delegate(&self, session: &SessionId, id: &str) -> Result<Delegate, StoreError> {
        self.read(|connection| delegate_of(connection, session, id))
    }

    /// The session's delegates that are at work, oldest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn open_delegates(&self, session: &SessionId) -> Result<Vec<Delegate>, StoreError> {
        self.read(|connection| open_of(connection, session))
    }

    /// Closes one delegate (`Some`) or all that are at work. Returns those that were.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn close_delegates(
        &self,
        session: &SessionId,
        only: Option<&str>,
        end: DelegateEnd,
    ) -> Result<Vec<Delegate>, StoreError> {
        let any = self.read(|connection| has_open(connection, session))?;
        if !any {
            return Ok(Vec::new());
        }
        let (session, only) = (session.clone(), only.map(str::to_owned));
        let (now, redactor) = (self.now(), self.redactor().clone());
        self.write(Durability::Process, move |context| {
            let mut closed = open_of(context.connection, &session)?;
            closed.retain(|delegate| only.as_ref().is_none_or(|id| *id == delegate.id));
            for delegate in &closed {
                context
                    .connection
                    .prepare_cached(
                        "UPDATE delegates SET closed_at = ?3, outcome = ?4
                         WHERE session_id = ?1 AND id = ?2",
                    )?
                    .execute(params![session.as_str(), delegate.id, now.0, end.word()])?;
                let body = audit::body_of(entry(&session, delegate, end.word()), &redactor, now)?;
                audit::append(context, body)?;
            }
            Ok(closed)
        })
    }

    /// Closes what a former owner of the session left at work. Only for the holder of the lease.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn interrupt_delegates(&self, lease: &Lease) -> Result<Vec<Delegate>, StoreError> {
        self.close_delegates(lease.session(), None, DelegateEnd::Interrupted)
    }

    /// Notes that the user saw and approved this definition of a project.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn approve_agent(&self, project: &Path, name: &str, hash: &str) -> Result<(), StoreError> {
        let (project, now) = (row::path_bytes(project)?, self.now());
        let (name, hash) = (name.to_owned(), hash.to_owned());
        self.write(Durability::Machine, move |context| {
            context
                .connection
                .prepare_cached(
                    "INSERT INTO agent_approvals (project, name, hash, at) VALUES (?1, ?2, ?3, ?4)
                     ON CONFLICT DO NOTHING",
                )?
                .execute(params![project, name, hash, now.0])?;
            Ok(())
        })
    }

    /// Did the user approve exactly this definition of this project?
    ///
    /// # Errors
    /// When the store cannot be read; the caller then goes on as if not.
    pub fn is_agent_approved(
        &self,
        project: &Path,
        name: &str,
        hash: &str,
    ) -> Result<bool, StoreError> {
        let project = row::path_bytes(project)?;
        self.read(|connection| {
            Ok(connection
                .prepare_cached(
                    "SELECT 1 FROM agent_approvals WHERE project = ?1 AND name = ?2 AND hash = ?3",
                )?
                .exists(params![project, name, hash])?)
        })
    }
}

fn entry(session: &SessionId, delegate: &Delegate, step: &str) -> AuditEntry {
    AuditEntry {
        session: Some(session.clone()),
        turn: delegate.turn.clone(),
        tool_call: Some(delegate.tool_call.clone()),
        delegate: Some(delegate.name.clone()),
        detail: Some(json!({
            "step": step,
            "delegateId": delegate.id,
            "tools": delegate.tools,
        })),
        ..AuditEntry::new(AuditEvent::Delegate)
    }
}

/// A delegate of the session is at work.
pub(crate) fn has_open(connection: &Connection, session: &SessionId) -> Result<bool, StoreError> {
    Ok(open_count(connection, session)? > 0)
}

fn open_count(connection: &Connection, session: &SessionId) -> Result<usize, StoreError> {
    Ok(connection
        .prepare_cached(
            "SELECT count(*) FROM delegates WHERE session_id = ?1 AND closed_at IS NULL",
        )?
        .query_row([session.as_str()], |row| row.get(0))?)
}

const SELECT: &str =
    "SELECT id, name, tools, turn_id, tool_call_id, opened_at, closed_at FROM delegates";

fn delegate_of(
    connection: &Connection,
    session: &SessionId,
    id: &str,
) -> Result<Delegate, StoreError> {
    connection
        .prepare_cached(&format!("{SELECT} WHERE session_id = ?1 AND id = ?2"))?
        .query_row(params![session.as_str(), id], read)
        .optional()?
        .ok_or_else(|| StoreError::not_found("delegate", id))
}

fn open_of(connection: &Connection, session: &SessionId) -> Result<Vec<Delegate>, StoreError> {
    let mut statement = connection.prepare_cached(&format!(
        "{SELECT} WHERE session_id = ?1 AND closed_at IS NULL ORDER BY opened_at, id"
    ))?;
    let rows = statement.query_map([session.as_str()], read)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<Delegate> {
    let tools: String = row.get(2)?;
    Ok(Delegate {
        id: row.get(0)?,
        name: row.get(1)?,
        tools: tools.split_whitespace().map(str::to_owned).collect(),
        turn: row.get(3)?,
        tool_call: row.get(4)?,
        opened_at: Timestamp(row.get(5)?),
        closed_at: row.get::<_, Option<i64>>(6)?.map(Timestamp),
    })
}
