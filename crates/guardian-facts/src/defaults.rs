//! The `[facts]` section of the configuration: path classes, system paths and variable lists as
//! data. The built-in values are in `config/default.toml`, which is embedded.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use serde::{Deserialize, Deserializer};

use crate::classes::directories::EmbeddedDirectories;
use crate::classes::folded;
use crate::classes::pattern_set::{PatternSet, Subject};
use crate::classes::prepared::Prepared;

/// A text of the configuration: embedded in the program, or a user's own.
pub type Text = Cow<'static, str>;
/// A list of texts, likewise.
pub type Texts = Cow<'static, [Text]>;

/// One named entry of a path class. The pattern language is described at the top of
/// `config/default.toml`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClassGroup {
    /// Stable kebab-case id.
    pub name: Text,
    /// A sentence for people: why such files are special.
    #[serde(default)]
    pub why: Text,
    /// What belongs to the group.
    #[serde(default)]
    pub paths: Texts,
    /// What does not, although it matches `paths`.
    #[serde(default)]
    pub except: Texts,
    /// A file of the group that holds only certificates or public keys does not belong to it.
    #[serde(default)]
    pub unless_public: bool,
}

/// Patterns of system paths, as written.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SystemPathLists {
    /// See [`SystemPaths::is_system_directory`].
    pub directories: Texts,
    /// Directories whose direct children count as system directories too.
    pub children_of: Texts,
    /// See [`SystemPaths::is_block_device`].
    pub block_devices: Texts,
    /// See [`SystemPaths::is_null_device`].
    pub null_devices: Texts,
    /// See [`SystemPaths::is_public_file`].
    pub public_files: Texts,
}

/// Names of directories that a build makes again (SPEC §7.3).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Regenerable {
    /// Base names of those that count where git ignores them.
    pub directories: Texts,
    /// Base names of those that nothing but a tool makes: they count whatever git says.
    pub by_name: Texts,
}

impl Regenerable {
    /// The directory's own name is on the list. Says nothing about whether git ignores it.
    #[must_use]
    pub fn is_regenerable(&self, directory: &Path) -> bool {
        is_named(directory, &self.directories)
    }

    /// The directory's own name is one that nothing but a tool makes.
    #[must_use]
    pub fn is_regenerable_by_name(&self, directory: &Path) -> bool {
        is_named(directory, &self.by_name)
    }
}

fn is_named(directory: &Path, names: &[Text]) -> bool {
    directory
        .file_name()
        .and_then(|name| name.to_str())
        .is_some_and(|name| names.iter().any(|known| known == name))
}

/// What an assignment in front of a command means (SPEC §6.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum VariableMeaning {
    /// On the harmless list, or has a harmless value.
    Harmless,
    /// Names or changes what is executed.
    ChangesExecution,
    /// On neither list: an ordinary variable, of which only the program knows the meaning.
    Unlisted,
}

/// Variable lists.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variables {
    /// Names that are harmless with any value.
    pub harmless: Texts,
    /// Names (`X*` = any name that starts with `X`) that change what is executed.
    pub changes_execution: Texts,
    /// Values that make a variable of `changes_execution` harmless.
    #[serde(deserialize_with = "harmless_values")]
    pub harmless_values: Cow<'static, [HarmlessValues]>,
}

/// Values that make assigning a variable harmless.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HarmlessValues {
    /// The variable.
    pub name: Text,
    /// Its values.
    pub values: Texts,
}

/// A table of lists, by the name of the variable.
fn harmless_values<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Cow<'static, [HarmlessValues]>, D::Error> {
    let table = BTreeMap::<Text, Texts>::deserialize(deserializer)?;
    let list = table.into_iter();
    Ok(list
        .map(|(name, values)| HarmlessValues { name, values })
        .collect())
}

impl Variables {
    /// What assigning `value` (`None` = not known) to `name` means. Exact names on the harmless
    /// list win over `X*` entries.
    #[must_use]
    pub fn meaning(&self, name: &str, value: Option<&str>) -> VariableMeaning {
        if self.harmless.iter().any(|known| known == name) {
            return VariableMeaning::Harmless;
        }
        let listed = self.harmless_values.iter().find(|of| of.name == name);
        if let (Some(value), Some(listed)) = (value, listed)
            && listed.values.iter().any(|known| known == value)
        {
            return VariableMeaning::Harmless;
        }
        let changes = self
            .changes_execution
            .iter()
            .any(|known| match known.strip_suffix('*') {
                Some(prefix) => name.starts_with(prefix),
                None => known == name,
            });
        if changes {
            VariableMeaning::ChangesExecution
        } else {
            VariableMeaning::Unlisted
        }
    }
}

