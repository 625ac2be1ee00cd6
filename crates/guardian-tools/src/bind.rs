//! Binding: from judged facts to opened handles, so that what was judged is what runs.

use std::ffi::OsString;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use guardian_facts::input::{
    BashInput, EditInput, GlobInput, GrepInput, PreviewInput, ReadInput, WriteInput,
};
use guardian_facts::{AccessSource, Facts, FileId, FileKind, PathFact, Scope, Target, ToolInput};

use crate::contained::{Contained, ContainedKind, Place, identity};
use crate::failure::clipped;
use crate::nearest::nearest_names;
use crate::open::OpenError;
use crate::roots::{RootHandle, RootKind, Roots};
use crate::tag::content_hash;
use crate::{FailureCode, ToolFailure};

/// A typed input with the handles it works on.
#[derive(Debug)]
pub struct Bound<T> {
    pub(crate) input: T,
    pub(crate) target: BoundTarget,
    /// Content hash that an approval was given for; the body refuses any other.
    pub(crate) approved_hash: Option<String>,
    /// The change as it was worked out when it was looked at ([`crate::prepare_change`]).
    pub(crate) prepared: Option<Box<crate::preview::Prepared>>,
}

impl<T> Bound<T> {
    /// The typed input.
    #[must_use]
    pub fn input(&self) -> &T {
        &self.input
    }

    /// What it works on.
    #[must_use]
    pub fn target(&self) -> &BoundTarget {
        &self.target
    }
}

/// What a bound input works on.
#[derive(Debug)]
pub enum BoundTarget {
    /// An existing file (Read, Grep).
    File(Contained),
    /// An existing directory (Glob, Grep; the working directory of Bash).
    Directory(Contained),
    /// A file that is or will be changed (Write, Edit).
    Place(Place),
    /// The target is outside the roots and not usable. Said by the body, that is: only to a call
    /// that was permitted, because whether an outside path exists is itself an answer.
    Unusable {
        /// The path that was asked for.
        path: PathBuf,
        /// What the body will answer.
        failure: ToolFailure,
    },
}

/// The input of a built-in execution tool, bound.
#[derive(Debug)]
pub enum BoundInput {
    /// `Read`
    Read(Bound<ReadInput>),
    /// `Glob`
    Glob(Bound<GlobInput>),
    /// `Grep`
    Grep(Bound<GrepInput>),
    /// `Write`
    Write(Bound<WriteInput>),
    /// `Edit`
    Edit(Bound<EditInput>),
    /// `BrowserPreview`
    BrowserPreview(Bound<PreviewInput>),
    /// `Bash`, bound to the workspace directory.
    Bash(Bound<BashInput>),
}

/// A permitted value: the gate said yes to exactly this.
///
/// Bodies take nothing else. The only constructor is greppable by name, and is called in the
/// host's gate, in examples and in tests (`cargo xtask tidy` checks that).
#[derive(Debug)]
pub struct Permitted<T>(T);

impl<T> Permitted<T> {
    /// Asserts that policy, and whoever it asked, permitted this value.
    #[must_use]
    pub fn assume_checked(value: T) -> Self {
        Self(value)
    }

    /// The permitted value. It can be looked at freely; running it needs the wrapper.
    #[must_use]
    pub fn get(&self) -> &T {
        &self.0
    }

    /// For bodies, which consume the permission.
    pub(crate) fn into_inner(self) -> T {
        self.0
    }
}

impl Permitted<BoundInput> {
    /// The permission for a Bash call, which runs elsewhere than the file tools; `None` for any
    /// other tool.
    #[must_use]
    pub fn into_bash(self) -> Option<Permitted<Bound<BashInput>>> {
        match self.0 {
            BoundInput::Bash(bound) => Some(Permitted(bound)),
            _ => None,
        }
    }
}

/// What an approval is bound to (SPEC §3): compared by [`BoundInput::rebind`], shown in audit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    /// Which root.
    pub root: RootKind,
    /// Canonical path of the target.
    pub path: PathBuf,
    /// Device and inode of the target, or of its deepest existing directory when it is new.
    pub identity: Option<FileId>,
    /// The state of an existing file that will be changed.
    pub content: BoundContent,
}

