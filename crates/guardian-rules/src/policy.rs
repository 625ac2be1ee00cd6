//! Compiled policy.

/// Where a rule comes from, strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Layer {
    /// Built in.
    Floor,
    /// `/etc/guardian/policy.toml`.
    Managed,
    /// The user's file.
    User,
    /// `.guardian/policy.toml` of the workspace.
    Workspace,
    /// Given by the operator for one session.
    Session,
}

/// Compiled rules of all layers.
#[derive(Debug, Clone)]
pub struct Policy {
    _private: (),
}
