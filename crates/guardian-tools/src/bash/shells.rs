//! The shells a command can run in: stable ids, where they are found, which one is in effect.
//!
//! Looking for them is a pure function over [`Machine`], so that what happens on Windows is tested
//! on Linux too.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// Stable id of a shell. Only an id is accepted as identity, never a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ShellId {
    /// Windows PowerShell.
    WindowsPowershell,
    /// The Windows command interpreter.
    Cmd,
    /// The bash that comes with Git for Windows.
    GitBash,
    /// bash.
    Bash,
}

/// The language a shell reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ShellDialect {
    /// bash: commands are read into facts.
    Bash,
    /// PowerShell: no reading, always asked about.
    Powershell,
    /// cmd: no reading, always asked about.
    Cmd,
}

impl ShellDialect {
    /// The dialect as it stands on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Bash => "bash",
            Self::Powershell => "powershell",
            Self::Cmd => "cmd",
        }
    }
}

impl ShellId {
    /// All of them, in the order in which they are offered.
    pub const ALL: [Self; 4] = [
        Self::WindowsPowershell,
        Self::Cmd,
        Self::GitBash,
        Self::Bash,
    ];

    /// The id as it stands on the wire and in settings.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::WindowsPowershell => "windows-powershell",
            Self::Cmd => "cmd",
            Self::GitBash => "git-bash",
            Self::Bash => "bash",
        }
    }

    /// The shell with exactly this id.
    #[must_use]
    pub fn parse(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|shell| shell.as_str() == id)
    }

    /// Its name for people.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::WindowsPowershell => "Windows PowerShell",
            Self::Cmd => "Command Prompt",
            Self::GitBash => "Git Bash",
            Self::Bash => "Bash",
        }
    }

    /// The language it reads.
    #[must_use]
    pub fn dialect(self) -> ShellDialect {
        match self {
            Self::WindowsPowershell => ShellDialect::Powershell,
            Self::Cmd => ShellDialect::Cmd,
            Self::GitBash | Self::Bash => ShellDialect::Bash,
        }
    }
}

/// A shell that was found on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shell {
    /// Which one.
    pub id: ShellId,
    /// Where it is.
    pub executable: PathBuf,
}

/// The operating system, as far as shells depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Platform {
    /// Linux, macOS and the like.
    Unix,
    /// Windows.
    Windows,
}

impl Platform {
    /// The one this program runs on.
    #[must_use]
    pub fn current() -> Self {
        if cfg!(windows) {
            Self::Windows
        } else {
            Self::Unix
        }
    }

    /// The shells of the platform, the preferred one first.
    #[must_use]
    pub fn shells(self) -> &'static [ShellId] {
        match self {
            Self::Unix => &[ShellId::Bash],
            Self::Windows => &[ShellId::GitBash, ShellId::WindowsPowershell, ShellId::Cmd],
        }
    }

    /// Is a path absolute in this platform's spelling?
    fn is_absolute(self, path: &str) -> bool {
        match self {
            Self::Unix => path.starts_with('/'),
            Self::Windows => {
                let drive = path.as_bytes().first().is_some_and(u8::is_ascii_alphabetic);
                (drive && matches!(path.get(1..3), Some(":\\" | ":/"))) || path.starts_with("\\\\")
            }
        }
    }

    fn path_separator(self) -> char {
        match self {
            Self::Unix => ':',
            Self::Windows => ';',
        }
    }

    fn join(self, directory: &str, name: &str) -> String {
        match self {
            Self::Unix => format!("{}/{name}", directory.trim_end_matches('/')),
            Self::Windows => format!("{}\\{name}", directory.trim_end_matches(['\\', '/'])),
        }
    }
}

/// What the search for shells asks the machine.
pub trait Machine {
    /// A variable of the host's own environment.
    fn variable(&self, name: &str) -> Option<String>;
    /// Is there an executable file?
    fn is_executable(&self, path: &Path) -> bool;
}

/// The machine this program runs on.
#[derive(Debug, Clone, Copy)]
pub struct ThisMachine;

impl Machine for ThisMachine {
    fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }

    fn is_executable(&self, path: &Path) -> bool {
        path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
    }
}

