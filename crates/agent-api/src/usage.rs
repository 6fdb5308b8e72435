//! Tokens that a server counted, and what they cost.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// A dollar in the unit of costs.
const MICRO_DOLLARS: f64 = 1_000_000.0;

/// Tokens of one answer or of many, as the server counted them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TokenUsage {
    /// All tokens that were sent, those from the cache included.
    pub input: u64,
    /// Tokens that were sent and that the server had in its cache.
    pub cached: u64,
    /// Tokens that were sent and that the server put into its cache at a price of its own.
    pub cache_written: u64,
    /// All tokens that came, those of reasoning included.
    pub output: u64,
    /// Tokens that the model spent on reasoning.
    pub reasoning: u64,
    /// The cost in millionths of a dollar, if the provider is one that tells it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub billed_micros: Option<u64>,
    /// True if some of it is estimated, because the server did not count it.
    #[serde(skip_serializing_if = "is_false")]
    pub is_estimated: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_false(flag: &bool) -> bool {
    !flag
}

/// Characters of a token, about.
const TOKEN: usize = 4;

fn estimated_tokens(characters: usize) -> u64 {
    characters.div_ceil(TOKEN) as u64
}

impl TokenUsage {
    /// The counts of an answer that broke off: at least what its lengths in characters come to, since
    /// most servers count at the end.
    pub(crate) fn at_least(self, sent: usize, received: usize) -> Self {
        Self {
            output: self.output.max(estimated_tokens(received)),
            is_estimated: true,
            ..self.or_estimated(sent, received)
        }
    }

    /// The counts of a complete answer: a server that leaves one out would make limits useless.
    pub(crate) fn or_estimated(mut self, sent: usize, received: usize) -> Self {
        let (sent, received) = (estimated_tokens(sent), estimated_tokens(received));
        for (count, estimate) in [(&mut self.input, sent), (&mut self.output, received)] {
            if *count == 0 && estimate > 0 {
                *count = estimate;
                self.is_estimated = true;
            }
        }
        self
    }

    /// Sent and received together.
    pub fn total(&self) -> u64 {
        self.input.saturating_add(self.output)
    }

    /// The cost in millionths of a dollar: at this price, or else as the provider bills it.
    pub fn cost_micros(&self, price: Option<&TokenPrice>) -> Option<u64> {
        (price.map(|price| price.cost_micros(self))).or(self.billed_micros)
    }

    /// Returns true if nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.total() == 0
    }

    /// Takes what a later event of the same answer says; numbers only grow.
    pub(crate) fn merge(&mut self, later: Self) {
        self.input = self.input.max(later.input);
        self.cached = self.cached.max(later.cached);
        self.cache_written = self.cache_written.max(later.cache_written);
        self.output = self.output.max(later.output);
        self.reasoning = self.reasoning.max(later.reasoning);
        self.billed_micros = later.billed_micros.or(self.billed_micros);
    }

    /// Adds another answer.
    pub fn add(&mut self, other: &Self) {
        self.input = self.input.saturating_add(other.input);
        self.cached = self.cached.saturating_add(other.cached);
        self.cache_written = self.cache_written.saturating_add(other.cache_written);
        self.output = self.output.saturating_add(other.output);
        self.reasoning = self.reasoning.saturating_add(other.reasoning);
        self.is_estimated |= other.is_estimated;
        self.billed_micros = match (self.billed_micros, other.billed_micros) {
            (None, None) => None,
            (one, two) => Some(one.unwrap_or(0).saturating_add(two.unwrap_or(0))),
        };
    }
}

/// One answer of an API.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UsageRecord {
    /// When it ended.
    pub at: Timestamp,
    /// The round that it answered.
    pub round: u32,
    /// Who answered.
    pub provider: String,
    /// By which model.
    pub model: String,
    /// Tokens, as the server counted them, or estimated where it did not.
    #[serde(flatten)]
    pub usage: TokenUsage,
    /// The cost in millionths of a dollar, if a price is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micros: Option<u64>,
    /// Until the first piece came, in milliseconds.
    pub first_millis: u64,
    /// In whole, in milliseconds.
    pub millis: u64,
}

/// The price of a million tokens, in dollars.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TokenPrice {
    /// Sent, and not from the cache.
    pub input: f64,
    /// Received, reasoning included.
    pub output: f64,
    /// Sent and from the cache; as `input` if it is not known.
    pub cached: Option<f64>,
    /// Sent and put into the cache; as `input` if it is not known.
    pub cache_written: Option<f64>,
}

