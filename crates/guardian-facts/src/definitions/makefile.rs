//! Rules of a Makefile.
//!
//! Not make: a cut of the text into rules that errs towards taking more of it. What this reader
//! does not know (conditions, `define`, names that are computed) takes the whole file; what may
//! lead to another file leaves the definition undetermined.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::Look;

impl Look<'_> {
    /// `make`, `make -j4 test`, `make -C api test`.
    pub(super) fn makefile(&mut self, words: &[&str], cwd: &Path) {
        let Some(call) = MakeCall::read(words, cwd) else {
            return self.undetermined(Path::new(""), "");
        };
        let file = match &call.file {
            Some(file) => Some(file.clone()),
            None => self.default_makefile(&call.directory),
        };
        let part = match call.goals.as_slice() {
            [] => "first target".to_owned(),
            goals => format!("target {}", goals.join(" ")),
        };
        let Some(file) = file else {
            return self.undetermined(Path::new(""), &part);
        };
        let Some(text) = self.text(&file) else {
            return self.undetermined(&file, &part);
        };
        match cut(&text, &call.goals) {
            Some(cut) => self.makefile_as(&file, &call, &part, &text, cut),
            None => self.undetermined(&file, &part),
        }
    }

    /// The whole Makefile of a directory, where there is one.
    pub(super) fn whole_makefile(&mut self, directory: &Path) {
        let Some(file) = self.default_makefile(directory) else {
            return;
        };
        if self.is_full() || !self.seen.insert(file.join("whole")) {
            return;
        }
        let call = MakeCall {
            directory: directory.to_owned(),
            file: None,
            goals: Vec::new(),
            always: false,
        };
        let text = self.text(&file);
        match text
            .as_deref()
            .filter(|text| !leads_elsewhere(text))
            .and_then(|text| Some((text, includes(text)?)))
        {
            Some((text, includes)) => {
                let cut = Cut {
                    text: text.to_owned(),
                    includes,
                };
                self.makefile_as(&file, &call, "", text, cut);
            }
            None => self.undetermined(&file, ""),
        }
    }

    fn default_makefile(&self, directory: &Path) -> Option<PathBuf> {
        ["GNUmakefile", "makefile", "Makefile"]
            .iter()
            .map(|name| directory.join(name))
            .find(|file| self.cx.probe.resolve(file).kind.is_some())
    }

    fn makefile_as(&mut self, file: &Path, call: &MakeCall<'_>, part: &str, text: &str, cut: Cut) {
        self.defined(file, part, &cut.text, true);
        let own = ["make", "gmake"];
        let bases = [call.directory.clone()];
        self.named(&cut.text, &bases, &own);
        let mut whole = text.to_owned();
        let mut makefiles = vec![file.to_owned()];
        for name in &cut.includes {
            let path = call.directory.join(name);
            makefiles.push(path.clone());
            match self.text(&path) {
                Some(text)
                    if !leads_elsewhere(&text)
                        && includes(&text).is_some_and(|more| more.is_empty()) =>
                {
                    self.defined(&path, "", &text, true);
                    self.named(&text, &bases, &own);
                    whole.push('\n');
                    whole.push_str(&text);
                }
                // An optional file that is not there; once it is, this is another definition.
                None if self.cx.probe.resolve(&path).kind.is_none() => {}
                _ => self.undetermined(&path, ""),
            }
        }
        // Make may write the files that it reads afresh, and then reads them again.
        for path in makefiles {
            if self.is_remade(&path, &call.directory, &whole, call.always) {
                self.undetermined(&path, "written afresh");
            }
        }
    }
}

/// Where make looks and for what.
struct MakeCall<'w> {
    directory: PathBuf,
    file: Option<PathBuf>,
    goals: Vec<&'w str>,
    /// Everything counts as out of date.
    always: bool,
}

