//! Other ways to write the same command, and words that say that something is published
//! (`config/words.toml`).
//!
//! What is found here is for deny and ask rules, and for effects that a command has beside being
//! opaque. Nothing becomes known or allowed by it.

use crate::Word;
use crate::command::WordPart;

include!(concat!(env!("OUT_DIR"), "/words.rs"));

/// Forms of one command that are followed.
const MAX_FORMS: usize = 64;
/// Words of a command line behind which another program may begin (`rustup run stable cargo …`).
const MAX_RUNNER_WORDS: usize = 5;
/// Words between a runner and the program that it runs.
const RUNNER_WORDS: &[&str] = &["run", "exec", "dlx", "x", "tool", "--", "npm"];

impl super::Catalogue {
    /// The same command in its other spellings, the program's name first: `npm i x` for `npm install
    /// x`, `docker run x` for `docker container run x`, `cargo publish` for `cargo +nightly publish`.
    #[must_use]
    pub fn other_forms(&self, argv: &[Word]) -> Vec<Vec<Word>> {
        let mut forms = vec![argv.to_vec()];
        let mut next = 0;
        while let Some(form) = forms.get(next).cloned() {
            next += 1;
            for other in one_step(&form) {
                if forms.len() < MAX_FORMS && !forms.contains(&other) {
                    forms.push(other);
                }
            }
        }
        forms.remove(0);
        forms
    }

    /// Letters that are the same flag of a command as `flag`, by their canonical names.
    pub(super) fn same_letters(names: &[&str], flag: &str) -> Vec<&'static str> {
        let line = names.join(" ");
        FLAGS
            .iter()
            .filter(|(command, _)| {
                line.strip_prefix(command)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
            })
            .flat_map(|(_, lines)| lines.iter())
            .filter(|line| line.split(' ').any(|known| known == flag))
            .flat_map(|line| line.split(' '))
            .filter(|other| *other != flag)
            .collect()
    }
}

/// The command, or a program that it runs, makes something public by its words.
pub(super) fn publishes(argv: &[Word]) -> bool {
    if published_by(argv, true) {
        return true;
    }
    let mut behind_runner = true;
    for at in 1..argv.len().min(MAX_RUNNER_WORDS + 1) {
        let word = argv.get(at).and_then(Word::as_literal).unwrap_or_default();
        if published_by(argv.get(at..).unwrap_or_default(), behind_runner) {
            return true;
        }
        behind_runner &= word.starts_with('-') || RUNNER_WORDS.contains(&word);
    }
    false
}

/// `alone`: a program that publishes without any word counts.
fn published_by(argv: &[Word], alone: bool) -> bool {
    let Some(program) = argv.first().and_then(Word::as_literal) else {
        return false;
    };
    let program = program.rsplit('/').next().unwrap_or(program);
    // `npm@latest`
    let program = match program.split_once('@') {
        Some((name, _)) if !name.is_empty() => name,
        _ => program,
    };
    let Ok(at) = PUBLISHES.binary_search_by(|(name, _)| name.cmp(&program)) else {
        return false;
    };
    let args = argv.get(1..).unwrap_or_default();
    let is_given = |wanted: &str| {
        args.iter().any(|word| {
            let text = word.literal_prefix();
            text == wanted
                || text
                    .strip_prefix(wanted)
                    .is_some_and(|rest| wanted.starts_with('-') && rest.starts_with('='))
                || text.rsplit(':').next() == Some(wanted)
        })
    };
    PUBLISHES.get(at).is_some_and(|(_, words)| {
        words.iter().any(|&words| match words.strip_prefix("** ") {
            Some(word) => is_given(word),
            None if words == "*" => alone,
            None if words.starts_with('-') => is_given(words),
            None => behind(args, words.split(' ')).is_some(),
        })
    })
}

/// The forms that one line of the tables gives.
fn one_step(argv: &[Word]) -> Vec<Vec<Word>> {
    let mut found = Vec::new();
    let Some(program) = argv.first().and_then(Word::as_literal) else {
        return found;
    };
    let args = argv.get(1..).unwrap_or_default();
    let span = argv
        .first()
        .map_or(crate::Span { start: 0, end: 0 }, |word| word.span);
    let mut add = |words: &mut dyn Iterator<Item = &str>, rest: Vec<Word>| {
        let mut form: Vec<Word> = words.map(|word| Word::literal(word, span)).collect();
        form.extend(rest);
        found.push(form);
    };
    for (first, others) in SAME {
        let all = || std::iter::once(first).chain(others.iter()).copied();
        for one in all() {
            let mut words = one.split(' ');
            if words.next() != Some(program) {
                continue;
            }
            let Some(rest) = behind(args, words) else {
                continue;
            };
            for other in all().filter(|other| *other != one) {
                add(&mut other.split(' '), rest.clone());
            }
        }
    }
    // `npm publ`
    let shortened = SHORTENED.iter().find(|(name, _)| *name == program);
    if let Some((_, names)) = shortened {
        let given = args.iter().position(|word| {
            word.as_literal()
                .is_some_and(|text| !text.starts_with('-') && !text.is_empty())
        });
        // the first word may be the value of an option in front of it
        for at in given.into_iter().flat_map(|at| [at, at + 1]) {
            let text = args.get(at).and_then(Word::as_literal).unwrap_or_default();
            let mut longer = names.iter().filter(|name| name.starts_with(text));
            if let (Some(name), None) = (longer.next(), longer.next())
                && *name != text
                && !text.is_empty()
                && !is_spelled_out(program, text)
            {
                let mut rest = args.to_vec();
                rest.remove(at);
                add(&mut [program, name].into_iter(), rest);
            }
        }
    }
    let chosen = args.first().map_or("", Word::literal_prefix);
    if matches!(program, "cargo" | "rustc" | "rustdoc") && chosen.starts_with('+') {
        add(
            &mut [program].into_iter(),
            args.get(1..).unwrap_or_default().to_vec(),
        );
    }
    // a subcommand that is a program of its own
    if let Some((parent @ ("git" | "cargo"), sub)) = program.split_once('-')
        && !sub.is_empty()
    {
        add(&mut [parent, sub].into_iter(), args.to_vec());
    }
    // `python3 -m pip install`
    if program.starts_with("python")
        && let Some(at) = args.iter().position(|word| word.as_literal() == Some("-m"))
        && let Some(module) = args.get(at + 1).and_then(Word::as_literal)
        && args
            .iter()
            .take(at)
            .all(|word| word.literal_prefix().starts_with('-'))
    {
        let rest = args.get(at + 2..).unwrap_or_default().to_vec();
        add(&mut [module].into_iter(), rest);
    }
    found
}

