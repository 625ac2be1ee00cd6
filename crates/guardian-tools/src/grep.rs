//! The body of Grep.

use std::os::fd::AsFd;
use std::path::Path;

use grep_matcher::LineTerminator;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use guardian_facts::classes::Hiding;
use guardian_facts::input::{GrepInput, MAX_GREP_RESULTS, OutputMode};
use serde_json::{Value, json};

use crate::bind::{Bound, BoundTarget};
use crate::contained::Contained;
use crate::context::ToolContext;
use crate::glob::{Pattern, shown_beneath};
use crate::grep_file::{FileSearch, Found};
use crate::grep_lines::Line;
use crate::hidden::is_public;
use crate::newest::{Age, Newest};
use crate::output::ToolOutput;
use crate::tag::nanoseconds;
use crate::walk::{Visitor, Walk, WalkReport, WalkedFile, walk};
use crate::walk_notice::notices;
use crate::{FailureCode, ToolFailure};

/// Lines, files or counts that match, files newest first.
pub(crate) fn grep(
    bound: &Bound<GrepInput>,
    cx: &ToolContext<'_>,
) -> Result<ToolOutput, ToolFailure> {
    cx.check()?;
    let input = bound.input();
    let matcher = matcher(input)?;
    let include = input
        .include
        .as_deref()
        .map(Pattern::parse)
        .transpose()
        .map_err(|failure| failure.with("pointer", "/include"))?;
    let limit = (input.head_limit as usize).max(1);
    let make = || Grepper {
        file: FileSearch::new(input, matcher.clone(), searcher(input), cx, limit),
        include: include.as_ref(),
        mode: input.output_mode,
        found: Newest::new(limit),
        too_large: 0,
        binary: false,
    };
    match &bound.target {
        BoundTarget::Directory(start) => {
            let (greppers, report) = walk(start, cx, make)?;
            let mut found = Newest::new(limit);
            let mut too_large = 0;
            for grepper in greppers {
                found.merge(grepper.found);
                too_large += grepper.too_large;
            }
            let shown = |path: &Path| shown_beneath(start, path);
            Ok(Report {
                input,
                cx,
                walk: report,
                too_large,
                binary: None,
            }
            .output(start, found, &shown))
        }
        BoundTarget::File(file) => {
            let mut grepper = make();
            grepper.named_file(file, cx)?;
            let shown = |_: &Path| file.shown();
            let report = Report {
                input,
                cx,
                walk: WalkReport::default(),
                too_large: grepper.too_large,
                binary: grepper.binary.then(|| file.shown()),
            };
            Ok(report.output(file, grepper.found, &shown))
        }
        BoundTarget::Unusable { failure, .. } => Err(failure.clone()),
        BoundTarget::Place(_) => Err(ToolFailure::new(
            FailureCode::Internal,
            "Grep is not bound to a path",
        )),
    }
}

fn matcher(input: &GrepInput) -> Result<RegexMatcher, ToolFailure> {
    let mut builder = RegexMatcherBuilder::new();
    builder
        .case_insensitive(input.case_insensitive)
        .fixed_strings(input.fixed_strings)
        .multi_line(true)
        .crlf(true);
    if input.multiline {
        builder.dot_matches_new_line(true).line_terminator(None);
    }
    builder
        .build(&input.pattern)
        .map_err(|error| bad_pattern(input, &error))
}

fn bad_pattern(input: &GrepInput, error: &grep_regex::Error) -> ToolFailure {
    let mut failure =
        ToolFailure::new(FailureCode::InvalidArgument, String::new()).with("pointer", "/pattern");
    let parsed = regex_syntax::ast::parse::Parser::new().parse(&input.pattern);
    let (why, position) = match parsed {
        Err(syntax) if !input.fixed_strings => {
            (syntax.kind().to_string(), Some(syntax.span().start.column))
        }
        _ => (error.to_string(), None),
    };
    failure.message = match position {
        Some(column) => format!(
            "`pattern` is not a valid Rust regex: {why}, at character {column}; escape it, or set \
             `fixedStrings` to search for the text itself"
        ),
        None if !input.multiline && input.pattern.contains("\\n") => {
            format!("`pattern` cannot be used: {why}; set `multiline` to match across line ends")
        }
        None => format!("`pattern` cannot be used: {why}"),
    };
    match position {
        Some(column) => failure.with("position", column),
        None => failure,
    }
}

