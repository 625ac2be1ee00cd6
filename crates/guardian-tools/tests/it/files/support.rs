//! A session in temporary directories. The facts are made here, with the real probe, so that these
//! tests depend on no extractor.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use guardian_facts::access::{AccessDetail, AccessSource};
use guardian_facts::input::{
    EditInput, GlobInput, GrepInput, OutputMode, ReadInput, Replacement, WriteInput,
};
use guardian_facts::{
    Access, AccessKind, Facts, PathFact, PathProbe, RootPaths, Scope, Sensitivity, Target,
    ToolInput,
};
use guardian_tools::{
    BoundInput, Capabilities, ChangeBefore, ChangeRecord, Feature, FileLimits, FileTags,
    HiddenFiles, HiddenNames, Hiding, Look, NeverCancelled, Permitted, RealProbe, RestoreTo,
    RollbackOutcome, RollbackRequest, Roots, SeenFile, SnapshotSink, ToolContext, ToolFailure,
    ToolOutput, UpcomingChange, Vision, bind, rollback, run_file_tool,
};

#[derive(Default)]
pub(crate) struct Tags(Mutex<HashMap<PathBuf, SeenFile>>);

impl FileTags for Tags {
    fn last(&self, canonical: &Path) -> Option<SeenFile> {
        self.0.lock().unwrap().get(canonical).cloned()
    }
    fn remember(&self, canonical: &Path, tag: &str, look: Look) {
        let tag = tag.to_owned();
        self.0
            .lock()
            .unwrap()
            .insert(canonical.to_owned(), SeenFile { tag, look });
    }
}

/// Keeps before-bytes in memory; refuses when `full`.
#[derive(Default)]
pub(crate) struct Snapshots {
    pub(crate) kept: Mutex<HashMap<String, Vec<u8>>>,
    pub(crate) full: bool,
    /// Nothing can be noted.
    pub(crate) unrecorded: bool,
    /// What was noted, with the content that the file had then.
    pub(crate) noted: Mutex<Vec<(UpcomingChange, Option<Vec<u8>>)>>,
}

impl SnapshotSink for Snapshots {
    fn keep(&self, bytes: &[u8]) -> Result<String, String> {
        if self.full {
            return Err("the undo store is full".to_owned());
        }
        let mut kept = self.kept.lock().unwrap();
        let key = format!("k{}", kept.len());
        kept.insert(key.clone(), bytes.to_vec());
        Ok(key)
    }

    fn about_to_change(&self, change: &UpcomingChange) -> Result<(), String> {
        if self.unrecorded {
            return Err("the record is full".to_owned());
        }
        let now = std::fs::read(&change.canonical).ok();
        self.noted.lock().unwrap().push((change.clone(), now));
        Ok(())
    }
}

/// Hides `.env` files, as the path classes would.
pub(crate) struct EnvFilesHidden;

impl HiddenFiles for EnvFilesHidden {
    fn beneath<'a>(&'a self, _directory: &Path) -> Box<dyn HiddenNames + 'a> {
        Box::new(Self)
    }
}

impl HiddenNames for EnvFilesHidden {
    fn hiding(&self, name: &std::ffi::OsStr) -> Hiding {
        if name == ".env" {
            Hiding::Hidden
        } else {
            Hiding::Shown
        }
    }
}

pub(crate) struct Session {
    pub(crate) _dir: Option<tempfile::TempDir>,
    pub(crate) paths: RootPaths,
    pub(crate) workspace: PathBuf,
    pub(crate) scratch: PathBuf,
    pub(crate) outside: PathBuf,
    pub(crate) roots: Roots,
    pub(crate) tags: Tags,
    pub(crate) snapshots: Snapshots,
    pub(crate) limits: FileLimits,
    pub(crate) vision: Vision,
}

impl Session {
    pub(crate) fn new() -> Self {
        Self::with(Capabilities::all())
    }

