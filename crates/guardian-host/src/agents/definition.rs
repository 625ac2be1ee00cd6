//! One definition: Markdown whose frontmatter says what the delegate is and may use.

/// The tools that a delegate may have at all.
const POSSIBLE_TOOLS: &[&str] = &[
    "Read",
    "Glob",
    "Grep",
    "BrowserPreview",
    "Bash",
    "Edit",
    "Write",
];
/// Those of a definition that declares none.
const DEFAULT_TOOLS: &[&str] = &["Read", "Glob", "Grep"];
/// Turns of a definition that says nothing about them.
const DEFAULT_TURNS: u32 = 24;
/// The most that a definition may ask for.
const MOST_TURNS: u32 = 80;
/// Longest name, in bytes.
const LONGEST_NAME: usize = 64;
/// Characters kept of a description.
const DESCRIPTION_CHARACTERS: usize = 500;

/// Who defined a delegate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentSource {
    /// The user, in `agents/` of the configuration directory.
    User,
    /// The client, by `agents.define`.
    Client,
    /// guardian.
    BuiltIn,
    /// The repository, in `.pi/agents/`.
    Repository,
}

impl AgentSource {
    /// The word on the wire.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Client => "client",
            Self::BuiltIn => "built-in",
            Self::Repository => "repository",
        }
    }
}

/// What a delegate is and may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentDefinition {
    /// Its name, `[A-Za-z0-9_-]{1,64}`.
    pub name: String,
    /// What it is for, in one line.
    pub description: String,
    /// The tools that it may use, exactly, in a fixed order.
    pub tools: Vec<String>,
    /// The model that it asks for.
    pub model: Option<String>,
    /// How long it should think.
    pub thinking_level: Option<String>,
    /// Turns after which its client should end it.
    pub max_turns: u32,
    /// The text after the frontmatter.
    pub instructions: String,
    /// Who defined it.
    pub source: AgentSource,
    /// BLAKE3 of the whole text, lower-case hex: what an approval is bound to.
    pub hash: String,
    /// What of it does not count.
    pub warnings: Vec<String>,
}

/// One key of the frontmatter with its values.
struct Entry<'t> {
    key: &'t str,
    values: Vec<String>,
}

impl AgentDefinition {
    /// Reads a definition.
    ///
    /// # Errors
    /// What is missing or wrong, for people.
    pub fn parse(text: &str, source: AgentSource) -> Result<Self, String> {
        let hash = blake3::hash(text.as_bytes()).to_hex().to_string();
        let (entries, instructions) = split(text)?;
        let mut warnings = Vec::new();
        let (mut name, mut description, mut tools) = (None, None, None);
        let (mut model, mut thinking_level, mut max_turns) = (None, None, DEFAULT_TURNS);
        for entry in entries {
            let one = entry.values.first().cloned().filter(|one| !one.is_empty());
            match entry.key {
                "name" => name = one,
                "description" => description = one,
                "tools" => tools = Some(entry.values),
                "model" => model = one,
                "thinkingLevel" | "thinking_level" => thinking_level = one,
                "maxTurns" | "max_turns" => max_turns = turns(one, &mut warnings),
                other => warnings.push(format!("the key `{}` is not known", shown(other))),
            }
        }
        let name = name.ok_or("it has no `name`")?;
        let is_name = (1..=LONGEST_NAME).contains(&name.len())
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
        if !is_name {
            let name = shown(&name);
            return Err(format!(
                "`{name}` is no name (letters, digits, `_` and `-`)"
            ));
        }
        let description = description.ok_or("it has no `description`")?;
        Ok(Self {
            name,
            description: shown_up_to(&description, DESCRIPTION_CHARACTERS),
            tools: allowed_tools(tools, &mut warnings),
            model,
            thinking_level,
            max_turns,
            instructions: instructions.trim().to_owned(),
            source,
            hash,
            warnings,
        })
    }

    /// Names that differ in case only are one name, so that nobody is taken in.
    #[must_use]
    pub fn has_name(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }
}

/// The entries between the two `---` lines, and the text after them.
fn split(text: &str) -> Result<(Vec<Entry<'_>>, String), String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text.lines();
    if lines.next().map(str::trim_end) != Some("---") {
        return Err("it does not begin with `---`".to_owned());
    }
    let mut entries: Vec<Entry<'_>> = Vec::new();
    for line in lines.by_ref() {
        if line.trim_end() == "---" {
            return Ok((entries, lines.collect::<Vec<_>>().join("\n")));
        }
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with('#') {
            continue;
        }
        if let Some(item) = trimmed.strip_prefix("- ") {
            match entries.last_mut() {
                Some(entry) => entry.values.push(unquoted(item)),
                None => return Err("it begins with a list item".to_owned()),
            }
            continue;
        }
        let Some((key, value)) = line
            .split_once(':')
            .filter(|(key, _)| !key.starts_with(' '))
        else {
            return Err(format!(
                "`{}` is neither `key: value` nor a list item",
                shown(trimmed)
            ));
        };
        let key = key.trim();
        if entries.iter().any(|entry| entry.key == key) {
            return Err(format!("`{}` is there twice", shown(key)));
        }
        let values = values(key, value.trim());
        entries.push(Entry { key, values });
    }
    Err("its frontmatter has no end (`---`)".to_owned())
}

