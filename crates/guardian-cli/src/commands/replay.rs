//! `guardian replay`: decide the calls of recorded sessions by a policy, and by another one to
//! compare. Nothing runs and nothing is put on record.

use std::collections::{BTreeMap, HashMap};
use std::io::BufRead as _;
use std::path::{Path, PathBuf};

use guardian_host::HostError;
use guardian_host::check::{CheckReport, Checker};
use serde_json::{Value, json};

use super::check::checker_for;
use super::replay_unread::{Gap, Gaps};
use crate::arguments::{PlaceOptions, ReplayOptions};
use crate::exit::ExitCode;
use crate::output;
use crate::policy_notes::PolicyNotes;
use crate::progress::Progress;
use crate::transcripts::{RecordedCall, TranscriptReader};

/// Calls that are listed unless all are wanted.
const LISTED: usize = 20;
/// Directories that are gone into, from one that was named.
const DEPTH: usize = 12;

/// Decides and counts.
pub(crate) fn run(options: &ReplayOptions) -> Result<ExitCode, HostError> {
    let mut files = Vec::new();
    let mut gaps = Gaps::new(if options.all { usize::MAX } else { LISTED });
    for path in &options.transcripts {
        collect(path, DEPTH, &mut files, &mut gaps)?;
    }
    files.sort();
    files.dedup();
    if files.is_empty() {
        gaps.print();
        output::complain(&"there is no transcript (`*.jsonl`) at these places");
        return Ok(ExitCode::Usage);
    }
    let size = |file: &PathBuf| std::fs::metadata(file).map_or(0, |found| found.len());
    let mut progress = Progress::new("replaying", files.iter().map(size).sum());
    let mut replay = Replay::new(options, gaps);
    for file in &files {
        replay.transcript(file, &mut progress)?;
    }
    drop(progress);
    replay.notes.tell();
    if options.json.json {
        output::json(&replay.value());
    } else {
        replay.print(options);
    }
    Ok(if replay.gaps.is_empty() {
        ExitCode::Done
    } else {
        ExitCode::NotAllRead
    })
}

/// The transcripts beneath a path; a file that was named counts whatever it is called.
fn collect(
    path: &Path,
    depth: usize,
    files: &mut Vec<PathBuf>,
    gaps: &mut Gaps,
) -> Result<(), HostError> {
    let failed =
        |error: std::io::Error| HostError::invalid_params(format!("`{}`: {error}", path.display()));
    if !path.is_dir() {
        std::fs::metadata(path).map_err(failed)?;
        files.push(path.to_owned());
        return Ok(());
    }
    let entries = std::fs::read_dir(path).map_err(failed)?;
    let mut entries: Vec<_> = entries.collect::<Result<_, _>>().map_err(failed)?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let is_link = entry.file_type().map_err(failed)?.is_symlink();
        let name = entry.path();
        // What a link leads to; one that leads nowhere holds nothing.
        let Ok(kind) = std::fs::metadata(&name) else {
            continue;
        };
        if kind.is_file() && name.extension().is_some_and(|end| end == "jsonl") {
            files.push(name);
        } else if kind.is_dir() && (is_link || depth == 0) {
            gaps.add(&name, None, Gap::Directory);
        } else if kind.is_dir() {
            collect(&name, depth - 1, files, gaps)?;
        }
    }
    Ok(())
}

/// How often each decision was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Tally {
    allow: usize,
    ask: usize,
    deny: usize,
}

impl Tally {
    fn count(&mut self, decision: &str) {
        match decision {
            "allow" => self.allow += 1,
            "ask" => self.ask += 1,
            // Whatever else it said, it would not run.
            _ => self.deny += 1,
        }
    }

    fn calls(self) -> usize {
        self.allow + self.ask + self.deny
    }

    fn value(self) -> Value {
        json!({ "calls": self.calls(), "allow": self.allow, "ask": self.ask, "deny": self.deny })
    }
}

/// The checkers of one directory.
struct Judges {
    first: Checker,
    second: Option<Checker>,
}

struct Replay<'o> {
    options: &'o ReplayOptions,
    judges: HashMap<PathBuf, Judges>,
    notes: PolicyNotes,
    transcripts: usize,
    gaps: Gaps,
    /// Sessions whose directory is not on this machine.
    moved: usize,
    tools: BTreeMap<String, (Tally, Tally)>,
    /// Not allowed by the first policy: decision, tool, call, what decided.
    stopped: BTreeMap<(String, String, String, String), usize>,
    /// Decided differently: tool, call, first and second decision, what decided second.
    differences: BTreeMap<(String, String, String, String, String), usize>,
}

impl<'o> Replay<'o> {
    fn new(options: &'o ReplayOptions, gaps: Gaps) -> Self {
        Self {
            options,
            judges: HashMap::new(),
            notes: PolicyNotes::default(),
            transcripts: 0,
            gaps,
            moved: 0,
            tools: BTreeMap::new(),
            stopped: BTreeMap::new(),
            differences: BTreeMap::new(),
        }
    }

