//! Matching command lines word by word.

use guardian_facts::{CommandFact, Program, ProgramForm, RootPaths, Word, WordPart};

use super::file::Tail;
use super::glob::{Case, TextGlob};

/// How sure a match is. Allow rules need [`Certainty::Yes`]; deny rules ask where it is
/// [`Certainty::Possible`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Certainty {
    /// It does not match.
    No,
    /// It may match, depending on something unknown.
    Possible,
    /// It matches.
    Yes,
}

impl From<bool> for Certainty {
    fn from(yes: bool) -> Self {
        if yes { Self::Yes } else { Self::No }
    }
}

/// One place of a command pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
enum WordPattern {
    /// One word that is one of these.
    One(Vec<TextGlob>),
    /// Any number of words (`**`).
    AnyWords,
}

/// A compiled `command = […]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CommandPattern {
    program: ProgramPattern,
    words: Vec<WordPattern>,
    tail: Tail,
}

impl CommandPattern {
    /// `words` are alternatives per place, the program first; not empty.
    pub(crate) fn new(words: &[Vec<String>], tail: Tail) -> Self {
        let program = ProgramPattern::new(words.first().map_or(&[][..], Vec::as_slice));
        let words = words
            .iter()
            .skip(1)
            .map(|alternatives| {
                if alternatives.iter().any(|word| word == "**") {
                    WordPattern::AnyWords
                } else {
                    WordPattern::One(
                        alternatives
                            .iter()
                            .map(|word| TextGlob::new(word))
                            .collect(),
                    )
                }
            })
            .collect();
        Self {
            program,
            words,
            tail,
        }
    }

    pub(crate) fn program(&self) -> &ProgramPattern {
        &self.program
    }

    /// It names no word behind the program.
    pub(crate) fn is_only_program(&self) -> bool {
        self.words.is_empty()
    }

    /// For allow rules: the words stand exactly there, every one of them is known.
    pub(crate) fn covers(&self, command: &CommandFact, roots: &RootPaths) -> bool {
        if !self.program.covers(&command.program, roots) {
            return false;
        }
        let args = command.argv.get(1..).unwrap_or(&[]);
        let reached = places(
            &self.words,
            args,
            |pattern, word| {
                word.as_literal()
                    .is_some_and(|text| pattern.iter().any(|one| one.matches(text, Case::Exact)))
                    .into()
            },
            Skip::Nothing,
        );
        reached.iter().enumerate().any(|(used, certainty)| {
            *certainty == Certainty::Yes && self.tail_allows(args.get(used..).unwrap_or(&[]))
        })
    }

    /// No word could be the first one of the pattern: most rules of a program end here.
    fn misses_first_word(&self, args: &[Word]) -> bool {
        match self.words.first() {
            Some(WordPattern::One(first)) => !args
                .iter()
                .any(|word| threatens_word(first, word) != Certainty::No),
            Some(WordPattern::AnyWords) | None => false,
        }
    }

    fn tail_allows(&self, tail: &[Word]) -> bool {
        match self.tail {
            Tail::Any => true,
            Tail::None => tail.is_empty(),
            Tail::Operands => tail
                .iter()
                .all(|word| word.as_literal().is_some_and(|text| !text.starts_with('-'))),
        }
    }

    /// For deny and ask rules: options may stand between the words, unknown words may be anything.
    pub(crate) fn threatens(&self, command: &CommandFact) -> Certainty {
        let program = self.program.threatens(&command.program);
        if program == Certainty::No {
            return Certainty::No;
        }
        // A program that may be several words may bring those of the pattern with it.
        let known = usize::from(!command.argv.first().is_some_and(may_split));
        let args = command.argv.get(known..).unwrap_or(&[]);
        if self.misses_first_word(args) {
            return Certainty::No;
        }
        let reached = places(&self.words, args, threatens_word, Skip::Options);
        let words = reached.iter().copied().max().unwrap_or(Certainty::No);
        let tail = match self.tail {
            Tail::Any => Certainty::Yes,
            Tail::Operands | Tail::None => reached
                .iter()
                .enumerate()
                .filter(|(used, _)| self.tail_allows(args.get(*used..).unwrap_or(&[])))
                .map(|(_, certainty)| *certainty)
                .max()
                .unwrap_or(Certainty::No),
        };
        program.min(words).min(tail)
    }
}

/// The word may become several.
pub(super) fn may_split(word: &Word) -> bool {
    word.parts.iter().any(|part| {
        matches!(
            part,
            WordPart::Unknown {
                may_split: true,
                ..
            }
        )
    })
}

fn threatens_word(pattern: &[TextGlob], word: &Word) -> Certainty {
    match word.as_literal() {
        Some(text) => pattern
            .iter()
            .any(|one| one.matches(text, Case::Exact))
            .into(),
        None => {
            let known = word.literal_prefix();
            let fits = pattern.iter().any(|one| match one {
                TextGlob::Literal(literal) => literal.starts_with(known),
                TextGlob::Wild(_) => true,
            });
            if fits {
                Certainty::Possible
            } else {
                Certainty::No
            }
        }
    }
}

/// May words be passed over between two places of a pattern?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Skip {
    Nothing,
    /// Options, each with or without a value, and words that may vanish.
    Options,
}

