//! The tools whose commands can be told from their words and the files of the project: a list of
//! what is known, so that a tool, a subcommand or an option that is not on it is never offered.

/// How the files of a tool lead to further files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Leads {
    /// They do not name others, or what they name is code.
    Nowhere,
    /// `import "x"`; `mod` and computed names are not followed.
    Just,
    /// `include x` and `subninja x`.
    Ninja,
    /// `<module>` and `<relativePath>`.
    Maven,
    /// `include(":x")`.
    Gradle,
    /// Any of these words leaves it undetermined.
    Words(&'static [&'static str]),
}

/// One tool.
#[derive(Debug)]
pub(super) struct Tool {
    pub(super) names: &'static [&'static str],
    /// First operands that are known; empty: operands are not subcommands.
    pub(super) verbs: &'static [&'static str],
    /// Options that choose no other file, code or tool: `-x` a switch, `-x=` with a value, `-x=?`
    /// with a value that is attached or missing, `-x@` with a file that is part of the definition.
    pub(super) options: &'static str,
    /// Files that are part of the definition, wherever they lie from the working directory up to
    /// the workspace.
    pub(super) files: &'static [&'static str],
    pub(super) leads: Leads,
    /// Its files name commands, so that a script that calls it runs what they say.
    pub(super) runs_commands: bool,
}

/// A tool that reads settings, and runs what it is made for.
const fn reads(
    names: &'static [&'static str],
    verbs: &'static [&'static str],
    options: &'static str,
    files: &'static [&'static str],
) -> Tool {
    Tool {
        names,
        verbs,
        options,
        files,
        leads: Leads::Nowhere,
        runs_commands: false,
    }
}

/// A tool whose files name the commands that it runs.
const fn runs(
    names: &'static [&'static str],
    verbs: &'static [&'static str],
    options: &'static str,
    files: &'static [&'static str],
    leads: Leads,
) -> Tool {
    Tool {
        names,
        verbs,
        options,
        files,
        leads,
        runs_commands: true,
    }
}

const PACKAGE_FILES: &[&str] = &[
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".pnpmfile.cjs",
    "pnpm-workspace.yaml",
    "bunfig.toml",
];

const GRADLE_FILES: &[&str] = &[
    "build.gradle",
    "build.gradle.kts",
    "settings.gradle",
    "settings.gradle.kts",
    "gradle.properties",
    "gradle/libs.versions.toml",
    "gradle/wrapper/gradle-wrapper.properties",
    "gradle/wrapper/gradle-wrapper.jar",
];

