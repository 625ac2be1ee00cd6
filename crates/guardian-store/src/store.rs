//! Opening and holding the database.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use guardian_redact::Redactor;
use rusqlite::{Connection, OpenFlags};

use crate::audit::{AuditEntry, AuditEvent, Head};
use crate::clock::{Clock, SystemClock, Timestamp};
use crate::snapshots::DEFAULT_REVIEW_QUOTA_BYTES;
use crate::writer::{Durability, Pending, WriteContext, Writer};
use crate::{StoreError, audit, private_files, schema};

/// File name of the database in the data directory.
const DATABASE: &str = "guardian.db";

/// Suffix of the file that says: damage was met.
const SUSPECT: &str = ".suspect";

/// Prepared statements that a connection keeps: as many as there are in this crate, about.
const STATEMENTS: usize = 128;

/// Called with the end of the chain.
pub(crate) type PublishHead = Box<dyn Fn(&Head) + Send>;

/// How a store is opened.
pub struct StoreOptions {
    data_directory: PathBuf,
    clock: Arc<dyn Clock>,
    redactor: Redactor,
    busy_timeout: Duration,
    review_quota: u64,
    publish_head: Option<PublishHead>,
}

impl StoreOptions {
    /// A store in this directory (made when missing), with the system's clock and the built-in
    /// redaction.
    #[must_use]
    pub fn new(data_directory: impl Into<PathBuf>) -> Self {
        Self {
            data_directory: data_directory.into(),
            clock: Arc::new(SystemClock),
            redactor: Redactor::builtin(),
            busy_timeout: Duration::from_secs(5),
            review_quota: DEFAULT_REVIEW_QUOTA_BYTES,
            publish_head: None,
        }
    }

    /// Another clock.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Another redactor, usually one that knows the host's own secrets.
    #[must_use]
    pub fn redactor(mut self, redactor: Redactor) -> Self {
        self.redactor = redactor;
        self
    }

    /// How long to wait for other processes (default 5 s); then [`StoreError::Busy`].
    #[must_use]
    pub fn busy_timeout(mut self, timeout: Duration) -> Self {
        self.busy_timeout = timeout;
        self
    }

    /// How many bytes of review snapshots are kept, all sessions together.
    #[must_use]
    pub fn review_quota(mut self, bytes: u64) -> Self {
        self.review_quota = bytes;
        self
    }

    /// Called by whoever commits, one at a time, with the end of the audit chain after each commit that moved
    /// it. Publishing it where an attacker cannot write makes a cut tail show.
    #[must_use]
    pub fn publish_head(mut self, publish: impl Fn(&Head) + Send + 'static) -> Self {
        self.publish_head = Some(Box::new(publish));
        self
    }
}

impl fmt::Debug for StoreOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("StoreOptions")
            .field("data_directory", &self.data_directory)
            .finish_non_exhaustive()
    }
}

/// A damaged database was moved aside and a new one begun. Nothing of the old one is in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovery {
    /// Where the damaged file is now.
    pub moved_to: PathBuf,
    /// What was wrong with it.
    pub reason: String,
}

/// The store of one data directory. Cheap to clone; the last clone closes it, after finishing
/// what was asked for.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    data_directory: PathBuf,
    database: PathBuf,
    clock: Arc<dyn Clock>,
    redactor: Redactor,
    busy_timeout: Duration,
    review_quota: u64,
    /// `None` in a data directory that cannot be written.
    writer: Option<Writer>,
    readers: Mutex<Vec<Connection>>,
    recovery: Option<Recovery>,
    audit_key: OnceLock<audit::Key>,
}

impl fmt::Debug for Store {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Store")
            .field("data_directory", &self.inner.data_directory)
            .field("writable", &self.inner.writer.is_some())
            .finish_non_exhaustive()
    }
}

impl Store {
    /// Something was remembered in this directory before. A directory that cannot be looked at
    /// counts as one where something was, so that opening it says what is wrong.
    #[must_use]
    pub fn exists_in(data_directory: &Path) -> bool {
        !matches!(data_directory.join(DATABASE).try_exists(), Ok(false))
    }

