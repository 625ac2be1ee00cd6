//! The command catalogue: what programs do, by name, subcommand and flag, as data
//! (`config/commands/*.toml`) plus a small real grammar where data is not enough.

use crate::command::{Invocation, Judgement};

/// The compiled catalogue.
pub struct Catalogue {
    _private: (),
}

impl Catalogue {
    /// Judges one command line. An unlisted program is opaque.
    #[must_use]
    pub fn judge(&self, invocation: &Invocation<'_>) -> Judgement {
        Judgement::opaque(
            "unlisted-program",
            format!("`{}` is not listed", invocation.name),
        )
    }
}
