//! What users granted for the rest of a session (SPEC §5, §15.1).

use guardian_rules::Grant;
use rusqlite::{Connection, params};

use crate::clock::Timestamp;
use crate::row;
use crate::sessions::session_of;
use crate::writer::Durability;
use crate::{SessionId, Store, StoreError};

/// A grant ends after this time without use: 24 hours.
pub const GRANT_UNUSED_LIFETIME_MS: i64 = 24 * 60 * 60 * 1000;

/// A grant as it is kept. Belongs to one session and to no other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredGrant {
    /// Whose.
    pub session: SessionId,
    /// What is granted.
    pub grant: Grant,
    /// Who gave it (`human`, a client's name).
    pub granted_by: String,
    /// When.
    pub at: Timestamp,
    /// When a call was last allowed by it (at first: when it was given).
    pub last_used: Timestamp,
}

impl Store {
    /// Keeps a grant. It is durable when this returns, and not in force before.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] without such a session.
    pub fn add_grant(
        &self,
        session: &SessionId,
        grant: Grant,
        granted_by: &str,
    ) -> Result<StoredGrant, StoreError> {
        let (session, granted_by, now) = (session.clone(), granted_by.to_owned(), self.now());
        self.write(Durability::Machine, move |context| {
            session_of(context.connection, &session)?;
            context.connection.prepare_cached(
                "INSERT INTO grants (session_id, tool_name, scope, granted_by, at, last_used)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?5)
                 ON CONFLICT (session_id, tool_name, scope) DO UPDATE
                 SET granted_by = excluded.granted_by, at = excluded.at, last_used = excluded.last_used",
            )?.execute(params![
                session.as_str(),
                grant.tool_name,
                row::grant_scope(grant.scope),
                granted_by,
                now.0
            ])?;
            Ok(StoredGrant { session, grant, granted_by, at: now, last_used: now })
        })
    }

    /// The grants of a session that are in force now, oldest first.
    ///
    /// # Errors
    /// When the store cannot be read; the caller then goes on as if there were none.
    pub fn grants(&self, session: &SessionId) -> Result<Vec<StoredGrant>, StoreError> {
        let now = self.now();
        self.read(|connection| grants_of(connection, session, now))
    }

    /// Notes that a grant allowed a call. A grant that has ended stays ended.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn touch_grant(&self, session: &SessionId, grant: &Grant) -> Result<(), StoreError> {
        let (session, grant, now) = (session.clone(), grant.clone(), self.now());
        self.write(Durability::Process, move |context| {
            context
                .connection
                .prepare_cached(
                    "UPDATE grants SET last_used = max(last_used, ?4)
                 WHERE session_id = ?1 AND tool_name = ?2 AND scope = ?3 AND last_used > ?5",
                )?
                .execute(params![
                    session.as_str(),
                    grant.tool_name,
                    row::grant_scope(grant.scope),
                    now.0,
                    now.0 - GRANT_UNUSED_LIFETIME_MS,
                ])?;
            Ok(())
        })
    }

    /// Revokes one grant (`Some`) or all of a session. Returns how many there were.
    ///
    /// # Errors
    /// When the store cannot be written: the grant may then still be in force.
    pub fn clear_grants(
        &self,
        session: &SessionId,
        only: Option<Grant>,
    ) -> Result<usize, StoreError> {
        let session = session.clone();
        self.write(Durability::Machine, move |context| {
            let connection = context.connection;
            Ok(match only {
                None => connection
                    .prepare_cached("DELETE FROM grants WHERE session_id = ?1")?
                    .execute([session.as_str()])?,
                Some(grant) => connection
                    .prepare_cached("DELETE FROM grants WHERE session_id = ?1 AND tool_name = ?2 AND scope = ?3")?
                    .execute(params![session.as_str(), grant.tool_name, row::grant_scope(grant.scope)])?,
            })
        })
    }

    /// Removes what ended by lack of use, in all sessions.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn sweep_grants(&self) -> Result<usize, StoreError> {
        let now = self.now();
        self.write(Durability::Process, move |context| {
            Ok(context
                .connection
                .prepare_cached("DELETE FROM grants WHERE last_used <= ?1")?
                .execute([now.0 - GRANT_UNUSED_LIFETIME_MS])?)
        })
    }
}

pub(crate) fn grants_of(
    connection: &Connection,
    session: &SessionId,
    now: Timestamp,
) -> Result<Vec<StoredGrant>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT tool_name, scope, granted_by, at, last_used FROM grants
         WHERE session_id = ?1 AND last_used > ?2 ORDER BY at, tool_name, scope",
    )?;
    let rows = statement.query_map(
        params![session.as_str(), now.0 - GRANT_UNUSED_LIFETIME_MS],
        |row| {
            Ok((
                row.get::<_, String>(0)?,
                row.get::<_, String>(1)?,
                row.get::<_, String>(2)?,
                row.get::<_, i64>(3)?,
                row.get::<_, i64>(4)?,
            ))
        },
    )?;
    rows.map(|row| {
        let (tool_name, scope, granted_by, at, last_used) = row?;
        Ok(StoredGrant {
            session: session.clone(),
            grant: Grant {
                tool_name,
                scope: row::parse_grant_scope(&scope)?,
            },
            granted_by,
            at: Timestamp(at),
            last_used: Timestamp(last_used),
        })
    })
    .collect()
}
