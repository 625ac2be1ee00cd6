//! Answers that are remembered: the rule that a card offered, appended to the user's policy file
//! with everything that is in it left as it is.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use guardian_redact::one_line_of;
use guardian_review::Decider;
use guardian_rules::{Layer, Suggestion};
use guardian_store::{AuditEntry, AuditEvent, Durability};
use serde_json::json;
use toml_edit::{DocumentMut, Item, TableLike, Value};

use super::{LayerState, Policies, file, hash_of, layers};
use crate::blocking::blocking;
use crate::error::HostError;
use crate::gate::Passage;
use crate::host::Host;

/// One writer at a time in this process.
static WRITING: Mutex<()> = Mutex::new(());

/// Longest comment that says which call a rule was made for, in characters.
const COMMENT_MAX: usize = 160;

/// Appends one `[[rule]]` or `[[accepted]]` table, given as TOML, with a comment above it.
///
/// Everything else of the text stays byte for byte, its line ends and a byte order mark too. A rule
/// whose id is already there is not added again: the id is a hash of what the rule says.
///
/// # Errors
/// When either text is not TOML of that form.
pub fn append_rule(text: &str, table: &str, comment: &str) -> Result<String, String> {
    let (mark, body) = match text.strip_prefix('\u{feff}') {
        Some(body) => ("\u{feff}", body),
        None => ("", text),
    };
    let document = parse(body)?;
    let addition = parse(table)?;
    let mut entries = addition.iter();
    let (Some((key, item)), None) = (entries.next(), entries.next()) else {
        return Err("it is not one table".to_owned());
    };
    let new = item
        .as_array_of_tables()
        .filter(|tables| tables.len() == 1)
        .and_then(|tables| tables.get(0))
        .ok_or_else(|| format!("`{key}` is not a list of tables"))?;
    let comment = one_line_of(comment, COMMENT_MAX);
    let body = match document.get(key) {
        None => push_table(body, table, &comment),
        Some(Item::ArrayOfTables(tables)) => {
            if tables.iter().any(|known| is_there(key, known, new)) {
                return Ok(text.to_owned());
            }
            let kept = without_earlier(body, &document, key, new);
            push_table(kept.as_deref().unwrap_or(body), table, &comment)
        }
        Some(Item::Value(Value::Array(_))) => match push_inline(body, key, new, &comment)? {
            Some(body) => body,
            None => return Ok(text.to_owned()),
        },
        Some(_) => return Err(format!("`{key}` is not a list of tables")),
    };
    Ok(format!("{mark}{body}"))
}

fn parse(text: &str) -> Result<DocumentMut, String> {
    text.parse()
        .map_err(|error: toml_edit::TomlError| error.message().to_owned())
}

/// The line end that most lines of a text have.
fn line_end(text: &str) -> &'static str {
    let all = text.matches('\n').count();
    if text.matches("\r\n").count() * 2 > all {
        "\r\n"
    } else {
        "\n"
    }
}

/// The table behind everything that is there.
fn push_table(text: &str, table: &str, comment: &str) -> String {
    let end = line_end(text);
    let mut after = text.to_owned();
    if !after.is_empty() && !after.ends_with('\n') {
        after.push_str(end);
    }
    if !after.trim().is_empty() {
        after.push_str(end);
    }
    for line in std::iter::once(format!("# {comment}").as_str()).chain(table.trim().lines()) {
        after.push_str(line);
        after.push_str(end);
    }
    after
}

/// The text without an earlier definition of the same command, whose place the new one takes;
/// `None` when there is none.
fn without_earlier(
    text: &str,
    document: &DocumentMut,
    key: &str,
    new: &dyn TableLike,
) -> Option<String> {
    let mut document = document.clone();
    let tables = document.get_mut(key)?.as_array_of_tables_mut()?;
    let before = tables.len();
    if key == "accepted" {
        tables.retain(|old| !is_same_command(old, new));
    }
    if tables.len() == before {
        return None;
    }
    Some(with_line_ends(&document.to_string(), text))
}

/// The table among those of an inline list; `None` when it is there already.
fn push_inline(
    text: &str,
    key: &str,
    new: &toml_edit::Table,
    comment: &str,
) -> Result<Option<String>, String> {
    let mut document = parse(text)?;
    let Some(tables) = document.get_mut(key).and_then(Item::as_array_mut) else {
        return Err(format!("`{key}` is not a list of tables"));
    };
    let of = |value: &Value, test: &dyn Fn(&dyn TableLike) -> bool| {
        value
            .as_inline_table()
            .is_some_and(|table| test(table as &dyn TableLike))
    };
    if tables
        .iter()
        .any(|old| of(old, &|old| is_there(key, old, new)))
    {
        return Ok(None);
    }
    if key == "accepted" {
        tables.retain(|old| !of(old, &|old| is_same_command(old, new)));
    }
    let mut inline = Value::InlineTable(new.clone().into_inline_table());
    inline
        .decor_mut()
        .set_prefix(format!("\n    # {comment}\n    "));
    tables.push_formatted(inline);
    Ok(Some(with_line_ends(&document.to_string(), text)))
}

