//! Where a path leads, in which root it lies, and its classes through links.

use std::path::Path;

use guardian_facts::{FileKind, PathError, Scope, Target};

use crate::world::{SCRATCH, WORKSPACE, World};

#[track_caller]
fn check(written: &str, path: &str, scope: Scope) {
    let fact = World::new().place(written);
    assert_eq!(
        (fact.path.to_str(), fact.scope),
        (Some(path), scope),
        "{written}"
    );
    assert_eq!(fact.written, written);
}

/// Classes as letters: `s`ecret, se`N`sitive, `p`rotected, `g`uardian.
#[track_caller]
fn check_classes(written: &str, expected: &str) {
    let sensitivity = World::new().place(written).sensitivity;
    let mut actual = String::new();
    for (is_member, letter) in [
        (sensitivity.secret, 's'),
        (sensitivity.sensitive, 'n'),
        (sensitivity.protected, 'p'),
        (sensitivity.guardian, 'g'),
    ] {
        if is_member {
            actual.push(letter);
        }
    }
    assert_eq!(actual, expected, "{written}");
}

#[test]
fn ordinary_paths_belong_to_their_root() {
    check(
        "src/main.rs",
        "/home/dev/proj/src/main.rs",
        Scope::Workspace,
    );
    check(".", WORKSPACE, Scope::Workspace);
    check(
        "new/deep/file",
        "/home/dev/proj/new/deep/file",
        Scope::Workspace,
    );
    check(
        "/home/dev/proj/src/../README.md",
        "/home/dev/proj/README.md",
        Scope::Workspace,
    );
    check(
        &format!("{SCRATCH}/tmp.txt"),
        &format!("{SCRATCH}/tmp.txt"),
        Scope::Scratch,
    );
    check("/home/dev/x", "/home/dev/x", Scope::Outside);
}

#[test]
fn a_sibling_with_the_roots_name_as_prefix_is_outside() {
    check("/home/dev/proj2/x", "/home/dev/proj2/x", Scope::Outside);
    check("../proj-old/x", "/home/dev/proj-old/x", Scope::Outside);
}

#[test]
fn dots_and_links_that_leave_the_workspace_are_outside() {
    check("../x", "/home/dev/x", Scope::Outside);
    check("out/a.txt", "/srv/out/a.txt", Scope::Outside);
    check("notes.md", "/srv/victim.txt", Scope::Outside);
    check("dangling", "/srv/not-there", Scope::Outside);
    check(
        "inside/main.rs",
        "/home/dev/proj/src/main.rs",
        Scope::Workspace,
    );
}

#[test]
fn dots_after_a_link_mean_what_the_kernel_means() {
    check("out/../victim.txt", "/srv/victim.txt", Scope::Outside);
    check(
        "out/../../home/dev/proj/README.md",
        "/home/dev/proj/README.md",
        Scope::Workspace,
    );
}

#[test]
fn scratch_is_never_a_way_out() {
    check(
        &format!("{SCRATCH}/way-out/README.md"),
        "/home/dev/proj/README.md",
        Scope::ScratchEscape,
    );
    check(
        &format!("{SCRATCH}/../other/x"),
        "/home/dev/.local/share/guardian/scratch/other/x",
        Scope::ScratchEscape,
    );
    check(
        &format!("{SCRATCH}/../../../../../proj/README.md"),
        "/home/dev/proj/README.md",
        Scope::ScratchEscape,
    );
    check(
        &format!("/home/../{}/secret", &SCRATCH[1..]),
        "/home/dev/proj/.env",
        Scope::ScratchEscape,
    );
}

#[test]
fn a_workspace_around_scratch_leaves_scratch_what_it_is() {
    let mut world = World::new();
    world.roots.workspace = Some("/home/dev".into());
    assert_eq!(
        world.place(&format!("{SCRATCH}/tmp.txt")).scope,
        Scope::Scratch
    );
    assert_eq!(
        world.place(&format!("{SCRATCH}/way-out")).scope,
        Scope::ScratchEscape
    );
    assert_eq!(world.place("/home/dev/x").scope, Scope::Workspace);
}

