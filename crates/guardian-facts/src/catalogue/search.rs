//! Which files the recursive searches of `grep` and `rg` open.

use super::scan::Scanned;
use super::schema::Entry;
use crate::command::{Invocation, Judgement, Word};

/// `grep -r --include=PATTERN`.
pub(crate) fn grep(
    _entry: &Entry,
    scanned: &Scanned<'_>,
    _invocation: &Invocation<'_>,
    judgement: &mut Judgement,
) {
    let patterns: Vec<&Word> = scanned.values("--include").collect();
    judgement.walk.only_names = names(&patterns);
}

/// Patterns as names; none when one of them is not known or has a directory in it, since then
/// nothing is said of what is left out.
fn names(patterns: &[&Word]) -> Vec<String> {
    let known: Option<Vec<String>> = patterns
        .iter()
        .map(|word| {
            word.as_literal()
                .filter(|text| !text.contains('/'))
                .map(str::to_owned)
        })
        .collect();
    known.unwrap_or_default()
}

/// Names of ripgrep's file types that hold source text only. A type that is not listed here
/// narrows nothing.
const TYPES: &[(&str, &[&str])] = &[
    ("rust", &["*.rs"]),
    ("py", &["*.py", "*.pyi"]),
    ("python", &["*.py", "*.pyi"]),
    ("js", &["*.js", "*.jsx", "*.vue", "*.cjs", "*.mjs"]),
    ("ts", &["*.ts", "*.tsx", "*.cts", "*.mts"]),
    ("typescript", &["*.ts", "*.tsx", "*.cts", "*.mts"]),
    ("go", &["*.go"]),
    ("java", &["*.java", "*.jsp", "*.jspx", "*.properties"]),
    ("kotlin", &["*.kt", "*.kts"]),
    ("swift", &["*.swift"]),
    ("c", &["*.c", "*.h", "*.H", "*.cats", "*.[chH].in"]),
    (
        "md",
        &[
            "*.md",
            "*.markdown",
            "*.mdown",
            "*.mdwn",
            "*.mkd",
            "*.mkdn",
            "*.mdx",
        ],
    ),
    (
        "markdown",
        &[
            "*.md",
            "*.markdown",
            "*.mdown",
            "*.mdwn",
            "*.mkd",
            "*.mkdn",
            "*.mdx",
        ],
    ),
    ("html", &["*.htm", "*.html", "*.ejs"]),
    ("css", &["*.css", "*.scss"]),
];

/// `rg`: hidden files are left out unless asked for. A positive glob or a type lets a hidden file
/// that matches in, so then only the names count.
pub(crate) fn rg(
    _entry: &Entry,
    scanned: &Scanned<'_>,
    _invocation: &Invocation<'_>,
    judgement: &mut Judgement,
) {
    let unrestricted = scanned
        .flags
        .iter()
        .filter(|used| used.flag.names.iter().any(|name| name == "-u"))
        .count();
    let globs: Vec<&Word> = scanned
        .values("-g")
        .chain(scanned.values("--iglob"))
        .filter(|glob| !glob.literal_prefix().starts_with('!'))
        .collect();
    let types: Vec<&Word> = scanned.values("-t").collect();
    if globs.is_empty() && types.is_empty() {
        judgement.walk.skips_hidden = unrestricted < 2 && !scanned.has("--hidden");
    }
    if scanned.has("--type-add") || scanned.has("--iglob") {
        return;
    }
    if !globs.is_empty() {
        judgement.walk.only_names = names(&globs);
        return;
    }
    let known: Option<Vec<&[&str]>> = types
        .iter()
        .map(|name| {
            let name = name.as_literal()?;
            TYPES
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, names)| *names)
        })
        .collect();
    judgement.walk.only_names = known
        .unwrap_or_default()
        .into_iter()
        .flatten()
        .map(|name| (*name).to_owned())
        .collect();
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::command::WalkFilter;

    #[test]
    fn a_filter_leaves_out_hidden_names_and_other_names() {
        let hidden = WalkFilter {
            skips_hidden: true,
            only_names: Vec::new(),
        };
        assert!(hidden.may_open(Path::new("src/main.rs")));
        assert!(!hidden.may_open(Path::new(".env")));
        assert!(!hidden.may_open(Path::new(".aws/credentials")));
        let names = WalkFilter {
            skips_hidden: false,
            only_names: vec!["*.rs".to_owned(), "a?c*".to_owned()],
        };
        assert!(names.may_open(Path::new("x/.y.rs")));
        assert!(names.may_open(Path::new("abcd")));
        assert!(!names.may_open(Path::new(".env")));
        assert!(!names.may_open(Path::new("x.rs.pem")));
        let unclear = WalkFilter {
            skips_hidden: false,
            only_names: vec!["*.{a,b}".to_owned()],
        };
        assert!(unclear.may_open(Path::new(".env")));
    }
}
