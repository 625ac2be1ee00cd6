//! What walks leave out whatever the ignore files say: secret files, sensitive paths, and
//! guardian's own files.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use guardian_facts::classes::{Hiding, NamesBeneath, holds_only_public_keys};
use guardian_facts::{OtherNames, PathClasses, RootPaths};
use rustix::fs::FileType;

use crate::context::{HiddenFiles, HiddenNames};
use crate::file::read_whole;

/// Key files larger than this are not looked into, and stay hidden.
const LARGEST_PUBLIC: u64 = 1024 * 1024;

/// [`HiddenFiles`] over the path classes of guardian-facts.
#[derive(Debug, Clone)]
pub struct ClassesHidden<'a> {
    classes: &'a PathClasses,
    roots: &'a RootPaths,
    others: OtherNames,
}

impl<'a> ClassesHidden<'a> {
    /// The classes of one session.
    #[must_use]
    pub fn new(classes: &'a PathClasses, roots: &'a RootPaths) -> Self {
        Self {
            classes,
            roots,
            others: OtherNames::default(),
        }
    }

    /// Leaves out as well what these other names make secret or sensitive (`e.txt` behind a link
    /// `.env`): `FactContext::other_names` of where the walk starts.
    #[must_use]
    pub fn with_other_names(self, others: OtherNames) -> Self {
        Self { others, ..self }
    }
}

impl HiddenFiles for ClassesHidden<'_> {
    fn beneath<'a>(&'a self, directory: &Path) -> Box<dyn HiddenNames + 'a> {
        if directory.starts_with(&self.roots.scratch) {
            return Box::new(crate::context::NothingHidden);
        }
        let meets_guardian =
            self.roots.is_guardian_file(directory) || self.roots.holds_guardian_files(directory);
        Box::new(ClassNames {
            names: self.classes.names_beneath(directory, &self.roots.home),
            roots: self.roots,
            meets_guardian,
            others: (!self.others.is_empty()).then_some((self.classes, &self.others)),
            directory: directory.to_owned(),
        })
    }
}

struct ClassNames<'a> {
    names: NamesBeneath<'a>,
    roots: &'a RootPaths,
    directory: PathBuf,
    /// guardian's own files can be met in it.
    meets_guardian: bool,
    others: Option<(&'a PathClasses, &'a OtherNames)>,
}

impl ClassNames<'_> {
    fn is_hidden_by_other_name(&self, name: &OsStr) -> bool {
        self.others.is_some_and(|(classes, others)| {
            others
                .of(&self.directory.join(name))
                .any(|other| classes.is_hidden_from_walks(&other, &self.roots.home))
        })
    }
}

impl HiddenNames for ClassNames<'_> {
    fn hiding(&self, name: &OsStr) -> Hiding {
        if self.meets_guardian {
            let path = self.directory.join(name);
            if path.starts_with(&self.roots.scratch) {
                return Hiding::Shown;
            }
            if self.roots.is_guardian_file(&path) {
                return Hiding::Hidden;
            }
        }
        match self.names.hiding(name) {
            Hiding::Shown if self.is_hidden_by_other_name(name) => Hiding::Hidden,
            by_name => by_name,
        }
    }
}

/// What one walk leaves out; absolute paths are built once per directory.
pub(crate) struct HiddenBeneath<'a> {
    pub(crate) hidden: &'a dyn HiddenFiles,
    pub(crate) start: PathBuf,
}

impl<'a> HiddenBeneath<'a> {
    pub(crate) fn names(&self, relative: &Path) -> Box<dyn HiddenNames + 'a> {
        if relative.as_os_str().is_empty() {
            self.hidden.beneath(&self.start)
        } else {
            self.hidden.beneath(&self.start.join(relative))
        }
    }
}

/// Does the opened file hold certificates and public keys, and nothing else?
pub(crate) fn is_public(file: BorrowedFd<'_>) -> bool {
    let Ok(stat) = rustix::fs::fstat(file) else {
        return false;
    };
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return false;
    }
    let size = u64::try_from(stat.st_size).unwrap_or(u64::MAX);
    read_whole(file.as_fd(), size, LARGEST_PUBLIC).is_ok_and(|bytes| {
        bytes.is_some_and(|bytes| holds_only_public_keys(&bytes, bytes.len() as u64))
    })
}
