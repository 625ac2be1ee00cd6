//! Which versions of the policy hold for a session while its files change under it.
//!
//! A change that only tightens applies before the next decision. One that loosens anything waits
//! until the operator confirms it: until then the earlier version holds as well, so that the file
//! of a repository can be deleted and its denials stay.

use std::sync::Arc;

use guardian_rules::{Layer, Policy, PolicyChange};

use super::layers::Inputs;

/// Unconfirmed versions that are kept; beyond it everything is asked about until the operator
/// confirms.
const KEPT_MAX: usize = 16;

/// A compiled policy with what it was compiled from.
#[derive(Debug, Clone)]
pub(super) struct Compiled {
    pub(super) inputs: Inputs,
    pub(super) policy: Arc<Policy>,
}

/// What a look at the files meant for the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    /// The first look.
    Loaded,
    /// Nothing that decides differently.
    Same,
    /// In force at once.
    Tightened,
    /// It loosens something and waits; as far as it tightens, it is in force.
    Waits,
}

impl Change {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Loaded => "loaded",
            Self::Same => "same",
            Self::Tightened => "tightened",
            Self::Waits => "waiting",
        }
    }
}

/// The versions that hold for one session.
#[derive(Debug, Clone, Default)]
pub(super) struct Held {
    /// The files as they are; `None` before the first look.
    pub(super) current: Option<Compiled>,
    /// Earlier versions that the current one would loosen, oldest first.
    pub(super) kept: Vec<Compiled>,
    /// The operator's rules of the session.
    pub(super) rules: Option<Arc<str>>,
    /// What the store had was looked at.
    pub(super) recalled: bool,
    /// Of what the store has; `None` when it has nothing.
    pub(super) revision: Option<i64>,
}

impl Held {
    /// Takes the files as they are now.
    pub(super) fn take(&mut self, newer: Compiled) -> Change {
        let Some(current) = self.current.take() else {
            self.current = Some(newer);
            return Change::Loaded;
        };
        let waited = !self.kept.is_empty();
        let same = current.policy.version() == newer.policy.version();
        if !same {
            self.kept.push(current);
        }
        self.kept
            .retain(|old| old.policy.change_to(&newer.policy) == PolicyChange::Loosens);
        let mut newer = newer;
        if self.kept.len() > KEPT_MAX {
            self.kept.remove(KEPT_MAX);
            let policy = newer.policy.as_ref().clone();
            newer.policy = Arc::new(policy.with_unreadable_layer(Layer::Session));
        }
        self.current = Some(newer);
        match (self.kept.is_empty(), same, waited) {
            (true, true, false) => Change::Same,
            (true, ..) => Change::Tightened,
            (false, true, true) => Change::Same,
            (false, ..) => Change::Waits,
        }
    }

    /// The operator takes the files as they are: nothing earlier holds any more. True when
    /// something had waited.
    pub(super) fn confirm(&mut self) -> bool {
        let waited = !self.kept.is_empty();
        self.kept.clear();
        waited
    }

    pub(super) fn waits(&self) -> bool {
        !self.kept.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use guardian_rules::{CompileContext, PolicyText, Preset, Trust};

    use super::*;

    fn compiled(rules: &[(&str, &str)]) -> Compiled {
        let rules: String = rules
            .iter()
            .map(|(effect, program)| {
                format!("[[rule]]\nid = \"{effect}-{program}\"\neffect = \"{effect}\"\ncommand = [\"{program}\"]\n")
            })
            .collect();
        let text = PolicyText {
            layer: Layer::User,
            name: "user.toml".to_owned(),
            text: format!("version = 1\n{rules}"),
            trust: Trust::Trusted,
        };
        let cx = CompileContext {
            workspace: None,
            home: Path::new("/home/dev"),
            probe: None,
        };
        Compiled {
            inputs: Inputs::builtin(Preset::Standard),
            policy: Arc::new(Policy::compile(&[text], Preset::Standard, &cx).unwrap()),
        }
    }

    #[test]
    fn what_tightens_applies_at_once_and_what_loosens_waits() {
        let mut held = Held::default();
        assert_eq!(held.take(compiled(&[("deny", "rm")])), Change::Loaded);
        assert_eq!(held.take(compiled(&[("deny", "rm")])), Change::Same);
        let both = [("deny", "rm"), ("deny", "dd")];
        assert_eq!(held.take(compiled(&both)), Change::Tightened);
        assert!(!held.waits());
        assert_eq!(held.take(compiled(&[])), Change::Waits);
        assert_eq!(held.kept.len(), 1, "both denials hold");
        assert_eq!(held.take(compiled(&[])), Change::Same);
        assert_eq!(held.take(compiled(&[("allow", "ls")])), Change::Waits);
        assert!(held.confirm());
        assert_eq!(held.take(compiled(&[("allow", "ls")])), Change::Same);
    }

    #[test]
    fn a_file_that_is_put_back_leaves_nothing_waiting() {
        let mut held = Held::default();
        held.take(compiled(&[("deny", "rm")]));
        held.take(compiled(&[("deny", "rm"), ("allow", "ls")]));
        assert!(held.waits());
        assert_eq!(held.take(compiled(&[("deny", "rm")])), Change::Tightened);
        assert!(!held.waits());
    }

    #[test]
    fn too_many_unconfirmed_versions_ask_about_everything() {
        let mut held = Held::default();
        for number in 0..40 {
            let program = format!("p{number}");
            held.take(compiled(&[("deny", &program)]));
        }
        assert_eq!(held.kept.len(), KEPT_MAX);
        let current = held.current.unwrap().policy;
        let plain = compiled(&[("deny", "p39")]).policy;
        assert_ne!(current.version(), plain.version());
    }
}
