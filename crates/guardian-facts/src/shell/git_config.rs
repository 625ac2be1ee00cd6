//! Is the repository that git would discover clean? Git runs what a repository's config says
//! (SPEC §6.1): read-only git is only known to be read-only when nothing in it names a program.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::git_index::{Index, ObjectFormat};
use super::reader::Reader;
use super::tool_versions::RustToolchain;
use super::values::State;
use crate::command::Condition;
use crate::{CodeFile, FileKind};

/// Largest config that is read, in bytes.
const MAX_CONFIG: usize = 64 * 1024;
/// Entries of the hooks directory that are looked at.
const MAX_HOOKS: usize = 256;
/// Largest index that is read, in bytes: some 200 000 files.
const MAX_INDEX: usize = 32 * 1024 * 1024;

/// The workspace's own repository, of which nothing runs code.
#[derive(Debug)]
pub(super) struct Repository {
    /// Its work tree.
    pub(super) workspace: PathBuf,
    /// Its git directory.
    pub(super) git: PathBuf,
    /// The tracked files.
    pub(super) index: Index,
}

/// Which hooks a command may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hooks {
    /// Any: it records something.
    All,
    /// Those that a command runs which only reads: `git status` writes the index when it finds
    /// that only dates have changed.
    OfReaders,
}

/// Hooks that only a change of the repository runs. Everything that is not listed here may run
/// when git reads (`post-index-change`, `fsmonitor-watchman`, what a later git adds).
const HOOKS_OF_CHANGES: &[&str] = &[
    "applypatch-msg",
    "pre-applypatch",
    "post-applypatch",
    "pre-commit",
    "pre-merge-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "pre-rebase",
    "post-checkout",
    "post-merge",
    "pre-push",
    "pre-receive",
    "update",
    "proc-receive",
    "post-receive",
    "post-update",
    "push-to-checkout",
    "pre-auto-gc",
    "post-rewrite",
    "sendemail-validate",
    "p4-changelist",
    "p4-prepare-changelist",
    "p4-post-changelist",
    "p4-pre-submit",
];

/// A file of this name in the hooks directory may be run by a command that only reads. No hook has
/// a dot in its name (`pre-commit.legacy`, `husky.sh`) or is in capitals (`README`).
fn may_run_on_reading(name: &str) -> bool {
    !HOOKS_OF_CHANGES.contains(&name)
        && !name.contains('.')
        && name.bytes().any(|byte| byte.is_ascii_lowercase())
}

/// `section.key` and `section.*.key` that name no program and lead nowhere else. Everything that
/// is not listed makes the config unclean.
const HARMLESS: &[&str] = &[
    "core.repositoryformatversion",
    "core.filemode",
    "core.bare",
    "core.logallrefupdates",
    "core.ignorecase",
    "core.precomposeunicode",
    "core.protecthfs",
    "core.protectntfs",
    "core.symlinks",
    "core.autocrlf",
    "core.safecrlf",
    "core.eol",
    "core.abbrev",
    "core.quotepath",
    "core.untrackedcache",
    "core.preloadindex",
    "core.longpaths",
    "core.compression",
    "core.commentchar",
    "core.whitespace",
    "core.sparsecheckout",
    "core.sparsecheckoutcone",
    "core.multipackindex",
    "core.commitgraph",
    "core.splitindex",
    "core.fscache",
    "extensions.objectformat",
    "extensions.refstorage",
    "remote.*.url",
    "remote.*.fetch",
    "remote.*.push",
    "remote.*.pushurl",
    "remote.*.tagopt",
    "remote.*.prune",
    "remote.*.mirror",
    "remote.*.gh-resolved",
    "remote.pushdefault",
    "branch.*.remote",
    "branch.*.merge",
    "branch.*.rebase",
    "branch.*.pushremote",
    "branch.*.description",
    "branch.*.vscode-merge-base",
    "branch.*.gh-merge-base",
    "branch.*.base",
    "branch.sort",
    "branch.autosetupmerge",
    "branch.autosetuprebase",
    "user.name",
    "user.email",
    "user.useconfigonly",
    "author.name",
    "author.email",
    "committer.name",
    "committer.email",
    "init.defaultbranch",
    "pull.rebase",
    "pull.ff",
    "push.default",
    "push.autosetupremote",
    "push.followtags",
    "fetch.prune",
    "fetch.prunetags",
    "fetch.parallel",
    "merge.conflictstyle",
    "merge.ff",
    "merge.renamelimit",
    "rebase.autosquash",
    "rebase.autostash",
    "rerere.enabled",
    "rerere.autoupdate",
    "diff.algorithm",
    "diff.renames",
    "diff.renamelimit",
    "diff.colormoved",
    "diff.mnemonicprefix",
    "diff.noprefix",
    "diff.submodule",
    "log.date",
    "log.decorate",
    "log.abbrevcommit",
    "log.follow",
    "status.short",
    "status.branch",
    "status.showuntrackedfiles",
    "status.submodulesummary",
    "commit.gpgsign",
    "commit.verbose",
    "tag.gpgsign",
    "tag.sort",
    "gc.auto",
    "gc.autodetach",
    "gc.pruneexpire",
    "gc.reflogexpire",
    "maintenance.auto",
    "maintenance.strategy",
    "submodule.*.url",
    "submodule.*.active",
    "submodule.active",
    "submodule.recurse",
    "index.version",
    "index.threads",
    "index.skiphash",
    "pack.threads",
    "pack.windowmemory",
    "feature.manyfiles",
    "help.autocorrect",
    "lfs.repositoryformatversion",
    "column.ui",
    "transfer.fsckobjects",
    "receive.denycurrentbranch",
    "receive.advertisepushoptions",
    "http.postbuffer",
];