/// The state of a target that an approval holds for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BoundContent {
    /// Nothing of its content matters (reads, walks, working directories).
    Any,
    /// It does not exist, and is created exclusively.
    Absent,
    /// Its BLAKE3, lower-case hex.
    Hash(String),
    /// Above 64 MiB: size, mtime and ctime in nanoseconds.
    Metadata {
        /// Bytes.
        size: u64,
        /// Modification time.
        mtime_ns: i128,
        /// Change time.
        ctime_ns: i128,
    },
}

impl std::fmt::Display for Binding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.root.as_str(), self.path.display())?;
        if let Some(id) = self.identity {
            write!(f, " dev={:x} ino={}", id.device, id.inode)?;
        }
        match &self.content {
            BoundContent::Any => Ok(()),
            BoundContent::Absent => f.write_str(" new"),
            BoundContent::Hash(hash) => write!(f, " blake3={hash}"),
            BoundContent::Metadata { size, mtime_ns, .. } => {
                write!(f, " size={size} mtime={mtime_ns}")
            }
        }
    }
}

/// Opens exactly what the facts name. Blocking: a few system calls, no content is read.
///
/// The facts' path is canonical, so no link is followed: one that appeared since is
/// `STALE_APPROVAL`, and so is a target whose device and inode are not those of the facts.
///
/// # Errors
/// `NOT_FOUND` (with the nearest names), `INVALID_ARGUMENT` (a directory for Read, a file for
/// Glob, a special file), `TOOL_DENIED` (a path through scratch that leaves it),
/// `WORKSPACE_REQUIRED`, `STALE_APPROVAL`. For targets outside the roots these are kept for the
/// body ([`BoundTarget::Unusable`]).
pub fn bind(input: ToolInput, facts: &Facts, roots: &Roots) -> Result<BoundInput, ToolFailure> {
    Ok(match input {
        ToolInput::Read(input) => {
            BoundInput::Read(Bound::new(input, bind_target(facts, roots, Wanted::File)?))
        }
        ToolInput::Glob(input) => BoundInput::Glob(Bound::new(
            input,
            bind_target(facts, roots, Wanted::Directory)?,
        )),
        ToolInput::Grep(input) => BoundInput::Grep(Bound::new(
            input,
            bind_target(facts, roots, Wanted::FileOrDirectory)?,
        )),
        ToolInput::Write(input) => BoundInput::Write(Bound::new(
            input,
            bind_target(facts, roots, Wanted::PlaceToWrite)?,
        )),
        ToolInput::Edit(input) => BoundInput::Edit(Bound::new(
            input,
            bind_target(facts, roots, Wanted::FileToEdit)?,
        )),
        ToolInput::Bash(input) => BoundInput::Bash(Bound::new(input, bind_workspace(roots)?)),
        ToolInput::BrowserPreview(input) => {
            BoundInput::BrowserPreview(Bound::new(input, bind_target(facts, roots, Wanted::File)?))
        }
        ToolInput::BashOutput(_)
        | ToolInput::BashKill(_)
        | ToolInput::AskTool(_)
        | ToolInput::NewContext
        | ToolInput::ToolSearch(_)
        | ToolInput::EnterPlanMode
        | ToolInput::EnterGoalMode
        | ToolInput::SubmitPlan(_)
        | ToolInput::SubmitGoal(_)
        | ToolInput::Task(_)
        | ToolInput::Other(_) => {
            return Err(ToolFailure::new(
                FailureCode::Internal,
                format!("`{}` is not a tool that is bound to a path", facts.tool),
            ));
        }
    })
}

