//! Checks over the whole registry, and of what must never be called harmless.

use super::registry::{FAMILIES, Registry, spellings, tables};
use super::*;
use crate::Span;
use crate::command::{Nested, Stdin, Word, WordPart};

/// Splits an example into words: blanks, single and double quotes, backslash, `$x` and globs. Just
/// enough for the examples in the data.
fn words(text: &str) -> Vec<Word> {
    let span = Span { start: 0, end: 0 };
    let mut words = Vec::new();
    let mut parts: Vec<WordPart> = Vec::new();
    let mut open = false;
    let mut chars = text.chars().peekable();
    let mut quote: Option<char> = None;
    let push = |parts: &mut Vec<WordPart>, letter: char| match parts.last_mut() {
        Some(WordPart::Literal(known)) => known.push(letter),
        _ => parts.push(WordPart::Literal(letter.to_string())),
    };
    while let Some(letter) = chars.next() {
        match (quote, letter) {
            (None, ' ') => {
                if open {
                    words.push(Word {
                        parts: std::mem::take(&mut parts),
                        span,
                    });
                }
                open = false;
            }
            (None, '\'' | '"') => {
                quote = Some(letter);
                open = true;
            }
            (Some(mark), _) if letter == mark => quote = None,
            (None | Some('"'), '\\') => {
                open = true;
                if let Some(next) = chars.next() {
                    push(&mut parts, next);
                }
            }
            (None | Some('"'), '$') => {
                open = true;
                let mut written = String::from("$");
                while let Some(next) = chars.next_if(|c| c.is_alphanumeric() || "(){}".contains(*c))
                {
                    written.push(next);
                }
                parts.push(WordPart::Unknown {
                    written,
                    may_be_empty: true,
                    may_split: quote.is_none(),
                    integer: false,
                });
            }
            (None, '*') => {
                open = true;
                parts.push(WordPart::Glob("*".to_owned()));
            }
            _ => {
                open = true;
                push(&mut parts, letter);
            }
        }
    }
    if open {
        words.push(Word { parts, span });
    }
    words
}

fn judge(text: &str) -> Judgement {
    judge_in(Catalogue::builtin(), text)
}

fn judge_in(catalogue: &Catalogue, text: &str) -> Judgement {
    judge_words(catalogue, &words(text))
}

pub(super) fn judge_words(catalogue: &Catalogue, words: &[Word]) -> Judgement {
    let Some((program, args)) = words.split_first() else {
        return Judgement::known();
    };
    let Some(name) = program.as_literal() else {
        return Judgement::opaque("unknown-program", "not known");
    };
    catalogue.judge(&Invocation {
        name,
        args,
        stdin: &Stdin::Empty,
    })
}

/// Why the command line is not harmless; `None` when it is.
pub(super) fn harm(catalogue: &Catalogue, judgement: &Judgement) -> Option<String> {
    if judgement.effects_known == Effects::Opaque {
        return Some(format!("opaque: {:?}", judgement.opaque));
    }
    let allowed = |effect: &Effect| {
        matches!(
            effect,
            Effect::Inert | Effect::SystemQuery | Effect::ShellState | Effect::GitRecord
        )
    };
    if let Some(effect) = judgement.effects.iter().find(|effect| !allowed(effect)) {
        return Some(format!("effect {effect:?}"));
    }
    if let Some(path) = judgement
        .paths
        .iter()
        .find(|path| !matches!(path.kind, crate::AccessKind::Read | crate::AccessKind::List))
    {
        return Some(format!("{:?} {}", path.kind, path.word.display()));
    }
    if !judgement.hosts.is_empty() {
        return Some("reaches a host".to_owned());
    }
    judgement.nested.iter().find_map(|nested| match nested {
        Nested::Command { argv, .. } => harm(catalogue, &judge_words(catalogue, argv)),
        Nested::Shell { text, .. } => match text.as_literal() {
            Some(text) => harm(catalogue, &judge_in(catalogue, text)),
            None => Some("unknown shell text".to_owned()),
        },
        other => Some(format!("{other:?}")),
    })
}

#[track_caller]
fn harmless(text: &str) {
    assert_eq!(
        harm(Catalogue::builtin(), &judge(text)),
        None,
        "`{text}` should be harmless"
    );
}

#[track_caller]
fn harmful(text: &str) {
    let judgement = judge(text);
    assert!(
        harm(Catalogue::builtin(), &judgement).is_some(),
        "`{text}` must not be harmless: {judgement:?}"
    );
}

/// All entries with the family and every name.
fn entries() -> Vec<(String, String, Result<Entry, String>)> {
    let registry = Registry::builtin();
    registry
        .names()
        .into_iter()
        .map(|(family, name)| {
            let entry = match registry.get(&name) {
                Some(Ok(entry)) => Ok(entry.clone()),
                Some(Err(error)) => Err(error.to_string()),
                None => Err("not listed".to_owned()),
            };
            (family.to_owned(), name, entry)
        })
        .collect()
}

