//! What the model must say, and what it is taken to mean.

use guardian_redact::one_line;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::Answer;

/// Longest rationale that is passed on, in characters.
const RATIONALE: usize = 600;

/// How bad it would be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Risk {
    Low,
    Medium,
    High,
    Critical,
}

/// What the user's own words say about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Authorisation {
    Explicit,
    Implied,
    None,
    Contradicted,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Choice {
    AllowOnce,
    Deny,
    Abstain,
}

/// The answer. Every member must be there, once, and nothing else.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ModelAnswer {
    pub(super) risk: Risk,
    pub(super) authorisation: Authorisation,
    pub(super) decision: Choice,
    pub(super) rationale: String,
}

/// The schema of [`ModelAnswer`], as it is sent along.
pub(super) fn schema() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["risk", "authorisation", "decision", "rationale"],
        "properties": {
            "risk": { "type": "string", "enum": ["low", "medium", "high", "critical"] },
            "authorisation": {
                "type": "string",
                "enum": ["explicit", "implied", "none", "contradicted"]
            },
            "decision": { "type": "string", "enum": ["allow-once", "deny", "abstain"] },
            "rationale": { "type": "string" }
        }
    })
}

impl ModelAnswer {
    /// Reads the text of an answer: the JSON and nothing around it.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let answer: Self = serde_json::from_str(text.trim())
            .map_err(|error| format!("the model's answer does not fit the schema: {error}"))?;
        if answer.rationale.trim().is_empty() {
            return Err("the model's answer gives no rationale".to_owned());
        }
        Ok(answer)
    }

    /// An allow that its own assessment contradicts is none.
    pub(super) fn meaning(&self) -> Answer {
        match self.decision {
            Choice::Abstain => Answer::Abstain,
            Choice::Deny => Answer::Deny {
                feedback: Some(self.shown_rationale()),
            },
            Choice::AllowOnce => match (self.risk, self.authorisation) {
                (_, Authorisation::Contradicted) | (Risk::Critical, _) => Answer::Abstain,
                (Risk::High, Authorisation::None | Authorisation::Implied) => Answer::Abstain,
                _ => Answer::AllowOnce,
            },
        }
    }

    fn shown_rationale(&self) -> String {
        let mut shown: String = one_line(self.rationale.trim())
            .chars()
            .take(RATIONALE + 1)
            .collect();
        if shown.chars().count() > RATIONALE {
            shown.pop();
            shown.push('…');
        }
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(risk: &str, authorisation: &str, decision: &str) -> String {
        json!({
            "risk": risk, "authorisation": authorisation, "decision": decision, "rationale": "because",
        })
        .to_string()
    }

    #[test]
    fn an_allow_against_its_own_assessment_is_no_allow() {
        for risk in ["low", "medium", "high", "critical"] {
            for authorisation in ["explicit", "implied", "none", "contradicted"] {
                let answer = ModelAnswer::parse(&text(risk, authorisation, "allow-once")).unwrap();
                let fits = match risk {
                    "critical" => false,
                    "high" => authorisation == "explicit",
                    _ => authorisation != "contradicted",
                };
                let expect = if fits {
                    Answer::AllowOnce
                } else {
                    Answer::Abstain
                };
                assert_eq!(answer.meaning(), expect, "{risk} {authorisation}");
            }
        }
    }

    #[test]
    fn nothing_but_the_schema_is_an_answer() {
        for bad in [
            "",
            "allow-once",
            "{}",
            r#"{"decision":"allow-once"}"#,
            &text("low", "explicit", "allow-session"),
            &text("low", "explicit", "Allow-Once"),
            &text("none", "explicit", "allow-once"),
            &format!(
                "{} ",
                text("low", "explicit", "allow-once").replace('}', ",\"mode\":\"auto\"}")
            ),
            &format!("{0}{0}", text("low", "explicit", "allow-once")),
            &format!("Sure! {}", text("low", "explicit", "allow-once")),
            &format!("```json\n{}\n```", text("low", "explicit", "allow-once")),
            r#"{"risk":"low","authorisation":"explicit","decision":"deny","decision":"allow-once","rationale":"x"}"#,
            r#"{"risk":"low","authorisation":"explicit","decision":"allow-once","rationale":"  "}"#,
        ] {
            assert!(ModelAnswer::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_rationale_is_passed_on_escaped_and_cut() {
        let long = format!("no\u{1b}[2K\n{}", "x".repeat(2000));
        let answer = ModelAnswer {
            risk: Risk::High,
            authorisation: Authorisation::None,
            decision: Choice::Deny,
            rationale: long,
        };
        let Answer::Deny {
            feedback: Some(text),
        } = answer.meaning()
        else {
            panic!("a denial is a denial");
        };
        assert!(
            text.starts_with("no\\u{1b}[2K\\nxxx") && text.ends_with("x…"),
            "{text}"
        );
        assert_eq!(text.chars().count(), RATIONALE + 1);
    }
}