impl BoundInput {
    /// What an approval of this call is bound to. Reads the content of a file that the call would
    /// change (blocking).
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn binding(&self) -> Result<Binding, ToolFailure> {
        match self.target() {
            BoundTarget::File(target) | BoundTarget::Directory(target) => Ok(Binding {
                root: target.root(),
                path: target.canonical(),
                identity: Some(target.identity()),
                content: BoundContent::Any,
            }),
            BoundTarget::Place(place) => Ok(Binding {
                root: place.root(),
                path: place.canonical(),
                identity: Some(
                    place
                        .existing
                        .as_ref()
                        .map_or_else(|| place.directory.identity(), Contained::identity),
                ),
                content: match &place.existing {
                    None => BoundContent::Absent,
                    Some(existing) => content_of(existing)?,
                },
            }),
            BoundTarget::Unusable { path, .. } => Ok(Binding {
                root: RootKind::External,
                path: path.clone(),
                identity: None,
                content: BoundContent::Any,
            }),
        }
    }

    /// Binds the same input again after a wait, from facts that were extracted again, and makes
    /// sure that the target is the one that was approved. The content that was approved is then
    /// the only one that the body will change.
    ///
    /// # Errors
    /// `STALE_APPROVAL` when anything of `approved` differs or the target is gone.
    pub fn rebind(
        self,
        approved: &Binding,
        facts: &Facts,
        roots: &Roots,
    ) -> Result<Self, ToolFailure> {
        let shown = approved.path.display().to_string();
        let mut again = bind(self.into_input(), facts, roots).map_err(|failure| ToolFailure {
            details: failure.details,
            ..ToolFailure::stale(&shown)
        })?;
        if !again.is_approved(approved)? {
            return Err(ToolFailure::stale(&shown));
        }
        if let BoundContent::Hash(hash) = &approved.content {
            match &mut again {
                Self::Write(bound) => bound.approved_hash = Some(hash.clone()),
                Self::Edit(bound) => bound.approved_hash = Some(hash.clone()),
                _ => {}
            }
        }
        Ok(again)
    }

    fn is_approved(&self, approved: &Binding) -> Result<bool, ToolFailure> {
        let now = self.binding()?;
        if now == *approved {
            return Ok(true);
        }
        // A new file whose missing directories were made while the approval was waited for.
        let same_but_for_parent = Binding {
            identity: approved.identity,
            ..now.clone()
        } == *approved
            && now.content == BoundContent::Absent;
        Ok(same_but_for_parent
            && match (self.target(), approved.identity) {
                (BoundTarget::Place(place), Some(judged)) => place.is_beneath(judged),
                _ => false,
            })
    }

    /// The failure of a target of the system's that no file tool works on: `/`, a device, an
    /// interface of the kernel. What these are everybody knows, so nobody needs to be asked before
    /// it is said.
    #[must_use]
    pub fn known_unusable(&self) -> Option<&ToolFailure> {
        match self.target() {
            BoundTarget::Unusable { path, failure }
                if failure.code == FailureCode::InvalidArgument
                    && (path.parent().is_none()
                        || ["/dev", "/proc", "/sys"]
                            .iter()
                            .any(|system| path.starts_with(system))) =>
            {
                Some(failure)
            }
            _ => None,
        }
    }

    /// What the call works on.
    #[must_use]
    pub fn target(&self) -> &BoundTarget {
        match self {
            Self::Read(bound) => &bound.target,
            Self::Glob(bound) => &bound.target,
            Self::Grep(bound) => &bound.target,
            Self::Write(bound) => &bound.target,
            Self::Edit(bound) => &bound.target,
            Self::BrowserPreview(bound) => &bound.target,
            Self::Bash(bound) => &bound.target,
        }
    }

    /// The canonical path that a mutation is serialised by; `None` for tools that change no file.
    #[must_use]
    pub fn mutated_path(&self) -> Option<PathBuf> {
        match self {
            Self::Write(Bound {
                target: BoundTarget::Place(place),
                ..
            })
            | Self::Edit(Bound {
                target: BoundTarget::Place(place),
                ..
            }) => Some(place.canonical()),
            _ => None,
        }
    }