impl Reader<'_> {
    /// Checks what must hold for a judgement; where it does not, the command is opaque.
    pub(super) fn condition(&mut self, index: usize, condition: Condition, state: &State) {
        let which = match condition {
            Condition::CleanGitConfig => Hooks::OfReaders,
            Condition::UnchangedGitHooks => Hooks::All,
            Condition::PlainToolVersions => {
                return self.needs_plain_version(index, RustToolchain::Unasked, state);
            }
            Condition::InstalledRustToolchain => {
                return self.needs_plain_version(index, RustToolchain::Installed, state);
            }
        };
        match self.repository(state) {
            Err(reason) => self.opaque(index, "git-config", reason),
            Ok(repository) => self.hooks(index, &repository.git, which),
        }
    }

    fn needs_plain_version(&mut self, index: usize, rust: RustToolchain, state: &State) {
        if let Err(reason) = self.tool_versions(rust, state) {
            self.opaque(index, "tool-version", reason);
        }
    }

    /// The repository that git would find from here, when it is the workspace's own and clean.
    pub(super) fn repository(&mut self, state: &State) -> Result<Rc<Repository>, String> {
        let Some(cwd) = state.cwd.as_deref() else {
            return Err("in which repository git runs is not known".to_owned());
        };
        if let Some(known) = self.repositories.get(cwd) {
            return known.clone();
        }
        let answer = self
            .find_repository(cwd)
            .and_then(|(workspace, git)| self.repository_of(&workspace, git));
        self.repositories.insert(cwd.to_path_buf(), answer.clone());
        answer
    }

    /// The top of the working tree that git finds from the working directory: the nearest directory
    /// with a `.git` in it.
    pub(super) fn toplevel(&self, state: &super::values::State) -> Option<PathBuf> {
        let found = self.cx.probe.resolve(state.cwd.as_deref()?);
        if found.kind != Some(FileKind::Directory) || found.error.is_some() {
            return None;
        }
        let has_git = |directory: &Path| {
            self.cx.probe.resolve(&directory.join(".git")).kind == Some(FileKind::Directory)
        };
        let mut above = found.path.ancestors();
        above
            .find(|directory| has_git(directory))
            .map(Path::to_path_buf)
    }

    /// The workspace's own repository, looked at once.
    fn repository_of(&mut self, workspace: &Path, git: PathBuf) -> Result<Rc<Repository>, String> {
        if let Some(known) = self.repositories.get(&git) {
            return known.clone();
        }
        let answer = self.look_at_repository(workspace, &git).map(Rc::new);
        self.repositories.insert(git, answer.clone());
        answer
    }

    fn look_at_repository(&self, workspace: &Path, git: &Path) -> Result<Repository, String> {
        let format = self.look_at_config(git)?;
        self.look_at_submodules(workspace, git)?;
        let index = self.read_index(git, format)?;
        for entry in index.entries.iter().filter(|entry| entry.is_gitlink()) {
            let inside = workspace.join(&entry.path).join(".git");
            if self.cx.probe.resolve(&inside).kind.is_some() {
                return Err(format!(
                    "the submodule `{}` has a repository of its own",
                    entry.path
                ));
            }
        }
        Ok(Repository {
            workspace: workspace.to_owned(),
            git: git.to_owned(),
            index,
        })
    }

    /// The list of tracked files. Without one nothing is tracked.
    fn read_index(&self, git: &Path, format: ObjectFormat) -> Result<Index, String> {
        let path = git.join("index");
        let Some(content) = self.cx.probe.read_file(&path, MAX_INDEX) else {
            return match self.cx.probe.resolve(&path).kind {
                None => Ok(Index::default()),
                Some(_) => Err("the repository's index cannot be read".to_owned()),
            };
        };
        if content.size > MAX_INDEX as u64 {
            return Err("the repository's index is too large to be read".to_owned());
        }
        Index::parse(&content.head, format)
    }

    /// The workspace and its own git directory, when git would find that one from here.
    fn find_repository(&self, cwd: &Path) -> Result<(PathBuf, PathBuf), String> {
        let probe = self.cx.probe;
        let Some(workspace) = self.cx.roots.workspace.as_deref() else {
            return Err("the session has no workspace".to_owned());
        };
        let found = probe.resolve(cwd);
        if found.kind != Some(FileKind::Directory) {
            // Whatever makes it first may bring a repository along.
            return Err(format!(
                "`{}` is not there yet, so it is not known which repository git finds",
                cwd.display()
            ));
        }
        let resolved = found.path;
        if !resolved.starts_with(workspace) {
            return Err("git runs outside the workspace".to_owned());
        }
        for directory in resolved.ancestors() {
            let head = probe.resolve(&directory.join("HEAD")).kind;
            let objects = probe.resolve(&directory.join("objects")).kind;
            if head.is_some() && objects.is_some() {
                return Err(format!(
                    "`{}` could be a git directory itself",
                    directory.display()
                ));
            }
            let git = directory.join(".git");
            let found = probe.resolve(&git);
            match found.kind {
                None if directory == workspace => {
                    return Err("the workspace has no git directory of its own".to_owned());
                }
                None => {}
                Some(FileKind::Directory) if directory == workspace && found.path == git => {
                    return Ok((workspace.to_owned(), git));
                }
                Some(_) => {
                    return Err(format!(
                        "`{}` is not the workspace's own git directory",
                        git.display()
                    ));
                }
            }
        }
        Err("there is no repository".to_owned())
    }

    /// `git status` and `git diff` run git inside of every submodule that is checked out, with the
    /// config that it has.
    fn look_at_submodules(&self, workspace: &Path, git: &Path) -> Result<(), String> {
        let probe = self.cx.probe;
        let has_repositories = probe
            .list(&git.join("modules"), 1)
            .is_some_and(|names| !names.is_empty());
        if has_repositories {
            return Err("the repository has submodules with repositories of their own".to_owned());
        }
        let list = workspace.join(".gitmodules");
        if probe.resolve(&list).kind.is_none() {
            return Ok(());
        }
        let text = probe
            .read_file(&list, MAX_CONFIG)
            .filter(|content| content.size <= MAX_CONFIG as u64)
            .and_then(|content| String::from_utf8(content.head).ok())
            .ok_or_else(|| "the list of submodules cannot be read".to_owned())?;
        for path in text.lines().filter_map(submodule_path) {
            let inside = workspace.join(path).join(".git");
            if path.contains(['"', '\\']) || probe.resolve(&inside).kind.is_some() {
                return Err(format!(
                    "the submodule `{path}` has a repository of its own"
                ));
            }
        }
        Ok(())
    }

    fn look_at_config(&self, git: &Path) -> Result<ObjectFormat, String> {
        let probe = self.cx.probe;
        for name in [
            "commondir",
            "config.worktree",
            "objects/info/http-alternates",
        ] {
            if probe.resolve(&git.join(name)).kind.is_some() {
                return Err(format!("the git directory has a file `{name}`"));
            }
        }
        let config = git.join("config");
        let Some(content) = probe.read_file(&config, MAX_CONFIG) else {
            return match probe.resolve(&config).kind {
                None => Ok(ObjectFormat::Sha1),
                Some(_) => Err("the repository's config cannot be read".to_owned()),
            };
        };
        if content.size > MAX_CONFIG as u64 {
            return Err("the repository's config is too large to be read".to_owned());
        }
        let Ok(text) = String::from_utf8(content.head) else {
            return Err("the repository's config is not text".to_owned());
        };
        check(&text)?;
        let text = text.to_ascii_lowercase();
        let longer = text.contains("objectformat") && text.contains("sha256");
        Ok(if longer {
            ObjectFormat::Sha256
        } else {
            ObjectFormat::Sha1
        })
    }

    fn hooks(&mut self, index: usize, git: &Path, which: Hooks) {
        let directory = git.join("hooks");
        let names = match self.cx.probe.list(&directory, MAX_HOOKS) {
            Some(names) => names,
            None if self.cx.probe.resolve(&directory).kind.is_none() => return,
            None => {
                self.opaque(
                    index,
                    "git-hooks",
                    "the repository's hooks cannot be listed",
                );
                return;
            }
        };
        if names.len() >= MAX_HOOKS {
            self.opaque(index, "git-hooks", "the repository has too many hooks");
            return;
        }
        let live: Vec<String> = names
            .into_iter()
            .filter(|name| !name.ends_with(".sample"))
            .filter(|name| which == Hooks::All || may_run_on_reading(name))
            .collect();
        if live.is_empty() {
            return;
        }
        for name in &live {
            let Some(path) = directory.join(name).to_str().map(str::to_owned) else {
                continue;
            };
            let path = self.cx.place(&path, Path::new("/"));
            let hash = self
                .cx
                .probe
                .read_file(&path.path, 0)
                .map(|content| content.hash)
                .filter(|hash| !hash.is_empty());
            self.facts.code_files.push(CodeFile {
                path,
                hash,
                command: index,
            });
        }
        self.opaque(
            index,
            "git-hooks",
            format!("the repository's hooks may run ({})", live.join(", ")),
        );
    }
}

