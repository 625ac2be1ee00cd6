//! Other names that the kernel gives to paths: `/proc/self/root`, `/proc/self/cwd`, `/dev/fd`.
//!
//! `self` is whoever opens the path, not the process that judges it; so these are rewritten before
//! the probe sees them, and what belongs to another process is never followed.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

/// What a path turned out to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Alias {
    /// Nothing special.
    Plain(PathBuf),
    /// The path with every alias of the own process replaced.
    Rewritten(PathBuf),
    /// A descriptor of the own process (`/dev/stdin` = 0).
    Descriptor(u32),
    /// Root, working directory or a descriptor of some process: where it leads is not known.
    OtherProcess,
}

/// How many aliases may lead to each other (the kernel's own bound for links).
const MAX_DEPTH: usize = 40;

/// Descriptors and `/proc` links in `path`; `cwd` is the directory of the process that opens it.
///
/// Only a path that textually starts in `/proc` or `/dev` is looked at; a link that leads there is
/// the probe's business, which must not follow such links (see [`crate::PathProbe::resolve`]).
pub(super) fn rewrite(path: &Path, cwd: &Path) -> Alias {
    let mut current = path.to_owned();
    for round in 0..MAX_DEPTH {
        match first_alias(&current, cwd) {
            Step::Plain if round == 0 => return Alias::Plain(current),
            Step::Plain => return Alias::Rewritten(current),
            Step::Continue(next) => current = next,
            Step::Descriptor(number) => return Alias::Descriptor(number),
            Step::Other => return Alias::OtherProcess,
        }
    }
    Alias::OtherProcess
}

enum Step {
    Plain,
    Continue(PathBuf),
    Descriptor(u32),
    Other,
}

fn first_alias(path: &Path, cwd: &Path) -> Step {
    let mut components = path.components();
    let mut stack: Vec<&OsStr> = Vec::new();
    while let Some(component) = components.next() {
        match component {
            Component::CurDir | Component::RootDir | Component::Prefix(_) => continue,
            Component::ParentDir => {
                stack.pop();
                continue;
            }
            Component::Normal(name) => stack.push(name),
        }
        if stack[0] != "proc" && stack[0] != "dev" {
            return Step::Plain;
        }
        expand_links(&mut stack);
        let rest = components.as_path();
        let is_last = rest.as_os_str().is_empty();
        match special(&stack) {
            None => {}
            Some(Special::Root) => return Step::Continue(Path::new("/").join(rest)),
            Some(Special::Cwd) if is_last => return Step::Continue(cwd.to_owned()),
            Some(Special::Cwd) => return Step::Continue(cwd.join(rest)),
            Some(Special::Descriptor(number)) if is_last => return Step::Descriptor(number),
            Some(Special::Descriptor(_) | Special::Other) => return Step::Other,
        }
    }
    Step::Plain
}

/// Ordinary links of `/proc` and `/dev` behind which `..` means another directory than the text
/// says (`/dev/fd/../root` is `/proc/self/root`).
fn expand_links(stack: &mut Vec<&OsStr>) {
    let target: &[&str] = match stack.as_slice() {
        [dev, fd] if *dev == "dev" && *fd == "fd" => &["proc", "self", "fd"],
        [proc, name] if *proc == "proc" && *name == "thread-self" => {
            &["proc", "self", "task", "self"]
        }
        [proc, name] if *proc == "proc" && *name == "net" => &["proc", "self", "net"],
        _ => return,
    };
    stack.clear();
    stack.extend(target.iter().map(OsStr::new));
}

enum Special {
    Root,
    Cwd,
    Descriptor(u32),
    Other,
}

fn special(stack: &[&OsStr]) -> Option<Special> {
    let names: Vec<&str> = stack
        .iter()
        .map(|name| name.to_str().unwrap_or("?"))
        .collect();
    match names.as_slice() {
        ["dev", "stdin"] => Some(Special::Descriptor(0)),
        ["dev", "stdout"] => Some(Special::Descriptor(1)),
        ["dev", "stderr"] => Some(Special::Descriptor(2)),
        ["proc", process, rest @ ..] => {
            let own = *process == "self";
            if !own && !process.bytes().all(|byte| byte.is_ascii_digit()) {
                return None;
            }
            let rest = match rest {
                ["task", _, rest @ ..] if !rest.is_empty() => rest,
                rest => rest,
            };
            match rest {
                ["root"] if own => Some(Special::Root),
                ["cwd"] if own => Some(Special::Cwd),
                ["fd", number] if own => Some(descriptor(number)),
                ["root" | "cwd"] => Some(Special::Other),
                ["fd" | "map_files", _] => Some(Special::Other),
                _ => None,
            }
        }
        _ => None,
    }
}

fn descriptor(number: &str) -> Special {
    number.parse().map_or(Special::Other, Special::Descriptor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, expected: Alias) {
        assert_eq!(
            rewrite(Path::new(path), Path::new("/w")),
            expected,
            "{path}"
        );
    }

    #[test]
    fn own_root_and_cwd_are_rewritten() {
        check(
            "/proc/self/root/etc/shadow",
            Alias::Rewritten("/etc/shadow".into()),
        );
        check("//proc/./self/root", Alias::Rewritten("/".into()));
        check(
            "/proc/self/cwd/a/../b",
            Alias::Rewritten("/w/a/../b".into()),
        );
        check("/proc/self/task/12/cwd/a", Alias::Rewritten("/w/a".into()));
        check(
            "/proc/thread-self/root/proc/self/cwd/x",
            Alias::Rewritten("/w/x".into()),
        );
        check("/proc/1/../self/root/x", Alias::Rewritten("/x".into()));
        check(
            "/dev/fd/../root/etc/shadow",
            Alias::Rewritten("/etc/shadow".into()),
        );
        check("/proc/net/../root/x", Alias::Rewritten("/x".into()));
        check(
            "/proc/thread-self/../../cwd/x",
            Alias::Rewritten("/w/x".into()),
        );
    }

    #[test]
    fn other_processes_are_never_followed() {
        check("/proc/1/root/etc", Alias::OtherProcess);
        check("/proc/42/cwd", Alias::OtherProcess);
        check("/proc/42/fd/3", Alias::OtherProcess);
        check("/proc/self/fd/3/x", Alias::OtherProcess);
        check("/proc/self/root/proc/1/root/x", Alias::OtherProcess);
    }

    #[test]
    fn aliases_that_lead_to_themselves_end() {
        assert_eq!(
            rewrite(Path::new("/proc/self/cwd"), Path::new("/proc/self/cwd")),
            Alias::OtherProcess
        );
    }

    #[test]
    fn descriptors_are_known() {
        check("/dev/stdin", Alias::Descriptor(0));
        check("/dev/fd/7", Alias::Descriptor(7));
        check("/proc/self/fd/0", Alias::Descriptor(0));
        check("/dev/x/../stderr", Alias::Descriptor(2));
    }

    #[test]
    fn the_rest_is_plain() {
        check(
            "/etc/proc/self/root",
            Alias::Plain("/etc/proc/self/root".into()),
        );
        check("/proc/cpuinfo", Alias::Plain("/proc/cpuinfo".into()));
        check(
            "/proc/self/environ",
            Alias::Plain("/proc/self/environ".into()),
        );
        check("/dev/null", Alias::Plain("/dev/null".into()));
    }
}
