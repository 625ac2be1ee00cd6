//! Compound commands and function definitions.

use std::rc::Rc;

use super::{Parse, Parser, words::Mode};
use crate::shell::syntax::{ArgumentNode, CaseArm, Command, CommandKind, List, Piece};

impl Parser<'_> {
    /// The unquoted word at the current position when it could be a reserved word, else empty.
    pub(super) fn peek_plain_word(&self) -> &str {
        let mut length = 0;
        loop {
            match self.peek_at(length) {
                b'a'..=b'z' | b'{' | b'}' | b'!' | b'[' | b']' | b'-' => length += 1,
                0 | b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>' => break,
                b'\\'
                    if self.peek_at(length + 1) == b'\n'
                        && matches!(self.peek_at(length + 2), b' ' | b'\t' | b'\n') =>
                {
                    break;
                }
                _ => return "",
            }
        }
        self.slice(self.pos, self.pos + length)
    }

    fn keyword(&mut self, word: &'static str) -> Parse<()> {
        self.skip_newlines()?;
        if self.peek_plain_word() != word {
            return Err(self.problem(self.pos, "parse-error", format!("expected `{word}`")));
        }
        self.pos += word.len();
        Ok(())
    }

    /// A compound command, if one starts here.
    pub(super) fn compound(&mut self) -> Parse<Option<CommandKind>> {
        let start = self.pos;
        if self.looking_at("((") {
            return self.double_parentheses().map(Some);
        }
        if self.peek() == b'(' {
            return self.subshell().map(Some);
        }
        let word = self.peek_plain_word();
        let length = word.len();
        let kind = match word {
            "{" => {
                self.pos += length;
                let list = self.list()?;
                self.keyword("}")?;
                CommandKind::Group(list)
            }
            "[[" => {
                self.pos += length;
                CommandKind::Test(self.test_items()?)
            }
            "if" => {
                self.pos += length;
                self.conditional()?
            }
            "while" | "until" => {
                let until = word == "until";
                self.pos += length;
                let condition = self.list()?;
                let body = self.do_group()?;
                CommandKind::Loop {
                    until,
                    condition,
                    body,
                }
            }
            "for" | "select" => {
                let select = word == "select";
                self.pos += length;
                self.for_loop(select)?
            }
            "case" => {
                self.pos += length;
                self.case()?
            }
            "function" => {
                self.pos += length;
                self.skip_blanks();
                let word = self.word(Mode::Command)?;
                let Some(name) = word.as_ref().and_then(|word| word.plain()) else {
                    return Err(self.problem(start, "function-name", "an unusual function name"));
                };
                let name = name.to_owned();
                self.skip_blanks();
                if self.peek() == b'(' {
                    self.pos += 1;
                    self.skip_blanks();
                    self.expect(")")?;
                }
                return self.function_body(start, name).map(Some);
            }
            "coproc" => {
                self.pos += length;
                self.coprocess()?
            }
            "then" | "else" | "elif" | "fi" | "do" | "done" | "esac" | "}" => {
                return Err(self.problem(start, "parse-error", format!("unexpected `{word}`")));
            }
            "!" if self.peek_at(1) == b'(' => {
                return Err(self.problem(start, "parse-error", "`!(` in command position"));
            }
            _ => return Ok(None),
        };
        Ok(Some(kind))
    }

    fn subshell(&mut self) -> Parse<CommandKind> {
        self.pos += 1;
        if self.looking_at("\\\n(") {
            return Err(self.problem(self.pos, "line-continuation", "a continued parenthesis"));
        }
        let list = self.list()?;
        self.expect(")")?;
        Ok(CommandKind::Subshell(list))
    }

    fn double_parentheses(&mut self) -> Parse<CommandKind> {
        let marks = self.marks();
        self.pos += 2;
        match self.arithmetic_to_double_close() {
            Ok(Some(pieces)) => Ok(CommandKind::Arithmetic(pieces)),
            Ok(None) => {
                self.retry(marks)?;
                self.subshell()
            }
            Err(problem) => Err(problem),
        }
    }

    fn conditional(&mut self) -> Parse<CommandKind> {
        let mut clauses = Vec::new();
        loop {
            let condition = self.list()?;
            self.keyword("then")?;
            clauses.push((condition, self.list()?));
            self.skip_newlines()?;
            match self.peek_plain_word() {
                "elif" => self.pos += 4,
                "else" => {
                    self.pos += 4;
                    let otherwise = Some(self.list()?);
                    self.keyword("fi")?;
                    return Ok(CommandKind::If { clauses, otherwise });
                }
                _ => {
                    self.keyword("fi")?;
                    return Ok(CommandKind::If {
                        clauses,
                        otherwise: None,
                    });
                }
            }
        }
    }

    fn do_group(&mut self) -> Parse<List> {
        self.keyword("do")?;
        let body = self.list()?;
        self.keyword("done")?;
        Ok(body)
    }

    fn for_loop(&mut self, select: bool) -> Parse<CommandKind> {
        let start = self.pos;
        self.skip_blanks();
        if self.looking_at("((") && !select {
            self.pos += 2;
            let parts = self.arithmetic_three()?;
            self.skip_blanks();
            if self.peek() == b';' {
                self.pos += 1;
            }
            let body = self.do_group()?;
            return Ok(CommandKind::ArithmeticFor { parts, body });
        }
        let length = self.name_length();
        if length == 0 {
            return Err(self.problem(start, "parse-error", "a loop without a variable"));
        }
        let variable = self.slice(self.pos, self.pos + length).to_owned();
        self.pos += length;
        if !matches!(self.peek(), b' ' | b'\t' | b'\n' | b';') {
            return Err(self.problem(start, "parse-error", "an unusual loop variable"));
        }
        self.skip_newlines()?;
        let mut words = None;
        if self.peek_plain_word() == "in" {
            self.pos += 2;
            let mut list = Vec::new();
            loop {
                self.skip_blanks();
                match self.word(Mode::Command)? {
                    Some(word) => list.push(word),
                    None => break,
                }
            }
            words = Some(list);
            match self.peek() {
                b';' => self.pos += 1,
                b'\n' => self.newline()?,
                _ => return Err(self.problem(self.pos, "parse-error", "expected `;` or newline")),
            }
        } else if self.peek() == b';' {
            self.pos += 1;
        }
        let body = self.do_group()?;
        Ok(CommandKind::For {
            variable,
            words,
            body,
            select,
        })
    }

    fn case(&mut self) -> Parse<CommandKind> {
        self.skip_blanks();
        let Some(word) = self.word(Mode::Command)? else {
            return Err(self.problem(self.pos, "parse-error", "a case without a word"));
        };
        self.keyword("in")?;
        let mut arms = Vec::new();
        loop {
            self.skip_newlines()?;
            if self.peek_plain_word() == "esac" {
                self.pos += 4;
                return Ok(CommandKind::Case { word, arms });
            }
            if self.peek() == b'(' {
                self.pos += 1;
            }
            let mut patterns = Vec::new();
            loop {
                self.skip_blanks();
                let Some(pattern) = self.word(Mode::Command)? else {
                    return Err(self.problem(self.pos, "parse-error", "expected a case pattern"));
                };
                patterns.push(pattern);
                self.skip_blanks();
                match self.peek() {
                    b'|' => self.pos += 1,
                    b')' => break,
                    _ => return Err(self.problem(self.pos, "parse-error", "expected `)`")),
                }
            }
            self.pos += 1;
            let body = self.list()?;
            arms.push(CaseArm { patterns, body });
            self.skip_newlines()?;
            if self.looking_at(";;&") {
                self.pos += 3;
            } else if self.looking_at(";;") || self.looking_at(";&") {
                self.pos += 2;
            } else if self.peek_plain_word() != "esac" {
                return Err(self.problem(self.pos, "parse-error", "expected `;;` or `esac`"));
            }
        }
    }

    fn coprocess(&mut self) -> Parse<CommandKind> {
        self.skip_blanks();
        let saved = self.pos;
        let marks = self.marks();
        let mut name = "COPROC".to_owned();
        let length = self.name_length();
        if length > 0 && matches!(self.peek_at(length), b' ' | b'\t') {
            let word = self.slice(saved, saved + length).to_owned();
            self.pos += length;
            self.skip_blanks();
            let compound = matches!(
                self.peek_plain_word(),
                "{" | "[[" | "if" | "while" | "until" | "for" | "select" | "case"
            ) || self.peek() == b'(';
            let reserved = [
                "if", "while", "until", "for", "select", "case", "function", "time",
            ];
            if compound && !reserved.contains(&word.as_str()) {
                name = word;
            } else {
                self.pos = saved;
                self.reset(marks);
            }
        }
        let start = self.pos;
        let body = self.command()?;
        // Its first word might have been a name, so bash still takes the words behind it for
        // assignments: they do not split, no file name is put in, and `~` is home within them.
        if let CommandKind::Simple { words, .. } = &body.kind
            && words.iter().any(has_form_of_assignment)
        {
            return Err(self.problem(start, "coproc", "`coproc` in front of assignments"));
        }
        Ok(CommandKind::Coproc {
            name,
            body: Box::new(body),
        })
    }

    /// The rest of `name () body`, standing at the parenthesis.
    pub(super) fn function_after_name(&mut self, start: usize, name: String) -> Parse<Command> {
        self.pos += 1;
        self.skip_blanks();
        self.expect(")")?;
        let kind = self.function_body(start, name)?;
        Ok(Command {
            kind,
            redirects: Vec::new(),
            span: self.span(start, self.pos),
        })
    }

    fn function_body(&mut self, start: usize, name: String) -> Parse<CommandKind> {
        self.skip_newlines()?;
        let body = self.command()?;
        if matches!(
            body.kind,
            CommandKind::Simple { .. } | CommandKind::Coproc { .. }
        ) {
            return Err(self.problem(start, "parse-error", "a function without a compound body"));
        }
        Ok(CommandKind::Function {
            name,
            body: Rc::new(body),
        })
    }
}

/// Begins like `name=`, `name+=` or `name[`.
fn has_form_of_assignment(word: &ArgumentNode) -> bool {
    let ArgumentNode::Word(word) = word else {
        return true;
    };
    let Some(Piece::Text(text)) = word.pieces.first() else {
        return false;
    };
    let name = text.bytes().take_while(|&byte| Parser::is_name_byte(byte));
    let name = name.count();
    name > 0 && text[name..].starts_with(['=', '+', '['])
}
