use guardian_facts::{AccessDetail, AccessKind};

use super::targets::vital_target;
use super::{FloorHit, floor_rule};
use crate::evaluate::View;
use crate::evaluate::cover::target_text;
use crate::verdict::Decision;

floor_rule! {
    /// Denies a recursive delete, a rename, or a recursive change of rights or owner whose target
    /// is the root of the file system (`/*` too), the home directory, the workspace root or a
    /// directory above it, or a system directory.
    ///
    /// Nothing brings these back, and no task needs it. What counts is the resolved target: how
    /// the path and the flags are written does not matter.
    ///
    /// To lift it: not possible. Name what lies inside instead: `rm -rf build` asks, it is not
    /// denied.
    "floor.system-delete", "deleting or re-permissioning a whole root", Deny, judge,
    examples: [
        ("rm -rf /", Some(Decision::Deny)),
        ("rm -r --force /*", Some(Decision::Deny)),
        ("rm -rf ~", Some(Decision::Deny)),
        ("cd /home/dev/proj && rm -rf .", Some(Decision::Deny)),
        ("chmod -R 777 /etc", Some(Decision::Deny)),
        ("rm -rf build", None),
    ]
}

fn judge(view: &View<'_>) -> Vec<FloorHit> {
    view.facts
        .accesses
        .iter()
        .filter_map(|access| {
            let action = match (access.kind, access.detail, access.recursive) {
                (_, AccessDetail::Rename, _) => "renames",
                (AccessKind::Delete, _, true) => "deletes",
                (_, AccessDetail::Permissions, true) => "changes the rights of",
                _ => return None,
            };
            let what = vital_target(access, &view.situation.roots)?;
            Some(FloorHit::deny(format!(
                "it {action} `{}`: {what}",
                target_text(access)
            )))
        })
        .collect()
}
