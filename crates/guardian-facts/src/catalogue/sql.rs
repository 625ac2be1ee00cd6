//! SQL one-liners of `psql`, `mysql` and `sqlite3`: statements that only read, that change, and
//! that throw data away; client commands that leave SQL.

use super::scan::Scanned;
use super::schema::Entry;
use crate::Effect;
use crate::command::{Invocation, Judgement, Stdin, Word};

/// Functions without effects outside the result, common to the three databases.
const FUNCTIONS: &[&str] = &[
    "count",
    "sum",
    "min",
    "max",
    "avg",
    "total",
    "length",
    "lower",
    "upper",
    "coalesce",
    "nullif",
    "ifnull",
    "abs",
    "round",
    "ceil",
    "floor",
    "substr",
    "substring",
    "trim",
    "ltrim",
    "rtrim",
    "replace",
    "concat",
    "group_concat",
    "string_agg",
    "array_agg",
    "json_agg",
    "jsonb_agg",
    "json_build_object",
    "jsonb_build_object",
    "json_extract",
    "json_each",
    "date",
    "time",
    "datetime",
    "strftime",
    "julianday",
    "now",
    "current_date",
    "date_trunc",
    "date_part",
    "extract",
    "to_char",
    "to_date",
    "age",
    "cast",
    "typeof",
    "pg_typeof",
    "row_number",
    "rank",
    "dense_rank",
    "lag",
    "lead",
    "over",
    "filter",
    "in",
    "exists",
    "values",
    "and",
    "or",
    "not",
    "as",
    "on",
    "using",
    "where",
    "select",
    "from",
    "distinct",
    "any",
    "all",
    "case",
    "when",
    "then",
    "else",
    "version",
    "random",
    "hex",
    "printf",
    "format",
    "instr",
    "like",
    "glob",
    "unnest",
    "generate_series",
    "pg_size_pretty",
    "pg_total_relation_size",
    "pg_relation_size",
    "pg_database_size",
    "current_database",
    "current_schema",
    "current_user",
    "table_info",
    "index_list",
    "index_info",
    "foreign_key_list",
    "greatest",
    "least",
    "sign",
    "mod",
    "power",
];

/// Reads the SQL of a command line: values of the flags that carry it, operands behind the
/// database, and known standard input.
pub(crate) fn judge(
    entry: &Entry,
    scanned: &Scanned<'_>,
    invocation: &Invocation<'_>,
    judgement: &mut Judgement,
) {
    let is_sqlite = entry.name.starts_with("sqlite");
    let mut texts: Vec<&Word> = Vec::new();
    for name in ["-c", "-e", "-cmd"] {
        texts.extend(scanned.values(name));
    }
    if is_sqlite {
        texts.extend(scanned.operands.iter().skip(1));
    }
    let given = !texts.is_empty() || scanned.has("-l") || scanned.has("-f");
    if !given {
        match invocation.stdin {
            Stdin::Text(text) => texts.push(text),
            Stdin::Empty => {}
            Stdin::File(_) | Stdin::Pipe => {
                judgement.make_opaque("sql-from-input", "the statements come from its input");
            }
        }
    }
    for text in texts {
        match text.as_literal() {
            Some(sql) => statements(sql, judgement),
            None => {
                judgement.make_opaque("unknown-sql", "the statements are not known");
                statements(&text.display(), judgement);
            }
        }
    }
}

fn statements(sql: &str, judgement: &mut Judgement) {
    for line in sql.lines().map(str::trim) {
        if line.starts_with('.') || line.starts_with('\\') {
            client_command(line, judgement);
        }
    }
    let body: String = sql
        .lines()
        .filter(|line| !line.trim_start().starts_with(['.', '\\']))
        .collect::<Vec<_>>()
        .join("\n");
    let Some(statements) = tokens(&body) else {
        judgement.make_opaque("unknown-sql", "the statements could not be read");
        return;
    };
    for statement in statements {
        self::statement(&statement, judgement);
    }
}

