//! Writing rows.

use guardian_redact::Redactor;

use super::chain::{self, head_of};
use super::entry::{AuditEntry, AuditEvent};
use super::stored;
use crate::clock::Timestamp;
use crate::writer::{Durability, Pending, WriteContext};
use crate::{Store, StoreError};

impl Store {
    /// Writes a row; returns its number once it is committed.
    ///
    /// # Errors
    /// When it cannot be written. High-risk calls then do not run.
    pub fn append_audit(
        &self,
        entry: AuditEntry,
        durability: Durability,
    ) -> Result<u64, StoreError> {
        let body = body_of(entry, self.redactor(), self.now())?;
        self.write(durability, move |context| append(context, body))
    }

    /// As [`Self::append_audit`], without waiting for the commit.
    #[must_use = "a row whose result nobody looks at may be missing"]
    pub fn append_audit_later(&self, entry: AuditEntry, durability: Durability) -> Pending<u64> {
        let now = self.now();
        match body_of(entry, self.redactor(), now) {
            Ok(body) => self.write_later(durability, move |context| append(context, body)),
            Err(error) => Pending::failed(error),
        }
    }

    /// Writes that a high-risk call is about to run. On return the row survives a crash of the
    /// machine; the call runs only then.
    ///
    /// # Errors
    /// When it cannot be written: the call must not run.
    pub fn record_about_to_run(&self, entry: AuditEntry) -> Result<u64, StoreError> {
        self.append_audit(
            AuditEntry {
                event: AuditEvent::AboutToRun,
                ..entry
            },
            Durability::Machine,
        )
    }
}

/// Appends within a write; for everything that records itself in its own transaction.
pub(crate) fn append(context: &mut WriteContext<'_>, body: String) -> Result<u64, StoreError> {
    let head = match context.head {
        Some(head) => head,
        None => head_of(context.connection)?,
    };
    let next = head.next(&body);
    chain::insert(context.connection, next, &body)?;
    context.head = Some(next);
    Ok(next.seq)
}

/// The redacted, stored text of an entry.
pub(crate) fn body_of(
    entry: AuditEntry,
    redactor: &Redactor,
    at: Timestamp,
) -> Result<String, StoreError> {
    stored::to_body(redacted(entry, redactor), at)
}

fn redacted(mut entry: AuditEntry, redactor: &Redactor) -> AuditEntry {
    let text = |text: &mut Option<String>| {
        if let Some(text) = text {
            *text = redactor.redact_text(text).into_owned();
        }
    };
    text(&mut entry.facts_summary);
    text(&mut entry.reason);
    text(&mut entry.cause);
    for value in [&mut entry.args_preview, &mut entry.detail]
        .into_iter()
        .flatten()
    {
        *value = redactor.redact_value(value);
    }
    entry
}
