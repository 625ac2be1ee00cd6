//! Reading a command line with the flag table of an [`Entry`]: which words are flags, values and
//! operands. What the table does not list, or what could turn out to be a flag, becomes a problem.

use super::schema::{Entry, Flag, Role, Style};
use crate::command::{Word, WordPart};

/// A flag that was given.
#[derive(Debug)]
pub(crate) struct FlagUse<'e> {
    /// Its definition.
    pub(crate) flag: &'e Flag,
    /// Its values, in order.
    pub(crate) values: Vec<Word>,
}

/// A command line, taken apart.
#[derive(Debug, Default)]
pub(crate) struct Scanned<'e> {
    /// Flags in order.
    pub(crate) flags: Vec<FlagUse<'e>>,
    /// Operands in order.
    pub(crate) operands: Vec<Word>,
    /// Number of operands in front of a `--`.
    pub(crate) before_dashes: Option<usize>,
    /// Index in the arguments of the first operand.
    pub(crate) first_operand: Option<usize>,
    /// Indices of the arguments that are values of the flag in front of them.
    pub(crate) taken: Vec<usize>,
    /// Why the command is opaque.
    pub(crate) problems: Vec<(&'static str, String)>,
}

impl Scanned<'_> {
    /// The flag with this spelling was given.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.flags
            .iter()
            .any(|used| used.flag.names.iter().any(|known| known == name))
    }

    /// The first value of every use of the flag with this spelling.
    pub(crate) fn values<'s>(&'s self, name: &'s str) -> impl Iterator<Item = &'s Word> {
        self.flags
            .iter()
            .filter(move |used| used.flag.names.iter().any(|known| known == name))
            .filter_map(|used| used.values.first())
    }
}

/// What is left of a word behind its first `length` bytes, which must be literal.
pub(crate) fn behind(word: &Word, length: usize) -> Word {
    let mut parts = word.parts.clone();
    if let Some(WordPart::Literal(text)) = parts.first_mut() {
        let rest = text.get(length..).unwrap_or_default().to_owned();
        if rest.is_empty() {
            parts.remove(0);
        } else {
            *text = rest;
        }
    }
    Word {
        parts,
        span: word.span,
    }
}

/// A word that the shell may turn into several, or into none.
pub(crate) fn is_uncertain(word: &Word) -> bool {
    word.may_split()
}

struct Scanner<'e, 'a> {
    entry: &'e Entry,
    args: &'a [Word],
    next: usize,
    scanned: Scanned<'e>,
}

/// Takes the arguments apart. Stops at the first operand when `to_first_operand` is set: the rest
/// is a subcommand's or a nested command's business.
pub(crate) fn scan<'e>(entry: &'e Entry, args: &[Word], to_first_operand: bool) -> Scanned<'e> {
    let mut scanner = Scanner {
        entry,
        args,
        next: 0,
        scanned: Scanned::default(),
    };
    let stops = to_first_operand || entry.style == Style::Posix;
    while let Some(word) = args.get(scanner.next) {
        let at = scanner.next;
        scanner.next += 1;
        if entry.style == Style::Words {
            scanner.operand(at, word);
            continue;
        }
        let prefix = word.literal_prefix();
        let whole = word.as_literal();
        if whole == Some("--") {
            scanner.scanned.before_dashes = Some(scanner.scanned.operands.len());
            scanner.rest_is_operands();
            break;
        }
        let dashed = prefix.starts_with('-') && whole != Some("-");
        let plus = prefix.starts_with('+') && entry.flags.iter().any(has_plus);
        if !dashed && !plus {
            if prefix.is_empty() && word.may_begin_with_dash() && !scanner.is_no_flag(word) {
                scanner.could_be_flag(word);
            }
            if stops {
                scanner.next = at;
                scanner.rest_is_operands();
                break;
            }
            scanner.operand(at, word);
            continue;
        }
        if entry.style == Style::SingleDash || plus {
            scanner.single_dash(word);
        } else if prefix.starts_with("--") && prefix.len() > 2 {
            scanner.long(word);
        } else if prefix.starts_with("--") {
            scanner.unknown_flag(word);
        } else {
            scanner.cluster(word);
        }
    }
    scanner.scanned
}