    /// Opens the store: makes the data directory and the database when missing, brings the
    /// tables up to date, moves a damaged database aside ([`Self::recovery`]). In a directory
    /// that cannot be written an existing database opens for reading.
    ///
    /// # Errors
    /// When the directory or database can be neither made nor read, or is of a newer guardian.
    pub fn open(options: StoreOptions) -> Result<Self, StoreError> {
        let database = options.data_directory.join(DATABASE);
        let opened = open_for_writing(&options, &database);
        let (connection, recovery) = match opened {
            Ok((connection, recovery)) => (Some(connection), recovery),
            Err(StoreError::ReadOnly | StoreError::Unavailable { .. }) if database.is_file() => {
                (None, None)
            }
            Err(error) => return Err(error),
        };
        let publish = options.publish_head.unwrap_or_else(|| Box::new(|_| ()));
        let writer = connection
            .map(|connection| Writer::start(connection, publish, database.clone()))
            .transpose()?;
        let store = Self {
            inner: Arc::new(Inner {
                data_directory: options.data_directory,
                database,
                clock: options.clock,
                redactor: options.redactor,
                busy_timeout: options.busy_timeout,
                review_quota: options.review_quota,
                writer,
                readers: Mutex::new(Vec::new()),
                recovery,
                audit_key: OnceLock::new(),
            }),
        };
        if store.inner.writer.is_none() {
            // Readable at all?
            store.read(|connection| {
                Ok(connection.query_row("SELECT count(*) FROM sessions", [], |_| Ok(()))?)
            })?;
        }
        if let Some(recovery) = &store.inner.recovery {
            let mut entry = AuditEntry::new(AuditEvent::StoreRecovered);
            entry.detail = Some(serde_json::json!({
                "movedTo": recovery.moved_to.display().to_string(),
                "reason": recovery.reason,
            }));
            store.append_audit(entry, Durability::Machine)?;
        }
        Ok(store)
    }

    /// Opens a database that is there, for reading only: quicker than [`Self::open`], and nothing
    /// is made, migrated or repaired. Where that cannot be done (tables of another version, damage)
    /// it is opened as [`Self::open`] does.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_to_look(options: StoreOptions) -> Result<Self, StoreError> {
        let database = options.data_directory.join(DATABASE);
        let latest = i64::try_from(schema::MIGRATIONS.len()).unwrap_or(i64::MAX);
        let looks_sound = || -> Result<Option<Connection>, StoreError> {
            if sibling(&database, SUSPECT).exists() {
                return Ok(None);
            }
            let connection = open_for_reading(&database, options.busy_timeout, false)?;
            let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
            Ok((version == latest).then_some(connection))
        };
        let Ok(Some(connection)) = looks_sound() else {
            return Self::open(options);
        };
        Ok(Self {
            inner: Arc::new(Inner {
                data_directory: options.data_directory,
                database,
                clock: options.clock,
                redactor: options.redactor,
                busy_timeout: options.busy_timeout,
                review_quota: options.review_quota,
                writer: None,
                readers: Mutex::new(vec![connection]),
                recovery: None,
                audit_key: OnceLock::new(),
            }),
        })
    }

    /// The directory the store lives in.
    #[must_use]
    pub fn data_directory(&self) -> &Path {
        &self.inner.data_directory
    }

    /// Set when opening found a damaged database.
    #[must_use]
    pub fn recovery(&self) -> Option<&Recovery> {
        self.inner.recovery.as_ref()
    }

    /// False when the data directory could not be written at opening: reads work, writes answer
    /// [`StoreError::ReadOnly`].
    #[must_use]
    pub fn is_writable(&self) -> bool {
        self.inner.writer.is_some()
    }

    /// The store's time.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.inner.clock.now()
    }

    /// What hides secrets on the way in.
    #[must_use]
    pub fn redactor(&self) -> &Redactor {
        &self.inner.redactor
    }

    pub(crate) fn review_quota(&self) -> u64 {
        self.inner.review_quota
    }

    /// The key of [`Self::args_hash`].
    pub(crate) fn audit_key(&self) -> Result<audit::Key, StoreError> {
        if let Some(key) = self.inner.audit_key.get() {
            return Ok(*key);
        }
        let key = audit::load_or_create_key(&self.inner.data_directory)?;
        Ok(*self.inner.audit_key.get_or_init(|| key))
    }

    /// Runs a write on the writer's thread.
    pub(crate) fn write_later<T: Send + 'static>(
        &self,
        durability: Durability,
        work: impl FnOnce(&mut WriteContext<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Pending<T> {
        match &self.inner.writer {
            Some(writer) => writer.submit(durability, work),
            None => Pending::failed(StoreError::ReadOnly),
        }
    }

    /// Writes, and returns once it is committed.
    pub(crate) fn write<T: Send + 'static>(
        &self,
        durability: Durability,
        work: impl FnOnce(&mut WriteContext<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        match &self.inner.writer {
            Some(writer) => writer.write(durability, work),
            None => Err(StoreError::ReadOnly),
        }
    }

    /// Runs a read on a connection of its own.
    pub(crate) fn read<T>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let pooled = self
            .inner
            .readers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop();
        let connection = match pooled {
            Some(connection) => connection,
            None => open_for_reading(
                &self.inner.database,
                self.inner.busy_timeout,
                self.inner.writer.is_some(),
            )?,
        };
        let result = work(&connection);
        if matches!(result, Err(StoreError::Corrupt(_))) {
            mark_suspect(&self.inner.database);
        } else {
            let mut readers = self
                .inner
                .readers
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            if readers.len() < 8 {
                readers.push(connection);
            }
        }
        result
    }
}

