//! Laws that hold for every input.

use std::path::Path;
use std::sync::LazyLock;

use guardian_facts::path::{collapse, normalise_argument, windows};
use guardian_facts::{FileKind, PathProbe as _, Scope, Target};
use proptest::prelude::*;
use serde_json::{Map, Value};

use crate::world::{SCRATCH, WORKSPACE, World};

/// Building the machine costs more than a case.
fn world() -> &'static World {
    static WORLD: LazyLock<World> = LazyLock::new(World::new);
    &WORLD
}

/// Path text made of pieces that mean something.
fn path_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("..".to_owned()),
        Just(".".to_owned()),
        Just(String::new()),
        Just("src".to_owned()),
        Just("out".to_owned()),
        Just("inside".to_owned()),
        Just("keys".to_owned()),
        Just("loop".to_owned()),
        Just("way-out".to_owned()),
        Just(".env".to_owned()),
        Just("home".to_owned()),
        Just("dev".to_owned()),
        Just("proj".to_owned()),
        Just("proc".to_owned()),
        Just("self".to_owned()),
        Just("root".to_owned()),
        Just("cwd".to_owned()),
        Just("fd".to_owned()),
        "[a-z.~%]{0,4}",
    ];
    let start = prop_oneof![
        Just(String::new()),
        Just("/".to_owned()),
        Just("~/".to_owned()),
        Just("file:///".to_owned()),
        Just(format!("{WORKSPACE}/")),
        Just(format!("{SCRATCH}/")),
    ];
    (start, prop::collection::vec(piece, 0..8))
        .prop_map(|(start, pieces)| start + &pieces.join("/"))
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::vec((any::<String>(), inner), 0..3)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn normalisation_is_total_and_gives_absolute_paths(text in any::<String>()) {
        if let Ok(path) = normalise_argument(&text, Some(Path::new("/w")), Path::new("/home/dev")) {
            prop_assert!(path.is_absolute());
        }
        let _ = windows::parse(&text).comparable();
        let _ = windows::is_foreign(&text);
    }

    #[test]
    fn placing_is_total(text in any::<String>(), base in any::<String>()) {
        let world = world();
        let context = world.context();
        let _ = context.place(&text, Path::new(&base));
        let _ = context.place_entry(&text, Path::new(WORKSPACE));
        let _ = context.pattern(&text, Path::new(WORKSPACE));
        let _ = context.argument(&text);
    }

    /// The scope is what the resolved path says, whatever was written.
    #[test]
    fn a_path_that_resolves_elsewhere_is_never_in_the_workspace(text in path_text()) {
        let world = world();
        let Ok(Target::Exact(fact)) = world.context().argument(&text) else { return Ok(()) };
        match fact.scope {
            Scope::Workspace => prop_assert!(fact.path.starts_with(WORKSPACE), "{:?}", fact),
            Scope::Scratch => prop_assert!(fact.path.starts_with(SCRATCH), "{:?}", fact),
            Scope::ScratchEscape => prop_assert!(!fact.path.starts_with(SCRATCH), "{:?}", fact),
            Scope::Outside => {}
        }
        // The path that was judged is where the machine says it leads: resolving it again changes
        // nothing.
        if fact.kind == Some(FileKind::File) {
            let again = world.probe.resolve(&fact.path);
            prop_assert_eq!(again.path, fact.path);
            prop_assert!(!again.followed_link);
        }
    }

    /// Whatever spelling reaches a class by its canonical name belongs to it.
    #[test]
    fn classes_of_the_target_are_never_lost(text in path_text()) {
        let world = world();
        let Ok(Target::Exact(fact)) = world.context().argument(&text) else { return Ok(()) };
        if fact.path.starts_with(SCRATCH) || fact.kind == Some(FileKind::Directory) {
            return Ok(());
        }
        let by_name = world.classes.classify(&fact.path, Path::new("/home/dev"));
        prop_assert!(!by_name.sensitive || fact.sensitivity.sensitive, "{:?}", fact);
        prop_assert!(!by_name.protected || fact.sensitivity.protected, "{:?}", fact);
        prop_assert!(!by_name.secret || fact.sensitivity.secret || fact.path.ends_with("ca.pem"), "{:?}", fact);
    }

    #[test]
    fn a_pattern_covers_the_classes_of_what_it_matches(prefix in ".{0,3}", cut in 0_usize..4) {
        let world = world();
        prop_assume!(!prefix.contains(['/', '\0']));
        let name = ".env";
        let pattern = format!("{}*", &name[..cut]);
        let Target::Pattern { may_match, .. } = world.context().pattern(&format!("./{pattern}"), Path::new(WORKSPACE)) else {
            return Ok(());
        };
        prop_assert!(may_match.secret || cut == 0, "{}", pattern);
    }

    #[test]
    fn collapsing_leaves_no_dots(text in path_text()) {
        let collapsed = collapse(&Path::new("/").join(text.trim_start_matches('~')));
        prop_assert!(!collapsed.components().any(|part| part == std::path::Component::ParentDir));
    }

    #[test]
    fn no_arguments_make_an_extractor_panic(
        tool in prop::sample::select(vec!["Read", "Glob", "Grep", "Write", "Edit", "Bash", "BashKill", "Foreign"]),
        pairs in prop::collection::vec(
            (
                prop_oneof![
                    prop::sample::select(vec!["path", "file_path", "pattern", "command", "limit", "edits", "timeout", "content", "old_string", "jobId"])
                        .prop_map(str::to_owned),
                    any::<String>(),
                ],
                json_value(),
            ),
            0..4,
        ),
    ) {
        let object: Map<String, Value> = pairs.into_iter().collect();
        let _ = world().extract(tool, Value::Object(object));
    }
}
