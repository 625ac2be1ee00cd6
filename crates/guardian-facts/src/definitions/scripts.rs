//! Scripts of `package.json`.

use std::path::Path;

use serde_json::{Map, Value};

use super::Look;

/// Words by which a script runs other scripts of the same file.
const RUNNERS: &[&str] = &[
    "npm",
    "pnpm",
    "yarn",
    "bun",
    "run-s",
    "run-p",
    "npm-run-all",
    "npm-run-all2",
    "wireit",
];

/// Words by which a script that runs scripts may run those of another directory.
const ELSEWHERE: &[&str] = &[
    "cd",
    "pushd",
    "-C",
    "--cwd",
    "--dir",
    "--prefix",
    "-w",
    "-ws",
    "--workspace",
    "--workspaces",
    "workspace",
    "workspaces",
    "-r",
    "--recursive",
    "--filter",
    "-F",
    "lerna",
    "turbo",
    "nx",
    "exec",
];

impl Look<'_> {
    /// `npm test`, `pnpm run build`, `yarn lint`.
    pub(super) fn scripts(&mut self, tool: &str, words: &[&str], cwd: &Path) {
        let Some(script) = script_of(tool, words) else {
            return self.undetermined(Path::new(""), "");
        };
        let Some(file) = self.package_file(cwd) else {
            return self.undetermined(Path::new(""), &format!("script {script}"));
        };
        let part = format!("script {script}");
        let scripts = self.text(&file).and_then(|text| scripts_in(&text));
        let text = scripts.and_then(|scripts| definition(&scripts, script));
        self.package(&file, &part, text);
    }

    /// All scripts of the package of a directory, where there is one.
    pub(super) fn all_scripts(&mut self, directory: &Path) {
        let Some(file) = self.package_file(directory) else {
            return;
        };
        if self.is_full() || !self.seen.insert(file.join("all scripts")) {
            return;
        }
        let scripts = self.text(&file).and_then(|text| scripts_in(&text));
        let text = scripts.and_then(|scripts| all(&scripts));
        self.package(&file, "scripts", text);
    }

    fn package(&mut self, file: &Path, part: &str, text: Option<String>) {
        let Some(text) = text else {
            return self.undetermined(file, part);
        };
        self.defined(file, part, &text, true);
        let directory = file.parent().unwrap_or(Path::new("")).to_owned();
        self.named(&text, &[directory], RUNNERS);
    }

    /// The nearest `package.json`, as the package managers look for it.
    fn package_file(&self, cwd: &Path) -> Option<std::path::PathBuf> {
        for directory in self.upwards(cwd) {
            let file = directory.join("package.json");
            if self.is_file(&file) {
                return Some(file);
            }
            // Of these directories each manager thinks otherwise.
            let modules = directory.join("node_modules");
            if self.cx.probe.resolve(&modules).kind.is_some()
                || self.cx.probe.resolve(&file).kind.is_some()
            {
                return None;
            }
        }
        None
    }
}

/// Which script a command line runs; `None` when it is not one, or not for certain.
fn script_of<'w>(tool: &str, words: &[&'w str]) -> Option<&'w str> {
    let quiet = |word: &&&str| !matches!(**word, "--silent" | "-s" | "--if-present");
    let mut rest = words.iter().filter(quiet);
    let verb = *rest.next()?;
    let runs = matches!(
        (tool, verb),
        (_, "run") | ("npm", "run-script" | "rum" | "urn")
    );
    let script = if runs {
        *rest.next()?
    } else {
        match (tool, verb) {
            ("npm", "test" | "t" | "tst") => "test",
            ("npm", "start" | "stop") => verb,
            ("pnpm" | "yarn", "test" | "start" | "build" | "dev" | "lint" | "stop") => verb,
            ("pnpm", "t") => "test",
            (
                "pnpm" | "yarn",
                "serve" | "preview" | "format" | "typecheck" | "check" | "watch" | "clean",
            ) => verb,
            // `bun test` is a runner of its own, `exec` and `x` run a package.
            _ => return None,
        }
    };
    if script.starts_with('-') {
        return None;
    }
    // npm takes options of its own up to `--`.
    if tool == "npm" {
        let own = rest.take_while(|word| **word != "--");
        if own.into_iter().any(|word| word.starts_with('-')) {
            return None;
        }
    }
    Some(script)
}

