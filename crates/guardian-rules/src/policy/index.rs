//! Which rules can apply to a fact at all, so that a thousand rules cost little more than ten.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use guardian_facts::{Access, AccessKind, AccessSource, CommandFact, Target};

use super::rule::{Rule, SubjectKind};

/// Rules by what they are about; the indices are into the policy's rules.
#[derive(Debug, Clone, Default)]
pub(crate) struct Index {
    call: Vec<usize>,
    call_by_tool: HashMap<String, Vec<usize>>,
    command: Vec<usize>,
    command_by_program: HashMap<String, Vec<usize>>,
    access: Vec<usize>,
    access_by_name: HashMap<String, Vec<usize>>,
    access_by_base: HashMap<String, Vec<usize>>,
    /// Rules with a glob that is not anchored, or without globs.
    access_anywhere: Vec<usize>,
    /// Every other access rule, by the directories that its globs are anchored at.
    access_anchored: BTreeMap<String, Vec<usize>>,
    all_access: Vec<usize>,
    endpoint: Vec<usize>,
}

impl Index {
    pub(crate) fn new(rules: &[Rule]) -> Self {
        let mut index = Self::default();
        for (at, rule) in rules.iter().enumerate() {
            match rule.subject {
                SubjectKind::Call => match rule.tool_names() {
                    Some(names) => {
                        let names = names.iter().map(|name| name.to_lowercase()).collect();
                        insert_all(&mut index.call_by_tool, names, at);
                    }
                    None => index.call.push(at),
                },
                SubjectKind::Command => match program_names(rule) {
                    Some(names) => insert_all(&mut index.command_by_program, names, at),
                    None => index.command.push(at),
                },
                SubjectKind::Access => {
                    index.all_access.push(at);
                    index.insert_access(rule, at);
                    index.insert_anchors(rule, at);
                }
                SubjectKind::Endpoint => index.endpoint.push(at),
            }
        }
        index
    }

    /// Files an access rule under the last name or the directory of its globs, when all have one.
    fn insert_access(&mut self, rule: &Rule, at: usize) {
        let Some(globs) = &rule.paths else {
            self.access.push(at);
            return;
        };
        let mut names = Vec::new();
        let mut bases = Vec::new();
        for glob in globs {
            if let Some(name) = literal_name(&glob.written) {
                names.push(name.to_lowercase());
                names.extend(
                    glob.bases
                        .iter()
                        .filter_map(|base| literal_name(base))
                        .map(str::to_lowercase),
                );
            } else if !glob.bases.is_empty() && glob.bases.iter().all(|base| base != "/") {
                bases.extend(glob.bases.iter().map(|base| base.to_lowercase()));
            } else {
                self.access.push(at);
                return;
            }
        }
        insert_all(&mut self.access_by_name, names, at);
        insert_all(&mut self.access_by_base, bases, at);
    }

    fn insert_anchors(&mut self, rule: &Rule, at: usize) {
        let globs = rule.paths.as_deref().unwrap_or_default();
        if globs.is_empty() || globs.iter().any(|glob| glob.bases.is_empty()) {
            self.access_anywhere.push(at);
            return;
        }
        for base in globs.iter().flat_map(|glob| &glob.bases) {
            self.access_anchored
                .entry(base.to_lowercase())
                .or_default()
                .push(at);
        }
    }

    /// Rules that something beneath a directory, or the directory, may match.
    fn beneath(&self, directory: &Path) -> Vec<usize> {
        let mut found = self.access_anywhere.clone();
        for ancestor in directory.ancestors() {
            let ancestor = ancestor.to_string_lossy().to_lowercase();
            found.extend(self.access_anchored.get(&ancestor).into_iter().flatten());
        }
        let text = directory.to_string_lossy().to_lowercase();
        let prefix = format!("{}/", text.trim_end_matches('/'));
        found.extend(
            self.access_anchored
                .range(prefix.clone()..)
                .take_while(|(base, _)| base.starts_with(&prefix))
                .flat_map(|(_, rules)| rules),
        );
        sorted(found)
    }

    /// Rules about the call as a whole.
    pub(crate) fn for_call(&self, tool: &str) -> Vec<usize> {
        let mut found = self.call.clone();
        found.extend(
            self.call_by_tool
                .get(&tool.to_lowercase())
                .into_iter()
                .flatten(),
        );
        found
    }

    /// Some rule is about commands.
    pub(crate) fn has_command_rules(&self) -> bool {
        !(self.command.is_empty() && self.command_by_program.is_empty())
    }

    /// Rules about a command.
    pub(crate) fn for_command(&self, command: &CommandFact) -> Vec<usize> {
        let Some(name) = &command.program.name else {
            let mut all: Vec<usize> = self
                .command_by_program
                .values()
                .flatten()
                .copied()
                .collect();
            all.extend(&self.command);
            return sorted(all);
        };
        let mut found = self.command.clone();
        found.extend(self.command_by_program.get(name).into_iter().flatten());
        let resolved = command
            .program
            .path
            .as_ref()
            .and_then(|path| path.path.file_name());
        if let Some(resolved) = resolved.and_then(|name| name.to_str())
            && resolved != name
        {
            found.extend(self.command_by_program.get(resolved).into_iter().flatten());
        }
        sorted(found)
    }

