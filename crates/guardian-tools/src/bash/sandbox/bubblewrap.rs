//! The confinement as arguments of bubblewrap.

use std::ffi::OsString;
use std::os::unix::fs::FileTypeExt;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};

use guardian_supervisor::protocol::DIRECTORY_FD;

use super::super::BashContext;
use super::placeholder::{Kind, Placeholders};
use super::{NetworkAccess, is_beneath};

/// Finds bubblewrap and sees that it works here with everything we ask of it.
pub(super) fn probe() -> Result<PathBuf, String> {
    let executable = ["/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap"]
        .map(PathBuf::from)
        .into_iter()
        .find(|path| path.is_file())
        .ok_or("bubblewrap (bwrap) is not installed")?;
    let output = Command::new(&executable)
        .args(NAMESPACES)
        .args([
            "--unshare-net",
            "--ro-bind",
            "/",
            "/",
            "--tmpfs",
            "/tmp",
            "--remount-ro",
            "/tmp",
        ])
        .args(["--dev", "/dev", "--proc", "/proc", "--remount-ro", "/proc"])
        .args(["--", "/bin/sh", "-c", "exit 42"])
        .env_clear()
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("bubblewrap cannot be started: {error}"))?;
    if output.status.code() == Some(42) {
        Ok(executable)
    } else {
        let message = String::from_utf8_lossy(&output.stderr);
        Err(format!("bubblewrap does not work here: {}", message.trim()))
    }
}

/// Everything apart except the network, no capability even for root, and an end with the
/// supervisor.
const NAMESPACES: &[&str] = &[
    "--unshare-user-try",
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup-try",
    "--die-with-parent",
    "--new-session",
    "--cap-drop",
    "ALL",
];

/// What of a confinement bubblewrap is told, and what it cannot express.
pub(super) struct Layout {
    pub(super) arguments: Vec<OsString>,
    pub(super) weaknesses: Vec<String>,
}

