//! Programs made from the texts of the case files, cut and spliced.
//!
//! The texts name real files and devices. Before they reach bash every `/` is taken out, so that
//! nothing outside the working directory can be named, and texts with builtins that act beyond the
//! shell are left out.

use super::generate::Random;

/// Texts of the case files, one JSON string a line.
const TEXTS: &str = include_str!("../fixtures/case_commands.jsonl");

/// Pieces of a text that may do harm even in a directory of their own.
const LEFT_OUT: &[&str] = &[
    "kill",
    "bash -l",
    "--login",
    "suspend",
    "ulimit",
    "()",
    "function",
    "enable",
    "exec ",
    "yes",
    "watch",
    "while :",
    "while true",
    "\\x2f",
    "\\57",
    "\\057",
    "$$",
    "/dev/tcp",
    ":(",
    "until",
    "select",
    "base64",
    "printf '\\",
    "fg",
];

/// The program of a seed; `None` where the text is left out.
pub(crate) fn program(seed: u64) -> Option<String> {
    let texts: Vec<String> = TEXTS
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let mut random = Random::new(seed);
    let mut text = texts[random.below(texts.len())].clone();
    for _ in 0..random.below(3) {
        let other = &texts[random.below(texts.len())];
        text = mutate(&text, other, &mut random);
    }
    let text = text.replace('/', "_");
    if LEFT_OUT.iter().any(|left_out| text.contains(left_out)) || text.len() > 2000 {
        return None;
    }
    Some(text)
}

fn boundary(text: &str, random: &mut Random) -> usize {
    let mut at = random.below(text.len() + 1);
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn mutate(text: &str, other: &str, random: &mut Random) -> String {
    let at = boundary(text, random);
    let (head, tail) = text.split_at(at);
    match random.below(8) {
        0 => format!("{text}; {other}"),
        1 => format!(
            "{head}{}{tail}",
            random.pick(&[
                "`", "$(", ")", "\"", "'", "{", "}", ";", "|", "&", "\\", "\n", "$", "<<", " # ",
                "((", "]]"
            ])
        ),
        2 => format!("{text}\n{other}"),
        3 => {
            let cut = boundary(other, random);
            format!("{head}{}", other.split_at(cut).1)
        }
        4 => format!("echo \"$({text})\" `{}`", other.replace(['`', '\\'], "")),
        5 => format!("if {text}; then {other}; fi"),
        6 => {
            let mut tail = tail.chars();
            tail.next();
            format!("{head}{}", tail.as_str())
        }
        _ => format!("{text} | {other}"),
    }
}