    fn compares(&self) -> bool {
        self.options.against.is_some() || self.options.against_preset.is_some()
    }

    fn transcript(&mut self, file: &Path, progress: &mut Progress) -> Result<(), HostError> {
        let opened = std::fs::File::open(file)
            .map_err(|error| HostError::invalid_params(format!("`{}`: {error}", file.display())))?;
        let mut lines = std::io::BufReader::new(opened);
        let mut reader = TranscriptReader::default();
        let mut line = Vec::new();
        let mut number = 0;
        let mut is_known = false;
        let mut unread = Vec::new();
        let mut moved = false;
        self.transcripts += 1;
        loop {
            line.clear();
            let read = lines
                .read_until(b'\n', &mut line)
                .map_err(HostError::internal)?;
            if read == 0 {
                break;
            }
            number += 1;
            let found = reader.line(&line);
            is_known |= found.is_known;
            unread.extend(found.unread.into_iter().map(|why| (number, why)));
            for call in found.calls {
                moved |= self.call(call)?;
            }
            progress.add(read as u64);
        }
        self.moved += usize::from(moved);
        match (number, is_known) {
            (0, _) => self.gaps.add(file, None, Gap::EmptyFile),
            // Each of its lines would say the same.
            (_, false) => self.gaps.add(file, None, Gap::UnknownFile),
            (_, true) => {
                for (number, why) in unread {
                    self.gaps.add(file, Some(number), Gap::Line(why));
                }
            }
        }
        Ok(())
    }

    /// Decides a call. True when its directory is not here, so that another one stands in.
    fn call(&mut self, call: RecordedCall) -> Result<bool, HostError> {
        let here = self.options.place.workspace_directory()?;
        let recorded = call.cwd.as_deref().map(PathBuf::from);
        let stays = self.options.place.workspace.is_none();
        let (workspace, moved) = match recorded {
            Some(cwd) if stays && cwd.is_dir() => (cwd, false),
            Some(_) => (here, true),
            None => (here, false),
        };
        let mut args = call.args;
        if let (true, Some(cwd)) = (moved, call.cwd.as_deref()) {
            replace_directory(&mut args, cwd, &workspace.display().to_string());
        }
        if !self.judges.contains_key(&workspace) {
            let judges = self.judges_for(&workspace)?;
            for checker in std::iter::once(&judges.first).chain(&judges.second) {
                self.notes.add(checker);
            }
            self.judges.insert(workspace.clone(), judges);
        }
        let Some(judges) = self.judges.get(&workspace) else {
            return Ok(moved);
        };
        let first = judges.first.check(&call.tool, &args);
        let second = judges
            .second
            .as_ref()
            .map(|second| second.check(&call.tool, &args));
        self.count(&call.tool, &shown(&args), &first, second.as_ref());
        Ok(moved)
    }

    fn judges_for(&self, workspace: &Path) -> Result<Judges, HostError> {
        let at = |preset, policy: Option<PathBuf>| {
            let place = PlaceOptions {
                workspace: Some(workspace.to_owned()),
                preset,
                ..self.options.place.clone()
            };
            checker_for(&place, policy)
        };
        let preset = self.options.place.preset;
        Ok(Judges {
            first: at(preset, None)?,
            second: if self.compares() {
                let against = self.options.against.clone();
                Some(at(self.options.against_preset.or(preset), against)?)
            } else {
                None
            },
        })
    }

    fn count(&mut self, tool: &str, call: &str, first: &CheckReport, second: Option<&CheckReport>) {
        let (tally, other) = self.tools.entry(tool.to_owned()).or_default();
        tally.count(&first.decision);
        if let Some(second) = second {
            other.count(&second.decision);
            if second.decision != first.decision {
                let key = (
                    tool.to_owned(),
                    call.to_owned(),
                    first.decision.clone(),
                    second.decision.clone(),
                    decided(second),
                );
                *self.differences.entry(key).or_default() += 1;
            }
        }
        if first.decision != "allow" {
            let key = (
                first.decision.clone(),
                tool.to_owned(),
                call.to_owned(),
                decided(first),
            );
            *self.stopped.entry(key).or_default() += 1;
        }
    }

    fn all(&self) -> (Tally, Tally) {
        let mut all = (Tally::default(), Tally::default());
        for (first, second) in self.tools.values() {
            for (sum, one) in [(&mut all.0, first), (&mut all.1, second)] {
                sum.allow += one.allow;
                sum.ask += one.ask;
                sum.deny += one.deny;
            }
        }
        all
    }

