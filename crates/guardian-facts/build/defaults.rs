//! The `[facts…]` tables of `config/default.toml` as a static value, with the index of its patterns.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use crate::{Failure, Value, index, read, value};

/// Members of a `[[…]]` table, or lists by their dotted name.
type Members = BTreeMap<String, Value>;

/// The classes in the order in which their groups are numbered.
const CLASSES: [&str; 3] = ["secret", "sensitive", "protected"];
/// Lists of patterns.
const PATTERN_LISTS: [&str; 5] = [
    "system.directories",
    "system.children_of",
    "system.block_devices",
    "system.null_devices",
    "system.public_files",
];
/// Lists of names.
const NAME_LISTS: [&str; 4] = [
    "regenerable.directories",
    "regenerable.by_name",
    "variables.harmless",
    "variables.changes_execution",
];

/// The text of the module.
pub(crate) fn generate(config: &Path) -> Result<String, Failure> {
    let (groups, mut lists) = parsed(config)?;
    let mut out = String::new();
    let classes = classes(&groups, &mut out)?;
    for name in PATTERN_LISTS {
        let list = taken(&mut lists, name)?;
        let name = constant(name);
        texts(&mut out, &name, &list)?;
        let index = index::prepared(&name, &list)?;
        writeln!(out, "pub(super) static {name}_INDEX: Prepared = {index};")?;
    }
    for name in NAME_LISTS {
        let list = taken(&mut lists, name)?;
        texts(&mut out, &constant(name), &list)?;
    }
    let mut harmless = String::new();
    for (key, list) in lists {
        let (Some(variable), Value::List(list)) =
            (key.strip_prefix("variables.harmless_values."), list)
        else {
            return Err(format!("config/default.toml: unknown list `facts.{key}`").into());
        };
        let name = format!("HARMLESS_{variable}");
        texts(&mut out, &name, &list)?;
        writeln!(
            harmless,
            "    HarmlessValues {{ name: Text::Borrowed({variable:?}), values: Cow::Borrowed(&{name}) }},"
        )?;
    }
    writeln!(
        out,
        "static HARMLESS_VALUES: &[HarmlessValues] = &[\n{harmless}];\n"
    )?;
    let list = |name: &str| format!("Cow::Borrowed(&{})", constant(name));
    writeln!(
        out,
        "/// The section.\n\
         pub(super) static CONFIG: FactsConfig = FactsConfig {{\n{classes}    \
         system: SystemPathLists {{ directories: {}, children_of: {}, block_devices: {}, \
         null_devices: {}, public_files: {} }},\n    \
         regenerable: Regenerable {{ directories: {}, by_name: {} }},\n    \
         variables: Variables {{ harmless: {}, changes_execution: {}, \
         harmless_values: Cow::Borrowed(HARMLESS_VALUES) }},\n}};",
        list(PATTERN_LISTS[0]),
        list(PATTERN_LISTS[1]),
        list(PATTERN_LISTS[2]),
        list(PATTERN_LISTS[3]),
        list(PATTERN_LISTS[4]),
        list(NAME_LISTS[0]),
        list(NAME_LISTS[1]),
        list(NAME_LISTS[2]),
        list(NAME_LISTS[3]),
    )?;
    Ok(out)
}