/// What was written with plain line feeds, with the line ends of the text that it came from.
fn with_line_ends(written: &str, like: &str) -> String {
    let plain = written.replace("\r\n", "\n");
    match line_end(like) {
        "\r\n" => plain.replace('\n', "\r\n"),
        _ => plain,
    }
}

/// The same rule, or the same definition of the same command.
fn is_there(key: &str, known: &dyn TableLike, new: &dyn TableLike) -> bool {
    let name = if key == "rule" { "id" } else { "key" };
    let of = |table: &dyn TableLike| table.get(name).and_then(Item::as_str).map(str::to_owned);
    of(known).is_some() && of(known) == of(new)
}

/// The same command of the same project, by whatever definition.
fn is_same_command(one: &dyn TableLike, other: &dyn TableLike) -> bool {
    ["project", "command"].iter().all(|name| {
        let text =
            |table: &dyn TableLike| table.get(name).and_then(Item::as_str).map(str::to_owned);
        text(one).is_some() && text(one) == text(other)
    })
}

impl Policies {
    /// Writes the rule to the user's file and puts it in force for every session: the operator
    /// gave it, so nothing waits. Blocking.
    fn append(&self, suggestion: &Suggestion, comment: &str) -> Result<(), String> {
        let _writing = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
        let path = self.reader.places.user.clone();
        let before = match file::WatchedFile::new(path.clone(), file::Owner::User).look() {
            file::FileState::Missing => None,
            file::FileState::Text(text) => Some(text),
            file::FileState::Unreadable(reason) => return Err(reason),
        };
        let text = before.as_deref().unwrap_or("version = 1\n");
        let home = &self.reader.places.home;
        let check = |text: &str| {
            layers::check_text(&self.judge, Layer::User, &path, text, None, home)
                .map_err(|errors| errors.to_string())
        };
        // A rule must not be what makes a broken file count again.
        check(text)?;
        let after = append_rule(text, &suggestion.toml, comment)?;
        check(&after)?;
        replace(&path, &after).map_err(|error| error.to_string())?;
        let after: Arc<str> = after.into();
        self.amend(|inputs| {
            for layer in &mut inputs.layers {
                // Only versions that say what the file said before: in others the change waits.
                let said = match layer.state {
                    LayerState::Absent => None,
                    LayerState::InForce => layer.text.clone(),
                    LayerState::LastGood | LayerState::Unreadable => continue,
                };
                if layer.layer == Layer::User && said == before {
                    layer.state = LayerState::InForce;
                    layer.hash = Some(hash_of(&after));
                    layer.text = Some(Arc::clone(&after));
                }
            }
        });
        Ok(())
    }
}

/// Replaces a file as a whole or not at all; a link stays a link.
fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    let target: PathBuf = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let directory = target
        .parent()
        .ok_or_else(|| std::io::Error::other("the policy file has no directory"))?;
    std::fs::create_dir_all(directory)?;
    let temporary = directory.join(format!(".policy.toml.{}.new", std::process::id()));
    let written = (|| {
        // Left over from a process of the same number that was killed.
        let _ = std::fs::remove_file(&temporary);
        let mut file = std::fs::File::create_new(&temporary)?;
        match std::fs::metadata(&target) {
            Ok(known) => file.set_permissions(known.permissions())?,
            Err(_) => file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))?,
        }
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&temporary, &target)
    })();
    if written.is_err() {
        let _ = std::fs::remove_file(&temporary);
    }
    written
}

/// Replaces a policy file as a whole or not at all; a link stays a link.
///
/// # Errors
/// `INTERNAL` when it cannot be written; the file is then as it was.
pub fn write_policy_file(file: &Path, text: &str) -> Result<(), HostError> {
    replace(file, text)
        .map_err(|error| HostError::internal(format!("`{}`: {error}", file.display())))
}

