//! What no file may be called or contain.

use std::path::Path;

use super::Problem;

/// Text that ties the repository to one machine or workplace. In two pieces each, so that this
/// file does not contain them itself.
const FOREIGN: &[(&str, &str, &str)] = &[
    ("/wo", "rk/shared", "a machine path"),
    ("/wo", "rk/wt", "a machine path"),
    ("/wo", "rk/main", "a machine path"),
    ("/wo", "rk/land", "a machine path"),
    ("/wo", "rk/.library", "a machine path"),
    ("/root", "/.cargo", "a machine path"),
    ("/root", "/.pyenv", "a machine path"),
    ("arti", "factory/api/", "a registry host"),
    ("index.crates", ".io", "a registry host"),
    ("static.crates", ".io", "a registry host"),
    ("registry.npm", "js.org", "a registry host"),
    ("files.python", "hosted.org", "a registry host"),
    ("deb.deb", "ian.org", "a registry host"),
];

/// Checks a file's name.
pub(crate) fn check_name(path: &Path, problems: &mut Vec<Problem>) {
    let name = path
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    let inner = path.components().count() > 1;
    if inner && matches!(name.as_str(), "clippy.toml" | ".clippy.toml") {
        let message = "a crate's own clippy.toml replaces the root one silently".to_owned();
        problems.push(Problem {
            path: path.to_path_buf(),
            line: 0,
            rule: "clippy-toml",
            message,
        });
    }
    let leftover = [".snap.new", ".pending-snap", ".orig", ".rej"];
    if leftover.iter().any(|end| name.ends_with(end)) {
        let message = "a leftover of a tool".to_owned();
        problems.push(Problem {
            path: path.to_path_buf(),
            line: 0,
            rule: "leftover",
            message,
        });
    }
}

/// Checks a file's text.
pub(crate) fn check_text(path: &Path, content: &str, problems: &mut Vec<Problem>) {
    for (index, line) in content.lines().enumerate() {
        for (start, end, what) in FOREIGN {
            if line.contains(&format!("{start}{end}")) {
                let message = format!("`{start}{end}` is {what}");
                let path = path.to_path_buf();
                problems.push(Problem {
                    path,
                    line: index + 1,
                    rule: "foreign",
                    message,
                });
            }
        }
    }
}
