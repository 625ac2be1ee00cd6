//! Windows paths as text: pure functions, so that they are tested on every platform.
//!
//! SPEC §3: drive, UNC, `\\?\`, 8.3 names, trailing dots and spaces, alternate data streams and
//! device names are understood before two paths are compared.

/// How a Windows path starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Prefix {
    /// `C:\x`: a drive, absolute.
    Drive(char),
    /// `C:x`: relative to the current directory of a drive.
    DriveRelative(char),
    /// `\\server\share\x`, also `\\?\UNC\server\share` and `//server/share`.
    Unc {
        /// Server name, lower-case.
        server: String,
        /// Share name, lower-case.
        share: String,
    },
    /// `\\.\X` or `\\?\X` where X is no drive and no UNC: a device.
    Device(String),
    /// `\x`: relative to the root of the current drive.
    Rooted,
    /// `x`
    Relative,
}

/// A Windows path, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WindowsPath {
    /// Its start.
    pub prefix: Prefix,
    /// Components as two paths are compared: lower-case, `.` gone, `..` applied, no trailing dots
    /// and spaces, no stream suffix.
    pub components: Vec<String>,
    /// A component names an alternate data stream (`file.txt:hidden`).
    pub stream: bool,
    /// A component looks like an 8.3 short name (`PROGRA~1`): it may be another file's alias.
    pub short_name: bool,
    /// A component is a device name (`NUL`, `COM1.txt`), wherever it stands.
    pub device_name: bool,
    /// `..` leads above the start.
    pub escapes: bool,
}

/// Takes a path apart.
#[must_use]
pub fn parse(text: &str) -> WindowsPath {
    let unified = text.replace('/', "\\");
    let (prefix, rest, verbatim) = split_prefix(&unified);
    let mut path = WindowsPath {
        prefix,
        components: Vec::new(),
        stream: false,
        short_name: false,
        device_name: false,
        escapes: false,
    };
    for component in rest.split('\\').filter(|component| !component.is_empty()) {
        match component {
            "." if !verbatim => {}
            ".." if !verbatim => {
                if path.components.pop().is_none() {
                    path.escapes = true;
                }
            }
            name => {
                let (name, stream) = match name.split_once(':') {
                    Some((name, _)) => (name, true),
                    None => (name, false),
                };
                path.stream |= stream;
                let name = if verbatim { name } else { trim_name(name) };
                path.short_name |= is_short_name(name);
                path.device_name |= is_device_name(name);
                path.components.push(name.to_lowercase());
            }
        }
    }
    path
}

impl WindowsPath {
    /// The canonical spelling for comparison: `c:\a\b`, `\\server\share\a`; `None` where the text
    /// alone does not say which file is meant (relative to a drive, 8.3 name, device).
    #[must_use]
    pub fn comparable(&self) -> Option<String> {
        if self.short_name || self.device_name || self.escapes {
            return None;
        }
        let rest = self.components.join("\\");
        match &self.prefix {
            Prefix::Drive(letter) => Some(format!("{letter}:\\{rest}")),
            Prefix::Unc { server, share } => {
                // An administrative share of this machine is its drive.
                let is_local = matches!(
                    server.as_str(),
                    "localhost" | "127.0.0.1" | "::1" | "0--1.ipv6-literal.net" | "."
                );
                match (is_local, share.strip_suffix('$')) {
                    (true, Some(drive)) if drive.len() == 1 => Some(format!("{drive}:\\{rest}")),
                    _ => Some(format!("\\\\{server}\\{share}\\{rest}")),
                }
            }
            Prefix::DriveRelative(_) | Prefix::Device(_) | Prefix::Rooted | Prefix::Relative => {
                None
            }
        }
    }
}

/// The text is an absolute path of another platform: a drive, UNC or device path. On a system
/// where it is only an odd file name, it still means a place elsewhere to whoever wrote it.
#[must_use]
pub fn is_foreign(text: &str) -> bool {
    if cfg!(windows) {
        return matches!(parse(text).prefix, Prefix::Device(_) | Prefix::Unc { .. });
    }
    text.starts_with("\\\\") || {
        let bytes = text.as_bytes();
        bytes.len() >= 3
            && bytes[0].is_ascii_alphabetic()
            && bytes[1] == b':'
            && matches!(bytes[2], b'\\' | b'/')
    }
}

fn split_prefix(text: &str) -> (Prefix, &str, bool) {
    for (start, verbatim) in [("\\\\?\\", true), ("\\??\\", true), ("\\\\.\\", false)] {
        if let Some(rest) = text.strip_prefix(start) {
            if let Some(unc) = strip_prefix_any_case(rest, "UNC\\") {
                let (prefix, rest) = split_unc(unc);
                return (prefix, rest, verbatim);
            }
            if let Some((letter, rest)) = split_drive(rest)
                && (rest.is_empty() || rest.starts_with('\\'))
            {
                return (Prefix::Drive(letter), rest, verbatim);
            }
            let (device, rest) = rest.split_once('\\').unwrap_or((rest, ""));
            return (Prefix::Device(device.to_lowercase()), rest, verbatim);
        }
    }
    if let Some(unc) = text.strip_prefix("\\\\") {
        let (prefix, rest) = split_unc(unc);
        return (prefix, rest, false);
    }
    match split_drive(text) {
        Some((letter, rest)) if rest.starts_with('\\') => (Prefix::Drive(letter), rest, false),
        Some((letter, rest)) => (Prefix::DriveRelative(letter), rest, false),
        None if text.starts_with('\\') => (Prefix::Rooted, text, false),
        None => (Prefix::Relative, text, false),
    }
}

