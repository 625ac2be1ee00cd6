//! Which secret files a git command shows or stages without naming them (SPEC §7.4: a read that
//! could meet secret files; a plain `git add` has no secret path).
//!
//! What is tracked comes from the index. Older commits may hold files that are tracked no more;
//! those are found only where they are named.

use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use globset::GlobBuilder;

use super::git_config::Repository;
use super::git_untracked::{self, Untracked};
use super::reader::Reader;
use super::values::State;
use crate::command::{GitFiles, GitReach, WordPart};
use crate::{AccessDetail, AccessKind, PathFact, Target, Word};

/// Secret files that are named on a card; more say nothing new.
const MAX_NAMED: usize = 8;

/// A tracked file of a secret class.
#[derive(Debug)]
pub(super) struct TrackedSecret {
    /// Relative to the work tree.
    path: PathBuf,
    /// Name of its object in the index.
    object: String,
    fact: PathFact,
}

impl Reader<'_> {
    /// Adds what a git command reaches of secret files. Where the repository is not the
    /// workspace's own, the command is opaque already.
    pub(super) fn git_files(&mut self, index: usize, files: &GitFiles, state: &State) {
        let Ok(repository) = self.repository(state) else {
            return;
        };
        let Some(prefix) = self.git_prefix(&repository, state) else {
            self.opaque(index, "git-config", "where git runs is not known");
            return;
        };
        let found = match files.reach {
            GitReach::Shows => {
                let limit = self.limit(files, &prefix, &repository);
                self.tracked_secrets(&repository)
                    .into_iter()
                    .filter(|secret| limit.may_reach(&secret.path))
                    .map(|secret| secret.fact)
                    .collect()
            }
            GitReach::ShowsObject => self
                .tracked_secrets(&repository)
                .into_iter()
                .filter(|secret| {
                    files
                        .names
                        .iter()
                        .chain(&files.pathspecs)
                        .any(|word| may_name_object(word, &secret.object))
                })
                .map(|secret| secret.fact)
                .collect(),
            GitReach::Stages => {
                let limit = self.limit(files, &prefix, &repository);
                match self.untracked_secrets(&repository, &limit) {
                    Ok(found) => found,
                    Err(reason) => {
                        self.opaque(index, "git-untracked", reason);
                        return;
                    }
                }
            }
        };
        for fact in found.into_iter().take(MAX_NAMED) {
            self.add_access(
                index,
                Target::Exact(fact),
                AccessKind::Read,
                AccessDetail::Plain,
                false,
            );
        }
    }

    /// The working directory, relative to the work tree.
    fn git_prefix(&self, repository: &Repository, state: &State) -> Option<PathBuf> {
        let cwd = self.cx.probe.resolve(state.cwd.as_deref()?);
        cwd.path
            .strip_prefix(&repository.workspace)
            .ok()
            .map(Path::to_owned)
    }

    fn tracked_secrets(&self, repository: &Rc<Repository>) -> Vec<TrackedSecret> {
        repository
            .index
            .entries
            .iter()
            .filter(|entry| !entry.is_gitlink())
            .filter_map(|entry| {
                Some(TrackedSecret {
                    fact: self.secret(repository, &entry.path)?,
                    path: PathBuf::from(&entry.path),
                    object: entry.object.clone(),
                })
            })
            .collect()
    }

    fn secret(&self, repository: &Repository, path: &str) -> Option<PathFact> {
        let absolute = repository.workspace.join(path);
        let hidden = |path: &Path| {
            self.cx
                .classes
                .is_hidden_from_walks(path, &self.cx.roots.home)
        };
        // Links in deeper directories are not looked at here: an index has many.
        let others = self.cx.other_names(&repository.workspace);
        if !hidden(&absolute) && !others.of(&absolute).any(|name| hidden(&name)) {
            return None;
        }
        let fact = self.cx.place(path, &repository.workspace);
        (fact.sensitivity.secret || fact.sensitivity.sensitive).then_some(fact)
    }

    /// Secret files that are neither tracked nor ignored.
    fn untracked_secrets(
        &self,
        repository: &Repository,
        limit: &Limit,
    ) -> Result<Vec<PathFact>, String> {
        let mut found = Vec::new();
        let mut embedded = None;
        for start in limit.starts() {
            git_untracked::walk(
                self.cx.probe,
                repository,
                &start,
                &mut |untracked| match untracked {
                    Untracked::File(path) if limit.may_reach(Path::new(path)) => {
                        found.extend(self.secret(repository, path));
                    }
                    Untracked::File(_) => {}
                    Untracked::Repository(path) if limit.may_reach(Path::new(path)) => {
                        embedded = Some(path.to_owned());
                    }
                    Untracked::Repository(_) => {}
                },
            )?;
        }
        match embedded {
            Some(path) => Err(format!("`{path}` is a repository inside the repository")),
            None => Ok(found),
        }
    }

    fn limit(&self, files: &GitFiles, prefix: &Path, repository: &Repository) -> Limit {
        let mut limit = Limit::default();
        for word in &files.pathspecs {
            limit.add(word, prefix, &repository.workspace);
        }
        // `git show HEAD:src/a.rs v1:src/a.rs` shows these and nothing else.
        let paths: Option<Vec<&str>> = files.names.iter().map(path_in_a_commit).collect();
        if let Some(paths) = paths.filter(|paths| !paths.is_empty()) {
            for path in paths {
                let from = match path.strip_prefix("./") {
                    Some(_) => prefix,
                    None => Path::new(""),
                };
                let spec = beneath(path, from, &repository.workspace);
                limit.includes.push(spec.map_or(Spec::Any, Spec::Path));
            }
            return limit;
        }
        for word in &files.names {
            // A revision limits nothing; git refuses a word that could be both.
            let is_path = word.as_literal().is_some_and(|text| {
                text.contains(['*', '?', '['])
                    || text.starts_with(":(")
                    || text.starts_with(":!")
                    || text.starts_with(":^")
                    || self
                        .cx
                        .probe
                        .resolve(&repository.workspace.join(prefix).join(text))
                        .kind
                        .is_some()
            });
            if is_path {
                limit.add(word, prefix, &repository.workspace);
            }
        }
        limit
    }
}