#[test]
fn classes_are_the_union_over_both_spellings() {
    check_classes("README.md", "");
    check_classes(".env", "s");
    check_classes("env-alias", "s");
    check_classes("src/../.env", "s");
    check_classes("keys/id_ed25519", "snp");
    check_classes("keys/id_ed25519.pub", "p");
    check_classes("hooks-alias/pre-commit", "p");
    check_classes(".GIT/config", "p");
    check_classes("/etc/shadow", "n");
    check_classes("/home/dev/.ssh/config", "p");
}

#[test]
fn a_file_that_holds_only_certificates_is_not_secret() {
    check_classes("ca.pem", "");
    check_classes("server.pem", "s");
    check_classes("new.pem", "s");
}

#[test]
fn a_directory_called_like_a_secret_file_is_none() {
    check_classes("venv/.env", "");
}

#[test]
fn classes_do_not_apply_beneath_scratch_but_follow_what_is_addressed_through_it() {
    check_classes(&format!("{SCRATCH}/.env"), "");
    check_classes(&format!("{SCRATCH}/.git/hooks/pre-commit"), "");
    check_classes(&format!("{SCRATCH}/secret"), "s");
}

#[test]
fn guardians_own_files_are_marked_everywhere_but_in_the_sessions_scratch() {
    check_classes("/home/dev/.local/share/guardian/guardian.db", "g");
    check_classes("/home/dev/.local/share/guardian/scratch/s2/x", "g");
    check_classes(&format!("{SCRATCH}/../guardian.db"), "g");
    check_classes("/home/dev/.config/guardian/policy.toml", "g");
    check_classes("/HOME/dev/.config/GUARDIAN/policy.toml", "g");
    check_classes("/home/dev/.cargo/bin/guardian", "pg");
}

#[test]
fn what_cannot_be_resolved_is_never_ordinary() {
    let world = World::new();
    let base = Path::new(WORKSPACE);
    for written in [
        "loop",
        "/locked/x",
        "",
        "a\0b",
        "README.md/x",
        "missing/../x",
    ] {
        let fact = world.place(written);
        assert_eq!(fact.scope, Scope::Outside, "{written:?}");
        assert!(
            fact.sensitivity.secret && fact.sensitivity.protected,
            "{written:?}"
        );
        assert!(
            matches!(
                world.context().target(written, base),
                Target::Unknown { .. }
            ),
            "{written:?}"
        );
    }
}

#[test]
fn process_aliases_are_not_a_way_around() {
    check(
        "/proc/self/root/home/dev/proj/README.md",
        "/home/dev/proj/README.md",
        Scope::Workspace,
    );
    check(
        "/proc/self/cwd/README.md",
        "/home/dev/proj/README.md",
        Scope::Workspace,
    );
    check_classes("/proc/self/root/etc/shadow", "n");
    check_classes("/proc/self/cwd/.env", "s");
    check_classes("/proc/1/root/home/dev/proj/README.md", "n");
    check_classes("/proc/1/root/home/dev/proj/.env", "sn");
    check_classes("/proc/1/cwd/.git/hooks/x", "np");
    check_classes("/proc/self/environ", "n");
    check_classes("/proc/1/mem", "n");
    check_classes("src/../../../../proc/self/cwd/README.md", "n");
    let descriptor = World::new().place("/dev/stdin");
    assert_eq!(descriptor.path.to_str(), Some("/dev/fd/0"));
    assert_eq!(descriptor.kind, Some(FileKind::Special));
    assert!(descriptor.sensitivity.is_ordinary());
}

#[test]
fn a_new_file_is_bound_to_its_parent_and_an_old_one_to_itself() {
    let world = World::new();
    let parent = world.place("src").identity;
    assert!(parent.is_some());
    assert_eq!(world.place("src/new.rs").identity, parent);
    assert_ne!(world.place("src/main.rs").identity, parent);
    assert_eq!(world.place("twin.md").links, 2);
    assert_eq!(
        world.place("twin.md").identity,
        world.place("README.md").identity
    );
}