impl Host {
    /// Keeps the rule that an answer chose, then decides anew about everything that waits.
    ///
    /// A rule that cannot be kept leaves the answer as good for this call: it is said in the log
    /// and on record, and the next call asks again.
    pub(crate) async fn remember_rule(
        &self,
        passage: &Passage,
        suggestion: &Suggestion,
        by: &Decider,
    ) -> Result<(), HostError> {
        if *by != Decider::Human {
            return Ok(());
        }
        let comment = format!(
            "{}: {}",
            date(self.config.clock.now().0),
            self.redactor.redact_text(passage.record.summary())
        );
        let policies = Arc::clone(&self.policies);
        let chosen = suggestion.clone();
        let added = blocking(move || policies.append(&chosen, &comment))
            .await
            .map_err(|_| HostError::internal("the policy file could not be written"))?;
        if let Err(reason) = &added {
            tracing::error!(reason, "the rule that was chosen could not be kept");
        }
        let entry = AuditEntry {
            session: Some(passage.session_id()?),
            turn: passage.request.turn_id.clone(),
            tool_call: Some(passage.request.tool_call_id.clone()),
            tool: Some(passage.request.tool_name.clone()),
            decided_by: Some("human".to_owned()),
            ok: Some(added.is_ok()),
            detail: Some(json!({
                "change": "rule-added",
                "rule": suggestion.toml,
                "problem": added.err(),
            })),
            ..AuditEntry::new(AuditEvent::Policy)
        };
        self.with_store(move |store| store.append_audit(entry, Durability::Machine).map(drop))
            .await?;
        self.re_evaluate(None).await;
        Ok(())
    }
}

/// A day, for people.
fn date(milliseconds: i64) -> String {
    jiff::Timestamp::from_millisecond(milliseconds)
        .map(|time| time.strftime("%Y-%m-%d").to_string())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: &str = "[[rule]]\nid = \"always-ls\"\neffect = \"allow\"\ncommand = [\"ls\"]\n";

    #[test]
    fn a_rule_is_appended_and_the_rest_stays_as_it_is() {
        let text = "# mine\nversion   =  1 # one\n\n[[rule]]\nid='a'\neffect=\"deny\"   # why\ncommand=[\"x\"]\n\n[review]\nchain = []\n";
        let after = append_rule(text, RULE, "2026-11-30: lists files").unwrap();
        insta::assert_snapshot!(after);
        for line in text.lines() {
            assert!(after.contains(line), "{line}");
        }
        assert_eq!(append_rule(&after, RULE, "again").unwrap(), after);
    }

    #[test]
    fn line_ends_a_mark_and_the_last_comment_stay() {
        for text in [
            "version = 1\r\npreset = \"standard\"\r\n# c\r\n",
            "\u{feff}version = 1\n\n[[rule]]\nid = \"a\"\neffect = \"deny\"\ncommand = [\"x\"]\n# the end",
            "version = 1\r\n[[rule]]\r\nid = \"a\"\r\n# of a\r\n\r\n",
        ] {
            let after = append_rule(text, RULE, "why").unwrap();
            let added = after.strip_prefix(text).unwrap();
            let end = line_end(text);
            assert!(
                added.contains(&format!("# why{end}[[rule]]{end}id")),
                "{added:?}"
            );
            assert_eq!(after.contains("\r\n"), end == "\r\n");
            assert!(
                !added
                    .replace("\r\n", "")
                    .contains(if end == "\n" { '\r' } else { '\n' })
            );
        }
    }

    #[test]
    fn another_definition_takes_the_place_of_the_earlier_one() {
        let table = |key: &str| {
            format!("[[accepted]]\nproject = \"/p\"\ncommand = \"make\"\nkey = \"{key}\"\n")
        };
        let text = append_rule("version = 1\r\n", &table("a"), "one").unwrap();
        let text = append_rule(&text, &table("b"), "two").unwrap();
        assert_eq!(text.matches("[[accepted]]").count(), 1, "{text}");
        assert!(text.contains("key = \"b\"\r\n"), "{text:?}");
    }

    #[test]
    fn a_file_with_inline_rules_keeps_its_form() {
        let text =
            "version = 1\nrule = [\n    { id = \"a\", effect = \"deny\", command = [\"x\"] },\n]\n";
        insta::assert_snapshot!(append_rule(text, RULE, "why").unwrap());
    }

    #[test]
    fn a_call_cannot_write_toml_through_the_comment() {
        let evil = "runs x\n[[rule]]\r\nid = \"evil\"\u{202e}";
        let after = append_rule("version = 1\n", RULE, evil).unwrap();
        assert_eq!(
            after.matches("[[rule]]").count(),
            2,
            "one of them in the comment"
        );
        let parsed: toml::Table = after.parse().unwrap();
        assert_eq!(parsed["rule"].as_array().unwrap().len(), 1);
        assert!(!after.contains('\u{202e}'));
    }
}
