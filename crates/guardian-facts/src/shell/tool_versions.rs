//! Files by which a project chooses the version of a tool that runs. With a version manager on
//! PATH, `cargo --version` and `node --version` are programs of its own that look for such a file
//! from the working directory upwards, and run what it names: a directory, or a version that is
//! fetched first.

use std::path::Path;

use super::reader::Reader;
use super::values::State;
use crate::FileKind;

/// Largest version file that is read, in bytes.
const MAX_FILE: usize = 16 * 1024;

/// Files that hold a version and nothing else.
const PLAIN_FILES: &[&str] = &[
    ".node-version",
    ".nvmrc",
    ".python-version",
    ".ruby-version",
    ".java-version",
    ".go-version",
    ".swift-version",
    ".perl-version",
    ".php-version",
    ".lua-version",
    ".terraform-version",
    ".opentofu-version",
    ".bazelversion",
    ".tool-versions",
];

/// Files that can hold more than versions: hooks, environments, directories.
const RICH_FILES: &[&str] = &[
    "mise.toml",
    ".mise.toml",
    "mise.local.toml",
    ".mise.local.toml",
    ".rtx.toml",
    ".mise",
    "mise",
    ".config/mise.toml",
    ".config/mise",
    ".prototools",
    "global.json",
    ".sdkmanrc",
];

/// Does `rustup` choose the program?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RustToolchain {
    /// No.
    Unasked,
    /// Yes: the one that a file names must be installed.
    Installed,
}

impl Reader<'_> {
    /// Which version of a tool runs is not for the project to say, or it only picks one by number.
    /// With `rust`, for what `rustup` starts, a toolchain file names one of the installed ones.
    pub(super) fn tool_versions(
        &mut self,
        rust: RustToolchain,
        state: &State,
    ) -> Result<(), String> {
        let Some(cwd) = state.cwd.as_deref() else {
            return Err(
                "in which directory it runs is not known, and so is its version".to_owned(),
            );
        };
        let key = (cwd.to_owned(), rust == RustToolchain::Installed);
        if let Some(known) = self.tool_versions.get(&key) {
            return known.clone();
        }
        let resolved = self.cx.probe.resolve(cwd).path;
        let mut seen: Vec<&Path> = Vec::new();
        let mut answer = Ok(());
        // A link is looked at from either side: a tool may go by `$PWD`.
        for directory in cwd.ancestors().chain(resolved.ancestors()) {
            if answer.is_err() || seen.contains(&directory) {
                continue;
            }
            seen.push(directory);
            answer = self.plain_versions_in(directory);
            if answer.is_ok() && rust == RustToolchain::Installed {
                answer = self.rust_toolchain_in(directory);
            }
        }
        self.tool_versions.insert(key, answer.clone());
        answer
    }

    fn plain_versions_in(&self, directory: &Path) -> Result<(), String> {
        for name in RICH_FILES {
            let found = self.cx.probe.resolve(&directory.join(name));
            let counts = match found.kind {
                // A directory is only the tool's when it holds its file.
                Some(FileKind::Directory) => {
                    let file = found.path.join("config.toml");
                    self.cx.probe.resolve(&file).kind.is_some()
                }
                Some(_) => *name != "mise" && *name != ".mise",
                None => found.error.is_some(),
            };
            if counts {
                return Err(format!("`{name}` may choose which program runs"));
            }
        }
        for name in PLAIN_FILES {
            if let Some(text) = self.text_of(directory, name)?
                && !text.lines().all(is_plain_line)
            {
                return Err(format!("`{name}` may choose which program runs"));
            }
        }
        Ok(())
    }

    fn rust_toolchain_in(&self, directory: &Path) -> Result<(), String> {
        for name in ["rust-toolchain", "rust-toolchain.toml"] {
            let Some(text) = self.text_of(directory, name)? else {
                continue;
            };
            let installed = channel(&text).is_some_and(|channel| self.has_toolchain(&channel));
            if !installed {
                return Err(format!("`{name}` may choose which program runs"));
            }
        }
        Ok(())
    }

    /// An installed toolchain is of this channel.
    fn has_toolchain(&self, channel: &str) -> bool {
        let directory = self.cx.roots.home.join(".rustup/toolchains");
        self.cx
            .probe
            .list(&directory, 1000)
            .unwrap_or_default()
            .iter()
            .any(|name| {
                name.strip_prefix(channel).is_some_and(|rest| {
                    // `1.88.0-x86_64-…` is installed for `1.88`, too; `nightly-2020-01-01-…` is
                    // not what `nightly` means.
                    let host = rest.strip_prefix('-').unwrap_or(rest);
                    rest.is_empty()
                        || rest.starts_with('-')
                            && host.starts_with(|letter: char| letter.is_ascii_lowercase())
                })
            })
    }

    /// The file as text; an error when it is there and cannot be read as such.
    fn text_of(&self, directory: &Path, name: &str) -> Result<Option<String>, String> {
        let path = directory.join(name);
        let unread = || format!("`{name}` cannot be read and may choose which program runs");
        let Some(content) = self.cx.probe.read_file(&path, MAX_FILE) else {
            let found = self.cx.probe.resolve(&path);
            return match (found.kind, found.error) {
                (None, None) => Ok(None),
                _ => Err(unread()),
            };
        };
        if content.size > MAX_FILE as u64 {
            return Err(unread());
        }
        String::from_utf8(content.head)
            .map(Some)
            .map_err(|_| unread())
    }
}

