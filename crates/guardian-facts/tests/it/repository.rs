//! What a repository and the files of a project make of commands that only read.

use guardian_facts::{AccessKind, Effects, Facts};

use super::support::Machine;

/// An index of version 2 with these paths; each file's object is `abab…`.
fn index(entries: &[(&str, u32)]) -> Vec<u8> {
    let mut bytes = b"DIRC\0\0\0\x02".to_vec();
    bytes.extend(u32::try_from(entries.len()).unwrap().to_be_bytes());
    for (path, mode) in entries {
        let start = bytes.len();
        bytes.extend([0; 24]);
        bytes.extend(mode.to_be_bytes());
        bytes.extend([0; 12]);
        bytes.extend([0xab; 20]);
        bytes.extend(u16::try_from(path.len()).unwrap().to_be_bytes());
        bytes.extend(path.as_bytes());
        bytes.push(0);
        while !(bytes.len() - start).is_multiple_of(8) {
            bytes.push(0);
        }
    }
    bytes.extend([0; 20]);
    bytes
}

const FILE: u32 = 0o100_644;
const LINK: u32 = 0o160_000;

fn known(facts: &Facts) -> bool {
    facts
        .commands
        .iter()
        .all(|command| command.effects_known == Effects::Known)
}

fn reads_env(facts: &Facts) -> bool {
    facts.accesses.iter().any(|access| {
        access.kind == AccessKind::Read
            && access
                .exact()
                .is_some_and(|path| path.path.ends_with(".env") && path.sensitivity.secret)
    })
}

#[test]
fn contents_of_tracked_secrets_are_read_by_whole_diffs_and_searches() {
    let tracked = index(&[(".env", FILE), ("src/main.rs", FILE)]);
    let machine = Machine::new().with(".git/index", tracked);
    for text in [
        "git diff",
        "git diff HEAD -- .",
        "git diff -- ':!src'",
        "git diff -- '.en?'",
        "git show HEAD",
        "git show HEAD -- ':(glob).e*'",
        "git log -p",
        "git log -L1,2:src/main.rs",
        "git grep TOKEN",
        "git grep -e TOKEN -- '*env'",
        "git archive HEAD",
        "git archive HEAD .env",
        "git status -v",
        "git stash show -p",
        "git cat-file -p abababab",
        "git cat-file blob \"$x\"",
        "git show :.env",
        "git show :0:.env",
        "git show 'HEAD^{/a: b}:.env'",
        "git show 'HEAD^{/a:src/main.rs}'",
        "git show HEAD:./.env",
        "git show HEAD:.env HEAD:src/main.rs",
        "git show HEAD:src/main.rs HEAD",
        "git show HEAD:src/main.rs $x",
        "git show HEAD:src/../.env",
        "git show HEAD:",
        "git diff HEAD: v1:",
        "git grep TOKEN:src/main.rs",
        "git grep -e TOKEN:src",
        "git archive HEAD:",
        "git diff --stat -p",
    ] {
        assert!(reads_env(&machine.read(text)), "{text}");
    }
    for text in [
        "git diff --stat",
        "git diff --name-only HEAD~1",
        "git diff -- src",
        "git diff HEAD -- '*.rs'",
        "git diff src/main.rs",
        "git diff -- . ':!.env'",
        "git show HEAD:src/main.rs",
        "git show HEAD~2:src v1.0:src/main.rs",
        "git show origin/main@{1}:x -- src",
        "git diff HEAD:src v1:src",
        "git log --oneline",
        "git log --stat",
        "git status",
        "git grep TOKEN -- src",
        "git cat-file -p HEAD",
        "git add src",
        "git commit -m x",
    ] {
        let facts = machine.read(text);
        assert!(!reads_env(&facts) && known(&facts), "{text}");
    }
}

#[test]
fn add_names_untracked_secrets_that_it_would_record() {
    let machine = Machine::new().with(".git/index", index(&[("src/main.rs", FILE)]));
    for text in [
        "git add .",
        "git add -A",
        "git add '*'",
        "git add :/",
        "cd src && git add -A",
        "git add \"$PWD\"",
        "git add $x",
    ] {
        assert!(reads_env(&machine.read(text)), "{text}");
    }
    for text in ["git add src", "git add -u", "git add README.md"] {
        let facts = machine.read(text);
        assert!(!reads_env(&facts) && known(&facts), "{text}");
    }
    let ignoring = machine.with(".gitignore", "node_modules/\n.env\n");
    let facts = ignoring.read("git add .");
    assert!(!reads_env(&facts) && known(&facts));
    let revealing = ignoring.with(".gitignore", ".env\n!.env\n");
    assert!(reads_env(&revealing.read("git add .")));
}

