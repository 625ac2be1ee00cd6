//! JSON Schemas.

use std::path::PathBuf;

use guardian_facts::FactsV1;
use guardian_facts::input::tool_catalogue;
use guardian_review::ReviewConfig;
use guardian_review::wire::{PostedV1, RequestV1};
use guardian_rules::{VerdictV1, policy_schema};
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::Value;

use super::Generated;

/// The arguments of each built-in tool.
pub(crate) fn tools() -> anyhow::Result<Vec<Generated>> {
    tool_catalogue()
        .iter()
        .map(|tool| value(&format!("tools/{}.schema.json", tool.name), &tool.schema))
        .collect()
}

/// Policy files.
pub(crate) fn policy() -> anyhow::Result<Vec<Generated>> {
    Ok(vec![value("policy.schema.json", &policy_schema())?])
}

/// Verdicts as embedders keep them.
pub(crate) fn verdict() -> anyhow::Result<Vec<Generated>> {
    Ok(vec![file::<VerdictV1>("verdict.schema.json")?])
}

/// Facts as embedders keep them.
pub(crate) fn facts() -> anyhow::Result<Vec<Generated>> {
    Ok(vec![file::<FactsV1>("facts.schema.json")?])
}

/// What `permissions.request` carries, and what a command reviewer reads.
pub(crate) fn review() -> anyhow::Result<Vec<Generated>> {
    Ok(vec![
        file::<RequestV1>("review/request.schema.json")?,
        file::<PostedV1>("wire/permissions.request.schema.json")?,
    ])
}

/// The `review` section of the user's configuration.
pub(crate) fn review_config() -> anyhow::Result<Vec<Generated>> {
    Ok(vec![file::<ReviewConfig>("config/review.schema.json")?])
}

/// The schema of one type, in `schemas/`.
fn file<T: JsonSchema>(name: &str) -> anyhow::Result<Generated> {
    value(
        name,
        SchemaGenerator::default()
            .into_root_schema_for::<T>()
            .as_value(),
    )
}

/// A schema as a file in `schemas/`.
fn value(name: &str, schema: &Value) -> anyhow::Result<Generated> {
    let mut content = serde_json::to_string_pretty(schema)?;
    content.push('\n');
    Ok(Generated {
        path: PathBuf::from("schemas").join(name),
        content,
    })
}
