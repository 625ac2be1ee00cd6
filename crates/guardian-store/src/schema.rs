//! Tables, as a list of migrations. A landed entry is never edited; changes are new entries.

use rusqlite_migration::{M, Migrations};

/// All migrations, oldest first. The database's `user_version` is the number applied.
pub(crate) const MIGRATIONS: &[M<'static>] = &[M::up(V1)];

pub(crate) fn migrations() -> Migrations<'static> {
    Migrations::from_slice(MIGRATIONS)
}

/// Sessions, turns, settings, grants, audit.
///
/// The body of an audit row is hashed as it is stored, so everything a query needs is read from
/// the body: an index over it cannot say anything that the chain does not vouch for.
const V1: &str = "
CREATE TABLE sessions (
    id              TEXT PRIMARY KEY NOT NULL,
    project_path    BLOB,
    title           TEXT,
    mode            TEXT NOT NULL,
    permission_mode TEXT NOT NULL,
    created_at      INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL,
    revision        INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE turns (
    session_id      TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
    id              TEXT NOT NULL,
    prompt          INTEGER NOT NULL,
    shell_id        TEXT,
    shell_dialect   TEXT,
    user_message    TEXT,
    started_at      INTEGER NOT NULL,
    ended_at        INTEGER,
    outcome         TEXT,
    PRIMARY KEY (session_id, id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX one_running_turn ON turns(session_id) WHERE ended_at IS NULL;

CREATE TABLE settings (
    key             TEXT PRIMARY KEY NOT NULL,
    value           TEXT NOT NULL,
    updated_at      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE grants (
    session_id      TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
    tool_name       TEXT NOT NULL,
    scope           TEXT NOT NULL,
    granted_by      TEXT NOT NULL,
    at              INTEGER NOT NULL,
    last_used       INTEGER NOT NULL,
    PRIMARY KEY (session_id, tool_name, scope)
) STRICT, WITHOUT ROWID;

CREATE TABLE audit (
    seq             INTEGER PRIMARY KEY NOT NULL,
    hash            BLOB NOT NULL,
    body            TEXT NOT NULL
) STRICT;
CREATE INDEX audit_by_session ON audit(body ->> '$.sessionId', seq) WHERE body ->> '$.sessionId' IS NOT NULL;
CREATE INDEX audit_by_call ON audit(body ->> '$.toolCallId', seq) WHERE body ->> '$.toolCallId' IS NOT NULL;
";