/// The path in a line `path = x` of `.gitmodules`.
fn submodule_path(line: &str) -> Option<&str> {
    let (key, value) = line.split_once('=')?;
    // The section's header may stand on the same line.
    let key = key.rsplit(']').next().unwrap_or(key).trim();
    key.eq_ignore_ascii_case("path").then(|| value.trim())
}

/// Reads a config text; the reason when it is not clean.
fn check(text: &str) -> Result<(), String> {
    let mut section = String::new();
    let mut subsection = false;
    let mut continued = false;
    for line in text.lines() {
        let mut rest = line.trim();
        let ends_open = rest.ends_with('\\');
        if continued {
            continued = ends_open;
            continue;
        }
        if rest.is_empty() || rest.starts_with(['#', ';']) {
            continue;
        }
        if let Some(inner) = rest.strip_prefix('[') {
            let Some(end) = closing(inner) else {
                return Err("the repository's config is not understood".to_owned());
            };
            let header = inner.get(..end).unwrap_or("").trim();
            rest = inner.get(end + 1..).unwrap_or("").trim();
            match header.split_once(char::is_whitespace) {
                Some((name, _)) => {
                    section = name.to_ascii_lowercase();
                    subsection = true;
                }
                None => {
                    let (name, sub) = header
                        .split_once('.')
                        .map_or((header, false), |(name, _)| (name, true));
                    section = name.to_ascii_lowercase();
                    subsection = sub;
                }
            }
            if rest.is_empty() || rest.starts_with(['#', ';']) {
                continue;
            }
        }
        continued = ends_open;
        let (key, value) = rest.split_once('=').unwrap_or((rest, ""));
        let key = key.trim().to_ascii_lowercase();
        let full = if subsection {
            format!("{section}.*.{key}")
        } else {
            format!("{section}.{key}")
        };
        let harmless = HARMLESS.contains(&full.as_str())
            || (full == "core.fsmonitor" && value.trim() == "false");
        if !harmless {
            return Err(format!("the repository's config sets `{section}.{key}`"));
        }
    }
    Ok(())
}

