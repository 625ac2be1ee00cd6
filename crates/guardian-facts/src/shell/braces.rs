//! Brace expansion on source text, as bash does it: before anything else, on the raw word.

use super::bounds;

/// The words that a raw word expands to. `Ok(None)` when it holds no brace expansion;
/// `Err` when it was not understood or makes too many words.
pub(super) fn expand(raw: &str) -> Result<Option<Vec<String>>, ()> {
    if raw.len() > 4096 {
        return Err(());
    }
    let mut budget = bounds::MAX_BRACE_WORDS;
    match first_expression(raw)? {
        None => Ok(None),
        Some(_) => words(raw, &mut budget, 0).map(Some),
    }
}

/// A brace expression: its place and its alternatives.
struct Expression {
    start: usize,
    end: usize,
    alternatives: Vec<String>,
    /// Made by a comma list, whose members may hold further expressions.
    list: bool,
}

fn words(raw: &str, budget: &mut usize, depth: usize) -> Result<Vec<String>, ()> {
    if depth > 16 {
        return Err(());
    }
    let Some(expression) = first_expression(raw)? else {
        *budget = budget.checked_sub(1).ok_or(())?;
        return Ok(vec![raw.to_owned()]);
    };
    let before = raw.get(..expression.start).unwrap_or("");
    let after = words(raw.get(expression.end..).unwrap_or(""), budget, depth + 1)?;
    let mut result = Vec::new();
    for alternative in expression.alternatives {
        let inner = if expression.list {
            words(&alternative, budget, depth + 1)?
        } else {
            vec![alternative]
        };
        for middle in inner {
            for tail in &after {
                *budget = budget.checked_sub(1).ok_or(())?;
                result.push(format!("{before}{middle}{tail}"));
            }
        }
    }
    Ok(result)
}

/// Length of what is skipped as a unit at `bytes[at..]`: quotes, escapes, substitutions.
fn skipped(bytes: &[u8], at: usize) -> Result<usize, ()> {
    let until = |open: usize, close: u8, escapes: bool| -> Result<usize, ()> {
        let mut position = open;
        loop {
            match bytes.get(position) {
                None => return Err(()),
                Some(b'\\') if escapes => position += 2,
                Some(byte) if *byte == close => return Ok(position + 1 - at),
                // Live code inside quotes is not looked into here.
                Some(b'`') if close == b'"' => return Err(()),
                Some(b'$') if close == b'"' => match bytes.get(position + 1) {
                    Some(b'(' | b'[') => return Err(()),
                    Some(b'{') => position += balanced(bytes, position, position + 1)?,
                    _ => position += 1,
                },
                Some(_) => position += 1,
            }
        }
    };
    match (bytes.get(at), bytes.get(at + 1)) {
        (Some(b'\\'), _) => Ok(2),
        (Some(b'\''), _) => until(at + 1, b'\'', false),
        (Some(b'"'), _) => until(at + 1, b'"', true),
        (Some(b'$'), Some(b'\'')) => until(at + 2, b'\'', true),
        (Some(b'$'), Some(b'{')) => balanced(bytes, at, at + 1),
        (Some(b'$' | b'<' | b'>'), Some(b'(')) => balanced(bytes, at, at + 1),
        (Some(b'`'), _) => until(at + 1, b'`', true),
        _ => Ok(0),
    }
}

/// A simple bracketed stretch; anything quoted or nested inside is not understood.
fn balanced(bytes: &[u8], at: usize, open: usize) -> Result<usize, ()> {
    let close = if bytes.get(open) == Some(&b'{') {
        b'}'
    } else {
        b')'
    };
    let mut position = open + 1;
    loop {
        match bytes.get(position) {
            None | Some(b'\'' | b'"' | b'\\' | b'`' | b'(' | b'{' | b'$') => return Err(()),
            Some(byte) if *byte == close => return Ok(position + 1 - at),
            Some(_) => position += 1,
        }
    }
}

fn first_expression(raw: &str) -> Result<Option<Expression>, ()> {
    let bytes = raw.as_bytes();
    let mut start = 0;
    while start < bytes.len() {
        let skip = skipped(bytes, start)?;
        if skip > 0 {
            start += skip;
            continue;
        }
        // `{}` in front is no brace, whatever follows: `{}{a},b}` is `{}a}` and `{}b`.
        let is_pair_in_front = start == 0 && bytes.get(1) == Some(&b'}');
        if bytes.get(start) == Some(&b'{')
            && !is_pair_in_front
            && let Some(expression) = expression_at(raw, start)?
        {
            return Ok(Some(expression));
        }
        start += 1;
    }
    Ok(None)
}

