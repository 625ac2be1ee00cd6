//! Files that define what a project's build, test and lint commands run: code files of the call,
//! although no word of the command names them (SPEC §6.1). What a user accepted for a project is
//! bound to their content, and so is an approval.

use std::path::Path;

use guardian_facts::command::Effect;
use guardian_facts::{CodeFile, FactContext, Facts, FileKind};

/// By program: the files in the command's directory, and above it up to the workspace's root.
const DEFINITIONS: &[(&[&str], &[&str])] = &[
    (&["make", "gmake"], &["GNUmakefile", "makefile", "Makefile"]),
    (
        &["npm", "pnpm", "yarn", "bun", "npx", "node"],
        &[
            "package.json",
            ".npmrc",
            ".yarnrc.yml",
            "pnpm-workspace.yaml",
            ".pnpmfile.cjs",
            "bunfig.toml",
        ],
    ),
    (&["deno"], &["deno.json", "deno.jsonc"]),
    (
        &["cargo"],
        &[
            "Cargo.toml",
            "build.rs",
            ".cargo/config.toml",
            ".cargo/config",
            "rust-toolchain.toml",
        ],
    ),
    (&["go"], &["go.mod", "go.work"]),
    (&["just"], &["justfile", "Justfile", ".justfile"]),
    (&["task"], &["Taskfile.yml", "Taskfile.yaml"]),
    (
        &[
            "pytest", "tox", "nox", "python", "python3", "poetry", "uv", "hatch", "pip",
        ],
        &[
            "pyproject.toml",
            "setup.py",
            "setup.cfg",
            "tox.ini",
            "noxfile.py",
            "conftest.py",
            "pytest.ini",
        ],
    ),
    (&["rake", "bundle"], &["Rakefile", "Gemfile"]),
    (
        &["gradle", "gradlew"],
        &[
            "build.gradle",
            "build.gradle.kts",
            "settings.gradle",
            "settings.gradle.kts",
            "gradle.properties",
        ],
    ),
    (
        &["mvn", "mvnw"],
        &["pom.xml", ".mvn/jvm.config", ".mvn/maven.config"],
    ),
    (
        &["cmake", "ctest", "ninja"],
        &["CMakeLists.txt", "CMakePresets.json", "build.ninja"],
    ),
    (&["meson"], &["meson.build"]),
    (&["composer", "phpunit"], &["composer.json", "phpunit.xml"]),
    (&["mix"], &["mix.exs"]),
    (
        &["dotnet"],
        &[
            "Directory.Build.props",
            "Directory.Build.targets",
            "global.json",
        ],
    ),
    (&["zig"], &["build.zig"]),
];

/// Directories between a command's and the workspace's root that are looked at.
const LEVELS: usize = 16;

/// Adds the definitions of every project command to the code files.
pub(crate) fn add_definitions(facts: &mut Facts, context: &FactContext<'_>) {
    let Some(workspace) = &context.roots.workspace else {
        return;
    };
    let mut found = Vec::new();
    for (index, command) in facts.commands.iter().enumerate() {
        let Some(cwd) = &command.cwd else { continue };
        if !command.has(Effect::RunsProjectCode) || command.place.elsewhere {
            continue;
        }
        let names = DEFINITIONS
            .iter()
            .filter(|(programs, _)| {
                let name = command.program.name.as_deref();
                name.is_some_and(|name| programs.contains(&name))
            })
            .flat_map(|(_, names)| names.iter());
        for name in names {
            let levels = cwd.ancestors().take(LEVELS);
            for directory in levels.take_while(|directory| directory.starts_with(workspace)) {
                found.extend(definition(directory, name, index, context));
            }
        }
    }
    for file in found {
        let known = facts
            .code_files
            .iter()
            .any(|one| one.command == file.command && one.path.path == file.path.path);
        if !known {
            facts.code_files.push(file);
        }
    }
}

fn definition(
    directory: &Path,
    name: &str,
    command: usize,
    context: &FactContext<'_>,
) -> Option<CodeFile> {
    let path = context.place(name, directory);
    if path.kind != Some(FileKind::File) {
        return None;
    }
    let content = context.probe.read_file(&path.path, 0);
    Some(CodeFile {
        hash: content
            .map(|content| content.hash)
            .filter(|hash| !hash.is_empty()),
        path,
        command,
    })
}

#[cfg(test)]
mod tests {
    use guardian_facts::{RawArgs, RootPaths, ToolCall};
    use guardian_tools::RealProbe;

    use crate::judge::Judge;

    #[test]
    fn a_project_command_is_bound_to_its_definition_wherever_it_lies() {
        let directory = tempfile::tempdir().unwrap();
        let workspace = directory.path().canonicalize().unwrap();
        let roots = RootPaths {
            workspace: Some(workspace.clone()),
            scratch: "/nowhere/scratch".into(),
            home: "/nobody".into(),
            guardian_data: "/nowhere".into(),
            guardian_config: Vec::new(),
            guardian_executables: Vec::new(),
        };
        std::fs::create_dir_all(workspace.join("sub")).unwrap();
        std::fs::write(workspace.join("Makefile"), "check:\n\ttrue\n").unwrap();
        let judge = Judge::builtin();
        let code = |command: &str| {
            let args = serde_json::json!({ "command": command });
            let call = ToolCall {
                tool: "Bash".to_owned(),
                args: RawArgs::new(args.as_object().unwrap().clone()),
            };
            let extraction = judge.extract(&call, &roots, &RealProbe::new()).unwrap();
            let files = extraction.facts.code_files.into_iter();
            files
                .map(|file| (file.path.path, file.hash.unwrap()))
                .collect::<Vec<_>>()
        };
        let before = code("make check");
        assert_eq!(before.len(), 1);
        assert_eq!(before[0].0, workspace.join("Makefile"));
        assert_eq!(code("cd sub && make check"), before);
        assert_eq!(code("ls"), []);
        std::fs::write(workspace.join("Makefile"), "check:\n\tfalse\n").unwrap();
        assert_ne!(code("make check"), before);
    }
}
