//! Reads a file beneath a directory, the way a tool call does: judged by path, opened by handle.
//!
//! `cargo run -p guardian-tools --example read_contained -- DIRECTORY PATH`
//!
//! Without arguments it shows what happens when a link is swapped in between.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use guardian_facts::access::{AccessDetail, AccessSource};
use guardian_facts::input::ReadInput;
use guardian_facts::{
    Access, AccessKind, Facts, PathFact, PathProbe, RootPaths, Scope, Sensitivity, Target,
    ToolInput,
};
use guardian_tools::{
    FileLimits, FileTags, Look, NeverCancelled, NothingHidden, Permitted, RealProbe, Roots,
    SeenFile, ToolContext, Vision, bind, run_file_tool,
};

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

#[expect(clippy::print_stdout, reason = "an example shows its result")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    if let (Some(directory), Some(path)) = (arguments.next(), arguments.next()) {
        let directory = Path::new(&directory).canonicalize()?;
        println!("{}", read(&directory, &path, || ())?);
        return Ok(());
    }
    let top = std::env::temp_dir().join(format!("guardian-example-{}", std::process::id()));
    std::fs::create_dir_all(top.join("d"))?;
    let top = top.canonicalize()?;
    std::fs::write(top.join("d/a.txt"), "hello\n")?;
    println!("plain:   {}", read(&top, "d/a.txt", || ())?);
    let swapped = read(&top, "d/a.txt", || {
        // Somebody puts a link in the way after the path was judged.
        let _ = std::fs::rename(top.join("d"), top.join("aside"));
        let _ = std::os::unix::fs::symlink("/etc", top.join("d"));
    })?;
    println!("swapped: {swapped}");
    std::fs::remove_dir_all(&top)?;
    Ok(())
}

/// Judges the path, lets `meanwhile` happen, and reads what was judged.
fn read(
    directory: &Path,
    written: &str,
    meanwhile: impl FnOnce(),
) -> Result<String, Box<dyn std::error::Error>> {
    let paths = RootPaths {
        workspace: Some(directory.to_owned()),
        scratch: directory.join(".scratch"),
        home: directory.to_owned(),
        guardian_data: directory.join(".guardian-data"),
        guardian_config: Vec::new(),
        guardian_executables: Vec::new(),
    };
    let roots = Roots::open(&paths)?;
    let facts = judge(directory, written);
    meanwhile();
    let input = ToolInput::Read(ReadInput {
        path: written.to_owned(),
        offset: 1,
        limit: 100,
        notices: Vec::new(),
    });
    let limits = FileLimits::spec();
    let tags = Tags::default();
    let context = ToolContext {
        limits: &limits,
        cancel: &NeverCancelled,
        deadline: None,
        tags: &tags,
        snapshots: None,
        hidden: &NothingHidden,
        vision: Vision::Absent,
    };
    // A host asks policy in between; this example permits everything beneath the directory.
    let answer = bind(input, &facts, &roots)
        .and_then(|bound| run_file_tool(Permitted::assume_checked(bound), &context));
    Ok(match answer {
        Ok(output) => output.content.to_string(),
        Err(failure) => failure.to_content().to_string(),
    })
}

fn judge(directory: &Path, written: &str) -> Facts {
    let resolved = RealProbe.resolve(&directory.join(written));
    let scope = if resolved.path.starts_with(directory) {
        Scope::Workspace
    } else {
        Scope::Outside
    };
    let mut facts = Facts::empty("Read");
    facts.accesses.push(Access {
        kind: AccessKind::Read,
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
    facts
}
