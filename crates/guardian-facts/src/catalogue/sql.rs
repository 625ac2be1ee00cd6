//! SQL one-liners of `psql`, `mysql` and `sqlite3`: statements that only read, that change, and
//! that throw data away; client commands that leave SQL.

use super::scan::Scanned;
use super::schema::Entry;
use crate::command::{Invocation, Judgement, PathUse, Stdin, Word};
use crate::{AccessDetail, AccessKind, Effect, Span};

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
    let database = scanned.operands.first().filter(|_| is_sqlite);
    let runs_views =
        database.is_some_and(|file| file.as_literal() != Some(":memory:")) && !scanned.has("-safe");
    if runs_views
        && !texts
            .iter()
            .all(|text| text.as_literal().is_some_and(runs_no_view))
    {
        judgement.make_opaque(
            "sql-view",
            "a view of the database may run a program (`edit`) where `-safe` is not given",
        );
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

/// Nothing of it asks a table, which may be a view that whoever made the database wrote: the client's
/// function `edit` runs a program, `readfile` reads a file, also under `-readonly`.
fn runs_no_view(sql: &str) -> bool {
    let is_listing = |line: &str| {
        matches!(
            line.split_whitespace().next(),
            Some(".tables" | ".schema" | ".indexes" | ".databases" | ".mode" | ".headers")
        )
    };
    let (commands, body): (Vec<&str>, Vec<&str>) = sql
        .lines()
        .partition(|line| line.trim_start().starts_with('.'));
    commands.into_iter().all(is_listing)
        && tokens(&body.join("\n")).is_some_and(|statements| {
            statements.iter().all(|statement| {
                statement
                    .first()
                    .is_none_or(|first| first.is_word("select"))
                    && !statement.iter().any(|token| token.is_word("from"))
            })
        })
}

fn statements(sql: &str, judgement: &mut Judgement) {
    let mut body = String::new();
    for line in sql.lines() {
        if line.trim_start().starts_with(['.', '\\']) {
            // Within a statement such a line is SQL (`t⏎.dump, writefile(…)`).
            if !is_between_statements(&body) {
                judgement.make_opaque("unknown-sql", "the statements could not be read");
            }
            client_command(line.trim(), judgement);
            continue;
        }
        body.push_str(line);
        body.push('\n');
    }
    let Some(statements) = tokens(&body) else {
        judgement.make_opaque("unknown-sql", "the statements could not be read");
        return;
    };
    for statement in statements {
        self::statement(&statement, judgement);
    }
}

fn is_between_statements(before: &str) -> bool {
    tokens(before).is_some_and(|statements| statements.is_empty())
        || tokens(before).is_some() && before.trim_end().ends_with(';')
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

/// A part of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    /// A bare word, in lower case.
    Word(String),
    /// A quoted name, in lower case: `"…"`, `` `…` ``, `[…]`. To MySQL the first is a string.
    Name(String),
    /// A string.
    Text(String),
    Symbol(char),
}

impl Token {
    fn is_word(&self, word: &str) -> bool {
        matches!(self, Self::Word(known) if known == word)
    }
}

/// The statements without comments; `None` when a string or comment does not end, or where the
/// databases do not agree on what is one.
fn tokens(sql: &str) -> Option<Vec<Vec<Token>>> {
    let bytes = sql.as_bytes();
    let mut statements = vec![Vec::new()];
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\'' | b'"' | b'`' => {
                let start = at + 1;
                let mut end = start;
                loop {
                    match bytes.get(end)? {
                        b'\\' => return None,
                        found if *found == byte => break,
                        _ => end += 1,
                    }
                }
                let text = sql.get(start..end)?;
                statements.last_mut()?.push(if byte == b'\'' {
                    Token::Text(text.to_owned())
                } else {
                    Token::Name(text.to_ascii_lowercase())
                });
                at = end + 1;
            }
            // A name to SQLite, a subscript to PostgreSQL: what is neither could hide a quote.
            b'[' => {
                let rest = sql.get(at + 1..)?;
                let name = rest.get(..rest.find(']')?)?;
                let is_plain = name
                    .bytes()
                    .all(|byte| is_name_byte(byte) || matches!(byte, b' ' | b',' | b'.'));
                if !is_plain {
                    return None;
                }
                statements
                    .last_mut()?
                    .push(Token::Name(name.to_ascii_lowercase()));
                at += name.len() + 2;
            }
            b'-' if bytes.get(at + 1) == Some(&b'-') => {
                while bytes.get(at).is_some_and(|byte| *byte != b'\n') {
                    at += 1;
                }
            }
            // MySQL runs what stands in `/*! … */`; PostgreSQL lets comments hold comments.
            b'/' if bytes.get(at + 1) == Some(&b'*') => {
                let rest = sql.get(at + 2..)?;
                let comment = rest.get(..rest.find("*/")?)?;
                if comment.starts_with(['!', 'M']) || comment.contains("/*") {
                    return None;
                }
                at += 2 + comment.len() + 2;
            }
            b';' => {
                statements.push(Vec::new());
                at += 1;
            }
            byte if is_name_byte(byte) && !byte.is_ascii_digit() => {
                let start = at;
                while bytes.get(at).is_some_and(|byte| is_name_byte(*byte)) {
                    at += 1;
                }
                statements
                    .last_mut()?
                    .push(Token::Word(sql.get(start..at)?.to_ascii_lowercase()));
            }
            byte if byte.is_ascii_whitespace() => at += 1,
            byte if byte.is_ascii_digit() || b"(),.*=<>!+-/%|&~?:@{}".contains(&byte) => {
                statements.last_mut()?.push(Token::Symbol(char::from(byte)));
                at += 1;
            }
            _ => return None,
        }
    }
    statements.retain(|statement| !statement.is_empty());
    Some(statements)
}

