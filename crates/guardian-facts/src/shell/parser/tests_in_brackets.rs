//! The inside of `[[ … ]]`.

use super::{Parse, Parser, words::Mode};
use crate::shell::syntax::TestItem;

impl Parser<'_> {
    pub(super) fn test_items(&mut self) -> Parse<Vec<TestItem>> {
        let start = self.pos;
        let mut items = Vec::new();
        loop {
            self.skip_test_blanks(start)?;
            let operators = ["&&", "||", "(", ")", "<", ">"];
            if let Some(operator) = operators.into_iter().find(|text| self.looking_at(text)) {
                self.pos += operator.len();
                items.push(TestItem::Operator);
                continue;
            }
            match self.peek_plain_word() {
                "]]" => {
                    self.pos += 2;
                    return Ok(items);
                }
                "!" => {
                    self.pos += 1;
                    items.push(TestItem::Operator);
                    continue;
                }
                _ => {}
            }
            let regex = matches!(items.last(), Some(TestItem::Word(word))
                if word.plain() == Some("=~") && items.len() > 1);
            let mode = if regex { Mode::Regex } else { Mode::Assigned };
            match self.word(mode)? {
                Some(word) => items.push(TestItem::Word(word)),
                None => return Err(self.problem(start, "parse-error", "`[[` is not understood")),
            }
        }
    }

    fn skip_test_blanks(&mut self, start: usize) -> Parse<()> {
        loop {
            match self.peek() {
                b' ' | b'\t' => self.pos += 1,
                b'\n' => self.newline()?,
                b'\\' if self.peek_at(1) == b'\n' => self.pos += 2,
                b'#' => return Err(self.problem(start, "parse-error", "a comment in `[[`")),
                0 if self.at_end() => {
                    return Err(self.problem(start, "parse-error", "`[[` is not closed"));
                }
                _ => return Ok(()),
            }
        }
    }
}
