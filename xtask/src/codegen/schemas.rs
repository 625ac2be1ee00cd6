//! JSON Schemas.

use std::path::PathBuf;

use guardian_review::ReviewConfig;
use guardian_review::wire::{PostedV1, RequestV1};
use schemars::{JsonSchema, SchemaGenerator};

use super::Generated;

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
    let schema = SchemaGenerator::default().into_root_schema_for::<T>();
    let mut content = serde_json::to_string_pretty(&schema)?;
    content.push('\n');
    Ok(Generated {
        path: PathBuf::from("schemas").join(name),
        content,
    })
}
