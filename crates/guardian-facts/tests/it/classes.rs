//! The built-in path classes, by name alone.

use std::path::Path;

use guardian_facts::PathClasses;
use guardian_facts::classes::Class;
use guardian_facts::defaults::{FactsConfig, FactsExtension};

#[track_caller]
fn check(classes: &PathClasses, class: Class, is_member: bool, paths: &[&str]) {
    for path in paths {
        let actual = classes
            .classify(Path::new(path), Path::new("/home/dev"))
            .has(class);
        assert_eq!(actual, is_member, "{path} is {class:?}");
    }
}

#[test]
fn secret_files_are_known() {
    let classes = PathClasses::from_default();
    check(
        &classes,
        Class::Secret,
        true,
        &[
            "/w/.env",
            "/w/a/.env.local",
            "/w/.ENV",
            "/w/prod.env",
            "/w/id_rsa",
            "/w/id_ed25519",
            "/w/x.p12",
            "/w/x.pfx",
            "/w/tls.key",
            "/w/tls.pem",
            "/w/.npmrc",
            "/w/.pypirc",
            "/w/.netrc",
            "/w/credentials.json",
            "/home/dev/.aws/credentials",
            "/home/dev/.docker/config.json",
            "/w/kubeconfig",
            "/home/dev/.kube/config",
            "/home/dev/.config/gh/hosts.yml",
            "/w/.env.",
            "/w/.env ",
            "/w/.env:x",
            "/w/.env.production.local",
            "/home/dev/.cargo/credentials.toml",
            "/home/dev/.git-credentials",
            "/w/terraform.tfstate",
            "/w/secrets.yaml",
            "/home/dev/.pgpass",
            "/w/.vault-token",
        ],
    );
    check(
        &classes,
        Class::Secret,
        false,
        &[
            "/w/.env.example",
            "/w/.env.sample",
            "/w/.env.template",
            "/w/id_rsa.pub",
            "/w/README.md",
            "/w/src/env.rs",
            "/w/environment.ts",
            "/w/src/secrets.rs",
            "/w/keys.ts",
            "/w/config.json",
            "/w/package.json",
            "/w/.envrc",
            "/w/Cargo.toml",
            "/w/src/credentials.rs",
            "/w/monkey",
            "/w/.gitignore",
            "/w/auth.ts",
            "/w/token.rs",
            "/w/settings.json",
        ],
    );
}

#[test]
fn sensitive_paths_are_known() {
    let classes = PathClasses::from_default();
    check(
        &classes,
        Class::Sensitive,
        true,
        &[
            "/home/dev/.ssh/id_rsa",
            "/home/dev/.ssh/authorized_keys",
            "/home/other/.ssh/id_rsa",
            "/root/.ssh/id_rsa",
            "/Users/dev/.ssh/id_rsa",
            "/home/dev/.gnupg",
            "/home/dev/.gnupg/private-keys-v1.d/x",
            "/home/dev/.aws/config",
            "/home/dev/.kube/cache/x",
            "/home/dev/.bash_history",
            "/home/dev/.zsh_history",
            "/etc/shadow",
            "/proc/self/environ",
            "/proc/12/environ",
            "/proc/12/mem",
            "/proc/12/task/13/environ",
            "/home/dev/.mozilla/firefox/x/logins.json",
            "/home/dev/.config/google-chrome/Default/Cookies",
            "/Users/dev/Library/Keychains/login.keychain-db",
            "/home/dev/.password-store/x.gpg",
            "/etc/sudoers",
            "/etc/ssh/ssh_host_rsa_key",
            "/run/docker.sock",
            "/home/dev/.SSH/id_rsa",
            "/home/dev/.ssh./id_rsa",
            "/home/dev/.s\u{200c}sh/id_rsa",
            "/home/dev/.ſſh/id_rsa",
        ],
    );
    check(
        &classes,
        Class::Sensitive,
        false,
        &[
            "/home/dev/.ssh",
            "/home/dev/.ssh/id_rsa.pub",
            "/home/dev/.ssh/known_hosts",
            "/home/dev/.ssh/config",
            "/etc/passwd",
            "/proc/cpuinfo",
            "/home/dev/proj/src/main.rs",
            "/home/dev/.config",
            "/home/dev",
            "/etc",
            "/home/dev/proj/history.md",
            "/etc/ssh/ssh_host_rsa_key.pub",
            "/proc/self/status",
        ],
    );
}

