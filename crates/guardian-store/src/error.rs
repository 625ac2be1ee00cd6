//! What can go wrong. Nothing here is ever an answer to "may this run?": callers fail the call.

use std::path::PathBuf;
use std::sync::Arc;

use rusqlite::ErrorCode;

/// A failed operation of the store.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// There is no such row. Only said when the store was read and the row is not in it.
    #[error("no {what} `{id}`")]
    NotFound {
        /// Session, turn, snapshot …
        what: &'static str,
        /// Its id.
        id: String,
    },
    /// The state is another one than the operation needs.
    #[error(transparent)]
    Conflict(#[from] Conflict),
    /// A value that the store does not take.
    #[error("{0}")]
    Invalid(String),
    /// Another process held the database too long. Worth repeating.
    #[error("the database is busy")]
    Busy,
    /// The store cannot be read or written at the moment.
    #[error("the store is not available ({doing}): {reason}")]
    Unavailable {
        /// What was tried.
        doing: &'static str,
        /// What the system says.
        reason: String,
        /// The cause, where the database is it.
        #[source]
        source: Option<Arc<rusqlite::Error>>,
    },
    /// What is stored cannot be right: a damaged database, or a row of no known form.
    #[error("the store is damaged: {0}")]
    Corrupt(String),
    /// The data directory cannot be written; reading works.
    #[error("the store is read-only")]
    ReadOnly,
    /// No space is left.
    #[error("no space left for the store")]
    Full,
    /// The database was written by a newer guardian.
    #[error("`{path}` was written by a newer version of guardian", path = .path.display())]
    TooNew {
        /// The database.
        path: PathBuf,
    },
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
}

/// Which state was in the way.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Conflict {
    /// A session of this id exists.
    #[error("session `{0}` exists already")]
    SessionExists(String),
    /// The session was changed since the caller read it.
    #[error("session `{0}` was changed in the meantime")]
    SessionChanged(String),
    /// The session belongs to another project directory.
    #[error("session `{session}` belongs to `{project}`", project = .project.display())]
    ProjectBound {
        /// The session.
        session: String,
        /// Its directory.
        project: PathBuf,
    },
    /// A turn is running (`AGENT_BUSY`).
    #[error("turn `{turn}` of session `{session}` is running")]
    TurnRunning {
        /// The session.
        session: String,
        /// Its running turn.
        turn: String,
    },
    /// The named turn is not the running one.
    #[error("turn `{turn}` of session `{session}` is not running")]
    TurnNotRunning {
        /// The session.
        session: String,
        /// The turn.
        turn: String,
    },
    /// A step of plan or goal mode does not fit the session's state.
    #[error(transparent)]
    Plan(#[from] crate::PlanConflict),
    /// As many delegates are at work as there may be.
    #[error("session `{0}` has as many delegates at work as it may have")]
    DelegatesFull(String),
    /// The session is not in agent mode.
    #[error("session `{0}` is not in agent mode")]
    NotAgent(String),
    /// Another process owns the session's turns.
    #[error("session `{session}` is in use by another guardian process{}", .holder.map(|pid| format!(" ({pid})")).unwrap_or_default())]
    Leased {
        /// The session.
        session: String,
        /// The process, if it could be read.
        holder: Option<u32>,
    },
}

impl StoreError {
    pub(crate) fn not_found(what: &'static str, id: impl Into<String>) -> Self {
        Self::NotFound {
            what,
            id: id.into(),
        }
    }

    pub(crate) fn io(doing: &'static str, error: &std::io::Error) -> Self {
        use std::io::ErrorKind;
        match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Self::Full,
            ErrorKind::ReadOnlyFilesystem => Self::ReadOnly,
            _ => Self::Unavailable {
                doing,
                reason: error.to_string(),
                source: None,
            },
        }
    }

    /// Worth repeating as it is.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Busy)
    }
}

impl From<crate::PlanConflict> for StoreError {
    fn from(conflict: crate::PlanConflict) -> Self {
        Self::Conflict(Conflict::Plan(conflict))
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy,
            Some(ErrorCode::DiskFull) => Self::Full,
            Some(ErrorCode::ReadOnly) => Self::ReadOnly,
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                Self::Corrupt(error.to_string())
            }
            Some(_) => Self::Unavailable {
                doing: "database operation",
                reason: error.to_string(),
                source: Some(Arc::new(error)),
            },
            None => match error {
                // A column holds what its reader does not understand.
                rusqlite::Error::FromSqlConversionFailure(..)
                | rusqlite::Error::IntegralValueOutOfRange(..)
                | rusqlite::Error::InvalidColumnType(..)
                | rusqlite::Error::Utf8Error(..) => Self::Corrupt(error.to_string()),
                other => Self::Unavailable {
                    doing: "database operation",
                    reason: other.to_string(),
                    source: Some(Arc::new(other)),
                },
            },
        }
    }
}
