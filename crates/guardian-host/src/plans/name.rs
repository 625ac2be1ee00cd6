//! Names of the files that hold plans and goals: `<slug>-<timestamp>[-N].md`.

use guardian_store::PlanKind;

/// Longest name of such a file, in bytes.
const LONGEST: usize = 200;
/// Bytes that `-<timestamp>-<N>.md` may take.
const TAIL: usize = 1 + 15 + 1 + 4 + 3;

/// The names to try, best first.
pub(super) fn candidates(
    title: &str,
    kind: PlanKind,
    now: i64,
) -> impl Iterator<Item = String> + use<> {
    let stem = format!("{}-{}", slug(title, kind), timestamp(now));
    std::iter::once(format!("{stem}.md"))
        .chain((2..10_000).map(move |number| format!("{stem}-{number}.md")))
}

/// Letters and digits of the title, lower case, with `-` between the words; cut between
/// characters.
fn slug(title: &str, kind: PlanKind) -> String {
    let mut slug = String::new();
    for character in title.chars().flat_map(char::to_lowercase) {
        let next = if character.is_alphanumeric() {
            character
        } else if slug.is_empty() || slug.ends_with('-') {
            continue;
        } else {
            '-'
        };
        if slug.len() + next.len_utf8() > LONGEST - TAIL {
            break;
        }
        slug.push(next);
    }
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() {
        kind.word().to_owned()
    } else {
        slug.to_owned()
    }
}

/// `20261130-175000`, UTC.
fn timestamp(now: i64) -> String {
    jiff::Timestamp::from_millisecond(now)
        .map(|time| time.strftime("%Y%m%d-%H%M%S").to_string())
        .unwrap_or_else(|_| "00000000-000000".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn named(title: &str, expected: &str) {
        let name = candidates(title, PlanKind::Plan, 1_000_000_000_000).next();
        assert_eq!(name.as_deref(), Some(expected));
    }

    #[test]
    fn a_title_becomes_a_name() {
        named("Add a Login page!", "add-a-login-page-20010909-014640.md");
        named("../../etc/passwd", "etc-passwd-20010909-014640.md");
        named("  ", "plan-20010909-014640.md");
        named("…/\u{0}\u{202e}", "plan-20010909-014640.md");
        named("计划 β", "计划-β-20010909-014640.md");
        let second = candidates("x", PlanKind::Goal, 0).nth(1);
        assert_eq!(second.as_deref(), Some("x-19700101-000000-2.md"));
    }

    #[test]
    fn long_titles_are_cut_between_characters() {
        for letter in ["a", "é", "计", "𝒜", "𐐀"] {
            for name in [
                candidates(&letter.repeat(500), PlanKind::Plan, 0).next(),
                candidates(&letter.repeat(500), PlanKind::Plan, 0).last(),
            ] {
                let name = name.unwrap();
                assert!(name.len() <= LONGEST, "{} bytes: {name}", name.len());
                assert!(name.len() > LONGEST - TAIL - 4, "{} bytes", name.len());
            }
        }
    }
}