impl<'w> MakeCall<'w> {
    /// `None` for options that are not known here.
    fn read(words: &[&'w str], cwd: &Path) -> Option<Self> {
        let mut call = Self {
            directory: cwd.to_owned(),
            file: None,
            goals: Vec::new(),
            always: false,
        };
        let mut file: Option<&str> = None;
        let mut words = words.iter().copied();
        while let Some(word) = words.next() {
            match word {
                "-C" => call.directory = call.directory.join(words.next()?),
                "-B" | "--always-make" => call.always = true,
                "-f" if file.is_none() => file = Some(words.next()?),
                "-s"
                | "-k"
                | "-i"
                | "-j"
                | "-q"
                | "-n"
                | "-w"
                | "--silent"
                | "--keep-going"
                | "--no-print-directory" => {}
                _ if word
                    .strip_prefix("-j")
                    .is_some_and(|jobs| jobs.bytes().all(|byte| byte.is_ascii_digit())) => {}
                _ if word.starts_with('-') => return None,
                // Settings are words of the call itself; these choose what make reads or runs.
                _ if ["SHELL=", "MAKEFILES=", "MAKEFLAGS=", ".SHELLFLAGS="]
                    .iter()
                    .any(|name| word.starts_with(name)) =>
                {
                    return None;
                }
                _ if word.contains('=') => {}
                _ => call.goals.push(word),
            }
        }
        call.file = file.map(|file| call.directory.join(file));
        Some(call)
    }
}

/// The part of a Makefile that goals need.
struct Cut {
    text: String,
    /// Names of included files, literal.
    includes: Vec<String>,
}

struct Rule<'t> {
    targets: Vec<&'t str>,
    needs: Vec<&'t str>,
    lines: Vec<&'t str>,
}

impl Rule<'_> {
    /// Counts whatever the goal is: patterns, computed names, special targets.
    fn always(&self) -> bool {
        self.targets
            .iter()
            .any(|target| target.contains(['%', '$', '*', '?']) || target.starts_with('.'))
    }
}

/// `None` when another directory or a computed file name takes part.
fn cut(text: &str, goals: &[&str]) -> Option<Cut> {
    let includes = includes(text)?;
    if leads_elsewhere(text) || text.lines().any(loads_code) {
        return None;
    }
    let whole = || {
        Some(Cut {
            text: text.to_owned(),
            includes: includes.clone(),
        })
    };
    let Some((globals, rules)) = parse(text) else {
        return whole();
    };
    let first = rules
        .iter()
        .find(|rule| !rule.always())
        .and_then(|rule| rule.targets.first().copied());
    let mut wanted: Vec<&str> = if goals.is_empty() {
        first.into_iter().collect()
    } else {
        goals.to_vec()
    };
    let mut taken: BTreeSet<usize> = BTreeSet::new();
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let always = (0..rules.len()).filter(|index| rules[*index].always());
    let mut queue: Vec<usize> = always.collect();
    while let Some(name) = wanted.pop() {
        if !seen.insert(name) {
            continue;
        }
        let of_name = |index: &usize| rules[*index].targets.contains(&name);
        queue.extend((0..rules.len()).filter(of_name));
        while let Some(index) = queue.pop() {
            if !taken.insert(index) {
                continue;
            }
            if rules[index].lines.iter().copied().any(starts_make) {
                return whole();
            }
            for need in &rules[index].needs {
                if need.contains('$') {
                    return whole();
                }
                wanted.push(need);
            }
        }
    }
    let mut lines = globals;
    lines.extend(
        taken
            .iter()
            .flat_map(|index| rules[*index].lines.iter().copied()),
    );
    Some(Cut {
        text: lines.join("\n") + "\n",
        includes,
    })
}