fn searcher(input: &GrepInput) -> Searcher {
    let context = input.context as usize;
    let lines = input.output_mode == OutputMode::Content;
    SearcherBuilder::new()
        .line_terminator(LineTerminator::crlf())
        .line_number(lines)
        .multi_line(input.multiline)
        .before_context(if lines { context } else { 0 })
        .after_context(if lines { context } else { 0 })
        // Binary files are told by their first bytes, before the search.
        .binary_detection(BinaryDetection::none())
        .heap_limit(Some(crate::grep_file::MAX_HEAP))
        .build()
}

struct Grepper<'a> {
    file: FileSearch,
    include: Option<&'a Pattern>,
    mode: OutputMode,
    found: Newest<Found>,
    too_large: u64,
    /// The named file is not text.
    binary: bool,
}

impl Grepper<'_> {
    fn named_file(&mut self, file: &Contained, cx: &ToolContext<'_>) -> Result<(), ToolFailure> {
        let canonical = file.canonical();
        let name = canonical.file_name().unwrap_or_default();
        if self
            .include
            .is_some_and(|include| !include.matches(Path::new(name), name))
        {
            return Ok(());
        }
        let handle = file.open_for_reading()?;
        let stop = || cx.check().is_err();
        let outcome = self
            .file
            .search(handle.as_fd(), &stop)
            .map_err(|errno| ToolFailure::system("read", &file.shown(), errno))?;
        cx.check()?;
        self.take(outcome, 0, canonical.clone());
        Ok(())
    }

    fn take(&mut self, outcome: Outcome, mtime: i128, path: std::path::PathBuf) {
        match outcome {
            Outcome::Matches(found) => {
                let weight = match self.mode {
                    OutputMode::Content => found.lines.len().max(1),
                    OutputMode::FilesWithMatches | OutputMode::Count => 1,
                };
                self.found.push(Age::new(mtime, path), weight, found);
            }
            Outcome::TooLarge => self.too_large += 1,
            Outcome::Binary => self.binary = true,
            Outcome::Nothing => {}
        }
    }
}

/// What the search of one file gave.
pub(crate) enum Outcome {
    Nothing,
    Matches(Found),
    /// It is not text, and was not searched.
    Binary,
    /// A line or, in multi-line mode, the file is larger than the search may hold.
    TooLarge,
}

impl Visitor for Grepper<'_> {
    fn visit(&mut self, file: &WalkedFile<'_>, walk: &Walk<'_>) {
        if self
            .include
            .is_some_and(|include| !include.matches(file.relative, file.name))
        {
            return;
        }
        let hiding = file.hiding(walk);
        if hiding == Hiding::Hidden {
            return;
        }
        if file.is_link {
            // Never followed; a broken one is worth a word.
            if rustix::fs::statat(file.directory, file.name, rustix::fs::AtFlags::empty()).is_err()
            {
                walk.count_unreadable();
            }
            return;
        }
        let Ok(handle) = file.open() else {
            walk.count_unreadable();
            return;
        };
        // What is looked at is what is searched: the same handle.
        if hiding == Hiding::UnlessPublicKeys && !is_public(handle.as_fd()) {
            walk.count_hidden();
            return;
        }
        let age = || {
            rustix::fs::fstat(&handle)
                .map_or(0, |stat| nanoseconds(stat.st_mtime, stat.st_mtime_nsec))
        };
        // What is older than everything that is kept cannot come back in.
        if self.found.is_full() && self.found.is_too_old(age()) {
            return;
        }
        match self.file.search(handle.as_fd(), &|| walk.must_stop()) {
            Ok(Outcome::Nothing | Outcome::Binary) => {}
            Ok(outcome) => self.take(outcome, age(), file.relative.to_owned()),
            Err(_) => walk.count_unreadable(),
        }
    }
}

struct Report<'a> {
    input: &'a GrepInput,
    cx: &'a ToolContext<'a>,
    walk: WalkReport,
    too_large: u64,
    /// The file that was named, when it is not text.
    binary: Option<String>,
}

