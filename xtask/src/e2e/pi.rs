//! `cargo xtask e2e pi`: the bridge against the real `guardian` and the real pi, whose model is a
//! script on loopback.
//!
//! pi, Node and TypeScript come from npm at fixed versions into `target/e2e/pi`. The bridge is
//! copied there as npm would publish it, so that what it imports is pi's own.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use crate::workspace::{cargo, root, run as run_command};

/// What is installed, by name and version.
const PACKAGES: &[&str] = &[
    "node@24.21.0",
    "@earendil-works/pi-coding-agent@1.6.0",
    "typescript@5.9.3",
    "@types/node@24.19.4",
];
/// What of `bridges/pi` is staged.
const STAGED: &[&str] = &["package.json", "tsconfig.json", "src", "test"];

/// Installs, checks the types, runs the tests of the bridge, then the scenarios.
pub(crate) fn run(arguments: &[String]) -> anyhow::Result<()> {
    let place = root().join("target/e2e/pi");
    install(&place)?;
    stage(&place)?;
    if arguments.iter().any(|argument| argument == "--short") {
        // What CI's test run has built, with the same features: nothing is compiled twice.
        run_command(cargo().args(["test", "--workspace", "--no-run", "--quiet"]))?;
    } else {
        run_command(cargo().args(["build", "--package", "guardian-cli", "--bins"]))?;
    }
    let node = place.join("node_modules/.bin/node");
    let bridge = place.join("bridge");
    let guardian = root().join("target/debug/guardian");
    println!("== types");
    run_command(
        Command::new(&node)
            .arg(place.join("node_modules/typescript/bin/tsc"))
            .args(["--noEmit", "-p"])
            .arg(&bridge),
    )?;
    println!("== the bridge with guardian");
    let mut tests = std::fs::read_dir(bridge.join("test"))?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<Vec<PathBuf>, _>>()?;
    tests.retain(|path| path.to_string_lossy().ends_with(".test.ts"));
    tests.sort();
    run_command(
        Command::new(&node)
            .args(["--test", "--test-reporter=dot"])
            .args(tests)
            .env("GUARDIAN_BIN", &guardian),
    )?;
    println!("== the bridge in pi");
    run_command(
        Command::new(&node)
            .arg(bridge.join("test/e2e/run.mjs"))
            .args(arguments)
            .env("GUARDIAN_BIN", &guardian)
            .env("README", root().join("README.md"))
            .env("CLIENTS_BIN", place.join("node_modules/.bin")),
    )
}

fn install(place: &Path) -> anyhow::Result<()> {
    let wanted = PACKAGES.join("\n");
    let stamp = place.join("installed");
    if std::fs::read_to_string(&stamp).is_ok_and(|text| text == wanted) {
        return Ok(());
    }
    println!("== npm install {}", PACKAGES.join(" "));
    std::fs::create_dir_all(place)?;
    std::fs::write(place.join("package.json"), "{\"private\":true}\n")?;
    run_command(
        Command::new("npm")
            .current_dir(place)
            .args(["install", "--no-audit", "--no-fund", "--loglevel=error"])
            .args(PACKAGES),
    )
    .context("npm is needed to install pi")?;
    std::fs::write(stamp, wanted)?;
    Ok(())
}

/// Copies the bridge beside pi.
fn stage(place: &Path) -> anyhow::Result<()> {
    let bridge = place.join("bridge");
    if bridge.exists() {
        std::fs::remove_dir_all(&bridge)?;
    }
    std::fs::create_dir_all(&bridge)?;
    for name in STAGED {
        run_command(
            Command::new("cp")
                .arg("-R")
                .arg(root().join("bridges/pi").join(name))
                .arg(&bridge),
        )?;
    }
    Ok(())
}
