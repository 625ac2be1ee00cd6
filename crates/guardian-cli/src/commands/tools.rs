//! `guardian tools`: which tools there are.

use guardian_host::{HostError, tool_list};

use crate::arguments::JsonOption;
use crate::exit::ExitCode;
use crate::output;

/// Lists the tools.
pub(crate) fn run(options: &JsonOption) -> Result<ExitCode, HostError> {
    let tools = tool_list();
    if options.json {
        output::json(&serde_json::to_value(&tools).map_err(HostError::internal)?);
        return Ok(ExitCode::Done);
    }
    let rows: Vec<_> = tools
        .iter()
        .map(|tool| {
            let first = tool.description.split(". ").next().unwrap_or_default();
            vec![
                tool.name.clone(),
                tool.risk.clone(),
                first.trim_end_matches('.').to_owned(),
            ]
        })
        .collect();
    output::table(&["TOOL", "RISK", "WHAT IT DOES"], &rows);
    Ok(ExitCode::Done)
}