/// Tools that are told; make and the package managers have readers of their own for their words.
pub(super) const TOOLS: &[Tool] = &[
    reads(
        &["cargo"],
        &[
            "build", "b", "check", "c", "test", "t", "run", "r", "bench", "clippy", "doc", "d",
            "fix", "tree", "metadata", "nextest",
        ],
        "-q --quiet -v -vv --verbose -r --release --workspace --all --lib --bins --tests --benches \
         --examples --all-targets --all-features --no-default-features --locked --offline --frozen \
         --no-run --no-fail-fast --doc --keep-going --no-deps --document-private-items --fix \
         --allow-dirty --allow-staged --future-incompat-report --ignore-rust-version -p= --package= \
         --exclude= -F= --features= -j= --jobs= --target= --profile= --bin= --test= --bench= \
         --example= --color= --message-format= -E= --filter-expr= --retries= --test-threads= \
         --no-capture --depth= -i= --invert= -e= --edges= --format-version= -d --duplicates",
        &[
            ".cargo/config.toml",
            ".cargo/config",
            ".config/nextest.toml",
            "rust-toolchain.toml",
            "rust-toolchain",
        ],
    ),
    reads(
        &["rustc"],
        &[],
        "-O -g --edition= --crate-type= --crate-name= -o= --test --emit=",
        &[],
    ),
    runs(
        &["npm", "pnpm", "yarn", "bun"],
        &[],
        "",
        PACKAGE_FILES,
        Leads::Nowhere,
    ),
    runs(&["make", "gmake"], &[], "", &[], Leads::Nowhere),
    reads(
        &["go"],
        &["build", "test", "run", "vet", "list"],
        "-v -race -short -x -n -cover -a -json -failfast -benchmem -trimpath -i -run= -count= -bench= \
         -timeout= -tags= -p= -parallel= -cpu= -coverprofile= -covermode= -coverpkg= -o= -mod= \
         -skip= -benchtime= -shuffle= -m -f= -deps -e",
        &["go.work"],
    ),
    reads(
        &["golangci-lint"],
        &["run", "fmt"],
        "--fix --timeout= -v --verbose --fast --new -E= --enable= -D= --disable= --out-format=",
        &[
            ".golangci.yml",
            ".golangci.yaml",
            ".golangci.toml",
            ".golangci.json",
        ],
    ),
    reads(
        &["staticcheck"],
        &[],
        "-checks= -tests -f=",
        &["staticcheck.conf"],
    ),
    reads(&["govulncheck"], &[], "", &[]),
    reads(
        &["gcc", "g++", "cc", "c++", "clang", "clang++"],
        &[],
        "-c -S -E -g -g0 -g1 -g2 -g3 -ggdb -O -O0 -O1 -O2 -O3 -Os -Og -Ofast -w -Wall -Wextra -Werror \
         -Wpedantic -Wshadow -Wconversion -pedantic -fPIC -fsanitize= -shared -static -pthread -m32 \
         -m64 -march= -mtune= -std= -fsyntax-only -MMD -MD -MP -o= -I= -L= -l= -D= -U=",
        &[],
    ),
    reads(
        &["pytest", "py.test"],
        &[],
        "-v -vv -vvv --verbose -q -qq --quiet -x --exitfirst -s -l --showlocals --lf --last-failed --ff \
         --failed-first --nf --new-first --sw --stepwise --co --collect-only --no-header --no-summary \
         --disable-warnings --strict-markers --strict-config --full-trace --setup-show --fixtures \
         --markers --no-cov --benchmark-only --cov=? --cov-report= --tb= -k= -m= -n= -p= -r= --maxfail= \
         --durations= --durations-min= --color= --capture= -W= --deselect= --ignore= --timeout= \
         --import-mode= --asyncio-mode= --junitxml= --junit-xml=",
        &[
            "pyproject.toml",
            "pytest.toml",
            ".pytest.toml",
            "pytest.ini",
            ".pytest.ini",
            "tox.ini",
            "setup.cfg",
        ],
    ),
    reads(
        &["ruff"],
        &["check", "format"],
        "--fix --diff --check -q --quiet -v --verbose --no-cache --statistics --unsafe-fixes --preview \
         --show-fixes --exit-zero --select= --ignore= --extend-select= --output-format= --line-length= \
         --target-version=",
        &["ruff.toml", ".ruff.toml", "pyproject.toml"],
    ),
    reads(
        &["black"],
        &[],
        "--check --diff -q --quiet -v --verbose --fast --safe --preview -S --skip-string-normalization \
         -l= --line-length= -t= --target-version=",
        &["pyproject.toml"],
    ),
    reads(
        &["isort"],
        &[],
        "--check --check-only -c --diff -q --quiet --profile= -l= --line-length=",
        &[
            "pyproject.toml",
            ".isort.cfg",
            "setup.cfg",
            "tox.ini",
            ".editorconfig",
        ],
    ),
    reads(
        &["mypy"],
        &[],
        "--strict --ignore-missing-imports --no-incremental --pretty --show-error-codes \
         --check-untyped-defs --no-error-summary --explicit-package-bases --namespace-packages \
         -p= --package= -m= --module= --python-version= --follow-imports=",
        &["mypy.ini", ".mypy.ini", "pyproject.toml", "setup.cfg"],
    ),
    reads(
        &["pyright", "basedpyright"],
        &[],
        "--stats --verbose --outputjson --warnings --level= -p@ --project@",
        &["pyrightconfig.json", "pyproject.toml"],
    ),
    reads(
        &["flake8"],
        &[],
        "--max-line-length= --select= --ignore= --extend-ignore= --count --statistics --show-source \
         --max-complexity= --exclude=",
        &[".flake8", "setup.cfg", "tox.ini"],
    ),
    reads(
        &["pylint"],
        &[],
        "--disable= --enable= -E --errors-only -j= --jobs= -r= --reports= --score=",
        &[
            ".pylintrc",
            "pylintrc",
            ".pylintrc.toml",
            "pylintrc.toml",
            "pyproject.toml",
            "setup.cfg",
            "tox.ini",
        ],
    ),
    reads(
        &["coverage"],
        &["report", "html", "xml", "json", "lcov", "combine", "erase"],
        "-m --show-missing --skip-covered -q --fail-under= --include= --omit= -i",
        &[".coveragerc", "pyproject.toml", "setup.cfg", "tox.ini"],
    ),
    runs(
        &["tox"],
        &[],
        "-q -qq -v -vv -e= -r --recreate --notest",
        &["tox.ini", "tox.toml", "setup.cfg", "pyproject.toml"],
        Leads::Words(&["config.file"]),
    ),
    runs(
        &["nox"],
        &[],
        "-s= --session= -e= -k= --keywords= -t= --tags= -l --list -r -R",
        &["noxfile.py"],
        Leads::Nowhere,
    ),
    runs(
        &["pre-commit"],
        &["run"],
        "-a --all-files -v --verbose --show-diff-on-failure --hook-stage= --files=",
        &[".pre-commit-config.yaml"],
        Leads::Nowhere,
    ),
    reads(
        &["uv"],
        &["run"],
        "-q --no-sync --frozen --locked --all-extras --isolated --extra= --group= --with= -p= --python=",
        &["uv.toml", "pyproject.toml"],
    ),
    reads(
        &["tsc", "vue-tsc", "tsgo"],
        &[],
        "--noEmit --pretty --strict --skipLibCheck --incremental --emitDeclarationOnly --declaration -b \
         --build -w --watch -p@ --project@",
        &["tsconfig.json"],
    ),
    reads(
        &["eslint"],
        &[],
        "--fix --fix-dry-run --quiet --cache --color --no-color --no-error-on-unmatched-pattern \
         --no-warn-ignored --ext= --max-warnings=",
        &[
            ".eslintrc",
            ".eslintrc.js",
            ".eslintrc.cjs",
            ".eslintrc.json",
            ".eslintrc.yml",
            ".eslintrc.yaml",
            "eslint.config.js",
            "eslint.config.mjs",
            "eslint.config.cjs",
            "eslint.config.ts",
            "eslint.config.mts",
            "eslint.config.cts",
            "package.json",
        ],
    ),
    reads(
        &["prettier"],
        &[],
        "-c --check -w --write -l --list-different -u --ignore-unknown --log-level=",
        &[
            ".prettierrc",
            ".prettierrc.json",
            ".prettierrc.json5",
            ".prettierrc.yml",
            ".prettierrc.yaml",
            ".prettierrc.toml",
            ".prettierrc.js",
            ".prettierrc.mjs",
            ".prettierrc.cjs",
            ".prettierrc.ts",
            "prettier.config.js",
            "prettier.config.mjs",
            "prettier.config.cjs",
            "prettier.config.ts",
            ".editorconfig",
            "package.json",
        ],
    ),
    reads(
        &["jest"],
        &[],
        "--coverage --runInBand -i --ci --silent --verbose -u --updateSnapshot --passWithNoTests -b --bail \
         -o --onlyChanged --detectOpenHandles --forceExit --no-cache --no-coverage --colors --watch \
         -t= --testNamePattern= --testPathPattern= --testPathPatterns= -w= --maxWorkers=",
        &[
            "jest.config.js",
            "jest.config.ts",
            "jest.config.mjs",
            "jest.config.cjs",
            "jest.config.json",
            "babel.config.js",
            "babel.config.json",
            ".babelrc",
            "package.json",
        ],
    ),
    reads(
        &["vitest"],
        &["run", "watch"],
        "--run --coverage --silent -u --update --passWithNoTests --no-color --changed -t= \
         --testNamePattern= --bail=",
        &[
            "vitest.config.ts",
            "vitest.config.mts",
            "vitest.config.cts",
            "vitest.config.js",
            "vitest.config.mjs",
            "vitest.config.cjs",
            "vite.config.ts",
            "vite.config.mts",
            "vite.config.cts",
            "vite.config.js",
            "vite.config.mjs",
            "vite.config.cjs",
            "vitest.workspace.ts",
            "vitest.workspace.js",
            "vitest.workspace.json",
            "package.json",
        ],
    ),
    reads(
        &["mocha"],
        &[],
        "-t= --timeout= -g= --grep= --exit -b --bail --recursive --parallel",
        &[
            ".mocharc.js",
            ".mocharc.cjs",
            ".mocharc.mjs",
            ".mocharc.json",
            ".mocharc.jsonc",
            ".mocharc.yml",
            ".mocharc.yaml",
            "package.json",
        ],
    ),
    reads(
        &["node", "nodejs"],
        &[],
        "--test --test-only --test-name-pattern=",
        &["package.json"],
    ),
    reads(
        &["rubocop"],
        &[],
        "-a -A --autocorrect --autocorrect-all --parallel --only= --except=",
        &[".rubocop.yml", ".rubocop_todo.yml", ".rubocop"],
    ),
    reads(
        &["rspec"],
        &[],
        "-b --color --fail-fast -t= --tag= -e= --example= --seed= --order=",
        &[".rspec", ".rspec-local"],
    ),
    reads(
        &["phpunit", "pest"],
        &[],
        "--filter= --testsuite= --group= --exclude-group= --stop-on-failure --testdox -v --verbose \
         --colors=? --no-coverage --coverage-text --parallel",
        &[
            "composer.json",
            "phpunit.xml",
            "phpunit.xml.dist",
            "phpunit.dist.xml",
        ],
    ),
    runs(
        &["composer"],
        &[
            "run-script",
            "run",
            "test",
            "lint",
            "check",
            "analyse",
            "analyze",
            "stan",
            "phpstan",
            "cs",
            "format",
            "build",
        ],
        "-q --quiet -n --no-interaction --ansi --no-ansi",
        &["composer.json"],
        Leads::Nowhere,
    ),
    reads(
        &["swift"],
        &["build", "test", "run"],
        "-c= --configuration= -v --verbose --filter= --parallel --enable-code-coverage",
        &["Package.swift"],
    ),
    reads(&["zig"], &["build"], "", &["build.zig", "build.zig.zon"]),
    runs(
        &["just"],
        &[],
        "-q --quiet -v --verbose -n --dry-run -l --list --summary --no-color --color= --unsorted -1 --one",
        &["justfile", "Justfile", "JUSTFILE", ".justfile"],
        Leads::Just,
    ),
    runs(&["mask"], &[], "", &["maskfile.md"], Leads::Nowhere),
    runs(
        &["task"],
        &[],
        "-s --silent -v --verbose -f --force -n --dry -l --list -a --list-all -p --parallel -o= --output= \
         --summary",
        &[
            "Taskfile.yml",
            "Taskfile.yaml",
            "taskfile.yml",
            "taskfile.yaml",
            "Taskfile.dist.yml",
            "Taskfile.dist.yaml",
            "taskfile.dist.yml",
            "taskfile.dist.yaml",
            ".taskrc.yml",
            ".taskrc.yaml",
        ],
        Leads::Words(&["includes", "dotenv"]),
    ),
    runs(
        &["gulp"],
        &[],
        "--silent",
        &[
            "gulpfile.js",
            "gulpfile.mjs",
            "gulpfile.cjs",
            "gulpfile.ts",
            "Gulpfile.js",
        ],
        Leads::Nowhere,
    ),
    runs(
        &["grunt"],
        &[],
        "--no-color --verbose",
        &["Gruntfile.js", "Gruntfile.cjs", "gruntfile.js"],
        Leads::Words(&["loadTasks"]),
    ),
    runs(
        &["gradle", "gradlew"],
        &[],
        "--no-daemon --daemon --offline --stacktrace -s --info -i --quiet -q --warn -w --parallel \
         --console= --tests= -x= --exclude-task= --continue --rerun-tasks --build-cache --no-build-cache",
        GRADLE_FILES,
        Leads::Gradle,
    ),
    runs(
        &["mvn", "mvnw", "mvnd"],
        &[],
        "-q --quiet -B --batch-mode -ntp --no-transfer-progress -o --offline -e --errors -X -U -T= -pl= \
         -am -amd -D= -P= -fae -ff -fn -nsu",
        &[
            "pom.xml",
            ".mvn/extensions.xml",
            ".mvn/maven.config",
            ".mvn/jvm.config",
            ".mvn/settings.xml",
            ".mvn/wrapper/maven-wrapper.properties",
            ".mvn/wrapper/maven-wrapper.jar",
        ],
        Leads::Maven,
    ),
    runs(
        &["ant"],
        &[],
        "-q -quiet -v -verbose -D=",
        &["build.xml"],
        Leads::Words(&["import", "include", "ant", "subant", "ENTITY", "SYSTEM"]),
    ),
    runs(
        &["ninja"],
        &[],
        "-v --verbose -n -j= -k= --quiet",
        &["build.ninja"],
        Leads::Ninja,
    ),
];

