//! Questions to the person by way of the client.

use serde_json::{Value, json};

/// The longest text that a person's answer may have, in characters.
const LONGEST_ANSWER: usize = 4_000;

/// A word that the person can choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ElicitChoice {
    /// The word that comes back.
    pub word: &'static str,
    /// The words that the person reads.
    pub title: &'static str,
}

/// The person's answer to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ElicitAnswer {
    /// The word that they chose, and what they wrote beside it.
    Chosen {
        /// The word.
        word: String,
        /// Their words, if they wrote any.
        text: Option<String>,
    },
    /// They said no without a word.
    Declined,
    /// They did not decide, or the client cannot ask.
    Nobody,
}

/// The parameters of `elicitation/create`: a choice and, beside it, a text; without choices only the
/// text.
pub fn elicitation(message: &str, choices: &[ElicitChoice], text_title: &str) -> Value {
    let text = json!({ "type": "string", "title": text_title, "maxLength": LONGEST_ANSWER });
    let schema = if choices.is_empty() {
        json!({ "type": "object", "properties": { "text": text }, "required": ["text"] })
    } else {
        let words: Vec<&str> = choices.iter().map(|choice| choice.word).collect();
        let titles: Vec<&str> = choices.iter().map(|choice| choice.title).collect();
        let choice = json!({
            "type": "string",
            "title": "Decision",
            "enum": words,
            "enumNames": titles,
        });
        json!({
            "type": "object",
            "properties": { "decision": choice, "text": text },
            "required": ["decision"],
        })
    };
    json!({ "message": message, "requestedSchema": schema })
}

impl ElicitAnswer {
    /// Reads the client's result; a word that was not offered is no answer.
    pub fn read(result: Option<&Value>, choices: &[ElicitChoice]) -> Self {
        let Some(result) = result else {
            return Self::Nobody;
        };
        match result.get("action").and_then(Value::as_str) {
            Some("accept") => {}
            Some("decline") => return Self::Declined,
            _ => return Self::Nobody,
        }
        let field = |name: &str| {
            let text = result.get("content")?.get(name)?.as_str()?;
            let text: String = text.chars().take(LONGEST_ANSWER).collect();
            (!text.trim().is_empty()).then_some(text)
        };
        let (word, text) = (field("decision"), field("text"));
        match word {
            Some(word) if choices.iter().any(|choice| choice.word == word) => {
                Self::Chosen { word, text }
            }
            None if choices.is_empty() && text.is_some() => Self::Chosen {
                word: String::new(),
                text,
            },
            _ => Self::Nobody,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHOICES: [ElicitChoice; 2] = [
        ElicitChoice {
            word: "yes",
            title: "Run it",
        },
        ElicitChoice {
            word: "no",
            title: "Do not run it",
        },
    ];

    #[track_caller]
    fn case(result: &Value, choices: &[ElicitChoice], expected: &ElicitAnswer) {
        assert_eq!(
            &ElicitAnswer::read(Some(result), choices),
            expected,
            "{result}"
        );
    }

    fn chosen(word: &str, text: Option<&str>) -> ElicitAnswer {
        let text = text.map(str::to_owned);
        ElicitAnswer::Chosen {
            word: word.to_owned(),
            text,
        }
    }

    #[test]
    fn only_an_offered_word_is_an_answer() {
        let accept = |content: Value| json!({ "action": "accept", "content": content });
        case(
            &accept(json!({ "decision": "yes" })),
            &CHOICES,
            &chosen("yes", None),
        );
        let no = accept(json!({ "decision": "no", "text": "use make" }));
        case(&no, &CHOICES, &chosen("no", Some("use make")));
        case(
            &accept(json!({ "decision": "all" })),
            &CHOICES,
            &ElicitAnswer::Nobody,
        );
        case(&accept(json!({})), &CHOICES, &ElicitAnswer::Nobody);
        case(
            &json!({ "action": "decline" }),
            &CHOICES,
            &ElicitAnswer::Declined,
        );
        case(
            &json!({ "action": "cancel" }),
            &CHOICES,
            &ElicitAnswer::Nobody,
        );
        case(
            &accept(json!({ "text": "tabs" })),
            &[],
            &chosen("", Some("tabs")),
        );
        assert_eq!(ElicitAnswer::read(None, &CHOICES), ElicitAnswer::Nobody);
    }
}
