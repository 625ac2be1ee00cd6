//! Keys that people look for in a policy file and that are set elsewhere. A key that is accepted
//! and does nothing would let its author believe that something is in force.

use std::ops::Range;

use toml::de::DeTable;

/// A key at the top of a policy file that no layer may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Misplaced {
    pub(super) key: &'static str,
    /// Where it is set, as a hint.
    pub(super) instead: &'static str,
    pub(super) span: Range<usize>,
}

const BY_SETTING: &str = "it is a setting of guardian, the same for all policies: the client that \
operates guardian sets it (`settings.set`); `guardian doctor` says what is in force";

const KEYS: &[(&str, &str)] = &[
    ("sandbox", BY_SETTING),
    ("defaultPermissionMode", BY_SETTING),
    ("defaultCommandShell", BY_SETTING),
    (
        "permission_mode",
        "it is a session's own, or the setting `defaultPermissionMode` (`settings.set`); within a \
         `[[rule]]` it says when the rule counts",
    ),
    (
        "review",
        "who answers is in the section `[review]` of config.toml beside your policy file",
    ),
    (
        "audit",
        "the record is in the section `[audit]` of config.toml beside your policy file",
    ),
    (
        "env",
        "which variables commands get is in the section `[env]` (`pass`, `block`) of config.toml \
         beside your policy file",
    ),
    (
        "commands",
        "the bounds of commands are in the section `[commands]` of config.toml beside your policy \
         file; a program that guardian does not know is allowed by a `[[rule]]` with `command`",
    ),
    (
        "mcp",
        "guardian starts no MCP servers yet; the tools of a client's are named in a `[[rule]]` \
         (`tool = \"mcp_server_*\"`)",
    ),
    (
        "plugins",
        "guardian starts no plugins yet; the tools of a client's are named in a `[[rule]]` \
         (`tool = \"plugin_*\"`)",
    ),
];

/// The misplaced keys of a text, in their order; none in a text that is not TOML.
pub(super) fn misplaced_keys(text: &str) -> Vec<Misplaced> {
    let Ok(table) = DeTable::parse(text) else {
        return Vec::new();
    };
    let mut found: Vec<Misplaced> = table
        .get_ref()
        .keys()
        .filter_map(|written| {
            let (key, instead) = KEYS
                .iter()
                .find(|(key, _)| *key == written.get_ref().as_ref())?;
            Some(Misplaced {
                key,
                instead,
                span: written.span(),
            })
        })
        .collect();
    found.sort_by_key(|one| one.span.start);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_at_the_top_only_and_in_their_order() {
        let text = "version = 1\nsandbox = \"required\"\n[[rule]]\nenv = 1\n[env]\npass = []\n";
        let found: Vec<(&str, &str)> = misplaced_keys(text)
            .iter()
            .map(|one| (one.key, &text[one.span.clone()]))
            .collect();
        assert_eq!(found, [("sandbox", "sandbox"), ("env", "env")]);
        assert_eq!(misplaced_keys("version = "), []);
    }

    #[test]
    fn no_key_is_one_that_a_policy_file_has() {
        let schema = super::super::policy_schema();
        for (key, _) in KEYS {
            assert!(schema["properties"].get(key).is_none(), "{key}");
        }
    }
}