/// Offset of the `]` that closes a section header.
fn closing(text: &str) -> Option<usize> {
    let mut quoted = false;
    let mut escaped = false;
    for (at, character) in text.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            ']' if !quoted => return Some(at),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn an_ordinary_config_is_clean() {
        let text = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n[remote \"origin\"]\n\turl = https://example.com/x.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"main\"]\n\tremote = origin\n";
        assert_eq!(check(text), Ok(()));
    }

    #[test]
    fn what_names_a_program_is_not_clean() {
        for text in [
            "[core]\n\tfsmonitor = ./x",
            "[core] hooksPath = x",
            "[CORE]\n\tsshCommand = x",
            "[diff]\n external = x",
            "[diff \"x\"]\n textconv = x",
            "[filter \"x\"]\n clean = x",
            "[filter.x]\n clean = x",
            "[alias]\n st = !x",
            "[include]\n path = x",
            "[includeIf \"gitdir:x\"]\n path = x",
            "[user]\n name = a \\\n b\n[core]\n pager = x",
            "[gpg]\n program = x",
            "[credential]\n helper = x",
            "[pager]\n log = x",
            "[core]\n worktree = /x",
            "[remote \"o\"]\n vcs = x",
            "[branch \"a]b\"]\n remote = o\n[core]\n editor = x",
            "[man \"x\"]\n cmd = x",
            "[browser \"x\"]\n cmd = x",
            "[trailer \"x\"]\n cmd = x",
            "[trailer \"x\"]\n command = x",
            "[difftool \"x\"]\n cmd = x",
            "[merge \"x\"]\n driver = x",
            "[core]\n editor = x",
            "[core]\n pager = x",
            "[sequence]\n editor = x",
            "[core]\n askPass = x",
            "[core]\n gitProxy = x",
            "[core]\n attributesFile = x",
            "[core]\n fsmonitor = true",
            "[uploadpack]\n packObjectsHook = x",
            "[interactive]\n diffFilter = x",
            "[extensions]\n worktreeConfig = true",
            "[remote \"o\"]\n uploadpack = x",
            "[submodule \"x\"]\n update = !x",
            "[trace2]\n eventTarget = x",
            "[broken",
        ] {
            assert!(check(text).is_err(), "{text}");
        }
    }
}
