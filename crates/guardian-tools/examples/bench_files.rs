//! Measures the file tools against their floors, interleaved in one run (SPEC §18).
//!
//! `cargo xtask bench files [-- FILES ROUNDS]`
//!
//! Needs `rg` and `fd`/`fdfind` for the walks; what is missing is said.

use std::collections::HashMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use guardian_facts::access::{AccessDetail, AccessSource};
use guardian_facts::input::{
    EditInput, GlobInput, GrepInput, OutputMode, ReadInput, Replacement, WriteInput,
};
use guardian_facts::{
    Access, AccessKind, Facts, PathClasses, PathFact, PathProbe, RootPaths, Scope, Sensitivity,
    Target, ToolInput,
};
use guardian_tools::{
    ClassesHidden, FileLimits, FileTags, NeverCancelled, Permitted, RealProbe, Roots, SnapshotSink,
    ToolContext, Vision, bind, run_file_tool,
};

type Failure = Box<dyn std::error::Error>;

#[derive(Default)]
struct Tags(Mutex<HashMap<PathBuf, String>>);

impl FileTags for Tags {
    fn last(&self, canonical: &Path) -> Option<String> {
        self.0.lock().ok()?.get(canonical).cloned()
    }

    fn remember(&self, canonical: &Path, tag: &str) {
        if let Ok(mut tags) = self.0.lock() {
            tags.insert(canonical.to_owned(), tag.to_owned());
        }
    }
}

/// Copies before-bytes into a file, like the store does.
struct CopyTo(PathBuf);

impl SnapshotSink for CopyTo {
    fn keep(&self, bytes: &[u8]) -> Result<String, String> {
        std::fs::write(&self.0, bytes).map_err(|error| error.to_string())?;
        Ok("copy".to_owned())
    }
}

struct Bench {
    top: PathBuf,
    paths: RootPaths,
    roots: Roots,
    classes: PathClasses,
    limits: FileLimits,
    tags: Tags,
    copy: CopyTo,
}

impl Bench {
    fn run(&self, written: &str, input: ToolInput) -> Result<serde_json::Value, Failure> {
        let resolved = RealProbe.resolve(&self.top.join("work").join(written));
        let mut facts = Facts::empty("bench");
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
            snapshots: Some(&self.copy),
            hidden: &hidden,
            vision: Vision::Absent,
        };
        let bound = bind(input, &facts, &self.roots)?;
        Ok(run_file_tool(Permitted::assume_checked(bound), &context)?.content)
    }
}

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<usize>());
    let files = arguments.next().transpose()?.unwrap_or(100_000);
    let rounds = arguments.next().transpose()?.unwrap_or(9);
    let dir = tempfile::tempdir()?;
    let top = dir.path().canonicalize()?;
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
    let mut limits = FileLimits::spec();
    limits.walk_threads = 2;
    let bench = Bench {
        roots: Roots::open(&paths)?,
        classes: PathClasses::from_default(),
        tags: Tags::default(),
        copy: CopyTo(top.join("data/copy")),
        top,
        paths,
        limits,
    };
    small_files(&bench, rounds)?;
    large_files(&bench, rounds)?;
    generate(&work, files)?;
    walks(&bench, &work, files, rounds)?;
    Ok(())
}

fn small_files(bench: &Bench, rounds: usize) -> Result<(), Failure> {
    let work = bench.top.join("work");
    let body = "some text of a source file\n".repeat(32 * 1024 / 27);
    std::fs::write(work.join("small.txt"), &body)?;
    compare(
        "Read 32 KiB vs open+read+hash+JSON",
        rounds * 50,
        || bench.run("small.txt", read("small.txt", 1)).map(drop),
        || {
            let bytes = std::fs::read(work.join("small.txt"))?;
            let tag = blake3::hash(&bytes).to_hex();
            let text = String::from_utf8(bytes)?;
            let value = serde_json::json!({"content": text, "tag": tag.as_str()});
            std::hint::black_box(value.to_string());
            Ok(())
        },
    )?;
    let mut count = 0;
    compare(
        "Write 32 KiB vs copy+temp+fdatasync+rename",
        rounds * 10,
        || {
            count += 1;
            let content = format!("{count}\n{body}");
            bench
                .run("small.txt", write("small.txt", &content))
                .map(drop)
        },
        || {
            std::fs::write(bench.top.join("data/floor-copy"), &body)?;
            let temporary = work.join("floor.tmp");
            let mut file = std::fs::File::create(&temporary)?;
            file.write_all(body.as_bytes())?;
            file.sync_data()?;
            std::fs::rename(temporary, work.join("floor.txt"))?;
            Ok(())
        },
    )
}

