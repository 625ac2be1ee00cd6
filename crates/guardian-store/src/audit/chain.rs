//! The chain: hashing, its end, verification, pruning.

use std::fmt::Write as _;

use rusqlite::{Connection, OptionalExtension as _, params};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::entry::{AuditEntry, AuditEvent};
use super::{append, stored};
use crate::clock::Timestamp;
use crate::writer::Durability;
use crate::{Store, StoreError};

pub(super) type Hash = [u8; 32];

/// What the first row's hash covers in the place of a hash before it.
const GENESIS: Hash = [0; 32];

/// The end of the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// Number of the last row; 0 when there is none yet.
    pub seq: u64,
    /// Its hash.
    pub hash: [u8; 32],
}

impl Head {
    pub(crate) const EMPTY: Self = Self {
        seq: 0,
        hash: GENESIS,
    };

    /// `<seq> <hash in hex>`, the form in which a head is published.
    #[must_use]
    pub fn to_line(self) -> String {
        format!("{} {}", self.seq, hex(&self.hash))
    }

    /// Reads [`Self::to_line`].
    #[must_use]
    pub fn from_line(line: &str) -> Option<Self> {
        let (seq, hash) = line.trim().split_once(' ')?;
        if hash.len() != 64 || !hash.is_ascii() {
            return None;
        }
        let mut bytes = [0; 32];
        for (index, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&hash[index * 2..index * 2 + 2], 16).ok()?;
        }
        Some(Self {
            seq: seq.parse().ok()?,
            hash: bytes,
        })
    }

    /// The head after a row with this body.
    pub(super) fn next(self, body: &str) -> Self {
        let seq = self.seq + 1;
        Self {
            seq,
            hash: row_hash(&self.hash, seq, body),
        }
    }
}

/// Where and how the chain is broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenChain {
    /// The first row at which it shows.
    pub seq: u64,
    /// How, for people.
    pub reason: String,
}

/// The outcome of a verification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verification {
    /// Rows looked at.
    pub rows: u64,
    /// The end of the chain.
    pub head: Head,
    /// `None`: unbroken.
    pub first_bad: Option<BrokenChain>,
}

impl Verification {
    /// Unbroken?
    #[must_use]
    pub fn is_ok(&self) -> bool {
        self.first_bad.is_none()
    }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            // Writing into a String does not fail.
            let _ = write!(text, "{byte:02x}");
            text
        })
}

fn row_hash(previous: &Hash, seq: u64, body: &str) -> Hash {
    let mut hasher = Sha256::new();
    hasher.update(b"guardian-audit-1\0");
    hasher.update(previous);
    hasher.update(seq.to_le_bytes());
    hasher.update(body.as_bytes());
    hasher.finalize().into()
}

fn as_hash(bytes: &[u8], seq: u64) -> Result<Hash, StoreError> {
    bytes
        .try_into()
        .map_err(|_| StoreError::Corrupt(format!("the hash of audit row {seq} has a wrong length")))
}

/// The end of the chain as this connection sees it.
pub(crate) fn head_of(connection: &Connection) -> Result<Head, StoreError> {
    let last = connection
        .prepare_cached("SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1")?
        .query_row([], |row| {
            Ok((row.get::<_, u64>(0)?, row.get::<_, Vec<u8>>(1)?))
        })
        .optional()?;
    match last {
        None => Ok(Head::EMPTY),
        Some((seq, hash)) => Ok(Head {
            seq,
            hash: as_hash(&hash, seq)?,
        }),
    }
}

impl Store {
    /// The end of the chain, to be published.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn audit_head(&self) -> Result<Head, StoreError> {
        self.read(head_of)
    }

    /// Looks at every row. Given a published head, also finds that the tail was cut since.
    ///
    /// # Errors
    /// When the store cannot be read; a broken chain is a result, not an error.
    pub fn verify_audit(&self, published: Option<&Head>) -> Result<Verification, StoreError> {
        self.read(|connection| verify(connection, published))
    }

    /// Removes rows older than `before` (never the last one) and notes in the chain where it now
    /// begins. Returns how many were removed.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn prune_audit(&self, before: Timestamp) -> Result<u64, StoreError> {
        let now = self.now();
        self.write(Durability::Machine, move |context| {
            let connection = context.connection;
            let head = head_of(connection)?;
            // Rows are in the order of their times but for changes of the clock, so: up to the
            // first row that is to stay.
            let first_kept: Option<u64> = connection
                .query_row("SELECT min(seq) FROM audit WHERE body ->> '$.at' >= ?1", [before.0], |row| row.get(0))?;
            let through = first_kept.unwrap_or(head.seq).saturating_sub(1);
            let last_removed: Option<Vec<u8>> = connection
                .query_row("SELECT hash FROM audit WHERE seq = ?1", [through], |row| row.get(0))
                .optional()?;
            let Some(last_removed) = last_removed else { return Ok(0) };
            let removed = connection.execute("DELETE FROM audit WHERE seq <= ?1", [through])?;
            let mut entry = AuditEntry::new(AuditEvent::Pruned);
            entry.detail = Some(json!({ "throughSeq": through, "throughHash": hex(&last_removed), "rows": removed }));
            append::append(context, stored::to_body(entry, now)?)?;
            Ok(u64::try_from(removed).unwrap_or(u64::MAX))
        })
    }
}

