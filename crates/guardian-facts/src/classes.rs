//! Path classes of SPEC §3 (secret, sensitive, protected), compiled from `config/default.toml`.

/// The compiled path classes.
#[derive(Debug, Clone)]
pub struct PathClasses {
    _private: (),
}
