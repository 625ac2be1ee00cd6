use guardian_facts::{AccessKind, Target};

use super::{FloorHit, floor_rule};
use crate::evaluate::View;
use crate::evaluate::cover::{target_text, verb};
use crate::verdict::{Cause, Decision};

floor_rule! {
    /// Denies every access to guardian's own data, configuration, policy files and executables,
    /// wherever they lie, also inside a workspace.
    ///
    /// A call that could change what judges it would end the protection of every later call, and
    /// the data directory holds what other sessions said and did. The session's own scratch
    /// directory is exempt.
    ///
    /// To lift it: not possible. Change guardian's files yourself, outside a tool call.
    "floor.guardian-files", "guardian's own files", Deny, judge,
    examples: [
        ("cat /home/dev/.local/share/guardian/guardian.db", Some(Decision::Deny)),
        ("echo x >> /home/dev/.config/guardian/policy.toml", Some(Decision::Deny)),
        ("cat README.md", None),
    ]
}

fn judge(view: &View<'_>) -> Vec<FloorHit> {
    view.facts
        .accesses
        .iter()
        // running guardian is the business of `floor.runs-guardian`
        .filter(|access| access.kind != AccessKind::Execute)
        .filter_map(|access| {
            let reason = format!(
                "it {} `{}`, which belongs to guardian",
                verb(access),
                target_text(access)
            );
            let hit = match &access.target {
                Target::Exact(path) if path.sensitivity.guardian => FloorHit::deny(reason),
                Target::Pattern { base, .. } if base.sensitivity.guardian => FloorHit::deny(reason),
                Target::Pattern { may_match, .. } if may_match.guardian => FloorHit::ask(format!(
                    "`{}` could match guardian's own files",
                    target_text(access)
                )),
                _ => return None,
            };
            Some(hit.because(Cause::SensitivePath))
        })
        .collect()
}
