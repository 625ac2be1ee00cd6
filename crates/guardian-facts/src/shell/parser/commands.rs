//! Lists, pipelines and simple commands.

use super::{Parse, Parser, words::Mode};
use crate::shell::syntax::{
    ArgumentNode, AssignedNode, AssignmentNode, Command, CommandKind, Connector, ElementNode, List,
    Pipeline, Statement,
};

/// Words that end a list when they stand in command position.
const CLOSING_WORDS: [&str; 8] = ["then", "else", "elif", "fi", "do", "done", "esac", "}"];

/// Builtins whose arguments may be array assignments.
const DECLARING: [&str; 5] = ["declare", "typeset", "local", "export", "readonly"];

impl Parser<'_> {
    /// Statements up to a closing word, `)`, `;;` or the end.
    pub(super) fn list(&mut self) -> Parse<List> {
        self.enter()?;
        let mut list = List::default();
        while let Some(statement) = self.next_statement()? {
            list.statements.push(statement);
        }
        self.leave();
        Ok(list)
    }

    pub(super) fn next_statement(&mut self) -> Parse<Option<Statement>> {
        self.skip_newlines()?;
        if self.at_end() || self.peek() == b')' || self.looking_at(";;") || self.looking_at(";&") {
            return Ok(None);
        }
        if CLOSING_WORDS.contains(&self.peek_plain_word()) {
            return Ok(None);
        }
        let first = self.pipeline()?;
        let mut rest = Vec::new();
        let background = loop {
            self.skip_blanks();
            let connector = if self.looking_at("&&") {
                Connector::And
            } else if self.looking_at("||") {
                Connector::Or
            } else {
                break self.terminator()?;
            };
            self.pos += 2;
            self.skip_newlines()?;
            rest.push((connector, self.pipeline()?));
        };
        let ends_line = self.is_line_end();
        Ok(Some(Statement {
            first,
            rest,
            background,
            ends_line,
        }))
    }

    /// Nothing but blanks and a comment stands between here and a newline, whichever side of it.
    fn is_line_end(&self) -> bool {
        let before = self.pos.checked_sub(1).and_then(|at| self.bytes.get(at));
        let rest = self.bytes.get(self.pos..).unwrap_or_default();
        let next = rest.iter().find(|byte| !matches!(byte, b' ' | b'\t'));
        before == Some(&b'\n') || matches!(next, None | Some(b'\n' | b'#'))
    }

    /// Consumes what ends a statement; true for `&`.
    fn terminator(&mut self) -> Parse<bool> {
        // bash 5.2 prints a substitution and reads it again. It loses what ends a command on the
        // line of a heredoc (`$(cat <<E | tee; echo x` runs `tee echo x`), and one `;` behind its
        // body (`$(cat <<E`, body, `rm a; ls /` runs `rm a ls /`).
        let on_its_line = !self.pending.is_empty() && matches!(self.peek(), b';' | b'&');
        let behind_it = self.heredoc_in_substitution && self.peek() == b';';
        if self.substitutions > 0 && (on_its_line || behind_it) {
            return Err(self.problem(
                self.pos,
                "heredoc",
                "a command follows a heredoc in a substitution",
            ));
        }
        match self.peek() {
            b'&' if self.peek_at(1) != b'>' => {
                self.pos += 1;
                Ok(true)
            }
            b';' if self.looking_at(";;") || self.looking_at(";&") => Ok(false),
            b';' => {
                self.pos += 1;
                Ok(false)
            }
            b'\n' => {
                self.newline()?;
                Ok(false)
            }
            b')' => Ok(false),
            0 if self.at_end() => Ok(false),
            _ => Err(self.problem(self.pos, "parse-error", "unexpected token after a command")),
        }
    }

    fn pipeline(&mut self) -> Parse<Pipeline> {
        let mut negated = false;
        loop {
            self.skip_blanks();
            match self.peek_plain_word() {
                "!" => {
                    self.pos += 1;
                    if self.peek() == b'(' {
                        return Err(self.problem(self.pos, "parse-error", "`!(` is ambiguous"));
                    }
                    negated = !negated;
                }
                "time" => {
                    self.pos += 4;
                    self.skip_blanks();
                    for option in ["-p", "--"] {
                        if self.peek_plain_word() == option {
                            self.pos += 2;
                            self.skip_blanks();
                        }
                    }
                    if self.at_end() || matches!(self.peek(), b'\n' | b';' | b'&' | b'|' | b')') {
                        return Err(self.problem(self.pos, "parse-error", "`time` of nothing"));
                    }
                }
                _ => break,
            }
        }
        let mut stages = vec![self.command()?];
        loop {
            self.skip_blanks();
            if self.peek() != b'|' || self.peek_at(1) == b'|' {
                return Ok(Pipeline { negated, stages });
            }
            self.pos += if self.peek_at(1) == b'&' { 2 } else { 1 };
            self.skip_newlines()?;
            stages.push(self.command()?);
        }
    }

    /// One command with its redirects.
    pub(super) fn command(&mut self) -> Parse<Command> {
        self.enter()?;
        self.skip_blanks();
        let start = self.pos;
        let kind = match self.compound()? {
            Some(kind) => kind,
            None => {
                let command = self.simple(start)?;
                self.leave();
                return Ok(command);
            }
        };
        let mut redirects = Vec::new();
        loop {
            self.skip_blanks();
            match self.redirect()? {
                Some(redirect) => redirects.push(redirect),
                None => break,
            }
        }
        self.leave();
        Ok(Command {
            kind,
            redirects,
            span: self.span(start, self.pos),
        })
    }

    fn simple(&mut self, start: usize) -> Parse<Command> {
        let mut assignments = Vec::new();
        let mut words: Vec<ArgumentNode> = Vec::new();
        let mut redirects = Vec::new();
        let mut end = start;
        let mut declaring = false;
        loop {
            self.skip_blanks();
            if let Some(redirect) = self.redirect()? {
                redirects.push(redirect);
                end = self.pos;
                continue;
            }
            if words.is_empty() {
                if let Some(assignment) = self.assignment()? {
                    assignments.push(assignment);
                    end = self.pos;
                    continue;
                }
            } else if declaring && let Some(assignment) = self.array_argument()? {
                words.push(ArgumentNode::Array(assignment));
                end = self.pos;
                continue;
            }
            let word_start = self.pos;
            let Some(word) = self.word(Mode::Command)? else {
                break;
            };
            if words.is_empty() {
                self.trace.command_starts.push(word_start);
                if let Some(plain) = word.plain() {
                    if self.slice(word_start, self.pos) != plain {
                        return Err(self.problem(
                            word_start,
                            "line-continuation",
                            "a command name is continued on the next line",
                        ));
                    }
                    declaring = DECLARING.contains(&plain);
                    if assignments.is_empty() && redirects.is_empty() && self.at_parentheses() {
                        self.trace.command_starts.pop();
                        return self.function_after_name(start, plain.to_owned());
                    }
                }
            }
            words.push(ArgumentNode::Word(word));
            end = self.pos;
        }
        if words.is_empty() && assignments.is_empty() && redirects.is_empty() {
            return Err(self.problem(self.pos, "parse-error", "expected a command"));
        }
        if self.peek() == b'(' {
            return Err(self.problem(self.pos, "parse-error", "unexpected `(`"));
        }
        Ok(Command {
            kind: CommandKind::Simple { assignments, words },
            redirects,
            span: self.span(start, end),
        })
    }

    fn at_parentheses(&mut self) -> bool {
        let saved = self.pos;
        self.skip_plain_blanks();
        let found = self.peek() == b'(';
        if !found {
            self.pos = saved;
        }
        found
    }

    pub(super) fn skip_plain_blanks(&mut self) {
        while matches!(self.peek(), b' ' | b'\t') {
            self.pos += 1;
        }
    }

    /// `name=…`, `name+=…`, `name[…]=…` at the current position.
    fn assignment(&mut self) -> Parse<Option<AssignmentNode>> {
        let start = self.pos;
        let length = self.name_length();
        if length == 0 {
            return Ok(None);
        }
        let name = self.slice(start, start + length).to_owned();
        self.pos += length;
        let mut subscript = None;
        if self.peek() == b'[' {
            self.pos += 1;
            let pieces = self.subscript()?;
            if self.peek() != b'=' && !self.looking_at("+=") {
                return Err(self.problem(start, "subscript", "a subscript outside an assignment"));
            }
            subscript = Some(pieces);
        }
        let append = self.looking_at("+=");
        if !append && self.peek() != b'=' {
            self.pos = start;
            return Ok(None);
        }
        self.pos += if append { 2 } else { 1 };
        let value = self.assigned(subscript.is_some())?;
        let span = self.span(start, self.pos);
        Ok(Some(AssignmentNode {
            name,
            subscript,
            append,
            value,
            span,
        }))
    }

    /// `name=(…)` among the arguments of a declaring builtin.
    fn array_argument(&mut self) -> Parse<Option<AssignmentNode>> {
        let length = self.name_length();
        if length == 0 {
            return Ok(None);
        }
        let equals = if self.peek_at(length) == b'+' {
            length + 1
        } else {
            length
        };
        if self.peek_at(equals) != b'=' || self.peek_at(equals + 1) != b'(' {
            return Ok(None);
        }
        self.assignment()
    }

    fn assigned(&mut self, subscripted: bool) -> Parse<AssignedNode> {
        if self.peek() == b'(' && !subscripted {
            self.pos += 1;
            return self.array().map(AssignedNode::Array);
        }
        let start = self.pos;
        let word = self.word(Mode::Assigned)?;
        let empty = super::WordNode {
            pieces: Vec::new(),
            span: self.span(start, start),
            braces: None,
        };
        Ok(AssignedNode::Scalar(word.unwrap_or(empty)))
    }

    fn array(&mut self) -> Parse<Vec<ElementNode>> {
        self.enter()?;
        let mut elements = Vec::new();
        loop {
            self.skip_newlines()?;
            if self.peek() == b')' {
                self.pos += 1;
                break;
            }
            let start = self.pos;
            let mut subscript = None;
            if self.peek() == b'[' {
                self.pos += 1;
                let pieces = self.subscript()?;
                if self.peek() == b'=' {
                    self.pos += 1;
                    subscript = Some(pieces);
                } else {
                    return Err(self.problem(start, "subscript", "an unusual array element"));
                }
            }
            let mode = if subscript.is_some() {
                Mode::Assigned
            } else {
                Mode::Command
            };
            let word = match self.word(mode)? {
                Some(word) => word,
                None if subscript.is_some() => super::WordNode {
                    pieces: Vec::new(),
                    span: self.span(start, start),
                    braces: None,
                },
                None => return Err(self.problem(start, "parse-error", "an array is not closed")),
            };
            elements.push(ElementNode {
                subscript,
                value: word,
            });
        }
        self.leave();
        Ok(elements)
    }
}