    pub(crate) fn with(capabilities: Capabilities) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        Self {
            _dir: Some(dir),
            ..Self::at(&top, capabilities)
        }
    }

    /// A session in a directory that somebody else removes.
    pub(crate) fn at(top: &Path, capabilities: Capabilities) -> Self {
        let [home, workspace, outside, data] =
            ["home", "work", "outside", "data"].map(|name| top.join(name));
        for path in [&home, &workspace, &outside, &data] {
            std::fs::create_dir_all(path).unwrap();
        }
        let scratch = data.join("scratch/s1");
        let paths = RootPaths {
            workspace: Some(workspace.clone()),
            scratch: scratch.clone(),
            home,
            guardian_data: data,
            guardian_config: Vec::new(),
            guardian_executables: Vec::new(),
        };
        let roots = Roots::open_with(&paths, capabilities).unwrap();
        Self {
            _dir: None,
            workspace,
            scratch,
            outside,
            paths,
            roots,
            tags: Tags::default(),
            snapshots: Snapshots::default(),
            limits: FileLimits::spec(),
            vision: Vision::Absent,
        }
    }

    pub(crate) fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.workspace.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        path
    }

    pub(crate) fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.workspace.join(name)).unwrap()
    }

    pub(crate) fn context(&self) -> ToolContext<'_> {
        ToolContext {
            limits: &self.limits,
            cancel: &NeverCancelled,
            deadline: None,
            tags: &self.tags,
            snapshots: Some(&self.snapshots),
            hidden: &EnvFilesHidden,
            vision: self.vision,
        }
    }

    /// The facts of a file tool call, as an extractor makes them.
    pub(crate) fn facts(&self, written: &str, input: &ToolInput) -> Facts {
        let absolute = self.workspace.join(written);
        let resolved = RealProbe.resolve(&absolute);
        let scope = if absolute.starts_with(&self.scratch) {
            if resolved.path.starts_with(&self.scratch) {
                Scope::Scratch
            } else {
                Scope::ScratchEscape
            }
        } else if resolved.path.starts_with(&self.workspace) {
            Scope::Workspace
        } else if resolved.path.starts_with(&self.scratch) {
            Scope::Scratch
        } else {
            Scope::Outside
        };
        let (tool, kind) = match input {
            ToolInput::Read(_) => ("Read", AccessKind::Read),
            ToolInput::Glob(_) => ("Glob", AccessKind::List),
            ToolInput::Grep(_) => ("Grep", AccessKind::Read),
            ToolInput::Write(_) => ("Write", AccessKind::Write),
            ToolInput::Edit(_) => ("Edit", AccessKind::Write),
            _ => unreachable!("not a file tool"),
        };
        let mut facts = Facts::empty(tool);
        if resolved.error.is_none() {
            facts.accesses.push(Access {
                kind,
                detail: AccessDetail::Plain,
                target: Target::Exact(PathFact {
                    written: written.to_owned(),
                    path: resolved.path,
                    scope,
                    sensitivity: Sensitivity::default(),
                    kind: resolved.kind,
                    links: resolved.links,
                    identity: resolved.identity,
                }),
                recursive: false,
                source: AccessSource::PathArgument,
            });
        }
        facts
    }

    pub(crate) fn bind(&self, input: ToolInput) -> Result<BoundInput, ToolFailure> {
        let path = path_of(&input);
        let facts = self.facts(&path, &input);
        bind(input, &facts, &self.roots)
    }

    pub(crate) fn run(&self, input: ToolInput) -> Result<ToolOutput, ToolFailure> {
        run_file_tool(
            Permitted::assume_checked(self.bind(input)?),
            &self.context(),
        )
    }

    pub(crate) fn read(&self, path: &str) -> Result<serde_json::Value, ToolFailure> {
        self.run(read(path, 1, 2000)).map(|output| output.content)
    }

    pub(crate) fn write(&self, path: &str, content: &str) -> Result<ToolOutput, ToolFailure> {
        self.run(write(path, content))
    }

    pub(crate) fn edit(&self, path: &str, old: &str, new: &str) -> Result<ToolOutput, ToolFailure> {
        self.run(edit(path, old, new))
    }

    /// Undoes a change with what the snapshots kept.
    pub(crate) fn rollback(&self, change: &ChangeRecord) -> RollbackOutcome {
        let kept = self.snapshots.kept.lock().unwrap();
        let before = match &change.before {
            ChangeBefore::Absent {
                created_directories,
            } => RestoreTo::Absent {
                created_directories,
            },
            ChangeBefore::Bytes { key, .. } => RestoreTo::Content {
                bytes: &kept[key.as_ref().unwrap()],
            },
        };
        let request = RollbackRequest {
            canonical: &change.canonical,
            after_hash: &change.after_hash,
            before,
        };
        rollback(&request, &self.roots).unwrap()
    }

    /// Names left in a directory that look like guardian's temporary files.
    pub(crate) fn leftovers(&self) -> Vec<PathBuf> {
        fn walk(dir: &Path, found: &mut Vec<PathBuf>) {
            for entry in std::fs::read_dir(dir).unwrap() {
                let entry = entry.unwrap();
                if entry
                    .file_name()
                    .to_string_lossy()
                    .starts_with(".guardian-")
                {
                    found.push(entry.path());
                }
                if entry.file_type().unwrap().is_dir() {
                    walk(&entry.path(), found);
                }
            }
        }
        let mut found = Vec::new();
        walk(&self.workspace, &mut found);
        found
    }
}

