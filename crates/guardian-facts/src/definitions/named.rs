//! Scripts and tools that a text names: what a recipe, a script of `package.json` or a script file
//! runs by name is part of what it runs.
//!
//! Not a shell: any piece of the text that could be the name of a script of the project, and is
//! one, counts. Programs that the project builds, and code that is loaded, do not: that is what the
//! agent writes, and the sandbox is what binds it.

use std::path::{Path, PathBuf};

use super::Look;
use super::tools::{TOOLS, UNTOLD};
use crate::FileKind;

/// Longest script that is looked into, in bytes.
const MAX_SCRIPT: usize = 256 * 1024;

/// Shells, and words by which a shell reads a file.
const SHELLS: &[&str] = &["sh", "bash", "dash", "zsh", "ksh", "fish", "source", "."];

/// Interpreters that take their program from the script and from nowhere else.
const INTERPRETERS: &[&str] = &[
    "sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "python", "python2", "python3", "node",
    "nodejs", "ruby", "perl", "php", "lua", "awk", "gawk", "mawk", "sed", "tclsh", "Rscript",
];

/// Words by which a tool is called for another directory or with another file.
const ELSEWHERE: &[&str] = &[
    "-C",
    "-f",
    "-d",
    "--prefix",
    "--cwd",
    "--dir",
    "--directory",
    "--file",
    "--makefile",
    "--justfile",
    "--working-directory",
    "--taskfile",
    "--project-dir",
    "--workspace",
    "-w",
    "-p",
];

