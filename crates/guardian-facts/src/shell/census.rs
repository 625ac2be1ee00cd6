//! The census: an account of every place where a shell text could start live code.
//!
//! It looks at the bytes alone. Each `` ` ``, `$(`, `${`, `$[`, `<(` and `>(` must be one that the
//! parser descended into, or lie in a stretch that it took as quoted, escaped, commented or
//! delegated to a parser of its own (whose text has its own census).

use super::parser::{Origin, Problem, Trace};
use crate::Span;

/// The first opener that nobody accounts for.
pub(super) fn check(text: &str, trace: &Trace, origin: Origin) -> Option<Problem> {
    let mut inert = trace.inert.clone();
    inert.sort_unstable();
    let mut live = trace.live.clone();
    live.sort_unstable();
    let bytes = text.as_bytes();
    let mut covered_to = 0;
    let mut next_inert = 0;
    for (position, pair) in bytes.windows(2).enumerate() {
        super::work::count();
        let opener = matches!(pair, [b'$', b'(' | b'{' | b'['] | [b'<' | b'>', b'(']);
        if !opener && pair.first() != Some(&b'`') {
            continue;
        }
        while let Some(&(start, end)) = inert.get(next_inert)
            && start <= position
        {
            covered_to = covered_to.max(end);
            next_inert += 1;
        }
        if position < covered_to || live.binary_search(&position).is_ok() {
            continue;
        }
        let span = match origin {
            Origin::Offset(offset) => Span {
                start: position + offset,
                end: position + offset + pair.len(),
            },
            Origin::Fixed(span) => span,
        };
        return Some(Problem {
            span,
            code: "unaccounted",
            reason: "a substitution that the reading does not account for".to_owned(),
        });
    }
    None
}