fn large_files(bench: &Bench, rounds: usize) -> Result<(), Failure> {
    let work = bench.top.join("work");
    let lines: String = (0..100_000)
        .map(|n| format!("line number {n} of the file\n"))
        .collect();
    std::fs::write(work.join("lines.txt"), &lines)?;
    let mut count = 0;
    compare(
        "one-line Edit of 100 000 lines vs write+sync+rename",
        rounds,
        || {
            let (old, new) = (format!("number 50000{}", "x".repeat(count)), count + 1);
            count = new;
            let new = format!("number 50000{}", "x".repeat(new));
            bench
                .run(
                    "lines.txt",
                    edit("lines.txt", &format!("{old} of"), &format!("{new} of")),
                )
                .map(drop)
        },
        || {
            let temporary = work.join("floor.tmp");
            let mut file = std::fs::File::create(&temporary)?;
            file.write_all(lines.as_bytes())?;
            file.sync_data()?;
            std::fs::rename(temporary, work.join("floor.txt"))?;
            Ok(())
        },
    )?;
    let big: String = (0..1_000_000)
        .map(|n| format!("{n:08} {}\n", "y".repeat(90)))
        .collect();
    std::fs::write(work.join("big.txt"), &big)?;
    compare(
        "Read at line 900 000 of 100 MB vs reading 90 MB",
        rounds,
        || bench.run("big.txt", read("big.txt", 900_000)).map(drop),
        || {
            use std::io::Read;
            let mut file = std::fs::File::open(work.join("big.txt"))?;
            let mut buffer = vec![0; 256 * 1024];
            let mut left = 90_000_000_usize;
            while left > 0 {
                left = left.saturating_sub(file.read(&mut buffer)?);
            }
            std::hint::black_box(&buffer);
            Ok(())
        },
    )?;
    for name in ["big.txt", "floor.txt", "lines.txt"] {
        std::fs::remove_file(work.join(name))?;
    }
    Ok(())
}

fn walks(bench: &Bench, work: &Path, files: usize, rounds: usize) -> Result<(), Failure> {
    let mut rare = grep("rare_needle_[0-9]+");
    rare.output_mode = OutputMode::FilesWithMatches;
    let rare = ToolInput::Grep(rare);
    let rg = |arguments: &'static [&'static str]| {
        move || {
            let status = Command::new("rg")
                .args(["-j2", "--hidden", "--no-messages", "--no-config"])
                .args(arguments)
                .arg(work)
                .stdout(Stdio::null())
                .status()?;
            if status.code() == Some(2) {
                Err("rg failed".into())
            } else {
                Ok(())
            }
        }
    };
    if Command::new("rg")
        .arg("--version")
        .stdout(Stdio::null())
        .status()
        .is_ok()
    {
        let title = format!("Grep rare, {files} files, vs rg -j2 -l");
        compare(
            &title,
            rounds,
            || bench.run(".", rare.clone()).map(drop),
            rg(&["-l", "rare_needle_[0-9]+"]),
        )?;
        let common = ToolInput::Grep(grep("function [a-z]+1"));
        let title = format!("Grep common content, {files} files, vs rg -j2 -n");
        compare(
            &title,
            rounds,
            || bench.run(".", common.clone()).map(drop),
            rg(&["-n", "function [a-z]+1"]),
        )?;
        let title = format!("Grep rare, {files} files, vs rg --sortr modified");
        compare(
            &title,
            rounds.min(3),
            || bench.run(".", rare.clone()).map(drop),
            rg(&["-l", "--sortr", "modified", "rare_needle_[0-9]+"]),
        )?;
    } else {
        eprintln!("NOT MEASURED: rg is not installed");
    }
    let fd = ["fdfind", "fd"].into_iter().find(|name| {
        Command::new(name)
            .arg("--version")
            .stdout(Stdio::null())
            .status()
            .is_ok()
    });
    let Some(fd) = fd else {
        eprintln!("NOT MEASURED: fd is not installed");
        return Ok(());
    };
    let glob = ToolInput::Glob(GlobInput {
        pattern: "*7.ts".to_owned(),
        path: None,
        limit: 100,
        notices: Vec::new(),
    });
    let title = format!("Glob, {files} files, vs fd -j2");
    compare(
        &title,
        rounds,
        || bench.run(".", glob.clone()).map(drop),
        || {
            Command::new(fd)
                .args(["-j2", "--hidden", "--glob", "*7.ts"])
                .arg(work)
                .stdout(Stdio::null())
                .status()?;
            Ok(())
        },
    )
}

/// Runs both in turns and prints the ratio of the medians.
#[expect(clippy::print_stdout, reason = "a measurement shows its result")]
fn compare(
    title: &str,
    rounds: usize,
    mut ours: impl FnMut() -> Result<(), Failure>,
    mut floor: impl FnMut() -> Result<(), Failure>,
) -> Result<(), Failure> {
    ours()?;
    floor()?;
    let (mut our_times, mut floor_times) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let start = Instant::now();
        ours()?;
        our_times.push(start.elapsed());
        let start = Instant::now();
        floor()?;
        floor_times.push(start.elapsed());
    }
    let median = |times: &mut Vec<Duration>| {
        times.sort();
        times[times.len() / 2]
    };
    let (ours, floor) = (median(&mut our_times), median(&mut floor_times));
    println!(
        "{title:55} {:>10.3?} / {:>10.3?} = {:.2}",
        ours,
        floor,
        ours.as_secs_f64() / floor.as_secs_f64()
    );
    Ok(())
}

/// A tree like a large web project.
fn generate(work: &Path, files: usize) -> Result<(), Failure> {
    for n in 0..files {
        let directory = work.join(format!("pkg{}/src/mod{}", n / 1000, n / 20 % 50));
        if n % 20 == 0 {
            std::fs::create_dir_all(&directory)?;
        }
        let mut text = format!("export function name{n}(value: number) {{\n");
        for line in 0..(n % 90) {
            text.push_str(&format!("  const item{line} = value * {line} + {n};\n"));
        }
        if n % 5000 == 17 {
            text.push_str(&format!("// rare_needle_{n}\n"));
        }
        text.push_str("}\n");
        std::fs::write(directory.join(format!("file{n}.ts")), text)?;
    }
    Ok(())
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

fn grep(pattern: &str) -> GrepInput {
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
