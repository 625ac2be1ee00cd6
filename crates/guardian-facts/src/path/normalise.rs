//! From what a model wrote to an absolute path, before anything is resolved.

use std::path::{Component, Path, PathBuf};

use percent_encoding::percent_decode_str;

/// Why a path cannot be placed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// `""`.
    #[error("the path is empty")]
    Empty,
    /// Holds a NUL byte.
    #[error("the path holds a NUL character")]
    Nul,
    /// A `file://` URL that names no local path.
    #[error("the URL does not name a file on this machine: {0}")]
    Url(String),
    /// A relative path in a session without a workspace.
    #[error("a relative path needs a workspace, and this session has none")]
    NoWorkspace,
    /// The machine could not say where it leads.
    #[error("the path cannot be resolved: {0}")]
    Unresolved(String),
}

impl PathError {
    /// True when the call's arguments are wrong, false when it is a matter of the machine or
    /// session.
    #[must_use]
    pub fn is_argument_error(&self) -> bool {
        matches!(self, Self::Empty | Self::Nul | Self::Url(_))
    }
}

/// The path that an operating-system call would get: `written` relative to `base`. `.` and `..`
/// stay, because `..` after a link means what the kernel means.
pub(super) fn join(written: &str, base: &Path) -> Result<PathBuf, PathError> {
    if written.is_empty() {
        return Err(PathError::Empty);
    }
    if written.contains('\0') {
        return Err(PathError::Nul);
    }
    let path = base.join(written);
    if path.is_absolute() {
        Ok(path)
    } else {
        Err(PathError::NoWorkspace)
    }
}

/// The absolute path that the `path` argument of a tool means (SPEC §3): `~` and `~/` are home,
/// `file://` URLs are decoded, everything else is kept byte for byte and taken relative to the
/// workspace.
///
/// # Errors
/// See [`PathError`].
pub fn normalise_argument(
    written: &str,
    workspace: Option<&Path>,
    home: &Path,
) -> Result<PathBuf, PathError> {
    if written.is_empty() {
        return Err(PathError::Empty);
    }
    if written.contains('\0') {
        return Err(PathError::Nul);
    }
    if written == "~" {
        return Ok(home.to_owned());
    }
    if let Some(rest) = written.strip_prefix("~/") {
        // `~//x` stays beneath home: an absolute rest would replace it.
        return Ok(home.join(rest.trim_start_matches('/')));
    }
    if let Some(url) = strip_file_scheme(written) {
        return from_file_url(url);
    }
    let path = Path::new(written);
    if path.is_absolute() {
        return Ok(path.to_owned());
    }
    workspace
        .map(|workspace| workspace.join(path))
        .ok_or(PathError::NoWorkspace)
}

fn strip_file_scheme(written: &str) -> Option<&str> {
    let (scheme, rest) = written.split_at_checked(7)?;
    scheme.eq_ignore_ascii_case("file://").then_some(rest)
}

fn from_file_url(rest: &str) -> Result<PathBuf, PathError> {
    let Some(slash) = rest.find('/') else {
        return Err(PathError::Url("it has no path".to_owned()));
    };
    let (host, path) = rest.split_at(slash);
    if !host.is_empty() && !host.eq_ignore_ascii_case("localhost") {
        return Err(PathError::Url(format!("it names the host `{host}`")));
    }
    if let Some(position) = path.find(['?', '#']) {
        return Err(PathError::Url(format!(
            "it has a query or fragment at byte {}",
            slash + position
        )));
    }
    let bytes: Vec<u8> = percent_decode_str(path).collect();
    if bytes.contains(&0) {
        return Err(PathError::Nul);
    }
    bytes_to_path(bytes)
}

#[cfg(unix)]
#[expect(
    clippy::unnecessary_wraps,
    reason = "other platforms cannot hold every byte string"
)]
fn bytes_to_path(bytes: Vec<u8>) -> Result<PathBuf, PathError> {
    use std::os::unix::ffi::OsStringExt as _;
    Ok(PathBuf::from(std::ffi::OsString::from_vec(bytes)))
}

#[cfg(not(unix))]
fn bytes_to_path(bytes: Vec<u8>) -> Result<PathBuf, PathError> {
    let text =
        String::from_utf8(bytes).map_err(|_| PathError::Url("it is not UTF-8".to_owned()))?;
    // `file:///C:/x` names `C:\x`.
    let text = match text.get(..3) {
        Some(start) if start.as_bytes()[2] == b':' => &text[1..],
        _ => text.as_str(),
    };
    Ok(PathBuf::from(text))
}

/// `.` and `..` taken away by looking at the text only. Never used to decide where a path *is*;
/// only as a second spelling that classes and the scratch rule look at.
#[must_use]
pub fn collapse(path: &Path) -> PathBuf {
    let mut collapsed = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                collapsed.pop();
            }
            other => collapsed.push(other.as_os_str()),
        }
    }
    collapsed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(written: &str, expected: Result<&str, PathError>) {
        let actual = normalise_argument(written, Some(Path::new("/w")), Path::new("/home/dev"));
        assert_eq!(actual, expected.map(PathBuf::from), "{written:?}");
    }

    #[test]
    fn relative_paths_are_the_workspaces_and_bytes_are_kept() {
        check("a/b.rs", Ok("/w/a/b.rs"));
        check("./a", Ok("/w/./a"));
        check("../a", Ok("/w/../a"));
        check("@x", Ok("/w/@x"));
        check("~x", Ok("/w/~x"));
        check("a~/b", Ok("/w/a~/b"));
        check("a b\u{a0}c", Ok("/w/a b\u{a0}c"));
        check("/etc/../x", Ok("/etc/../x"));
    }

    #[test]
    fn tilde_is_home() {
        check("~", Ok("/home/dev"));
        check("~/x", Ok("/home/dev/x"));
        check("~//etc/passwd", Ok("/home/dev/etc/passwd"));
    }

    #[test]
    fn file_urls_are_decoded() {
        check("file:///a%20b", Ok("/a b"));
        check("FILE://localhost/a", Ok("/a"));
        check("file:///a%2e%2e/b", Ok("/a../b"));
        check("file:///%2e%2e/etc", Ok("/../etc"));
        check(
            "file://server/a",
            Err(PathError::Url("it names the host `server`".to_owned())),
        );
        check("file://", Err(PathError::Url("it has no path".to_owned())));
        check("file:///a%00b", Err(PathError::Nul));
    }

    #[test]
    fn empty_and_nul_are_errors() {
        check("", Err(PathError::Empty));
        check("a\0b", Err(PathError::Nul));
    }

    #[test]
    fn a_relative_path_needs_a_workspace() {
        let actual = normalise_argument("a", None, Path::new("/home/dev"));
        assert_eq!(actual, Err(PathError::NoWorkspace));
    }
}
