use schemars::JsonSchema;
use serde_json::{Value, json};

use super::ArgumentError;
use super::arguments::{Arguments, Parameter, plain};
use crate::RawArgs;

/// Most questions of one `asktool` call (SPEC §13.2).
pub const MAX_QUESTIONS: usize = 20;
/// Most options of one question: more cannot be shown side by side.
const MAX_OPTIONS: usize = 100;
/// Longest question or option in bytes.
const MAX_TEXT_BYTES: usize = 8 * 1024;

/// Arguments of `asktool`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskInput {
    /// One to [`MAX_QUESTIONS`] questions.
    pub questions: Vec<Question>,
}

/// One question to the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// Its text, as given.
    pub question: String,
    /// The answers that it offers: trimmed, none empty, none twice, at least one.
    pub options: Vec<String>,
    /// Several of them may be chosen.
    pub multi_select: bool,
}

/// What a caller may send to `asktool`.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is used")]
pub(super) struct AskArguments {
    /// One to twenty questions, shown to the user together.
    #[schemars(length(min = 1, max = 20))]
    questions: Vec<QuestionArguments>,
}

/// One question.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is used")]
pub(super) struct QuestionArguments {
    /// What to ask.
    #[schemars(length(min = 1))]
    question: String,
    /// Answers to choose from; the user may always write another one.
    #[schemars(length(min = 1))]
    options: Vec<String>,
    /// Several options may be chosen (default false).
    multi_select: Option<bool>,
}

const PARAMETERS: &[Parameter] = &[plain("questions")];
const QUESTION_PARAMETERS: &[Parameter] = &[
    plain("question"),
    plain("options"),
    Parameter {
        name: "multiSelect",
        aliases: &["multi_select"],
    },
];

fn example() -> Value {
    json!({"questions": [{"question": "Which database?", "options": ["SQLite", "PostgreSQL"]}]})
}

impl AskInput {
    /// Parses strictly.
    ///
    /// # Errors
    /// The arguments are not what `asktool` takes.
    pub fn parse(args: &RawArgs) -> Result<Self, ArgumentError> {
        let arguments = Arguments::open(args.as_object(), PARAMETERS, example)?;
        let expected = format!("an array of 1 to {MAX_QUESTIONS} questions");
        let Some((given, values)) = arguments.array("questions")? else {
            return Err(arguments.missing("questions", &expected));
        };
        if values.is_empty() || values.len() > MAX_QUESTIONS {
            let message = format!("`questions` has {} questions", values.len());
            return Err(arguments.error(given, message, expected));
        }
        let questions = values
            .iter()
            .enumerate()
            .map(|(index, value)| question(&arguments, index, value))
            .collect::<Result<_, _>>()?;
        Ok(Self { questions })
    }
}

fn question(
    arguments: &Arguments<'_>,
    index: usize,
    value: &Value,
) -> Result<Question, ArgumentError> {
    let pointer = format!("/questions/{index}");
    let Value::Object(object) = value else {
        let expected = "an object with `question` and `options`";
        let mut error = arguments.wrong_type("questions", value, expected);
        error.message = format!("`questions[{index}]` is not an object");
        error.pointer = pointer;
        return Err(error);
    };
    let arguments = Arguments::open_at(object, QUESTION_PARAMETERS, example, pointer)?;
    let question = arguments.string("question")?;
    if question.trim().is_empty() || question.len() > MAX_TEXT_BYTES {
        let message = format!("`question` has {} bytes", question.len());
        let expected = format!("a question of 1 to {MAX_TEXT_BYTES} bytes");
        return Err(arguments.error("question", message, expected));
    }
    let expected = format!("an array of 1 to {MAX_OPTIONS} options that are not empty");
    let Some((given, values)) = arguments.array("options")? else {
        return Err(arguments.missing("options", &expected));
    };
    let mut options: Vec<String> = Vec::new();
    for value in values {
        let Value::String(option) = value else {
            return Err(arguments.wrong_type(given, value, "an array of strings"));
        };
        let option = option.trim();
        if option.len() > MAX_TEXT_BYTES {
            let message = format!("an option has {} bytes", option.len());
            let expected = format!("options of at most {MAX_TEXT_BYTES} bytes");
            return Err(arguments.error(given, message, expected));
        }
        if !option.is_empty() && !options.iter().any(|known| known == option) {
            options.push(option.to_owned());
        }
    }
    if options.is_empty() || options.len() > MAX_OPTIONS {
        let message = format!("`options` has {} options", options.len());
        return Err(arguments.error(given, message, expected));
    }
    Ok(Question {
        question,
        options,
        multi_select: arguments.boolean("multiSelect")?,
    })
}