/// Lines outside of rules, and rules; `None` for a file with more than plain rules.
fn parse(text: &str) -> Option<(Vec<&str>, Vec<Rule<'_>>)> {
    let mut globals = Vec::new();
    let mut rules: Vec<Rule<'_>> = Vec::new();
    let mut in_rule = false;
    // The line before ended with a backslash: in a rule, or outside.
    let mut continued: Option<bool> = None;
    for line in text.lines() {
        let goes_on = line.ends_with('\\');
        if let Some(of_rule) = continued {
            match rules.last_mut().filter(|_| of_rule) {
                Some(rule) => rule.lines.push(line),
                None => globals.push(line),
            }
            continued = goes_on.then_some(of_rule);
            continue;
        }
        if line.starts_with('\t') {
            match rules.last_mut().filter(|_| in_rule) {
                Some(rule) => rule.lines.push(line),
                None => globals.push(line),
            }
            continued = goes_on.then_some(in_rule);
            continue;
        }
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with('#') {
            // A comment that goes on would swallow the next line.
            if goes_on {
                return None;
            }
            continue;
        }
        let word = trimmed.split_whitespace().next().unwrap_or_default();
        if matches!(
            word,
            "define"
                | "endef"
                | "ifeq"
                | "ifneq"
                | "ifdef"
                | "ifndef"
                | "else"
                | "endif"
                | "vpath"
                | "VPATH"
        ) || line.contains("$(eval")
            || line.contains("${eval")
            || line.contains(".RECIPEPREFIX")
            || line.contains(".DEFAULT_GOAL")
            || line.contains(".SECONDEXPANSION")
            || line.contains(".ONESHELL")
        {
            return None;
        }
        match rule_head(trimmed) {
            Some((targets, needs)) => {
                // A head over several lines is not taken apart.
                if goes_on {
                    return None;
                }
                in_rule = true;
                if targets == [".PHONY"] {
                    // A list of names, which says nothing about what they do.
                    in_rule = false;
                    continue;
                }
                rules.push(Rule {
                    targets,
                    needs,
                    lines: vec![line],
                });
            }
            None => {
                in_rule = false;
                globals.push(line);
                continued = goes_on.then_some(false);
            }
        }
    }
    Some((globals, rules))
}

/// Targets and prerequisites of a line that opens a rule; `None` for a setting.
pub(super) fn rule_head(line: &str) -> Option<(Vec<&str>, Vec<&str>)> {
    let colon = line.find(':')?;
    let (targets, rest) = line.split_at(colon);
    if targets.contains('=') {
        return None;
    }
    let rest = rest.trim_start_matches(':');
    if rest.starts_with('=') {
        return None;
    }
    let needs = rest.split(';').next().unwrap_or_default();
    let needs = needs.split('#').next().unwrap_or_default();
    let needs = needs
        .split_whitespace()
        .filter(|word| *word != "|")
        .collect();
    Some((targets.split_whitespace().collect(), needs))
}

/// The files that are included by literal names; `None` when a name is computed.
fn includes(text: &str) -> Option<Vec<String>> {
    let mut names = Vec::new();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        if !matches!(words.next(), Some("include" | "-include" | "sinclude")) {
            continue;
        }
        for name in words {
            if name.starts_with('#') {
                break;
            }
            if name.contains(['$', '*', '?', '[', '~', '\\']) {
                return None;
            }
            names.push(name.to_owned());
        }
    }
    Some(names)
}

/// A shared object becomes part of make, or the names of further files are made while it reads.
fn loads_code(line: &str) -> bool {
    let first = line.split_whitespace().next();
    matches!(first, Some("load" | "-load")) || (line.contains("eval") && line.contains("include"))
}

fn starts_make(line: &str) -> bool {
    line.contains("$(MAKE)")
        || line.contains("${MAKE}")
        || line
            .split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-'))
            .any(|word| word == "make" || word == "gmake")
}