/// The path of `REVISION:path`, where the revision is a plain name (`HEAD^{/fix: it}` holds a colon,
/// too).
fn path_in_a_commit(word: &Word) -> Option<&str> {
    let (revision, path) = word.as_literal()?.split_once(':')?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./~^@".contains(c);
    let is_inside = !path.is_empty() && !path.starts_with("../") && !path.contains("/..");
    (!revision.is_empty() && revision.chars().all(is_plain) && is_inside).then_some(path)
}

/// A hex word may abbreviate the name of the object; of a word that is not known nothing is said.
fn may_name_object(word: &Word, object: &str) -> bool {
    match word.as_literal() {
        Some(text) => {
            let name = text.split(['^', '~']).next().unwrap_or(text);
            name.len() >= 4 && object.starts_with(&name.to_ascii_lowercase())
        }
        None => true,
    }
}

/// The pathspecs of a command.
#[derive(Debug, Default)]
struct Limit {
    includes: Vec<Spec>,
    excludes: Vec<Spec>,
}

/// What one pathspec matches.
#[derive(Debug)]
enum Spec {
    /// This path and everything beneath it.
    Path(PathBuf),
    /// What the glob matches, and everything beneath.
    Glob(globset::GlobMatcher),
    /// It is not known what it matches.
    Any,
}

impl Spec {
    fn may_match(&self, path: &Path) -> bool {
        match self {
            Self::Path(spec) => path.starts_with(spec),
            Self::Glob(glob) => path.ancestors().any(|above| glob.is_match(above)),
            Self::Any => true,
        }
    }
}

impl Limit {
    fn may_reach(&self, path: &Path) -> bool {
        let included =
            self.includes.is_empty() || self.includes.iter().any(|spec| spec.may_match(path));
        let excluded = self
            .excludes
            .iter()
            .any(|spec| matches!(spec, Spec::Path(spec) if path.starts_with(spec)));
        included && !excluded
    }

    /// Where a walk begins that sees all that may be reached.
    fn starts(&self) -> Vec<PathBuf> {
        let paths: Option<Vec<PathBuf>> = self
            .includes
            .iter()
            .map(|spec| match spec {
                Spec::Path(path) => Some(path.clone()),
                Spec::Glob(_) | Spec::Any => None,
            })
            .collect();
        paths
            .filter(|paths| !paths.is_empty())
            .unwrap_or_else(|| vec![PathBuf::new()])
    }

    fn add(&mut self, word: &Word, prefix: &Path, workspace: &Path) {
        let known = word
            .parts
            .iter()
            .all(|part| matches!(part, WordPart::Literal(_) | WordPart::Glob(_)));
        let text = word.display();
        let magic = if known { Magic::of(&text) } else { None };
        let Some(magic) = magic else {
            self.includes.push(Spec::Any);
            return;
        };
        let spec = spec(&magic, prefix, workspace);
        if magic.excludes {
            self.excludes.push(spec);
        } else {
            self.includes.push(spec);
        }
    }
}

/// A pathspec's magic and the path behind it.
struct Magic<'a> {
    from_top: bool,
    excludes: bool,
    /// Letters of either case, or attributes: it may match more than the path says.
    loose: bool,
    path: &'a str,
}

