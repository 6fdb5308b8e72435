//! The words for what an API does with a message.

use std::fmt::Write as _;

use super::{escape_line, escape_text};
use crate::api::dollars;
use crate::number::{count, grouped};
use crate::protocol::{ApiAnswer, ApiAnswerEnd, ApiNews};

/// The words of a piece of news.
pub(super) fn words(news: &ApiNews) -> String {
    match news {
        ApiNews::Sending {
            provider,
            model,
            turns,
            tokens,
            ..
        } => format!(
            "  sent to {} {}: {}, ~{} tokens",
            escape_line(provider),
            escape_line(model),
            count(*turns, "turn"),
            grouped(*tokens as u64)
        ),
        ApiNews::Shortened { rounds, tokens } => format!(
            "  The conversation is longer than the model's window: {} sent as a summary, ~{} tokens in all.",
            match rounds {
                1 => "the oldest round is".to_owned(),
                rounds => format!("the {rounds} oldest rounds are"),
            },
            grouped(*tokens as u64)
        ),
        ApiNews::Retrying {
            why,
            millis,
            tried,
            tries,
        } => format!(
            "  {}; try {} of {tries} in {} s.",
            escape_text(why),
            tried + 1,
            millis.div_ceil(1000)
        ),
        ApiNews::Reasoning { text } | ApiNews::Text { text } => {
            escape_text(text.trim_end_matches('\n'))
        }
        ApiNews::Answered(answer) => answered(answer),
        ApiNews::Refused { text } if text.is_empty() => {
            "  The model refused to answer, or a filter of the provider stopped it.".to_owned()
        }
        ApiNews::Refused { text } => format!("  The model refused: {}", escape_text(text)),
        ApiNews::Stopped { characters: 0 } => {
            "  The request was stopped; nothing had come.".to_owned()
        }
        ApiNews::Stopped { characters } => format!(
            "  The request was stopped; {} had come.",
            count(*characters, "character")
        ),
        ApiNews::Overtaken => {
            "  The answer of the API is not used: the round has another reply, or its message was replaced.".to_owned()
        }
    }
}

fn answered(answer: &ApiAnswer) -> String {
    let mut text = String::from("  ");
    match answer.end {
        ApiAnswerEnd::Whole | ApiAnswerEnd::Refused => {}
        ApiAnswerEnd::LengthLimit => {
            text.push_str("The answer reached the model's limit and was cut off. ");
        }
        ApiAnswerEnd::Broken => {
            let _ = write!(text, "The answer broke off: {}. ", escape_text(&answer.why));
        }
        ApiAnswerEnd::Stopped => text.push_str("The answer was stopped. "),
    }
    if answer.input > 0 || answer.output > 0 {
        let _ = write!(text, "{} sent", tokens(answer.input));
        if answer.cached > 0 {
            let _ = write!(text, " ({} from the cache)", grouped(answer.cached));
        }
        let _ = write!(text, ", {} received", grouped(answer.output));
        if answer.reasoning > 0 {
            let _ = write!(text, " ({} to think)", grouped(answer.reasoning));
        }
        if answer.is_estimated {
            text.push_str(", estimated");
        }
        text.push_str("; the first");
    } else {
        text.push_str("The first words came");
    }
    let _ = write!(text, " after {} s", seconds(answer.first_millis));
    if let Some(speed) = answer.tokens_in_ten_seconds {
        let _ = write!(text, ", {}.{} tokens a second", speed / 10, speed % 10);
    }
    match (answer.cost_micros, answer.session_cost_micros) {
        (Some(cost), Some(all)) => {
            let cost = about(answer.is_estimated, &dollars(cost));
            let all = about(answer.session_is_estimated, &dollars(all));
            let _ = write!(text, "; {cost}, {all} in all");
            if answer.session_unpriced > 0 {
                let unpriced = usize::try_from(answer.session_unpriced).unwrap_or(usize::MAX);
                let _ = write!(text, " and {} without a price", count(unpriced, "answer"));
            }
        }
        _ if answer.session_tokens > 0 => {
            let all = about(answer.session_is_estimated, &tokens(answer.session_tokens));
            let _ = write!(text, "; {all} in all");
        }
        _ => {}
    }
    text
}

fn tokens(number: u64) -> String {
    count(usize::try_from(number).unwrap_or(usize::MAX), "token")
}

fn about(is_estimated: bool, amount: &str) -> String {
    let sign = if is_estimated { "~" } else { "" };
    format!("{sign}{amount}")
}

/// `0.4`, `12.0`.
fn seconds(millis: u64) -> String {
    format!("{}.{}", millis / 1000, millis % 1000 / 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_tells_tokens_times_and_costs() {
        let mut answer = ApiAnswer {
            end: ApiAnswerEnd::Whole,
            why: String::new(),
            input: 12_345,
            cached: 12_000,
            output: 678,
            reasoning: 500,
            is_estimated: false,
            cost_micros: Some(12_345),
            session_tokens: 20_000,
            session_cost_micros: Some(1_234_567),
            session_is_estimated: false,
            session_unpriced: 0,
            first_millis: 1_260,
            millis: 9_000,
            tokens_in_ten_seconds: Some(876),
        };
        assert_eq!(
            answered(&answer),
            "  12,345 tokens sent (12,000 from the cache), 678 received (500 to think); the first after 1.2 s, 87.6 tokens a second; $0.0123, $1.23 in all"
        );
        (answer.is_estimated, answer.session_is_estimated) = (true, true);
        answer.session_unpriced = 1;
        assert_eq!(
            answered(&answer),
            "  12,345 tokens sent (12,000 from the cache), 678 received (500 to think), estimated; the first after 1.2 s, 87.6 tokens a second; ~$0.0123, ~$1.23 in all and 1 answer without a price"
        );
        answer.is_estimated = false;
        answer.cost_micros = None;
        answer.end = ApiAnswerEnd::Broken;
        answer.why = "the connection broke".to_owned();
        assert_eq!(
            answered(&answer),
            "  The answer broke off: the connection broke. 12,345 tokens sent (12,000 from the cache), 678 received (500 to think); the first after 1.2 s, 87.6 tokens a second; ~20,000 tokens in all"
        );
        (answer.input, answer.output) = (0, 0);
        answer.tokens_in_ten_seconds = None;
        assert_eq!(
            answered(&answer),
            "  The answer broke off: the connection broke. The first words came after 1.2 s; ~20,000 tokens in all"
        );
        // A server may count whatever it likes.
        (answer.input, answer.output) = (u64::MAX, u64::MAX);
        answer.session_tokens = 1;
        assert!(answered(&answer).ends_with("; ~1 token in all"));
    }
}