    /// Rules about an access.
    pub(crate) fn for_access(&self, access: &Access) -> Vec<usize> {
        let path = match &access.target {
            Target::Exact(path) => path,
            Target::Pattern { base, .. } => return self.beneath(&base.path),
            Target::Unknown { .. } => return self.all_access.clone(),
        };
        let written = Path::new(&path.written);
        // as in matching: neither listings nor walks of file tools reach into a directory
        let reaches_in = access.recursive
            && access.kind != AccessKind::List
            && access.source != AccessSource::Walk;
        if reaches_in {
            let mut found = self.beneath(&path.path);
            if written.is_absolute() && written != path.path {
                found.extend(self.beneath(written));
            }
            return sorted(found);
        }
        let mut found = self.access.clone();
        let spellings = [
            Some(path.path.as_path()),
            written.is_absolute().then_some(written),
        ];
        for spelling in spellings.into_iter().flatten() {
            if let Some(name) = spelling.file_name() {
                let name = name.to_string_lossy().to_lowercase();
                found.extend(self.access_by_name.get(&name).into_iter().flatten());
            }
            if !self.access_by_base.is_empty() {
                for ancestor in spelling.ancestors() {
                    let ancestor = ancestor.to_string_lossy().to_lowercase();
                    found.extend(self.access_by_base.get(&ancestor).into_iter().flatten());
                }
            }
        }
        sorted(found)
    }

    /// Rules about an endpoint.
    pub(crate) fn for_endpoint(&self) -> &[usize] {
        &self.endpoint
    }
}

fn sorted(mut found: Vec<usize>) -> Vec<usize> {
    found.sort_unstable();
    found.dedup();
    found
}

fn insert_all(map: &mut HashMap<String, Vec<usize>>, keys: Vec<String>, at: usize) {
    for key in keys {
        map.entry(key).or_default().push(at);
    }
}

fn program_names(rule: &Rule) -> Option<Vec<String>> {
    rule.command
        .as_ref()
        .map(|command| command.program())
        .or(rule.programs.as_ref())
        .and_then(|program| program.index_names())
}

/// The last component of a glob when it is plain text, so that only paths with that name match.
fn literal_name(glob: &str) -> Option<&str> {
    let name = glob.rsplit('/').next()?;
    let plain = !name.is_empty() && !name.contains(['*', '?', '[', '{', '}', '\\', ',']);
    (plain && name != "." && name != "~").then_some(name)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use guardian_facts::{AccessDetail, FileKind, PathFact, Scope, Sensitivity};

    use super::*;
    use crate::policy::{CompileContext, Layer, Policy, PolicyText, Preset, Trust};

    fn thousand_rules() -> Policy {
        let rules: String = (0..1000)
            .map(|number| {
                let conditions = match number % 4 {
                    0 => format!("command = [\"tool{number}\", \"run\"]"),
                    1 => format!("paths = [\"**/secret{number}.txt\"]"),
                    2 => format!("paths = [\"dir{number}/**\"]"),
                    _ => format!("program = \"program{number}\""),
                };
                format!("[[rule]]\nid = \"r{number}\"\neffect = \"deny\"\n{conditions}\n")
            })
            .collect();
        let text = PolicyText {
            layer: Layer::User,
            name: "policy.toml".to_owned(),
            text: format!("version = 1\n{rules}"),
            trust: Trust::Untrusted,
        };
        let cx = CompileContext {
            workspace: Some(Path::new("/w")),
            home: Path::new("/h"),
            probe: None,
        };
        Policy::compile(&[text], Preset::Standard, &cx)
            .unwrap_or_else(|errors| unreachable!("{errors}"))
    }

    fn access(path: &str, kind: AccessKind, recursive: bool) -> Access {
        Access {
            kind,
            detail: AccessDetail::Plain,
            target: Target::Exact(PathFact {
                written: path.to_owned(),
                path: path.into(),
                scope: Scope::Workspace,
                sensitivity: Sensitivity::default(),
                kind: Some(FileKind::File),
                links: 1,
                identity: None,
            }),
            recursive,
            source: AccessSource::Command(0),
        }
    }

    #[test]
    fn a_fact_meets_few_of_a_thousand_rules() {
        let policy = thousand_rules();
        let looked_at = |path: &str, kind, recursive| {
            policy
                .index
                .for_access(&access(path, kind, recursive))
                .len()
        };
        assert_eq!(looked_at("/w/src/main.rs", AccessKind::Read, false), 0);
        assert_eq!(looked_at("/w/x/secret1.txt", AccessKind::Read, false), 1);
        assert_eq!(looked_at("/w/dir2/a/b", AccessKind::Write, false), 1);
        assert_eq!(looked_at("/w", AccessKind::List, true), 0);
        // what reads all of a directory may meet every floating rule, and those anchored in it
        assert_eq!(looked_at("/w/dir2", AccessKind::Read, true), 251);
        assert!(policy.index.for_call("Bash").is_empty());
    }
}
