//! Memory of automatic reviewers: breakers and the decision cache (SPEC §8).
//!
//! What opens a breaker and what goes into a digest is decided by guardian-review; here it is kept.

use rusqlite::{OptionalExtension as _, params};

use crate::clock::Timestamp;
use crate::sessions::session_of;
use crate::writer::Durability;
use crate::{SessionId, Store, StoreError};

/// An answer of an automatic reviewer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CachedDecision {
    /// Allowed (within one turn only), or denied.
    pub allowed: bool,
    /// Who.
    pub reviewer: String,
    /// Why. Redacted by the store.
    pub rationale: String,
    /// When.
    pub at: Timestamp,
}

impl Store {
    /// The kept state of a breaker, in its owner's own versioned form.
    ///
    /// # Errors
    /// When the store cannot be read; the caller then takes the breaker for open.
    pub fn breaker(&self, session: &SessionId, name: &str) -> Result<Option<String>, StoreError> {
        self.read(|connection| {
            Ok(connection
                .prepare_cached("SELECT state FROM breakers WHERE session_id = ?1 AND name = ?2")?
                .query_row(params![session.as_str(), name], |row| row.get(0))
                .optional()?)
        })
    }

    /// Keeps the state of a breaker.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] without such a session.
    pub fn keep_breaker(
        &self,
        session: &SessionId,
        name: &str,
        state: String,
    ) -> Result<(), StoreError> {
        let (session, name, now) = (session.clone(), name.to_owned(), self.now());
        self.write(Durability::Process, move |context| {
            session_of(context.connection, &session)?;
            context
                .connection
                .prepare_cached(
                    "INSERT INTO breakers (session_id, name, state, at) VALUES (?1, ?2, ?3, ?4)
                     ON CONFLICT (session_id, name) DO UPDATE SET state = excluded.state, at = excluded.at",
                )?
                .execute(params![session.as_str(), name, state, now.0])?;
            Ok(())
        })
    }

    /// Looks an answer up by the digest of everything it depends on but the turn. An allow counts
    /// in the turn it was given in only, a denial in every turn of the session.
    ///
    /// # Errors
    /// When the store cannot be read; the caller then goes on as if there were none.
    pub fn cached_decision(
        &self,
        session: &SessionId,
        turn: &str,
        digest: &str,
    ) -> Result<Option<CachedDecision>, StoreError> {
        self.read(|connection| {
            Ok(connection
                .prepare_cached(
                    "SELECT allowed, reviewer, rationale, at FROM decision_cache
                     WHERE session_id = ?1 AND digest = ?2 AND (allowed = 0 OR turn_id = ?3)",
                )?
                .query_row(params![session.as_str(), digest, turn], |row| {
                    Ok(CachedDecision {
                        allowed: row.get(0)?,
                        reviewer: row.get(1)?,
                        rationale: row.get(2)?,
                        at: Timestamp(row.get(3)?),
                    })
                })
                .optional()?)
        })
    }

    /// Keeps an answer. An allow does not replace a denial.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] without such a session.
    pub fn cache_decision(
        &self,
        session: &SessionId,
        turn: &str,
        digest: &str,
        decision: CachedDecision,
    ) -> Result<(), StoreError> {
        let (session, turn, digest) = (session.clone(), turn.to_owned(), digest.to_owned());
        let rationale = self
            .redactor()
            .redact_text(&decision.rationale)
            .into_owned();
        self.write(Durability::Process, move |context| {
            session_of(context.connection, &session)?;
            context
                .connection
                .prepare_cached(
                    "INSERT INTO decision_cache (session_id, digest, turn_id, allowed, reviewer, rationale, at)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
                     ON CONFLICT (session_id, digest) DO UPDATE SET turn_id = excluded.turn_id,
                     allowed = excluded.allowed, reviewer = excluded.reviewer,
                     rationale = excluded.rationale, at = excluded.at
                     WHERE excluded.allowed = 0 OR decision_cache.allowed = 1",
                )?
                .execute(params![
                    session.as_str(),
                    digest,
                    turn,
                    decision.allowed,
                    decision.reviewer,
                    rationale,
                    decision.at.0,
                ])?;
            Ok(())
        })
    }

    /// Forgets the cached answer to a digest: a human overruled it.
    ///
    /// # Errors
    /// When the store cannot be written: it may then stand.
    pub fn forget_decision(&self, session: &SessionId, digest: &str) -> Result<(), StoreError> {
        let (session, digest) = (session.clone(), digest.to_owned());
        self.write(Durability::Process, move |context| {
            context
                .connection
                .prepare_cached("DELETE FROM decision_cache WHERE session_id = ?1 AND digest = ?2")?
                .execute(params![session.as_str(), digest])?;
            Ok(())
        })
    }
}
