//! `docs/rules.md` and `docs/configuration.md` as a stranger follows them: every file in them loads
//! and its examples hold, every command prints what the page says, every case is right.

use std::path::Path;

use crate::host_process::World;

fn page(name: &str) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs")
        .join(name);
    std::fs::read_to_string(file).unwrap()
}

/// The blocks of a page in one language.
fn blocks<'p>(page: &'p str, language: &str) -> Vec<&'p str> {
    let open = format!("```{language}\n");
    page.split(open.as_str())
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap())
        .collect()
}

/// The words of a command line; single quotes only.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_quoted = false;
    for c in line.chars() {
        match c {
            '\'' => is_quoted = !is_quoted,
            ' ' if !is_quoted => words.push(String::new()),
            c => words.last_mut().unwrap().push(c),
        }
    }
    words
}

/// A world with the page's first file as the user's policy.
fn world_with(policy: &str) -> World {
    let world = World::new();
    let directory = world.home.join(".config/guardian");
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("policy.toml"), policy).unwrap();
    world
}

/// Exit code and output, with the home directory as the pages call it.
fn run(world: &World, arguments: &[String]) -> (i32, String) {
    let out = world
        .guardian()
        .args(arguments)
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    let text = [out.stdout, out.stderr].concat();
    let text = String::from_utf8(text).unwrap();
    let home = world.home.to_str().unwrap();
    (out.status.code().unwrap(), text.replace(home, "/home/dev"))
}

fn arguments(words: &[&str]) -> Vec<String> {
    words.iter().map(ToString::to_string).collect()
}

#[test]
fn every_policy_of_the_page_is_right_by_the_real_reading() {
    let page = page("rules.md");
    let files = blocks(&page, "toml");
    assert!(files.len() >= 10, "the page has examples");
    for file in files {
        let text = match file.starts_with("version") {
            true => file.to_owned(),
            false => format!("version = 1\n{file}"),
        };
        let world = world_with(&text);
        let (code, said) = run(&world, &arguments(&["policy", "check"]));
        assert_eq!(code, 0, "{file}\n{said}");
    }
}

#[test]
fn every_command_of_the_page_prints_what_the_page_says() {
    let page = page("rules.md");
    let world = world_with(blocks(&page, "toml")[0]);
    let mut count = 0;
    for block in blocks(&page, "console") {
        for step in block.split("$ ").skip(1) {
            let (line, expected) = step.split_once('\n').unwrap();
            let words = words(line);
            assert_eq!(words[0], "guardian");
            let (_, said) = run(&world, &words[1..]);
            assert_eq!(said, expected, "{line}");
            count += 1;
        }
    }
    assert!(count >= 3, "the page has commands");
}

#[test]
fn every_case_of_the_page_is_right() {
    let page = page("rules.md");
    let world = world_with(blocks(&page, "toml")[0]);
    let cases = blocks(&page, "json");
    assert!(!cases.is_empty(), "the page has cases");
    for cases in cases {
        let file = world.workspace.join("cases");
        std::fs::write(&file, cases).unwrap();
        let test = arguments(&["policy", "test", "--cases", "cases"]);
        let (code, said) = run(&world, &test);
        assert_eq!(code, 0, "{said}");
        let count = cases.lines().count();
        assert!(said.contains(&format!("{count} cases right")), "{said}");
    }
}

#[test]
fn the_configuration_of_the_page_loads() {
    let page = page("configuration.md");
    let files = blocks(&page, "toml");
    let [config, entries] = files[..] else {
        panic!("a configuration, and entries for a program: {files:?}");
    };
    let world = World::new();
    world.write_config(config);
    let (_, said) = run(&world, &arguments(&["doctor"]));
    assert!(
        said.contains("ok configuration"),
        "the configuration loads: {said}"
    );
    // What the page says that these entries do.
    let world = World::new();
    world.write_entries(entries);
    for (command, expect) in [
        ("ours list -v", "allow"),
        ("ours list -o x", "writes x"),
        ("ours drop", "unknown program"),
        ("ours list --force", "unknown program"),
    ] {
        let words = [
            "check",
            "--no-audit",
            "--preset",
            "balanced",
            "--bash",
            command,
        ];
        let (_, said) = run(&world, &arguments(&words));
        assert!(said.contains(expect), "{command}: {said}");
    }
}
