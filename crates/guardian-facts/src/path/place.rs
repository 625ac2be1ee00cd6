//! Placing a path: where it leads, in which root it lies, which classes it belongs to.

use std::path::{Component, Path, PathBuf};

use super::alias::{self, Alias};
use super::normalise::{self, PathError, collapse, normalise_argument};
use super::windows;
use crate::classes::holds_only_public_keys;
use crate::{FactContext, FileKind, PathFact, Scope, Sensitivity, Target};

/// How much of a `*.pem` or `*.key` file is read to see that it is public.
const MAX_KEY_FILE: usize = 64 * 1024;

impl FactContext<'_> {
    /// Places a path as an operating-system call would get it: `written` relative to `base`
    /// (absolute; the directory the process is in). No `~` and no `file://`: who reads shell text
    /// has expanded them, who has the argument of a tool calls [`Self::argument`].
    ///
    /// Total: where the machine cannot say where the path leads, the fact is Outside and of every
    /// class that is asked about, so that nothing covers it by accident. Prefer [`Self::target`],
    /// which says [`Target::Unknown`] then.
    #[must_use]
    pub fn place(&self, written: &str, base: &Path) -> PathFact {
        self.locate(written, base)
            .unwrap_or_else(|_| unplaced(written, base))
    }

    /// [`Self::place`], with the reason when the path cannot be placed.
    ///
    /// # Errors
    /// Empty, NUL, a relative `base`, or the machine cannot resolve it.
    pub fn locate(&self, written: &str, base: &Path) -> Result<PathFact, PathError> {
        self.locate_absolute(written, &normalise::join(written, base)?, base)
    }

    /// [`Self::place`] as the target of an access; a path that cannot be placed is unknown.
    #[must_use]
    pub fn target(&self, written: &str, base: &Path) -> Target {
        match self.locate(written, base) {
            Ok(path) => Target::Exact(path),
            Err(error) => Target::Unknown {
                written: written.to_owned(),
                reason: error.to_string(),
                when_empty: None,
                temporary: false,
            },
        }
    }

    /// Places the `path` argument of a tool (SPEC §3): `~`, `file://`, relative to the workspace.
    ///
    /// # Errors
    /// The argument is wrong ([`PathError::is_argument_error`]), or the session has no workspace
    /// for a relative path. A path that the machine cannot resolve is no error but
    /// [`Target::Unknown`].
    pub fn argument(&self, written: &str) -> Result<Target, PathError> {
        let workspace = self.roots.workspace.as_deref();
        let absolute = normalise_argument(written, workspace, &self.roots.home)?;
        let base = workspace.unwrap_or_else(|| Path::new("/"));
        match self.locate_absolute(written, &absolute, base) {
            Ok(mut path) => {
                // `C:\x` and `\\server\share` are file names here, but whoever wrote them means
                // another place: never an ordinary file of the workspace.
                if windows::is_foreign(written) {
                    path.scope = Scope::Outside;
                }
                Ok(Target::Exact(path))
            }
            Err(PathError::Unresolved(reason)) => Ok(Target::Unknown {
                written: written.to_owned(),
                reason,
                when_empty: None,
                temporary: false,
            }),
            Err(error) => Err(error),
        }
    }

    /// The directory entry itself, its last link not followed: what `rm` and the source of `mv`
    /// take away. Its parent is resolved.
    #[must_use]
    pub fn place_entry(&self, written: &str, base: &Path) -> PathFact {
        let Ok(absolute) = normalise::join(written, base) else {
            return unplaced(written, base);
        };
        let ends_in_name = matches!(
            absolute.components().next_back(),
            Some(Component::Normal(_))
        ) && !written.ends_with('/')
            && !written.ends_with("/.");
        let (Some(parent), Some(name), true) =
            (absolute.parent(), absolute.file_name(), ends_in_name)
        else {
            return self.place(written, base);
        };
        let Ok(parent) = self.locate_absolute(written, parent, base) else {
            return unplaced(written, base);
        };
        let path = parent.path.join(name);
        let whole = self.place(written, base);
        if whole.path == path {
            return whole;
        }
        let lexical = collapse(&absolute);
        PathFact {
            written: written.to_owned(),
            scope: self.scope(&absolute, &lexical, &path),
            sensitivity: self.name_classes(&lexical, &path, None),
            path,
            kind: whole.kind,
            links: 1,
            identity: parent.identity,
        }
    }

    /// Classes that something beneath a directory could belong to, for accesses that walk it or
    /// take it away as a whole: fixed places of the classes (`~` holds `.ssh`) and guardian's own
    /// files.
    #[must_use]
    pub fn classes_beneath(&self, directory: &Path) -> Sensitivity {
        let mut sensitivity = self
            .classes
            .fixed_places_beneath(directory, &self.roots.home);
        sensitivity.guardian = self.roots.holds_guardian_files(directory);
        sensitivity.union(self.classes_of_links_into(directory))
    }

    pub(super) fn is_public_key_file(&self, path: &Path) -> bool {
        let hits = self.classes.explain(path, &self.roots.home);
        !hits.is_empty() && hits.iter().all(|hit| hit.unless_public) && self.content_is_public(path)
    }

    fn locate_absolute(
        &self,
        written: &str,
        absolute: &Path,
        cwd: &Path,
    ) -> Result<PathFact, PathError> {
        let lexical = collapse(absolute);
        let asked = match alias::rewrite(absolute, cwd) {
            Alias::Plain(path) => match alias::rewrite(&lexical, cwd) {
                Alias::Plain(_) => path,
                // Only the collapsed text is an alias: where it leads depends on links.
                Alias::Rewritten(_) | Alias::Descriptor(_) | Alias::OtherProcess => {
                    return Ok(self.process_path(written, lexical));
                }
            },
            Alias::Rewritten(path) => path,
            Alias::Descriptor(number) => return Ok(descriptor(written, number)),
            Alias::OtherProcess => return Ok(self.process_path(written, lexical)),
        };
        let resolved = self.probe.resolve(&asked);
        if let Some(reason) = resolved.error {
            return Err(PathError::Unresolved(reason));
        }
        if !resolved.path.is_absolute()
            || resolved
                .path
                .components()
                .any(|component| component == Component::ParentDir)
        {
            return Err(PathError::Unresolved(
                "the answer is not a canonical path".to_owned(),
            ));
        }
        // What `/proc/self/cwd/x` spells is `x` in the own directory, and its classes are those.
        let spelled = if asked == absolute {
            lexical.clone()
        } else {
            collapse(&asked)
        };
        let sensitivity = self.name_classes(&spelled, &resolved.path, resolved.kind);
        let addressed = if asked == absolute { absolute } else { &asked };
        Ok(PathFact {
            written: written.to_owned(),
            scope: self.scope(addressed, &lexical, &resolved.path),
            sensitivity,
            path: resolved.path,
            kind: resolved.kind,
            links: resolved.links,
            identity: resolved.identity,
        })
    }

    /// SPEC §3 and §4: scratch is left only by a refusal, the workspace is tried first, and a
    /// scratch directory that lies beneath the workspace is still scratch.
    fn scope(&self, absolute: &Path, lexical: &Path, resolved: &Path) -> Scope {
        let scratch = &self.roots.scratch;
        let addresses_scratch = absolute.starts_with(scratch) || lexical.starts_with(scratch);
        let is_in_scratch = resolved.starts_with(scratch);
        if addresses_scratch {
            return if is_in_scratch {
                Scope::Scratch
            } else {
                Scope::ScratchEscape
            };
        }
        if is_in_scratch {
            return Scope::Scratch;
        }
        match &self.roots.workspace {
            Some(workspace) if resolved.starts_with(workspace) => Scope::Workspace,
            _ => Scope::Outside,
        }
    }

    /// Classes of a path: the union over both of its spellings, each exempt beneath scratch, and
    /// over the other names that links give it.
    fn name_classes(&self, lexical: &Path, resolved: &Path, kind: Option<FileKind>) -> Sensitivity {
        let mut sensitivity = self.classes_of(lexical, resolved, kind);
        if lexical != resolved {
            sensitivity = sensitivity.union(self.classes_of(resolved, resolved, kind));
        }
        sensitivity.union(
            self.classes_by_other_names(resolved, kind, |name| {
                self.classes_of(name, resolved, kind)
            }),
        )
    }

    fn classes_of(&self, path: &Path, resolved: &Path, kind: Option<FileKind>) -> Sensitivity {
        let mut sensitivity = Sensitivity {
            guardian: self.roots.is_guardian_file(path),
            ..Sensitivity::default()
        };
        if path.starts_with(&self.roots.scratch) {
            return sensitivity;
        }
        for hit in self.classes.explain(path, &self.roots.home) {
            // A directory that is called like a secret file (a virtual environment named `.env`).
            let is_directory = kind == Some(FileKind::Directory)
                && hit.class == crate::classes::Class::Secret
                && !hit.tree;
            let is_public = hit.unless_public
                && kind == Some(FileKind::File)
                && self.content_is_public(resolved);
            if !is_directory && !is_public {
                sensitivity.add(hit.class);
            }
        }
        sensitivity
    }

    /// Root, directory or descriptor of a process, whose target is not known: as sensitive as what it
    /// may lead to, and of the classes that its own name has.
    fn process_path(&self, written: &str, path: PathBuf) -> PathFact {
        let by_name = self.classes.classify(&path, &self.roots.home);
        PathFact {
            written: written.to_owned(),
            path,
            scope: Scope::Outside,
            sensitivity: Sensitivity {
                sensitive: true,
                ..by_name
            },
            kind: None,
            links: 1,
            identity: None,
        }
    }

    fn content_is_public(&self, path: &Path) -> bool {
        self.probe
            .read_file(path, MAX_KEY_FILE)
            .is_some_and(|content| holds_only_public_keys(&content.head, content.size))
    }
}

/// A path that could not be placed: of every class that is asked about.
fn unplaced(written: &str, base: &Path) -> PathFact {
    PathFact {
        written: written.to_owned(),
        path: collapse(&base.join(written)),
        scope: Scope::Outside,
        sensitivity: Sensitivity {
            secret: true,
            protected: true,
            ..Sensitivity::default()
        },
        kind: None,
        links: 1,
        identity: None,
    }
}

fn descriptor(written: &str, number: u32) -> PathFact {
    PathFact {
        written: written.to_owned(),
        path: PathBuf::from(format!("/dev/fd/{number}")),
        scope: Scope::Outside,
        sensitivity: Sensitivity::default(),
        kind: Some(FileKind::Special),
        links: 1,
        identity: None,
    }
}
