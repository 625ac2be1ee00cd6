//! Names that a command of a text makes are followed by the others.

use guardian_facts::{Access, AccessKind, Facts, Target};

use crate::support::Machine;

/// Paths that are written for sure.
fn written(facts: &Facts) -> Vec<String> {
    facts
        .accesses
        .iter()
        .filter(|access| access.kind == AccessKind::Write)
        .filter_map(|access| Some(access.exact()?.path.display().to_string()))
        .collect()
}

fn has_unknown_write(facts: &Facts) -> bool {
    let is_unknown = |access: &&Access| matches!(access.target, Target::Unknown { .. });
    let writes = |access: &&Access| access.kind == AccessKind::Write;
    facts
        .accesses
        .iter()
        .filter(writes)
        .any(|access| is_unknown(&access))
}

#[track_caller]
fn writes_to(text: &str, path: &str) {
    let machine = Machine::new()
        .with_link("out", "../out")
        .with_link("tree/l", "../.git/hooks");
    let facts = machine.read(text);
    let written = written(&facts);
    assert!(
        written.iter().any(|found| found == path),
        "{text}: {written:?}"
    );
}

const HOOK: &str = "/home/dev/proj/.git/hooks/pre-commit";

#[test]
fn a_write_through_a_link_of_the_same_text_is_a_write_to_what_it_leads_to() {
    for text in [
        "ln -s .git/hooks x; echo hi > x/pre-commit",
        "ln -sfn .git/hooks x && echo hi >> ./x/pre-commit",
        "ln -s /home/dev/proj/.git/hooks x; tee x/pre-commit < a",
        "ln -t . -s .git/hooks; echo hi > hooks/pre-commit",
        "mkdir d; ln -s ../.git/hooks d/x; cd d; echo hi > x/pre-commit",
        "ln -s .git/hooks x; cd x && echo hi > pre-commit",
        "cp -s .git/hooks/pre-commit x; echo hi > x",
        "ln -s .git/hooks/pre-commit x; cp a x",
        "ln -s .git/hooks x; cp pre-commit x",
        "ln .git/hooks/pre-commit x; echo hi > x",
        "link .git/hooks/pre-commit x; echo hi > x",
        "ln -s .git y; ln -s y/hooks x; echo hi > x/pre-commit",
        "ln -s .git/hooks x; mv x z; echo hi > z/pre-commit",
        "ln -s ../.git/hooks src/x; mv src lib; echo hi > lib/x/pre-commit",
        "for i in 1 2; do echo hi > x/pre-commit; ln -s .git/hooks x; done",
        "(sleep 1; echo hi > x/pre-commit) & ln -s .git/hooks x",
        "env ln -s .git/hooks x; echo hi > x/pre-commit",
        // what lies there now, under a name that a command makes
        "mv tree/l x; echo hi > x/pre-commit",
        "cp -a tree t2; echo hi > t2/l/pre-commit",
        "mv tree t2; echo hi > t2/l/pre-commit",
    ] {
        writes_to(text, HOOK);
    }
    // or somewhere else, where there is no such directory
    writes_to(
        "ln -s .git/hooks x; cd x; echo hi > pre-commit",
        "/home/dev/proj/.git/hooks",
    );
    for text in [
        "ln -s /tmp/zz lnk; echo hi > lnk",
        "cp -s /tmp/zz lnk; echo hi > lnk",
        "ln /tmp/zz lnk; echo hi > lnk",
        "ln -t . -s /tmp/zz; echo hi > zz",
        "ln -s /tmp lnk; touch lnk/zz",
    ] {
        writes_to(text, "/tmp/zz");
    }
}

#[test]
fn what_a_pattern_may_match_through_a_new_link_is_a_place_of_its_own() {
    let facts = Machine::new().read("ln -s .git/hooks x; cp a x*/pre-commit");
    let protected = facts.accesses.iter().any(|access| {
        access.kind == AccessKind::Write
            && match &access.target {
                Target::Exact(fact) => fact.sensitivity.protected,
                Target::Pattern { may_match, .. } => may_match.protected,
                Target::Unknown { .. } => true,
            }
    });
    assert!(protected, "{:#?}", facts.accesses);
    let facts = Machine::new().read("ln -s .git/hooks x; echo hi > x/../pre-commit");
    assert!(has_unknown_write(&facts));
}

#[test]
fn a_link_of_a_text_gives_nothing_to_what_does_not_go_through_it() {
    for text in [
        "ln -s .git/hooks x; echo hi > y/pre-commit",
        "ln -s .git/hooks x; rm x",
        "rm -f x; ln -s .git/hooks x",
        "ln -s a x; ln -sfn .git/hooks x",
        "ln -s .git/hooks x; mv a x.txt",
        "mv src lib; echo hi > lib/a.rs",
        "cp -r src lib; echo hi > lib/a.rs",
        // the entry itself
        "ln -s .git/hooks x",
        "git checkout -b x && echo hi > a.txt",
    ] {
        let facts = Machine::new().read(text);
        let hooks = written(&facts).iter().any(|path| path.contains("hooks/"));
        assert!(
            !hooks && !has_unknown_write(&facts),
            "{text}: {:#?}",
            facts.accesses
        );
        assert!(facts.maybe_linked.is_empty(), "{text}");
    }
}

#[test]
fn a_write_into_what_was_unpacked_may_go_anywhere() {
    for text in [
        "tar xf l.tar; echo hi > lnk/x",
        "tar -C d -xf l.tar && cp a d/lnk",
        "unzip l.zip && tee lnk < a",
        "unzip l.zip -d out2 && echo hi > out2/lnk",
    ] {
        assert!(has_unknown_write(&Machine::new().read(text)), "{text}");
    }
    for text in [
        "tar xf a.tar && cd a && make",
        "tar xf a.tar && cd a && mkdir build && cd build && cmake ..",
        "tar xf a.tar && mv a-1.0 a && ls a",
        "echo hi > a.txt && tar xf a.tar",
        "tar -C vendor -xf a.tar && echo hi > notes.txt",
        "tar cf a.tar src && echo hi > notes.txt",
        "tar tf a.tar > list.txt",
    ] {
        assert!(!has_unknown_write(&Machine::new().read(text)), "{text}");
    }
}

#[test]
fn a_write_after_another_branch_may_go_through_a_link_of_it() {
    for text in [
        "git checkout other; echo hi > lnk",
        "git checkout other -- lnk; echo hi > lnk",
        "git stash pop && echo hi >> src/main.rs",
        "git pull && cp a lnk",
    ] {
        let facts = Machine::new().read(text);
        assert!(!facts.maybe_linked.is_empty(), "{text}");
        assert!(!has_unknown_write(&facts), "{text}");
    }
    for text in [
        "echo hi > a; git checkout other",
        "git checkout other && cargo test",
        "git checkout other > /dev/null",
        "git add a && git commit -m x && echo hi > a",
    ] {
        let facts = Machine::new().read(text);
        assert!(facts.maybe_linked.is_empty(), "{text}");
    }
}
