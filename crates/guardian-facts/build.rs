//! Puts the embedded data into a form that costs nothing at start: an index of the command
//! catalogue, and the path classes as static tables with an index. A `guardian check` lives for a millisecond.
//!
//! The data itself stays in `config/`, which is what people read and edit. This reads the small
//! part of TOML that `config/default.toml` uses and refuses everything else; tests hold the result
//! against a real parser.

#[path = "build/defaults.rs"]
mod defaults;
#[path = "build/index.rs"]
mod index;
/// The language of path patterns, as the program itself reads it.
#[path = "src/classes/pattern.rs"]
#[expect(dead_code, reason = "the program matches with it, the index does not")]
mod pattern;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The families of the catalogue, in the order of their files' precedence: of two entries of one
/// name the later one counts.
const FAMILIES: &[&str] = &[
    "builtins",
    "coreutils",
    "search",
    "text",
    "git",
    "javascript",
    "python",
    "build",
    "local",
    "containers",
    "cloud",
    "database",
    "network",
    "system",
];

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let config = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR")?).join("../../config");
    let config = config.canonicalize()?;
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    println!("cargo::rerun-if-changed=build.rs");
    std::fs::write(out.join("catalogue.rs"), catalogue(&config)?)?;
    std::fs::write(out.join("defaults.rs"), defaults::generate(&config)?)?;
    std::fs::write(out.join("words.rs"), words(&config)?)?;
    Ok(())
}

fn read(file: &Path) -> Result<String, Failure> {
    println!("cargo::rerun-if-changed={}", file.display());
    std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()).into())
}

/// The texts of the families, the tables in them, and the tables by name.
fn catalogue(config: &Path) -> Result<String, Failure> {
    let mut families = String::new();
    let mut tables = String::new();
    let mut names: BTreeMap<(String, String), usize> = BTreeMap::new();
    let mut count = 0;
    for (family, name) in FAMILIES.iter().enumerate() {
        let file = config.join("commands").join(format!("{name}.toml"));
        let text = read(&file)?;
        writeln!(
            families,
            "    ({name:?}, include_str!({:?})),",
            file.display().to_string()
        )?;
        for (start, end) in ranges(&text) {
            let slice = &text[start..end];
            let line = slice.lines().next().unwrap_or_default().trim_end();
            let header = line.strip_prefix('[').unwrap_or(line);
            let header = header.strip_suffix(']').unwrap_or(header);
            let header = header.trim_matches(['"', '\'']);
            let (stem, last) = header.rsplit_once(' ').unwrap_or(("", header));
            let mut first = None;
            for name in last.split('|') {
                first.get_or_insert(name);
                names.insert((stem.to_owned(), name.to_owned()), count);
            }
            let first = first.unwrap_or_default();
            writeln!(
                tables,
                "    ({family}, {start}, {end}, {stem:?}, {first:?}),"
            )?;
            count += 1;
        }
    }
    let mut text = format!(
        "/// The embedded families: name and text.\n\
         pub(crate) static FAMILIES: &[(&str, &str)] = &[\n{families}];\n\n\
         /// The tables: family, first and last byte, and the first of the names in two parts.\n\
         static TABLES: &[(usize, usize, usize, &str, &str)] = &[\n{tables}];\n\n\
         /// Names in two parts with their table, sorted.\n\
         static NAMES: &[(&str, &str, usize)] = &[\n"
    );
    for ((stem, last), table) in names {
        writeln!(text, "    ({stem:?}, {last:?}, {table}),")?;
    }
    text.push_str("];\n");
    Ok(text)
}

/// Where the tables of a file begin and end.
fn ranges(text: &str) -> Vec<(usize, usize)> {
    let mut starts: Vec<usize> = Vec::new();
    if text.starts_with('[') {
        starts.push(0);
    }
    starts.extend(text.match_indices("\n[").map(|(at, _)| at + 1));
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    starts.iter().copied().zip(ends).collect()
}

/// The sections of `words.toml`, each a sorted slice of keys with their lists.
fn words(config: &Path) -> Result<String, Failure> {
    let text = read(&config.join("words.toml"))?;
    let mut sections: BTreeMap<String, BTreeMap<String, Vec<String>>> = BTreeMap::new();
    let mut section = String::new();
    for (number, line) in text.lines().map(str::trim).enumerate() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let fault = || -> Failure { format!("config/words.toml:{}", number + 1).into() };
        if let Some(name) = line
            .strip_prefix('[')
            .and_then(|line| line.strip_suffix(']'))
        {
            section = name.to_owned();
            continue;
        }
        let (key, list) = line.split_once(" = ").ok_or_else(fault)?;
        let key = key
            .strip_prefix('"')
            .and_then(|key| key.strip_suffix('"'))
            .ok_or_else(fault)?;
        let Some(Value::List(list)) = value(list) else {
            return Err(fault());
        };
        let known = sections.entry(section.clone()).or_default();
        if known.insert(key.to_owned(), list).is_some() {
            return Err(fault());
        }
    }
    let mut out = String::new();
    for section in ["same", "shortened", "flags", "publishes"] {
        writeln!(
            out,
            "static {}: &[(&str, &[&str])] = &[",
            section.to_uppercase()
        )?;
        for (key, list) in sections.remove(section).unwrap_or_default() {
            writeln!(out, "    ({key:?}, &{list:?}),")?;
        }
        out.push_str("];\n");
    }
    match sections.keys().next() {
        Some(other) => Err(format!("config/words.toml: unknown section `{other}`").into()),
        None => Ok(out),
    }
}

/// A value of the defaults.
enum Value {
    Text(String),
    Flag(bool),
    List(Vec<String>),
}

/// A basic string without escapes, `true`, `false`, or a list of such strings.
fn value(text: &str) -> Option<Value> {
    match text {
        "true" => return Some(Value::Flag(true)),
        "false" => return Some(Value::Flag(false)),
        _ => {}
    }
    if let Some(list) = text
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'))
    {
        let mut found = Vec::new();
        let mut rest = list.trim();
        while !rest.is_empty() {
            let (item, more) = string(rest)?;
            found.push(item);
            rest = more.trim_start();
            rest = match rest.strip_prefix(',') {
                Some(more) => more.trim_start(),
                None if rest.is_empty() => rest,
                None => return None,
            };
        }
        return Some(Value::List(found));
    }
    match string(text)? {
        (text, "") => Some(Value::Text(text)),
        _ => None,
    }
}

fn string(text: &str) -> Option<(String, &str)> {
    let (inner, rest) = text.strip_prefix('"')?.split_once('"')?;
    (!inner.contains('\\')).then(|| (inner.to_owned(), rest))
}
