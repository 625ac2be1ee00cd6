//! Which rules can apply to a fact at all, so that a thousand rules cost little more than ten.

use std::collections::HashMap;

use guardian_facts::{Access, CommandFact, Target};

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
    all_access: Vec<usize>,
    endpoint: Vec<usize>,
}

impl Index {
    pub(crate) fn new(rules: &[Rule]) -> Self {
        let mut index = Self::default();
        for (at, rule) in rules.iter().enumerate() {
            match rule.subject {
                SubjectKind::Call => match rule.tool_names() {
                    Some(names) => insert_all(&mut index.call_by_tool, names, at),
                    None => index.call.push(at),
                },
                SubjectKind::Command => match program_names(rule) {
                    Some(names) => insert_all(&mut index.command_by_program, names, at),
                    None => index.command.push(at),
                },
                SubjectKind::Access => {
                    index.all_access.push(at);
                    index.insert_access(rule, at);
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

    /// Rules about the call as a whole.
    pub(crate) fn for_call(&self, tool: &str) -> Vec<usize> {
        let mut found = self.call.clone();
        found.extend(self.call_by_tool.get(tool).into_iter().flatten());
        found
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
        let Target::Exact(path) = &access.target else {
            return self.all_access.clone();
        };
        if access.recursive {
            return self.all_access.clone();
        }
        let mut found = self.access.clone();
        let written = std::path::Path::new(&path.written);
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