/// The groups of the classes with their index; the members of the section that name them.
fn classes(groups: &BTreeMap<&str, Vec<Members>>, out: &mut String) -> Result<String, Failure> {
    let (mut paths, mut excepts) = (Vec::new(), Vec::new());
    let (mut path_groups, mut except_groups) = (Vec::new(), Vec::new());
    let mut members = String::new();
    let mut count = 0_usize;
    for class in CLASSES {
        writeln!(out, "static {}: &[ClassGroup] = &[", class.to_uppercase())?;
        for group in groups.get(class).into_iter().flatten() {
            let known = ["name", "why", "paths", "except", "unless_public"];
            if let Some(other) = group.keys().find(|key| !known.contains(&key.as_str())) {
                return Err(format!("config/default.toml: `{other}` of a group").into());
            }
            let text = |key: &str| match group.get(key) {
                Some(Value::Text(text)) => text.as_str(),
                _ => "",
            };
            let add = |key: &str, all: &mut Vec<String>, groups: &mut Vec<usize>| {
                let start = all.len();
                if let Some(Value::List(list)) = group.get(key) {
                    all.extend(list.iter().cloned());
                }
                groups.resize(all.len(), count);
                (start, all.len())
            };
            let (start, end) = add("paths", &mut paths, &mut path_groups);
            let (first, last) = add("except", &mut excepts, &mut except_groups);
            let flag = matches!(group.get("unless_public"), Some(Value::Flag(true)));
            writeln!(
                out,
                "    ClassGroup {{ name: Text::Borrowed({:?}), why: Text::Borrowed({:?}), \
                 paths: part(&PATHS, {start}, {end}), except: part(&EXCEPTS, {first}, {last}), \
                 unless_public: {flag} }},",
                text("name"),
                text("why"),
            )?;
            count += 1;
        }
        out.push_str("];\n");
        writeln!(
            members,
            "    {class}: Cow::Borrowed({}),",
            class.to_uppercase()
        )?;
    }
    if count > usize::from(u8::MAX) {
        return Err("more groups than a byte can number".into());
    }
    texts(out, "PATHS", &paths)?;
    texts(out, "EXCEPTS", &excepts)?;
    writeln!(
        out,
        "/// The index of the path classes.\n\
         pub(crate) static CLASS_INDEX: ClassIndex = ClassIndex {{\n    paths: {},\n    \
         path_groups: &{path_groups:?},\n    excepts: {},\n    except_groups: &{except_groups:?},\n    \
         directories: {},\n}};",
        index::prepared("PATHS", &paths)?,
        index::prepared("EXCEPTS", &excepts)?,
        index::directories(&paths),
    )?;
    Ok(members)
}

/// The groups by class, and the lists by their name without `facts.`.
fn parsed(config: &Path) -> Result<(BTreeMap<&'static str, Vec<Members>>, Members), Failure> {
    let text = read(&config.join("default.toml"))?;
    let mut groups: BTreeMap<&str, Vec<Members>> = BTreeMap::new();
    let mut lists = Members::new();
    let mut section = String::new();
    let mut lines = text.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let header = |open, close| line.strip_prefix(open)?.strip_suffix(close);
        if let Some(name) = header("[[", "]]") {
            name.clone_into(&mut section);
            if let Some(class) = class_of(&section) {
                groups.entry(class).or_default().push(Members::new());
            }
            continue;
        }
        if let Some(name) = header("[", "]") {
            name.clone_into(&mut section);
            continue;
        }
        let Some(within) = section.strip_prefix("facts.") else {
            continue;
        };
        let fault = |reason: &str| -> Failure {
            format!("config/default.toml:{}: {reason}", number + 1).into()
        };
        let (key, first) = line
            .split_once(" = ")
            .ok_or_else(|| fault("no `key = value`"))?;
        let mut whole = first.to_owned();
        if first.starts_with('[') {
            while !whole.ends_with(']') {
                let (_, more) = lines.next().ok_or_else(|| fault("the list does not end"))?;
                let more = more.trim();
                if !more.starts_with('#') {
                    whole.push_str(more);
                }
            }
        }
        let value = value(&whole).ok_or_else(|| fault("neither text, flag nor list of texts"))?;
        match class_of(&section) {
            Some(class) => {
                let group = groups.get_mut(class).and_then(|groups| groups.last_mut());
                let group = group.ok_or_else(|| fault("no group to add to"))?;
                group.insert(key.to_owned(), value);
            }
            None => {
                lists.insert(format!("{within}.{key}"), value);
            }
        }
    }
    Ok((groups, lists))
}

fn class_of(section: &str) -> Option<&'static str> {
    let name = section.strip_prefix("facts.")?;
    CLASSES.into_iter().find(|class| *class == name)
}

fn taken(lists: &mut Members, name: &str) -> Result<Vec<String>, Failure> {
    match lists.remove(name) {
        Some(Value::List(list)) => Ok(list),
        _ => Err(format!("config/default.toml: `facts.{name}` is no list").into()),
    }
}

fn constant(name: &str) -> String {
    name.replace('.', "_").to_uppercase()
}

fn texts(out: &mut String, name: &str, list: &[String]) -> Result<(), Failure> {
    writeln!(out, "static {name}: [Text; {}] = [", list.len())?;
    for text in list {
        writeln!(out, "    Text::Borrowed({text:?}),")?;
    }
    out.push_str("];\n");
    Ok(())
}