/// The shells of this platform, each with its executable when it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellCatalogue {
    entries: Vec<(ShellId, Option<PathBuf>)>,
}

/// An id that cannot be chosen here (`COMMAND_SHELL_INVALID`).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{id}` is not a shell that can be used on this machine; available: {available}")]
pub struct ShellInvalid {
    /// What was asked for.
    pub id: String,
    /// What there is, comma-separated.
    pub available: String,
}

/// No shell at all (`SHELL_NOT_FOUND`).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no usable shell was found; {advice}")]
pub struct ShellNotFound {
    /// How to get one.
    pub advice: &'static str,
}

/// The shell in effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EffectiveShell {
    /// Which one, and where.
    pub shell: Shell,
    /// The configured one is not there (any more), this is the first available.
    pub fallback: bool,
}

impl ShellCatalogue {
    /// Looks for the platform's shells.
    #[must_use]
    pub fn discover(platform: Platform, machine: &dyn Machine) -> Self {
        let entries = platform
            .shells()
            .iter()
            .map(|&id| {
                let found = candidates(id, platform, machine)
                    .into_iter()
                    .map(PathBuf::from)
                    .find(|path| machine.is_executable(path));
                (id, found)
            })
            .collect();
        Self { entries }
    }

    /// The shell with this id, for a setting, a pin, or `expectedCommandShellId`.
    ///
    /// # Errors
    /// Unknown, not of this platform, or not there.
    pub fn get(&self, id: &str) -> Result<Shell, ShellInvalid> {
        self.available()
            .find(|shell| shell.id.as_str() == id)
            .ok_or_else(|| {
                let available: Vec<_> = self.available().map(|shell| shell.id.as_str()).collect();
                ShellInvalid {
                    id: id.to_owned(),
                    available: available.join(", "),
                }
            })
    }

    /// The shell in effect under a persisted setting.
    ///
    /// # Errors
    /// There is none at all.
    pub fn effective(&self, configured: Option<&str>) -> Result<EffectiveShell, ShellNotFound> {
        if let Some(shell) = configured.and_then(|id| self.get(id).ok()) {
            return Ok(EffectiveShell {
                shell,
                fallback: false,
            });
        }
        let shell = self.available().next().ok_or_else(|| self.not_found())?;
        Ok(EffectiveShell {
            shell,
            fallback: configured.is_some(),
        })
    }

    /// The answer of `commandShells.list`.
    #[must_use]
    pub fn to_json(&self, configured: Option<&str>) -> Value {
        let effective = self.effective(configured).ok();
        let default = self.available().next().map(|shell| shell.id);
        let choices: Vec<Value> = self
            .entries
            .iter()
            .map(|(id, executable)| {
                json!({
                    "id": id.as_str(),
                    "label": id.label(),
                    "dialect": id.dialect().as_str(),
                    "available": executable.is_some(),
                    "isDefault": default == Some(*id),
                })
            })
            .collect();
        json!({
            "configuredId": configured,
            "effective": effective.as_ref().map(|effective| json!({
                "id": effective.shell.id.as_str(),
                "dialect": effective.shell.id.dialect().as_str(),
            })),
            "fallback": effective.is_some_and(|effective| effective.fallback),
            "choices": choices,
        })
    }

    fn available(&self) -> impl Iterator<Item = Shell> {
        self.entries.iter().filter_map(|(id, executable)| {
            Some(Shell {
                id: *id,
                executable: executable.clone()?,
            })
        })
    }

    fn not_found(&self) -> ShellNotFound {
        let windows = self.entries.iter().any(|(id, _)| *id == ShellId::GitBash);
        ShellNotFound {
            advice: if windows {
                "install Git for Windows, or name a bash with the variable GUARDIAN_BASH"
            } else {
                "install bash with the system's package manager, or name one with the variable \
                 GUARDIAN_BASH"
            },
        }
    }
}