/// Commands of the client itself: a few that only print are known.
fn client_command(line: &str, judgement: &mut Judgement) {
    let name = line.split_whitespace().next().unwrap_or_default();
    let piped = line.contains('|') || line.contains('`') || line.contains("\\g");
    let prints = matches!(
        name,
        ".tables"
            | ".schema"
            | ".indexes"
            | ".indices"
            | ".databases"
            | ".mode"
            | ".headers"
            | ".header"
            | ".width"
            | ".show"
            | ".dump"
            | ".stats"
            | ".timer"
            | ".nullvalue"
            | ".separator"
            | ".quit"
            | ".exit"
            | ".help"
            | ".fullschema"
            | ".dbinfo"
            | "\\x"
            | "\\timing"
            | "\\q"
            | "\\conninfo"
            | "\\pset"
            | "\\encoding"
            | "\\?"
    ) || name.starts_with("\\d")
        || name.starts_with("\\l") && !name.starts_with("\\lo");
    if !prints || piped {
        judgement.make_opaque(
            "client-command",
            format!("`{name}` may run or write anything"),
        );
    }
}

/// Statements as lower-case words and symbols, without strings and comments; `None` when a string
/// or comment does not end.
fn tokens(sql: &str) -> Option<Vec<Vec<String>>> {
    let bytes = sql.as_bytes();
    let mut statements = vec![Vec::new()];
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\'' | b'"' | b'`' => {
                let mut end = at + 1;
                loop {
                    match bytes.get(end)? {
                        b'\\' => return None,
                        found if *found == byte => break,
                        _ => end += 1,
                    }
                }
                if byte != b'\'' {
                    statements.last_mut()?.push("<name>".to_owned());
                }
                at = end + 1;
            }
            b'-' if bytes.get(at + 1) == Some(&b'-') => {
                while bytes.get(at).is_some_and(|byte| *byte != b'\n') {
                    at += 1;
                }
            }
            // MySQL runs what stands in `/*! … */`.
            b'/' if bytes.get(at + 1) == Some(&b'*') => {
                if bytes.get(at + 2) == Some(&b'!') {
                    return None;
                }
                let rest = sql.get(at + 2..)?;
                at += 2 + rest.find("*/")? + 2;
            }
            b'$' | b'\\' => return None,
            b';' => {
                statements.push(Vec::new());
                at += 1;
            }
            byte if byte.is_ascii_alphabetic() || byte == b'_' => {
                let start = at;
                while bytes
                    .get(at)
                    .is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_')
                {
                    at += 1;
                }
                statements
                    .last_mut()?
                    .push(sql.get(start..at)?.to_ascii_lowercase());
            }
            byte if byte.is_ascii_whitespace() => at += 1,
            byte => {
                statements.last_mut()?.push(char::from(byte).to_string());
                at += 1;
            }
        }
    }
    statements.retain(|statement| !statement.is_empty());
    Some(statements)
}

fn statement(words: &[String], judgement: &mut Judgement) {
    let has = |word: &str| words.iter().any(|known| known == word);
    let first = words.first().map(String::as_str).unwrap_or_default();
    for pair in words.windows(2) {
        if let [name, open] = pair {
            let is_name = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
            if open == "(" && is_name && !FUNCTIONS.contains(&name.as_str()) {
                // A table with its columns (`insert into t(a)`) looks like a call.
                if !matches!(first, "insert" | "create") {
                    judgement.make_opaque(
                        "sql-function",
                        format!("`{name}(…)` may do more than compute"),
                    );
                }
            }
        }
    }
    match first {
        "select" | "with" | "values" | "explain" | "show" | "describe" | "desc" | "table"
        | "analyze" | "use" | "begin" | "commit" | "rollback" | "end" => {
            if has("into") || has("outfile") {
                judgement.make_opaque("sql-into", "the query writes its result");
            }
            for change in ["insert", "update", "delete", "drop", "truncate"] {
                if has(change) {
                    judgement.add(Effect::Destructive);
                }
            }
        }
        "pragma" => {
            if has("=") {
                judgement.add(Effect::SystemChange);
            }
        }
        "drop" | "truncate" => judgement.add(Effect::Destructive),
        "delete" | "update" if !has("where") => judgement.add(Effect::Destructive),
        "alter" if has("drop") => judgement.add(Effect::Destructive),
        // The table gives the write or the remote host; nothing is thrown away.
        "insert" | "update" | "delete" | "alter" | "create" | "replace" | "reindex" | "vacuum"
        | "comment" => {}
        _ => judgement.make_opaque("unknown-sql", format!("`{first}` is no listed statement")),
    }
}