impl TokenPrice {
    /// Reads `INPUT/OUTPUT` or `INPUT/OUTPUT/CACHED`, in dollars for a million tokens. What is put into
    /// a cache costs a quarter more than `INPUT`: only Anthropic counts it, and has that price.
    pub fn parse(text: &str) -> Option<Self> {
        let numbers: Option<Vec<f64>> = (text.split('/'))
            .map(|part| {
                part.trim()
                    .parse()
                    .ok()
                    .filter(|price| (0.0..1e6).contains(price))
            })
            .collect();
        let (input, output, cached) = match numbers?.as_slice() {
            [input, output] => (*input, *output, None),
            [input, output, cached] => (*input, *output, Some(*cached)),
            _ => return None,
        };
        Some(Self {
            input,
            output,
            cached,
            cache_written: Some(input * 1.25),
        })
    }

    /// The cost in millionths of a dollar.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "costs of a session are far below the limits of the types"
    )]
    fn cost_micros(&self, usage: &TokenUsage) -> u64 {
        let fresh = (usage.input)
            .saturating_sub(usage.cached)
            .saturating_sub(usage.cache_written);
        let dollars_per_million = fresh as f64 * self.input
            + usage.cached as f64 * self.cached.unwrap_or(self.input)
            + usage.cache_written as f64 * self.cache_written.unwrap_or(self.input)
            + usage.output as f64 * self.output;
        // Dollars for a million tokens are micro-dollars for one.
        dollars_per_million.round() as u64
    }
}

/// A cost for people: `$0.0123` below ten cents, `$1.23` above.
#[expect(clippy::cast_precision_loss, reason = "shown with four digits at most")]
pub fn dollars(micros: u64) -> String {
    let amount = micros as f64 / MICRO_DOLLARS;
    if micros == 0 || micros >= 100_000 {
        format!("${amount:.2}")
    } else {
        format!("${amount:.4}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cached_tokens_have_their_own_price() {
        let price = TokenPrice::parse("2/10/0.2").unwrap();
        let usage = TokenUsage {
            input: 1_000_000,
            cached: 900_000,
            output: 10_000,
            reasoning: 9_000,
            ..TokenUsage::default()
        };
        // 100,000 at $2, 900,000 at $0.20, 10,000 at $10 for a million.
        assert_eq!(price.cost_micros(&usage), 200_000 + 180_000 + 100_000);
        let billed = TokenUsage {
            billed_micros: Some(7),
            ..usage
        };
        assert_eq!(billed.cost_micros(None), Some(7));
        let own = billed.cost_micros(Some(&price));
        assert_eq!(own, Some(480_000), "the person's price counts");
        let written = TokenUsage {
            cache_written: 100_000,
            ..usage
        };
        assert_eq!(
            price.cost_micros(&written),
            250_000 + 180_000 + 100_000,
            "a quarter more than input"
        );
        let without = TokenPrice::parse("2 / 10").unwrap();
        assert_eq!(without.cost_micros(&usage), 2_000_000 + 100_000);
    }

    #[test]
    fn a_price_is_two_or_three_numbers() {
        for text in ["", "2", "2/", "a/b", "1/2/3/4", "-1/2", "inf/1", "NaN/1"] {
            assert_eq!(TokenPrice::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn costs_read_well() {
        assert_eq!(dollars(0), "$0.00");
        assert_eq!(dollars(12_345), "$0.0123");
        assert_eq!(dollars(1_234_567), "$1.23");
    }

    #[test]
    fn a_count_that_the_server_leaves_out_is_estimated() {
        let counted = TokenUsage {
            input: 7,
            output: 3,
            ..TokenUsage::default()
        };
        assert_eq!(counted.or_estimated(400, 40), counted);
        let half = TokenUsage {
            output: 0,
            ..counted
        };
        let filled = half.or_estimated(400, 42);
        assert_eq!(
            (filled.input, filled.output, filled.is_estimated),
            (7, 11, true)
        );
        let none = TokenUsage::default().or_estimated(400, 0);
        assert_eq!((none.input, none.output), (100, 0));
    }

    #[test]
    fn answers_add_up() {
        let mut all = TokenUsage::default();
        let one = TokenUsage {
            input: 10,
            output: 2,
            billed_micros: Some(5),
            ..TokenUsage::default()
        };
        all.add(&one);
        all.add(&one);
        assert_eq!((all.total(), all.billed_micros), (24, Some(10)));
    }
}
