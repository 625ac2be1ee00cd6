//! The hot paths of the file tools, each as often as asked: what `cargo xtask counts` counts the
//! instructions of.
//!
//! `hot_paths NAME TIMES` runs one; without arguments every one runs once.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use guardian_facts::access::{AccessDetail, AccessSource};
use guardian_facts::input::{
    EditInput, GlobInput, GrepInput, OutputMode, ReadInput, Replacement, WriteInput,
};
use guardian_facts::{
    Access, AccessKind, Facts, PathClasses, PathFact, PathProbe, RootPaths, Scope, Sensitivity,
    Target, ToolInput,
};
use guardian_tools::{
    ClassesHidden, FileLimits, FileTags, Look, NeverCancelled, Permitted, RealProbe, Roots,
    SeenFile, SnapshotSink, ToolContext, UpcomingChange, Vision, bind, run_file_tool,
};

type Failure = Box<dyn std::error::Error>;
type Run = fn(&World, usize) -> Result<(), Failure>;

/// Names, and what one round of each is.
const PATHS: &[(&str, Run)] = &[
    ("grep-few-matches", |world, _| {
        world.run("pkg", grep("rare_needle_[0-9]+"))
    }),
    ("grep-many-matches", |world, _| {
        world.run("pkg", grep("value"))
    }),
    ("glob", |world, _| world.run(".", glob("*7.ts"))),
    ("read-32-kib", |world, _| {
        world.run("small.txt", read("small.txt", 1))
    }),
    ("read-deep", |world, _| {
        world.run("big.txt", read("big.txt", 180_000))
    }),
    ("write-32-kib", |world, round| {
        let content = format!("{round}\n{}", "some text of a source file\n".repeat(1213));
        world.run("written.txt", write("written.txt", &content))
    }),
    ("edit-one-line-of-100000", |world, round| {
        let marks = |count: usize| format!("number 50000 {count} of");
        world.run(
            "lines.txt",
            edit("lines.txt", &marks(round), &marks(round + 1)),
        )
    }),
];

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let directory = tempfile::tempdir()?;
    let world = World::new(&directory.path().canonicalize()?)?;
    let Some(name) = arguments.next() else {
        for (_, run) in PATHS {
            run(&world, 0)?;
        }
        return Ok(());
    };
    let times: usize = arguments.next().unwrap_or_default().parse()?;
    let (_, run) = PATHS
        .iter()
        .find(|(known, _)| *known == name)
        .ok_or("there is no hot path of this name")?;
    for round in 0..times {
        run(&world, round)?;
    }
    Ok(())
}

struct World {
    work: PathBuf,
    paths: RootPaths,
    roots: Roots,
    classes: PathClasses,
    limits: FileLimits,
    tags: Tags,
}

impl World {
    fn new(top: &Path) -> Result<Self, Failure> {
        let work = top.join("work");
        std::fs::create_dir_all(&work)?;
        std::fs::create_dir_all(top.join("data"))?;
        let paths = RootPaths {
            workspace: Some(work.clone()),
            scratch: top.join("data/scratch"),
            home: top.join("home"),
            guardian_data: top.join("data"),
            guardian_config: Vec::new(),
            guardian_executables: Vec::new(),
        };
        // One thread: the same instructions whoever comes first.
        let limits = FileLimits {
            walk_threads: 1,
            ..FileLimits::spec()
        };
        let world = Self {
            roots: Roots::open(&paths)?,
            classes: PathClasses::from_default(),
            tags: Tags::default(),
            work,
            paths,
            limits,
        };
        world.generate()?;
        Ok(world)
    }

