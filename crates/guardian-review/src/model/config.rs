//! The section `[review.model]` of the user's configuration.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::ReviewConfigError;

/// Which dialect the endpoint speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ModelApi {
    /// Chat completions as many servers offer them.
    OpenaiCompatible,
    /// Messages with content blocks.
    Anthropic,
}

/// How the endpoint is made to answer in the schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OutputMode {
    /// The schema is part of the request. An endpoint that does not know it refuses.
    #[default]
    Schema,
    /// The schema is only described in the prompt; the answer is checked all the same.
    Prompt,
}

/// The model that reviews. A repository cannot set it (SPEC §7.2): where prompts go is the user's
/// to say.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ModelConfig {
    /// Dialect.
    pub api: ModelApi,
    /// The whole URL that is posted to: `https`, or `http` on this very machine.
    pub endpoint: String,
    /// The model's name, as the endpoint knows it.
    pub model: String,
    /// Environment variable that holds the key. Commands do not get this variable.
    #[serde(default)]
    pub api_key_env: Option<String>,
    /// How the answer is made to fit the schema.
    #[serde(default)]
    pub output: OutputMode,
    /// Most tokens of one prompt; an action that does not fit is not this reviewer's (1000–1000000).
    #[serde(default = "max_input_tokens")]
    pub max_input_tokens: u64,
    /// Most tokens of one answer (128–8192).
    #[serde(default = "max_output_tokens")]
    pub max_output_tokens: u64,
    /// Most tokens of all reviews of one turn, prompts and answers.
    #[serde(default = "max_turn_tokens")]
    pub max_turn_tokens: u64,
}

fn max_input_tokens() -> u64 {
    24_000
}

fn max_output_tokens() -> u64 {
    1_024
}

fn max_turn_tokens() -> u64 {
    400_000
}

impl ModelConfig {
    /// Says what is wrong with it.
    ///
    /// # Errors
    /// [`ReviewConfigError::Model`] with the key.
    pub fn check(&self) -> Result<(), ReviewConfigError> {
        let wrong =
            |key: &'static str, reason: String| Err(ReviewConfigError::Model { key, reason });
        if let Err(reason) = check_endpoint(&self.endpoint) {
            return wrong("endpoint", reason);
        }
        if self.model.trim().is_empty() {
            return wrong("model", "it names no model".to_owned());
        }
        if let Some(name) = &self.api_key_env {
            let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
            if name.is_empty() || !name.bytes().all(fits) {
                let reason = "it must be the name of an environment variable, not a key".to_owned();
                return wrong("apiKeyEnv", reason);
            }
        }
        let ranges = [
            ("maxInputTokens", self.max_input_tokens, 1_000, 1_000_000),
            ("maxOutputTokens", self.max_output_tokens, 128, 8_192),
            ("maxTurnTokens", self.max_turn_tokens, 1_000, 100_000_000),
        ];
        for (key, value, least, most) in ranges {
            if !(least..=most).contains(&value) {
                return wrong(key, format!("it must be between {least} and {most}"));
            }
        }
        Ok(())
    }
}

/// Prompts hold the user's words and code: they leave this machine encrypted or not at all.
fn check_endpoint(endpoint: &str) -> Result<(), String> {
    let uri: ureq::http::Uri = endpoint
        .parse()
        .map_err(|error| format!("it is no URL: {error}"))?;
    let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
        return Err("it must be a whole URL, `https://host/path`".to_owned());
    };
    if authority.as_str().contains('@') {
        return Err(
            "it must not hold a user or password; name the key with `apiKeyEnv`".to_owned(),
        );
    }
    let host = authority.host();
    let on_this_machine = matches!(host, "localhost" | "127.0.0.1" | "[::1]");
    match scheme {
        "https" => Ok(()),
        "http" if on_this_machine => Ok(()),
        "http" => Err("`http` is for this machine only; use `https`".to_owned()),
        other => Err(format!("`{other}` is not a scheme for it; use `https`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> ModelConfig {
        ModelConfig {
            api: ModelApi::OpenaiCompatible,
            endpoint: "https://models.example/v1/chat/completions".to_owned(),
            model: "small".to_owned(),
            api_key_env: Some("REVIEW_KEY".to_owned()),
            output: OutputMode::Schema,
            max_input_tokens: max_input_tokens(),
            max_output_tokens: max_output_tokens(),
            max_turn_tokens: max_turn_tokens(),
        }
    }

    #[test]
    fn prompts_leave_the_machine_encrypted_or_not_at_all() {
        config().check().unwrap();
        let with = |endpoint: &str| {
            let endpoint = endpoint.to_owned();
            ModelConfig {
                endpoint,
                ..config()
            }
            .check()
        };
        for good in [
            "http://127.0.0.1:11434/v1",
            "http://localhost/x",
            "http://[::1]:9/x",
        ] {
            with(good).unwrap();
        }
        for bad in [
            "http://models.example/v1",
            "http://127.0.0.1.evil.example/v1",
            "https://user:key@models.example/v1",
            "http://localhost@evil.example/v1",
            "ftp://models.example",
            "models.example/v1",
            "",
        ] {
            assert!(with(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_key_in_the_place_of_its_variable_is_refused() {
        let key = Some("sk-live-123".to_owned());
        assert!(
            ModelConfig {
                api_key_env: key,
                ..config()
            }
            .check()
            .is_err()
        );
    }
}