    fn into_input(self) -> ToolInput {
        match self {
            Self::Read(bound) => ToolInput::Read(bound.input),
            Self::Glob(bound) => ToolInput::Glob(bound.input),
            Self::Grep(bound) => ToolInput::Grep(bound.input),
            Self::Write(bound) => ToolInput::Write(bound.input),
            Self::Edit(bound) => ToolInput::Edit(bound.input),
            Self::BrowserPreview(bound) => ToolInput::BrowserPreview(bound.input),
            Self::Bash(bound) => ToolInput::Bash(bound.input),
        }
    }
}

impl<T> Bound<T> {
    fn new(input: T, target: BoundTarget) -> Self {
        Self {
            input,
            target,
            approved_hash: None,
            prepared: None,
        }
    }
}

/// Above this many bytes an approval is bound to metadata instead of content.
const HASHED_FOR_APPROVAL: u64 = 64 * 1024 * 1024;

fn content_of(existing: &Contained) -> Result<BoundContent, ToolFailure> {
    let stat = existing
        .stat_now()
        .map_err(|errno| ToolFailure::system("look at", &existing.shown(), errno))?;
    let size = u64::try_from(stat.st_size).unwrap_or(0);
    if size > HASHED_FOR_APPROVAL {
        return Ok(BoundContent::Metadata {
            size,
            mtime_ns: crate::tag::nanoseconds(stat.st_mtime, stat.st_mtime_nsec),
            ctime_ns: crate::tag::nanoseconds(stat.st_ctime, stat.st_ctime_nsec),
        });
    }
    let file = existing.open_for_reading()?;
    let hash = content_hash(file.as_fd())
        .map_err(|errno| ToolFailure::system("read", &existing.shown(), errno))?;
    Ok(BoundContent::Hash(hash))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    File,
    Directory,
    FileOrDirectory,
    PlaceToWrite,
    FileToEdit,
}

fn bind_workspace(roots: &Roots) -> Result<BoundTarget, ToolFailure> {
    let root = roots
        .handle_for(Scope::Workspace)
        .ok_or_else(workspace_required)?;
    Contained::open(&root, Path::new(""), roots.capabilities())
        .map(BoundTarget::Directory)
        .map_err(|_| ToolFailure::stale("."))
}

fn bind_target(facts: &Facts, roots: &Roots, wanted: Wanted) -> Result<BoundTarget, ToolFailure> {
    let fact = judged_path(facts)?;
    let root = match roots.handle_for(fact.scope) {
        Some(root) => root,
        None if fact.scope == Scope::ScratchEscape => {
            return Err(ToolFailure::new(
                FailureCode::ToolDenied,
                format!(
                    "`{}` goes through the scratch directory and leaves it",
                    fact.written
                ),
            )
            .with("cause", "path_outside_workspace"));
        }
        None if fact.scope == Scope::Workspace => return Err(workspace_required()),
        None => {
            return Err(ToolFailure::new(
                FailureCode::ToolFailed,
                "the scratch directory cannot be made",
            ));
        }
    };
    let relative = fact.path.strip_prefix(&root.path).map_err(|_| {
        ToolFailure::new(
            FailureCode::Internal,
            format!(
                "`{}` was judged as {} but lies elsewhere",
                fact.written,
                root.kind.as_str()
            ),
        )
    })?;
    match open_target(fact, &root, relative, roots, wanted) {
        // STALE_APPROVAL tells nothing about the path and is worth repeating at once.
        Err(failure)
            if root.kind == RootKind::External && failure.code != FailureCode::StaleApproval =>
        {
            Ok(BoundTarget::Unusable {
                path: fact.path.clone(),
                failure,
            })
        }
        other => other,
    }
}

/// The one path that the facts of a file tool are about.
fn judged_path(facts: &Facts) -> Result<&PathFact, ToolFailure> {
    let by = |source: AccessSource| {
        facts
            .accesses
            .iter()
            .filter(move |access| access.source == source)
            .find_map(|access| access.exact())
    };
    by(AccessSource::PathArgument)
        .or_else(|| by(AccessSource::Walk))
        .ok_or_else(|| unresolved(facts))
}

