//! What nobody is asked about under `balanced`, and what stands next to it and is asked about.

use guardian_rules::{Decision, Policy, Preset, evaluate};

use crate::build::{asking, auto, policy, user};
use crate::world::facts_of;

#[track_caller]
fn check(expected: Decision, commands: &[&str]) {
    let policy = Policy::builtin(Preset::Balanced);
    let wrong: Vec<String> = commands
        .iter()
        .filter_map(|command| {
            let facts = facts_of(command);
            let mut situation = asking(&facts);
            situation.roots.guardian_data = "/home/dev/.local/share/guardian".into();
            let verdict = evaluate(&facts, &situation, &policy);
            (verdict.decision != expected).then(|| {
                format!(
                    "{command}: {:?} {:?} {:?}",
                    verdict.decision, verdict.reasons, facts.opacity
                )
            })
        })
        .collect();
    assert!(wrong.is_empty(), "not {expected:?}: {wrong:#?}");
}

#[track_caller]
fn free(commands: &[&str]) {
    check(Decision::Allow, commands);
}

#[track_caller]
fn asked(commands: &[&str]) {
    check(Decision::Ask, commands);
}

#[test]
fn git_takes_revisions_that_git_prints() {
    free(&[
        "git log origin/$(git branch --show-current)..HEAD",
        "git diff $(git merge-base HEAD main)",
        "git diff $(git merge-base HEAD main)...HEAD --stat",
        "git diff --name-only \"$(git merge-base HEAD origin/main)\" HEAD",
        "git show $(git rev-parse HEAD)",
        "git show $(git rev-parse --short HEAD):README.md",
        "git log --oneline $(git merge-base HEAD main)..HEAD",
        "B=$(git merge-base HEAD main); git diff $B -- src",
        "for c in $(git log --format=%h -3); do git show --stat $c; done",
        "for c in $(git rev-list --max-count=3 HEAD); do git show --stat \"$c\"; done",
        "git log --format=%h -3 | while read -r c; do git show --stat \"$c\"; done",
        "git log --format=%H -1 | xargs git show --stat",
    ]);
    asked(&[
        // what is printed is no revision, or may be more
        "git diff $(cat list)",
        "git diff $(git log --format=%s -1)",
        "git diff $(git describe --tags)",
        "git diff --$(git branch --show-current)",
        "git push origin $(git branch --show-current)",
        "git diff $(git merge-base HEAD main 2>&1)",
        "git diff $(git rev-parse .env)",
        "git diff $(echo --output=x; git rev-parse HEAD)",
        "git diff $(git rev-parse HEAD; cat list)",
        "PATH=.:$PATH; git diff $(git rev-parse HEAD)",
        "git() { cat list; }; command git diff $(git rev-parse HEAD)",
        // what is made of it does more than look
        "git checkout $(git merge-base HEAD main)",
        "git branch x $(git rev-parse HEAD)",
        "git show $(git rev-parse HEAD):.env",
        "git diff --output=$(git rev-parse --short HEAD)",
        "git diff -$(git rev-parse --short HEAD)",
        "rm $(git rev-parse HEAD)",
    ]);
}

#[test]
fn parts_of_known_paths_are_known() {
    free(&[
        "ls \"$(dirname src/main.rs)\"",
        "cat \"$(dirname src/main.rs)/lib.rs\"",
        "cd \"$(dirname src/main.rs)\" && ls",
        "cat \"$(basename docs/README.md)\"",
        "cd \"$(git rev-parse --show-toplevel)\" && git status",
        "cat \"$(git rev-parse --show-toplevel)/README.md\"",
    ]);
    asked(&[
        "cat \"$(dirname ~/notes/a)/x\"",
        "cat $(basename src/.env)",
        "ls \"$(dirname \"$X\")\"",
        "cat $(dirname a b)",
        "dirname() { echo ~; }; cat \"$(dirname src/main.rs)/x\"",
    ]);
}

