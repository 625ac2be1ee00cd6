//! The environment that programs get: what the text has done to it up to one point.
//!
//! [`State::set`](super::values::State::set) is the only way to give a variable a value, so that
//! nothing that assigns (`read`, `for`, `${x:=y}`, `printf -v`, arithmetic, `local` …) can pass by
//! what is recorded here.

use std::collections::BTreeSet;
use std::rc::Rc;

use crate::defaults::{FactsConfig, VariableMeaning};

/// Variables whose change leaves programs what their names say, but may let them read other
/// settings, or work elsewhere.
const SETTINGS: [&str; 6] = ["HOME", "TMPDIR", "PWD", "OLDPWD", "CDPATH", "GLOBIGNORE"];

/// True when giving this variable this value may change what a later program runs (SPEC §6.1
/// "Values"; the list is data). `value` is `None` when it is not known.
pub(super) fn changes_execution(name: &str, value: Option<&str>) -> bool {
    // The reading itself follows what `IFS` changes, and bash does not import it.
    if name == "IFS" {
        return false;
    }
    let meaning = FactsConfig::embedded().variables.meaning(name, value);
    meaning == VariableMeaning::ChangesExecution
}

/// What a shell got from the one that started it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Inherited {
    /// All of it.
    Kept,
    /// A wrapper that is not known to leave the environment alone stands between.
    Unknown,
    /// Nothing (`env -i`, `exec -c`).
    Cleared,
}

/// Why programs may not be what their names say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Taint {
    pub(super) reason: Rc<str>,
    /// Code ran in this shell that may have done it (`source x`). That code is a fact of its own,
    /// and whoever allows it allows what it does; a changed variable is nobody's.
    pub(super) by_code: bool,
}

/// What the text has done to the environment.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Environment {
    /// Variables that programs get because the text exported them.
    exported: Rc<BTreeSet<String>>,
    /// Variables that programs may get, and that are no longer what the session gave them.
    changed: Rc<BTreeSet<String>>,
    /// Variables that programs may no longer get.
    withheld: Rc<BTreeSet<String>>,
    /// `set -a`: what is assigned from here on is exported.
    pub(super) exports_all: bool,
    pub(super) inherited: Inherited,
    /// Why programs that are started from here on may not be what their names say.
    pub(super) tainted: Option<Taint>,
    /// Why they may read other settings than the session's.
    pub(super) unsettled: Option<Rc<str>>,
}

impl Environment {
    /// The session's own.
    pub(super) fn new() -> Self {
        Self {
            exported: Rc::default(),
            changed: Rc::default(),
            withheld: Rc::default(),
            exports_all: false,
            inherited: Inherited::Kept,
            tainted: None,
            unsettled: None,
        }
    }

    /// Programs may not be what their names say from here on.
    pub(super) fn taint(&mut self, reason: impl Into<String>) {
        self.tainted = Some(Taint {
            reason: Rc::from(reason.into()),
            by_code: false,
        });
    }

    /// The same, because code ran in this shell that is a fact of its own.
    pub(super) fn taint_by_code(&mut self, reason: impl Into<String>) {
        if self.tainted.is_none() {
            self.tainted = Some(Taint {
                reason: Rc::from(reason.into()),
                by_code: true,
            });
        }
    }

    /// The variable gets this value (`None`: not known, or no text).
    pub(super) fn assigned(&mut self, name: &str, value: Option<&str>) {
        self.note_meaning(name, value);
        if self.exports_all {
            insert(&mut self.exported, name);
        }
        if self.exported.contains(name) || may_come_from_outside(name) {
            insert(&mut self.changed, name);
        }
    }

    /// Programs get the variable from here on. `has_changed`: the text gave it a value.
    pub(super) fn export(&mut self, name: &str, has_changed: bool) {
        insert(&mut self.exported, name);
        if has_changed {
            insert(&mut self.changed, name);
        }
    }

    /// Programs no longer get the variable, or not as text.
    pub(super) fn withhold(&mut self, name: &str) {
        self.note_meaning(name, None);
        insert(&mut self.withheld, name);
        insert(&mut self.changed, name);
    }

    /// Nothing of the environment is handed on.
    pub(super) fn clear(&mut self) {
        self.inherited = Inherited::Cleared;
        self.taint("the environment was cleared");
    }

    /// The name means again what it meant in `before`.
    pub(super) fn restore(&mut self, name: &str, before: &Self) {
        for (set, old) in [
            (&mut self.exported, &before.exported),
            (&mut self.changed, &before.changed),
        ] {
            if !old.contains(name) && set.contains(name) {
                Rc::make_mut(set).remove(name);
            }
        }
    }

    /// Variables that programs may no longer get.
    pub(super) fn withheld(&self) -> impl Iterator<Item = &String> {
        self.withheld.iter()
    }

    /// Why the environment of a program started here is not the session's own; `None` when it is.
    pub(super) fn change(&self) -> Option<String> {
        let tainted = self.tainted.as_ref().map(|taint| &taint.reason);
        if let Some(reason) = tainted.or(self.unsettled.as_ref()) {
            return Some(reason.to_string());
        }
        if self.inherited != Inherited::Kept {
            return Some("a wrapper may have changed the environment".to_owned());
        }
        let name = self.changed.first()?;
        Some(format!("`{name}` was changed"))
    }

    /// Both ways lead here.
    pub(super) fn join(self, other: Self) -> Self {
        Self {
            exported: union(self.exported, &other.exported),
            changed: union(self.changed, &other.changed),
            withheld: union(self.withheld, &other.withheld),
            exports_all: self.exports_all || other.exports_all,
            inherited: if self.inherited == other.inherited {
                self.inherited
            } else {
                Inherited::Unknown
            },
            tainted: match (self.tainted, other.tainted) {
                // The worse one.
                (Some(one), Some(other)) if one.by_code => Some(other),
                (one, other) => one.or(other),
            },
            unsettled: self.unsettled.or(other.unsettled),
        }
    }

    fn note_meaning(&mut self, name: &str, value: Option<&str>) {
        if !changes_execution(name, value) {
            return;
        }
        let reason = format!("`{name}` was changed");
        if SETTINGS.contains(&name) {
            self.unsettled = Some(Rc::from(reason));
        } else {
            self.taint(reason);
        }
    }
}

/// The session's environment may have a variable of this name. What it has is not known here; by
/// custom its names are in capitals, but for those that the lists know.
pub(super) fn may_come_from_outside(name: &str) -> bool {
    // Only `[[ … =~ … ]]` sets it, to an array, and arrays are not exported.
    if matches!(name, "BASH_REMATCH" | "IFS") {
        return false;
    }
    name.bytes().any(|byte| byte.is_ascii_uppercase())
        || FactsConfig::embedded().variables.meaning(name, None) != VariableMeaning::Unlisted
}

fn insert(set: &mut Rc<BTreeSet<String>>, name: &str) {
    if !set.contains(name) {
        Rc::make_mut(set).insert(name.to_owned());
    }
}

fn union(left: Rc<BTreeSet<String>>, right: &Rc<BTreeSet<String>>) -> Rc<BTreeSet<String>> {
    if Rc::ptr_eq(&left, right) || left == *right {
        left
    } else {
        Rc::new(left.union(right).cloned().collect())
    }
}