fn open_for_writing(
    options: &StoreOptions,
    database: &Path,
) -> Result<(Connection, Option<Recovery>), StoreError> {
    private_files::create_directory(&options.data_directory)
        .map_err(|error| StoreError::io("making the data directory", &error))?;
    drop(
        private_files::open_or_create(database).map_err(|error| match error.kind() {
            std::io::ErrorKind::PermissionDenied => StoreError::ReadOnly,
            _ => StoreError::io("opening the database", &error),
        })?,
    );
    let suspect = sibling(database, SUSPECT);
    let prepared = if suspect.exists() {
        check_readable(database)
    } else {
        Ok(())
    };
    match prepared.and_then(|()| prepare(options, database)) {
        Ok(connection) => {
            if suspect.exists() {
                std::fs::remove_file(&suspect)
                    .map_err(|error| StoreError::io("noting that the database is sound", &error))?;
            }
            Ok((connection, None))
        }
        Err(StoreError::Corrupt(reason)) => recover(options, database, reason),
        Err(error) => Err(error),
    }
}

/// Opens, sets up and migrates. The migration runs under a lock file, because two processes that
/// begin at once would both find the tables missing.
fn prepare(options: &StoreOptions, database: &Path) -> Result<Connection, StoreError> {
    let mut connection = Connection::open_with_flags(
        database,
        OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_NOFOLLOW,
    )?;
    connection.busy_timeout(options.busy_timeout)?;
    let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    let latest = i64::try_from(schema::MIGRATIONS.len()).unwrap_or(i64::MAX);
    if version > latest {
        return Err(StoreError::TooNew {
            path: database.to_owned(),
        });
    }
    if version < latest {
        let _lock = opening_lock(&options.data_directory)?;
        let mode: String =
            connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
        if !mode.eq_ignore_ascii_case("wal") {
            return Err(StoreError::Unavailable {
                doing: "switching the database to WAL",
                reason: format!("the journal mode stays `{mode}`"),
                source: None,
            });
        }
        schema::migrations()
            .to_latest(&mut connection)
            .map_err(|error| match error {
                rusqlite_migration::Error::RusqliteError { err, .. } => StoreError::from(err),
                rusqlite_migration::Error::MigrationDefinition(
                    rusqlite_migration::MigrationDefinitionError::DatabaseTooFarAhead,
                ) => StoreError::TooNew {
                    path: database.to_owned(),
                },
                other => StoreError::Unavailable {
                    doing: "migrating the database",
                    reason: other.to_string(),
                    source: None,
                },
            })?;
    }
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    connection.execute_batch("PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF;")?;
    // A file whose pages are not what its header says shows here or at its first use.
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    audit::head_of(&connection)?;
    Ok(connection)
}

fn opening_lock(data_directory: &Path) -> Result<std::fs::File, StoreError> {
    let file = private_files::open_or_create(&data_directory.join("opening.lock"))
        .map_err(|error| StoreError::io("opening the lock file", &error))?;
    file.lock()
        .map_err(|error| StoreError::io("locking the data directory", &error))?;
    Ok(file)
}