fn expression_at(raw: &str, start: usize) -> Result<Option<Expression>, ()> {
    let bytes = raw.as_bytes();
    let mut depth = 0usize;
    let mut commas = Vec::new();
    let mut dots = false;
    let mut position = start + 1;
    loop {
        let skip = skipped(bytes, position)?;
        if skip > 0 {
            position += skip;
            continue;
        }
        match bytes.get(position) {
            None => return Ok(None),
            Some(b'{') => depth += 1,
            // bash closes only where a comma or `..` was seen before.
            Some(b'}') if depth == 0 && (!commas.is_empty() || dots) => break,
            Some(b'}') if depth == 0 => {}
            Some(b'}') => depth -= 1,
            Some(b',') if depth == 0 => commas.push(position),
            Some(b'.')
                if depth == 0
                    && bytes.get(position + 1) == Some(&b'.')
                    && bytes.get(position + 2) != Some(&b'}') =>
            {
                dots = true;
            }
            Some(_) => {}
        }
        position += 1;
    }
    let end = position + 1;
    if commas.is_empty() {
        let inner = raw.get(start + 1..position).unwrap_or("");
        if inner.contains(['{', ',']) {
            return Err(());
        }
        if inner.contains("..") {
            return Ok(sequence(inner)?.map(|alternatives| Expression {
                start,
                end,
                alternatives,
                list: false,
            }));
        }
        return Ok(None);
    }
    let mut alternatives = Vec::new();
    let mut from = start + 1;
    for comma in commas.into_iter().chain([position]) {
        alternatives.push(raw.get(from..comma).unwrap_or("").to_owned());
        from = comma + 1;
    }
    Ok(Some(Expression {
        start,
        end,
        alternatives,
        list: true,
    }))
}

/// `1..3`, `a..e`, `01..10..2`.
fn sequence(inner: &str) -> Result<Option<Vec<String>>, ()> {
    let parts: Vec<&str> = inner.split("..").collect();
    let (first, last, step) = match parts.as_slice() {
        [first, last] => (*first, *last, 0),
        [first, last, step] => match step.parse::<i64>() {
            Ok(step) => (*first, *last, step),
            Err(_) => {
                return if step.contains(['$', '`']) {
                    Err(())
                } else {
                    Ok(None)
                };
            }
        },
        _ => {
            return if inner.contains(['$', '`']) {
                Err(())
            } else {
                Ok(None)
            };
        }
    };
    if inner.contains(['$', '`', '\'', '"', '\\', '+']) {
        return Err(());
    }
    let (low, high, width, letters) = match (first.parse::<i64>(), last.parse::<i64>()) {
        (Ok(low), Ok(high)) => {
            let padded = [first, last].iter().any(|text| {
                let digits = text.trim_start_matches('-');
                digits.len() > 1 && digits.starts_with('0')
            });
            (
                low,
                high,
                if padded {
                    first.len().max(last.len())
                } else {
                    0
                },
                false,
            )
        }
        _ => match (first.as_bytes(), last.as_bytes()) {
            ([low], [high]) if low.is_ascii_alphabetic() && high.is_ascii_alphabetic() => {
                if low.is_ascii_lowercase() != high.is_ascii_lowercase() {
                    return Err(());
                }
                (i64::from(*low), i64::from(*high), 0, true)
            }
            _ => return Ok(None),
        },
    };
    let step = step.unsigned_abs().max(1);
    if low.abs_diff(high) / step >= bounds::MAX_BRACE_WORDS as u64 {
        return Err(());
    }
    let step = i64::try_from(step).map_err(|_| ())?;
    let mut result = Vec::new();
    let mut value = low;
    loop {
        result.push(match u8::try_from(value) {
            Ok(byte) if letters => char::from(byte).to_string(),
            _ if width > 0 => {
                let sign = if value < 0 { "-" } else { "" };
                let digits = width - sign.len();
                format!("{sign}{:0digits$}", value.unsigned_abs())
            }
            _ => value.to_string(),
        });
        value = if low <= high {
            value + step
        } else {
            value - step
        };
        if (low <= high && value > high) || (low > high && value < high) {
            return Ok(Some(result));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::expand;

    #[track_caller]
    fn check(raw: &str, expected: &[&str]) {
        let words = expand(raw).unwrap().unwrap_or_else(|| vec![raw.to_owned()]);
        assert_eq!(words, expected, "{raw}");
    }

    #[test]
    fn expands_lists_and_sequences_like_bash() {
        check("a{b,c}d", &["abd", "acd"]);
        check("{a,b{c,d}}", &["a", "bc", "bd"]);
        check("{a,b}{1,2}", &["a1", "a2", "b1", "b2"]);
        check("{1..3}", &["1", "2", "3"]);
        check("{3..1}", &["3", "2", "1"]);
        check("{01..03}", &["01", "02", "03"]);
        check("{-1..1}", &["-1", "0", "1"]);
        check("{a..c..2}", &["a", "c"]);
        check("{a}", &["{a}"]);
        check("{1..x}", &["{1..x}"]);
        check("${x}{b,c}", &["${x}b", "${x}c"]);
        check("{\"a,b\",c}", &["\"a,b\"", "c"]);
        check("{a\\,b,c}", &["a\\,b", "c"]);
        check("{}", &["{}"]);
        check("{}{a},b}", &["{}a}", "{}b"]);
        check("x{}{a},b}", &["x}{a}", "xb"]);
        check("{a,b}{}{c},d}", &["a{}c}", "a{}d", "b{}c}", "b{}d"]);
        check("{a},b}", &["a}", "b"]);
        check("{a}{b,c}", &["{a}b", "{a}c"]);
    }

    #[test]
    fn refuses_what_makes_too_many_words() {
        assert!(expand("{1..1000}").is_err());
        assert!(expand("{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}").is_err());
    }
}