fn values(key: &str, value: &str) -> Vec<String> {
    if value.is_empty() {
        return Vec::new();
    }
    if key != "tools" {
        return vec![unquoted(value)];
    }
    let inner = value
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .unwrap_or(value);
    unquoted(inner)
        .split(',')
        .map(unquoted)
        .filter(|one| !one.is_empty())
        .collect()
}

fn unquoted(text: &str) -> String {
    let text = text.trim();
    for quote in ['"', '\''] {
        let inner = text
            .strip_prefix(quote)
            .and_then(|rest| rest.strip_suffix(quote))
            .filter(|inner| !inner.contains(quote));
        if let Some(inner) = inner {
            return inner.to_owned();
        }
    }
    text.to_owned()
}

fn turns(value: Option<String>, warnings: &mut Vec<String>) -> u32 {
    let wanted = value.as_deref().and_then(|value| value.parse::<u32>().ok());
    match wanted {
        Some(turns @ 1..=MOST_TURNS) => turns,
        Some(more) if more > MOST_TURNS => {
            warnings.push(format!("`maxTurns` {more} is above {MOST_TURNS}"));
            MOST_TURNS
        }
        _ => {
            warnings.push("`maxTurns` is no number from 1".to_owned());
            DEFAULT_TURNS
        }
    }
}

/// None declared is the default; what is declared and unknown is dropped, and nothing takes its
/// place.
fn allowed_tools(declared: Option<Vec<String>>, warnings: &mut Vec<String>) -> Vec<String> {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let Some(declared) = declared else {
        return owned(DEFAULT_TOOLS);
    };
    if declared.iter().any(|name| name == "*") {
        return owned(POSSIBLE_TOOLS);
    }
    for name in &declared {
        if !POSSIBLE_TOOLS
            .iter()
            .any(|one| one.eq_ignore_ascii_case(name))
        {
            warnings.push(format!("`{}` is no tool of a delegate", shown(name)));
        }
    }
    let wanted = |tool: &&&str| declared.iter().any(|name| name.eq_ignore_ascii_case(tool));
    POSSIBLE_TOOLS
        .iter()
        .filter(wanted)
        .map(|tool| (*tool).to_owned())
        .collect()
}

fn shown(text: &str) -> String {
    shown_up_to(text, 80)
}

/// One line: words of a repository must not look like lines of ours.
fn shown_up_to(text: &str, characters: usize) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(characters)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(frontmatter: &str) -> Result<AgentDefinition, String> {
        let text = format!("---\n{frontmatter}\n---\nDo it.\n");
        AgentDefinition::parse(&text, AgentSource::Repository)
    }

    #[track_caller]
    fn tools(line: &str, expected: &[&str], warned: usize) {
        let parsed = parse(&format!("name: x\ndescription: d\n{line}")).unwrap();
        assert_eq!(parsed.tools, expected, "{line}");
        assert_eq!(parsed.warnings.len(), warned, "{:?}", parsed.warnings);
    }

    #[test]
    fn tools_are_exactly_those_declared() {
        tools("", &["Read", "Glob", "Grep"], 0);
        tools("tools: Read, Bash", &["Read", "Bash"], 0);
        tools("tools: [\"bash\", read]", &["Read", "Bash"], 0);
        tools("tools:\n  - Write\n  - Grep", &["Grep", "Write"], 0);
        tools("tools: \"*\"", POSSIBLE_TOOLS, 0);
        tools("tools: *", POSSIBLE_TOOLS, 0);
        tools("tools: Read, Task, mcp_x_y", &["Read"], 2);
        tools("tools: Task", &[], 1);
        tools("tools:", &[], 0);
    }

    #[test]
    fn everything_else_is_read_or_warned_about() {
        let parsed = parse(
            "# a comment\nname: a-b_1\ndescription: 'Reviews: changes'\nmodel: m\nthinkingLevel: high\nmaxTurns: 200\ncolour: red",
        )
        .unwrap();
        assert_eq!(parsed.description, "Reviews: changes");
        assert_eq!(parsed.model.as_deref(), Some("m"));
        assert_eq!(parsed.thinking_level.as_deref(), Some("high"));
        assert_eq!((parsed.max_turns, parsed.warnings.len()), (80, 2));
        assert_eq!(parsed.instructions, "Do it.");
        assert_eq!(parse("name: x\ndescription: d").unwrap().max_turns, 24);
    }

    #[test]
    fn what_is_no_definition_is_refused() {
        for wrong in [
            "description: d",
            "name: x",
            "name: ../x\ndescription: d",
            "name: x\nname: y\ndescription: d",
            "name: x\ndescription: d\nnonsense",
            "- Read",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        for text in ["", "name: x", "---\nname: x\ndescription: d\n"] {
            assert!(AgentDefinition::parse(text, AgentSource::User).is_err());
        }
    }
}
