//! Changes that are about to be made. A process that dies between the change and its record leaves
//! a row here, and the next owner of the session settles it.

use rusqlite::{Connection, params};

use super::blobs::{BlobId, Capture};
use super::change::NewSnapshot;
use super::stored;
use crate::audit::{self, AuditEntry};
use crate::sessions::session_of;
use crate::writer::Durability;
use crate::{Lease, SessionId, Store, StoreError};

impl Store {
    /// Notes a change that is about to be made. What it changes in lines is not known yet. Ended by
    /// [`Store::record_change`] of the same id, or by [`Store::drop_pending_change`].
    ///
    /// # Errors
    /// When it cannot be noted; the change must not be made then.
    pub fn note_pending_change(
        &self,
        session: &SessionId,
        change: &NewSnapshot,
    ) -> Result<(), StoreError> {
        let note = self.note_of(session, change)?;
        let (session, before) = (session.clone(), change.before.clone());
        self.write(Durability::Process, move |context| {
            session_of(context.connection, &session)?;
            note.write(context.connection, before.as_ref())
        })
    }

    /// [`Store::capture_before`] and [`Store::note_pending_change`] in one transaction. What does
    /// not fit the quota is not noted either: what to do then is the caller's to say.
    ///
    /// # Errors
    /// As both; nothing is kept and nothing noted then.
    pub fn capture_and_note(
        &self,
        session: &SessionId,
        bytes: &[u8],
        change: &NewSnapshot,
    ) -> Result<Capture, StoreError> {
        let note = self.note_of(session, change)?;
        self.capture_and(session, bytes, move |connection, before| {
            note.write(connection, Some(before))
        })
    }

    fn note_of(&self, session: &SessionId, change: &NewSnapshot) -> Result<Note, StoreError> {
        Ok(Note {
            session: session.clone(),
            id: change.id.clone(),
            turn: change.turn.clone(),
            text: stored::to_text(change, self.redactor(), self.now())?,
        })
    }

    /// Forgets a change that was not made, together with the audit row that says so, if there is
    /// anything to say.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn drop_pending_change(
        &self,
        session: &SessionId,
        id: &str,
        audit: Option<AuditEntry>,
    ) -> Result<(), StoreError> {
        let (session, id, now) = (session.clone(), id.to_owned(), self.now());
        let body = audit
            .map(|audit| audit::body_of(audit, self.redactor(), now))
            .transpose()?;
        self.write(Durability::Process, move |context| {
            end_pending(context.connection, &session, &id)?;
            match body {
                None => Ok(()),
                Some(body) => audit::append(context, body).map(drop),
            }
        })
    }

    /// What former owners of the session were about to change, and left no record of. Only for the
    /// holder of the lease.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn pending_changes(&self, lease: &Lease) -> Result<Vec<NewSnapshot>, StoreError> {
        let session = lease.session().clone();
        self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT id, turn_id, before_blob, change FROM pending_changes
                 WHERE session_id = ?1 ORDER BY change ->> '$.at', id",
            )?;
            let mut rows = statement.query([session.as_str()])?;
            let mut changes = Vec::new();
            while let Some(row) = rows.next()? {
                let before = row
                    .get::<_, Option<String>>(2)?
                    .map(BlobId::from_stored)
                    .transpose()?;
                let text: String = row.get(3)?;
                let (change, _) = stored::from_text(row.get(0)?, row.get(1)?, before, &text)?;
                changes.push(change);
            }
            Ok(changes)
        })
    }
}

/// The row of a change that is about to be made.
struct Note {
    session: SessionId,
    id: String,
    turn: Option<String>,
    text: String,
}

impl Note {
    fn write(&self, connection: &Connection, before: Option<&BlobId>) -> Result<(), StoreError> {
        connection
            .prepare_cached(
                "INSERT INTO pending_changes (session_id, id, turn_id, before_blob, change)
                 VALUES (?1, ?2, ?3, (SELECT hash FROM blobs WHERE hash = ?4), ?5)",
            )?
            .execute(params![
                self.session.as_str(),
                self.id,
                self.turn,
                before.map(BlobId::as_str),
                self.text
            ])?;
        Ok(())
    }
}

pub(super) fn end_pending(
    connection: &Connection,
    session: &SessionId,
    id: &str,
) -> Result<(), StoreError> {
    connection
        .prepare_cached("DELETE FROM pending_changes WHERE session_id = ?1 AND id = ?2")?
        .execute(params![session.as_str(), id])?;
    Ok(())
}
