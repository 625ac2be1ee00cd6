//! Variables that change what programs execute (SPEC §6.1 "Values"; the list is data).

use crate::defaults::{FactsConfig, VariableMeaning};

/// True when giving this variable this value may change what a later program runs.
/// `value` is `None` when it is not known.
pub(super) fn changes_execution(name: &str, value: Option<&str>) -> bool {
    // The reading itself follows what `IFS` changes, and bash does not import it.
    if name == "IFS" {
        return false;
    }
    let meaning = FactsConfig::embedded().variables.meaning(name, value);
    meaning == VariableMeaning::ChangesExecution
}