impl<'a> Magic<'a> {
    /// `None` when it is not understood.
    fn of(text: &'a str) -> Option<Self> {
        let mut magic = Self {
            from_top: false,
            excludes: false,
            loose: false,
            path: text,
        };
        if let Some(rest) = text.strip_prefix(":(") {
            let (words, path) = rest.split_once(')')?;
            for word in words.split(',').filter(|word| !word.is_empty()) {
                match word {
                    "top" => magic.from_top = true,
                    "exclude" => magic.excludes = true,
                    "glob" | "literal" => {}
                    _ => magic.loose = true,
                }
            }
            magic.path = path;
        } else if let Some(rest) = text.strip_prefix(':') {
            let path = rest.trim_start_matches(['/', '!', '^']);
            let letters = rest.get(..rest.len() - path.len()).unwrap_or_default();
            magic.from_top = letters.contains('/');
            magic.excludes = letters.contains(['!', '^']);
            magic.path = path.strip_prefix(':').unwrap_or(path);
        }
        Some(magic)
    }
}

fn spec(magic: &Magic<'_>, prefix: &Path, workspace: &Path) -> Spec {
    let prefix = if magic.from_top {
        Path::new("")
    } else {
        prefix
    };
    if magic.loose {
        return Spec::Any;
    }
    let Some(path) = beneath(magic.path, prefix, workspace) else {
        return Spec::Any;
    };
    if !magic.path.contains(['*', '?', '[', '\\']) {
        return Spec::Path(path);
    }
    let Some(text) = path
        .to_str()
        .filter(|text| !text.contains(['{', '}']) && !text.contains("[:"))
    else {
        return Spec::Any;
    };
    GlobBuilder::new(text)
        .literal_separator(false)
        .backslash_escape(true)
        .case_insensitive(true)
        .build()
        .map_or(Spec::Any, |glob| Spec::Glob(glob.compile_matcher()))
}

/// The path relative to the work tree, without `.` and `..`.
fn beneath(text: &str, prefix: &Path, workspace: &Path) -> Option<PathBuf> {
    let written = Path::new(text);
    let joined = match written.strip_prefix(workspace) {
        Ok(inside) => inside.to_owned(),
        Err(_) if written.is_absolute() => return None,
        Err(_) => prefix.join(written),
    };
    let mut path = PathBuf::new();
    for component in joined.components() {
        match component {
            Component::Normal(name) => path.push(name),
            Component::CurDir => {}
            Component::ParentDir => {
                if !path.pop() {
                    return None;
                }
            }
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(path)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Limit, may_name_object};
    use crate::{Span, Word};

    fn reaches(pathspecs: &[&str], prefix: &str, path: &str) -> bool {
        let mut limit = Limit::default();
        for text in pathspecs {
            let word = Word::literal(*text, Span { start: 0, end: 0 });
            limit.add(&word, Path::new(prefix), Path::new("/ws"));
        }
        limit.may_reach(Path::new(path))
    }

    #[test]
    fn pathspecs_reach_what_git_would_match() {
        assert!(reaches(&[], "", ".env"));
        assert!(reaches(&["."], "", "a/.env"));
        assert!(reaches(&[".en?"], "", ".env"));
        assert!(reaches(&[":(glob).e*"], "", ".env"));
        assert!(reaches(&[":(icase).ENV"], "", ".env"));
        assert!(reaches(&["*env"], "", "a/.env"));
        assert!(reaches(&[":/"], "a", ".env"));
        assert!(reaches(&[".."], "a", ".env"));
        assert!(reaches(&["/ws/a"], "", "a/.env"));
        assert!(reaches(&["a?"], "", "ab/.env"));
        assert!(!reaches(&["src"], "", ".env"));
        assert!(!reaches(&["."], "a", ".env"));
        assert!(!reaches(&["*.rs"], "", "a/.env"));
        assert!(!reaches(&[".", ":!.env"], "", ".env"));
        assert!(!reaches(&[":!a"], "", "a/.env"));
        assert!(reaches(&[":!b"], "", "a/.env"));
    }

    #[test]
    fn an_object_is_named_by_what_its_name_begins_with() {
        let word = |text: &str| Word::literal(text, Span { start: 0, end: 0 });
        assert!(may_name_object(&word("abab"), "abababab"));
        assert!(may_name_object(&word("ABABab"), "abababab"));
        assert!(may_name_object(&word("abab^{blob}"), "abababab"));
        assert!(!may_name_object(&word("HEAD"), "abababab"));
        assert!(!may_name_object(&word("aba"), "abababab"));
    }
}