fn path_of(input: &ToolInput) -> String {
    match input {
        ToolInput::Read(input) => input.path.clone(),
        ToolInput::Glob(input) => input.path.clone().unwrap_or_else(|| ".".to_owned()),
        ToolInput::Grep(input) => input.path.clone().unwrap_or_else(|| ".".to_owned()),
        ToolInput::Write(input) => input.path.clone(),
        ToolInput::Edit(input) => input.path.clone(),
        _ => unreachable!("not a file tool"),
    }
}

pub(crate) fn read(path: &str, offset: u64, limit: u32) -> ToolInput {
    ToolInput::Read(ReadInput {
        path: path.to_owned(),
        offset,
        limit,
        notices: Vec::new(),
    })
}

pub(crate) fn write(path: &str, content: &str) -> ToolInput {
    ToolInput::Write(WriteInput {
        path: path.to_owned(),
        content: content.to_owned(),
    })
}

pub(crate) fn edit(path: &str, old: &str, new: &str) -> ToolInput {
    ToolInput::Edit(EditInput {
        path: path.to_owned(),
        edits: vec![Replacement {
            old_string: old.to_owned(),
            new_string: new.to_owned(),
        }],
    })
}

/// How long one race runs: one second, or `GUARDIAN_RACE_SECONDS` (`cargo xtask e2e`: 5).
pub(crate) fn race_time() -> Duration {
    let seconds = std::env::var("GUARDIAN_RACE_SECONDS")
        .ok()
        .and_then(|text| text.parse().ok());
    Duration::from_secs(seconds.unwrap_or(1))
}

/// Every combination of system features that a fallback exists for.
pub(crate) fn all_capabilities() -> Vec<Capabilities> {
    let mut all = Vec::new();
    for openat2 in [Feature::Use, Feature::Avoid] {
        for unnamed_temporary in [Feature::Use, Feature::Avoid] {
            for rename_flags in [Feature::Use, Feature::Avoid] {
                let mut capabilities = Capabilities::all();
                capabilities.openat2 = openat2;
                capabilities.unnamed_temporary = unnamed_temporary;
                capabilities.rename_flags = rename_flags;
                all.push(capabilities);
            }
        }
    }
    all
}

pub(crate) fn glob(pattern: &str, path: Option<&str>) -> ToolInput {
    ToolInput::Glob(GlobInput {
        pattern: pattern.to_owned(),
        path: path.map(ToOwned::to_owned),
        limit: 100,
        notices: Vec::new(),
    })
}

pub(crate) fn grep_input(pattern: &str) -> GrepInput {
    GrepInput {
        pattern: pattern.to_owned(),
        path: None,
        include: None,
        output_mode: OutputMode::Content,
        head_limit: 200,
        case_insensitive: false,
        context: 0,
        multiline: false,
        fixed_strings: false,
        notices: Vec::new(),
    }
}
