//! One parallel pass over everything beneath a directory, by handles.
//!
//! Every directory is opened beneath the start's handle without following a link, and every file
//! is reached through its directory's handle: a name that is swapped for a link while the walk is
//! under way is not entered.

use std::ffi::{OsStr, OsString};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Instant;

use guardian_facts::classes::Hiding;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir};
use rustix::io::Errno;

use crate::ToolFailure;
use crate::contained::Contained;
use crate::context::{HiddenNames, ToolContext};
use crate::hidden::HiddenBeneath;
use crate::ignore_rules::{IgnoreLevel, IgnoreNames, is_default_directory, is_ignored};
use crate::open::{OpenError, is_pseudo_file_system, open_beneath};
use crate::roots::RootKind;

/// A file that a walk met.
pub(crate) struct WalkedFile<'a> {
    /// The directory that it is in.
    pub(crate) directory: BorrowedFd<'a>,
    pub(crate) name: &'a OsStr,
    /// Its path from the start of the walk.
    pub(crate) relative: &'a Path,
    /// A symlink, which is never followed; else a regular file.
    pub(crate) is_link: bool,
    hidden: Option<&'a dyn HiddenNames>,
}

impl WalkedFile<'_> {
    /// Is it left out of walks? By its name alone, and counted if so; the content of one that is
    /// [`Hiding::UnlessPublicKeys`] is for the caller to look at.
    pub(crate) fn hiding(&self, walk: &Walk<'_>) -> Hiding {
        let hiding = hiding(self.hidden, self.name);
        if hiding == Hiding::Hidden || (hiding == Hiding::UnlessPublicKeys && self.is_link) {
            walk.count_hidden();
            return Hiding::Hidden;
        }
        hiding
    }

    /// Opens it. A FIFO or device that took its name meanwhile does not block, and is not read.
    pub(crate) fn open(&self) -> Result<OwnedFd, Errno> {
        let flags =
            OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        rustix::fs::openat(self.directory, self.name, flags, Mode::empty())
    }
}

fn hiding(names: Option<&dyn HiddenNames>, name: &OsStr) -> Hiding {
    names.map_or(Hiding::Shown, |names| names.hiding(name))
}

/// Looks at files; one per thread.
pub(crate) trait Visitor: Send {
    fn visit(&mut self, file: &WalkedFile<'_>, walk: &Walk<'_>);

    /// Whether anything beneath this directory (path from the start) can be of interest.
    fn enters(&self, _directory: &Path) -> bool {
        true
    }
}

/// What a walk left out, and whether it came to its end.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct WalkReport {
    pub(crate) hidden: u64,
    pub(crate) unreadable: u64,
    pub(crate) timed_out: bool,
}

/// A walk under way, shared by its threads.
pub(crate) struct Walk<'a> {
    start: &'a Contained,
    cx: &'a ToolContext<'a>,
    hidden: Option<HiddenBeneath<'a>>,
    /// The default ignores apply.
    defaults: bool,
    may_meet_pseudo: bool,
    deadline: Instant,
    stop: AtomicBool,
    timed_out: AtomicBool,
    hidden_count: AtomicU64,
    unreadable_count: AtomicU64,
    queue: Mutex<Queue>,
    wake: Condvar,
}

#[derive(Default)]
struct Queue {
    jobs: Vec<Job>,
    /// Threads that are working, and so may add jobs.
    active: usize,
}

enum Job {
    Directory {
        relative: PathBuf,
        level: Option<Arc<IgnoreLevel>>,
    },
    /// Files of a large directory, split off for another thread.
    Files {
        directory: Arc<OwnedFd>,
        relative: PathBuf,
        files: Vec<(OsString, bool)>,
    },
}

/// Files of one directory that one thread takes at a time.
const BATCH: usize = 128;

