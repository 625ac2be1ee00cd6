//! Each rule on a small workspace that breaks it, and all of them on this one.

use std::path::Path;

use crate::workspace::root;

/// Writes a workspace of the given crates: `(name, dependencies, lib.rs)`.
fn workspace(crates: &[(&str, &str, &str)]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    write(
        directory.path(),
        "Cargo.toml",
        "[workspace]\nresolver = \"3\"\nmembers = [\"crates/*\"]\n",
    );
    for (name, dependencies, source) in crates {
        let manifest =
            format!("[package]\nname = \"{name}\"\nedition = \"2024\"\n\n{dependencies}\n");
        write(
            directory.path(),
            &format!("crates/{name}/Cargo.toml"),
            &manifest,
        );
        write(
            directory.path(),
            &format!("crates/{name}/src/lib.rs"),
            source,
        );
    }
    directory
}

fn write(root: &Path, path: &str, content: &str) {
    let path = root.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}

#[track_caller]
fn check(root: &Path, expect: &[&str]) {
    let problems: Vec<String> = super::check(root)
        .unwrap()
        .iter()
        .map(|one| format!("{}: {}", one.path.display(), one.rule))
        .collect();
    assert_eq!(problems, expect);
}

#[test]
fn the_workspace_is_tidy() {
    let problems = super::check(&root()).unwrap();
    let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert!(lines.is_empty(), "{}", lines.join("\n"));
}

#[test]
fn allowed_edges_are_allowed() {
    let facts = ("guardian-facts", "", "");
    let rules = (
        "guardian-rules",
        "[dependencies]\nguardian-facts = { path = \"../guardian-facts\" }",
        "",
    );
    check(workspace(&[facts, rules]).path(), &[]);
}

#[test]
fn an_edge_against_the_arrows_is_found() {
    let facts = (
        "guardian-facts",
        "[dependencies]\nguardian-redact = { path = \"../guardian-redact\" }",
        "",
    );
    let redact = ("guardian-redact", "", "");
    check(
        workspace(&[facts, redact]).path(),
        &["crates/guardian-facts/Cargo.toml: edges"],
    );
}

#[test]
fn an_edge_in_tests_is_an_edge() {
    let review = (
        "guardian-review",
        "[dev-dependencies]\nguardian-store = { path = \"../guardian-store\" }",
        "",
    );
    let store = ("guardian-store", "", "");
    check(
        workspace(&[review, store]).path(),
        &["crates/guardian-review/Cargo.toml: edges"],
    );
}

#[test]
fn the_testkit_is_for_tests() {
    let testkit = ("guardian-testkit", "", "");
    let in_tests = (
        "guardian-host",
        "[dev-dependencies]\nguardian-testkit = { path = \"../guardian-testkit\" }",
        "",
    );
    check(workspace(&[testkit, in_tests]).path(), &[]);
    let in_product = (
        "guardian-host",
        "[dependencies]\nguardian-testkit = { path = \"../guardian-testkit\" }",
        "",
    );
    check(
        workspace(&[testkit, in_product]).path(),
        &["crates/guardian-host/Cargo.toml: edges"],
    );
}

#[test]
fn a_crate_nobody_has_placed_is_found() {
    check(
        workspace(&[("guardian-extra", "", "")]).path(),
        &["crates/guardian-extra/Cargo.toml: edges"],
    );
}

#[test]
fn sql_outside_the_store_is_found() {
    let tools = ("guardian-tools", "[dependencies]\nrusqlite = \"0.40\"", "");
    check(
        workspace(&[tools]).path(),
        &["crates/guardian-tools/Cargo.toml: heavy"],
    );
    check(
        workspace(&[("guardian-store", "[dependencies]\nrusqlite = \"0.40\"", "")]).path(),
        &[],
    );
}

#[test]
fn tokio_in_a_pure_crate_is_found() {
    let facts = ("guardian-facts", "[dependencies]\ntokio = \"1\"", "");
    check(
        workspace(&[facts]).path(),
        &["crates/guardian-facts/Cargo.toml: heavy"],
    );
}