#[test]
fn protected_files_are_known() {
    let classes = PathClasses::from_default();
    check(
        &classes,
        Class::Protected,
        true,
        &[
            "/w/.git",
            "/w/.git/config",
            "/w/.GIT/config",
            "/w/.git/hooks/pre-commit",
            "/w/.git/info/attributes",
            "/w/.git/HEAD",
            "/w/sub/.git/hooks/x",
            "/w/.gitattributes",
            "/w/.gitmodules",
            "/w/.envrc",
            "/home/dev/.bashrc",
            "/home/dev/.zshrc",
            "/home/dev/.config/autostart/x.desktop",
            "/etc/cron.d/x",
            "/etc/crontab",
            "/var/spool/cron/crontabs/dev",
            "/home/dev/.config/systemd/user/x.service",
            "/etc/systemd/system/x.service",
            "/w/.vscode/tasks.json",
            "/w/.vscode/settings.json",
            "/w/.idea/runConfigurations/x.xml",
            "/w/.cargo/config.toml",
            "/w/.husky/pre-commit",
            "/w/.pre-commit-config.yaml",
            "/w/.npmrc",
            "/w/.mcp.json",
            "/w/.claude/settings.json",
            "/w/.codex/config.toml",
            "/w/.gemini/settings.json",
            "/w/.cursor/mcp.json",
            "/w/.opencode/plugin/x.ts",
            "/w/.pi/extensions/x.ts",
            "/w/.guardian/policy.toml",
            "/home/dev/.ssh/config",
            "/home/dev/.local/bin/ls",
            "/w/git~1/config",
            "/home/dev/.gitconfig",
            "/w/.git::$INDEX_ALLOCATION/config",
            "/w/.git./config",
            "/w/.g\u{200d}it/config",
        ],
    );
    check(
        &classes,
        Class::Protected,
        false,
        &[
            "/w/.git/COMMIT_EDITMSG",
            "/w/.git/objects/ab/cd",
            "/w/.git/index",
            "/w/.git/refs/heads/main",
            "/w/.git/logs/HEAD",
            "/w/.git/hooks/pre-commit.sample",
            "/w/.gitignore",
            "/w/src/main.rs",
            "/w/package.json",
            "/w/Makefile",
            "/w/.github/workflows/ci.yml",
            "/w/.vscode/extensions.json",
            "/w/.pi/plan/x.md",
            "/w/.editorconfig",
            "/w/.env",
            "/w/CLAUDE.md",
            "/w/AGENTS.md",
            "/w/.idea/misc.xml",
        ],
    );
}

#[test]
fn an_exception_is_not_reached_by_a_folded_name() {
    let classes = PathClasses::from_default();
    check(&classes, Class::Secret, true, &["/w/id_rsa.pub."]);
    check(&classes, Class::Protected, true, &["/w/.git /index"]);
}

#[test]
fn every_hit_says_its_group_and_why() {
    let classes = PathClasses::from_default();
    let hits = classes.explain(Path::new("/w/.env"), Path::new("/home/dev"));
    assert_eq!(hits.len(), 1);
    assert_eq!(hits[0].group, "environment-file");
    assert!(!hits[0].why.is_empty());
}

#[test]
fn groups_have_unique_names_reasons_and_patterns_that_match_something() {
    let config = FactsConfig::embedded();
    for groups in [&config.secret, &config.sensitive, &config.protected] {
        let mut names: Vec<&str> = groups.iter().map(|group| &*group.name).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count, "names are unique");
        for group in groups.iter() {
            assert!(!group.why.is_empty(), "{}", group.name);
            let mut paths = group.paths.to_vec();
            paths.sort();
            let count = paths.len();
            paths.dedup();
            assert_eq!(paths.len(), count, "{} repeats a pattern", group.name);
        }
    }
}