fn has_plus(flag: &Flag) -> bool {
    flag.names.iter().any(|name| name.starts_with('+'))
}

impl<'e> Scanner<'e, '_> {
    fn operand(&mut self, at: usize, word: &Word) {
        self.scanned.first_operand.get_or_insert(at);
        self.scanned.operands.push(word.clone());
    }

    fn rest_is_operands(&mut self) {
        while let Some(word) = self.args.get(self.next) {
            self.operand(self.next, word);
            self.next += 1;
        }
    }

    fn problem(&mut self, code: &'static str, reason: String) {
        self.scanned.problems.push((code, reason));
    }

    fn unknown_flag(&mut self, word: &Word) {
        if word.as_literal().is_none() {
            self.could_be_flag(word);
            return;
        }
        self.problem(
            "unknown-flag",
            format!(
                "the catalogue does not list `{}` of `{}`",
                word.display(),
                self.entry.name
            ),
        );
    }

    /// A word whose beginning is not known could be any flag of the command. That matters when
    /// one of them does more than read.
    fn could_be_flag(&mut self, word: &Word) {
        if self.entry.flags_can_harm() {
            self.problem(
                "word-may-be-flag",
                format!(
                    "`{}` could turn into a flag of `{}`",
                    word.display(),
                    self.entry.name
                ),
            );
        }
    }

    /// A word that begins with a negative number is an error of a program without such flags.
    fn is_no_flag(&self, word: &Word) -> bool {
        let begins_with_integer = matches!(
            word.parts.first(),
            Some(WordPart::Unknown { integer: true, .. })
        );
        let is_digit_flag = |name: &String| {
            name.trim_start_matches(['-', '+'])
                .starts_with(|first: char| first == '#' || first.is_ascii_digit())
        };
        begins_with_integer
            && !self
                .entry
                .flags
                .iter()
                .any(|flag| flag.names.iter().any(is_digit_flag))
    }

    /// Takes `count` values from the words that follow.
    fn take_values(&mut self, flag: &'e Flag, mut values: Vec<Word>) {
        while values.len() < flag.values.len() {
            let Some(word) = self.args.get(self.next) else {
                break;
            };
            if is_uncertain(word) {
                // It may vanish, so that the next word becomes the value, or bring more words.
                self.could_be_flag(word);
                if flag.values.iter().any(|role| !role.only_reads()) {
                    self.problem(
                        "uncertain-value",
                        format!("`{}` may become several words or none", word.display()),
                    );
                }
                self.operand(self.next, &word.clone());
            }
            values.push(word.clone());
            self.scanned.taken.push(self.next);
            self.next += 1;
        }
        self.scanned.flags.push(FlagUse { flag, values });
    }

    fn long(&mut self, word: &Word) {
        let prefix = word.literal_prefix();
        let equals = prefix.find('=');
        if equals.is_none() && word.as_literal().is_none() {
            self.could_be_flag(word);
            return;
        }
        let name = equals.and_then(|at| prefix.get(..at)).unwrap_or(prefix);
        let Some(flag) = self.find_long(name) else {
            self.unknown_flag(word);
            return;
        };
        match equals {
            Some(at) if !flag.values.is_empty() => {
                self.take_values(flag, vec![behind(word, at + 1)]);
            }
            // A value given to a flag that takes none is an error of the program.
            Some(_) => self.unknown_flag(word),
            None if flag.optional => {
                self.scanned.flags.push(FlagUse {
                    flag,
                    values: Vec::new(),
                });
            }
            None => self.take_values(flag, Vec::new()),
        }
    }

    fn find_long(&self, name: &str) -> Option<&'e Flag> {
        if let Some(flag) = self.entry.flag(name) {
            return Some(flag);
        }
        if !matches!(self.entry.style, Style::Gnu | Style::Posix) {
            return None;
        }
        let mut found = self
            .entry
            .flags
            .iter()
            .filter(|flag| flag.names.iter().any(|known| known.starts_with(name)));
        match (found.next(), found.next()) {
            (Some(flag), None) => Some(flag),
            _ => None,
        }
    }

    fn cluster(&mut self, word: &Word) {
        let prefix = word.literal_prefix();
        let known = word.as_literal().is_some();
        if prefix.len() == 1 {
            self.could_be_flag(word);
            return;
        }
        // `-5`, `-10`: a number as a flag of its own.
        let digits = prefix.get(1..).unwrap_or_default();
        if known
            && !digits.is_empty()
            && digits.bytes().all(|byte| byte.is_ascii_digit())
            && let Some(flag) = self.entry.flag("-#")
        {
            self.scanned.flags.push(FlagUse {
                flag,
                values: Vec::new(),
            });
            return;
        }
        let mut rest = prefix.char_indices().skip(1).peekable();
        while let Some((at, letter)) = rest.next() {
            let flag = self.entry.flag(&format!("-{letter}")).or_else(|| {
                if letter.is_ascii_digit() {
                    self.entry.flag("-#")
                } else {
                    None
                }
            });
            let Some(flag) = flag else {
                self.unknown_flag(word);
                if known {
                    return;
                }
                self.problem(
                    "unknown-flag",
                    format!("`{}` holds a flag that is not listed", word.display()),
                );
                return;
            };
            if flag.values.is_empty() {
                self.scanned.flags.push(FlagUse {
                    flag,
                    values: Vec::new(),
                });
                continue;
            }
            let end = at + letter.len_utf8();
            if rest.peek().is_some() || !known {
                self.take_values(flag, vec![behind(word, end)]);
            } else if flag.optional {
                self.scanned.flags.push(FlagUse {
                    flag,
                    values: Vec::new(),
                });
            } else {
                self.take_values(flag, Vec::new());
            }
            return;
        }
        if !known {
            // `-n$X`: more flags may follow in the same word.
            self.could_be_flag(word);
        }
    }

    fn single_dash(&mut self, word: &Word) {
        let prefix = word.literal_prefix();
        let equals = prefix.find('=');
        if equals.is_none() && word.as_literal().is_none() {
            self.could_be_flag(word);
            return;
        }
        let name = equals.and_then(|at| prefix.get(..at)).unwrap_or(prefix);
        let single = name
            .strip_prefix('-')
            .filter(|rest| rest.starts_with('-'))
            .unwrap_or(name);
        let found = self
            .entry
            .flag(name)
            .or_else(|| self.entry.flag(single))
            .or_else(|| self.entry.flag(numbered(name)));
        let Some(flag) = found else {
            // `xxd -c16`: a number stands right behind its letter.
            let letter = name.get(..2).and_then(|letter| self.entry.flag(letter));
            let digits = name.get(2..).unwrap_or_default();
            let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            match letter.filter(|flag| flag.values == [Role::Value] && !flag.optional) {
                Some(flag) if is_number && equals.is_none() => {
                    self.take_values(flag, vec![behind(word, 2)]);
                }
                _ => self.unknown_flag(word),
            }
            return;
        };
        match equals {
            Some(at) => self.take_values(flag, vec![behind(word, at + 1)]),
            None if flag.optional => {
                self.scanned.flags.push(FlagUse {
                    flag,
                    values: Vec::new(),
                });
            }
            None => self.take_values(flag, Vec::new()),
        }
    }
}

/// The spelling in the tables of a number as a flag: `-5` is `-#`, `+5` is `+#`.
fn numbered(name: &str) -> &'static str {
    let is_number =
        |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    match (name.strip_prefix('-'), name.strip_prefix('+')) {
        (Some(digits), _) if is_number(digits) => "-#",
        (_, Some(digits)) if is_number(digits) => "+#",
        _ => "",
    }
}
