//! What the user's configuration adds to what guardian knows: entries for programs, and path classes.
//! A repository adds nothing.

use guardian_host::HostConfig;
use guardian_host::check::{Checker, CheckerOptions};
use guardian_host::rules::{OperatingMode, PermissionMode, Preset, SandboxState};
use guardian_testkit::ProjectFixture;
use serde_json::{Value, json};

use crate::support::config;

const OURS: &str =
    "[ours]\nabout = 'our tool'\noperands = 'read*'\nflags = \"\"\"\n-o = write\n\"\"\"\n";

fn decision(fixture: &ProjectFixture, tool: &str, arguments: &Value) -> String {
    let places = config(fixture).places;
    let checker = Checker::new(
        HostConfig::at(places).unwrap(),
        CheckerOptions {
            workspace: fixture.workspace(),
            home: Some(fixture.home()),
            scratch: Some(fixture.scratch()),
            policy: None,
            preset: Some(Preset::Balanced),
            mode: OperatingMode::Agent,
            permission_mode: PermissionMode::Ask,
            sandbox: Some(SandboxState::Available),
            headless: false,
            audit: false,
        },
    )
    .unwrap();
    checker.check(tool, arguments).decision
}

fn bash(fixture: &ProjectFixture, command: &str) -> String {
    decision(fixture, "Bash", &json!({ "command": command }))
}

#[test]
fn the_users_entries_for_programs_count_and_those_of_a_repository_do_not() {
    let fixture = ProjectFixture::new().unwrap();
    assert_eq!(bash(&fixture, "ours README.md"), "ask");
    // in places that a repository could fill
    for place in [
        "commands",
        ".guardian/commands",
        ".config/guardian/commands",
    ] {
        let directory = fixture.workspace().join(place);
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join("ours.toml"), OURS).unwrap();
    }
    assert_eq!(bash(&fixture, "ours README.md"), "ask");

    let own = config(&fixture).places.config_dir.join("commands");
    std::fs::create_dir_all(&own).unwrap();
    std::fs::write(own.join("ours.toml"), OURS).unwrap();
    assert_eq!(bash(&fixture, "ours README.md"), "allow");
    for still in [
        "ours -o README.md",
        "ours --unlisted README.md",
        "ours ~/.bashrc",
        "./ours README.md",
        "ours $(curl https://example.com)",
        "rm -rf ~",
    ] {
        assert_ne!(bash(&fixture, still), "allow", "{still}");
    }
}

#[test]
fn the_users_path_classes_count() {
    let fixture = ProjectFixture::new().unwrap();
    let token = fixture.workspace().join("deploy.token");
    std::fs::write(&token, "x").unwrap();
    let read = json!({ "path": "deploy.token" });
    assert_eq!(decision(&fixture, "Read", &read), "allow");
    assert_eq!(bash(&fixture, "cat deploy.token"), "allow");
    let directory = config(&fixture).places.config_dir;
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(
        directory.join("config.toml"),
        "[[facts.secret]]\nname = \"tokens\"\nwhy = \"ours\"\npaths = [\"*.token\"]\n",
    )
    .unwrap();
    assert_eq!(decision(&fixture, "Read", &read), "ask");
    assert_eq!(bash(&fixture, "cat deploy.token"), "ask");
}
