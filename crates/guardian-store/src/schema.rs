//! Tables, as a list of migrations. A landed entry is never edited; changes are new entries.

use rusqlite_migration::{M, Migrations};

/// All migrations, oldest first. The database's `user_version` is the number applied.
pub(crate) const MIGRATIONS: &[M<'static>] = &[
    M::up(V1),
    M::up(V2),
    M::up(V3),
    M::up(V4),
    M::up(V5),
    M::up(V6),
    M::up(V7),
];

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

/// Review snapshots, artifacts, policies, automatic reviewers' memory.
const V2: &str = "
CREATE TABLE blobs (
    hash            TEXT PRIMARY KEY NOT NULL,
    bytes           INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE blob_holds (
    hash            TEXT NOT NULL REFERENCES blobs(hash),
    session_id      TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
    at              INTEGER NOT NULL,
    PRIMARY KEY (hash, session_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE snapshots (
    seq             INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    session_id      TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
    id              TEXT NOT NULL,
    turn_id         TEXT,
    rolled_back_at  INTEGER,
    before_blob     TEXT REFERENCES blobs(hash),
    change          TEXT NOT NULL,
    UNIQUE (session_id, id)
) STRICT;
CREATE INDEX snapshots_by_blob ON snapshots(before_blob) WHERE before_blob IS NOT NULL;

CREATE TABLE artifacts (
    session_id      TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
    path            BLOB NOT NULL,
    kind            TEXT NOT NULL,
    tool_call_id    TEXT NOT NULL,
    bytes           INTEGER NOT NULL,
    sha256          TEXT NOT NULL,
    at              INTEGER NOT NULL,
    PRIMARY KEY (session_id, path)
) STRICT, WITHOUT ROWID;

CREATE TABLE policy_versions (
    path            BLOB PRIMARY KEY NOT NULL,
    hash            TEXT NOT NULL,
    text            TEXT NOT NULL,
    at              INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE policy_trust (
    path            BLOB NOT NULL,
    hash            TEXT NOT NULL,
    at              INTEGER NOT NULL,
    PRIMARY KEY (path, hash)
) STRICT, WITHOUT ROWID;
CREATE TABLE accepted_commands (
    project         BLOB NOT NULL,
    command         TEXT NOT NULL,
    definition_hash TEXT NOT NULL,
    at              INTEGER NOT NULL,
    PRIMARY KEY (project, command)
) STRICT, WITHOUT ROWID;

CREATE TABLE breakers (
    session_id      TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
    name            TEXT NOT NULL,
    state           TEXT NOT NULL,
    at              INTEGER NOT NULL,
    PRIMARY KEY (session_id, name)
) STRICT, WITHOUT ROWID;
CREATE TABLE decision_cache (
    session_id      TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
    digest          TEXT NOT NULL,
    turn_id         TEXT NOT NULL,
    allowed         INTEGER NOT NULL,
    reviewer        TEXT NOT NULL,
    rationale       TEXT NOT NULL,
    at              INTEGER NOT NULL,
    PRIMARY KEY (session_id, digest)
) STRICT, WITHOUT ROWID;
";

/// Proposals of plan and goal mode, delegates.
const V3: &str = "
CREATE TABLE proposals (
    session_id      TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
    id              TEXT NOT NULL,
    turn_id         TEXT NOT NULL,
    tool_call_id    TEXT NOT NULL,
    kind            TEXT NOT NULL,
    title           TEXT NOT NULL,
    question        TEXT NOT NULL,
    artifact_path   TEXT NOT NULL,
    artifact_sha256 TEXT NOT NULL,
    artifact_bytes  INTEGER NOT NULL,
    status          TEXT NOT NULL,
    version         INTEGER NOT NULL,
    permission_mode TEXT,
    execution       TEXT,
    created_at      INTEGER NOT NULL,
    expires_at      INTEGER NOT NULL,
    changed_at      INTEGER NOT NULL,
    PRIMARY KEY (session_id, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX open_proposals ON proposals(session_id) WHERE status = 'pending' OR execution = 'running';

CREATE TABLE delegates (
    session_id      TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
    id              TEXT NOT NULL,
    name            TEXT NOT NULL,
    tools           TEXT NOT NULL,
    turn_id         TEXT,
    tool_call_id    TEXT NOT NULL,
    opened_at       INTEGER NOT NULL,
    closed_at       INTEGER,
    outcome         TEXT,
    PRIMARY KEY (session_id, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX open_delegates ON delegates(session_id) WHERE closed_at IS NULL;

CREATE TABLE agent_approvals (
    project         BLOB NOT NULL,
    name            TEXT NOT NULL,
    hash            TEXT NOT NULL,
    at              INTEGER NOT NULL,
    PRIMARY KEY (project, name, hash)
) STRICT, WITHOUT ROWID;
";

/// The policy versions that hold for a session.
const V4: &str = "
CREATE TABLE session_policies (
    session_id      TEXT PRIMARY KEY NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
    revision        INTEGER NOT NULL,
    versions        TEXT NOT NULL,
    rules           TEXT,
    at              INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
";

/// Accepted project commands are rules in the user's policy file; this table was never written.
const V5: &str = "
DROP TABLE accepted_commands;
";

/// Changes that are about to be made, for the case that nobody lives to record them.
const V6: &str = "
CREATE TABLE pending_changes (
    session_id      TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
    id              TEXT NOT NULL,
    turn_id         TEXT,
    before_blob     TEXT REFERENCES blobs(hash),
    change          TEXT NOT NULL,
    PRIMARY KEY (session_id, id)
) STRICT, WITHOUT ROWID;
";

/// Which version of a file a session met last.
const V7: &str = "
CREATE TABLE seen_files (
    session_id      TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
    path            BLOB NOT NULL,
    tag             TEXT NOT NULL,
    content         INTEGER NOT NULL,
    PRIMARY KEY (session_id, path)
) STRICT, WITHOUT ROWID;
";