fn strip_prefix_any_case<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let (start, rest) = text.split_at_checked(prefix.len())?;
    start.eq_ignore_ascii_case(prefix).then_some(rest)
}

fn split_unc(text: &str) -> (Prefix, &str) {
    let (server, rest) = text.split_once('\\').unwrap_or((text, ""));
    let (share, rest) = rest.split_once('\\').unwrap_or((rest, ""));
    (
        Prefix::Unc {
            server: server.to_lowercase(),
            share: share.to_lowercase(),
        },
        rest,
    )
}

fn split_drive(text: &str) -> Option<(char, &str)> {
    let letter = text.chars().next().filter(char::is_ascii_alphabetic)?;
    text[1..]
        .strip_prefix(':')
        .map(|rest| (letter.to_ascii_lowercase(), rest))
}

fn trim_name(name: &str) -> &str {
    let trimmed = name.trim_end_matches(['.', ' ']);
    if trimmed.is_empty() { name } else { trimmed }
}

/// `NAME~1.EXT`: at most eight characters with a tilde and digits, at most three of extension.
fn is_short_name(name: &str) -> bool {
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
    let Some((front, digits)) = stem.rsplit_once('~') else {
        return false;
    };
    !front.is_empty()
        && stem.chars().count() <= 8
        && extension.chars().count() <= 3
        && !digits.is_empty()
        && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// `NUL`, `com1.txt`, `CONIN$`: devices in every directory.
fn is_device_name(name: &str) -> bool {
    let stem = name
        .split('.')
        .next()
        .unwrap_or(name)
        .trim_end_matches(' ')
        .to_ascii_lowercase();
    match stem.as_str() {
        "con" | "prn" | "aux" | "nul" | "conin$" | "conout$" => true,
        _ => {
            let number = stem
                .strip_prefix("com")
                .or_else(|| stem.strip_prefix("lpt"));
            number.is_some_and(|number| {
                matches!(
                    number,
                    "0" | "1" | "2" | "3" | "4" | "5" | "6" | "7" | "8" | "9" | "¹" | "²" | "³"
                )
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        assert_eq!(parse(text).comparable().as_deref(), expected, "{text}");
    }

    #[test]
    fn spellings_of_one_file_compare_equal() {
        for text in [
            r"C:\Users\Dev\a.txt",
            "c:/users/dev/a.txt",
            r"C:\Users\.\x\..\Dev\a.txt. .",
            r"\\?\C:\Users\Dev\a.txt",
            r"\\.\C:\Users\Dev\a.txt",
            r"C:\Users\Dev\a.txt:stream",
            r"C:\Users\Dev\a.txt::$DATA",
            r"\\localhost\C$\Users\dev\a.txt",
            r"\\?\UNC\127.0.0.1\c$\users\dev\a.txt",
        ] {
            check(text, Some(r"c:\users\dev\a.txt"));
        }
        check(r"\\Server\Share\A", Some(r"\\server\share\a"));
        check("//server/share/a", Some(r"\\server\share\a"));
    }

    #[test]
    fn what_the_text_does_not_decide_is_not_comparable() {
        check(r"C:\SECRET~1\a.txt", None);
        check(r"C:a.txt", None);
        check(r"\a.txt", None);
        check(r"a.txt", None);
        check(r"C:\x\NUL", None);
        check(r"C:\com1.txt", None);
        check(r"\\.\PhysicalDrive0", None);
        check(r"\\?\GLOBALROOT\Device\x", None);
        check(r"C:\..\..\x", None);
    }

    #[test]
    fn names_are_recognised() {
        assert!(parse(r"C:\a:b").stream);
        assert!(parse(r"C:\PROGRA~1").short_name);
        assert!(!parse(r"C:\backup~1.tar.gz~").short_name);
        assert!(parse(r"dir\aux .c").device_name);
        assert!(!parse(r"dir\auxiliary.c").device_name);
        assert!(!parse(r"dir\com10").device_name);
    }

    #[test]
    fn foreign_absolute_paths_are_seen() {
        for text in [r"C:\x", "c:/x", r"\\localhost\C$\x", r"\\?\C:\x"] {
            assert!(is_foreign(text), "{text}");
        }
        for text in ["a:b", "c:", "x/y", "/c:/x", r"a\b"] {
            assert!(!is_foreign(text), "{text}");
        }
    }
}
