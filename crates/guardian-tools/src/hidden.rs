//! What walks leave out whatever the ignore files say: secret files, sensitive paths, and
//! guardian's own files.

use std::path::{Path, PathBuf};

use guardian_facts::{PathClasses, RootPaths};

use crate::context::HiddenFiles;

/// [`HiddenFiles`] over the path classes of guardian-facts.
#[derive(Debug, Clone, Copy)]
pub struct ClassesHidden<'a> {
    classes: &'a PathClasses,
    roots: &'a RootPaths,
}

impl<'a> ClassesHidden<'a> {
    /// The classes of one session.
    #[must_use]
    pub fn new(classes: &'a PathClasses, roots: &'a RootPaths) -> Self {
        Self { classes, roots }
    }
}

impl HiddenFiles for ClassesHidden<'_> {
    fn is_hidden(&self, canonical: &Path) -> bool {
        if canonical.starts_with(&self.roots.scratch) {
            return false;
        }
        self.classes
            .is_hidden_from_walks(canonical, &self.roots.home)
            || self.roots.is_guardian_file(canonical)
    }
}

/// Paths beneath one walk: absolute ones are built only where somebody asks.
pub(crate) struct HiddenBeneath<'a> {
    pub(crate) hidden: &'a dyn HiddenFiles,
    pub(crate) start: PathBuf,
}

impl HiddenBeneath<'_> {
    pub(crate) fn is_hidden(&self, relative: &Path) -> bool {
        self.hidden.is_hidden(&self.start.join(relative))
    }
}