/// Moves a damaged database aside and begins a new one.
fn recover(
    options: &StoreOptions,
    database: &Path,
    reason: String,
) -> Result<(Connection, Option<Recovery>), StoreError> {
    let moved_to = {
        let _lock = opening_lock(&options.data_directory)?;
        let stamp = options.clock.now().0;
        let mut attempt = 0;
        loop {
            let moved_to = database.with_file_name(format!("{DATABASE}.corrupt-{stamp}-{attempt}"));
            if !moved_to.exists() {
                break moved_to;
            }
            attempt += 1;
        }
    };
    {
        let _lock = opening_lock(&options.data_directory)?;
        // Another process may have begun a new one while this one waited.
        if let Err(StoreError::Corrupt(_)) = check_readable(database) {
            for suffix in ["-wal", "-shm"] {
                let from = sibling(database, suffix);
                if from.exists() {
                    std::fs::rename(&from, sibling(&moved_to, suffix)).map_err(|error| {
                        StoreError::io("moving the damaged database aside", &error)
                    })?;
                }
            }
            std::fs::rename(database, &moved_to)
                .map_err(|error| StoreError::io("moving the damaged database aside", &error))?;
            drop(
                private_files::create_new(database)
                    .map_err(|error| StoreError::io("making a new database", &error))?,
            );
        }
    }
    match std::fs::remove_file(sibling(database, SUSPECT)) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(StoreError::io("moving the damaged database aside", &error));
        }
        _ => {}
    }
    tracing::error!(%reason, moved_to = %moved_to.display(), "the database was damaged; a new one was begun");
    let connection = prepare(options, database)?;
    Ok((connection, Some(Recovery { moved_to, reason })))
}

fn check_readable(database: &Path) -> Result<(), StoreError> {
    let connection = Connection::open_with_flags(
        database,
        OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_NOFOLLOW,
    )?;
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    let verdict: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if verdict == "ok" {
        Ok(())
    } else {
        Err(StoreError::Corrupt(verdict))
    }
}

/// Damage was met: the next opening looks at the whole database.
pub(crate) fn mark_suspect(database: &Path) {
    if let Err(error) = private_files::open_or_create(&sibling(database, SUSPECT)) {
        tracing::warn!(%error, "it cannot be noted that the database is damaged");
    }
}

fn sibling(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

fn open_for_reading(
    database: &Path,
    busy_timeout: Duration,
    writable: bool,
) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    // Where it can be written, so that the shared-memory file can be made; `query_only` holds.
    let connection = if writable {
        Connection::open_with_flags(database, flags | OpenFlags::SQLITE_OPEN_READ_WRITE)?
    } else {
        open_read_only(database, flags | OpenFlags::SQLITE_OPEN_READ_ONLY)?
    };
    connection.busy_timeout(busy_timeout)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    connection.execute_batch("PRAGMA query_only = ON; PRAGMA trusted_schema = OFF;")?;
    Ok(connection)
}

/// In a directory without write permission the files that WAL needs cannot be made. Then, and
/// only when no write-ahead log holds newer rows, the file is read as one that does not change.
fn open_read_only(database: &Path, flags: OpenFlags) -> Result<Connection, StoreError> {
    let works = |connection: &Connection| {
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))
    };
    let connection = Connection::open_with_flags(database, flags)?;
    let Err(error) = works(&connection) else {
        return Ok(connection);
    };
    let log_is_empty = sibling(database, "-wal")
        .metadata()
        .map_or(true, |log| log.len() == 0);
    if !log_is_empty {
        return Err(error.into());
    }
    let text = database.to_str().ok_or_else(|| {
        StoreError::Invalid("the data directory's path is not Unicode".to_owned())
    })?;
    let mut uri = String::from("file:");
    for byte in text.bytes() {
        // Everything that means something in a URI is escaped.
        if byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'.' | b'-' | b'_') {
            uri.push(char::from(byte));
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
    }
    uri.push_str("?immutable=1");
    let connection = Connection::open_with_flags(uri, flags | OpenFlags::SQLITE_OPEN_URI)?;
    works(&connection)?;
    Ok(connection)
}