/// `add` of npm is a name of its own and short for nothing.
fn is_spelled_out(program: &str, word: &str) -> bool {
    SAME.iter()
        .flat_map(|(first, others)| std::iter::once(first).chain(others.iter()))
        .any(|known| known.split_once(' ') == Some((program, word)))
}

/// What is left of the arguments without these words, when they stand there in this order with
/// nothing but options, each with or without a value, in between.
fn behind<'w>(args: &[Word], words: impl Iterator<Item = &'w str>) -> Option<Vec<Word>> {
    let mut rest = Vec::new();
    let mut at = 0;
    for wanted in words {
        let mut may_be_value = false;
        loop {
            let word = args.get(at)?;
            at += 1;
            let text = word.as_literal();
            if text == Some(wanted) {
                break;
            }
            let is_option = matches!(
                word.parts.first(),
                Some(WordPart::Literal(text)) if text.starts_with('-')
            );
            if !is_option && !may_be_value {
                return None;
            }
            may_be_value = is_option && !text.is_some_and(|text| text.contains('='));
            rest.push(word.clone());
        }
    }
    rest.extend(args.get(at..).unwrap_or_default().iter().cloned());
    Some(rest)
}

#[cfg(test)]
mod tests {
    use super::super::Catalogue;
    use super::*;

    fn words(line: &str) -> Vec<Word> {
        line.split(' ')
            .map(|word| Word::literal(word, crate::Span { start: 0, end: 0 }))
            .collect()
    }

    #[test]
    fn each_spelling_of_a_command_leads_to_the_others() {
        let forms = |line: &str| -> Vec<String> {
            Catalogue::builtin()
                .other_forms(&words(line))
                .iter()
                .map(|form| form.iter().map(Word::display).collect::<Vec<_>>().join(" "))
                .collect()
        };
        for (line, other) in [
            ("npm i x", "npm install x"),
            ("npm install x", "npm add x"),
            ("npm --silent t", "npm test --silent"),
            (
                "npm --prefix x run-script deploy",
                "npm run --prefix x deploy",
            ),
            ("npm publ", "npm publish"),
            ("npm --tag x publ", "npm publish --tag x"),
            ("cargo +nightly b", "cargo build"),
            ("docker container run x", "docker run x"),
            ("docker-compose up", "docker compose up"),
            ("pip3 install x", "pip install x"),
            ("python3 -m pip install x", "pip install x"),
            ("python -m pip install x", "pip3 install x"),
            ("apt-get -y install x", "apt -y install x"),
            ("git-push origin", "git push origin"),
            ("npx cowsay", "npm exec cowsay"),
        ] {
            assert!(
                forms(line).contains(&other.to_owned()),
                "{line}: {:?}",
                forms(line)
            );
        }
        for line in [
            "npm p",
            "npm x",
            "cargo x",
            "xyzzy i",
            "npm run b",
            "npm add x",
            "docker run run",
        ] {
            let wrong = forms(line);
            assert!(
                !wrong.iter().any(|form| form.contains("publish")),
                "{line}: {wrong:?}"
            );
        }
        assert_eq!(forms("git push"), Vec::<String>::new());
    }

    #[test]
    fn words_that_publish_are_seen_and_others_are_not() {
        for line in [
            "twine upload x",
            "poetry --no-interaction publish",
            "npx semantic-release",
            "npx -y np",
            "npx npm@latest publish",
            "rustup run stable cargo publish",
            "uv run twine upload x",
            "docker buildx build --push .",
            "mvn clean deploy",
            "gradle :lib:publish",
            "vercel --prod",
            "jj git push",
            "./gradlew publish",
        ] {
            assert!(publishes(&words(line)), "{line}");
        }
        for line in [
            "twine check x",
            "cargo test publish",
            "npm run build",
            "vercel dev",
            "gradle publishToMavenLocal",
            "xyzzy commit np",
            "docker run x push",
            "jj log push",
            "mvn test",
        ] {
            assert!(!publishes(&words(line)), "{line}");
        }
    }

    #[test]
    fn the_embedded_words_are_those_of_the_file() {
        let text = include_str!("../../../../config/words.toml");
        let file: std::collections::BTreeMap<
            String,
            std::collections::BTreeMap<String, Vec<String>>,
        > = toml::from_str(text).unwrap();
        for (section, embedded) in [
            ("same", SAME),
            ("shortened", SHORTENED),
            ("flags", FLAGS),
            ("publishes", PUBLISHES),
        ] {
            let embedded: std::collections::BTreeMap<String, Vec<String>> = embedded
                .iter()
                .map(|(key, list)| {
                    let list = list.iter().map(|&word| word.to_owned()).collect();
                    ((*key).to_owned(), list)
                })
                .collect();
            assert_eq!(file.get(section), Some(&embedded), "{section}");
        }
    }
}
