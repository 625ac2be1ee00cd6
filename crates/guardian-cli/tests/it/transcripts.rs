//! Runs `fixtures/rpc/*.jsonl` against the real executable; the format is in the README there.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::host_process::{HostProcess, World};

macro_rules! transcripts {
    ($($name:ident = $file:literal;)*) => {
        $(#[test] fn $name() { run($file); })*

        #[test]
        fn every_transcript_is_run() {
            let mut there: Vec<_> = std::fs::read_dir(directory())
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .filter(|name| name.ends_with(".jsonl"))
                .collect();
            there.sort();
            let mut run = vec![$($file.to_owned()),*];
            run.sort();
            assert_eq!(there, run);
        }
    };
}

transcripts! {
    abort = "abort.jsonl";
    accept_edits = "accept-edits.jsonl";
    ask_mode = "ask-mode.jsonl";
    asktool = "asktool.jsonl";
    asktool_alone = "asktool-alone.jsonl";
    audit = "audit.jsonl";
    auto = "auto.jsonl";
    bad_input = "bad-input.jsonl";
    claims_are_ignored = "claims-are-ignored.jsonl";
    containment = "containment.jsonl";
    control_tools = "control-tools.jsonl";
    deadline = "deadline.jsonl";
    delegates = "delegates.jsonl";
    delegates_of_the_repository = "delegates-of-the-repository.jsonl";
    denied_with_feedback = "denied-with-feedback.jsonl";
    forty_cards = "forty-cards.jsonl";
    handshake = "handshake.jsonl";
    headless = "headless.jsonl";
    jobs = "jobs.jsonl";
    mode_change_while_waiting = "mode-change-while-waiting.jsonl";
    mutations_in_order = "mutations-in-order.jsonl";
    outside_paths = "outside-paths.jsonl";
    plan_and_goal = "plan-and-goal.jsonl";
    plan_approve = "plan-approve.jsonl";
    plan_modes = "plan-modes.jsonl";
    plan_refusals = "plan-refusals.jsonl";
    plan_reject = "plan-reject.jsonl";
    plan_restart = "plan-restart.jsonl";
    policy_files = "policy-files.jsonl";
    remembered_answers = "remembered-answers.jsonl";
    role_agent = "role-agent.jsonl";
    rollback = "rollback.jsonl";
    session_rules = "session-rules.jsonl";
    sessions_are_apart = "sessions-are-apart.jsonl";
    swapped_while_waiting = "swapped-while-waiting.jsonl";
    turns = "turns.jsonl";
    without_workspace = "without-workspace.jsonl";
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/rpc")
}

struct Run {
    world: World,
    host: Option<HostProcess>,
    variables: BTreeMap<String, String>,
}

#[track_caller]
fn run(file: &str) {
    let text = std::fs::read_to_string(directory().join(file)).unwrap();
    let world = World::new();
    let variables = [
        ("WS", world.workspace.clone()),
        ("OUT", world.outside.clone()),
        ("HOME", world.home.clone()),
    ]
    .map(|(name, path)| (name.to_owned(), path.display().to_string()))
    .into();
    let mut run = Run {
        world,
        host: None,
        variables,
    };
    let mut ended = false;
    for (index, line) in text.lines().enumerate() {
        let step: Value = serde_json::from_str(line).unwrap();
        eprintln!("{file}:{} {line:.200}", index + 1);
        ended |= run.step(&step);
    }
    assert!(ended, "{file} does not end the host");
}

impl Run {
    /// True when the step ended the host.
    fn step(&mut self, step: &Value) -> bool {
        let text = |key: &str| {
            step.get(key)
                .and_then(Value::as_str)
                .map(|s| self.substitute(s))
        };
        if step.get("note").is_some() {
        } else if let Some(config) = text("config") {
            self.world.write_config(&config);
        } else if let Some(path) = text("file") {
            self.make_parent(&path);
            std::fs::write(self.path(&path), text("text").unwrap()).unwrap();
        } else if let Some(path) = text("dir") {
            std::fs::create_dir_all(self.path(&path)).unwrap();
        } else if let Some(path) = text("link") {
            std::os::unix::fs::symlink(text("to").unwrap(), self.path(&path)).unwrap();
        } else if let Some(path) = text("fifo") {
            let made = std::process::Command::new("mkfifo")
                .arg(self.path(&path))
                .status();
            assert!(made.unwrap().success());
        } else if let Some(path) = text("remove") {
            std::fs::remove_file(self.path(&path)).unwrap();
        } else if let Some(path) = text("rename") {
            std::fs::rename(self.path(&path), self.path(&text("to").unwrap())).unwrap();
        } else if let Some(path) = text("fileIs") {
            let bytes = std::fs::read(self.path(&path)).unwrap_or_else(|e| panic!("{path}: {e}"));
            assert_eq!(
                String::from_utf8_lossy(&bytes),
                text("text").unwrap(),
                "{path}"
            );
        } else if let Some(path) = text("fileMissing") {
            let found = self.path(&path).symlink_metadata();
            assert!(found.is_err() || self.is_link(&path), "{path} is there");
        } else if let Some(request) = step.get("send") {
            let request = self.substitute_value(request);
            self.host().send(request);
        } else if let Some(line) = text("raw") {
            self.host().send_line(line.as_bytes());
        } else if let Some(Value::Array(parts)) = step.get("rawRepeat") {
            let times = usize::try_from(parts[1].as_u64().unwrap()).unwrap();
            let line = parts[0].as_str().unwrap().repeat(times);
            self.host().send_line(line.as_bytes());
        } else if let Some(Value::Array(bytes)) = step.get("rawBytes") {
            let bytes: Vec<u8> = bytes
                .iter()
                .map(|b| u8::try_from(b.as_u64().unwrap()).unwrap())
                .collect();
            self.host().send_line(&bytes);
        } else if let Some(pattern) = step.get("want") {
            self.want(pattern);
        } else if let Some(pattern) = step.get("absent") {
            self.absent(pattern);
        } else if let Some(how) = text("restart") {
            let mut host = self.host.take().unwrap();
            match how.as_str() {
                "end" => assert_eq!(host.end(), Some(0)),
                "kill" => drop(host.kill()),
                other => panic!("unknown restart {other}"),
            }
        } else if let Some(code) = step.get("end").and_then(Value::as_i64) {
            let got = self.host().end();
            assert_eq!(got.map(i64::from), Some(code), "exit code");
            return true;
        } else {
            panic!("unknown step {step}");
        }
        false
    }

    fn want(&mut self, pattern: &Value) {
        let variables = self.variables.clone();
        let mut captured = BTreeMap::new();
        let message = self.host().take(pattern, |message| {
            captured.clear();
            matches(pattern, message, &variables, &mut captured)
        });
        self.variables.append(&mut captured);
        if let Some(scratch) = message
            .pointer("/result/session/scratchDir")
            .and_then(Value::as_str)
        {
            self.variables
                .insert("SCRATCH".to_owned(), scratch.to_owned());
        }
    }

    fn absent(&mut self, pattern: &Value) {
        self.host()
            .send(json!({ "id": "absent?", "method": "app.health" }));
        self.host()
            .take(&"the round trip", |message| message["id"] == "absent?");
        let variables = self.variables.clone();
        let found = self
            .host()
            .waiting
            .iter()
            .find(|message| matches(pattern, message, &variables, &mut BTreeMap::new()));
        assert!(found.is_none(), "came although it should not: {found:?}");
    }

    fn host(&mut self) -> &mut HostProcess {
        self.host
            .get_or_insert_with(|| HostProcess::start(&self.world))
    }

    fn path(&self, path: &str) -> PathBuf {
        self.world.workspace.join(path)
    }

    fn is_link(&self, path: &str) -> bool {
        let path = self.path(path);
        path.is_symlink() && !path.exists()
    }

    fn make_parent(&self, path: &str) {
        if let Some(parent) = self.path(path).parent() {
            std::fs::create_dir_all(parent).unwrap();
        }
    }

    fn substitute(&self, text: &str) -> String {
        substitute(text, &self.variables)
    }

    fn substitute_value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.substitute(text).into(),
            Value::Array(items) => items
                .iter()
                .map(|item| self.substitute_value(item))
                .collect(),
            Value::Object(members) => members
                .iter()
                .map(|(key, value)| (key.clone(), self.substitute_value(value)))
                .collect(),
            other => other.clone(),
        }
    }
}