#[test]
fn every_entry_compiles() {
    let faults: Vec<String> = entries()
        .into_iter()
        .filter_map(|(family, name, entry)| {
            entry
                .err()
                .map(|error| format!("{family}: `{name}`: {error}"))
        })
        .collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn no_name_is_listed_twice() {
    let mut seen = std::collections::BTreeMap::new();
    for (family, text) in FAMILIES {
        for (header, _) in tables(text) {
            for (stem, name) in spellings(header) {
                if let Some(other) = seen.insert((stem, name), family) {
                    panic!("`{stem} {name}` is in {other} and in {family}");
                }
            }
        }
    }
}

/// Of two lines for one flag the first would count, silently: `git config --local = value` once
/// made a query of every change.
#[test]
fn no_flag_is_listed_with_two_meanings() {
    let mut faults = Vec::new();
    for (family, name, entry) in entries() {
        let entry = entry.unwrap();
        let mut seen = std::collections::BTreeMap::new();
        for flag in &entry.flags {
            for spelling in &flag.names {
                let first = seen.entry(spelling).or_insert(flag);
                let same = first.values == flag.values
                    && first.optional == flag.optional
                    && first.marks == flag.marks;
                if !same {
                    faults.push(format!("{family}: `{name} {spelling}`"));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Programs whose operands are no files although one with a slash would be harmless: texts,
/// numbers, and names of users, packages, terminals or commits. A program that is not among them
/// says what its operands are.
const OPERANDS_ARE_NO_FILES: &str = ":; Some details are omitted, run with `RUST_BACKTRACE=full` for a verbose backtrace.; [; \
    alias; apk audit; apk info; apk list; apk policy; apk stats; apk version; apropos; apt \
    depends; apt list; apt policy; apt rdepends; apt search; apt show; apt showsrc; apt-cache \
    depends; apt-cache dotty; apt-cache dump; apt-cache gencaches; apt-cache madison; apt-cache \
    pkgnames; apt-cache policy; apt-cache rdepends; apt-cache search; apt-cache show; apt-cache \
    showpkg; apt-cache showsrc; apt-cache stats; apt-cache unmet; apt-cache xvcg; apt-get check; \
    apt-get indextargets; apt-mark-show; arch; basename; bg; break; brew commands; brew config; \
    brew deps; brew desc; brew leaves; brew list; brew ls; brew uses; cal; caller; cargo locate-\
    project; cargo read-manifest; cargo verify-project; cargo version; cd; colrm; compgen; \
    continue; declare; dircolors; dirname; disown; dnf history; dnf info; dnf list; dnf \
    provides; dnf repolist; dnf repoquery; dpkg-query; echo; enable; exit; export; expr; factor; \
    false; fg; flatpak history; flatpak info; flatpak list; flatpak ps; flatpak remotes; \
    getopts; git bisect log; git bisect terms; git help; git notes get-ref; git notes list; git \
    notes show; git reflog; git remote get-url; git stash list; git stash show; git submodule \
    status; git submodule summary; go help; go version; groups; hash; help; hostid; id; iostat; \
    jobs; journalctl; kubectl config current-context; kubectl config get-clusters; kubectl \
    config get-contexts; kubectl config get-users; kubectl config view; let; local; locate; \
    logname; logout; mapfile; mlocate; mpstat; ncal; npm bin; npm config get; npm config list; \
    npm config ls; npm explain; npm get; npm la; npm list; npm ll; npm ls; npm pkg get; npm prefix; npm \
    query; npm root; npm why; nproc; numfmt; openssl rand; pathchk; pgrep; pidof; pip check; pip debug; pip \
    freeze; pip help; pip inspect; pip list; pip show; plocate; printf; ps; pstree; pushd; read; \
    readarray; readonly; return; rustup show; sar; seq; set; shift; shopt; shuf; sleep; snap changes; snap \
    connections; snap interfaces; snap list; snap services; snap version; ss; suspend; sysctl; \
    systemctl cat; systemctl get-default; systemctl help; systemctl is-active; systemctl is-\
    enabled; systemctl is-failed; systemctl is-system-running; systemctl list-dependencies; \
    systemctl list-jobs; systemctl list-sockets; systemctl list-timers; systemctl list-unit-\
    files; systemctl list-units; systemctl show; systemctl show-environment; systemctl status; \
    test; times; tmux display; tmux display-message; tmux has; tmux has-session; tmux info; tmux \
    list-commands; tmux list-keys; tmux list-panes; tmux list-sessions; tmux list-windows; tmux \
    ls; tmux lsp; tmux lsw; tmux show; tmux show-options; tr; true; tsort; tty; type; typeset; \
    ulimit; umask; unalias; unset; uptime; users; vmstat; wait; whatis; whereis; which; whoami; \
    yes; zipinfo";

/// An operand or flag value that could be a file, and is taken for a text, is read unseen.
#[test]
fn operands_that_could_be_files_are_accesses() {
    let catalogue = Catalogue::builtin();
    let mut faults = Vec::new();
    for (family, name, entry) in entries() {
        let entry = entry.unwrap();
        if name.starts_with('@') || entry.subcommands {
            continue;
        }
        // The first operand may be a pattern or a program in a language of its own.
        let judgement = judge(&format!("{name} x a/b"));
        let seen = judgement
            .paths
            .iter()
            .any(|path| path.word.display().contains("a/b"));
        if !seen && harm(catalogue, &judgement).is_none() {
            faults.push(format!("{family}: {name}"));
        }
        for flag in &entry.flags {
            let reads = flag
                .values
                .iter()
                .any(|role| !matches!(role, schema::Role::Value | schema::Role::Assignment));
            let Some(spelling) = flag.names.first().filter(|_| reads && !flag.optional) else {
                continue;
            };
            let words = vec!["a/b"; flag.values.len()].join(" ");
            let judgement = judge(&format!("{name} {spelling} {words}"));
            if judgement.paths.is_empty() && harm(catalogue, &judgement).is_none() {
                faults.push(format!("{family}: {name} {spelling}"));
            }
        }
    }
    faults.retain(|fault| {
        let name = fault.split_once(": ").map_or("", |(_, name)| name);
        !OPERANDS_ARE_NO_FILES
            .split("; ")
            .any(|listed| listed == name)
    });
    faults.dedup();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_family_is_valid_toml_as_a_whole() {
    for (family, text) in FAMILIES {
        let parsed: Result<std::collections::BTreeMap<String, EntryData>, _> = toml::from_str(text);
        if let Err(error) = parsed {
            panic!("{family}: {error}");
        }
    }
}

#[test]
fn every_entry_says_what_it_is_about() {
    for (family, name, entry) in entries() {
        let entry = entry.unwrap();
        assert!(
            !entry.about.is_empty() || name.starts_with('@'),
            "{family}: `{name}`"
        );
    }
}

#[test]
fn examples_in_the_data_hold() {
    let catalogue = Catalogue::builtin();
    let mut faults = Vec::new();
    for (family, name, entry) in entries() {
        let entry = entry.unwrap();
        for example in &entry.harmless {
            if let Some(reason) = harm(catalogue, &judge(example)) {
                faults.push(format!("{family}: `{example}` is not harmless: {reason}"));
            }
        }
        for example in &entry.not {
            if harm(catalogue, &judge(example)).is_none() {
                faults.push(format!("{family}: `{example}` is called harmless"));
            }
        }
        let _ = name;
    }
    faults.sort();
    faults.dedup();
    assert!(
        faults.is_empty(),
        "{} faults\n{}",
        faults.len(),
        faults.join("\n")
    );
}

#[test]
fn every_entry_has_examples_of_both_kinds() {
    let catalogue = Catalogue::builtin();
    let mut faults = Vec::new();
    for (family, name, entry) in entries() {
        let entry = entry.unwrap();
        if name.starts_with('@') {
            continue;
        }
        // Without probes (`yarn`, `mvn`) the program is never harmless. A version probe is the harmless example of a command that is never harmless itself; a
        // word-style command without effects has no other kind.
        let probe = entry
            .probes
            .iter()
            .any(|probe| harm(catalogue, &judge(&format!("{name} {probe}"))).is_none());
        let never = entry.probes.is_empty();
        if entry.harmless.is_empty() && !probe && !never && entry.style != schema::Style::Words {
            faults.push(format!("{family}: `{name}` has no harmless example"));
        }
        if entry.not.is_empty() && entry.style != schema::Style::Words {
            faults.push(format!(
                "{family}: `{name}` has no example that is asked about"
            ));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn an_unlisted_flag_is_opaque_everywhere() {
    for (family, name, entry) in entries() {
        let entry = entry.unwrap();
        let own_grammar = entry
            .grammar
            .is_some_and(|grammar| matches!(grammar, Grammar::Kill | Grammar::Ps | Grammar::Test));
        if name.starts_with('@') || entry.style == schema::Style::Words || own_grammar {
            continue;
        }
        let judgement = judge(&format!("{name} --zz-no-such-flag"));
        assert_eq!(
            judgement.effects_known,
            Effects::Opaque,
            "{family}: `{name}`"
        );
    }
}

#[test]
fn unlisted_programs_are_opaque() {
    assert_eq!(judge("no-such-program").opaque[0].0, "unlisted-program");
    assert_eq!(judge("@git-diff").opaque[0].0, "unlisted-program");
    assert_eq!(
        judge("git no-such-thing").opaque[0].0,
        "unlisted-subcommand"
    );
}

#[test]
fn clusters_values_and_abbreviations_are_read_as_getopt_reads_them() {
    harmful("sort -uo x a");
    harmful("sort -uox a");
    harmful("sort --outp x a");
    harmful("sort --output=x a");
    harmful("sort a -o x");
    harmless("sort -k 2 -t o a");
    harmless("sort -- -o x");
    harmless("grep -e -o a");
    harmful("sort --o x a");
    // Two options begin with `--c`: getopt refuses, and so does the catalogue.
    harmful("sort --c a");
}

#[test]
fn words_that_may_be_flags_matter_only_where_a_flag_matters() {
    harmless("cat \"$x\"");
    harmless("head -5 \"$x\"");
    harmful("sort \"$x\"");
    harmless("sort -- \"$x\"");
    harmless("sort ./\"$x\"");
    harmful("rg -n x \"$x\"");
    harmful("rm *");
    harmful("sort *");
    harmless("sort a*");
    harmless("wc -l *");
}

#[test]
fn uncertain_words_shift_operands() {
    // `$x` may vanish, so `b` may be the destination or the source.
    let judgement = judge("cp $x a b");
    assert!(
        judgement
            .paths
            .iter()
            .any(|p| p.word.as_literal() == Some("b") && p.kind == crate::AccessKind::Write)
    );
    let judgement = judge("cp a* b");
    let kinds: Vec<_> = judgement
        .paths
        .iter()
        .filter(|p| p.word.as_literal() == Some("b"))
        .map(|p| p.kind)
        .collect();
    assert_eq!(kinds, vec![crate::AccessKind::Write]);
    harmful("uniq a*");
}

#[test]
fn users_can_add_and_replace_entries() {
    let catalogue = Catalogue::with_user_entries(
        "[myproj-cli]\nabout = 'ours'\noperands = 'value*'\nflags = '''\n-v --verbose\n'''\n",
    )
    .unwrap();
    assert_eq!(
        harm(&catalogue, &judge_in(&catalogue, "myproj-cli -v status")),
        None
    );
    assert!(harm(&catalogue, &judge_in(&catalogue, "myproj-cli --other")).is_some());
    assert!(Catalogue::with_user_entries("[x]\nflags = '-o ='\n").is_err());
    assert!(Catalogue::with_user_entries("[x]\neffects = 'nonsense'\n").is_err());
    assert!(Catalogue::with_user_entries("[x]\nunknown = 1\n").is_err());
    assert!(Catalogue::with_user_entries("[x]\ninclude = ['x']\n").is_err());
    assert!(Catalogue::with_user_entries("['guardian serve']\noperands = 'value*'\n").is_err());
}

#[test]
fn a_later_file_of_a_user_replaces_entries_and_a_fault_names_its_file() {
    let reads = "[ours]\noperands = 'value*'\n";
    let writes = "[ours]\noperands = 'write*'\n";
    let judged = |files: [(&str, &str); 2]| {
        let catalogue = Catalogue::with_user_files(files).unwrap();
        harm(&catalogue, &judge_in(&catalogue, "ours a"))
    };
    assert!(judged([("a.toml", reads), ("b.toml", writes)]).is_some());
    assert_eq!(judged([("a.toml", writes), ("b.toml", reads)]), None);
    let error = Catalogue::with_user_files([("a.toml", reads), ("b.toml", "[x]\nwrong = 1\n")])
        .err()
        .unwrap();
    assert!(error.to_string().contains("`b.toml`"), "{error}");
}

/// What a command line does to paths, as `kind detail? word recursive?` lines.
fn paths(text: &str) -> Vec<String> {
    judge(text)
        .paths
        .iter()
        .map(|path| {
            let detail = match path.detail {
                crate::AccessDetail::Plain => String::new(),
                detail => format!("/{detail:?}"),
            };
            let recursive = if path.recursive { " and beneath" } else { "" };
            format!("{:?}{detail} {}{recursive}", path.kind, path.word.display())
        })
        .collect()
}

#[track_caller]
fn touches(text: &str, expected: &[&str]) {
    assert_eq!(paths(text), expected, "`{text}`");
}

#[test]
fn operands_have_their_roles() {
    touches("cat a b", &["Read a", "Read b"]);
    touches("cat -", &[]);
    touches("uniq a b", &["Read a", "Write b"]);
    touches("grep x a", &["Read a"]);
    touches("grep -e x a", &["Read a"]);
    touches("grep -f x a", &["Read x", "Read a"]);
    touches("grep -r x", &["Read . and beneath"]);
    touches("grep x", &[]);
    touches("rg x", &["Read . and beneath"]);
    touches("rg --files src", &["List src and beneath"]);
    touches("ls", &["List ."]);
    touches("ls -R a", &["List a and beneath"]);
    touches("rm -rf a", &["Delete a and beneath"]);
    touches("rm --rec --for a", &["Delete a and beneath"]);
    touches("chmod -R 777 a", &["Write/Permissions a and beneath"]);
    touches("truncate -s 0 a", &["Write/Truncate a"]);
    touches("dd if=a of=b", &["Read a", "Write/Device b"]);
    touches("gzip a", &["Read a", "Write a", "Delete a"]);
    touches("gzip -c a", &["Read a"]);
    touches("sort a -o b", &["Write b", "Read a"]);
    touches("git checkout -- a", &["Write a and beneath"]);
    touches("git show HEAD:a/b", &["Read HEAD:a/b", "Read a/b"]);
    touches("git log -L 1,5:a", &["Read a"]);
    touches("date -f a", &["Read a"]);
    touches("patch -p1 -i a", &["Read a"]);
    touches("wget -O a https://x", &["Write a"]);
}

/// A flag that the table gives a value it does not take would hide the next word.
#[test]
fn optional_values_do_not_swallow_the_next_word() {
    touches("diff -u a b", &["Read a and beneath", "Read b and beneath"]);
    touches("diff -c a b", &["Read a and beneath", "Read b and beneath"]);
    touches(
        "diff -U 3 a b",
        &["Read a and beneath", "Read b and beneath"],
    );
    touches("ls -p a", &["List a"]);
    for text in [
        "sort -c -o x",
        "sort --check -o x",
        "sort -C -o x",
        "xargs --max-lines rm",
        "xargs -l rm",
        "xargs --replace rm",
        "xargs -i rm {}",
        "git log --pretty --output=x",
        "git log -U --output=x",
        "git diff --stat --output=x",
        "git log --abbrev --output=x",
        "git diff --color --output=x",
        "git log --decorate --output=x",
        "git log --notes --output=x",
        "gzip -M a",
        "mktemp --tmpdir -u x",
        "git show -M --output=x",
        "git log --no-min-parents --output=x",
        "git diff --relative --output=x",
        "sed -i p a",
        "du --time --files0-from=x",
        "git blame --abbrev --output=x a",
    ] {
        harmful(text);
    }
}

#[test]
fn copies_also_name_what_a_directory_would_receive() {
    touches(
        "cp x/.envrc .",
        &["Read x/.envrc", "Write .", "Write ./.envrc"],
    );
    touches("cp a b.txt", &["Read a", "Write b.txt"]);
    touches(
        "mv a b",
        &[
            "Delete/Rename a and beneath",
            "Write b and beneath",
            "Write b/a",
        ],
    );
    touches(
        "cp -t d a b",
        &["Write d", "Read a", "Read b", "Write d/a", "Write d/b"],
    );
}

#[test]
fn sed_scripts_are_read_in_full() {
    touches("sed -n '1r x' a", &["Read a", "Read x"]);
    touches("sed '/p/w x' a", &["Read a", "Write x"]);
    touches("sed 's/a/b/w x' a", &["Read a", "Write x"]);
    touches("sed -e p -e 'w x' a", &["Read a", "Write x"]);
    touches("sed -i s/a/b/ a", &["Read a", "Write a"]);
    touches("sed 'a w x' a", &["Read a"]);
    touches("sed -e 'a\\' -e 'w x' a", &["Read a"]);
    touches("sed 'w /dev/stdout' a", &["Read a"]);
    for script in [
        "p",
        "$=",
        "1,5p",
        "/a/,/b/p",
        "/a/,+3d",
        "0~4p",
        "2q",
        "$!N",
        "1!G;h;$!d",
        ":a;N;$!ba;s/x/ /g",
        "s|^src/||",
        "s/.*[.]//",
        "s,a,b,2g",
        "y/abc/xyz/",
        "/x/{s/a/b/;p}",
        "\\%a%p",
        "s/[^,]*,//",
        "/a/I,$d",
        "/^$/d",
        "n;d",
        "s/a/b/;ta;s/x/y/;:a",
        "10,20!d",
        "s/[[:space:]]*$//",
    ] {
        harmless(&format!("sed '{script}' a"));
    }
    for script in [
        "e",
        "1e x",
        "s/a/x/e",
        "s/a/x/gpe",
        "s/a/x/w y",
        "w y",
        "1,2W y",
        "{w y",
        "s/a/b",
        "k",
        "s/[/]/x/",
        "/a/{s/x/y/;w y",
        "}e",
        "s/a/b/;e x",
        "p e",
        "$!e",
    ] {
        harmful(&format!("sed '{script}' a"));
    }
    harmful("sed \"$x\" a");
    harmful("sed -i/etc/* p a");
}

#[test]
fn find_actions_are_known() {
    touches("find", &["List . and beneath"]);
    touches(
        "find a b -name x",
        &["List a and beneath", "List b and beneath"],
    );
    touches(
        "find a -delete",
        &["List a and beneath", "Delete a and beneath"],
    );
    touches(
        "find a -name x -delete",
        &["List a and beneath", "Delete a/**/x"],
    );
    touches(
        "find a -fprint b",
        &["List a and beneath", "Write/Truncate b"],
    );
    touches("find a -newer b", &["List a and beneath", "List b"]);
    harmful("find . -exec {} \\;");
    harmful("find . -type f -exec rm {} +");
    harmful("find . -execdir sh -c x \\;");
    harmful("find $x");
    harmful("find . -name $x");
    harmless("find . -name \"$x\"");
    harmless("find . -name '-delete'");
    harmless("find . \\( -name a -o -name b \\) -print0");
    assert!(judge("find a -type f -exec cat {} +").nested_beneath);
    assert!(!judge("find a -name x -exec cat {} +").nested_beneath);
}

#[test]
fn wrappers_hand_over_what_they_run() {
    for text in [
        "env A=b rm a",
        "env -S 'rm a'",
        "env -u X -C /tmp rm a",
        "nice -n 5 rm a",
        "timeout -s KILL 5 rm a",
        "nohup rm a",
        "xargs rm",
        "xargs -I{} rm {}",
        "xargs -n 1 -P 4 rm",
        "setsid -w rm a",
        "sudo -u x rm a",
        "sudo A=b rm a",
        "flock x rm a",
        "flock x -c 'rm a'",
        "watch -n 1 rm a",
        "stdbuf -oL rm a",
        "ionice -c 3 rm a",
        "chroot / rm a",
        "unshare -r rm a",
        "taskset 1 rm a",
        "time -p rm a",
        "command rm a",
        "exec rm a",
        "builtin eval 'rm a'",
        "su -c 'rm a'",
        "bash -c 'rm a'",
        "bash -lc 'rm a'",
        "sh -ec 'rm a'",
        "eval rm a",
        "strace -f rm a",
        "busybox rm a",
        "script -qc 'rm a' x",
        "kubectl exec p -c x -- rm a",
        "docker exec -it c rm a",
        "ssh h rm a",
        "git bisect run rm a",
        "uv run rm a",
        "find . -exec rm a \\;",
    ] {
        let judgement = judge(text);
        let runs_rm = judgement.nested.iter().any(|nested| match nested {
            Nested::Command { argv, .. } => {
                argv.first().and_then(Word::as_literal) == Some("rm")
                    || argv.first().and_then(Word::as_literal) == Some("eval")
            }
            Nested::Shell { text, .. } => text.as_literal() == Some("rm a"),
            _ => false,
        });
        assert!(runs_rm, "`{text}`: {judgement:?}");
    }
}

#[test]
fn curl_reads_what_its_values_name() {
    touches("curl -d @a https://x", &["Read a"]);
    touches("curl -F f=@a https://x", &["Read a"]);
    touches("curl -T a https://x", &["Read a"]);
    touches("curl file:///etc/x", &["Read /etc/x"]);
    touches("curl file://localhost/etc/x", &["Read /etc/x"]);
    touches("curl FILE:/etc/x", &["Read /etc/x"]);
    touches("curl -o b https://x", &["Write b"]);
    touches("curl -b jar https://x", &["Read jar"]);
    touches("curl -b a=b https://x", &[]);
    harmful("curl file:///%65tc/x");
    harmful("curl file:///{etc,x}/y");
    harmful("curl --proto-default file /etc/x");
    harmful("curl --unknown file:///a");
}

#[test]
fn tar_modes_decide_what_happens_to_the_archive() {
    touches("tar tf a", &["Read a"]);
    touches("tar -cf a b", &["Write a", "Read b and beneath"]);
    touches("tar czf a b", &["Write a", "Read b and beneath"]);
    touches("tar xf a", &["Read a", "Write . and beneath"]);
    harmless("tar tzvf a");
    harmful("tar tf h:a");
    harmful("tar --use=./x -tf a");
    harmful("tar -tf a -T list");
}

#[test]
fn sql_calls_only_listed_functions_however_their_names_are_written() {
    for sql in [
        r#"select "edit"('x','touch pwn; true')"#,
        "select [readfile]('.env')",
        "select `writefile`('pwn','x')",
        "select 1 where [writefile] /* x */ ('pwn','x') > 0",
        r#"select * from "fsdir"('../home')"#,
        "select * from 'fsdir'('../home')",
        "select * from fsdir where path = '../home'",
        "select [x'], writefile('p','q'), ['y]",
        "with a as (select 1) select [load_extension] -- x\n('./x')",
        "select t\n.dump , writefile('p','x') from t",
        "insert into t values(writefile('p','x'))",
        "vacuum into 'pwn.db'",
        "select 1; VACUUM main INTO '.envrc'",
        "vacuum into \"x\"",
    ] {
        let judgement = Catalogue::builtin().judge(&Invocation {
            name: "sqlite3",
            args: &["-readonly", "y.db", sql]
                .map(|text| Word::literal(text, Span { start: 0, end: 0 })),
            stdin: &Stdin::Empty,
        });
        assert_eq!(judgement.effects_known, Effects::Opaque, "{sql}");
    }
    assert!(
        judge("sqlite3 y.db \"vacuum into '.envrc'\"")
            .paths
            .iter()
            .any(|path| path.word.display() == ".envrc" && path.kind == crate::AccessKind::Write)
    );
    for sql in [
        "select \"name\", [id], `x` from [order items] where \"a\" in ('edit', 'b')",
        "select count(*), max(t.a) from t -- how many",
        ".tables\nselect 1;\n.schema t",
        "pragma table_info(t)",
        "vacuum",
    ] {
        let judgement = Catalogue::builtin().judge(&Invocation {
            name: "sqlite3",
            args: &["-readonly", "-safe", "y.db", sql]
                .map(|text| Word::literal(text, Span { start: 0, end: 0 })),
            stdin: &Stdin::Empty,
        });
        assert_eq!(judgement.effects_known, Effects::Known, "{sql}");
    }
    for text in [
        "sqlite3 -safe y.db 'create table t(a varchar(20), primary key(a), unique(a))'",
        "sqlite3 -safe y.db 'insert into \"t\"(a) values(1)'",
        "sqlite3 -safe y.db 'create index i on t(a)'",
    ] {
        assert_eq!(judge(text).effects_known, Effects::Known, "{text}");
    }
}

#[test]
fn sql_is_told_apart() {
    harmless("sqlite3 -readonly -safe a.db 'select count(*) from t where x = 1'");
    harmless("sqlite3 -readonly a.db 'select 1; select sqlite_version'");
    harmless("sqlite3 -readonly a.db .tables");
    for text in [
        // a view may call `edit`, which runs a program
        "sqlite3 -readonly a.db 'select count(*) from t where x = 1'",
        "sqlite3 -readonly a.db 'select (select e from v)'",
        "sqlite3 -readonly a.db 'pragma integrity_check'",
        "sqlite3 -readonly a.db .fullschema",
        "sqlite3 -readonly a.db '.dump t'",
        "sqlite3 -readonly a.db \"select 1; with x as (select 2) select * from v\"",
        "sqlite3 -readonly a.db 'select writefile(1, 2)'",
        "sqlite3 -readonly a.db '.shell x'",
        "sqlite3 -readonly a.db '.read x'",
        "sqlite3 -readonly a.db \"attach 'x' as y\"",
        "sqlite3 -readonly -cmd '.system x' a.db 'select 1'",
        "sqlite3 a.db 'select 1'",
    ] {
        harmful(text);
    }
    assert!(
        judge("psql -c 'drop table x'")
            .effects
            .contains(&Effect::Destructive)
    );
    assert!(
        judge("psql -c 'delete from x'")
            .effects
            .contains(&Effect::Destructive)
    );
    assert!(
        !judge("psql -c 'delete from x where y = 1'")
            .effects
            .contains(&Effect::Destructive)
    );
    assert!(
        judge("psql -c 'with a as (delete from x) select 1'")
            .effects
            .contains(&Effect::Destructive)
    );
    assert_eq!(
        judge("psql -c 'copy x to program'").effects_known,
        Effects::Opaque
    );
    assert_eq!(judge("psql -c '\\\\! x'").effects_known, Effects::Opaque);
}

#[test]
fn git_effects_are_told_apart() {
    let has = |text: &str, effect: Effect| judge(text).effects.contains(&effect);
    assert!(has("git push --force", Effect::Destructive));
    assert!(has("git push --force", Effect::Publishes));
    assert!(has("git push origin +main", Effect::Destructive));
    assert!(has("git push origin :main", Effect::Destructive));
    assert!(!has("git push origin main", Effect::Destructive));
    assert!(has("git reset --hard", Effect::Destructive));
    assert!(has("git clean -fdx", Effect::Destructive));
    assert!(!has("git clean -n", Effect::Destructive));
    assert!(has("git branch -D x", Effect::Destructive));
    assert!(has("git tag -d x", Effect::Destructive));
    assert!(has("git commit --amend", Effect::HistoryRewrite));
    assert!(has("git rebase main", Effect::HistoryRewrite));
    assert!(has("git stash", Effect::BulkWrite));
    assert!(has("git stash drop", Effect::Destructive));
    assert!(has("git pull", Effect::BulkWrite));
    assert!(has("git config core.hooksPath x", Effect::Persistence));
    assert!(!has("git config user.name x", Effect::Persistence));
    assert!(has("git add a", Effect::GitRecord));
    assert!(!has("git add a", Effect::GitChange));
    assert!(has("git add -f a", Effect::GitChange));
    let judgement = judge("git -C a -C b status");
    assert_eq!(judgement.cwd.len(), 2);
    assert_eq!(
        judgement.conditions,
        vec![crate::command::Condition::CleanGitConfig]
    );
    assert!(
        judge("git commit -m x")
            .conditions
            .contains(&crate::command::Condition::UnchangedGitHooks)
    );
}

#[test]
fn probes_are_probes_only_when_nothing_else_follows() {
    harmless("javac -version");
    harmful("javac -version -processorpath p -d out Gen.java");
    harmless("node -v");
    harmful("node -v x.js");
    harmless("npm -v");
    harmful("npm -v test");
    harmful("mvn --version");
    harmful("yarn --version");
    harmful("rm -rf / --help");
}

#[test]
fn everyday_reads_stay_harmless() {
    for text in [
        "ls -la",
        "ls -- -rf",
        "cat -A a",
        "head -c 400 a",
        "tail -n +2 a",
        "sed -n '200,260p' a",
        "wc -l a",
        "stat a",
        "file a b",
        "du -sh . x",
        "od -c a",
        "cut -d, -f1,3 a",
        "diff a b",
        "dirname a/b",
        "rg -n 'fn main' src",
        "rg -nU 'struct' src",
        "rg -n -A3 -B2 x src",
        "rg -tpy x tests",
        "rg --stats -q x",
        "grep -rn --include='*.rs' Config .",
        "grep -n -m 5 pub a",
        "find . -path ./x -prune -o -name '*.ts' -print",
        "find . -maxdepth 3 -name x -not -path '*/y/*'",
        "find . -empty -type d",
        "fd -t f -e md",
        "git grep -n x -- src",
        "git status --porcelain=v2",
        "git diff HEAD~1 -- src/main.rs",
        "git --no-pager diff --staged",
        "git log -5 --stat",
        "git log --graph --oneline --all",
        "git log --since='2 weeks ago' --pretty=format:%h",
        "git log --follow -- a",
        "git show --name-status abc",
        "git blame -L 10,40 a",
        "git branch -a",
        "git tag --sort=-creatordate",
        "git rev-list --count HEAD",
        "git describe --tags --always",
        "git ls-files '*.rs'",
        "git cat-file -p HEAD",
        "git reflog -10",
        "git check-ignore -v a b",
        "git config --get remote.origin.url",
        "git shortlog -sn HEAD",
        "git diff-tree --no-commit-id --name-only -r HEAD",
        "git ls-tree --name-only HEAD docs/",
        "git log -1 --format=%cd --date=iso",
        "git merge-base --is-ancestor main HEAD",
        "git log --diff-filter=D --summary",
        "git diff --word-diff HEAD~1 -- a",
        "git stash list",
        "git worktree list",
        "command -v node npm",
        "type -t rg",
        "hash -t git",
        "which -a python3",
        "date +%F",
        "id -un",
        "hostname",
        "test 1 -eq 1",
        "seq 1 10",
        "yes x",
        "umask",
        "locale",
        "df -h .",
        "ps aux",
        "ps -ef",
        "jq -r '.name + \"@\" + .version' a",
        "jq -n '{a: 1}'",
        "jq '.rm' f",
        "awk -F'|' '{print $2}' a",
        "sort -t: -k1,1 a",
        "tr -s ' '",
        "column -t -s, a",
        "xargs -n1 echo",
        "xargs -I{} echo 'x: {}'",
        "timeout 5 rg -n x src",
        "nice -n 10 rg -l x src",
        "stdbuf -oL grep -n x a",
        "size a",
        "strings -a a",
        "man rm",
        "type rm",
        "printf '%05d' 42",
        "echo rm -rf /",
        "git commit --allow-empty -m 'x; rm -rf ~'",
        "lsof -i :3000",
        "tree -L 2",
        "bash -n a.sh",
    ] {
        harmless(text);
    }
}

#[test]
fn nothing_that_writes_or_runs_is_harmless() {
    for text in [
        "sort --compress-program=./x a",
        "sort --co=./x a",
        "find . -fprint0 M",
        "find . -fls M",
        "find . -okdir x \\;",
        "rg --pre x y",
        "rg --hostname-bin x y",
        "uniq a b",
        "xxd -r a b",
        "tar tf a --checkpoint-action=exec=x",
        "tar -tf a -I x",
        "tar tf a --to-command=x",
        "tar tf a --rsh-command=x",
        "split a",
        "csplit a 1",
        "tee a",
        "dd of=a",
        "git diff --output=x",
        "git log --output x",
        "git -c core.fsmonitor=x status",
        "git -c alias.st='!x' st",
        "git -p status",
        "git --exec-path=x status",
        "git grep -Ox y",
        "git grep --open-files-in-pager=x y",
        "git archive -o x HEAD",
        "git ls-remote --upload-pack=x .",
        "git fetch --upload-pack x",
        "git bundle create x HEAD",
        "git hash-object -w a",
        "git update-ref a b",
        "git symbolic-ref HEAD x",
        "git branch --edit-description",
        "git difftool",
        "git submodule foreach x",
        "less -o x a",
        "less --log-file=x a",
        "man -P x ls",
        "man --html=x ls",
        "file -C -m a",
        "date -s 2020",
        "date 010100002020",
        "hostname x",
        "sysctl -w a=1",
        "sysctl a=1",
        "ip netns exec x y",
        "ip link set a down",
        "tree -o x",
        "tree -R",
        "ps eww",
        "printenv",
        "env",
        "set",
        "export -p",
        "declare -p",
        "wc --files0-from=x",
        "du --files0-from=x",
        "shuf -o x a",
        "install a b",
        "ln a b",
        "cp a b",
        "mv a b",
        "rsync -e x a h:b",
        "ssh -o ProxyCommand=x h",
        "scp a h:",
        "mktemp",
        "mkdir a",
        "touch a",
        "chmod 600 a",
        "mkfifo a",
        "shred a",
        "truncate -s0 a",
        "curl x",
        "wget x",
        "bat --pager x a",
        "yq -i '.a=1' b",
        "jq env a",
        "jq '$ENV' a",
        "awk -f x a",
        "awk 'BEGIN{system(1)}'",
        "gawk -i inplace 1 a",
        "mawk -W exec x",
        "printf -v 'a[$(x)]' y",
        "printf \"$x\" 'a[b]'",
        "read 'a[x]'",
        "unset 'a[x]'",
        "test -v 'a[x]'",
        "[ \"$x\" \"$y\" ]",
        "let 'a[x]=1'",
        "mapfile -C x a",
        "enable -f x y",
        "hash -p x ls",
        "compgen -F x",
        "compgen -W '$(x)'",
        "trap x EXIT",
        "alias ls=x",
        "source x",
        ". x",
        "eval \"$x\"",
        "exec \"$x\"",
        "command \"$x\"",
        "history",
        "fc -s",
        "jobs -x x",
        "strace -o x ls",
        "time -o x ls",
        "script x",
        "crontab x",
        "crontab -e",
        "mount a b",
        "dmesg -C",
        "journalctl --rotate",
        "systemctl enable x",
        "systemctl restart x",
        "tmux new x",
        "tmux display '#(x)'",
        "rustfmt a.rs",
        "gofmt -w a",
        "cargo build",
        "cargo tree",
        "npm test",
        "npx x",
        "make",
        "gcc a.c",
        "python3 -c x",
        "python3 -m x",
        "node -e x",
        "node -r x -c y",
        "perl -ne x a",
        "ruby -e x",
        "php -r x",
        "docker ps",
        "kubectl get pods",
        "aws s3 ls",
        "gh pr list",
        "psql -c 'select 1'",
        "gpg --list-keys",
        "kill 1",
        "kill -9 1",
        "pkill x",
        "rpm -i a",
        "dpkg -i a",
        "apt install x",
        "dpkg -l --root=x",
        "nc -e x h 1",
        "ping h",
        "dig h",
        "zip -T a",
        "unzip a",
        "7z x a",
        "ldd a",
        "script -c x",
        "sponge a",
        "dos2unix a",
        "envsubst",
        "info -o x y",
        "iconv -o x a",
        "column --no-such a",
        "diff --no-such a b",
        "sdiff -o x a b",
        "diff3 --diff-program=x a b c",
        "nm --plugin=x a",
        "objdump --no-such a",
    ] {
        harmful(text);
    }
}

#[test]
fn names_that_find_inserts_are_code_for_some_programs() {
    for text in [
        "find src -exec awk {} \\;",
        "find src -exec sed {} \\;",
        "find src -exec jq {} a \\;",
        "find src -exec sed -n s/a/{}/e a \\;",
        "find src -exec sh -c 'cat {}' \\;",
        "find src -exec env awk {} \\;",
        "find . -follow -exec cat {} \\;",
    ] {
        let judgement = judge(text);
        assert!(
            judgement.effects_known == Effects::Opaque || judgement.walks,
            "{text}: {judgement:?}"
        );
    }
    for text in [
        "find src -type f -exec wc -l {} +",
        "find src -exec grep -n x {} +",
        "find src -exec sed -n 1p {} \\;",
        "find src -exec awk '{print}' {} \\;",
        "find src -exec stat -c %s {} \\;",
        "find src -exec basename {} .rs \\;",
        "find src -exec env -u X cat {} \\;",
    ] {
        harmless(text);
    }
}

#[test]
fn words_behind_the_command_of_submodules_belong_to_it() {
    let judgement = judge("git submodule foreach git reset --hard");
    assert!(judgement.nested.iter().any(|nested| matches!(
        nested,
        Nested::Shell { text, .. } if text.as_literal() == Some("git reset --hard")
    )));
    assert_eq!(judgement.effects_known, Effects::Opaque);
}

#[test]
fn the_page_lists_every_family() {
    let page = catalogue_page(Catalogue::builtin());
    for (family, _) in FAMILIES {
        assert!(page.contains(&format!("\n## {family}\n")), "{family}");
    }
    assert!(page.contains("| `sort` | sorts lines |"));
}