#[test]
fn repositories_inside_the_repository_make_git_opaque() {
    let tracked = index(&[("src/main.rs", FILE), ("sub", LINK)]);
    let empty = Machine::new().with(".git/index", tracked);
    assert!(known(&empty.read("git status")));
    let machine = empty.with("sub/.git/config", "[core]\n\tfsmonitor = x\n");
    for text in ["git status", "git diff", "git add src", "git commit -m x"] {
        assert!(!known(&machine.read(text)), "{text}");
    }
    let untracked = Machine::new().with("sub/.git/config", "");
    assert!(known(&untracked.read("git status")));
    assert!(!known(&untracked.read("git add -A")));
}

#[test]
fn an_index_that_is_not_understood_makes_git_opaque() {
    let machine = Machine::new().with(".git/index", "DIRC and no more");
    assert!(!known(&machine.read("git status")));
}

#[test]
fn hooks_that_reading_runs_make_reading_opaque() {
    for (hook, reading) in [
        ("pre-commit", true),
        ("post-checkout.sample", true),
        ("README.md", true),
        ("post-index-change", false),
        ("fsmonitor-watchman", false),
        ("what-a-later-git-adds", false),
    ] {
        let machine = Machine::new().with(&format!(".git/hooks/{hook}"), "#!/bin/sh\n");
        assert_eq!(known(&machine.read("git status")), reading, "{hook}");
        let records = hook.ends_with(".sample");
        assert_eq!(known(&machine.read("git commit -m x")), records, "{hook}");
    }
}

#[test]
fn a_project_does_not_choose_which_program_a_version_probe_runs() {
    let chosen = [
        (
            "rust-toolchain.toml",
            "[toolchain]\npath = \"/home/dev/proj/tc\"\n",
            "cargo --version",
        ),
        (
            "rust-toolchain.toml",
            "[toolchain]\nchannel = \"nightly-2020-01-01\"\n",
            "rustc -V",
        ),
        (
            "rust-toolchain.toml",
            "[toolchain]\npath = \"/home/dev/proj/tc\"\n",
            "rustup --version",
        ),
        ("rust-toolchain", "../tc", "rustup -V"),
        ("rust-toolchain", "stable", "cargo locate-project"),
        ("rust-toolchain", "stable", "rustfmt --check src/main.rs"),
        (
            ".tool-versions",
            "nodejs path:/home/dev/proj/x\n",
            "node --version",
        ),
        (".python-version", "../../x\n", "python3 --version"),
        ("mise.toml", "[env]\n", "node --version"),
        ("global.json", "{}", "dotnet --version"),
    ];
    for (file, content, command) in chosen {
        let facts = Machine::new().with(file, content).read(command);
        assert!(!known(&facts), "{command} with {file}");
        let below = Machine::new()
            .with(file, content)
            .read(&format!("cd src && {command}"));
        assert!(!known(&below), "{command} beneath {file}");
    }
    let plain = Machine::new()
        .with(".nvmrc", "v20.11.1\n")
        .with(".tool-versions", "nodejs 20.11.1\n# rust\n")
        .with(
            "../.rustup/toolchains/1.88.0-x86_64-unknown-linux-gnu/x",
            "",
        )
        .with("rust-toolchain.toml", "[toolchain]\nchannel = \"1.88.0\"\n");
    for text in [
        "node --version",
        "cargo --version",
        "rustc --version",
        "rustup --version",
        "cargo locate-project",
        "npm ls",
        "go version",
    ] {
        assert!(known(&plain.read(text)), "{text}");
        assert!(known(&Machine::new().read(text)), "{text}");
    }
    assert!(!known(&plain.read("cd \"$x\" && node --version")));
}

