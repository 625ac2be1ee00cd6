//! Policy files as text: one rule of them, and their layout.

use toml_edit::{DocumentMut, Item};

use crate::error::{ErrorCode, HostError};

/// The text of the rule with this id, with the comments above it; `None` when there is none.
#[must_use]
pub fn rule_text(text: &str, id: &str) -> Option<String> {
    let document: DocumentMut = text.parse().ok()?;
    let rules = document.get("rule")?;
    if let Some(tables) = rules.as_array_of_tables() {
        let rule = tables
            .iter()
            .find(|rule| rule.get("id").and_then(Item::as_str) == Some(id))?;
        let comment = rule.decor().prefix().and_then(|prefix| prefix.as_str());
        let comment = comment.unwrap_or_default().trim_start();
        return Some(format!("{comment}[[rule]]\n{rule}").trim_end().to_owned() + "\n");
    }
    let inline = rules.as_array()?.iter().find(|rule| {
        let id_of = rule.as_inline_table().and_then(|rule| rule.get("id"));
        id_of.and_then(toml_edit::Value::as_str) == Some(id)
    })?;
    Some(format!("{}\n", inline.to_string().trim()))
}

/// The text in the usual layout: no blanks at line ends, one blank line before each table, one
/// blank around `=`. Comments and values stay as they are.
///
/// # Errors
/// `POLICY_INVALID` when the text is not TOML.
pub fn format_policy(text: &str) -> Result<String, HostError> {
    let before: toml::Table = text.parse().map_err(|error: toml::de::Error| {
        HostError::new(
            ErrorCode::PolicyInvalid,
            format!("not TOML: {}", error.message()),
        )
    })?;
    let formatted = lay_out(text);
    // Layout must not change a value; a text that it would change (a line of a string that looks
    // like a table) stays as it is.
    match formatted.parse::<toml::Table>() {
        Ok(after) if after == before => Ok(formatted),
        _ => Ok(text.to_owned()),
    }
}

fn lay_out(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut in_string: Option<&str> = None;
    for line in text.lines() {
        if let Some(quote) = in_string {
            lines.push(line.to_owned());
            if line.matches(quote).count() % 2 == 1 {
                in_string = None;
            }
            continue;
        }
        let line = line.trim_end();
        for quote in ["\"\"\"", "'''"] {
            if line.matches(quote).count() % 2 == 1 {
                in_string = Some(quote);
            }
        }
        let blank = line.is_empty();
        if blank && lines.last().is_none_or(String::is_empty) {
            continue;
        }
        if line.starts_with('[') {
            // The comments right above belong to the table.
            let comments = lines
                .iter()
                .rev()
                .take_while(|line| line.starts_with('#'))
                .count();
            let at = lines.len() - comments;
            if at > 0 && !lines[at - 1].is_empty() {
                lines.insert(at, String::new());
            }
        }
        lines.push(spaced(line));
    }
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    let mut text = lines.join("\n");
    text.push('\n');
    text
}

/// `key=value` with one blank on each side; other lines as they are.
fn spaced(line: &str) -> String {
    let Some((key, value)) = line.split_once('=') else {
        return line.to_owned();
    };
    let name = key.trim_end();
    let is_key = !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'));
    if is_key {
        format!("{name} = {}", value.trim_start())
    } else {
        line.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layout_changes_blanks_only() {
        let text = "version=1   \n\n\n\n# about a\n[[rule]]\nid   =  'a'\neffect='deny' # why\nreason = \"\"\"\n  x = 1   \n[[no]]\n\"\"\"\n[[rule]]\nid='b'\n\n\n";
        let formatted = format_policy(text).unwrap();
        insta::assert_snapshot!(formatted);
        assert_eq!(
            format_policy(&formatted).unwrap(),
            formatted,
            "formatting is final"
        );
        assert!(format_policy("version =").is_err());
    }

    #[test]
    fn a_rule_is_found_with_its_comment() {
        let text = "version = 1\n\n# keeps pushes away\n[[rule]]\nid = \"a\"\neffect = \"deny\" # always\n\n[[rule]]\nid = \"b\"\neffect = \"ask\"\n";
        insta::assert_snapshot!(rule_text(text, "a").unwrap(), @r#"
        # keeps pushes away
        [[rule]]
        id = "a"
        effect = "deny" # always
        "#);
        assert_eq!(rule_text(text, "c"), None);
        let inline = "version = 1\nrule = [{ id = \"x\", effect = \"deny\" }]\n";
        assert_eq!(
            rule_text(inline, "x").unwrap(),
            "{ id = \"x\", effect = \"deny\" }\n"
        );
    }
}