/// The newest note of a pruning: the row before the first one that is kept.
fn start_of(connection: &Connection) -> Result<Head, StoreError> {
    let mut statement = connection.prepare(
        "SELECT seq, body FROM audit WHERE body ->> '$.event' = 'pruned' ORDER BY seq DESC LIMIT 1",
    )?;
    let note = statement
        .query_row([], |row| {
            Ok((row.get::<_, u64>(0)?, row.get::<_, String>(1)?))
        })
        .optional()?;
    let Some((seq, body)) = note else {
        return Ok(Head::EMPTY);
    };
    let row = stored::from_body(seq, &GENESIS, &body)?;
    let detail = row.entry.detail.unwrap_or_default();
    let line = format!(
        "{} {}",
        detail["throughSeq"],
        detail["throughHash"].as_str().unwrap_or_default()
    );
    Head::from_line(&line)
        .ok_or_else(|| StoreError::Corrupt(format!("audit row {seq} does not say what was pruned")))
}

fn verify(connection: &Connection, published: Option<&Head>) -> Result<Verification, StoreError> {
    // One transaction, so that rows written meanwhile do not show in half.
    let transaction = connection.unchecked_transaction()?;
    let start = match start_of(&transaction) {
        Ok(start) => start,
        Err(StoreError::Corrupt(reason)) => {
            let head = head_of(&transaction).unwrap_or(Head::EMPTY);
            return Ok(Verification {
                rows: 0,
                head,
                first_bad: Some(BrokenChain {
                    seq: head.seq,
                    reason,
                }),
            });
        }
        Err(error) => return Err(error),
    };
    let mut head = start;
    let mut rows_seen = 0;
    let mut first_bad = None;
    let mut published_seen = published.is_none_or(|published| *published == start);
    {
        let mut statement =
            transaction.prepare("SELECT seq, hash, body FROM audit ORDER BY seq")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            rows_seen += 1;
            let seq: u64 = row.get(0)?;
            let hash = row.get_ref(1)?.as_blob().unwrap_or_default();
            let body = row.get_ref(2)?.as_str().unwrap_or_default();
            if seq != head.seq + 1 {
                first_bad = Some(BrokenChain {
                    seq,
                    reason: format!("row {} is missing", head.seq + 1),
                });
                break;
            }
            let next = head.next(body);
            if next.hash != hash {
                let reason =
                    "the row, or the one before it, was changed after it was written".to_owned();
                first_bad = Some(BrokenChain { seq, reason });
                break;
            }
            head = next;
            if let Some(published) = published
                && published.seq == seq
            {
                if published.hash != head.hash {
                    let reason = "the row is another one than was published".to_owned();
                    first_bad = Some(BrokenChain { seq, reason });
                    break;
                }
                published_seen = true;
            }
        }
    }
    if first_bad.is_none()
        && !published_seen
        && let Some(published) = published
    {
        // A note of a pruning is only as good as the rows after it: beyond a published head
        // anybody could have written one.
        first_bad = Some(if published.seq <= start.seq {
            BrokenChain {
                seq: start.seq,
                reason: "the published head is among the rows that were pruned; give a newer one"
                    .to_owned(),
            }
        } else {
            BrokenChain {
                seq: head.seq + 1,
                reason: "rows up to the published head are missing".to_owned(),
            }
        });
    }
    Ok(Verification {
        rows: rows_seen,
        head,
        first_bad,
    })
}

/// Adds a row to the table; for [`append`].
pub(super) fn insert(connection: &Connection, head: Head, body: &str) -> Result<(), StoreError> {
    connection
        .prepare_cached("INSERT INTO audit (seq, hash, body) VALUES (?1, ?2, ?3)")?
        .execute(params![head.seq, head.hash.as_slice(), body])?;
    Ok(())
}