/// Longest names first, so that `$r_10` is not taken for `$r_1` with a zero behind.
fn substitute(text: &str, variables: &BTreeMap<String, String>) -> String {
    let mut names: Vec<_> = variables.keys().collect();
    names.sort_by_key(|name| std::cmp::Reverse(name.len()));
    let mut text = text.to_owned();
    for name in names {
        text = text.replace(&format!("${name}"), &variables[name]);
    }
    text
}

fn matches(
    pattern: &Value,
    message: &Value,
    variables: &BTreeMap<String, String>,
    captured: &mut BTreeMap<String, String>,
) -> bool {
    match (pattern, message) {
        (Value::Object(pattern), Value::Object(message)) => pattern.iter().all(|(key, pattern)| {
            message
                .get(key)
                .is_some_and(|value| matches(pattern, value, variables, captured))
        }),
        (Value::Array(pattern), Value::Array(message)) => {
            pattern.len() == message.len()
                && pattern
                    .iter()
                    .zip(message)
                    .all(|(pattern, value)| matches(pattern, value, variables, captured))
        }
        (Value::String(pattern), value) => {
            if pattern == "*" {
                return true;
            }
            let Some(text) = value.as_str() else {
                return false;
            };
            if let Some(name) = pattern.strip_prefix("$=") {
                captured.insert(name.to_owned(), text.to_owned());
                return true;
            }
            match pattern.strip_prefix('~') {
                Some(part) => text.contains(&substitute(part, variables)),
                None => text == substitute(pattern, variables),
            }
        }
        (pattern, message) => pattern == message,
    }
}
