//! Sensitive paths that no word of a command is: in code, beneath what is listed, in history.

use guardian_host::rules::PermissionMode;

use crate::unknown_words::World;

/// Ways to hand a path to a program in code of its own.
const IN_CODE: &[&str] = &[
    "python3 -c \"open('PATH').read()\"",
    "python3 -c \"import os; open(os.path.expanduser('PATH'))\"",
    "python3 -c 'open(\"file://PATH\")'",
    "python3 - <<E\nopen('PATH')\nE",
    "ruby -e \"puts File.read('PATH')\"",
    "ruby -e 'puts IO.read %q(PATH)'",
    "perl -e 'open F, q{PATH}; print <F>'",
    "php -r 'readfile(\"PATH\");'",
    "lua -e \"io.open('PATH')\"",
    "node -e \"require('fs').readFileSync('PATH')\"",
    "deno eval \"Deno.readTextFileSync('PATH')\"",
    "awk 'BEGIN{while((getline x < \"PATH\")>0) print x}'",
    "awk \"BEGIN{getline x < \\\"PATH\\\"; print x}\"",
    "gawk 'BEGIN{\"cat PATH\"|getline x; print x}'",
    "vim -es -c ':r PATH' -c ':p' -c q",
    "gdb -batch -ex 'shell cat PATH'",
    "sqlite3 :memory: \"select readfile('PATH')\"",
    "psql -c '\\i PATH'",
    "psql -c '\\! cat PATH'",
    "tclsh <<< 'puts [read [open PATH]]'",
    "m4 <<< 'include(PATH)'",
    "xyzzy @PATH",
    "xyzzy 'show PATH'",
    "xyzzy <<< 'show PATH'",
    "xyzzy --define='{\"file\":\"PATH\"}'",
    "docker run -v PATH:/x image",
];

#[test]
fn a_sensitive_path_in_code_is_asked_about_in_every_mode() {
    let world = World::new(PermissionMode::Auto, "version = 1\n");
    for path in ["/etc/shadow", "~/.aws/credentials", "/etc/./shadow"] {
        for code in IN_CODE {
            let text = code.replace("PATH", path);
            // A word that is the path itself is denied.
            let decision = world.decision(&text);
            assert_ne!(decision, "allow", "{text}");
        }
    }
    world.check(
        "ask",
        &[
            "python3 -c \"open(os.environ['HOME'] + '/.ssh/id_rsa')\"",
            "python3 -c \"open(join(home, '.aws/credentials'))\"",
            "python3 -c 'open(\"../../../../../../../../../etc/shadow\")'",
            "python3 -c 'open(\"src/../../../../../../../../../etc/shadow\")'",
        ],
    );
}

#[test]
fn a_sensitive_path_in_a_script_is_asked_about() {
    let world = World::new(PermissionMode::Auto, "version = 1\n");
    world
        .fixture
        .write("reads.py", "open('/etc/shadow')\n")
        .unwrap();
    world
        .fixture
        .write("reads.sh", "cat /etc/shadow\n")
        .unwrap();
    world
        .fixture
        .write(
            "harmless.py",
            "open('/etc/hostname'); x = 'a/b' # https://x.org/.ssh/id_rsa\n",
        )
        .unwrap();
    world.check("allow", &["python3 harmless.py"]);
    for text in [
        "python3 reads.py",
        "python3 < reads.py",
        "sh reads.sh",
        "chmod +x reads.sh && ./reads.sh",
        "source reads.sh",
    ] {
        assert_ne!(world.decision(text), "allow", "{text}");
    }
}

#[test]
fn code_and_prose_without_a_sensitive_path_are_as_before() {
    let world = World::new(PermissionMode::Auto, "version = 1\n");
    world.check(
        "allow",
        &[
            "python3 -c \"open('src/main.rs').read()\"",
            "python3 -c \"import re; re.sub(r'a/b', 'c', x)\"",
            "node -e \"fetch('https://x.org/etc/shadow')\"",
            "awk '/etc/ {print}' README.md",
            "gh pr create --title t --body 'do not read /etc/shadow'",
            "echo 'python3 opens /etc/shadow'",
            "docker run -v ./src:/x image",
        ],
    );
}

#[test]
fn everything_beneath_home_is_not_listed_or_given_away_without_a_question() {
    let world = World::new(PermissionMode::Auto, "version = 1\n");
    world.check(
        "ask",
        &[
            "ls -R ~",
            "ls -laR ~/",
            "ls -R /",
            "find ~",
            "find ~ -type f",
            "find / -type f -size +1M",
            "find ~ -not -name '*.rs'",
            "find ~ -name '*'",
            "find ~ -maxdepth 3",
            "tree ~",
            "tree -L 4 ~",
            "du -a ~",
            "cd ~ && ls -R",
            "docker run -v /:/x image",
            "docker run -v ~:/x image",
            "docker run --rm -v$HOME:/x:ro image",
            "podman run --volume=/:/x image",
            "docker run --mount type=bind,source=/,target=/x image",
            "docker create --mount=type=bind,src=$HOME,dst=/x image",
            "docker run -v ~/a/..:/x image",
        ],
    );
    world.check("deny", &["docker run -v ~/.ssh:/x image"]);
    world.check(
        "allow",
        &[
            "ls ~",
            "ls -R .",
            "ls -R src",
            "find . -type f",
            "find ~ -name '*.pdf'",
            "find / -name libfoo.so 2>/dev/null",
            "find ~ -maxdepth 1",
            "du -sh ~",
            "tree -L 1 ~",
            "docker run -v ./src:/x image",
            "docker run -v data:/x image",
            "docker run -v $PWD:/x -w /x image make",
        ],
    );
}