impl Look<'_> {
    /// A script of the project that is run by its name: its bytes, its interpreter, and what it
    /// names in turn.
    pub(super) fn script(&mut self, path: &Path, bases: &[PathBuf]) {
        if let Some(hash) = self.look_into(path, bases) {
            self.hashed(path, hash);
        }
    }

    /// The same for the program of the command itself, whose bytes stand among its code files.
    pub(super) fn program(&mut self, path: &Path, bases: &[PathBuf]) {
        let _bound = self.look_into(path, bases);
    }

    /// Its hash, when it was not looked into yet.
    fn look_into(&mut self, path: &Path, bases: &[PathBuf]) -> Option<String> {
        if self.is_full() || !self.seen.insert(path.to_owned()) {
            return None;
        }
        let content = self.cx.probe.read_file(path, MAX_SCRIPT);
        let Some(content) = content.filter(|content| !content.hash.is_empty()) else {
            self.undetermined(path, "");
            return None;
        };
        // A program that was built names nothing.
        if content.head.starts_with(b"#!") || !content.head.contains(&0) {
            match String::from_utf8(content.head) {
                Ok(text)
                    if content.size <= MAX_SCRIPT as u64
                        && !text.contains('\0')
                        && interpreter_is_told(&text, self.cx) =>
                {
                    self.names_of(path, &text, bases);
                }
                _ => self.undetermined(path, ""),
            }
        }
        Some(content.hash)
    }

    fn names_of(&mut self, path: &Path, text: &str, bases: &[PathBuf]) {
        let mut around: Vec<PathBuf> = bases.to_vec();
        if let Some(own) = path.parent()
            && !around.iter().any(|base| base == own)
        {
            around.push(own.to_owned());
        }
        if around.len() > 8 {
            return self.undetermined(path, "");
        }
        self.named(text, &around, &[]);
    }

    /// Everything that a text names; the tools in `own` call themselves, which whoever read the
    /// text has seen to.
    pub(super) fn named(&mut self, text: &str, bases: &[PathBuf], own: &[&str]) {
        for line in text.lines() {
            if !line.trim_start().starts_with('#') {
                self.scripts_of(line, bases);
                self.tools_of(line, text, bases, own);
            }
        }
    }

    fn scripts_of(&mut self, line: &str, bases: &[PathBuf]) {
        let line = without_variables(line);
        let mut before = "";
        for piece in line.split(|c: char| !(c.is_alphanumeric() || "._-+@%/".contains(c))) {
            let after_shell = SHELLS.contains(&file_name(before));
            let is_option = after_shell && piece.starts_with('-');
            if !(piece.is_empty() || is_option) {
                before = piece;
            }
            let relative = piece.trim_start_matches('/');
            let shell_name = is_shell_name(piece);
            if relative.is_empty()
                || relative.starts_with('-')
                || relative.len() > 512
                || !(after_shell || shell_name || piece.contains('/'))
            {
                continue;
            }
            if self.lookups >= super::MAX_LOOKUPS {
                return self.undetermined(Path::new(""), "");
            }
            let absolute = piece.starts_with('/').then(|| PathBuf::from(piece));
            let places = bases.iter().map(|base| base.join(relative)).chain(absolute);
            for path in places.collect::<Vec<_>>() {
                self.lookups += 1;
                if let Some(path) = self.project_file(&path)
                    && (after_shell || shell_name || self.is_script(&path))
                {
                    self.script(&path, bases);
                }
            }
        }
    }

    /// Where a regular file of the workspace really lies.
    fn project_file(&self, path: &Path) -> Option<PathBuf> {
        let resolved = self.cx.probe.resolve(path);
        let inside = |path: &Path| {
            let roots = &self.cx.roots;
            [roots.workspace.as_deref(), Some(roots.scratch.as_path())]
                .into_iter()
                .flatten()
                .any(|root| path.starts_with(root))
        };
        (resolved.kind == Some(FileKind::File) && (inside(&resolved.path) || inside(path)))
            .then_some(resolved.path)
    }

    /// It names its interpreter, or could be one that a shell reads when it is run.
    fn is_script(&self, path: &Path) -> bool {
        let Some(content) = self.cx.probe.read_file(path, 1024) else {
            return false;
        };
        content.head.starts_with(b"#!")
            || (path.extension().is_none() && !content.head.contains(&0))
    }

    fn tools_of(&mut self, line: &str, text: &str, bases: &[PathBuf], own: &[&str]) {
        let words = || line.split(|c: char| !(c.is_alphanumeric() || "-_.".contains(c)));
        for word in words() {
            if own.contains(&word) {
                continue;
            }
            if UNTOLD.contains(&word) && starts_command(line, word) {
                self.undetermined(Path::new(""), word);
            }
            let Some(tool) = TOOLS
                .iter()
                .find(|tool| tool.runs_commands && tool.names.contains(&word))
            else {
                continue;
            };
            if !starts_command(line, word) {
                continue;
            }
            let elsewhere = line
                .split(|c: char| c.is_whitespace() || "=;&|()\"'".contains(c))
                .any(|word| ELSEWHERE.contains(&word));
            if elsewhere || text.lines().any(changes_directory) {
                return self.undetermined(Path::new(""), word);
            }
            for base in bases {
                match tool.names[0] {
                    "make" => self.whole_makefile(base),
                    "npm" => self.all_scripts(base),
                    _ => {}
                }
                self.files_of(tool, base);
            }
        }
    }
}

/// `$HERE/lib/x.sh` names `lib/x.sh`, wherever that is.
fn without_variables(line: &str) -> String {
    let mut parts = line.split('$');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text.push(' ');
        text.push_str(part.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_'));
    }
    text
}

fn file_name(piece: &str) -> &str {
    if piece == "." {
        return piece;
    }
    piece.rsplit('/').next().unwrap_or(piece)
}

fn is_shell_name(name: &str) -> bool {
    [".sh", ".bash", ".zsh", ".ksh", ".dash", ".fish"]
        .iter()
        .any(|ending| name.ends_with(ending))
}