/// For each number of words used: how sure it is that all places are matched by then.
fn places(
    pattern: &[WordPattern],
    words: &[Word],
    matches: impl Fn(&[TextGlob], &Word) -> Certainty,
    skip: Skip,
) -> Vec<Certainty> {
    let mut reached = vec![Certainty::No; words.len() + 1];
    reached[0] = Certainty::Yes;
    for place in pattern {
        if skip == Skip::Options {
            pass_over_options(words, &mut reached);
        }
        let mut next = vec![Certainty::No; words.len() + 1];
        match place {
            WordPattern::AnyWords => {
                let mut best = Certainty::No;
                for (used, certainty) in reached.iter().enumerate() {
                    best = best.max(*certainty);
                    next[used] = best;
                }
            }
            WordPattern::One(alternatives) => {
                for (used, word) in words.iter().enumerate() {
                    if reached[used] != Certainty::No {
                        let certainty = reached[used].min(matches(alternatives, word));
                        next[used + 1] = next[used + 1].max(certainty);
                        if skip == Skip::Options && may_split(word) {
                            // It may be the words of the following places too.
                            next[used] = next[used].max(certainty);
                        }
                    }
                }
            }
        }
        reached = next;
    }
    reached
}

fn pass_over_options(words: &[Word], reached: &mut [Certainty]) {
    for used in 0..words.len() {
        if reached[used] == Certainty::No {
            continue;
        }
        let word = &words[used];
        let passable = match word.as_literal() {
            Some(text) if text.starts_with('-') => Certainty::Yes,
            Some(_) => Certainty::No,
            None => Certainty::Possible,
        };
        let certainty = reached[used].min(passable);
        if certainty != Certainty::No {
            reached[used + 1] = reached[used + 1].max(certainty);
            if used + 2 < reached.len() {
                reached[used + 2] = reached[used + 2].max(certainty);
            }
        }
    }
}

/// Alternatives for a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProgramPattern {
    names: Vec<TextGlob>,
    /// Written with a slash: absolute, or relative to the workspace.
    paths: Vec<String>,
}

/// Directories whose programs may be named by their file name alone.
const SYSTEM_PROGRAM_DIRECTORIES: &[&str] = &[
    "/bin",
    "/sbin",
    "/usr/bin",
    "/usr/sbin",
    "/usr/local/bin",
    "/opt/homebrew/bin",
];

/// The program is a bare name or lies in a system program directory, so that its name says what
/// it is.
pub(crate) fn is_known_by_name(program: &Program) -> bool {
    match program.form {
        ProgramForm::Bare => true,
        ProgramForm::Absolute => {
            std::path::Path::new(&program.written)
                .parent()
                .is_some_and(|parent| {
                    SYSTEM_PROGRAM_DIRECTORIES
                        .iter()
                        .any(|directory| parent == std::path::Path::new(directory))
                })
        }
        ProgramForm::Relative | ProgramForm::Unknown | ProgramForm::Function => false,
    }
}

impl ProgramPattern {
    pub(crate) fn new(alternatives: &[String]) -> Self {
        let (paths, names): (Vec<&String>, Vec<&String>) =
            alternatives.iter().partition(|word| word.contains('/'));
        Self {
            names: names
                .into_iter()
                .map(|word| TextGlob::new(if word == "**" { "*" } else { word }))
                .collect(),
            paths: paths.into_iter().cloned().collect(),
        }
    }

    /// The literal names it is indexed by; `None` when it must be tried on every command.
    pub(crate) fn index_names(&self) -> Option<Vec<String>> {
        if !self.paths.is_empty() {
            return None;
        }
        self.names
            .iter()
            .map(|name| match name {
                TextGlob::Literal(text) => Some(text.clone()),
                TextGlob::Wild(_) => None,
            })
            .collect()
    }

    /// For allow rules: bare, or in a system program directory, or exactly the written path.
    pub(crate) fn covers(&self, program: &Program, roots: &RootPaths) -> bool {
        let by_name = is_known_by_name(program)
            && program.name.as_ref().is_some_and(|name| {
                self.names
                    .iter()
                    .any(|glob| glob.matches(name, Case::Exact))
            });
        by_name
            || self
                .paths
                .iter()
                .any(|path| is_program_path(path, program, roots))
    }

    /// For deny and ask rules: by name, however it was written.
    pub(crate) fn threatens(&self, program: &Program) -> Certainty {
        let Some(name) = &program.name else {
            return Certainty::Possible;
        };
        let resolved = program
            .path
            .as_ref()
            .and_then(|path| path.path.file_name())
            .and_then(|name| name.to_str());
        let by_name = self.names.iter().any(|glob| {
            glob.matches(name, Case::Exact)
                || resolved.is_some_and(|name| glob.matches(name, Case::Exact))
        });
        let by_path = self.paths.iter().any(|path| {
            path.rsplit('/').next() == Some(name)
                || path.trim_start_matches("./") == program.written
        });
        (by_name || by_path).into()
    }
}

/// The program is the file that the rule's path names.
fn is_program_path(rule: &str, program: &Program, roots: &RootPaths) -> bool {
    if !matches!(program.form, ProgramForm::Relative | ProgramForm::Absolute) {
        return false;
    }
    let Some(resolved) = &program.path else {
        return false;
    };
    let named = if let Some(rest) = rule.strip_prefix("~/") {
        roots.home.join(rest)
    } else if rule.starts_with('/') {
        rule.into()
    } else if let Some(workspace) = &roots.workspace {
        workspace.join(rule.trim_start_matches("./"))
    } else {
        return false;
    };
    resolved.path == named
}