#[test]
fn directories_that_a_tool_changes_to_are_looked_at() {
    for text in [
        "npm -C .. ls",
        "npm --prefix .. query '*'",
        "fd -C .. x",
        "fd --base-directory=.. x",
        "env -C .. true",
    ] {
        let facts = Machine::new().read(text);
        assert!(
            facts.accesses.iter().any(|access| access
                .exact()
                .is_some_and(|path| path.path == std::path::Path::new("/home/dev"))),
            "{text}: {:?}",
            facts.accesses
        );
    }
}

/// The `cat`s read places that are known, or bounded.
#[track_caller]
fn reads_known_places(machine: &Machine, text: &str, expected: bool) {
    let facts = machine.read(text);
    let known = facts
        .accesses
        .iter()
        .filter(|access| access.kind == AccessKind::Read)
        .all(|access| !matches!(access.target, guardian_facts::Target::Unknown { .. }));
    assert_eq!(known, expected, "{text}: {:#?}", facts.accesses);
}

#[test]
fn a_name_in_the_index_that_a_shell_would_split_is_no_bound() {
    for odd in [
        "src/b ../home/.ssh/id_rsa",
        "src/b /etc/shadow.rs",
        "src/b .env",
        "src/b\t../x.rs",
        "src/'.'./x.rs",
        "src/.e[n]v",
        "src/b id_rsa",
        "target/.env",
    ] {
        let machine =
            Machine::new().with(".git/index", index(&[("src/main.rs", FILE), (odd, FILE)]));
        for text in [
            "cat $(git ls-files src)",
            "git ls-files | xargs cat",
            "git ls-files | head -5 | xargs cat",
            "for f in $(git ls-files); do cat $f; done",
            "cat $(git diff --name-only)",
            "git grep -l hello | xargs cat",
            "git diff --name-only --diff-filter=ACM HEAD | xargs cat",
        ] {
            reads_known_places(&machine, text, false);
        }
    }
    let machine = Machine::new().with(
        ".git/index",
        index(&[("src/main.rs", FILE), ("src/b ../x.md", FILE)]),
    );
    for text in [
        // whole names
        "git ls-files -z | xargs -0 cat",
        "git ls-files | xargs -d '\\n' cat",
        "git ls-files | while IFS= read -r f; do cat \"$f\"; done",
        // not this name
        "cat $(git ls-files '*.rs')",
    ] {
        reads_known_places(&machine, text, true);
    }
    reads_known_places(
        &machine,
        "git ls-files | while read -r f; do cat $f; done",
        false,
    );
    reads_known_places(&machine, "git ls-files | xargs -d ' ' cat", false);
}

#[test]
fn names_of_commits_are_bounded_only_whole() {
    let machine = Machine::new().with(
        ".git/index",
        index(&[("src/main.rs", FILE), ("src/[slug]/My page.rs", FILE)]),
    );
    for text in [
        "cat $(git diff --name-only HEAD~1)",
        "git diff --name-only HEAD~1 | xargs cat",
        "for f in $(git diff --name-only main..HEAD); do cat \"$f\"; done",
        "cat $(git grep -l hello HEAD~1)",
        "git diff --cached --name-only | xargs cat",
        "git diff --name-only --diff-filter=ACM main HEAD | xargs cat",
        "git diff --name-only HEAD~1 | while read -r f; do cat $f; done",
    ] {
        reads_known_places(&machine, text, false);
    }
    for text in [
        "git diff --name-only HEAD~1 | while read -r f; do cat \"$f\"; done",
        "git diff -z --name-only HEAD~1 | xargs -0 cat",
        "git diff --name-only HEAD~1 | xargs -d '\\n' cat",
        "cat $(git ls-files)",
        "cat $(git diff --name-only)",
        "git diff --name-only -- src | xargs cat",
        "git diff --name-only src | xargs cat",
        "git diff --cached --name-only --diff-filter=ACMR | xargs cat",
        "git diff --name-only --diff-filter=d HEAD | xargs cat",
        "git grep -l hello | xargs cat",
        "git grep -l hello -- src | xargs cat",
    ] {
        reads_known_places(&machine, text, true);
    }
}