fn unresolved(facts: &Facts) -> ToolFailure {
    let unknown = facts
        .accesses
        .iter()
        .find_map(|access| match &access.target {
            Target::Unknown {
                written, reason, ..
            } => Some((written, reason)),
            _ => None,
        });
    let message = match unknown {
        Some((written, reason)) => {
            format!("`{}` cannot be resolved: {reason}", clipped(written))
        }
        None => "the path cannot be resolved".to_owned(),
    };
    ToolFailure::new(FailureCode::InvalidArgument, message)
}

/// A link in a path that was resolved: it was put there since, unless what was judged is one of
/// the kernel's own (`/proc/self/fd/0`).
fn met_link(fact: &PathFact) -> ToolFailure {
    if fact.kind != Some(FileKind::Special) {
        return ToolFailure::stale(&fact.written);
    }
    ToolFailure::new(
        FailureCode::InvalidArgument,
        format!(
            "`{}` is a pipe, terminal or another open file of a process; file tools work on \
             regular files only",
            clipped(&fact.written)
        ),
    )
}

fn open_target(
    fact: &PathFact,
    root: &RootHandle,
    relative: &Path,
    roots: &Roots,
    wanted: Wanted,
) -> Result<BoundTarget, ToolFailure> {
    let capabilities = roots.capabilities();
    if matches!(wanted, Wanted::PlaceToWrite | Wanted::FileToEdit) {
        return open_place(fact, root, relative, roots, wanted).map(BoundTarget::Place);
    }
    let target = match Contained::open(root, relative, capabilities) {
        Ok(target) => target,
        Err(OpenError::Link) => return Err(met_link(fact)),
        Err(error) if error.is_missing() => return Err(not_found(fact, root, relative, roots)),
        Err(OpenError::System(errno)) => {
            return Err(ToolFailure::system("open", &fact.written, errno));
        }
    };
    same_identity(fact, target.identity())?;
    match (target.kind(), wanted) {
        (ContainedKind::File, Wanted::File | Wanted::FileOrDirectory) => {
            Ok(BoundTarget::File(target))
        }
        (ContainedKind::Directory, Wanted::Directory | Wanted::FileOrDirectory) => {
            Ok(BoundTarget::Directory(target))
        }
        (ContainedKind::Directory, _) => Err(is_directory(&target)),
        (ContainedKind::File, _) => Err(is_file(&target)),
        (ContainedKind::Special, _) => Err(target.special()),
    }
}

fn open_place(
    fact: &PathFact,
    root: &RootHandle,
    relative: &Path,
    roots: &Roots,
    wanted: Wanted,
) -> Result<Place, ToolFailure> {
    let Some(leaf) = relative.file_name() else {
        let top = Contained::open(root, relative, roots.capabilities())
            .map_err(|_| ToolFailure::stale(&fact.written))?;
        return Err(is_directory(&top));
    };
    let (directory, missing) = deepest_directory(
        fact,
        root,
        relative.parent().unwrap_or(Path::new("")),
        roots,
    )?;
    let existing = if missing.is_empty() {
        match directory.child(leaf) {
            Ok(existing) => Some(existing),
            Err(OpenError::Link) => return Err(met_link(fact)),
            Err(error) if error.is_missing() => None,
            Err(OpenError::System(errno)) => {
                return Err(ToolFailure::system("open", &fact.written, errno));
            }
        }
    } else {
        None
    };
    if wanted == Wanted::FileToEdit && existing.is_none() {
        return Err(not_found(fact, root, relative, roots));
    }
    match (&existing, fact.kind) {
        (Some(existing), Some(_)) => same_identity(fact, existing.identity())?,
        (None, None) => {}
        // It appeared or went away since it was judged.
        (Some(_), None) | (None, Some(_)) => return Err(ToolFailure::stale(&fact.written)),
    }
    match existing
        .as_ref()
        .map(|existing| (existing, existing.kind()))
    {
        Some((existing, ContainedKind::Directory)) => return Err(is_directory(existing)),
        Some((existing, ContainedKind::Special)) => return Err(existing.special()),
        Some((_, ContainedKind::File)) | None => {}
    }
    let guarded = root.kind == RootKind::External || !fact.sensitivity.is_ordinary();
    let place = Place {
        missing,
        guarded,
        ..Place::at(directory, leaf, existing)
    };
    if place.existing.is_none()
        && fact
            .identity
            .is_some_and(|judged| !place.is_beneath(judged))
    {
        return Err(ToolFailure::stale(&fact.written));
    }
    Ok(place)
}