/// Make may be started in another directory or with another file.
fn leads_elsewhere(text: &str) -> bool {
    text.lines().any(|line| {
        starts_make(line)
            && line
                .split(|c: char| c.is_whitespace() || matches!(c, ';' | '&' | '('))
                .any(|word| {
                    matches!(word, "cd" | "pushd")
                        || word.starts_with("-C")
                        || word.starts_with("-f")
                        || word.starts_with("--dir")
                        || word.starts_with("--file")
                        || word.starts_with("--makefile")
                })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAKEFILE: &str = "CC = gcc\n\nall: build test\n\nbuild: src.c\n\t$(CC) src.c\n\ntest: build\n\t./run \\\n\t  all\n\ndeploy:\n\t./deploy\n\n.PHONY: all test deploy\n";

    #[track_caller]
    fn text_of(makefile: &str, goals: &[&str]) -> String {
        cut(makefile, goals).unwrap().text
    }

    #[test]
    fn a_target_is_defined_by_its_rule_what_it_needs_and_the_settings() {
        let test = text_of(MAKEFILE, &["test"]);
        assert_eq!(
            test,
            "CC = gcc\nbuild: src.c\n\t$(CC) src.c\ntest: build\n\t./run \\\n\t  all\n"
        );
        assert!(text_of(MAKEFILE, &[]).contains("all: build test"));
        assert!(!text_of(MAKEFILE, &[]).contains("deploy"));
    }

    #[test]
    fn another_target_changes_nothing_and_a_setting_does() {
        let other = MAKEFILE.replace("./deploy", "./deploy --now");
        assert_eq!(text_of(&other, &["test"]), text_of(MAKEFILE, &["test"]));
        let other = MAKEFILE.replace("gcc", "evil");
        assert_ne!(text_of(&other, &["test"]), text_of(MAKEFILE, &["test"]));
        let other = MAKEFILE.replace("$(CC) src.c", "evil");
        assert_ne!(text_of(&other, &["test"]), text_of(MAKEFILE, &["test"]));
    }

    #[test]
    fn what_is_not_understood_takes_the_whole_file() {
        for more in [
            "ifdef X\nx:\n\ty\nendif\n",
            "define z\n\ta\nendef\n",
            "$(eval test: evil)\n",
            "%.o: %.c $(DEPS)\n\tcc\n",
            "test: $(EXTRA)\n",
            "x: y \\\n z\n",
        ] {
            let text = format!("{MAKEFILE}{more}");
            assert_eq!(text_of(&text, &["test"]), text, "{more}");
        }
    }

    #[test]
    fn a_rule_by_pattern_or_of_a_special_target_counts_for_every_goal() {
        for more in [
            "%: force\n\tevil\n",
            ".DEFAULT:\n\tevil\n",
            ".c.o:\n\tevil\n",
            "a* :\n\tevil\n",
        ] {
            let text = format!("{MAKEFILE}{more}");
            assert!(text_of(&text, &["test"]).contains("evil"), "{more}");
        }
    }

    #[test]
    fn what_may_lead_to_another_file_is_undetermined() {
        for more in [
            "include $(X)\n",
            "test:\n\t$(MAKE) -C api\n",
            "test:\n\tcd api && make\n",
            "x:\n\t(cd api; ${MAKE} all)\n",
        ] {
            assert!(
                cut(&format!("{MAKEFILE}{more}"), &["test"]).is_none(),
                "{more}"
            );
        }
        let with = cut(&format!("-include local.mk\n{MAKEFILE}"), &["test"]).unwrap();
        assert_eq!(with.includes, ["local.mk"]);
    }

    #[test]
    fn options_that_choose_other_files_are_followed_or_refused() {
        let read = |words: &str| {
            let words: Vec<&str> = words.split(' ').collect();
            MakeCall::read(&words, Path::new("/p"))
                .map(|call| (call.directory, call.file, call.goals.join(" ")))
        };
        assert_eq!(
            read("-C api -f x.mk -j4 test V=1"),
            Some((
                "/p/api".into(),
                Some("/p/api/x.mk".into()),
                "test".to_owned()
            ))
        );
        assert_eq!(read("--eval=x:"), None);
        assert_eq!(read("-I x test"), None);
        assert_eq!(read("SHELL=./evil test"), None);
    }
}
