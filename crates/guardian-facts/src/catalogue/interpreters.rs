//! Shells and other interpreters: inline code, a script, a module, or standard input.

use super::scan::Scanned;
use super::schema::Entry;
use crate::Effect;
use crate::command::{Invocation, Judgement, Nested, Stdin, Word};
use crate::opacity;

/// `sh`, `bash` and their kin. `-c` takes no value of its own: the first operand is the text.
pub(crate) fn shell(
    _entry: &Entry,
    scanned: &Scanned<'_>,
    invocation: &Invocation<'_>,
    judgement: &mut Judgement,
) {
    let is_bash = invocation.name == "bash";
    let first = scanned.operands.first();
    if scanned.has("-n") && !scanned.has("-c") {
        // Only checks the syntax.
        if let Some(script) = first {
            judgement.read(script);
        }
        return;
    }
    for used in &scanned.flags {
        let changes = used.flag.names.iter().any(|name| {
            matches!(
                name.as_str(),
                "-i" | "-k"
                    | "-r"
                    | "-B"
                    | "-D"
                    | "-H"
                    | "-P"
                    | "-t"
                    | "-T"
                    | "-E"
                    | "--posix"
                    | "--rcfile"
                    | "--init-file"
                    | "--restricted"
                    | "--debugger"
                    | "--dump-strings"
                    | "--dump-po-strings"
                    | "--wordexp"
            )
        });
        let option_changes = used.flag.names.iter().any(|name| name == "-o")
            && used.values.iter().any(|value| {
                !matches!(
                    value.as_literal(),
                    Some(
                        "pipefail"
                            | "errexit"
                            | "nounset"
                            | "xtrace"
                            | "verbose"
                            | "noclobber"
                            | "noglob"
                    )
                )
            });
        // Of bash `-p` takes less from outside, and these change what patterns match. Other shells
        // read a file where bash has the value of `-O`.
        let has = |flag: &str| used.flag.names.iter().any(|name| name == flag);
        let is_harmless = |value: &Word| matches!(value.as_literal(), Some("extglob" | "failglob"));
        let patterns = has("-O") && !(is_bash && used.values.iter().all(is_harmless));
        let privileged = has("-p") && !is_bash;
        if changes || option_changes || patterns || privileged {
            judgement.make_opaque(
                opacity::SHELL_OPTIONS,
                "an option changes how the shell reads its text",
            );
        }
    }
    if scanned.has("-c") {
        if let Some(text) = first {
            judgement.wrapper = true;
            judgement.nested.push(Nested::Shell {
                text: text.clone(),
                elsewhere: false,
            });
        }
        return;
    }
    match first {
        Some(script) if !scanned.has("-s") => {
            judgement.read(script);
            judgement.nested.push(Nested::CodeFile {
                word: script.clone(),
            });
            judgement.add(Effect::RunsCode);
        }
        _ => {
            judgement.wrapper = true;
            judgement.nested.push(Nested::StdinShell);
        }
    }
}

/// Interpreters of other languages. The table's flags have taken inline code already.
pub(crate) fn interpreter(
    entry: &Entry,
    scanned: &Scanned<'_>,
    invocation: &Invocation<'_>,
    judgement: &mut Judgement,
) {
    let language = entry.language.unwrap_or("unknown");
    let has_code = judgement
        .nested
        .iter()
        .any(|nested| matches!(nested, Nested::Inline { .. }));
    // `node --check` and `php -l` only parse the file.
    let checks = match entry.name.as_str() {
        "node" => scanned.has("--check"),
        "php" => scanned.has("-l"),
        _ => false,
    };
    if checks && judgement.nested.is_empty() {
        scanned
            .operands
            .iter()
            .for_each(|file| judgement.read(file));
        return;
    }
    judgement.add(Effect::RunsCode);
    if has_code || scanned.has("-m") {
        return;
    }
    match scanned.operands.first() {
        Some(script) if script.as_literal() != Some("-") => {
            judgement.read(script);
            judgement.nested.push(Nested::CodeFile {
                word: script.clone(),
            });
        }
        first => {
            // Without anything to read the interpreter ends at once, or opens a prompt without
            // a terminal; code that is piped in runs.
            if first.is_some() || !matches!(invocation.stdin, Stdin::Empty) {
                judgement.nested.push(Nested::StdinCode { language });
            }
            judgement.make_opaque(
                "code-from-input",
                format!("runs {language} code from its input"),
            );
        }
    }
}
