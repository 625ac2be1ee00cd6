//! Texts that `sh` may read in another way than bash: on many machines it is dash, and bash itself
//! reads differently under that name.

/// Builtins of bash that dash does not have, or that change what follows only in one of the two.
const BUILTINS: [&str; 14] = [
    "alias",
    "declare",
    "typeset",
    "let",
    "mapfile",
    "readarray",
    "source",
    "pushd",
    "popd",
    "shopt",
    "enable",
    "printf -v",
    "read -",
    "function",
];

/// Variables that only bash sets.
const VARIABLES: [&str; 12] = [
    "RANDOM",
    "SECONDS",
    "UID",
    "BASH",
    "SRANDOM",
    "EPOCH",
    "HOSTNAME",
    "OSTYPE",
    "MACHTYPE",
    "PIPESTATUS",
    "FUNCNAME",
    "DIRSTACK",
];

/// True when something in the text means one thing to bash and another to a POSIX shell.
///
/// It looks at the bytes alone, quoted or not: what it finds too much is asked about.
pub(super) fn reads_otherwise(text: &str) -> bool {
    let operators = [
        "&>", "<<<", "$'", "$\"", "<(", ">(", "|&", ";&", "${!", "+=", "=(", "$[", "=~", "~+", "~-",
    ];
    operators.iter().any(|operator| text.contains(operator))
        || BUILTINS.iter().any(|name| has_word(text, name))
        || VARIABLES.iter().any(|name| text.contains(name))
        || double_opener(text)
        || duplicates_to_file(text)
        || expands_braces(text)
        || changes_parameters(text)
        || splits_assignments(text)
        || redefines_special(text)
}

/// A word of the text, not a part of one.
fn has_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let before = text.get(..at).unwrap_or("").bytes().next_back();
        let after = text.get(at + word.len()..).unwrap_or("").bytes().next();
        let joins = |byte: Option<u8>| {
            byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || b"_./-".contains(&byte))
        };
        !joins(before) && (word.ends_with('-') || !joins(after))
    })
}

/// `((` that is no `$((`, and `[[` that is no `[[:`.
fn double_opener(text: &str) -> bool {
    let plain = |opener: &str| {
        text.match_indices(opener).any(|(at, _)| {
            let rest = text.get(at + opener.len()..).unwrap_or("");
            match opener {
                "((" => !text.get(..at).unwrap_or("").ends_with('$'),
                _ => !rest.starts_with([':', '.', '=']),
            }
        })
    };
    plain("((") || plain("[[")
}

/// `>&word`, and a descriptor in a variable.
fn duplicates_to_file(text: &str) -> bool {
    text.match_indices(">&").any(|(at, _)| {
        let rest = text.get(at + 2..).unwrap_or("").trim_start();
        !rest.starts_with(|first: char| first.is_ascii_digit() || first == '-')
    }) || text.contains("}>")
        || text.contains("}<")
}

/// `{a,b}` and `{1..3}`.
fn expands_braces(text: &str) -> bool {
    text.match_indices('{').any(|(at, _)| {
        let rest = text.get(at + 1..).unwrap_or("");
        let word: &str = rest
            .split(|character: char| character.is_whitespace())
            .next()
            .unwrap_or("");
        let is_parameter = text.get(..at).unwrap_or("").ends_with('$');
        !is_parameter && word.contains('}') && (word.contains(',') || word.contains(".."))
    })
}

/// `${x/…}`, `${x:1}`, `${x^}`, `${x@Q}`, `${x[0]}`.
fn changes_parameters(text: &str) -> bool {
    text.match_indices("${").any(|(at, _)| {
        let rest = text.get(at + 2..).unwrap_or("");
        let rest = rest.strip_prefix('#').unwrap_or(rest);
        let name = rest
            .bytes()
            .take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
            .count();
        let operator = rest.get(name.max(1)..).unwrap_or("");
        let operator = if name == 0 {
            rest.get(1..).unwrap_or("")
        } else {
            operator
        };
        let plain = operator.starts_with(['}', '-', '=', '?', '+', '#', '%'])
            || (operator.starts_with(':')
                && operator
                    .get(1..)
                    .is_some_and(|rest| rest.starts_with(['-', '=', '?', '+'])));
        !plain
    })
}

/// `export x=$y` splits its value in dash.
fn splits_assignments(text: &str) -> bool {
    ["export", "readonly", "local"].iter().any(|name| {
        text.match_indices(name).any(|(at, _)| {
            let rest = text.get(at + name.len()..).unwrap_or("");
            let line = rest.split(['\n', ';', '&', '|']).next().unwrap_or("");
            line.contains(['$', '`'])
        })
    })
}

/// A function with the name of a special builtin is never called.
fn redefines_special(text: &str) -> bool {
    [
        "break", "continue", "eval", "exec", "exit", "export", "readonly", "return", "set",
        "shift", "times", "trap", "unset", ".", ":",
    ]
    .iter()
    .any(|name| {
        text.match_indices(name).any(|(at, _)| {
            text.get(at + name.len()..)
                .unwrap_or("")
                .trim_start()
                .starts_with("()")
                || text
                    .get(at + name.len()..)
                    .unwrap_or("")
                    .trim_start()
                    .starts_with("( )")
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_texts_are_read_alike() {
        for text in [
            "ls -la && git status",
            "echo $((1 + 2)); foo 2>&1 >&2",
            "for i in a b; do echo \"$i\"; done",
            "awk '{print $1, $2}' f | grep '[[:space:]]'",
            "x=${y:-1}; echo ${x#a} ${x%%b} ${#x} $# ${1}",
            "export A=1; cd src && ls",
        ] {
            assert!(!reads_otherwise(text), "{text}");
        }
    }

    #[test]
    fn what_bash_adds_is_not() {
        for text in [
            "((rm x))",
            "[[ a > b ]]",
            "echo hi &>/dev/null rm x",
            "foo >&file",
            "rm {a,b}",
            "echo {1..3}",
            "echo ${x/a/b}",
            "echo ${x:1:2}",
            "echo ${x[0]}",
            "export y=$x",
            "alias ls='rm x'",
            "rm -rf /$RANDOM",
            "eval() { ls; }",
            "a=(1 2)",
        ] {
            assert!(reads_otherwise(text), "{text}");
        }
    }
}