#[test]
fn a_tracked_directory_that_became_a_link_leads_where_it_leads() {
    let machine = Machine::new()
        .with(".git/index", index(&[("cfg/shadow.rs", FILE)]))
        .with_link("cfg", "/etc");
    let facts = machine.read("git ls-files '*.rs' | while read -r f; do cat \"$f\"; done");
    let outside = facts.accesses.iter().any(|access| match &access.target {
        guardian_facts::Target::Pattern { base, .. } => {
            base.scope == guardian_facts::Scope::Outside
        }
        guardian_facts::Target::Unknown { .. } => true,
        guardian_facts::Target::Exact(_) => false,
    });
    assert!(outside, "{:#?}", facts.accesses);
}

#[track_caller]
fn is_known(machine: &Machine, text: &str, expected: bool) {
    let facts = machine.read(text);
    assert_eq!(known(&facts), expected, "{text}: {:#?}", facts.opacity);
}

#[test]
fn names_of_files_that_begin_with_no_dash_are_no_flags() {
    let tracked = |path: &str| Machine::new().with(".git/index", index(&[(path, FILE)]));
    let machine = tracked("src/main.rs");
    for text in [
        "find . -name '*.rs' | xargs grep -n fn",
        "find src -name '*.rs' | xargs sed -n 1p",
        "find . -name '*.rs' -print0 | xargs -0 grep -n fn",
        "find src | xargs ls -la",
        "git ls-files | xargs sed -n 1p",
        "git ls-files '*.rs' | xargs grep -n fn",
        "rg -l fn src | xargs sed -n 1,5p",
        "rg -l fn | xargs sed -n 1,5p",
        "grep -n fn $(git ls-files '*.rs')",
        "sed -n 1p $(find src -name '*.rs')",
    ] {
        is_known(&machine, text, true);
    }
    for text in [
        // the first name is the script, the program or the pattern
        "find . | xargs sed",
        "find . | xargs env",
        "find . | xargs grep",
        "cat list | xargs sed -n 1p",
        "git diff --name-only HEAD~1 | xargs sed -n 1p",
        "{ echo -i; find .; } | xargs sed -n 1p",
    ] {
        let facts = machine.read(text);
        let unknown = facts
            .accesses
            .iter()
            .any(|access| matches!(access.target, guardian_facts::Target::Unknown { .. }));
        assert!(!known(&facts) || unknown, "{text}");
    }
    // a name of the index or of the disk that is a flag, or brings one behind a blank
    is_known(&tracked("-i.bak"), "git ls-files | xargs sed -n 1p", false);
    is_known(
        &machine.with("-i", "x"),
        "rg -l fn | xargs sed -n 1p",
        false,
    );
    reads_known_places(
        &tracked("src/a -i"),
        "git ls-files | xargs sed -n 1p",
        false,
    );
    reads_known_places(
        &machine.with("src/a -i", "x"),
        "find src | xargs sed -n 1p",
        false,
    );
}

#[test]
fn the_name_of_a_branch_is_a_revision_where_it_cannot_be_a_flag() {
    let machine = Machine::new();
    for text in [
        "git log $(git branch --show-current)..HEAD --oneline",
        "git log origin/$(git branch --show-current)..HEAD",
        "git diff $(git branch --show-current)",
    ] {
        is_known(&machine, text, true);
    }
    for text in [
        "git log $(git branch --show-current 2>&1)..HEAD",
        // older versions print the name that stands in the tag
        "git log $(git describe --tags --abbrev=0)..HEAD",
        "git log --$(git branch --show-current)",
        "git log $(git describe --contains x)..HEAD",
    ] {
        is_known(&machine, text, false);
    }
    // may be `+main`, or `:main`
    let push = machine.read("git push origin $(git branch --show-current)");
    assert!(push.opacity.iter().any(|opacity| opacity.command.is_some()));
    for hostile in [
        machine.with(".git/refs/tags/--output=x", "abc"),
        machine.with(".git/refs/heads/-x", "abc"),
        machine.with(".git/packed-refs", "abab refs/tags/--output=x\n"),
        machine.with(".git/reftable/tables.list", ""),
        machine.with(".git/HEAD", "ref: refs/heads/--output=x\n"),
    ] {
        is_known(
            &hostile,
            "git log $(git branch --show-current)..HEAD",
            false,
        );
        is_known(
            &hostile,
            "git log origin/$(git branch --show-current)..HEAD",
            true,
        );
    }
}
