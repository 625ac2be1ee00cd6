//! The user's login environment, captured once: what a terminal of theirs would have.
//!
//! nvm, Homebrew, pyenv and the like put themselves into profile files. Running those for every
//! command costs seconds and lets them print into its output; so a login shell runs once, and its
//! variables are given to every command.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::environment::Variables;
use super::{
    Abort, BashContext, BashLimits, Ending, NoSink, Program, SandboxRequest, Shell, ShellId,
    SupervisorProgram, call,
};

/// How long the profile files may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Variables that belong to the shell that was asked, not to the user.
const OF_THE_SHELL: &[&str] = &["_", "SHLVL", "PWD", "OLDPWD", super::MARKER_NAME];

/// The login environment of this process's user. Captured at the first use, then kept.
#[derive(Debug)]
pub struct LoginEnvironment {
    inherited: Variables,
    captured: Mutex<Option<Arc<Variables>>>,
}

impl LoginEnvironment {
    /// Over the environment that this process was started with.
    #[must_use]
    pub fn new(inherited: Variables) -> Self {
        Self {
            inherited,
            captured: Mutex::new(None),
        }
    }

    /// The variables. The first call runs a login shell (up to 5 s, blocking); when that fails,
    /// what this process inherited is used. Without a supervisor a profile that wants a terminal
    /// may take the whole time.
    #[must_use]
    pub fn get(&self, supervisor: Option<&Arc<SupervisorProgram>>) -> Arc<Variables> {
        let mut captured = self.captured.lock().unwrap_or_else(PoisonError::into_inner);
        captured
            .get_or_insert_with(|| {
                let variables = shells(&self.inherited)
                    .into_iter()
                    .find_map(|shell| capture(&shell, &self.inherited, supervisor));
                let mut variables = variables.unwrap_or_else(|| self.inherited.clone());
                variables.retain(|name, _| {
                    name.to_str()
                        .is_none_or(|name| !OF_THE_SHELL.contains(&name))
                });
                Arc::new(variables)
            })
            .clone()
    }

    /// Forgets what was captured; the next use captures again.
    pub fn refresh(&self) {
        *self.captured.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// `$SHELL`, else the first of zsh, bash, sh that is there. Only the first is tried: a profile
/// that hangs one shell hangs the next as well.
fn shells(inherited: &Variables) -> Option<PathBuf> {
    let own = inherited
        .get(std::ffi::OsStr::new("SHELL"))
        .map(PathBuf::from);
    own.filter(|shell| shell.is_absolute() && shell.is_file())
        .or_else(|| {
            [
                "/bin/zsh",
                "/usr/bin/zsh",
                "/bin/bash",
                "/usr/bin/bash",
                "/bin/sh",
            ]
            .into_iter()
            .map(PathBuf::from)
            .find(|shell| shell.is_file())
        })
}

fn capture(
    shell: &std::path::Path,
    inherited: &Variables,
    supervisor: Option<&Arc<SupervisorProgram>>,
) -> Option<Variables> {
    let border = super::marker();
    let script = format!("printf %s {border}; command env -0; printf %s {border}");
    let home = inherited
        .get(std::ffi::OsStr::new("HOME"))
        .map_or_else(|| "/".into(), PathBuf::from);
    let directory = std::fs::File::open(&home).ok()?;
    let context = BashContext {
        workspace: Arc::new(directory.into()),
        workspace_path: home,
        scratch: PathBuf::from("/nonexistent"),
        environment: Arc::new(inherited.clone()),
        shell: Shell {
            id: ShellId::Bash,
            executable: shell.to_owned(),
        },
        abort: Abort::new().ok()?,
        sink: Arc::new(NoSink),
        limits: BashLimits {
            output_bytes: 4 * 1024 * 1024,
            output_lines: usize::MAX,
            ..BashLimits::standard()
        },
        supervisor: supervisor.cloned(),
        sandbox: SandboxRequest::off(),
    };
    let program = Program::Arguments(vec!["-lic".into(), script.into()]);
    let result = call::run(&program, Some(PATIENCE), "login", &context).ok()?;
    if result.ending != Ending::Exited || result.stdout.truncated {
        return None;
    }
    parse(&result.stdout.text, &border)
}

/// The variables between the two borders. Values that are not UTF-8 are left out.
fn parse(text: &str, border: &str) -> Option<Variables> {
    let (_, after) = text.split_once(border)?;
    let (inside, _) = after.rsplit_once(border)?;
    let variables: Variables = inside
        .split('\0')
        .filter_map(|entry| entry.split_once('='))
        .filter(|(name, value)| !name.is_empty() && !value.contains('\u{fffd}'))
        .map(|(name, value)| (name.into(), value.into()))
        .collect();
    (!variables.is_empty()).then_some(variables)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(pairs: &[(&str, &str)]) -> Variables {
        pairs
            .iter()
            .map(|(name, value)| ((*name).into(), (*value).into()))
            .collect()
    }

    fn home_with_profile(profile: &str) -> (tempfile::TempDir, LoginEnvironment) {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join(".bash_profile"), profile).unwrap();
        let path = home.path().to_str().unwrap().to_owned();
        let environment = variables(&[
            ("HOME", &path),
            ("SHELL", "/bin/bash"),
            ("PATH", "/usr/bin:/bin"),
            ("KEPT", "yes"),
        ]);
        (home, LoginEnvironment::new(environment))
    }

    #[test]
    fn the_profile_is_read_once_and_again_after_a_refresh() {
        let (home, login) =
            home_with_profile("echo noise; echo x >> ~/runs; export FROM_PROFILE='a\nb'");
        let first = login.get(None);
        assert_eq!(
            first.get(std::ffi::OsStr::new("FROM_PROFILE")).unwrap(),
            "a\nb"
        );
        assert_eq!(first.get(std::ffi::OsStr::new("KEPT")).unwrap(), "yes");
        assert_eq!(
            first.get(std::ffi::OsStr::new(super::super::MARKER_NAME)),
            None
        );
        let _ = login.get(None);
        let runs = || {
            std::fs::read_to_string(home.path().join("runs"))
                .unwrap()
                .lines()
                .count()
        };
        assert_eq!(runs(), 1);
        login.refresh();
        let _ = login.get(None);
        assert_eq!(runs(), 2);
    }

    #[test]
    fn a_profile_that_ends_the_shell_leaves_the_inherited_environment() {
        let (_home, login) = home_with_profile("exit 0");
        assert_eq!(
            login.get(None).get(std::ffi::OsStr::new("KEPT")).unwrap(),
            "yes"
        );
    }

    #[test]
    fn a_border_in_a_value_does_not_end_the_list() {
        let parsed = parse("noiseBA=1\0B=xBy\0Bmore", "B").unwrap();
        assert_eq!(parsed.get(std::ffi::OsStr::new("A")).unwrap(), "1");
    }
}
