//! Which versions of the policy files hold for a session (SPEC §7.2): the ones that it saw last,
//! and earlier ones that a change since would loosen, so that neither a restart of the host nor a
//! deleted file makes a denial disappear.

use rusqlite::{OptionalExtension as _, params};

use crate::writer::Durability;
use crate::{SessionId, Store, StoreError};

/// What is kept of a session's policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionPolicy {
    /// Grows with every change, whichever process makes it.
    pub revision: i64,
    /// The versions, in a form of the host's.
    pub versions: String,
    /// Rules of the session itself, which the operator gave; TOML.
    pub rules: Option<String>,
}

impl Store {
    /// The revision of what is kept for a session; `None` when nothing is.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn session_policy_revision(&self, session: &SessionId) -> Result<Option<i64>, StoreError> {
        self.read(|connection| {
            Ok(connection
                .prepare_cached("SELECT revision FROM session_policies WHERE session_id = ?1")?
                .query_row([session.as_str()], |row| row.get(0))
                .optional()?)
        })
    }

    /// What is kept for a session; `None` when nothing is.
    ///
    /// # Errors
    /// When the store cannot be read: then it is not known which denials hold.
    pub fn session_policy(&self, session: &SessionId) -> Result<Option<SessionPolicy>, StoreError> {
        self.read(|connection| {
            Ok(connection
                .prepare_cached(
                    "SELECT revision, versions, rules FROM session_policies WHERE session_id = ?1",
                )?
                .query_row([session.as_str()], |row| {
                    Ok(SessionPolicy {
                        revision: row.get(0)?,
                        versions: row.get(1)?,
                        rules: row.get(2)?,
                    })
                })
                .optional()?)
        })
    }

    /// Keeps what holds for a session, if its revision is still the one that the caller has seen.
    /// Returns the new revision; `None` when somebody else was first, and then nothing is kept.
    ///
    /// # Errors
    /// When the store cannot be written, or has no such session.
    pub fn keep_session_policy(
        &self,
        session: &SessionId,
        seen: Option<i64>,
        versions: String,
        rules: Option<String>,
    ) -> Result<Option<i64>, StoreError> {
        let (session, now) = (session.clone(), self.now());
        self.write(Durability::Machine, move |context| {
            let id = session.as_str();
            let known: Option<i64> = context
                .connection
                .prepare_cached("SELECT revision FROM session_policies WHERE session_id = ?1")?
                .query_row([id], |row| row.get(0))
                .optional()?;
            if known != seen {
                return Ok(None);
            }
            let revision = known.unwrap_or(0) + 1;
            context
                .connection
                .prepare_cached(
                    "INSERT INTO session_policies (session_id, revision, versions, rules, at)
                     VALUES (?1, ?2, ?3, ?4, ?5)
                     ON CONFLICT (session_id) DO UPDATE SET revision = excluded.revision,
                     versions = excluded.versions, rules = excluded.rules, at = excluded.at",
                )?
                .execute(params![id, revision, versions, rules, now.0])?;
            Ok(Some(revision))
        })
    }
}