/// The `[facts]` section.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FactsConfig {
    /// Secret files.
    pub secret: Cow<'static, [ClassGroup]>,
    /// Sensitive paths.
    pub sensitive: Cow<'static, [ClassGroup]>,
    /// Protected files.
    pub protected: Cow<'static, [ClassGroup]>,
    /// System paths.
    pub system: SystemPathLists,
    /// Regenerable directories.
    pub regenerable: Regenerable,
    /// Variables.
    pub variables: Variables,
}

/// What a user's own `[facts]` section may say: more groups, or more paths for a known group.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FactsExtension {
    /// Added to the secret files.
    pub secret: Vec<ClassGroup>,
    /// Added to the sensitive paths.
    pub sensitive: Vec<ClassGroup>,
    /// Added to the protected files.
    pub protected: Vec<ClassGroup>,
}

impl FactsConfig {
    /// The embedded defaults.
    #[must_use]
    pub fn embedded() -> &'static Self {
        &embedded::CONFIG
    }
}

/// Compiled lists of system paths.
#[derive(Debug, Clone)]
pub struct SystemPaths {
    directories: PatternSet,
    children_of: PatternSet,
    block_devices: PatternSet,
    null_devices: PatternSet,
    public_files: PatternSet,
}

impl SystemPaths {
    /// The built-in lists.
    #[must_use]
    pub fn embedded() -> &'static Self {
        &SYSTEM_PATHS
    }

    /// `/`, a system directory, or what lies directly in `/etc` or `/usr` (SPEC §7.3).
    /// `path` is canonical.
    #[must_use]
    pub fn is_system_directory(&self, path: &Path) -> bool {
        let Some(parent) = path.parent() else {
            return true;
        };
        self.directories.is_match(&Subject::new(&folded(path), ""))
            || self
                .children_of
                .is_match(&Subject::new(&folded(parent), ""))
    }

    /// A block device or kernel interface that must never be written.
    #[must_use]
    pub fn is_block_device(&self, path: &Path) -> bool {
        self.block_devices
            .is_match(&Subject::new(&folded(path), ""))
    }

    /// Writing to it has no effect on any file (`/dev/null`). Compared exactly.
    #[must_use]
    pub fn is_null_device(&self, path: &Path) -> bool {
        self.null_devices
            .is_match(&Subject::new(&path.to_string_lossy(), ""))
    }

    /// A public system file (SPEC §7.4): loosens, so the path is compared exactly.
    #[must_use]
    pub fn is_public_file(&self, path: &Path) -> bool {
        self.public_files
            .is_match(&Subject::new(&path.to_string_lossy(), ""))
    }
}

/// The index of the embedded path classes. Patterns are numbered through all groups of all classes.
pub(crate) struct ClassIndex {
    pub(crate) paths: Prepared,
    /// The group of each pattern, numbered through all classes.
    pub(crate) path_groups: &'static [u8],
    pub(crate) excepts: Prepared,
    /// The same of each exception.
    pub(crate) except_groups: &'static [u8],
    pub(crate) directories: EmbeddedDirectories,
}

/// What the build script made of the `[facts]` section of `config/default.toml`.
mod embedded {
    use super::{
        ClassGroup, ClassIndex, Cow, EmbeddedDirectories, FactsConfig, HarmlessValues, Prepared,
        Regenerable, SystemPathLists, Text, Texts, Variables,
    };

    include!(concat!(env!("OUT_DIR"), "/defaults.rs"));

    /// A part of a list.
    const fn part(all: &'static [Text], start: usize, end: usize) -> Texts {
        Cow::Borrowed(all.split_at(end).0.split_at(start).1)
    }
}

pub(crate) use embedded::CLASS_INDEX;

