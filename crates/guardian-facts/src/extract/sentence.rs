//! The one line in which a call is told to people.

use crate::{FactContext, Scope, Target};

/// `src/a.rs in the workspace`, `~/x outside the workspace`.
pub(super) fn place(target: &Target, cx: &FactContext<'_>) -> String {
    match target {
        Target::Exact(path) => {
            let shown = cx.roots.display(&path.path);
            match path.scope {
                Scope::Workspace if shown == "." => "the workspace".to_owned(),
                Scope::Workspace => format!("{shown} in the workspace"),
                Scope::Scratch if shown == "scratch" => "scratch".to_owned(),
                Scope::Scratch => format!("{shown} in scratch"),
                Scope::Outside => format!("{shown} outside the workspace"),
                Scope::ScratchEscape => format!("{shown}, which leaves scratch"),
            }
        }
        Target::Pattern { written, .. } => format!("what matches `{written}`"),
        Target::Unknown { written, .. } => format!("`{written}`, which cannot be resolved"),
    }
}

/// Text of the model for a summary: one line, cut, control characters escaped.
pub(super) fn quoted(text: &str) -> String {
    let mut shown = String::new();
    for (count, character) in text.chars().enumerate() {
        if count == 60 {
            shown.push('…');
            break;
        }
        if character.is_control() {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    format!("`{shown}`")
}