/// The word stands where a command may: at the start, behind an operator, a quote, an assignment
/// or a word that runs another.
fn starts_command(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].trim_end_matches("./");
        let after = line[at + word.len()..].chars().next();
        if after.is_some_and(|c| c.is_alphanumeric() || "-_./=:".contains(c)) {
            return false;
        }
        let before = before.trim_end();
        let last = before
            .rsplit(|c: char| c.is_whitespace())
            .next()
            .unwrap_or_default();
        before.is_empty()
            || before.ends_with([
                ';', '&', '|', '(', '{', '`', '"', '\'', '@', '+', '!', ':', ',', '[', '-',
            ])
            || last.contains('=')
            || [
                "then", "do", "else", "if", "while", "until", "exec", "env", "time", "sudo",
                "nice", "command", "xargs", "run", "entry", "npx", "cmd", "eval", "-c",
            ]
            .contains(&last)
    })
}

/// The line goes to a directory that is not the script's own, one above it, or the project's.
fn changes_directory(line: &str) -> bool {
    let mut words = line.split(|c: char| c.is_whitespace() || ";&|(){}".contains(c));
    if !words.any(|word| matches!(word, "cd" | "pushd")) {
        return false;
    }
    let Some((_, target)) = line.split_once("cd ").or_else(|| line.split_once("pushd ")) else {
        return false;
    };
    let target = target.split(['&', ';', '|']).next().unwrap_or_default();
    let known = ["dirname", "BASH_SOURCE", "rev-parse --show-toplevel"];
    let rest = if known.iter().any(|way| target.contains(way)) {
        target.rsplit([')', '}', '`']).next().unwrap_or_default()
    } else {
        target
    };
    rest.chars().any(|c| c.is_alphanumeric() || c == '$')
}

/// The interpreter of a script is a program outside the project that reads nothing but the script.
fn interpreter_is_told(text: &str, cx: &crate::FactContext<'_>) -> bool {
    let Some(line) = text.strip_prefix("#!") else {
        return true;
    };
    let line = line.lines().next().unwrap_or_default();
    let mut words = line.split_whitespace();
    let Some(program) = words.next().map(Path::new) else {
        return true;
    };
    let in_project = [
        cx.roots.workspace.as_deref(),
        Some(cx.roots.scratch.as_path()),
    ]
    .into_iter()
    .flatten()
    .any(|root| cx.probe.resolve(program).path.starts_with(root));
    if !program.is_absolute() || in_project {
        return false;
    }
    let mut name = program.file_name().and_then(|name| name.to_str());
    if name == Some("env") {
        name = words.find(|word| *word != "-S");
        if let Some(attached) = name.and_then(|word| word.strip_prefix("-S")) {
            name = Some(attached);
        }
    }
    let Some(name) = name else {
        return false;
    };
    let family = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    (INTERPRETERS.contains(&name) || INTERPRETERS.contains(&family))
        && words.all(|word| word.starts_with('-') && !word.contains(['/', '=']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_counts_where_a_command_may_stand() {
        for line in [
            "make x",
            "\t@make",
            "a && just t",
            "X=1 make",
            "\"ci\": \"just ci\"",
            "if ! ./gradlew test; then",
            "exec npm test",
            "test: make x",
        ] {
            let tool = ["make", "just", "gradlew", "npm"];
            assert!(tool.iter().any(|tool| starts_command(line, tool)), "{line}");
        }
        for line in [
            "echo we make it",
            "cmake",
            "rm -rf make.log",
            "it is just that",
        ] {
            let tool = ["make", "just"];
            assert!(
                !tool.iter().any(|tool| starts_command(line, tool)),
                "{line}"
            );
        }
    }

    #[test]
    fn only_the_way_to_the_scripts_own_directory_or_one_above_is_known() {
        for line in [
            "cd \"$(dirname \"$0\")\"",
            "cd \"$(dirname \"$0\")/..\"",
            "cd ..",
            "echo x",
        ] {
            assert!(!changes_directory(line), "{line}");
        }
        for line in [
            "cd api",
            "cd \"$(dirname \"$0\")/api\" && make",
            "cd $X; make",
            "(cd api; make)",
        ] {
            assert!(changes_directory(line), "{line}");
        }
    }
}
