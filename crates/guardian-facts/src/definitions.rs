//! What a project command runs, as the project itself defines it: the script of a `package.json`,
//! the rules of a Makefile, the settings that a build tool reads before it does anything.
//!
//! A command that the user accepted once for a project is bound to this (SPEC §7.4): another
//! definition is another command. Where the definition cannot be told for certain it is said to be
//! undetermined ([`Definition::hash`] is `None`), and the command cannot be accepted.

mod leads;
mod makefile;
mod named;
mod remade;
mod scripts;
mod tools;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use self::tools::{Tool, Words, tool};
use crate::{CommandFact, Effect, FactContext, Facts, FileKind, Program, ProgramForm, Scope};

/// Longest definition file that is read, in bytes; a longer one leaves the definition undetermined.
const MAX_FILE: usize = 1 << 20;

/// Longest text that is kept for people, in bytes.
const MAX_TEXT: usize = 4 * 1024;

/// Most parts of one definition; a longer one is undetermined.
const MAX_PARTS: usize = 64;

/// Most questions to the machine about what a text names, for one definition.
const MAX_LOOKUPS: usize = 2048;

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

/// Settings of which only the hash is kept: they may hold a token.
const WITHOUT_TEXT: &[&str] = &[
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    "gradle.properties",
    ".env",
];

/// The definitions of all commands of a call.
pub(crate) fn of(facts: &Facts, cx: &FactContext<'_>) -> Vec<Definition> {
    let mut found = Vec::new();
    for (index, command) in facts.commands.iter().enumerate() {
        let script = script_of(command);
        if !(command.has(Effect::RunsProjectCode) || script.is_some()) || command.place.elsewhere {
            continue;
        }
        let Some(name) = name_of(&command.program) else {
            continue;
        };
        let mut look = Look {
            cx,
            command: index,
            found: Vec::new(),
            seen: BTreeSet::new(),
            lookups: 0,
        };
        look.define(name, script, command);
        if look.found.len() > MAX_PARTS {
            look.found.truncate(MAX_PARTS);
            look.undetermined(Path::new(""), "");
        }
        found.append(&mut look.found);
    }
    found
}

/// The file of the workspace that the command runs by its path.
fn script_of(command: &CommandFact) -> Option<&Path> {
    let path = command.program.path.as_ref()?;
    (command.program.form == ProgramForm::Relative && path.scope == Scope::Workspace)
        .then_some(path.path.as_path())
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
    /// Files that are taken, so that none is taken twice.
    seen: BTreeSet<PathBuf>,
    lookups: usize,
}

impl Look<'_> {
    fn define(&mut self, name: &str, script: Option<&Path>, command: &CommandFact) {
        let words: Option<Vec<&str>> = command
            .argv
            .iter()
            .skip(1)
            .map(|word| word.as_literal())
            .collect();
        let (Some(words), Some(cwd)) = (words, command.cwd.as_deref()) else {
            return self.undetermined(Path::new(""), "");
        };
        let bases = [cwd.to_owned()];
        if let Some(script) = script {
            self.program(script, &bases);
        }
        match (tool(name), script) {
            (Some(tool), _) => self.told(tool, name, &words, cwd),
            (None, Some(_)) => {}
            (None, None) => return self.undetermined(Path::new(""), ""),
        }
        // `make TOOL=./x.sh`
        for word in &words {
            self.named(word, &bases, &words);
        }
    }

    fn told(&mut self, tool: &'static Tool, name: &str, words: &[&str], cwd: &Path) {
        match tool.names[0] {
            "npm" => self.scripts(name, words, cwd),
            "make" => self.makefile(words, cwd),
            _ => match tool.words(words) {
                Words::Files(files) => {
                    for file in files {
                        let path = cwd.join(file);
                        if !self.is_file(&path) {
                            self.undetermined(&path, "");
                        }
                        self.settings(&path, tool);
                    }
                }
                Words::Unknown => self.undetermined(Path::new(""), ""),
            },
        }
        self.files_of(tool, cwd);
    }

    /// The files of a tool, from a directory up to the workspace.
    fn files_of(&mut self, tool: &'static Tool, cwd: &Path) {
        for directory in self.upwards(cwd) {
            for file in tool.files {
                self.settings(&directory.join(file), tool);
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

    /// A whole file, where it exists, with what it leads to and, where it names commands, those.
    fn settings(&mut self, file: &Path, tool: &'static Tool) {
        if self.is_full()
            || self.cx.probe.resolve(file).kind.is_none()
            || !self.seen.insert(file.to_owned())
        {
            return;
        }
        if file.extension().is_some_and(|ending| ending == "jar") {
            return match self.cx.probe.read_file(file, 0) {
                Some(content) if !content.hash.is_empty() => self.hashed(file, content.hash),
                _ => self.undetermined(file, ""),
            };
        }
        let name = file.file_name().and_then(|name| name.to_str());
        let shown = name.is_some_and(|name| !WITHOUT_TEXT.contains(&name));
        let Some(text) = self.text(file) else {
            return self.undetermined(file, "");
        };
        self.defined(file, "", &text, shown);
        self.leads(file, &text, tool);
        if tool.runs_commands {
            let directory = file.parent().unwrap_or(Path::new("")).to_owned();
            self.named(&text, &[directory], tool.names);
        }
    }

    /// Nothing more is looked at; what was found is then said to be undetermined.
    fn is_full(&self) -> bool {
        self.found.len() > MAX_PARTS
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

    /// A whole file of which only the hash is kept.
    fn hashed(&mut self, file: &Path, hash: String) {
        self.found.push(Definition {
            command: self.command,
            file: file.to_owned(),
            part: String::new(),
            text: None,
            hash: Some(hash),
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
