use guardian_facts::{AccessDetail, Target};

use super::targets::is_raw_device;
use super::{FloorHit, floor_rule};
use crate::evaluate::View;
use crate::evaluate::cover::target_text;
use crate::verdict::Decision;

floor_rule! {
    /// Denies writes to block devices, to `/dev/mem`, and to the kernel's settings in `/proc/sys`
    /// and `/sys`.
    ///
    /// A disk that was written raw has lost its file system; kernel settings change the machine
    /// for everybody.
    ///
    /// To lift it: not possible.
    "floor.raw-device", "writing to devices and kernel settings", Deny, judge,
    examples: [
        ("mkfs.ext4 /dev/sda1", Some(Decision::Deny)),
        ("dd if=a.img of=/dev/nvme0n1", Some(Decision::Deny)),
        ("echo x > /proc/sys/kernel/hostname", Some(Decision::Deny)),
        ("dd if=/dev/zero of=a.img count=1", None),
        ("echo x > /dev/null", None),
    ]
}

fn judge(view: &View<'_>) -> Vec<FloorHit> {
    view.facts
        .accesses
        .iter()
        .filter(|access| access.is_change())
        .filter(|access| {
            let raw_in_dev = access.detail == AccessDetail::Device
                && matches!(&access.target, Target::Exact(path)
                    if path.path.starts_with("/dev") && !is_harmless(&path.path));
            raw_in_dev || is_raw_device(access)
        })
        .map(|access| {
            FloorHit::deny(format!(
                "it writes to `{}`, a device or kernel setting",
                target_text(access)
            ))
        })
        .collect()
}

fn is_harmless(path: &std::path::Path) -> bool {
    [
        "/dev/null",
        "/dev/zero",
        "/dev/full",
        "/dev/tty",
        "/dev/stdout",
        "/dev/stderr",
        "/dev/fd",
        "/dev/shm",
    ]
    .iter()
    .any(|harmless| path.starts_with(harmless))
}