/// Words that name versions by number or name, a comment, or nothing.
fn is_plain_line(line: &str) -> bool {
    let line = line.split('#').next().unwrap_or_default();
    line.split_whitespace().all(|word| {
        let word = word.strip_prefix("lts/").unwrap_or(word);
        !word.starts_with('.')
            && word
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b".-_+*~^<>=".contains(&byte))
    })
}

/// The channel of a toolchain file that holds nothing but well-known keys.
fn channel(text: &str) -> Option<String> {
    let text = text.trim();
    let name = if text.contains(['[', '=']) {
        let table: toml::Table = toml::from_str(text).ok()?;
        let mut tables = table.into_iter();
        let (key, value) = tables.next()?;
        if key != "toolchain" || tables.next().is_some() {
            return None;
        }
        let toolchain = value.as_table()?.clone();
        let known = ["channel", "components", "targets", "profile"];
        if !toolchain.keys().all(|key| known.contains(&key.as_str())) {
            return None;
        }
        toolchain.get("channel")?.as_str()?.to_owned()
    } else {
        text.to_owned()
    };
    let is_release = |text: &str| {
        !text.is_empty()
            && text
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b'.')
    };
    let base = name.split('-').next().unwrap_or_default();
    let is_known = matches!(base, "stable" | "beta" | "nightly") || is_release(base);
    let is_plain = name
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte));
    (is_known && is_plain).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::{channel, is_plain_line};

    #[test]
    fn versions_are_plain_and_places_are_not() {
        for line in [
            "20.11.1",
            "v18",
            "lts/iron",
            "lts/*",
            "nodejs 20.1.0 18.2.0",
            "python 3.12 # why",
            "",
            "# path:/x",
            "3.12.1-dev",
        ] {
            assert!(is_plain_line(line), "{line}");
        }
        for line in [
            "nodejs path:/ws/evil",
            "ref:main",
            "../../ws/evil",
            "nodejs path:./x",
            "a/b",
            "$(x)",
            "..",
        ] {
            assert!(!is_plain_line(line), "{line}");
        }
    }

    #[test]
    fn a_toolchain_file_names_a_channel_and_nothing_else() {
        let stable = Some("stable".to_owned());
        assert_eq!(channel("stable\n"), stable);
        assert_eq!(channel("[toolchain]\nchannel = \"stable\"\n"), stable);
        assert_eq!(
            channel("[toolchain]\nchannel = \"1.88\"\ncomponents = [\"clippy\"]\n"),
            Some("1.88".to_owned())
        );
        for text in [
            "[toolchain]\npath = \"/ws/tc\"\n",
            "[toolchain]\npath = \"/ws/tc\"\nchannel = \"stable\"\n",
            "[toolchain]\nchannel = \"stable\"\nnew-key = 1\n",
            "[toolchain]\nchannel = \"my-own\"\n",
            "../evil",
            "/ws/tc",
            "[broken",
            "",
        ] {
            assert_eq!(channel(text), None, "{text}");
        }
    }
}