/// Where a shell may be, the preferred place first.
fn candidates(id: ShellId, platform: Platform, machine: &dyn Machine) -> Vec<String> {
    let variable = |name: &str| {
        machine
            .variable(name)
            .filter(|value| platform.is_absolute(value))
    };
    let named = || {
        ["GUARDIAN_BASH", "PI_DESKTOP_BASH"]
            .into_iter()
            .filter_map(variable)
    };
    match id {
        ShellId::Bash => named()
            .chain(
                [
                    "/bin/bash",
                    "/usr/bin/bash",
                    "/usr/local/bin/bash",
                    "/opt/homebrew/bin/bash",
                    "/home/linuxbrew/.linuxbrew/bin/bash",
                    "/run/current-system/sw/bin/bash",
                ]
                .map(str::to_owned),
            )
            .chain(on_path("bash", platform, machine))
            .collect(),
        ShellId::GitBash => named()
            .chain(beside_git(platform, machine))
            .chain(
                ["ProgramFiles", "ProgramFiles(x86)", "ProgramW6432"]
                    .into_iter()
                    .filter_map(variable)
                    .map(|directory| format!("{directory}\\Git\\bin\\bash.exe")),
            )
            .chain(
                variable("LOCALAPPDATA")
                    .map(|directory| format!("{directory}\\Programs\\Git\\bin\\bash.exe")),
            )
            .chain(on_path("bash.exe", platform, machine).filter(|path| !is_wsl_launcher(path)))
            .collect(),
        ShellId::WindowsPowershell => system_root(machine)
            .map(|root| format!("{root}\\System32\\WindowsPowerShell\\v1.0\\powershell.exe"))
            .into_iter()
            .collect(),
        ShellId::Cmd => system_root(machine)
            .map(|root| format!("{root}\\System32\\cmd.exe"))
            .into_iter()
            .collect(),
    }
}

fn system_root(machine: &dyn Machine) -> Option<String> {
    machine
        .variable("SystemRoot")
        .filter(|value| Platform::Windows.is_absolute(value))
}

/// A relative entry of `PATH` would find a shell that the current directory brings along.
fn on_path(
    name: &'static str,
    platform: Platform,
    machine: &dyn Machine,
) -> impl Iterator<Item = String> {
    let path = machine.variable("PATH").unwrap_or_default();
    let entries: Vec<String> = path
        .split(platform.path_separator())
        .filter(|entry| platform.is_absolute(entry))
        .map(|entry| platform.join(entry, name))
        .collect();
    entries.into_iter()
}

/// `…\Git\cmd\git.exe` is beside `…\Git\bin\bash.exe`.
fn beside_git(platform: Platform, machine: &dyn Machine) -> Vec<String> {
    on_path("git.exe", platform, machine)
        .filter(|git| machine.is_executable(Path::new(git)))
        .filter_map(|git| {
            let (directory, _) = git.rsplit_once('\\')?;
            let (root, _) = directory.rsplit_once('\\')?;
            // `mingw64\bin\git.exe` is one level deeper.
            let root = root.strip_suffix("\\mingw64").unwrap_or(root);
            Some([
                format!("{root}\\bin\\bash.exe"),
                format!("{root}\\usr\\bin\\bash.exe"),
            ])
        })
        .flatten()
        .collect()
}

