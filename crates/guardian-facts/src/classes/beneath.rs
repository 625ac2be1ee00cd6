//! Which names of one directory a walk leaves out.
//!
//! A walk asks about every entry that it meets. Matching whole paths costs more than opening a
//! small file, so the directory is looked at once, and most names are settled by a look-up.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::pattern_set::Subject;
use super::{Class, PathClasses, folded};

/// Does a walk leave an entry out?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hiding {
    /// No.
    Shown,
    /// Yes, by its name.
    Hidden,
    /// Yes, unless its content is only certificates and public keys
    /// ([`super::holds_only_public_keys`]).
    UnlessPublicKeys,
}

/// The secret and sensitive names of one directory.
#[derive(Debug, Clone)]
pub struct NamesBeneath<'a> {
    classes: &'a PathClasses,
    directory: PathBuf,
    home: &'a Path,
    /// The directory itself belongs to a class: every name needs the whole look.
    marked: bool,
}

impl PathClasses {
    /// What walks leave out of the absolute `directory`.
    #[must_use]
    pub fn names_beneath<'a>(&'a self, directory: &Path, home: &'a Path) -> NamesBeneath<'a> {
        let lower_home = home.to_string_lossy().to_lowercase();
        let mut marked = false;
        self.paths
            .each_match(&Subject::new(&folded(directory), &lower_home), |number| {
                marked |= self.groups[self.group_of_path(number)].class != Class::Protected;
            });
        NamesBeneath {
            classes: self,
            directory: directory.to_owned(),
            home,
            marked,
        }
    }
}

impl NamesBeneath<'_> {
    /// Is the entry of this name left out?
    #[must_use]
    pub fn hiding(&self, name: &OsStr) -> Hiding {
        if !self.marked && self.is_plainly_shown(name) {
            return Hiding::Shown;
        }
        let mut hiding = Hiding::Shown;
        for hit in self
            .classes
            .explain(&self.directory.join(name), self.home)
            .iter()
            .filter(|hit| hit.class != Class::Protected)
        {
            if !hit.unless_public {
                return Hiding::Hidden;
            }
            hiding = Hiding::UnlessPublicKeys;
        }
        hiding
    }

    /// An ordinary name in which no pattern ends. A name that needs folding is never settled here.
    fn is_plainly_shown(&self, name: &OsStr) -> bool {
        let Some(name) = name.to_str() else {
            return false;
        };
        let bytes = name.as_bytes();
        let folds = |byte: &u8| !byte.is_ascii() || *byte == b':' || *byte == b' ';
        if bytes.iter().any(folds) || bytes.ends_with(b".") {
            return false;
        }
        let known = self.classes.hidden_names();
        if bytes.iter().any(u8::is_ascii_uppercase) {
            !known.may_match(&name.to_ascii_lowercase())
        } else {
            !known.may_match(name)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn certificates_are_hidden_only_by_their_content() {
        let classes = PathClasses::from_default();
        let names = classes.names_beneath(Path::new("/w/tls"), Path::new("/home/dev"));
        let hiding = |name: &str| names.hiding(OsStr::new(name));
        assert_eq!(hiding("server.pem"), Hiding::UnlessPublicKeys);
        assert_eq!(hiding(".env"), Hiding::Hidden);
        assert_eq!(hiding(".ENV. "), Hiding::Hidden);
        assert_eq!(hiding(".env.example"), Hiding::Shown);
        assert_eq!(hiding("main.rs"), Hiding::Shown);
    }

    #[test]
    fn what_a_marked_directory_holds_is_looked_at_whole() {
        let classes = PathClasses::from_default();
        let names = classes.names_beneath(Path::new("/home/dev/.ssh"), Path::new("/home/dev"));
        assert_eq!(names.hiding(OsStr::new("anything")), Hiding::Hidden);
        assert_eq!(names.hiding(OsStr::new("id_rsa.pub")), Hiding::Shown);
    }

    proptest! {
        /// The short way says what matching the whole path says.
        #[test]
        fn names_beneath_agree_with_whole_paths(
            directory in prop::sample::select(vec![
                "/", "/w", "/w/src", "/home/dev", "/home/dev/.ssh", "/home/dev/.aws", "/etc",
                "/home/dev/.config/gcloud", "/w/.git", "/w/.docker", "/proc/1", "/root",
                "/w/.SSH. ", "/home/other/.kube",
            ]),
            name in prop_oneof![
                prop::sample::select(vec![
                    ".env", ".env.local", ".env.example", ".ENV", ".env. ", "id_rsa", "id_rsa.pub",
                    "a.pem", "a.key", "credentials", "config", "shadow", "environ", ".netrc",
                    ".npmrc", "a.p12", "known_hosts", ".bash_history", ".ssh", ".gnupg", ".aws",
                    "credentials.json", "x:y", "Cargo.toml", ".git",
                ]).prop_map(str::to_owned),
                "[ -~&&[^/]]{1,12}",
                "\\PC{1,6}",
            ],
        ) {
            prop_assume!(!name.contains(['/', '\0']) && name != "." && name != "..");
            let classes = PathClasses::from_default();
            let (directory, home) = (Path::new(directory), Path::new("/home/dev"));
            let names = classes.names_beneath(directory, home);
            prop_assert_eq!(
                names.hiding(OsStr::new(&name)) != Hiding::Shown,
                classes.is_hidden_from_walks(&directory.join(&name), home)
            );
        }
    }
}
