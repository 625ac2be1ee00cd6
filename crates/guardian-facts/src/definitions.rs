//! What a project command runs, as the project itself defines it: the script of a `package.json`,
//! the rules of a Makefile, the settings that a build tool reads before it does anything.
//!
//! A command that the user accepted once for a project is bound to this (SPEC §7.4): another
//! definition is another command. Where the definition cannot be told for certain it is said to be
//! undetermined ([`Definition::hash`] is `None`), and the command cannot be accepted.

mod makefile;
mod scripts;

use std::path::{Path, PathBuf};

use crate::{CommandFact, Effect, FactContext, Facts, FileKind, Program, ProgramForm};

/// Longest definition file that is read, in bytes; a longer one leaves the definition undetermined.
const MAX_FILE: usize = 1 << 20;

/// Longest text that is kept for people, in bytes.
const MAX_TEXT: usize = 4 * 1024;

/// Directories upwards in which a definition is looked for.
const MAX_PARENTS: usize = 64;

/// A part of a project that defines what a command runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    /// The command.
    pub command: usize,
    /// The file that it stands in.
    pub file: PathBuf,
    /// Which part of the file, for people: `script test`, `target all`; empty for the whole file.
    pub part: String,
    /// The text for people, cut at a length; `None` where the file may hold secrets, is not text,
    /// or is undetermined.
    pub text: Option<String>,
    /// BLAKE3 of the whole of it, lower-case hex; `None` when what the command runs cannot be told
    /// for certain.
    pub hash: Option<String>,
}

/// Tools whose project files say what they run; all that are present count, from the working
/// directory up to the workspace.
const SETTINGS: &[(&[&str], &[&str])] = &[
    (
        &["cargo"],
        &[
            ".cargo/config.toml",
            ".cargo/config",
            "rust-toolchain.toml",
            "rust-toolchain",
        ],
    ),
    (
        &["npm", "pnpm", "yarn", "bun"],
        &[
            ".npmrc",
            ".yarnrc",
            ".yarnrc.yml",
            ".pnpmfile.cjs",
            "pnpm-workspace.yaml",
            "bunfig.toml",
        ],
    ),
    (&["deno"], &["deno.json", "deno.jsonc"]),
    (&["go"], &["go.work"]),
    (
        &["pytest", "py.test"],
        &["pyproject.toml", "pytest.ini", "tox.ini", "setup.cfg"],
    ),
    (
        &["cmake", "ctest"],
        &["CMakeLists.txt", "CMakePresets.json"],
    ),
    (&["meson"], &["meson.build"]),
    (&["phpunit"], &["composer.json", "phpunit.xml"]),
    (
        &["dotnet"],
        &[
            "global.json",
            "Directory.Build.props",
            "Directory.Build.targets",
        ],
    ),
    (&["zig"], &["build.zig"]),
    (&["just"], &["justfile", "Justfile", ".justfile"]),
    (&["mask"], &["maskfile.md"]),
    (
        &["task"],
        &[
            "Taskfile.yml",
            "Taskfile.yaml",
            "taskfile.yml",
            "taskfile.yaml",
            "Taskfile.dist.yml",
            "Taskfile.dist.yaml",
        ],
    ),
    (&["mage"], &["magefile.go"]),
    (&["tox"], &["tox.ini", "setup.cfg", "pyproject.toml"]),
    (&["nox"], &["noxfile.py"]),
    (&["invoke", "inv"], &["tasks.py", "invoke.yaml"]),
    (&["fab"], &["fabfile.py"]),
    (&["pre-commit"], &[".pre-commit-config.yaml"]),
    (
        &["gulp"],
        &["gulpfile.js", "gulpfile.mjs", "gulpfile.cjs", "gulpfile.ts"],
    ),
    (&["grunt"], &["Gruntfile.js", "Gruntfile.cjs"]),
    (
        &["gradle", "gradlew"],
        &[
            "build.gradle",
            "build.gradle.kts",
            "settings.gradle",
            "settings.gradle.kts",
            "gradle.properties",
            "gradle/wrapper/gradle-wrapper.properties",
        ],
    ),
    (
        &["mvn", "mvnw", "mvnd"],
        &[
            "pom.xml",
            ".mvn/extensions.xml",
            ".mvn/maven.config",
            ".mvn/jvm.config",
            ".mvn/wrapper/maven-wrapper.properties",
        ],
    ),
    (&["ant"], &["build.xml"]),
    (&["ninja"], &["build.ninja"]),
    (&["scons"], &["SConstruct"]),
    (&["turbo"], &["turbo.json", "package.json"]),
    (&["nx"], &["nx.json", "project.json", "package.json"]),
    (&["lerna"], &["lerna.json", "package.json"]),
    (&["composer"], &["composer.json"]),
    (&["sbt"], &["build.sbt", "project/build.properties"]),
    (&["bazel", "bazelisk"], &[".bazelrc", ".bazelversion"]),
];

