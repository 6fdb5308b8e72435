//! The person's verdict on a step, and its form in a decision file.

use serde::{Deserialize, Serialize};

use crate::protocol::QuestionKind;

/// The answer to a question of the model where there is none.
const NO_ANSWER: &str = "the user gave no answer; decide yourself";

/// A decision of the person.
///
/// As JSON: `{"decision": "yes"}`, `{"decision": "no", "reason": "use cargo"}`,
/// `{"decision": "edit", "script": "cargo test"}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "lowercase")]
pub enum Verdict {
    /// It is carried out.
    #[serde(alias = "approve", alias = "approved", alias = "allow")]
    Yes,
    /// It is not, and the model is told so.
    #[serde(alias = "decline", alias = "declined", alias = "deny")]
    No {
        /// The reason that the model is told.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// It is carried out, and so is all else that this round asks.
    #[serde(rename = "all")]
    AllOfThisRound,
    /// It is carried out, and its like will not be asked about again.
    Always,
    /// Another script is run instead.
    Edit {
        /// The person's script.
        script: String,
    },
    /// It is left out without a judgement.
    Skip,
    /// It and what comes after it is left out, and the loop stops.
    Stop,
    /// A text answers it: the model's question.
    Say {
        /// The person's words.
        text: String,
    },
}

impl Verdict {
    /// The word in a decision file.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::No { .. } => "no",
            Self::AllOfThisRound => "all",
            Self::Always => "always",
            Self::Edit { .. } => "edit",
            Self::Skip => "skip",
            Self::Stop => "stop",
            Self::Say { .. } => "say",
        }
    }

    /// The word for a decision about this kind of question, as the person is told it.
    pub fn word_for(&self, kind: QuestionKind) -> &'static str {
        match (kind, self) {
            (QuestionKind::Network, Self::Yes) => "once",
            (QuestionKind::Network, Self::Always) => "session",
            _ => self.word(),
        }
    }

    /// Words the verdict as an answer to a question of the model.
    pub fn in_words(self) -> String {
        match self {
            Self::Say { text } => text,
            _ => NO_ANSWER.to_owned(),
        }
    }

    /// The person's words to the model, if there are any: a reason, or an answer.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::No { reason } => reason.as_deref(),
            Self::Say { text } => Some(text),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn case(json: &str, expected: &Verdict) {
        assert_eq!(
            serde_json::from_str::<Verdict>(json).ok().as_ref(),
            Some(expected),
            "{json}"
        );
    }

    #[test]
    fn a_decision_file_can_be_written_by_hand() {
        case(r#"{"decision": "yes"}"#, &Verdict::Yes);
        case(r#"{"decision": "approve"}"#, &Verdict::Yes);
        case(r#"{"decision": "decline"}"#, &Verdict::No { reason: None });
        case(
            r#"{"decision": "no", "reason": "use cargo"}"#,
            &Verdict::No {
                reason: Some("use cargo".to_owned()),
            },
        );
        case(r#"{"decision": "all"}"#, &Verdict::AllOfThisRound);
        case(
            r#"{"decision": "edit", "script": "ls"}"#,
            &Verdict::Edit {
                script: "ls".to_owned(),
            },
        );
        assert!(serde_json::from_str::<Verdict>(r#"{"decision": "maybe"}"#).is_err());
    }

    #[test]
    fn what_is_written_reads_back() {
        for verdict in [
            Verdict::Yes,
            Verdict::No { reason: None },
            Verdict::AllOfThisRound,
            Verdict::Always,
            Verdict::Skip,
            Verdict::Stop,
            Verdict::Say {
                text: "use spaces".to_owned(),
            },
        ] {
            let json = serde_json::to_string(&verdict).unwrap();
            assert!(json.contains(&format!("\"{}\"", verdict.word())), "{json}");
            case(&json, &verdict);
        }
    }
}
