//! What comes from a file, a call or the store reaches the reader as visible text: nothing that
//! drives a terminal, turns text around or hides in it.

use crate::exec::run;
use crate::host_process::World;

/// Clears the screen, sets the title, reverses the text, and hides.
const HOSTILE: &str = "x\u{1b}[2J\u{1b}]0;pwn\u{7}\u{9b}31my\u{202e}z\u{2066}\u{200b}\u{e0041}";

fn is_visible(text: &str) -> bool {
    text.chars().all(|c| {
        c == '\n'
            || !(c.is_control()
                || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{e0000}'..='\u{e007f}'))
    })
}

#[track_caller]
fn check(world: &World, arguments: &[&str]) -> String {
    let output = run(world, arguments);
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8(text).unwrap();
    assert!(is_visible(&text), "{arguments:?}: {text:?}");
    text
}

#[test]
fn every_command_escapes_what_it_did_not_write_itself() {
    let world = World::new();
    let workspace = world.workspace.join(".guardian");
    std::fs::create_dir_all(&workspace).unwrap();
    let escaped: String = HOSTILE
        .chars()
        .map(|c| format!("\\U{:08x}", u32::from(c)))
        .collect();
    let rule = format!(
        "version = 1\n# \u{9b}31m\u{202e}\u{2066}\n[[rule]]\nid = \"a\"\neffect = \"deny\"\ncommand = [\"make\"]\nreason = \"{escaped}\"\n"
    );
    std::fs::write(workspace.join("policy.toml"), &rule).unwrap();
    let hostile_path = serde_json::json!({ "path": HOSTILE, "content": HOSTILE }).to_string();
    let hostile_command = format!("make '{HOSTILE}'");
    let shown = check(&world, &["check", "--bash", "make"]);
    assert!(shown.contains("\\u{1b}[2J"), "{shown}");
    for arguments in [
        &["check", "--bash", "make", "--json"][..],
        &["check", "--bash", &hostile_command],
        &["check", "Write", &hostile_path],
        &["check", "Write", &hostile_path, "--json"],
        &["explain", "--bash", &hostile_command],
        &["explain", "--bash", "make", "--json"],
        &["explain", "Write", &hostile_path],
        &["explain", "a"],
        &["explain", HOSTILE],
        &["exec", "Bash", r#"{"command": "make"}"#],
        &["exec", "Write", &hostile_path],
        &["exec", "Read", &hostile_path],
        &["exec", HOSTILE, "{}"],
        &["exec", "Read", HOSTILE],
        &["policy", "show", "--text"],
        &["policy", "show", "--text", "--json"],
        &["policy", "check", "--layer", "workspace"],
        &["policy", "check", HOSTILE],
        &["trust"],
        &["audit"],
        &["audit", "--json"],
        &["sessions"],
        &["review", "list", "--session", HOSTILE],
        &["replay", HOSTILE],
        &["nosuch", HOSTILE],
        &[HOSTILE],
    ] {
        check(&world, arguments);
    }
    // A file with a mistake is shown with its text.
    std::fs::write(
        workspace.join("policy.toml"),
        format!("{rule}x\u{202e} = \r\u{1b}[31m\n"),
    )
    .unwrap();
    for arguments in [
        &["policy", "check", "--layer", "workspace"][..],
        &["trust"],
        &["check", "--bash", "ls"],
        &["check", "--bash", "ls", "--json"],
    ] {
        check(&world, arguments);
    }
}

#[test]
fn what_a_tool_returned_goes_to_a_pipe_as_it_is() {
    let world = World::new();
    let text = "a\u{1b}[31mb\u{202e}c\n";
    std::fs::write(world.workspace.join("a.txt"), text).unwrap();
    let output = run(
        &world,
        &["exec", "Bash", r#"{"command": "cat a.txt"}"#, "--yes-once"],
    );
    assert_eq!(String::from_utf8(output.stdout).unwrap(), text);
}