/// Runs visitors over everything beneath `start`.
///
/// # Errors
/// `TOOL_ABORTED`. A passed time limit is no error but said in the report.
pub(crate) fn walk<V: Visitor>(
    start: &Contained,
    cx: &ToolContext<'_>,
    make_visitor: impl Fn() -> V + Sync,
) -> Result<(Vec<V>, WalkReport), ToolFailure> {
    // Opened once here, so that an unreadable start is an error and not an empty result.
    start.open_for_listing()?;
    let own_limit = Instant::now() + cx.limits.walk_time;
    let walk = Walk {
        start,
        cx,
        hidden: (start.root() != RootKind::Scratch).then(|| HiddenBeneath {
            hidden: cx.hidden,
            start: start.canonical(),
        }),
        defaults: !start.relative().iter().any(is_default_directory),
        may_meet_pseudo: start.root() == RootKind::External,
        deadline: cx
            .deadline
            .map_or(own_limit, |deadline| deadline.min(own_limit)),
        stop: AtomicBool::new(false),
        timed_out: AtomicBool::new(false),
        hidden_count: AtomicU64::new(0),
        unreadable_count: AtomicU64::new(0),
        queue: Mutex::new(Queue {
            jobs: vec![Job::Directory {
                relative: PathBuf::new(),
                level: None,
            }],
            active: 0,
        }),
        wake: Condvar::new(),
    };
    let run = || {
        let mut visitor = make_visitor();
        Worker {
            walk: &walk,
            entries: Entries::default(),
        }
        .run(&mut visitor);
        visitor
    };
    let threads = cx.limits.walk_threads.max(1);
    let visitors = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(run)).collect();
        let mut visitors = vec![run()];
        for other in others {
            match other.join() {
                Ok(visitor) => visitors.push(visitor),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        visitors
    });
    if cx.cancel.is_cancelled() {
        return Err(ToolFailure::aborted());
    }
    let report = WalkReport {
        hidden: walk.hidden_count.into_inner(),
        unreadable: walk.unreadable_count.into_inner(),
        timed_out: walk.timed_out.into_inner(),
    };
    Ok((visitors, report))
}

impl Walk<'_> {
    /// True when the walk must end now: aborted, or out of time.
    pub(crate) fn must_stop(&self) -> bool {
        if self.stop.load(Ordering::Relaxed) {
            return true;
        }
        let cancelled = self.cx.cancel.is_cancelled();
        let late = Instant::now() >= self.deadline;
        if cancelled || late {
            self.timed_out.fetch_or(late, Ordering::Relaxed);
            self.stop.store(true, Ordering::Relaxed);
            // The lock orders this with a thread that is about to wait.
            let _queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
            self.wake.notify_all();
        }
        cancelled || late
    }

    /// An entry is left out of the walk.
    pub(crate) fn count_hidden(&self) {
        self.hidden_count.fetch_add(1, Ordering::Relaxed);
    }

    /// Something could not be read.
    pub(crate) fn count_unreadable(&self) {
        self.unreadable_count.fetch_add(1, Ordering::Relaxed);
    }

    fn hidden_names(&self, relative: &Path) -> Option<Box<dyn HiddenNames + '_>> {
        self.hidden.as_ref().map(|hidden| hidden.names(relative))
    }

    fn next_job(&self) -> Option<Job> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return None;
            }
            if let Some(job) = queue.jobs.pop() {
                queue.active += 1;
                return Some(job);
            }
            if queue.active == 0 {
                return None;
            }
            queue = self
                .wake
                .wait(queue)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn finish_job(&self, more: &mut Vec<Job>) {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.active -= 1;
        let ended = more.is_empty() && queue.jobs.is_empty() && queue.active == 0;
        let wake = !more.is_empty();
        queue.jobs.append(more);
        drop(queue);
        if wake || ended {
            self.wake.notify_all();
        }
    }

    fn share(&self, jobs: &mut Vec<Job>) {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.jobs.append(jobs);
        drop(queue);
        self.wake.notify_all();
    }
}

/// Names of one directory, without an allocation per name.
#[derive(Default)]
struct Entries {
    names: Vec<u8>,
    spans: Vec<(usize, usize, FileType)>,
}

struct Worker<'a> {
    walk: &'a Walk<'a>,
    entries: Entries,
}

