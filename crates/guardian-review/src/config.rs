//! The `review` section of the user's configuration. A repository cannot set it (SPEC §7.2).

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::ModelConfig;

/// What happens when a reviewer breaks, is late or answers nonsense.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum OnFailure {
    /// The next reviewer is asked.
    Next,
    /// The call is denied.
    Deny,
}

/// One entry of the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReviewerSpec {
    /// Earlier answers of automatic reviewers.
    Cache,
    /// A program, by absolute path.
    Command(PathBuf),
    /// The configured model.
    Model,
    /// A person.
    Human,
}

/// The chain of reviewers.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct ReviewConfig {
    /// `cache`, `command:/absolute/path`, `model`, `human`, in the order in which they are asked.
    pub chain: Vec<String>,
    /// Seconds a person has, from their own request (1–3600).
    pub human_timeout_seconds: u64,
    /// Seconds a command has (1–120).
    pub command_timeout_seconds: u64,
    /// What happens when a command or the model breaks.
    #[serde(alias = "on_failure")]
    pub on_failure: OnFailure,
    /// The model, when the chain names it.
    pub model: Option<ModelConfig>,
}

/// A configuration that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReviewConfigError {
    /// Not a reviewer.
    #[error(
        "unknown reviewer `{0}`; known are `cache`, `command:/absolute/path`, `model`, `human`"
    )]
    UnknownReviewer(String),
    /// A command without an absolute path.
    #[error("the review command `{0}` needs an absolute path")]
    RelativeCommand(String),
    /// Named twice.
    #[error("the reviewer `{0}` is in the chain twice")]
    Twice(String),
    /// Something stands behind the person.
    #[error("`human` must be the last reviewer: `{0}` behind it would never be asked")]
    BehindHuman(String),
    /// The chain names a model and none is configured.
    #[error("the chain names `model`; it needs a section [review.model]")]
    NoModel,
    /// The model cannot be used as configured.
    #[error("`review.model.{key}`: {reason}")]
    Model {
        /// Which key.
        key: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// Out of range.
    #[error("`{key}` must be between 1 and {max} seconds")]
    OutOfRange {
        /// Which key.
        key: &'static str,
        /// Largest value.
        max: u64,
    },
}

impl Default for ReviewConfig {
    /// A person alone, for 120 s (SPEC §8).
    fn default() -> Self {
        Self {
            chain: vec!["human".to_owned()],
            human_timeout_seconds: 120,
            command_timeout_seconds: 30,
            on_failure: OnFailure::Next,
            model: None,
        }
    }
}

impl ReviewConfig {
    /// The chain, checked.
    ///
    /// # Errors
    /// [`ReviewConfigError`] with the entry that is wrong.
    pub fn reviewers(&self) -> Result<Vec<ReviewerSpec>, ReviewConfigError> {
        in_range("humanTimeoutSeconds", self.human_timeout_seconds, 3600)?;
        in_range("commandTimeoutSeconds", self.command_timeout_seconds, 120)?;
        let mut reviewers: Vec<ReviewerSpec> = Vec::new();
        for entry in &self.chain {
            let reviewer = entry.parse()?;
            if reviewers.last() == Some(&ReviewerSpec::Human) {
                return Err(ReviewConfigError::BehindHuman(entry.clone()));
            }
            if reviewers.contains(&reviewer) {
                return Err(ReviewConfigError::Twice(entry.clone()));
            }
            reviewers.push(reviewer);
        }
        match &self.model {
            Some(model) => model.check()?,
            None if reviewers.contains(&ReviewerSpec::Model) => {
                return Err(ReviewConfigError::NoModel);
            }
            None => {}
        }
        Ok(reviewers)
    }

    /// Time a person has.
    #[must_use]
    pub fn human_timeout(&self) -> Duration {
        Duration::from_secs(self.human_timeout_seconds)
    }

    /// Time a command has.
    #[must_use]
    pub fn command_timeout(&self) -> Duration {
        Duration::from_secs(self.command_timeout_seconds)
    }
}

impl FromStr for ReviewerSpec {
    type Err = ReviewConfigError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "cache" => Ok(Self::Cache),
            "model" => Ok(Self::Model),
            "human" => Ok(Self::Human),
            _ => {
                let Some(program) = text.strip_prefix("command:") else {
                    return Err(ReviewConfigError::UnknownReviewer(text.to_owned()));
                };
                let program = PathBuf::from(program);
                if !program.is_absolute() {
                    return Err(ReviewConfigError::RelativeCommand(text.to_owned()));
                }
                Ok(Self::Command(program))
            }
        }
    }
}

fn in_range(key: &'static str, value: u64, max: u64) -> Result<(), ReviewConfigError> {
    if (1..=max).contains(&value) {
        Ok(())
    } else {
        Err(ReviewConfigError::OutOfRange { key, max })
    }
}