/// SQLite counts every byte beyond ASCII as part of a name.
fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

/// Words before `(` in a definition that call nothing.
const DEFINES: &[&str] = &[
    "key",
    "unique",
    "check",
    "default",
    "varchar",
    "nvarchar",
    "char",
    "character",
    "varying",
    "decimal",
    "numeric",
    "float",
    "int",
    "integer",
    "bigint",
    "timestamp",
    "text",
];

/// A name behind one of these is a table, with its columns in what looks like a call.
const BEFORE_TABLES: &[&str] = &[
    "into",
    "table",
    "exists",
    "references",
    "on",
    "index",
    "view",
];

/// Calls: only of listed functions by their bare names.
fn calls(words: &[Token], judgement: &mut Judgement) {
    let changes = words.first().is_some_and(|first| {
        ["insert", "create", "replace"]
            .iter()
            .any(|word| first.is_word(word))
    });
    for (at, pair) in words.windows(2).enumerate() {
        let [name, Token::Symbol('(')] = pair else {
            continue;
        };
        let before = at.checked_sub(1).and_then(|at| words.get(at));
        let is_table = changes
            && before.is_some_and(|word| BEFORE_TABLES.iter().any(|known| word.is_word(known)));
        let shown = match name {
            Token::Symbol(_) => continue,
            Token::Word(word)
                if is_table
                    || FUNCTIONS.contains(&word.as_str())
                    || changes && DEFINES.contains(&word.as_str()) =>
            {
                continue;
            }
            Token::Name(_) if is_table => continue,
            Token::Word(word) | Token::Name(word) | Token::Text(word) => word,
        };
        judgement.make_opaque(
            "sql-function",
            format!("`{shown}(…)` may do more than compute"),
        );
    }
    // SQLite takes the arguments of a table function from `where` as well, and a string for its
    // name.
    for word in words {
        if let Token::Word(name) | Token::Name(name) | Token::Text(name) = word
            && ["fsdir", "zipfile"]
                .iter()
                .any(|known| name.eq_ignore_ascii_case(known))
        {
            judgement.make_opaque("sql-function", format!("`{name}` reads files"));
        }
    }
}

/// `vacuum into 'x'` writes a file, also where the database is only read.
fn vacuum(words: &[Token], judgement: &mut Judgement) {
    let Some(at) = words.iter().position(|word| word.is_word("into")) else {
        return;
    };
    judgement.make_opaque("sql-into", "the statement writes a copy of the database");
    if let Some(Token::Text(file) | Token::Name(file)) = words.get(at + 1) {
        judgement.paths.push(PathUse {
            word: Word::literal(file.as_str(), Span { start: 0, end: 0 }),
            kind: AccessKind::Write,
            detail: AccessDetail::Plain,
            recursive: false,
        });
    }
}

fn statement(words: &[Token], judgement: &mut Judgement) {
    let has = |word: &str| words.iter().any(|known| known.is_word(word));
    let first = match words.first() {
        Some(Token::Word(first)) => first.as_str(),
        _ => "",
    };
    calls(words, judgement);
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
            if words.contains(&Token::Symbol('=')) {
                judgement.add(Effect::SystemChange);
            }
        }
        "drop" | "truncate" => judgement.add(Effect::Destructive),
        "delete" | "update" if !has("where") => judgement.add(Effect::Destructive),
        "alter" if has("drop") => judgement.add(Effect::Destructive),
        "vacuum" => vacuum(words, judgement),
        // The table gives the write or the remote host; nothing is thrown away.
        "insert" | "update" | "delete" | "alter" | "create" | "replace" | "reindex" | "comment" => {
        }
        _ => judgement.make_opaque("unknown-sql", format!("`{first}` is no listed statement")),
    }
}
