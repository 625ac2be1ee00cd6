//! Files that the file of a tool takes in.

use std::path::Path;

use super::Look;
use super::tools::{Leads, Tool};

impl Look<'_> {
    /// Follows what the text of a file leads to.
    pub(super) fn leads(&mut self, file: &Path, text: &str, tool: &'static Tool) {
        let leads = tool.leads;
        let directory = file.parent().unwrap_or(Path::new(""));
        let names = match leads {
            Leads::Nowhere => Some(Vec::new()),
            Leads::Words(words) => {
                let mut pieces = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
                let untold = pieces.any(|piece| words.contains(&piece));
                (!untold).then(Vec::new)
            }
            Leads::Just => just(text),
            Leads::Ninja => ninja(text),
            Leads::Maven => maven(text),
            Leads::Gradle => gradle(text),
        };
        let Some(names) = names else {
            return self.undetermined(file, "");
        };
        for name in names {
            let path = directory.join(&name);
            match leads {
                Leads::Maven if !name.ends_with(".xml") => {
                    self.taken_in(&path.join("pom.xml"), tool);
                }
                Leads::Gradle => {
                    for script in ["build.gradle", "build.gradle.kts", "gradle.properties"] {
                        self.settings(&path.join(script), tool);
                    }
                }
                // Not there now; once it is, this is another definition.
                _ if self.cx.probe.resolve(&path).kind.is_none() && name == ".env" => {}
                _ => self.taken_in(&path, tool),
            }
        }
        if leads == Leads::Gradle
            && self
                .cx
                .probe
                .resolve(&directory.join("buildSrc"))
                .kind
                .is_some()
        {
            self.undetermined(&directory.join("buildSrc"), "");
        }
    }

    fn taken_in(&mut self, path: &Path, tool: &'static Tool) {
        if self.cx.probe.resolve(path).kind.is_none() {
            return self.undetermined(path, "");
        }
        self.settings(path, tool);
    }
}

/// Files that a justfile takes in; `None` where it cannot be told.
fn just(text: &str) -> Option<Vec<String>> {
    let mut names = Vec::new();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let first = words.next().unwrap_or_default();
        match first {
            "mod" | "mod?" => return None,
            "import" | "import?" => {
                let rest = line.trim_start().strip_prefix(first)?.trim();
                let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
                let name = rest.get(1..)?.split(quote).next()?;
                if name.is_empty() || name.contains(['\\', '~', '$', '{', '"', '\'']) {
                    return None;
                }
                names.push(name.to_owned());
            }
            "set" => {
                let setting = words.next().unwrap_or_default();
                match setting.trim_end_matches(":=") {
                    "dotenv-load" => names.push(".env".to_owned()),
                    setting
                        if setting.starts_with("dotenv")
                            || setting == "working-directory"
                            || setting == "tempdir" =>
                    {
                        return None;
                    }
                    _ => {}
                }
            }
            _ => {}
        }
        if line.contains("[working-directory") {
            return None;
        }
    }
    Some(names)
}

/// Files that a ninja file takes in; `None` where it cannot be told, and where ninja would write
/// the file afresh before it reads it.
fn ninja(text: &str) -> Option<Vec<String>> {
    let text = text.replace("$\r\n", " ").replace("$\n", " ");
    let mut names = Vec::new();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        match words.next() {
            Some("include" | "subninja") => {
                let name = words.next()?;
                if name.contains('$') || words.next().is_some() {
                    return None;
                }
                names.push(name.to_owned());
            }
            Some("build") => {
                let outputs = line.split(':').next().unwrap_or_default();
                if outputs.contains(['$', '|']) || outputs.contains(".ninja") {
                    return None;
                }
            }
            _ => {}
        }
    }
    let written = |name: &String| {
        text.lines()
            .filter(|line| line.trim_start().starts_with("build"))
            .any(|line| {
                line.split_whitespace()
                    .any(|word| word.trim_end_matches(':') == name)
            })
    };
    (!names.iter().any(written)).then_some(names)
}

/// Modules and parents of a `pom.xml`.
fn maven(text: &str) -> Option<Vec<String>> {
    let mut names = Vec::new();
    for tag in ["module", "relativePath", "subproject"] {
        let (open, close) = (format!("<{tag}>"), format!("</{tag}>"));
        for part in text.split(&open).skip(1) {
            let name = part.split(&close).next()?.trim();
            if name.contains(['$', '<', '>', '&']) || name.len() > 512 {
                return None;
            }
            if !name.is_empty() {
                names.push(name.to_owned());
            }
        }
    }
    (!text.contains("<!ENTITY")).then_some(names)
}

/// Projects that a `settings.gradle` takes in.
fn gradle(text: &str) -> Option<Vec<String>> {
    let untold = [
        "projectDir",
        "includeBuild",
        "buildFileName",
        "includeFlat",
        "apply from",
        "apply(from",
    ];
    let close: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if untold.iter().any(|word| close.contains(word))
        || close.contains("from =")
        || close.contains("from:")
    {
        return None;
    }
    let mut names = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let trimmed = line.trim_start();
        let Some(rest) = trimmed.strip_prefix("include") else {
            continue;
        };
        if !rest.starts_with([' ', '(', '\t']) {
            continue;
        }
        let mut list = rest.to_owned();
        while list.trim_end().ends_with([',', '(']) {
            list.push_str(lines.next()?);
        }
        let mut quoted = list.split(['"', '\'']).skip(1).step_by(2);
        let before = names.len();
        for name in quoted.by_ref() {
            if name.contains(['$', '\\', '.', '~']) {
                return None;
            }
            names.push(name.trim_start_matches(':').replace(':', "/"));
        }
        if names.len() == before {
            return None;
        }
    }
    Some(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_justfile_leads_to_its_imports() {
        assert_eq!(
            just("a:\n  echo\nimport 'a.just'\nset dotenv-load\n"),
            Some(vec!["a.just".into(), ".env".into()])
        );
        assert_eq!(just("mod sub\n"), None);
        assert_eq!(just("set dotenv-filename := 'x'\n"), None);
        assert_eq!(just("import x\n"), None);
    }

    #[test]
    fn a_ninja_file_leads_to_what_it_includes_unless_it_is_written_afresh() {
        assert_eq!(
            ninja("include a\nbuild x: cc y\nsubninja b\n"),
            Some(vec!["a".into(), "b".into()])
        );
        assert_eq!(ninja("include $x\n"), None);
        assert_eq!(ninja("build $\n  build.ninja: gen x\n"), None);
        assert_eq!(ninja("include a\nbuild a: gen x\n"), None);
        assert_eq!(ninja("build $x: gen y\n"), None);
    }

    #[test]
    fn projects_lead_to_their_parts() {
        assert_eq!(
            maven("<modules><module>a</module>\n<module> b </module></modules>"),
            Some(vec!["a".into(), "b".into()])
        );
        assert_eq!(maven("<module>${x}</module>"), None);
        assert_eq!(
            gradle("include(\":a\", \":b:c\")\ninclude 'd',\n 'e'\n"),
            Some(vec!["a".into(), "b/c".into(), "d".into(), "e".into()])
        );
        assert_eq!(gradle("apply from: 'x.gradle'\n"), None);
        assert_eq!(gradle("apply(from = \"x\")\n"), None);
        assert_eq!(gradle("include(names)\n"), None);
        assert_eq!(gradle("includeBuild 'x'\n"), None);
    }
}
