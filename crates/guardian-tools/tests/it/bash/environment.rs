//! Every variable of the removal list tries to change what a plain command does.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use guardian_tools::bash::environment::{
    CallPlaces, EnvironmentRules, Variables, environment_hash, prepare, secret_values,
};

use super::world::World;

fn variables(pairs: &[(&str, &str)]) -> Variables {
    pairs
        .iter()
        .map(|(name, value)| ((*name).into(), (*value).into()))
        .collect()
}

fn prepared(world: &World, user: &Variables) -> Variables {
    let places = CallPlaces {
        workspace: &world.context.workspace_path,
        scratch: &world.context.scratch,
    };
    prepare(user, &EnvironmentRules::builtin().unwrap(), places)
}

fn script(path: &Path, text: &str) {
    std::fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// Variables as an attacker would set them, `EVIL` standing for a script that leaves a file and
/// `DIR` for a directory of traps.
const ATTACKS: &[(&str, &str)] = &[
    ("BASH_ENV", "EVIL"),
    ("ENV", "EVIL"),
    ("BASH_FUNC_ls%%", "() { EVIL; }"),
    ("BASH_FUNC_git%%", "() { EVIL; }"),
    ("BASH_FUNC_cd%%", "() { EVIL; }"),
    ("BASH_FUNC_command%%", "() { EVIL; }"),
    ("PS4", "$(EVIL)"),
    ("SHELLOPTS", "xtrace:noexec"),
    ("BASHOPTS", "extdebug:failglob"),
    ("CDPATH", "DIR"),
    ("GLOBIGNORE", "*"),
    ("IFS", "s"),
    ("PROMPT_COMMAND", "EVIL"),
    ("LD_PRELOAD", "DIR/evil.so"),
    ("LD_LIBRARY_PATH", "DIR"),
    ("LD_AUDIT", "DIR/evil.so"),
    ("LD_DEBUG", "all"),
    ("GIT_DIR", "DIR/evil.git"),
    ("GIT_WORK_TREE", "DIR"),
    ("GIT_EXEC_PATH", "DIR"),
    ("GIT_CONFIG_COUNT", "1"),
    ("GIT_CONFIG_GLOBAL", "DIR/evil.gitconfig"),
    ("GIT_CONFIG_SYSTEM", "DIR/evil.gitconfig"),
    ("GIT_CONFIG_PARAMETERS", "'core.fsmonitor'='EVIL'"),
    ("GIT_EXTERNAL_DIFF", "EVIL"),
    ("GIT_SSH_COMMAND", "EVIL"),
    ("GIT_SSH", "EVIL"),
    ("GIT_ASKPASS", "EVIL"),
    ("GIT_PAGER", "EVIL"),
    ("GIT_EDITOR", "EVIL"),
    ("GIT_TRACE", "DIR/evil-ran"),
    ("GIT_TRACE2_EVENT", "DIR/evil-ran"),
    ("GIT_PROXY_COMMAND", "EVIL"),
    ("PAGER", "EVIL"),
    ("EDITOR", "EVIL"),
    ("VISUAL", "EVIL"),
    ("PERL5OPT", "-MEvil"),
    ("PERL5LIB", "DIR"),
    ("PYTHONSTARTUP", "EVIL"),
    ("PYTHONHOME", "DIR"),
    ("RUBYOPT", "-rEvil"),
    ("NODE_OPTIONS", "--require EVIL"),
    ("JAVA_TOOL_OPTIONS", "-javaagent:EVIL"),
    ("RIPGREP_CONFIG_PATH", "DIR/rg"),
    ("LESSOPEN", "|EVIL %s"),
    ("TAR_OPTIONS", "--checkpoint-action=exec=EVIL"),
    ("GREP_OPTIONS", "-v"),
    ("POSIXLY_CORRECT", "1"),
    ("TMOUT", "1"),
    ("GCONV_PATH", "DIR"),
    ("GLIBC_TUNABLES", "glibc.malloc.check=3"),
    ("PATH", "DIR:."),
];

#[test]
fn no_variable_changes_what_ls_cd_and_git_status_do() {
    let world = World::new();
    let workspace = &world.context.workspace_path;
    std::fs::create_dir(workspace.join("sub")).unwrap();
    std::fs::write(workspace.join("sub/inside"), "").unwrap();
    std::fs::write(workspace.join("file"), "text\n").unwrap();
    // Inside the workspace: an entry of PATH that leads there must go as well.
    let traps = workspace.join("traps");
    std::fs::create_dir_all(traps.join("sub")).unwrap();
    let ran = traps.join("evil-ran");
    let evil = traps.join("evil");
    script(&evil, &format!("echo ran >> {}", ran.display()));
    for name in ["ls", "git", "cat", "uname", "git-status"] {
        std::fs::copy(&evil, traps.join(name)).unwrap();
    }
    std::fs::write(
        traps.join("evil.gitconfig"),
        format!("[core]\n fsmonitor = {}\n", evil.display()),
    )
    .unwrap();
    let base: Variables = [
        ("PATH", "/usr/bin:/bin"),
        ("HOME", world.path().to_str().unwrap()),
        ("LC_ALL", "C.UTF-8"),
        ("GIT_CONFIG_KEY_0", "core.fsmonitor"),
        ("GIT_CONFIG_VALUE_0", evil.to_str().unwrap()),
    ]
    .iter()
    .map(|(name, value)| ((*name).into(), (*value).into()))
    .collect();
    let run = |environment: Variables| {
        let mut context = world.context.clone();
        context.environment = Arc::new(environment);
        let request = super::world::request(
            "ls; cd sub; pwd; ls; cd ..; git status --short; git log --oneline; cat file",
            std::time::Duration::from_secs(20),
        );
        let result = guardian_tools::bash::run_bash_blocking(&request, &context).unwrap();
        (result.exit, result.stdout.text, result.stderr.text)
    };
    let init =
        "git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m one";
    assert_eq!(world.run(init).error_code(), None);
    let expected = run(prepared(&world, &base));
    assert!(
        expected.1.contains("inside") && expected.1.contains(" one\n"),
        "{expected:?}"
    );
    let mut harmless = Vec::new();
    for (name, value) in ATTACKS {
        let value = value
            .replace("EVIL", evil.to_str().unwrap())
            .replace("DIR", traps.to_str().unwrap());
        let mut user = base.clone();
        user.insert(OsString::from(name), OsString::from(value));
        assert_eq!(
            run(prepared(&world, &user)),
            expected,
            "{name} changes what is printed"
        );
        assert!(!ran.exists(), "{name} runs something");
        // The same without our cleaning, to know that the attack is one.
        user.insert("PATH".into(), {
            let mut path = user[std::ffi::OsStr::new("PATH")].clone();
            path.push(":/usr/bin:/bin");
            path
        });
        let bare = run(user);
        let works = ran.exists() || bare.0 != expected.0 || bare.1 != expected.1;
        let _ = std::fs::remove_file(&ran);
        if !works {
            harmless.push(*name);
        }
    }
    // Not every variable bites these five commands; most must, or the test proves nothing.
    assert!(
        ATTACKS.len() - harmless.len() >= 14,
        "harmless here: {harmless:?}"
    );
}

#[test]
fn every_attack_variable_is_removed_or_set_to_our_value() {
    let world = World::new();
    let user: Variables = ATTACKS
        .iter()
        .map(|(name, value)| ((*name).into(), (*value).into()))
        .collect();
    let result = prepared(&world, &user);
    for (name, value) in ATTACKS {
        assert_ne!(
            result.get(std::ffi::OsStr::new(name)),
            Some(&OsString::from(value)),
            "{name} came through"
        );
    }
}

#[test]
fn secrets_are_left_out_unless_the_user_passes_them() {
    let world = World::new();
    let user = variables(&[
        ("GITHUB_TOKEN", "not-a-shape-but-a-name"),
        ("SOME_SETTING", "ghp_0123456789abcdefghijklmnopqrstuvwxyzAB"),
        ("HTTPS_PROXY", "http://user:password@proxy.example:8080"),
        ("LANG", "de_DE.UTF-8"),
        ("MAX_TOKENS", "1000"),
        ("GIT_AUTHOR_NAME", "Ada"),
        ("MY_BLOCKED", "x"),
    ]);
    let names = |variables: &Variables| -> Vec<String> {
        variables
            .keys()
            .filter_map(|name| name.to_str())
            .map(str::to_owned)
            .collect()
    };
    let result = names(&prepared(&world, &user));
    assert!(!result.contains(&"GITHUB_TOKEN".to_owned()));
    assert!(!result.contains(&"SOME_SETTING".to_owned()));
    for kept in ["HTTPS_PROXY", "LANG", "MAX_TOKENS", "GIT_AUTHOR_NAME"] {
        assert!(result.contains(&kept.to_owned()), "{kept}");
    }
    let rules = EnvironmentRules::builtin().unwrap().with_user(
        vec!["GITHUB_*".to_owned(), "LD_PRELOAD".to_owned()],
        vec!["MY_*".to_owned()],
    );
    assert_eq!(
        secret_values(&user, &rules),
        ["ghp_0123456789abcdefghijklmnopqrstuvwxyzAB"]
    );
    let places = CallPlaces {
        workspace: &world.context.workspace_path,
        scratch: &world.context.scratch,
    };
    let mut user = user;
    user.insert("LD_PRELOAD".into(), "/x.so".into());
    let result = names(&prepare(&user, &rules, places));
    assert!(result.contains(&"GITHUB_TOKEN".to_owned()));
    assert!(!result.contains(&"LD_PRELOAD".to_owned()));
    assert!(!result.contains(&"MY_BLOCKED".to_owned()));
}

#[test]
fn path_keeps_only_entries_that_nobody_in_the_roots_controls() {
    let world = World::new();
    let workspace = &world.context.workspace_path;
    std::fs::create_dir_all(workspace.join("bin")).unwrap();
    let link = world.path().join("link");
    std::os::unix::fs::symlink(workspace.join("bin"), &link).unwrap();
    let path = format!(
        "::bin:.:{w}/bin:{w}/missing:{link}:{w}/../proj/bin:{outside}/opt:/usr/bin:{s}/bin",
        w = workspace.display(),
        link = link.display(),
        outside = world.path().display(),
        s = world.context.scratch.display(),
    );
    let result = prepared(&world, &variables(&[("PATH", &path)]));
    assert_eq!(
        result[std::ffi::OsStr::new("PATH")].to_str().unwrap(),
        format!("{}/opt:/usr/bin", world.path().display())
    );
    let nothing_left = prepared(&world, &variables(&[("PATH", ".")]));
    assert!(
        nothing_left[std::ffi::OsStr::new("PATH")]
            .to_str()
            .unwrap()
            .contains("/usr/bin")
    );
}

#[test]
fn the_hash_changes_with_any_value() {
    let one = environment_hash(&variables(&[("A", "1"), ("B", "2")]));
    assert_ne!(one, environment_hash(&variables(&[("A", "1"), ("B", "3")])));
    assert_ne!(one, environment_hash(&variables(&[("A", "1")])));
    assert_eq!(one, environment_hash(&variables(&[("B", "2"), ("A", "1")])));
}

#[test]
fn programs_that_would_wait_for_a_human_end() {
    let mut world = World::new();
    let user = (*world.context.environment).clone();
    world.context.environment = Arc::new(prepared(&world, &user));
    let result = world.run(
        "git init -q . && git config user.name a && git config user.email a@b \
         && for i in $(seq 1 200); do echo $i; done > f && git add f && git commit -q -m one \
         && git log --stat && git commit --amend && GIT_EDITOR= git show | head -3; \
         (exec < /dev/tty) 2>/dev/null || echo no-tty",
    );
    assert!(result.stdout.text.contains("200 ++++"), "{result:?}");
    assert!(result.duration < std::time::Duration::from_secs(10));
}