#[test]
fn a_spawn_outside_tools_is_found_and_tests_may() {
    let source = "use std::process::{Command, Stdio};\n#[cfg(test)]\nmod tests { use std::process::Command; }\n";
    let host = workspace(&[("guardian-host", "", source)]);
    write(
        host.path(),
        "crates/guardian-host/tests/it/main.rs",
        "use std::process::Command;",
    );
    check(host.path(), &["crates/guardian-host/src/lib.rs: spawn"]);
    check(workspace(&[("guardian-tools", "", source)]).path(), &[]);
}

#[test]
fn user_files_outside_tools_are_found() {
    let source = "pub fn a() { let _ = std::fs::read(\"a\"); }";
    check(
        workspace(&[("guardian-rules", "", source)]).path(),
        &["crates/guardian-rules/src/lib.rs: files"],
    );
    check(workspace(&[("guardian-store", "", source)]).path(), &[]);
}

#[test]
fn only_the_gate_says_that_a_call_was_permitted() {
    let source = "pub fn a() { Permitted::assume_checked(b); }";
    let host = workspace(&[("guardian-host", "", source)]);
    write(host.path(), "crates/guardian-host/src/gate.rs", source);
    write(host.path(), "crates/guardian-host/examples/a.rs", source);
    check(
        host.path(),
        &["crates/guardian-host/src/lib.rs: assume-checked"],
    );
}

#[test]
fn printing_outside_the_cli_is_found() {
    let source = "pub fn a() { println!(\"a\"); eprintln!(\"b\"); }";
    check(
        workspace(&[("guardian-host", "", source)]).path(),
        &["crates/guardian-host/src/lib.rs: stdout"],
    );
    // There, one writer escapes what comes from elsewhere.
    check(
        workspace(&[("guardian-cli", "", source)]).path(),
        &["crates/guardian-cli/src/lib.rs: one-writer"; 2],
    );
}

#[test]
fn a_clippy_toml_below_the_root_is_found() {
    let host = workspace(&[("guardian-host", "", "")]);
    write(host.path(), "clippy.toml", "");
    write(host.path(), "crates/guardian-host/clippy.toml", "");
    check(
        host.path(),
        &["crates/guardian-host/clippy.toml: clippy-toml"],
    );
}

#[test]
fn a_long_module_is_found_and_its_tests_do_not_count() {
    let long = "pub fn a() {}\n".repeat(601);
    check(
        workspace(&[("guardian-host", "", &long)]).path(),
        &["crates/guardian-host/src/lib.rs: long-module"],
    );
    let tests = format!(
        "#[cfg(test)]\nmod tests {{\n{long}}}\n// {}",
        "\n// more".repeat(900)
    );
    check(workspace(&[("guardian-host", "", &tests)]).path(), &[]);
}

#[test]
fn a_marker_in_a_comment_is_found_and_in_data_is_not() {
    let source =
        "// TODO: later\npub fn a() -> &'static str { \"grep -rn TODO src\" }\n// looks for TODO\n";
    check(
        workspace(&[("guardian-host", "", source)]).path(),
        &["crates/guardian-host/src/lib.rs: marker"],
    );
}

#[test]
fn a_machine_path_is_found_in_any_file() {
    let host = workspace(&[("guardian-host", "", "")]);
    write(
        host.path(),
        "docs/a.md",
        &format!("see {}{}\n", "/wo", "rk/shared/x"),
    );
    check(host.path(), &["docs/a.md: foreign"]);
}

#[test]
fn a_leftover_snapshot_is_found() {
    let host = workspace(&[("guardian-host", "", "")]);
    write(host.path(), "crates/guardian-host/tests/a.snap.new", "");
    check(
        host.path(),
        &["crates/guardian-host/tests/a.snap.new: leftover"],
    );
}