#[test]
fn the_entry_of_a_link_is_the_link_itself() {
    let world = World::new();
    let base = Path::new(WORKSPACE);
    let entry = world.context().place_entry("notes.md", base);
    assert_eq!(entry.path.to_str(), Some("/home/dev/proj/notes.md"));
    assert_eq!(entry.scope, Scope::Workspace);
    let followed = world.context().place_entry("out/", base);
    assert_eq!(followed.path.to_str(), Some("/srv/out"));
}

#[test]
fn a_foreign_absolute_path_is_no_ordinary_file_of_the_workspace() {
    let world = World::new();
    let Ok(Target::Exact(path)) = world.context().argument(r"\\localhost\C$\Users\dev\a.txt")
    else {
        panic!("the path is exact");
    };
    assert_eq!(path.scope, Scope::Outside);
}

#[test]
fn an_argument_needs_a_workspace_only_when_it_is_relative() {
    let world = World::without_workspace();
    assert_eq!(world.context().argument("x"), Err(PathError::NoWorkspace));
    assert!(world.context().argument("/srv/x").is_ok());
    assert!(world.context().argument("~/x").is_ok());
}

#[track_caller]
fn pattern(written: &str) -> (String, Scope, guardian_facts::Sensitivity) {
    let world = World::new();
    match world.context().pattern(written, Path::new(WORKSPACE)) {
        Target::Pattern {
            pattern,
            base,
            may_match,
            ..
        } => (pattern, base.scope, may_match),
        other => panic!("no pattern: {other:?}"),
    }
}

#[test]
fn a_pattern_is_judged_by_what_it_matches() {
    let (resolved, scope, classes) = pattern("src/*.rs");
    assert_eq!(resolved, "/home/dev/proj/src/*.rs");
    assert_eq!(scope, Scope::Workspace);
    assert!(classes.is_ordinary());
    assert!(pattern(".en?").2.secret);
    assert!(pattern(".e*").2.secret);
    assert!(
        pattern("[e]nv-al*").2.secret,
        "a match that is a link to a secret file"
    );
    assert!(
        !pattern("*.md").2.secret,
        "a leading dot is not matched by `*`"
    );
}

#[test]
fn a_pattern_with_a_match_elsewhere_has_the_wider_scope() {
    assert_eq!(pattern("note*.md").1, Scope::Outside);
    assert_eq!(pattern("ou?").1, Scope::Outside);
    assert_eq!(pattern("../../*").1, Scope::Outside);
}

#[test]
fn a_pattern_that_cannot_be_expanded_is_judged_by_names_alone() {
    assert!(pattern("not-there/.e*").2.secret);
    assert!(pattern("**/*").2.secret);
    assert!(pattern("**/*").2.protected);
    assert!(!pattern("not-there/x*.md").2.secret);
    assert!(pattern("/home/dev/.s*/id*").2.sensitive);
}

#[test]
fn what_lies_beneath_a_directory_counts_for_walks_and_recursive_deletes() {
    let world = World::new();
    let context = world.context();
    let home = context.classes_beneath(Path::new("/home/dev"));
    assert!(home.sensitive && home.guardian);
    assert!(
        context
            .classes_beneath(Path::new("/home/dev/.local/share"))
            .guardian
    );
    assert!(context.classes_beneath(Path::new("/etc")).sensitive);
    assert!(
        context
            .classes_beneath(Path::new("/home/dev/proj/src"))
            .is_ordinary()
    );
    assert!(context.could_contain_secret(Path::new(WORKSPACE), 20_000));
    assert!(!context.could_contain_secret(Path::new("/home/dev/proj/src"), 20_000));
    assert!(
        context.could_contain_secret(Path::new("/home/dev/proj/src"), 1),
        "the bound was reached"
    );
    assert!(context.could_contain_secret(Path::new("/locked"), 20_000));
}