static SYSTEM_PATHS: LazyLock<SystemPaths> = LazyLock::new(|| SystemPaths {
    directories: PatternSet::of(&embedded::SYSTEM_DIRECTORIES_INDEX),
    children_of: PatternSet::of(&embedded::SYSTEM_CHILDREN_OF_INDEX),
    block_devices: PatternSet::of(&embedded::SYSTEM_BLOCK_DEVICES_INDEX),
    null_devices: PatternSet::of(&embedded::SYSTEM_NULL_DEVICES_INDEX),
    public_files: PatternSet::of(&embedded::SYSTEM_PUBLIC_FILES_INDEX),
});

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct DefaultFile {
        facts: FactsConfig,
    }

    #[test]
    fn what_was_read_at_build_time_is_what_the_file_says() {
        let text = include_str!("../../../config/default.toml");
        let file: DefaultFile = toml::from_str(text).unwrap();
        assert_eq!(file.facts, *FactsConfig::embedded());
    }

    #[test]
    fn system_directories_include_the_root_and_children_of_etc_and_usr() {
        let system = SystemPaths::embedded();
        for path in [
            "/",
            "/etc",
            "/usr",
            "/usr/lib",
            "/etc/nginx",
            "/home",
            "/Users",
            "/lib64",
        ] {
            assert!(system.is_system_directory(Path::new(path)), "{path}");
        }
        for path in [
            "/home/dev",
            "/usr/lib/x",
            "/var/tmp/x",
            "/opt/tool/x",
            "/tmp",
        ] {
            assert!(!system.is_system_directory(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn devices_are_told_apart() {
        let system = SystemPaths::embedded();
        for path in [
            "/dev/sda",
            "/dev/sda1",
            "/dev/nvme0n1p2",
            "/dev/mapper/root",
            "/dev/mem",
            "/sys/x/y",
            "/proc/sys/vm/x",
        ] {
            assert!(system.is_block_device(Path::new(path)), "{path}");
        }
        assert!(!system.is_block_device(Path::new("/dev/null")));
        assert!(system.is_null_device(Path::new("/dev/null")));
        assert!(!system.is_null_device(Path::new("/dev/sda")));
    }

    #[test]
    fn public_files_are_compared_exactly() {
        let system = SystemPaths::embedded();
        assert!(system.is_public_file(Path::new("/usr/share/doc/x")));
        assert!(system.is_public_file(Path::new("/proc/cpuinfo")));
        assert!(!system.is_public_file(Path::new("/USR/share/doc/x")));
        assert!(!system.is_public_file(Path::new("/etc/passwd")));
        assert!(!system.is_public_file(Path::new("/etc/hostname")));
    }

    #[test]
    fn no_public_file_pattern_reaches_a_sensitive_path() {
        for path in [
            "/etc/shadow",
            "/proc/self/environ",
            "/proc/1/mem",
            "/dev/sda",
            "/home/dev/.ssh/id_rsa",
        ] {
            assert!(
                !SystemPaths::embedded().is_public_file(Path::new(path)),
                "{path}"
            );
        }
    }

    #[test]
    fn variables_have_meanings() {
        let variables = &FactsConfig::embedded().variables;
        let check = |name, value, meaning| {
            assert_eq!(variables.meaning(name, value), meaning, "{name}={value:?}")
        };
        check("LC_ALL", Some("C"), VariableMeaning::Harmless);
        check("GOOS", Some("linux"), VariableMeaning::Harmless);
        check(
            "GOFLAGS",
            Some("-toolexec=x"),
            VariableMeaning::ChangesExecution,
        );
        check("PAGER", Some("cat"), VariableMeaning::Harmless);
        check("PAGER", Some("sh -c x"), VariableMeaning::ChangesExecution);
        check("PAGER", None, VariableMeaning::ChangesExecution);
        check(
            "LD_PRELOAD",
            Some("x.so"),
            VariableMeaning::ChangesExecution,
        );
        check(
            "GIT_SSH_COMMAND",
            Some("x"),
            VariableMeaning::ChangesExecution,
        );
        check(
            "npm_config_script_shell",
            Some("x"),
            VariableMeaning::ChangesExecution,
        );
        check("MY_NAME", Some("x"), VariableMeaning::Unlisted);
    }

    #[test]
    fn no_name_is_harmless_and_execution_changing_by_its_exact_name() {
        let variables = &FactsConfig::embedded().variables;
        for name in variables.harmless.iter() {
            assert!(!variables.changes_execution.contains(name), "{name}");
        }
        for listed in variables.harmless_values.iter() {
            assert_eq!(
                variables.meaning(&listed.name, None),
                VariableMeaning::ChangesExecution,
                "{} needs no values",
                listed.name
            );
        }
    }
}