/// Tools of a project that cannot be told. A script that calls one cannot be either.
pub(super) const UNTOLD: &[&str] = &[
    "bazel", "bazelisk", "buck", "buck2", "pants", "sbt", "mill", "cmake", "ctest", "meson",
    "scons", "waf", "xmake", "tup", "rake", "lein", "dotnet", "msbuild", "turbo", "nx", "lerna",
    "wireit", "rush", "mage", "invoke", "fab", "stack", "cabal", "dune", "mix", "rebar3",
];

/// The row of a tool.
pub(super) fn tool(name: &str) -> Option<&'static Tool> {
    TOOLS.iter().find(|tool| tool.names.contains(&name))
}

/// What the words of a command say beyond themselves.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Words<'w> {
    /// These files too.
    Files(Vec<&'w str>),
    /// It cannot be told.
    Unknown,
}

impl Tool {
    /// Reads the words after the program. `uv run x` ends with the command that it runs, which is
    /// told by itself.
    pub(super) fn words<'w>(&self, words: &[&'w str]) -> Words<'w> {
        let mut files = Vec::new();
        let mut verb = self.verbs.is_empty();
        let mut words = words.iter().copied();
        while let Some(word) = words.next() {
            if word == "--" {
                break;
            }
            // Options from a file.
            if word.starts_with('@') {
                return Words::Unknown;
            }
            if !word.starts_with('-') || word == "-" {
                let toolchain = self.names[0] == "cargo" && word.starts_with('+');
                if !(verb || toolchain) {
                    if !self.verbs.contains(&word) {
                        return Words::Unknown;
                    }
                    verb = true;
                } else if self.names[0] == "uv" {
                    break;
                }
                continue;
            }
            match self.option(word) {
                Some(Shape::Alone) => {}
                Some(Shape::TakesNext { is_file }) => match words.next() {
                    Some(value) if is_file => files.push(value),
                    Some(_) => {}
                    None => return Words::Unknown,
                },
                Some(Shape::File(value)) => files.push(value),
                None => return Words::Unknown,
            }
        }
        if verb {
            Words::Files(files)
        } else {
            Words::Unknown
        }
    }

    fn option<'w>(&self, word: &'w str) -> Option<Shape<'w>> {
        let known = || self.options.split_whitespace();
        for option in known() {
            if option == word {
                return Some(Shape::Alone);
            }
            if let Some(name) = option.strip_suffix("=?") {
                if word
                    .strip_prefix(name)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
                {
                    return Some(Shape::Alone);
                }
                continue;
            }
            let (name, is_file) = match (option.strip_suffix('='), option.strip_suffix('@')) {
                (Some(name), _) => (name, false),
                (None, Some(name)) => (name, true),
                (None, None) => continue,
            };
            let Some(rest) = word.strip_prefix(name) else {
                continue;
            };
            let value = match rest.strip_prefix('=') {
                Some(value) => value,
                None if rest.is_empty() => return Some(Shape::TakesNext { is_file }),
                None if name.len() == 2 => rest,
                None => continue,
            };
            return Some(if is_file {
                Shape::File(value)
            } else {
                Shape::Alone
            });
        }
        // `-xvs`: switches of one letter.
        let letters = word
            .strip_prefix('-')
            .filter(|rest| !rest.starts_with('-'))?;
        let each = |letter: char| {
            known().any(|option| option.strip_prefix('-') == Some(letter.encode_utf8(&mut [0; 4])))
        };
        letters.chars().all(each).then_some(Shape::Alone)
    }
}

