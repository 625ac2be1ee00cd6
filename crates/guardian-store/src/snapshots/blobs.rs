//! Bytes by their hash, in `<data_dir>/review/`.
//!
//! Rows and files change together under the database's write lock, so two processes never
//! disagree on whether a file is there. Between capture and record a *hold* of the session keeps
//! the bytes; it ends with the session, or when the change is recorded.

use std::io::Write as _;
use std::path::PathBuf;

use rusqlite::{Connection, OptionalExtension as _, params};

use crate::sessions::session_of;
use crate::writer::Durability;
use crate::{SessionId, Store, StoreError, private_files};

/// Bytes kept for all sessions together, unless the host says otherwise: 512 MiB.
pub const DEFAULT_REVIEW_QUOTA_BYTES: u64 = 512 * 1024 * 1024;

/// A hold that nobody recorded is left behind by a process that died.
const HOLD_LIFETIME_MS: i64 = 24 * 60 * 60 * 1000;

/// Names bytes: BLAKE3, lower-case hex.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlobId(String);

impl BlobId {
    pub(super) fn from_stored(text: String) -> Result<Self, StoreError> {
        let valid = text.len() == 64
            && text
                .bytes()
                .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if valid {
            Ok(Self(text))
        } else {
            Err(StoreError::Corrupt(format!("`{text}` is no blob id")))
        }
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What became of a capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Capture {
    /// The bytes are kept.
    Kept(BlobId),
    /// They would not fit the quota: the tool proceeds, `reversible: false`.
    OverQuota,
}

impl Store {
    /// Keeps the bytes of a file before it is changed. To be recorded with
    /// [`Store::record_change`].
    ///
    /// # Errors
    /// When they cannot be kept; the tool may proceed, `reversible: false`.
    pub fn capture_before(&self, session: &SessionId, bytes: &[u8]) -> Result<Capture, StoreError> {
        self.capture_and(session, bytes, |_, _| Ok(()))
    }

    /// Keeps the bytes of a file and does `more` with them in the same transaction, if they are
    /// kept.
    pub(super) fn capture_and(
        &self,
        session: &SessionId,
        bytes: &[u8],
        more: impl FnOnce(&Connection, &BlobId) -> Result<(), StoreError> + Send + 'static,
    ) -> Result<Capture, StoreError> {
        let id = BlobId(blake3::hash(bytes).to_hex().to_string());
        let (session, now, quota) = (session.clone(), self.now(), self.review_quota());
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let path = self.blob_path(&id);
        let temporary = self.write_temporary(bytes)?;
        let result = self.write(Durability::Process, {
            let (id, temporary) = (id.clone(), temporary.clone());
            move |context| {
                let connection = context.connection;
                session_of(connection, &session)?;
                let known: Option<u64> = connection
                    .prepare_cached("SELECT bytes FROM blobs WHERE hash = ?1")?
                    .query_row([id.as_str()], |row| row.get(0))
                    .optional()?;
                if known.is_none() {
                    let used: u64 = connection
                        .prepare_cached("SELECT coalesce(sum(bytes), 0) FROM blobs")?
                        .query_row([], |row| row.get(0))?;
                    if used.saturating_add(length) > quota {
                        return Ok(Capture::OverQuota);
                    }
                    connection
                        .prepare_cached("INSERT INTO blobs (hash, bytes) VALUES (?1, ?2)")?
                        .execute(params![id.as_str(), length])?;
                }
                connection
                    .prepare_cached(
                        "INSERT INTO blob_holds (hash, session_id, at) VALUES (?1, ?2, ?3)
                         ON CONFLICT (hash, session_id) DO UPDATE SET at = excluded.at",
                    )?
                    .execute(params![id.as_str(), session.as_str(), now.0])?;
                more(connection, &id)?;
                // Over an existing file of this name too: it may have been damaged.
                std::fs::rename(&temporary, &path)
                    .map_err(|error| StoreError::io("keeping the bytes from before", &error))?;
                Ok(Capture::Kept(id))
            }
        });
        if !matches!(result, Ok(Capture::Kept(_))) {
            // What is left is swept at the next start.
            let _ = std::fs::remove_file(&temporary);
        }
        result
    }

    /// The bytes of a blob, checked against its name.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] when they are gone, [`StoreError::Corrupt`] when they are others.
    pub fn blob(&self, id: &BlobId) -> Result<Vec<u8>, StoreError> {
        let bytes = std::fs::read(self.blob_path(id)).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => StoreError::not_found("snapshot content", id.as_str()),
            _ => StoreError::io("reading the bytes from before", &error),
        })?;
        if blake3::hash(&bytes).to_hex().as_str() == id.as_str() {
            Ok(bytes)
        } else {
            Err(StoreError::Corrupt(format!(
                "the kept bytes {} are others",
                id.as_str()
            )))
        }
    }

