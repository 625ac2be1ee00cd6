//! What is remembered of policy files: the last good text of each, and which bytes the user trusts
//! (SPEC §7.2).

use std::path::{Path, PathBuf};

use rusqlite::{OptionalExtension as _, params};

use crate::clock::Timestamp;
use crate::row;
use crate::writer::Durability;
use crate::{Store, StoreError};

/// The last version of a policy file that loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyVersion {
    /// Of its bytes; the caller's choice of hash.
    pub hash: String,
    /// The file, as it was: policy is no secret, and must come back byte for byte.
    pub text: String,
    /// When it loaded.
    pub at: Timestamp,
}

/// Bytes of a workspace's policy file that the user trusts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustedPolicy {
    /// The file.
    pub path: PathBuf,
    /// Of its bytes.
    pub hash: String,
    /// Since when.
    pub at: Timestamp,
}

impl Store {
    /// Keeps the text of a policy file that loaded.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn keep_policy(&self, path: &Path, hash: &str, text: &str) -> Result<(), StoreError> {
        let (path, hash, text, now) = (
            row::path_bytes(path)?,
            hash.to_owned(),
            text.to_owned(),
            self.now(),
        );
        self.write(Durability::Machine, move |context| {
            context
                .connection
                .prepare_cached(
                    "INSERT INTO policy_versions (path, hash, text, at) VALUES (?1, ?2, ?3, ?4)
                     ON CONFLICT (path) DO UPDATE SET hash = excluded.hash, text = excluded.text, at = excluded.at",
                )?
                .execute(params![path, hash, text, now.0])?;
            Ok(())
        })
    }

    /// The last good version of a policy file; `None` when none was kept.
    ///
    /// # Errors
    /// When the store cannot be read: then it is not known whether there is one.
    pub fn last_good_policy(&self, path: &Path) -> Result<Option<PolicyVersion>, StoreError> {
        let path = row::path_bytes(path)?;
        self.read(|connection| {
            let found = connection
                .prepare_cached("SELECT hash, text, at FROM policy_versions WHERE path = ?1")?
                .query_row([path], |row| {
                    Ok(PolicyVersion {
                        hash: row.get(0)?,
                        text: row.get(1)?,
                        at: Timestamp(row.get(2)?),
                    })
                })
                .optional()?;
            Ok(found)
        })
    }

    /// The user trusts these bytes of this file.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn trust_policy(&self, path: &Path, hash: &str) -> Result<(), StoreError> {
        let (path, hash, now) = (row::path_bytes(path)?, hash.to_owned(), self.now());
        self.write(Durability::Machine, move |context| {
            context
                .connection
                .prepare_cached("INSERT INTO policy_trust (path, hash, at) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING")?
                .execute(params![path, hash, now.0])?;
            Ok(())
        })
    }

    /// Does the user trust exactly these bytes?
    ///
    /// # Errors
    /// When the store cannot be read; the caller then treats them as not trusted.
    pub fn is_policy_trusted(&self, path: &Path, hash: &str) -> Result<bool, StoreError> {
        let path = row::path_bytes(path)?;
        self.read(|connection| {
            let found = connection
                .prepare_cached("SELECT 1 FROM policy_trust WHERE path = ?1 AND hash = ?2")?
                .query_row(params![path, hash], |_| Ok(()))
                .optional()?;
            Ok(found.is_some())
        })
    }

    /// Everything that is trusted, by file and time.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn trusted_policies(&self) -> Result<Vec<TrustedPolicy>, StoreError> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT path, hash, at FROM policy_trust ORDER BY path, at, hash",
            )?;
            let rows = statement.query_map([], |row| {
                Ok((
                    row.get::<_, Vec<u8>>(0)?,
                    row.get(1)?,
                    Timestamp(row.get(2)?),
                ))
            })?;
            rows.map(|row| {
                let (path, hash, at) = row?;
                Ok(TrustedPolicy {
                    path: row::path_from_bytes(path)?,
                    hash,
                    at,
                })
            })
            .collect()
        })
    }

    /// Ends all trust in a file. Returns how many versions were trusted.
    ///
    /// # Errors
    /// When the store cannot be written: the trust may then stand.
    pub fn distrust_policy(&self, path: &Path) -> Result<usize, StoreError> {
        let path = row::path_bytes(path)?;
        self.write(Durability::Machine, move |context| {
            Ok(context
                .connection
                .prepare_cached("DELETE FROM policy_trust WHERE path = ?1")?
                .execute([path])?)
        })
    }
}
