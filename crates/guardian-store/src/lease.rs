//! Which process owns a session's turns (SPEC §15.1).

use std::fs::{File, TryLockError};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::PathBuf;

use crate::error::Conflict;
use crate::{SessionId, Store, StoreError, private_files};

/// This process owns the turns and the scratch directory of a session. Ends when dropped, and
/// with the process, however that ends.
#[derive(Debug)]
pub struct Lease {
    session: SessionId,
    /// Holds the lock.
    _file: File,
}

impl Lease {
    /// Of this session.
    #[must_use]
    pub fn session(&self) -> &SessionId {
        &self.session
    }
}

impl Store {
    /// Takes the session for this process. The session's row need not exist yet.
    ///
    /// # Errors
    /// [`Conflict::Leased`] when another process (or another lease of this one) has it.
    pub fn lease(&self, session: &SessionId) -> Result<Lease, StoreError> {
        private_files::create_directory(&self.lease_directory())
            .map_err(|error| StoreError::io("creating the lease directory", &error))?;
        let path = self.lease_path(session);
        let mut file = private_files::open_or_create(&path)
            .map_err(|error| StoreError::io("opening a lease", &error))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut text = String::new();
                let holder = file
                    .read_to_string(&mut text)
                    .ok()
                    .and_then(|_| text.trim().parse().ok());
                return Err(Conflict::Leased {
                    session: session.to_string(),
                    holder,
                }
                .into());
            }
            Err(TryLockError::Error(error)) => {
                return Err(StoreError::io("locking a lease", &error));
            }
        }
        // For the message of whoever comes second; the lock is what counts.
        let noted = file
            .set_len(0)
            .and_then(|()| file.seek(SeekFrom::Start(0)))
            .and_then(|_| writeln!(file, "{}", std::process::id()));
        if let Err(error) = noted {
            tracing::debug!(%error, "the holder of a lease could not be noted");
        }
        Ok(Lease {
            session: session.clone(),
            _file: file,
        })
    }

    fn lease_directory(&self) -> PathBuf {
        self.data_directory().join("leases")
    }

    /// Hashed, because ids that differ in case only are one name on some file systems. Lock files
    /// are never removed: removing one that is being opened would hand out two leases.
    fn lease_path(&self, session: &SessionId) -> PathBuf {
        let name = blake3::hash(session.as_str().as_bytes()).to_hex();
        self.lease_directory()
            .join(format!("{}.lock", &name.as_str()[..32]))
    }
}