/// What an option takes.
enum Shape<'w> {
    Alone,
    TakesNext { is_file: bool },
    File(&'w str),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: Words<'_>) {
        let words: Vec<&str> = line.split(' ').collect();
        assert_eq!(
            tool(words[0]).unwrap().words(&words[1..]),
            expected,
            "{line}"
        );
    }

    #[test]
    fn options_that_are_known_leave_a_command_told() {
        for line in [
            "cargo test",
            "cargo +nightly test -p x --features=a -- --nocapture -C x",
            "cargo clippy --all-targets -- -D warnings",
            "pytest -xvs -k name tests/test_a.py --cov=src",
            "pytest -n4 -ra",
            "go test -run TestX -count=1 ./...",
            "mvn -q -DskipTests test",
            "gradlew test --tests a.B",
            "just build now",
            "uv run pytest -c x",
            "gcc -Wall -O2 -Iinclude -o x x.c -lm",
        ] {
            check(line, Words::Files(Vec::new()));
        }
        check(
            "tsc -p tsconfig.build.json",
            Words::Files(vec!["tsconfig.build.json"]),
        );
        check("tsc --project=a.json", Words::Files(vec!["a.json"]));
    }

    #[test]
    fn an_option_or_a_subcommand_that_is_not_known_leaves_it_untold() {
        for line in [
            "cargo",
            "cargo xtask x",
            "cargo test --config x",
            "cargo test --manifest-path a/Cargo.toml",
            "cargo -Zscript test",
            "pytest -c x.ini",
            "pytest --rootdir=a",
            "pytest -xo a=b",
            "go generate ./...",
            "go test -exec ./x",
            "go build -toolexec=./x",
            "just -f x t",
            "just --set shell x t",
            "ninja -C build",
            "mvn -f x test",
            "gradle -I x test",
            "gcc -B. x.c",
            "gcc -specs=x x.c",
            "gcc @x",
            "gcc -fplugin=./x.so x.c",
            "jest --config x",
            "tox -c x",
        ] {
            check(line, Words::Unknown);
        }
    }

    #[test]
    fn every_tool_has_one_row() {
        let mut names: Vec<&str> = TOOLS.iter().flat_map(|tool| tool.names).copied().collect();
        names.extend(UNTOLD);
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
