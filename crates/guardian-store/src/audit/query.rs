//! Reading rows.

use guardian_rules::Decision;
use rusqlite::params;

use super::entry::{AuditEvent, AuditRow};
use super::stored;
use crate::clock::Timestamp;
use crate::{SessionId, Store, StoreError};

/// In which direction to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditOrder {
    /// From the beginning: for following.
    OldestFirst,
    /// From the end: for looking.
    NewestFirst,
}

/// Which rows. `None` = whatever it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditFilter {
    /// Of this session.
    pub session: Option<SessionId>,
    /// Of this turn.
    pub turn: Option<String>,
    /// Of this call.
    pub tool_call: Option<String>,
    /// Of this tool.
    pub tool: Option<String>,
    /// With this decision.
    pub decision: Option<Decision>,
    /// About this.
    pub event: Option<AuditEvent>,
    /// Not before.
    pub since: Option<Timestamp>,
    /// Before.
    pub until: Option<Timestamp>,
    /// Direction.
    pub order: AuditOrder,
    /// At most so many rows (1 to 1000).
    pub limit: usize,
    /// [`AuditPage::next_cursor`] of the page before.
    pub cursor: Option<u64>,
}

impl AuditFilter {
    /// The newest 100 rows.
    #[must_use]
    pub fn newest() -> Self {
        Self {
            session: None,
            turn: None,
            tool_call: None,
            tool: None,
            decision: None,
            event: None,
            since: None,
            until: None,
            order: AuditOrder::NewestFirst,
            limit: 100,
            cursor: None,
        }
    }
}

/// Some rows, and where to go on.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditPage {
    /// The rows.
    pub rows: Vec<AuditRow>,
    /// Where the next page begins; `None` at the end. When following, the number of the last row
    /// seen is a cursor too.
    pub next_cursor: Option<u64>,
}

impl Store {
    /// Reads rows.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn query_audit(&self, filter: &AuditFilter) -> Result<AuditPage, StoreError> {
        let limit = filter.limit.clamp(1, 1000);
        let (direction, beyond) = match filter.order {
            AuditOrder::OldestFirst => ("ASC", ">"),
            AuditOrder::NewestFirst => ("DESC", "<"),
        };
        // A condition that is not asked for is left out, so that the one that is finds its index.
        let mut conditions = String::from("1");
        let mut condition = |asked: bool, text: &str| {
            if asked {
                conditions.push_str(" AND ");
                conditions.push_str(text);
            }
        };
        condition(filter.session.is_some(), "body ->> '$.sessionId' = ?1");
        condition(filter.turn.is_some(), "body ->> '$.turnId' = ?2");
        condition(filter.tool_call.is_some(), "body ->> '$.toolCallId' = ?3");
        condition(filter.tool.is_some(), "body ->> '$.toolName' = ?4");
        condition(filter.decision.is_some(), "body ->> '$.decision' = ?5");
        condition(filter.event.is_some(), "body ->> '$.event' = ?6");
        condition(filter.since.is_some(), "body ->> '$.at' >= ?7");
        condition(filter.until.is_some(), "body ->> '$.at' < ?8");
        condition(filter.cursor.is_some(), &format!("seq {beyond} ?9"));
        let sql = format!(
            "SELECT seq, hash, body FROM audit WHERE {conditions} ORDER BY seq {direction} LIMIT ?10"
        );
        self.read(|connection| {
            let mut statement = connection.prepare_cached(&sql)?;
            let mut rows = statement.query(params![
                filter.session.as_ref().map(SessionId::as_str),
                filter.turn,
                filter.tool_call,
                filter.tool,
                filter.decision.map(stored::decision_name),
                filter.event.as_ref().map(ToString::to_string),
                filter.since.map(|at| at.0),
                filter.until.map(|at| at.0),
                filter.cursor,
                limit + 1,
            ])?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                let hash: Vec<u8> = row.get(1)?;
                found.push(stored::from_body(
                    row.get(0)?,
                    &hash,
                    row.get_ref(2)?.as_str().unwrap_or_default(),
                )?);
            }
            let more = found.len() > limit;
            found.truncate(limit);
            let next_cursor = if more {
                found.last().map(|row: &AuditRow| row.seq)
            } else {
                None
            };
            Ok(AuditPage {
                rows: found,
                next_cursor,
            })
        })
    }
}