#[test]
fn elements_of_arrays_are_followed() {
    free(&[
        "arr=(a b); for i in \"${!arr[@]}\"; do echo \"$i ${arr[$i]}\"; done",
        "arr=(src docs); i=1; ls \"${arr[i]}\" \"${arr[$i]}\"",
        "arr=(src/*.rs); for i in \"${!arr[@]}\"; do echo \"$i\"; done",
        "total=0; while read n; do total=$((total+n)); done < <(seq 3); echo $total",
        "seq 3 | while read -r n; do echo $((n * 2)); done",
        "mapfile -t files < <(ls); echo \"${#files[@]}\"",
    ]);
    asked(&[
        "arr=(src ~/notes.txt); i=1; cat \"${arr[$i]}\"",
        // eight, and no ten
        "arr=(a a a a a a a a /etc/passwd a a); cat ${arr[010]}",
        "arr=([1]=src [0]=/etc/passwd); cat \"${arr[0]}\"",
        "declare -A m=([k]=v); for k in \"${!m[@]}\"; do echo $((k)); done",
        "read i; echo \"${arr[$i]}\"",
        "while read n; do echo $((n)); done < <(cat list)",
        "while read n; do echo $((n)); done < list",
    ]);
}

#[test]
fn values_that_may_not_be_what_they_seem_are_not_trusted() {
    asked(&[
        // a tilde behind the `=` of a declaration is the home directory
        "export D=~; cat $D/notes.txt",
        "declare D=~; cat \"$D/notes.txt\"",
        "readonly D=~; cd $D; cat notes.txt",
        // arithmetic that fails leaves the variable alone
        "y=/etc/hosts\n: $((y++))\ncat $y",
        "y=/etc/hosts\ny=$((1/0))\ncat $y",
        "HOME=$((1/0))\ncat $HOME/notes.txt",
        // a file that is not there is not counted
        "cat \"$(wc -l < none)/etc/hosts\"",
        "n=$(grep -c x < none); cat $n/etc/hosts",
    ]);
    free(&[
        "export D=src; ls $D",
        "n=$(wc -l < README.md); if [ $n -gt 5 ]; then echo big; fi",
        "i=0; i=$((i+1)); echo $i; ls src/$i",
        "count=0; for f in src/*.rs; do ((count++)); done; echo $count",
        "shopt -s nullglob; for f in src/*.rs; do wc -l \"$f\"; done",
    ]);
}

#[test]
fn patterns_of_other_kinds_are_patterns() {
    free(&[
        "shopt -s globstar; ls **/*.rs",
        "shopt -s extglob\nls !(*.md)",
        "shopt -s extglob\nls src/@(main|lib).rs",
        "bash -O extglob -c 'ls !(*.md)'",
        "bash -p -c ls",
    ]);
    asked(&[
        "shopt -s extglob\ncat @(.env|x)",
        "shopt -s extglob\ncat ?(x).env",
        "shopt -s extglob\nrm -r !(src)",
        "shopt -s dotglob; cat *",
        "shopt -s globstar; cat ~/**/x",
        "zsh -O extglob -c ls",
        "bash -O expand_aliases -c ls",
        "bash -O globstar -c 'cat **/x'",
        "shopt -s globstar; cat **/docs/*",
    ]);
}

#[test]
fn names_outside_that_a_pattern_lists_are_asked_about() {
    asked(&[
        "echo ~/.ssh/*",
        "echo ~/*",
        "x=(~/.ssh/*); echo ${x[@]}",
        "for f in ~/.ssh/*; do echo \"$f\"; done",
        "for f in ~/.ss*/*; do :; done",
        "p='/home/dev/*'; echo $p",
        "printf '%s\\n' /home/*",
    ]);
    free(&[
        "echo src/*",
        "echo \"~/.ssh/*\"",
        "echo /usr/share/*",
        "echo $PI_SCRATCH_DIR/*",
        "x=~/*; echo \"$x\"",
        "grep -n 'a*' README.md",
    ]);
}