fn scripts_in(text: &str) -> Option<Map<String, Value>> {
    let package: Value = serde_json::from_str(text).ok()?;
    match package.get("scripts")? {
        Value::Object(scripts) => Some(scripts.clone()),
        _ => None,
    }
}

/// The script with what runs before and after it; all scripts, where it runs others.
fn definition(scripts: &Map<String, Value>, script: &str) -> Option<String> {
    let text_of = |name: &str| scripts.get(name).and_then(Value::as_str);
    text_of(script)?;
    let (before, after) = (format!("pre{script}"), format!("post{script}"));
    let own: Vec<(&str, &str)> = [before.as_str(), script, after.as_str()]
        .into_iter()
        .filter_map(|name| Some((name, text_of(name)?)))
        .collect();
    if !own.iter().any(|(_, text)| mentions(text, RUNNERS)) {
        return Some(lines(&own));
    }
    all(scripts)
}

/// All scripts; `None` where one may run those of another directory.
fn all(scripts: &Map<String, Value>) -> Option<String> {
    let mut all: Vec<(&str, &str)> = scripts
        .iter()
        .filter_map(|(name, text)| Some((name.as_str(), text.as_str()?)))
        .collect();
    all.sort_unstable();
    if all.iter().any(|(_, text)| mentions(text, ELSEWHERE)) {
        return None;
    }
    Some(lines(&all))
}

fn lines(scripts: &[(&str, &str)]) -> String {
    scripts
        .iter()
        .map(|(name, text)| format!("{name}: {text}\n"))
        .collect()
}

/// One of the words stands in the text, bounded by what cannot be part of a word.
fn mentions(text: &str, words: &[&str]) -> bool {
    text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '-' | '_')))
        .any(|part| words.contains(&part))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKAGE: &str = r#"{"scripts": {
        "test": "jest", "pretest": "tsc", "build": "vite build", "ci": "npm run build",
        "deploy": "node deploy.js"
    }}"#;

    #[track_caller]
    fn check(script: &str, expected: Option<&str>) {
        let scripts = scripts_in(PACKAGE).unwrap();
        assert_eq!(definition(&scripts, script).as_deref(), expected);
    }

    #[test]
    fn a_script_is_defined_by_its_text_and_what_runs_around_it() {
        check("test", Some("pretest: tsc\ntest: jest\n"));
        check("build", Some("build: vite build\n"));
        check("missing", None);
    }

    #[test]
    fn a_script_that_runs_others_is_defined_by_all_of_them() {
        check(
            "ci",
            Some(
                "build: vite build\nci: npm run build\ndeploy: node deploy.js\npretest: tsc\ntest: jest\n",
            ),
        );
        let scripts = scripts_in(r#"{"scripts": {"ci": "cd api && npm test"}}"#).unwrap();
        assert_eq!(definition(&scripts, "ci"), None, "of another directory");
    }

    #[test]
    fn only_a_script_that_is_certain_is_named() {
        for (tool, words, expected) in [
            ("npm", "test", Some("test")),
            ("npm", "run build -- --watch", Some("build")),
            ("npm", "--silent run build", Some("build")),
            ("npm", "run build --prefix ../x", None),
            ("npm", "--prefix ../x run build", None),
            ("npm", "run", None),
            ("npm", "exec x", None),
            ("pnpm", "lint --fix", Some("lint")),
            ("pnpm", "-r test", None),
            ("yarn", "run x", Some("x")),
            ("yarn", "workspace a test", None),
            ("bun", "test", None),
            ("bun", "run --bun x", None),
        ] {
            let words: Vec<&str> = words.split(' ').collect();
            assert_eq!(script_of(tool, &words), expected, "{tool} {words:?}");
        }
    }
}