/// `bash.exe` of Windows itself starts Linux, with other paths than the host's.
fn is_wsl_launcher(path: &str) -> bool {
    let path = path.to_ascii_lowercase().replace('/', "\\");
    path.contains("\\windows\\system32\\")
        || path.contains("\\windows\\sysnative\\")
        || path.contains("\\windowsapps\\")
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Imagined {
        variables: Vec<(&'static str, &'static str)>,
        files: Vec<&'static str>,
    }

    impl Machine for Imagined {
        fn variable(&self, name: &str) -> Option<String> {
            self.variables
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, value)| (*value).to_owned())
        }

        fn is_executable(&self, path: &Path) -> bool {
            self.files.iter().any(|file| Path::new(file) == path)
        }
    }

    #[track_caller]
    fn check(
        platform: Platform,
        variables: &[(&'static str, &'static str)],
        files: &[&'static str],
        expect: &[(&str, &str)],
    ) {
        let machine = Imagined {
            variables: variables.to_vec(),
            files: files.to_vec(),
        };
        let found: Vec<_> = ShellCatalogue::discover(platform, &machine)
            .available()
            .map(|shell| (shell.id.as_str(), shell.executable.display().to_string()))
            .collect();
        let found: Vec<_> = found
            .iter()
            .map(|(id, path)| (*id, path.as_str()))
            .collect();
        assert_eq!(found, expect);
    }

    #[test]
    fn unix_prefers_the_named_then_the_well_known_then_path() {
        let both = ["/bin/bash", "/opt/own/bash", "/nix/bin/bash"];
        check(
            Platform::Unix,
            &[("GUARDIAN_BASH", "/opt/own/bash"), ("PATH", "/nix/bin")],
            &both,
            &[("bash", "/opt/own/bash")],
        );
        check(
            Platform::Unix,
            &[("PATH", "/nix/bin")],
            &both,
            &[("bash", "/bin/bash")],
        );
        check(
            Platform::Unix,
            &[("PATH", "bin::/nix/bin")],
            &["bin/bash", "/nix/bin/bash"],
            &[("bash", "/nix/bin/bash")],
        );
    }

    #[test]
    fn a_named_bash_must_be_absolute_and_there() {
        check(
            Platform::Unix,
            &[
                ("GUARDIAN_BASH", "./bash"),
                ("PI_DESKTOP_BASH", "/gone/bash"),
            ],
            &["./bash", "/bin/bash"],
            &[("bash", "/bin/bash")],
        );
    }

    #[test]
    fn windows_takes_the_bash_beside_git_and_never_the_linux_launcher() {
        let variables = [
            ("PATH", "C:\\Windows\\System32;D:\\Tools\\Git\\cmd"),
            ("SystemRoot", "C:\\Windows"),
            ("ProgramFiles", "C:\\Program Files"),
        ];
        let files = [
            "C:\\Windows\\System32\\bash.exe",
            "C:\\Windows\\System32\\cmd.exe",
            "C:\\Program Files\\Git\\bin\\bash.exe",
            "D:\\Tools\\Git\\cmd\\git.exe",
            "D:\\Tools\\Git\\bin\\bash.exe",
        ];
        check(
            Platform::Windows,
            &variables,
            &files,
            &[
                ("git-bash", "D:\\Tools\\Git\\bin\\bash.exe"),
                ("cmd", "C:\\Windows\\System32\\cmd.exe"),
            ],
        );
        check(
            Platform::Windows,
            &variables,
            &files[..2],
            &[("cmd", "C:\\Windows\\System32\\cmd.exe")],
        );
    }

    #[test]
    fn a_vanished_choice_falls_back_and_says_so() {
        let catalogue = ShellCatalogue {
            entries: vec![
                (ShellId::GitBash, None),
                (ShellId::WindowsPowershell, Some("C:\\p.exe".into())),
                (ShellId::Cmd, Some("C:\\c.exe".into())),
            ],
        };
        let effective = |configured| {
            let effective = catalogue.effective(configured).unwrap();
            (effective.shell.id.as_str(), effective.fallback)
        };
        assert_eq!(effective(None), ("windows-powershell", false));
        assert_eq!(effective(Some("cmd")), ("cmd", false));
        assert_eq!(effective(Some("git-bash")), ("windows-powershell", true));
        assert_eq!(
            catalogue.get("bash").unwrap_err().to_string(),
            "`bash` is not a shell that can be used on this machine; available: \
             windows-powershell, cmd"
        );
        assert_eq!(catalogue.to_json(Some("git-bash"))["fallback"], true);
    }

    #[test]
    fn without_any_shell_the_error_says_how_to_get_one() {
        let catalogue = ShellCatalogue {
            entries: vec![(ShellId::Bash, None)],
        };
        let error = catalogue.effective(Some("bash")).unwrap_err();
        assert!(error.to_string().contains("install bash"));
        assert!(catalogue.to_json(None)["effective"].is_null());
    }

    #[test]
    fn an_id_is_never_a_path() {
        let machine = Imagined {
            variables: vec![],
            files: vec!["/bin/bash"],
        };
        let catalogue = ShellCatalogue::discover(Platform::Unix, &machine);
        assert_eq!(
            catalogue.get("bash").unwrap().executable,
            Path::new("/bin/bash")
        );
        for id in ["/bin/bash", "Bash", "", "cmd"] {
            assert!(catalogue.get(id).is_err(), "{id}");
        }
        for shell in ShellId::ALL {
            assert_eq!(ShellId::parse(shell.as_str()), Some(shell));
        }
    }
}