impl Layout {
    /// The order matters: a later mount lies over an earlier one.
    pub(super) fn new(context: &BashContext, placeholders: &mut Placeholders) -> Self {
        let request = &context.sandbox;
        let workspace = &context.workspace_path;
        let mut layout = Self {
            arguments: Vec::new(),
            weaknesses: request.gaps.clone(),
        };
        layout.add(NAMESPACES.iter().copied());
        if request.network == NetworkAccess::Off {
            // Takes the abstract sockets of the host away as well.
            layout.add(["--unshare-net"]);
        }
        layout.add(["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]);
        // To files like /proc/sys/kernel/core_pattern root is root, also without capabilities and
        // in a user namespace; bubblewrap leaves them writable there.
        layout.add(["--remount-ro", "/proc"]);
        // Sockets of daemons lie in /run: connecting to one is not writing a file.
        for directory in ["/tmp", "/var/tmp", "/run"] {
            if is_real_directory(Path::new(directory)) {
                layout.add(["--tmpfs", directory]);
            }
        }
        if request.network == NetworkAccess::On {
            let resolver = "/run/systemd/resolve";
            layout.add(["--ro-bind-try", resolver, resolver]);
        }
        let scratch = real(&context.scratch);
        let mut masked: Vec<PathBuf> = request
            .masked
            .iter()
            .filter_map(|path| real(path))
            .collect();
        let named: Vec<PathBuf> = request.named.iter().filter_map(|path| real(path)).collect();
        masked.retain(|mask| !named.contains(mask));
        // What lies in a root is there anyway, and can be written.
        let outside: Vec<PathBuf> = named
            .iter()
            .filter(|path| {
                !path.starts_with(workspace)
                    && scratch
                        .as_ref()
                        .is_none_or(|scratch| !path.starts_with(scratch))
            })
            .cloned()
            .collect();
        masked.sort();
        masked.dedup();
        // A masked directory that holds a writable one (guardian's data and scratch) comes first.
        let (outer, inner): (Vec<_>, Vec<_>) = masked.into_iter().partition(|mask| {
            [Some(workspace), scratch.as_ref()]
                .into_iter()
                .flatten()
                .any(|root| root.starts_with(mask))
        });
        for mask in &outer {
            layout.pair("--tmpfs", mask);
        }
        layout.add([
            "--bind-fd".into(),
            DIRECTORY_FD.to_string().into(),
            OsString::from(workspace),
        ]);
        if let Some(scratch) = &scratch {
            layout.bind("--bind", scratch);
        }
        for path in request.writable.iter().filter_map(|path| real(path)) {
            layout.bind("--bind", &path);
        }
        for mask in &outer {
            layout.show(mask, &outside);
            layout.pair("--remount-ro", mask);
        }
        for path in &request.read_only {
            layout.protect(path, workspace, placeholders);
        }
        for mask in &inner {
            layout.mask(mask, &named);
        }
        layout.pair("--chdir", workspace);
        layout.add(["--"]);
        layout
    }

    fn add<A: Into<OsString>>(&mut self, arguments: impl IntoIterator<Item = A>) {
        self.arguments.extend(arguments.into_iter().map(Into::into));
    }

    fn pair(&mut self, option: &str, path: &Path) {
        self.add([OsString::from(option), path.into()]);
    }

    fn bind(&mut self, option: &str, path: &Path) {
        self.add([OsString::from(option), path.into(), path.into()]);
    }

    /// A directory looks empty, a file cannot be opened (a device on a mount without devices).
    fn mask(&mut self, path: &Path, named: &[PathBuf]) {
        if path.is_dir() {
            self.pair("--tmpfs", path);
            self.show(path, named);
            self.pair("--remount-ro", path);
        } else {
            self.add([OsString::from("--ro-bind"), "/dev/null".into(), path.into()]);
        }
    }

    /// Shows what is named beneath a mask again.
    fn show(&mut self, mask: &Path, named: &[PathBuf]) {
        for path in named.iter().filter(|path| is_beneath(path, mask)) {
            self.bind("--ro-bind", path);
        }
    }

    /// Makes a path beneath the workspace read-only. Its directories become mount points, so that
    /// they cannot be moved out of the way; what does not exist gets a placeholder.
    fn protect(&mut self, path: &Path, workspace: &Path, placeholders: &mut Placeholders) {
        if !is_beneath(path, workspace) || path.components().any(|c| c == Component::ParentDir) {
            return;
        }
        let Ok(rest) = path.strip_prefix(workspace) else {
            return;
        };
        let mut step = workspace.to_path_buf();
        for component in rest.components() {
            step.push(component);
            let last = step == path;
            if let Some(kind) = placeholders.join(&step) {
                return self.cover(&step, kind);
            }
            match step.symlink_metadata() {
                Ok(metadata) if metadata.is_symlink() => {
                    // Where it leads is read-only or not by itself; the link can be replaced.
                    return self.weak(&step, workspace, "is a link and can be replaced");
                }
                Ok(metadata) if metadata.file_type().is_socket() => {
                    // A stand-in that a killed host left behind.
                    return self.cover(&step, Kind::File);
                }
                Ok(metadata) if metadata.is_dir() && !last => self.pin(&step),
                // The path itself, or a file where a directory would be: nothing can be made
                // beneath it as long as it stays.
                Ok(_) => return self.bind("--ro-bind", &step),
                Err(_) => {
                    // The first part that is missing: without it nothing can be made beneath.
                    let kind = if last { Kind::File } else { Kind::Directory };
                    return match placeholders.stand_in(&step, kind) {
                        Ok(()) => self.cover(&step, kind),
                        Err(error) => self.weak(
                            &step,
                            workspace,
                            &format!("does not exist and cannot be held free: {error}"),
                        ),
                    };
                }
            }
        }
    }

    /// Makes a directory a mount point, once.
    fn pin(&mut self, directory: &Path) {
        let pinned = self.arguments.windows(2).any(|pair| {
            pair.iter()
                .all(|argument| argument == directory.as_os_str())
        });
        if !pinned {
            self.bind("--bind", directory);
        }
    }

    /// Lies over a stand-in. A file reads as empty (an error there would stop git and npm), and
    /// what is written to it goes nowhere.
    fn cover(&mut self, path: &Path, kind: Kind) {
        match kind {
            Kind::File => {
                self.add([
                    OsString::from("--dev-bind"),
                    "/dev/null".into(),
                    path.into(),
                ]);
            }
            Kind::Directory => {
                self.pair("--tmpfs", path);
                self.pair("--remount-ro", path);
            }
        }
    }

    fn weak(&mut self, path: &Path, workspace: &Path, why: &str) {
        let shown = path.strip_prefix(workspace).unwrap_or(path);
        self.weaknesses.push(format!("`{}` {why}", shown.display()));
    }
}

fn is_real_directory(path: &Path) -> bool {
    path.symlink_metadata()
        .is_ok_and(|metadata| metadata.is_dir())
}

/// Where a path really is; `None` when it does not exist.
fn real(path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok()
}