    fn print(&self, options: &ReplayOptions) {
        let (first, second) = self.all();
        output::line(&format!(
            "{} transcripts, {} calls: {} allowed, {} asked, {} denied",
            self.transcripts,
            first.calls(),
            first.allow,
            first.ask,
            first.deny
        ));
        self.gaps.print();
        if self.moved > 0 {
            output::notice(&format!(
                "the directories of {} transcripts are not here: their calls are judged as in {}",
                self.moved,
                self.options
                    .place
                    .workspace_directory()
                    .unwrap_or_default()
                    .display()
            ));
        }
        output::line("");
        let mut headings = vec!["TOOL", "CALLS", "ALLOW", "ASK", "DENY"];
        if self.compares() {
            headings.extend(["THEN: ALLOW", "ASK", "DENY"]);
        }
        let rows: Vec<Vec<String>> = self
            .tools
            .iter()
            .map(|(tool, (first, second))| {
                let mut row = vec![output::call_line(tool), first.calls().to_string()];
                let mut tallies = vec![first];
                if self.compares() {
                    tallies.push(second);
                }
                for tally in tallies {
                    row.extend([tally.allow, tally.ask, tally.deny].map(|n| n.to_string()));
                }
                row
            })
            .collect();
        output::table(&headings, &rows);
        let limit = if options.all { usize::MAX } else { LISTED };
        if self.compares() {
            output::line("");
            output::line(&format!(
                "decided differently: {} calls ({} asks before, {} then)",
                self.differences.values().sum::<usize>(),
                first.ask,
                second.ask
            ));
            let lines = ranked(&self.differences);
            for ((tool, call, before, after, by), count) in lines.iter().take(limit) {
                output::line(&format!(
                    "  {count} × {before} → {after}  {tool} {}  ({by})",
                    output::call_line(call)
                ));
            }
            more(lines.len(), limit);
        } else if !self.stopped.is_empty() {
            output::line("");
            output::line("asked about or denied, most often first:");
            let lines = ranked(&self.stopped);
            for ((decision, tool, call, by), count) in lines.iter().take(limit) {
                output::line(&format!(
                    "  {count} × {decision}  {tool} {}  ({by})",
                    output::call_line(call)
                ));
            }
            more(lines.len(), limit);
        }
    }

    fn value(&self) -> Value {
        let (first, second) = self.all();
        let tools: Vec<Value> = self
            .tools
            .iter()
            .map(|(tool, (first, second))| {
                let mut value = first.value();
                value["tool"] = tool.clone().into();
                if self.compares() {
                    value["then"] = second.value();
                }
                value
            })
            .collect();
        let mut value = json!({
            "transcripts": self.transcripts,
            "movedTranscripts": self.moved,
            "complete": self.gaps.is_empty(),
            "unread": self.gaps.value(),
            "all": first.value(),
            "tools": tools,
            "stopped": ranked(&self.stopped).iter().map(|((decision, tool, call, by), count)| json!({
                "decision": decision, "tool": tool, "call": call, "decidedBy": by, "count": count,
            })).collect::<Vec<_>>(),
        });
        if self.compares() {
            value["then"] = second.value();
            value["differences"] = ranked(&self.differences)
                .iter()
                .map(|((tool, call, before, after, by), count)| {
                    json!({
                        "tool": tool, "call": call, "before": before, "then": after,
                        "decidedBy": by, "count": count,
                    })
                })
                .collect();
        }
        self.notes.put_into(&mut value);
        value
    }
}

/// Most often first.
fn ranked<K: Ord + Clone>(counts: &BTreeMap<K, usize>) -> Vec<(K, usize)> {
    let mut ranked: Vec<(K, usize)> = counts
        .iter()
        .map(|(key, count)| (key.clone(), *count))
        .collect();
    ranked.sort_by(|left, right| right.1.cmp(&left.1).then_with(|| left.0.cmp(&right.0)));
    ranked
}

fn more(lines: usize, limit: usize) {
    if lines > limit {
        output::line(&format!("  and {} more (--all lists them)", lines - limit));
    }
}

/// Ids of the rules, or the error that the call would end with before any rule is asked.
fn decided(report: &CheckReport) -> String {
    match &report.error_code {
        Some(code) if report.decided_by.is_empty() => code.clone(),
        _ => report.decided_by.join(", "),
    }
}

/// What people know a call by.
fn shown(args: &Value) -> String {
    let known = ["command", "path", "url", "pattern"];
    let found = known.iter().find_map(|name| args.get(*name)?.as_str());
    found.map_or_else(|| args.to_string(), str::to_owned)
}

/// Another directory in place of the recorded one, wherever an argument names it.
fn replace_directory(value: &mut Value, from: &str, to: &str) {
    match value {
        Value::String(text) if from.len() > 1 => *text = text.replace(from, to),
        Value::Array(values) => values
            .iter_mut()
            .for_each(|value| replace_directory(value, from, to)),
        Value::Object(members) => members
            .iter_mut()
            .for_each(|(_, value)| replace_directory(value, from, to)),
        _ => {}
    }
}
