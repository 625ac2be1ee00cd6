use guardian_facts::Target;

use super::{FloorHit, floor_rule};
use crate::evaluate::View;
use crate::evaluate::cover::{target_text, verb};
use crate::verdict::{Cause, Decision};

floor_rule! {
    /// Denies every access to a path that holds keys or credentials of the user (`~/.ssh`,
    /// `~/.gnupg`, `~/.aws`, `~/.kube`, key chains, browser profiles, shell history,
    /// `/etc/shadow`, `/proc/*/environ` …), in every mode, also inside a workspace.
    ///
    /// No coding task needs them, and what a model has read may be sent anywhere.
    ///
    /// To lift it: an allow rule of the managed or the user's file that names the path turns the
    /// denial into a question.
    "floor.sensitive-path", "sensitive paths", Deny, judge,
    examples: [
        ("cat ~/.ssh/id_ed25519", Some(Decision::Deny)),
        ("cat ~/.aws/credentials", Some(Decision::Deny)),
        ("cat README.md", None),
    ]
}

fn judge(view: &View<'_>) -> Vec<FloorHit> {
    view.facts
        .accesses
        .iter()
        .filter_map(|access| {
            let hit = match &access.target {
                Target::Exact(path) if path.sensitivity.sensitive => {
                    if view.policy.names_sensitive(view, access) {
                        FloorHit::ask(format!(
                            "it {} `{}`, a sensitive path that a rule lets you decide about",
                            verb(access),
                            target_text(access)
                        ))
                    } else {
                        FloorHit::deny(format!(
                            "it {} `{}`, a sensitive path; an allow rule in your policy that names the path would make it a question",
                            verb(access),
                            target_text(access)
                        ))
                    }
                }
                Target::Pattern { base, .. } if base.sensitivity.sensitive => FloorHit::deny(format!(
                    "it {} `{}`, in a sensitive directory",
                    verb(access),
                    target_text(access)
                )),
                Target::Pattern { may_match, .. } if may_match.sensitive => {
                    FloorHit::ask(format!("`{}` could match a sensitive path", target_text(access)))
                }
                _ => return None,
            };
            Some(hit.because(Cause::SensitivePath))
        })
        .collect()
}
