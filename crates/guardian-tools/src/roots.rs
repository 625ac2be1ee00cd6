//! The roots of a session as directory handles.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use guardian_facts::{RootPaths, Scope};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::contained::identity;
use crate::open::{Capabilities, OpenError, open_beneath};
use crate::pending::Pending;

/// Which root a file lies in, as results call it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RootKind {
    /// The session's project directory.
    Workspace,
    /// The session's scratch directory.
    Scratch,
    /// Anywhere else.
    External,
}

impl RootKind {
    /// `workspace`, `scratch` or `external`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Workspace => "workspace",
            Self::Scratch => "scratch",
            Self::External => "external",
        }
    }
}

/// A root could not be opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot open the {root} directory `{path}`: {reason}")]
pub struct RootsError {
    /// `workspace`, `scratch` or `external` (the file system's `/`).
    pub root: &'static str,
    /// Which directory.
    pub path: String,
    /// What the system said.
    pub reason: String,
}

/// Directory handles of a session's roots. Opened once; every file tool starts from them.
///
/// The paths in [`RootPaths`] are canonical; a workspace that became a link since is an error.
#[derive(Debug)]
pub struct Roots {
    workspace: Option<(PathBuf, Arc<OwnedFd>)>,
    scratch_path: PathBuf,
    scratch: Mutex<Option<Arc<OwnedFd>>>,
    top: Arc<OwnedFd>,
    capabilities: Capabilities,
}

impl Roots {
    /// Opens the workspace (if there is one) and notes the scratch directory, which is made when
    /// it is first written to.
    ///
    /// # Errors
    /// When the workspace cannot be opened as a directory, or a link stands in its path.
    pub fn open(paths: &RootPaths) -> Result<Self, RootsError> {
        Self::open_with(paths, Capabilities::all())
    }

    /// The same with chosen system features.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_with(paths: &RootPaths, capabilities: Capabilities) -> Result<Self, RootsError> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let top = rustix::fs::open("/", flags, Mode::empty())
            .map_err(|errno| error("external", Path::new("/"), OpenError::System(errno)))?;
        let workspace = match &paths.workspace {
            None => None,
            Some(path) => {
                let handle = open_absolute(top.as_fd(), path, flags, &capabilities)
                    .map_err(|why| error("workspace", path, why))?;
                Some((path.clone(), Arc::new(handle)))
            }
        };
        let pending = Pending::open(&paths.guardian_data);
        let capabilities = Capabilities {
            pending,
            ..capabilities
        };
        Ok(Self {
            workspace,
            scratch_path: paths.scratch.clone(),
            scratch: Mutex::new(None),
            top: Arc::new(top),
            capabilities,
        })
    }

    /// Is the workspace's path still the directory that was opened? Not when it was removed, or
    /// another one was put in its place.
    #[must_use]
    pub fn workspace_is_in_place(&self) -> bool {
        let Some((path, handle)) = &self.workspace else {
            return true;
        };
        let now = rustix::fs::statat(&self.top, path, rustix::fs::AtFlags::SYMLINK_NOFOLLOW);
        match (now, rustix::fs::fstat(handle.as_ref())) {
            (Ok(now), Ok(opened)) => identity(&now) == identity(&opened),
            _ => false,
        }
    }

    /// The features in use.
    #[must_use]
    pub fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    /// The workspace handle, for a command's working directory.
    #[must_use]
    pub fn workspace(&self) -> Option<BorrowedFd<'_>> {
        self.workspace.as_ref().map(|(_, handle)| handle.as_fd())
    }

    /// The workspace's path.
    #[must_use]
    pub fn workspace_path(&self) -> Option<&Path> {
        self.workspace.as_ref().map(|(path, _)| path.as_path())
    }

    /// The scratch directory's path, whether or not it exists.
    #[must_use]
    pub fn scratch_path(&self) -> &Path {
        &self.scratch_path
    }

    /// The scratch handle; makes the directory (mode 0700) when it is missing.
    ///
    /// # Errors
    /// When it cannot be made or opened, or a link stands in its path.
    pub fn scratch(&self) -> Result<Arc<OwnedFd>, RootsError> {
        let mut kept = self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(handle) = kept.as_ref() {
            // A removed directory (session.delete, a foreign hand) is made anew.
            if rustix::fs::fstat(handle.as_ref()).is_ok_and(|stat| stat.st_nlink > 0) {
                return Ok(Arc::clone(handle));
            }
        }
        let handle = self
            .make_scratch()
            .map_err(|why| error("scratch", &self.scratch_path, why))?;
        let handle = Arc::new(handle);
        *kept = Some(Arc::clone(&handle));
        Ok(handle)
    }

    fn make_scratch(&self) -> Result<OwnedFd, OpenError> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let names = self
            .scratch_path
            .strip_prefix("/")
            .map_err(|_| OpenError::System(Errno::INVAL))?;
        let mut here =
            rustix::io::fcntl_dupfd_cloexec(self.top.as_fd(), 0).map_err(OpenError::System)?;
        for name in names {
            match rustix::fs::mkdirat(&here, name, Mode::RWXU) {
                Ok(()) | Err(Errno::EXIST) => {}
                // A read-only or foreign parent that exists is no obstacle.
                Err(Errno::ROFS | Errno::ACCESS | Errno::PERM) => {}
                Err(errno) => return Err(OpenError::System(errno)),
            }
            here = open_beneath(here.as_fd(), Path::new(name), flags, &self.capabilities)?;
        }
        Ok(here)
    }

    /// The handle beneath which a judged path is opened, with the root's path.
    pub(crate) fn handle_for(&self, scope: Scope) -> Option<RootHandle> {
        match scope {
            Scope::Workspace => self.workspace.as_ref().map(|(path, handle)| RootHandle {
                kind: RootKind::Workspace,
                path: path.clone(),
                handle: Arc::clone(handle),
            }),
            Scope::Scratch => self.scratch().ok().map(|handle| RootHandle {
                kind: RootKind::Scratch,
                path: self.scratch_path.clone(),
                handle,
            }),
            Scope::Outside => Some(RootHandle {
                kind: RootKind::External,
                path: PathBuf::from("/"),
                handle: Arc::clone(&self.top),
            }),
            Scope::ScratchEscape => None,
        }
    }
}

/// One root, opened.
#[derive(Debug, Clone)]
pub(crate) struct RootHandle {
    pub(crate) kind: RootKind,
    pub(crate) path: PathBuf,
    pub(crate) handle: Arc<OwnedFd>,
}

fn open_absolute(
    top: BorrowedFd<'_>,
    path: &Path,
    flags: OFlags,
    capabilities: &Capabilities,
) -> Result<OwnedFd, OpenError> {
    let relative = path
        .strip_prefix("/")
        .map_err(|_| OpenError::System(Errno::INVAL))?;
    open_beneath(top, relative, flags, capabilities)
}

fn error(root: &'static str, path: &Path, why: OpenError) -> RootsError {
    let reason = match why {
        OpenError::Link => "a link stands in its path".to_owned(),
        OpenError::System(errno) => crate::failure::words(errno),
    };
    RootsError {
        root,
        path: path.display().to_string(),
        reason,
    }
}