impl Report<'_> {
    fn output(
        &self,
        start: &Contained,
        found: Newest<Found>,
        shown: &dyn Fn(&Path) -> String,
    ) -> ToolOutput {
        let mut left_out = found.dropped;
        let files = found.into_sorted();
        let mut budget = Budget {
            bytes: self.cx.limits.result_bytes,
            lines: self.cx.limits.result_lines,
            entries: self.input.head_limit as usize,
            full: false,
        };
        let mut content = match self.input.output_mode {
            OutputMode::Content => {
                let (matches, with_matches) = content(files, &mut budget, &mut left_out, shown);
                json!({"count": matches.len(), "files": with_matches, "matches": matches})
            }
            OutputMode::FilesWithMatches => {
                let files = entries(files, &mut budget, &mut left_out, |path, _| {
                    shown(path).into()
                });
                json!({"count": files.len(), "files": files})
            }
            OutputMode::Count => {
                let counts = entries(
                    files,
                    &mut budget,
                    &mut left_out,
                    |path, found| json!({"path": shown(path), "count": found.count}),
                );
                json!({"count": counts.len(), "counts": counts})
            }
        };
        content["root"] = start.root().as_str().into();
        content["hidden"] = self.walk.hidden.into();
        content["unreadable"] = self.walk.unreadable.into();
        content["truncated"] = (left_out || self.walk.timed_out).into();
        let mut notes = self.input.notices.clone();
        if left_out {
            let narrow = "narrow `pattern`, `path` or `include`";
            notes.push(if budget.full {
                format!("only the newest are shown, more does not fit a result; {narrow}")
            } else if self.input.head_limit < MAX_GREP_RESULTS {
                format!("only the newest are shown; {narrow}, or raise `headLimit`")
            } else {
                format!("only the newest are shown; {narrow}")
            });
        }
        if let Some(file) = &self.binary {
            notes.push(format!(
                "`{file}` is binary and was not searched; use `grep -a` or `strings` through Bash"
            ));
        }
        if self.too_large > 0 {
            notes.push(format!(
                "{} file(s) are too large for this search",
                self.too_large
            ));
        }
        notes.extend(notices(&self.walk));
        if !notes.is_empty() {
            content["notice"] = notes.join("; ").into();
        }
        ToolOutput::unchanged(content)
    }
}

struct Budget {
    bytes: usize,
    lines: usize,
    entries: usize,
    /// Bytes or lines ran out, not entries.
    full: bool,
}

impl Budget {
    /// Takes the room of one entry; false when there is none left.
    fn take(&mut self, bytes: usize, lines: usize) -> bool {
        if self.entries == 0 {
            return false;
        }
        if self.bytes < bytes || self.lines < lines {
            self.full = true;
            return false;
        }
        self.entries -= 1;
        self.bytes -= bytes;
        self.lines -= lines;
        true
    }
}

fn content(
    files: Vec<(Age, Found)>,
    budget: &mut Budget,
    left_out: &mut bool,
    shown: &dyn Fn(&Path) -> String,
) -> (Vec<Value>, usize) {
    let mut matches = Vec::new();
    let mut with_matches = 0;
    for (age, found) in files {
        let path = shown(&age.path);
        *left_out |= found.cut;
        let before = matches.len();
        for line in &found.lines {
            if !budget.take(path.len() + line.bytes(), line.lines()) {
                *left_out = true;
                let partly = usize::from(matches.len() > before);
                return (matches, with_matches + partly);
            }
            matches.push(line_value(&path, line));
        }
        with_matches += 1;
    }
    (matches, with_matches)
}

fn entries(
    files: Vec<(Age, Found)>,
    budget: &mut Budget,
    left_out: &mut bool,
    value: impl Fn(&Path, &Found) -> Value,
) -> Vec<Value> {
    let mut out = Vec::new();
    for (age, found) in files {
        if !budget.take(age.path.as_os_str().len() + 16, 1) {
            *left_out = true;
            break;
        }
        out.push(value(&age.path, &found));
    }
    out
}

fn line_value(path: &str, line: &Line) -> Value {
    let mut value = json!({
        "path": path,
        "line": line.number,
        "column": line.column,
        "text": line.text,
    });
    if !line.before.is_empty() {
        value["before"] = line.before.clone().into();
    }
    if !line.after.is_empty() {
        value["after"] = line.after.clone().into();
    }
    value
}
