//! Which version of a file a session met last (SPEC §9): it outlives the process that met it, so
//! that a Write of the next one over a file that somebody changed meanwhile is stale too.

use std::path::PathBuf;

use rusqlite::{Connection, params};

use crate::{SessionId, Store, StoreError, row};

/// A file as a session met it last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenFile {
    /// Canonical.
    pub path: PathBuf,
    /// Its tag then.
    pub tag: String,
    /// Content of it was shown or written; otherwise only its version is known.
    pub content: bool,
}

impl Store {
    /// The files that a session met, as it met them last. They are noted with
    /// [`Store::record_change`].
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn seen_files(&self, session: &SessionId) -> Result<Vec<SeenFile>, StoreError> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT path, tag, content FROM seen_files WHERE session_id = ?1",
            )?;
            let mut rows = statement.query([session.as_str()])?;
            let mut seen = Vec::new();
            while let Some(row) = rows.next()? {
                seen.push(SeenFile {
                    path: row::path_from_bytes(row.get(0)?)?,
                    tag: row.get(1)?,
                    content: row.get(2)?,
                });
            }
            Ok(seen)
        })
    }
}

/// Notes files within a write; the session exists.
pub(crate) fn note(
    connection: &Connection,
    session: &SessionId,
    seen: &[SeenFile],
) -> Result<(), StoreError> {
    let mut statement = connection.prepare_cached(
        "INSERT INTO seen_files (session_id, path, tag, content) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (session_id, path) DO UPDATE SET tag = excluded.tag, content = excluded.content",
    )?;
    for file in seen {
        let path = row::path_bytes(&file.path)?;
        statement.execute(params![session.as_str(), path, file.tag, file.content])?;
    }
    Ok(())
}