/// Settings of which only the hash is kept: they may hold a token.
const WITHOUT_TEXT: &[&str] = &[".npmrc", ".yarnrc", ".yarnrc.yml", "gradle.properties"];

/// The definitions of all commands of a call.
pub(crate) fn of(facts: &Facts, cx: &FactContext<'_>) -> Vec<Definition> {
    let mut found = Vec::new();
    for (index, command) in facts.commands.iter().enumerate() {
        if !command.has(Effect::RunsProjectCode) || command.place.elsewhere {
            continue;
        }
        let Some(name) = name_of(&command.program) else {
            continue;
        };
        let mut look = Look {
            cx,
            command: index,
            found: Vec::new(),
        };
        look.define(name, command);
        found.append(&mut look.found);
    }
    found
}

fn name_of(program: &Program) -> Option<&str> {
    match program.form {
        ProgramForm::Function | ProgramForm::Unknown => None,
        ProgramForm::Bare | ProgramForm::Relative | ProgramForm::Absolute => {
            program.name.as_deref()
        }
    }
}

/// The look for the definitions of one command.
struct Look<'a> {
    cx: &'a FactContext<'a>,
    command: usize,
    found: Vec<Definition>,
}

impl Look<'_> {
    fn define(&mut self, name: &str, command: &CommandFact) {
        let words: Option<Vec<&str>> = command
            .argv
            .iter()
            .skip(1)
            .map(|word| word.as_literal())
            .collect();
        let (Some(words), Some(cwd)) = (words, command.cwd.as_deref()) else {
            return self.undetermined(Path::new(""), "");
        };
        match name {
            "npm" | "pnpm" | "yarn" | "bun" => self.scripts(name, &words, cwd),
            "make" | "gmake" => self.makefile(&words, cwd),
            "cargo" if words.iter().any(|word| word.starts_with("--config")) => {
                self.undetermined(Path::new(""), "");
            }
            _ => {}
        }
        for (_, files) in SETTINGS.iter().filter(|(tools, _)| tools.contains(&name)) {
            for directory in self.upwards(cwd) {
                for file in *files {
                    self.settings(&directory.join(file));
                }
            }
        }
    }

    /// The directory and those above it, up to the workspace; itself only, outside of it.
    fn upwards(&self, cwd: &Path) -> Vec<PathBuf> {
        let workspace = self.cx.roots.workspace.as_deref();
        let Some(root) = workspace.filter(|root| cwd.starts_with(root)) else {
            return vec![cwd.to_owned()];
        };
        cwd.ancestors()
            .take_while(|directory| directory.starts_with(root))
            .take(MAX_PARENTS)
            .map(Path::to_owned)
            .collect()
    }

    /// A whole file, where it exists.
    fn settings(&mut self, file: &Path) {
        if self.cx.probe.resolve(file).kind.is_none() {
            return;
        }
        let name = file.file_name().and_then(|name| name.to_str());
        let shown = name.is_some_and(|name| !WITHOUT_TEXT.contains(&name));
        match self.text(file) {
            Some(text) => self.defined(file, "", &text, shown),
            None => self.undetermined(file, ""),
        }
    }

    /// The whole text of a file; `None` when it is not there, not text, or too long.
    fn text(&self, file: &Path) -> Option<String> {
        let content = self.cx.probe.read_file(file, MAX_FILE)?;
        if content.size > content.head.len() as u64 {
            return None;
        }
        String::from_utf8(content.head).ok()
    }

    fn is_file(&self, path: &Path) -> bool {
        self.cx.probe.resolve(path).kind == Some(FileKind::File)
    }

    fn defined(&mut self, file: &Path, part: &str, text: &str, shown: bool) {
        let mut kept = text;
        if kept.len() > MAX_TEXT {
            let end = (0..=MAX_TEXT).rev().find(|at| text.is_char_boundary(*at));
            kept = text.get(..end.unwrap_or(0)).unwrap_or_default();
        }
        self.found.push(Definition {
            command: self.command,
            file: file.to_owned(),
            part: part.to_owned(),
            text: shown.then(|| kept.to_owned()),
            hash: Some(blake3::hash(text.as_bytes()).to_hex().to_string()),
        });
    }

    fn undetermined(&mut self, file: &Path, part: &str) {
        self.found.push(Definition {
            command: self.command,
            file: file.to_owned(),
            part: part.to_owned(),
            text: None,
            hash: None,
        });
    }
}