#[test]
fn every_pattern_matches_the_path_it_spells() {
    let config = FactsConfig::embedded();
    let classes = PathClasses::from_default();
    let home = Path::new("/home/dev");
    for (class, groups) in [
        (Class::Secret, &config.secret),
        (Class::Sensitive, &config.sensitive),
        (Class::Protected, &config.protected),
    ] {
        for group in groups.iter() {
            for pattern in group.paths.iter() {
                let spelled = pattern.replace("**", "x").replace(['*', '?'], "x");
                let path = match spelled.strip_prefix("~/") {
                    Some(rest) => format!("/home/dev/{rest}"),
                    None if spelled.starts_with('/') => spelled,
                    None => format!("/w/{spelled}"),
                };
                let hits = classes.explain(Path::new(&path), home);
                let is_hit = hits
                    .iter()
                    .any(|hit| hit.class == class && hit.group == group.name);
                let is_drive = pattern.starts_with("c:/");
                assert!(
                    is_hit || is_drive,
                    "{} {pattern} does not match {path}",
                    group.name
                );
            }
        }
    }
}

/// Paths around a pattern: what it spells, what lies beneath and above, in capitals, elsewhere.
fn paths_around(pattern: &str) -> Vec<String> {
    let spelled = pattern.replace("**", "x/y").replace(['*', '?'], "x");
    let spelled = spelled.replace(['[', ']'], "");
    let path = match spelled.strip_prefix("~/") {
        Some(rest) => format!("/home/dev/{rest}"),
        None if spelled.starts_with('/') => spelled.clone(),
        None => format!("/w/{spelled}"),
    };
    let above = Path::new(&path)
        .parent()
        .map_or("/", |path| path.to_str().unwrap());
    let other_home = spelled.replacen('~', "/root", 1);
    vec![
        above.to_owned(),
        format!("{path}/beneath"),
        path.to_uppercase(),
        format!("/w/a/{}", path.trim_start_matches('/')),
        format!("{path}x"),
        other_home,
        path,
    ]
}

#[test]
fn the_index_made_at_build_time_answers_as_patterns_compiled_now() {
    let config = FactsConfig::embedded();
    let prepared = PathClasses::from_default();
    let compiled = PathClasses::compile(config).unwrap();
    let home = Path::new("/home/dev");
    let groups = [&config.secret, &config.sensitive, &config.protected];
    let groups = groups.into_iter().flat_map(|groups| groups.iter());
    let patterns = groups.flat_map(|group| group.paths.iter().chain(group.except.iter()));
    for path in patterns.flat_map(|pattern| paths_around(pattern)) {
        let path = Path::new(&path);
        assert_eq!(
            prepared.explain(path, home),
            compiled.explain(path, home),
            "{}",
            path.display()
        );
        assert_eq!(
            prepared.fixed_places_beneath(path, home),
            compiled.fixed_places_beneath(path, home),
            "{}",
            path.display()
        );
        let relative = path.strip_prefix("/w").unwrap_or(path);
        assert_eq!(
            prepared.holds_well_known_names(relative),
            compiled.holds_well_known_names(relative),
            "{}",
            relative.display()
        );
    }
}

#[test]
fn a_group_of_a_known_name_in_another_class_is_a_group_of_its_own() {
    let extension: FactsExtension = toml::from_str(
        "[[protected]]\nname = \"environment-file\"\nwhy = \"x\"\npaths = [\"deploy.sh\"]\nexcept = [\".env\"]\n",
    )
    .unwrap();
    let classes = PathClasses::with_extension(&extension).unwrap();
    check(&classes, Class::Protected, true, &["/w/deploy.sh"]);
    check(&classes, Class::Secret, true, &["/w/.env"]);
}

#[test]
fn a_user_adds_groups_and_exceptions() {
    let extension: FactsExtension = toml::from_str(
        r#"
        [[secret]]
        name = "ours"
        why = "our tokens"
        paths = ["*.token"]

        [[secret]]
        name = "environment-file"
        except = [".env.ci"]
        "#,
    )
    .unwrap();
    let classes = PathClasses::with_extension(&extension).unwrap();
    check(&classes, Class::Secret, true, &["/w/a.token", "/w/.env"]);
    check(&classes, Class::Secret, false, &["/w/.env.ci"]);
}

#[test]
fn a_malformed_pattern_is_an_error_that_names_it() {
    let extension: FactsExtension =
        toml::from_str("[[protected]]\nname = \"x\"\npaths = [\"a[b\"]\n").unwrap();
    let error = PathClasses::with_extension(&extension).unwrap_err();
    assert_eq!(error.pattern, "a[b");
}

#[test]
fn an_unknown_key_is_an_error() {
    assert!(
        toml::from_str::<FactsExtension>("[[secret]]\nname = \"x\"\npath = [\"y\"]\n").is_err()
    );
}