    /// At start: drops holds of processes that died, bytes that nothing names, files without a
    /// row. Returns how many blobs went.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn sweep_blobs(&self) -> Result<usize, StoreError> {
        let (now, directory) = (self.now(), self.blob_directory());
        self.write(Durability::Process, move |context| {
            let connection = context.connection;
            connection.execute("DELETE FROM blob_holds WHERE at <= ?1", [now.0 - HOLD_LIFETIME_MS])?;
            let swept = drop_unnamed_blobs(connection, &directory)?;
            let Ok(entries) = std::fs::read_dir(&directory) else { return Ok(swept) };
            for entry in entries.flatten() {
                let name = entry.file_name();
                let Some(name) = name.to_str() else { continue };
                let stray = if name.ends_with(".tmp") {
                    // Another process may be about to move it into place.
                    entry
                        .metadata()
                        .and_then(|metadata| metadata.modified())
                        .is_ok_and(|at| at.elapsed().is_ok_and(|age| age.as_secs() > 24 * 60 * 60))
                } else {
                    connection
                        .prepare_cached("SELECT 1 FROM blobs WHERE hash = ?1")?
                        .query_row([name], |_| Ok(()))
                        .optional()?
                        .is_none()
                };
                if stray && let Err(error) = std::fs::remove_file(entry.path()) {
                    tracing::warn!(%error, path = %entry.path().display(), "a stray snapshot file stays");
                }
            }
            Ok(swept)
        })
    }

    pub(crate) fn blob_directory(&self) -> PathBuf {
        self.data_directory().join("review")
    }

    fn blob_path(&self, id: &BlobId) -> PathBuf {
        self.blob_directory().join(id.as_str())
    }

    fn write_temporary(&self, bytes: &[u8]) -> Result<PathBuf, StoreError> {
        let failed =
            |error: &std::io::Error| StoreError::io("keeping the bytes from before", error);
        let directory = self.blob_directory();
        private_files::create_directory(&directory).map_err(|error| failed(&error))?;
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(|error| StoreError::Unavailable {
            doing: "keeping the bytes from before",
            reason: error.to_string(),
            source: None,
        })?;
        let path = directory.join(format!("{:032x}.tmp", u128::from_le_bytes(random)));
        let mut file = private_files::create_new(&path).map_err(|error| failed(&error))?;
        // Not synced: after a crash of the machine the hash tells whether the bytes are right.
        if let Err(error) = file.write_all(bytes) {
            let _ = std::fs::remove_file(&path);
            return Err(failed(&error));
        }
        Ok(path)
    }
}

/// Deletes the rows and files of blobs that no snapshot, no pending change and no hold names.
pub(crate) fn drop_unnamed_blobs(
    connection: &Connection,
    directory: &std::path::Path,
) -> Result<usize, StoreError> {
    let mut statement = connection.prepare_cached(
        "DELETE FROM blobs WHERE NOT EXISTS (SELECT 1 FROM snapshots WHERE before_blob = blobs.hash)
         AND NOT EXISTS (SELECT 1 FROM pending_changes WHERE before_blob = blobs.hash)
         AND NOT EXISTS (SELECT 1 FROM blob_holds WHERE blob_holds.hash = blobs.hash) RETURNING hash",
    )?;
    let unnamed: Vec<String> = statement
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for hash in &unnamed {
        match std::fs::remove_file(directory.join(hash)) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            // A file without a row is swept at the next start.
            Err(error) => tracing::warn!(%error, %hash, "the bytes of a snapshot stay"),
        }
    }
    Ok(unnamed.len())
}
