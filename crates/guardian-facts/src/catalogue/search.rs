//! Which files the recursive searches of `grep` and `rg` open.

use super::scan::Scanned;
use super::schema::Entry;
use crate::AccessKind;
use crate::command::{Invocation, Judgement, Word, WordPart};

/// `grep -r --include=PATTERN --exclude=PATTERN --exclude-dir=PATTERN`.
pub(crate) fn grep(
    _entry: &Entry,
    scanned: &Scanned<'_>,
    _invocation: &Invocation<'_>,
    judgement: &mut Judgement,
) {
    let walk = &mut judgement.walk;
    walk.follows_links = scanned.has("-R");
    walk.skips_directories = names(&scanned.values("--exclude-dir").collect::<Vec<_>>());
    let chooses = |name: &&str| matches!(*name, "--include" | "--exclude");
    let first = scanned
        .flags
        .iter()
        .find_map(|used| used.flag.names.iter().map(String::as_str).find(chooses));
    // The last of them that matches decides, and where none does, the opposite of the first.
    let includes: Vec<&Word> = scanned.values("--include").collect();
    match first {
        Some("--include") => walk.only_names = narrowing(&includes),
        Some("--exclude") if includes.is_empty() => {
            walk.skips_names = names(&scanned.values("--exclude").collect::<Vec<_>>());
        }
        _ => {}
    }
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

/// [`names`] of patterns that narrow. An unquoted one (`--include=*.rs`) becomes, at worst, names
/// that match it, which narrow further.
fn narrowing(patterns: &[&Word]) -> Vec<String> {
    let plain: Vec<Word> = patterns
        .iter()
        .map(|word| match word.parts.as_slice() {
            [WordPart::Glob(text)] => Word::literal(text.clone(), word.span),
            _ => (*word).clone(),
        })
        .collect();
    names(&plain.iter().collect::<Vec<_>>())
}

/// The last components that the positive globs of `rg` allow: of `src/**/*.{rs,toml}` it is `*.rs`
/// and `*.toml`.
fn last_components(globs: &[&Word]) -> Vec<String> {
    let mut names = Vec::new();
    for glob in globs {
        let Some(text) = glob.as_literal() else {
            return Vec::new();
        };
        let Some(alternatives) = alternatives(text) else {
            return Vec::new();
        };
        for text in alternatives {
            match text.rsplit('/').next() {
                Some(name) if !name.is_empty() && name != "**" => names.push(name.to_owned()),
                _ => return Vec::new(),
            }
        }
    }
    names
}

/// A glob with one group of braces as the globs it stands for; `None` when there are more.
fn alternatives(text: &str) -> Option<Vec<String>> {
    let Some((head, rest)) = text.split_once('{') else {
        return Some(vec![text.to_owned()]);
    };
    let (inner, tail) = rest.split_once('}')?;
    if inner.contains(['{', '\\', '[']) || tail.contains(['{', '}']) {
        return None;
    }
    Some(
        inner
            .split(',')
            .map(|choice| format!("{head}{choice}{tail}"))
            .collect(),
    )
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
    (
        "cpp",
        &[
            "*.[ChH]",
            "*.[ChH].in",
            "*.[ch]pp",
            "*.[ch]pp.in",
            "*.[ch]xx",
            "*.[ch]xx.in",
            "*.cc",
            "*.cc.in",
            "*.hh",
            "*.hh.in",
            "*.inl",
        ],
    ),
    ("cs", &["*.cs"]),
    ("csharp", &["*.cs"]),
    (
        "ruby",
        &[
            "config.ru",
            "Gemfile",
            ".irbrc",
            "Rakefile",
            "*.gemspec",
            "*.rb",
            "*.rbw",
        ],
    ),
    (
        "php",
        &[
            "*.php", "*.php3", "*.php4", "*.php5", "*.php7", "*.php8", "*.pht", "*.phtml",
        ],
    ),
    ("lua", &["*.lua"]),
    ("sql", &["*.sql", "*.psql"]),
    ("toml", &["*.toml", "Cargo.lock"]),
    ("json", &["*.json", "composer.lock", "*.sarif"]),
    ("yaml", &["*.yaml", "*.yml"]),
    ("txt", &["*.txt"]),
    ("protobuf", &["*.proto"]),
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
    if scanned.has("--files") {
        // Names only.
        judgement.walks = false;
        for path in judgement.paths.iter_mut().filter(|path| path.recursive) {
            path.kind = AccessKind::List;
        }
    }
    judgement.walk.follows_links = scanned.has("-L");
    let unrestricted = scanned
        .flags
        .iter()
        .filter(|used| used.flag.names.iter().any(|name| name == "-u"))
        .count();
    let (negated, globs): (Vec<&Word>, Vec<&Word>) = scanned
        .values("-g")
        .chain(scanned.values("--iglob"))
        .partition(|glob| glob.literal_prefix().starts_with('!'));
    let types: Vec<&Word> = scanned.values("-t").collect();
    if globs.is_empty() && types.is_empty() {
        judgement.walk.skips_hidden = unrestricted < 2 && !scanned.has("--hidden");
    }
    if globs.is_empty() {
        for glob in negated {
            leave_out(glob, judgement);
        }
    }
    let widens = ["--type-add", "--iglob", "--glob-case-insensitive"];
    if widens.iter().any(|flag| scanned.has(flag)) {
        return;
    }
    if !globs.is_empty() {
        judgement.walk.only_names = last_components(&globs);
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

/// `-g '!target'`, `-g '!**/target/**'`, `-g '!*.lock'`. Of a pattern with more directories in it
/// nothing is claimed.
fn leave_out(glob: &Word, judgement: &mut Judgement) {
    let Some(name) = glob.as_literal().and_then(|text| text.strip_prefix('!')) else {
        return;
    };
    let name = name.strip_prefix("**/").unwrap_or(name);
    let inside = name.strip_suffix("/**").or_else(|| name.strip_suffix('/'));
    let bare = inside.unwrap_or(name);
    // A slash in front of the name anchors it to where the search starts.
    if bare.is_empty() || bare.contains('/') || (name.ends_with("/**") && !glob_is_deep(glob)) {
        return;
    }
    judgement.walk.skips_directories.push(bare.to_owned());
    if inside.is_none() {
        judgement.walk.skips_names.push(bare.to_owned());
    }
}

/// The pattern begins with `**/`, so that its name counts at any depth.
fn glob_is_deep(glob: &Word) -> bool {
    glob.literal_prefix().starts_with("!**/")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::command::WalkFilter;

    #[test]
    fn a_filter_leaves_out_hidden_names_and_other_names() {
        let hidden = WalkFilter {
            skips_hidden: true,
            ..WalkFilter::default()
        };
        assert!(hidden.may_open(Path::new("src/main.rs")));
        assert!(!hidden.may_open(Path::new(".env")));
        assert!(!hidden.may_open(Path::new(".aws/credentials")));
        let names = WalkFilter {
            only_names: vec!["*.rs".to_owned(), "a?c*".to_owned()],
            ..WalkFilter::default()
        };
        assert!(names.may_open(Path::new("x/.y.rs")));
        assert!(names.may_open(Path::new("abcd")));
        assert!(!names.may_open(Path::new(".env")));
        assert!(!names.may_open(Path::new("x.rs.pem")));
        let unclear = WalkFilter {
            only_names: vec!["*.{a,b}".to_owned()],
            skips_names: vec!["*.{env,b}".to_owned(), "[.]env".to_owned()],
            ..WalkFilter::default()
        };
        assert!(unclear.may_open(Path::new(".env")));
        let excluding = WalkFilter {
            skips_names: vec!["*.env".to_owned()],
            skips_directories: vec!["secrets".to_owned()],
            ..WalkFilter::default()
        };
        assert!(!excluding.may_open(Path::new("a/.env")));
        assert!(!excluding.may_open(Path::new("a/secrets/b/key.pem")));
        assert!(excluding.may_open(Path::new("a/key.pem")));
        assert!(excluding.may_open(Path::new("secrets")));
    }
}