impl Worker<'_> {
    fn run(&mut self, visitor: &mut impl Visitor) {
        let mut more = Vec::new();
        while let Some(job) = self.walk.next_job() {
            match job {
                Job::Directory { relative, level } => {
                    self.directory(relative, level, visitor, &mut more);
                }
                Job::Files {
                    directory,
                    mut relative,
                    files,
                } => {
                    let hidden = self.walk.hidden_names(&relative);
                    for (name, is_link) in files {
                        if self.walk.must_stop() {
                            break;
                        }
                        relative.push(&name);
                        let file = WalkedFile {
                            directory: directory.as_fd(),
                            name: &name,
                            relative: &relative,
                            is_link,
                            hidden: hidden.as_deref(),
                        };
                        visitor.visit(&file, self.walk);
                        relative.pop();
                    }
                }
            }
            self.walk.finish_job(&mut more);
        }
    }

    fn directory(
        &mut self,
        mut relative: PathBuf,
        level: Option<Arc<IgnoreLevel>>,
        visitor: &mut impl Visitor,
        more: &mut Vec<Job>,
    ) {
        let walk = self.walk;
        if walk.must_stop() {
            return;
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NONBLOCK;
        let start = walk.start.as_handle();
        let handle = match open_beneath(start, &relative, flags, walk.start.capabilities()) {
            Ok(handle) => handle,
            // It went away while the walk was under way.
            Err(OpenError::System(Errno::NOENT)) => return,
            Err(_) => {
                walk.count_unreadable();
                return;
            }
        };
        if walk.may_meet_pseudo && is_pseudo_file_system(handle.as_fd()) {
            return;
        }
        let mut ignore_names = IgnoreNames::default();
        if self.entries.fill(&handle, &mut ignore_names).is_err() {
            walk.count_unreadable();
        }
        let level = IgnoreLevel::below(level, &handle, &relative, &ignore_names);
        let hidden = walk.hidden_names(&relative);
        let mut files = 0;
        let mut split: Vec<(OsString, bool)> = Vec::new();
        for &(from, to, kind) in &self.entries.spans {
            let name = OsStr::from_bytes(&self.entries.names[from..to]);
            let is_directory = kind == FileType::Directory;
            if !is_directory && kind != FileType::RegularFile && kind != FileType::Symlink {
                continue;
            }
            relative.push(name);
            if is_ignored(level.as_ref(), &relative, name, is_directory, walk.defaults) {
                relative.pop();
                continue;
            }
            if is_directory {
                if !visitor.enters(&relative) {
                    // Nothing beneath it can be of interest.
                } else if hiding(hidden.as_deref(), name) != Hiding::Shown {
                    walk.count_hidden();
                } else {
                    more.push(Job::Directory {
                        relative: relative.clone(),
                        level: level.clone(),
                    });
                }
            } else if files < BATCH {
                files += 1;
                if walk.must_stop() {
                    return;
                }
                let is_link = kind == FileType::Symlink;
                let directory = handle.as_fd();
                visitor.visit(
                    &WalkedFile {
                        directory,
                        name,
                        relative: &relative,
                        is_link,
                        hidden: hidden.as_deref(),
                    },
                    walk,
                );
            } else {
                split.push((name.to_owned(), kind == FileType::Symlink));
            }
            relative.pop();
        }
        if split.is_empty() {
            return;
        }
        let directory = Arc::new(handle);
        let mut batches: Vec<Job> = split
            .chunks(BATCH)
            .map(|files| Job::Files {
                directory: Arc::clone(&directory),
                relative: relative.clone(),
                files: files.to_vec(),
            })
            .collect();
        walk.share(&mut batches);
    }
}

impl Entries {
    fn fill(&mut self, directory: &OwnedFd, ignores: &mut IgnoreNames) -> Result<(), Errno> {
        self.names.clear();
        self.spans.clear();
        let mut buffer = [MaybeUninit::<u8>::uninit(); 32 * 1024];
        let mut entries = RawDir::new(directory, &mut buffer);
        while let Some(entry) = entries.next() {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            ignores.see(name);
            let mut kind = entry.file_type();
            if kind == FileType::Unknown {
                let flags = AtFlags::SYMLINK_NOFOLLOW;
                kind = match rustix::fs::statat(directory, entry.file_name(), flags) {
                    Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                    Err(_) => continue,
                };
            }
            let from = self.names.len();
            self.names.extend_from_slice(name);
            self.spans.push((from, self.names.len(), kind));
        }
        Ok(())
    }
}