fn deepest_directory(
    fact: &PathFact,
    root: &RootHandle,
    parent: &Path,
    roots: &Roots,
) -> Result<(Contained, Vec<OsString>), ToolFailure> {
    let mut here = parent;
    let mut missing = Vec::new();
    loop {
        match Contained::open(root, here, roots.capabilities()) {
            Ok(directory) if directory.kind() == ContainedKind::Directory => {
                missing.reverse();
                return Ok((directory, missing));
            }
            Ok(file) => {
                return Err(ToolFailure::new(
                    FailureCode::InvalidArgument,
                    format!("`{}` is not a directory", file.shown()),
                ));
            }
            Err(OpenError::Link) => return Err(ToolFailure::stale(&fact.written)),
            Err(error) if error.is_missing() => {
                let (Some(up), Some(name)) = (here.parent(), here.file_name()) else {
                    return Err(ToolFailure::stale(&fact.written));
                };
                missing.push(name.to_owned());
                here = up;
            }
            Err(OpenError::System(errno)) => {
                return Err(ToolFailure::system("open", &fact.written, errno));
            }
        }
    }
}

fn same_identity(fact: &PathFact, found: FileId) -> Result<(), ToolFailure> {
    match fact.identity {
        Some(judged) if judged != found => Err(ToolFailure::stale(&fact.written)),
        _ => Ok(()),
    }
}

fn not_found(fact: &PathFact, root: &RootHandle, relative: &Path, roots: &Roots) -> ToolFailure {
    let mut failure = ToolFailure::new(
        FailureCode::NotFound,
        format!("`{}` does not exist", fact.written),
    );
    let parent = relative.parent().unwrap_or(Path::new(""));
    let Ok(directory) = Contained::open(root, parent, roots.capabilities()) else {
        failure.message.push_str(" (nor does its directory)");
        return failure;
    };
    let names = relative
        .file_name()
        .map(|leaf| nearest_names(&directory, leaf))
        .unwrap_or_default();
    if !names.is_empty() {
        let list: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        failure
            .message
            .push_str(&format!("; nearest names there: {}", list.join(", ")));
        failure = failure.with("nearest", names);
    }
    failure
}

fn is_directory(target: &Contained) -> ToolFailure {
    let path = target.shown();
    ToolFailure::new(
        FailureCode::InvalidArgument,
        format!("`{path}` is a directory; list it with Glob"),
    )
    .with("suggestedTool", "Glob")
    .with(
        "suggestedArgs",
        serde_json::json!({ "pattern": "*", "path": path }),
    )
}

fn is_file(target: &Contained) -> ToolFailure {
    let path = target.shown();
    ToolFailure::new(
        FailureCode::InvalidArgument,
        format!("`{path}` is a file, Glob needs a directory; read it with Read"),
    )
    .with("suggestedTool", "Read")
    .with("suggestedArgs", serde_json::json!({ "path": path }))
}

fn workspace_required() -> ToolFailure {
    ToolFailure::new(
        FailureCode::WorkspaceRequired,
        "this session has no workspace; bind a project directory to it first",
    )
}

/// Is this directory entry still the inode that we hold?
pub(crate) fn still_there(place: &Place, existing: &Contained) -> Result<bool, ToolFailure> {
    use rustix::fs::AtFlags;
    match rustix::fs::statat(
        place.directory.as_handle(),
        &place.leaf,
        AtFlags::SYMLINK_NOFOLLOW,
    ) {
        Ok(now) => Ok(identity(&now) == existing.identity()),
        Err(rustix::io::Errno::NOENT) => Ok(false),
        Err(errno) => Err(ToolFailure::system("look at", &place.shown(), errno)),
    }
}