    fn generate(&self) -> Result<(), Failure> {
        for number in 0..400 {
            let directory = self.work.join(format!("pkg/src/mod{}", number / 20));
            std::fs::create_dir_all(&directory)?;
            let mut text = format!("export function name{number}(value: number) {{\n");
            for line in 0..(number % 90) {
                text.push_str(&format!("  const item{line} = {line} + {number};\n"));
            }
            if number % 100 == 17 {
                text.push_str(&format!("// rare_needle_{number}\n"));
            }
            std::fs::write(directory.join(format!("file{number}.ts")), text)?;
        }
        let small = "some text of a source file\n".repeat(1213);
        std::fs::write(self.work.join("small.txt"), &small)?;
        std::fs::write(self.work.join("written.txt"), &small)?;
        self.run("written.txt", read("written.txt", 1))?;
        let lines: String = (0..100_000)
            .map(|number| format!("line number {number} 0 of the file\n"))
            .collect();
        std::fs::write(self.work.join("lines.txt"), lines)?;
        let big: String = (0..200_000)
            .map(|number| format!("{number:08} {}\n", "y".repeat(90)))
            .collect();
        std::fs::write(self.work.join("big.txt"), big)?;
        Ok(())
    }

    fn run(&self, written: &str, input: ToolInput) -> Result<(), Failure> {
        let resolved = RealProbe.resolve(&self.work.join(written));
        let mut facts = Facts::empty("hot path");
        facts.accesses.push(Access {
            kind: AccessKind::Read,
            detail: AccessDetail::Plain,
            target: Target::Exact(PathFact {
                written: written.to_owned(),
                path: resolved.path,
                scope: Scope::Workspace,
                sensitivity: Sensitivity::default(),
                kind: resolved.kind,
                links: resolved.links,
                identity: resolved.identity,
            }),
            recursive: false,
            source: AccessSource::PathArgument,
        });
        let hidden = ClassesHidden::new(&self.classes, &self.paths);
        let context = ToolContext {
            limits: &self.limits,
            cancel: &NeverCancelled,
            deadline: None,
            tags: &self.tags,
            snapshots: Some(&KeepNothing),
            hidden: &hidden,
            vision: Vision::Absent,
        };
        let bound = bind(input, &facts, &self.roots)?;
        let output = run_file_tool(Permitted::assume_checked(bound), &context)?;
        std::hint::black_box(output.content.to_string());
        Ok(())
    }
}

#[derive(Default)]
struct Tags(Mutex<HashMap<PathBuf, SeenFile>>);

impl FileTags for Tags {
    fn last(&self, canonical: &Path) -> Option<SeenFile> {
        self.0.lock().ok()?.get(canonical).cloned()
    }

    fn remember(&self, canonical: &Path, tag: &str, look: Look) {
        let tag = tag.to_owned();
        if let Ok(mut tags) = self.0.lock() {
            tags.insert(canonical.to_owned(), SeenFile { tag, look });
        }
    }
}

/// Says that it kept the bytes. What keeping costs is the store's.
struct KeepNothing;

impl SnapshotSink for KeepNothing {
    fn keep(&self, _bytes: &[u8]) -> Result<String, String> {
        Ok("kept".to_owned())
    }

    fn about_to_change(&self, _change: &UpcomingChange) -> Result<(), String> {
        Ok(())
    }
}

fn read(path: &str, offset: u64) -> ToolInput {
    ToolInput::Read(ReadInput {
        path: path.to_owned(),
        offset,
        limit: 2000,
        notices: Vec::new(),
    })
}

fn write(path: &str, content: &str) -> ToolInput {
    ToolInput::Write(WriteInput {
        path: path.to_owned(),
        content: content.to_owned(),
    })
}

fn edit(path: &str, old: &str, new: &str) -> ToolInput {
    ToolInput::Edit(EditInput {
        path: path.to_owned(),
        edits: vec![Replacement {
            old_string: old.to_owned(),
            new_string: new.to_owned(),
        }],
    })
}

fn glob(pattern: &str) -> ToolInput {
    ToolInput::Glob(GlobInput {
        pattern: pattern.to_owned(),
        path: None,
        limit: 100,
        notices: Vec::new(),
    })
}

fn grep(pattern: &str) -> ToolInput {
    ToolInput::Grep(GrepInput {
        pattern: pattern.to_owned(),
        path: Some("pkg".to_owned()),
        include: None,
        output_mode: OutputMode::Content,
        head_limit: 200,
        case_insensitive: false,
        context: 0,
        multiline: false,
        fixed_strings: false,
        notices: Vec::new(),
    })
}