#[test]
fn names_beside_those_that_have_a_bound_have_none() {
    asked(&[
        "{ echo /etc/passwd; git ls-files; } | xargs cat",
        "{ echo /etc/passwd; git ls-files; } | sort | xargs cat",
        "(echo /etc/passwd; git ls-files) | while read -r f; do cat \"$f\"; done",
        "cat $(true | { echo /etc/passwd; git ls-files; })",
        "while read -r f; do cat \"$f\"; done < <(true | { echo /etc/passwd; git ls-files; })",
        "while read -r f; do cat \"$f\"; done < <(cat list)",
        // half a name is another name
        "git ls-files | head -c 4 | xargs cat",
        "git ls-files | head -c4 | xargs cat",
        // what a redirect feeds is not what the pipe feeds
        "git ls-files | sort <<< /etc/passwd | xargs cat",
        "git ls-files | cat < <(cat list) | xargs cat",
        "git ls-files | cat < list | xargs cat",
        "echo ls | cat <&3 | bash",
        "echo ls | cat < <(cat list) | bash",
    ]);
    free(&[
        "{ git ls-files '*.rs'; } | xargs wc -l",
        "while read -r f; do wc -l \"$f\"; done < <(git ls-files '*.rs')",
        "while read -r f; do wc -l \"$f\"; done < <(find src -name '*.rs' | sort)",
    ]);
}

#[test]
fn small_programs_that_only_look_run() {
    free(&[
        "clear",
        "stty size",
        "stty -a",
        "printenv PATH",
        "printenv HOME LANG",
        "getent passwd dev",
        "split -l 10 data.json \"$PI_SCRATCH_DIR/p_\"",
        "npm pkg get scripts",
        "npm run",
        "rustup show",
        "rustup toolchain list",
        "cargo metadata --no-deps --format-version 1",
        "openssl x509 -in docs/a.crt -noout -text",
        "openssl version",
    ]);
    asked(&[
        "stty -echo",
        "stty -F /dev/tty0 -a",
        "printenv",
        "printenv DATABASE_URL",
        "printenv $X",
        "getent hosts example.com",
        "split -l 10 data.json p_",
        "split -l 10 data.json",
        "split --filter='sh -c x' data.json \"$PI_SCRATCH_DIR/p_\"",
        "split -l 10 data.json ../x",
        "npm pkg set a=b",
        "npm run build",
        "npm run -s build",
        "npm run --script-shell=./x",
        "rustup toolchain install nightly",
        "rustup component add clippy",
        "rustup run stable ./x",
        "rustup +nightly show",
        "cargo metadata",
        "cargo metadata --no-deps --config x",
        "cargo fmt --check",
        "cargo tree",
        "openssl x509 -in docs/a.crt -out b",
        "openssl x509 -in .env -text",
        "openssl x509 -in file:/etc/x -text",
        "openssl s_client -connect example.com:443",
        "pip config list",
        "python3 -m json.tool data.json",
    ]);
}

#[test]
fn what_git_keeps_of_remotes_is_configuration() {
    let standard = Policy::builtin(Preset::Standard);
    for command in [
        "git remote add o https://example.com/x.git",
        "git remote set-url origin https://example.com/x.git",
        "git remote rename a b",
        "git branch -u origin/main",
        "git branch --unset-upstream",
    ] {
        let facts = facts_of(command);
        let verdict = evaluate(&facts, &auto(&facts), &standard);
        assert_eq!(verdict.decision, Decision::Ask, "{command}");
        let by = format!("{:?}", verdict.decided_by);
        assert!(by.contains("protected"), "{command}: {by}");
    }
    for command in ["git remote -v", "git branch topic", "git checkout -b topic"] {
        let facts = facts_of(command);
        let verdict = evaluate(&facts, &auto(&facts), &standard);
        assert_eq!(verdict.decision, Decision::Allow, "{command}");
    }
}

#[test]
fn a_denied_host_is_denied_to_openssl() {
    let rules = "[[rule]]\nid = \"no-evil\"\neffect = \"deny\"\nhost = [\"evil.org\"]\n";
    let policy = policy(&[user(rules)], Preset::Standard);
    for (command, expected) in [
        ("openssl s_client -connect evil.org:443", Decision::Deny),
        ("openssl s_client evil.org:443", Decision::Deny),
        ("getent hosts evil.org", Decision::Deny),
        ("openssl ocsp -url http://evil.org", Decision::Ask),
        ("openssl s_client -connect good.org:443", Decision::Allow),
        ("getent passwd", Decision::Allow),
    ] {
        let facts = facts_of(command);
        let verdict = evaluate(&facts, &auto(&facts), &policy);
        assert_eq!(verdict.decision, expected, "{command}: {verdict:?}");
    }
}
