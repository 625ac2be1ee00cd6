//! The confinement as a profile of `sandbox-exec` on macOS: text only. It has not run anywhere
//! yet; nothing uses it until it has.

use std::fmt::Write as _;
use std::path::Path;

use super::{NetworkAccess, SandboxRequest};

/// A profile for a command in `workspace` with `scratch`. Later rules win over earlier ones.
///
/// Every path must be canonical: `sandbox-exec` compares with where a file really is (`/tmp` is
/// `/private/tmp` there).
#[must_use]
pub fn profile(request: &SandboxRequest, workspace: &Path, scratch: &Path) -> String {
    let mut text = String::from(
        "(version 1)\n\
         (deny default)\n\
         (allow process-exec process-fork)\n\
         (allow signal (target same-sandbox))\n\
         (allow sysctl-read)\n\
         (allow mach-lookup\n\
         \x20 (global-name \"com.apple.system.opendirectoryd.libinfo\")\n\
         \x20 (global-name \"com.apple.system.logger\"))\n\
         (allow file-read*)\n\
         (allow file-write* (subpath \"/private/tmp\") (subpath \"/private/var/folders\"))\n\
         (allow file-write-data (literal \"/dev/null\") (literal \"/dev/zero\") (literal \"/dev/tty\"))\n",
    );
    // Writing to a String does not fail.
    let mut rule = |verdict: &str, operation: &str, filter: &str, path: &Path| {
        let _ = writeln!(text, "({verdict} {operation} ({filter} {}))", quoted(path));
    };
    for path in &request.masked {
        rule("deny", "file-read* file-write*", "subpath", path);
    }
    for path in [workspace, scratch] {
        rule("allow", "file-read* file-write*", "subpath", path);
    }
    for path in &request.writable {
        rule("allow", "file-read* file-write*", "subpath", path);
    }
    // Again, for those that lie inside a writable tree.
    for path in request
        .masked
        .iter()
        .filter(|path| path.starts_with(workspace))
    {
        rule("deny", "file-read* file-write*", "subpath", path);
    }
    for path in &request.read_only {
        rule("deny", "file-write*", "subpath", path);
        // Nor may a directory on the way be moved out of the way.
        for above in path
            .ancestors()
            .skip(1)
            .take_while(|above| *above != workspace && above.starts_with(workspace))
        {
            rule("deny", "file-write-unlink", "literal", above);
        }
    }
    for path in &request.named {
        rule("allow", "file-read*", "subpath", path);
    }
    text.push_str(match request.network {
        NetworkAccess::Off => "(deny network*)\n(allow network* (local unix) (remote unix-socket (subpath \"/private/tmp\")))\n",
        NetworkAccess::On => "(allow network*)\n(allow system-socket)\n",
    });
    text
}

/// A path as a string of the profile language.
fn quoted(path: &Path) -> String {
    let mut text = String::from("\"");
    for character in path.to_string_lossy().chars() {
        if matches!(character, '"' | '\\') {
            text.push('\\');
        }
        text.push(character);
    }
    text.push('"');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(network: NetworkAccess) -> SandboxRequest {
        SandboxRequest {
            network,
            writable: vec!["/Users/dev/Library/Caches".into()],
            masked: vec![
                "/Users/dev/.ssh".into(),
                "/Users/dev/proj/.env".into(),
                "/Users/dev/Library/Application Support/guardian".into(),
            ],
            named: vec!["/Users/dev/.ssh/config".into()],
            read_only: vec![
                "/Users/dev/proj/.git/hooks".into(),
                "/Users/dev/proj/.envrc".into(),
            ],
            ..SandboxRequest::off()
        }
    }

    #[test]
    fn a_profile_without_network() {
        insta::assert_snapshot!(profile(
            &request(NetworkAccess::Off),
            Path::new("/Users/dev/proj"),
            Path::new("/Users/dev/Library/Application Support/guardian/scratch/s1"),
        ));
    }

    #[test]
    fn a_profile_with_network_differs_in_the_network_only() {
        let (off, on) = (NetworkAccess::Off, NetworkAccess::On);
        let of = |network| profile(&request(network), Path::new("/w"), Path::new("/s"));
        let (off, on) = (of(off), of(on));
        let differing: Vec<&str> = on.lines().filter(|line| !off.contains(line)).collect();
        assert_eq!(differing, ["(allow network*)", "(allow system-socket)"]);
    }

    #[test]
    fn a_path_cannot_end_its_string() {
        assert_eq!(
            quoted(Path::new("/a\") (allow default) (\\")),
            r#""/a\") (allow default) (\\""#
        );
    }
}
