//! When a failed request is sent again: exponential back-off with jitter, unless the server says how
//! long to wait. Pure: time and randomness are handed in.

use std::time::Duration;

use crate::error::ApiError;

/// How often and after how long a request is sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// The most tries, the first included.
    pub tries: u32,
    /// The wait after the first try; it doubles with each.
    pub first_wait: Duration,
    /// The longest wait of our own choosing.
    pub longest_wait: Duration,
    /// The longest wait that a server may ask for; beyond it the request fails.
    pub longest_asked: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            tries: 6,
            first_wait: Duration::from_secs(1),
            longest_wait: Duration::from_mins(1),
            longest_asked: Duration::from_mins(10),
        }
    }
}

impl RetryPolicy {
    /// The wait after try number `tried` (from 1); `None` if there is no further one.
    ///
    /// Half of it is fixed and half random, so that many clients do not come back at once. `random`
    /// is any number.
    pub fn wait_after(&self, tried: u32, asked: Option<Duration>, random: u64) -> Option<Duration> {
        if tried >= self.tries {
            return None;
        }
        if let Some(asked) = asked {
            return (asked <= self.longest_asked).then_some(asked);
        }
        let doubled = self.first_wait.saturating_mul(1 << (tried - 1).min(20));
        let half = doubled.min(self.longest_wait) / 2;
        let share = u32::try_from(random % 1001).unwrap_or(0);
        Some(half + half * share / 1000)
    }
}

impl RetryPolicy {
    /// The error with the wait that the server asks for, if it is why the request is not sent again.
    pub(crate) fn with_asked_wait(&self, error: ApiError) -> ApiError {
        let Some(asked) = error
            .retry_after
            .filter(|asked| *asked > self.longest_asked)
        else {
            return error;
        };
        let asked = format!("the server asks to wait for {}", in_words(asked));
        let message = match error.message.as_str() {
            "" => asked,
            words => format!("{words}; {asked}"),
        };
        ApiError { message, ..error }
    }
}

/// `3 hours`, `15 minutes`: rounded up.
fn in_words(duration: Duration) -> String {
    let minutes = duration.as_secs().div_ceil(60);
    let (amount, unit) = match minutes {
        0..=120 => (minutes, "minute"),
        _ => (minutes.div_ceil(60), "hour"),
    };
    let plural = if amount == 1 { "" } else { "s" };
    format!("{amount} {unit}{plural}")
}

/// Reads `Retry-After`: seconds, or a date that is compared with `now` in seconds since 1970.
pub fn retry_after(value: &str, now: u64) -> Option<Duration> {
    let value = value.trim();
    if let Ok(seconds) = value.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let at = jiff::fmt::rfc2822::parse(value)
        .ok()?
        .timestamp()
        .as_second();
    let at = u64::try_from(at).ok()?;
    Some(Duration::from_secs(at.saturating_sub(now)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_limit_and_end() {
        let policy = RetryPolicy::default();
        let longest = |tried| policy.wait_after(tried, None, 1000);
        let shortest = |tried| policy.wait_after(tried, None, 0);
        assert_eq!(longest(1), Some(Duration::from_secs(1)));
        assert_eq!(shortest(1), Some(Duration::from_millis(500)));
        assert_eq!(longest(4), Some(Duration::from_secs(8)));
        assert_eq!(longest(6), None);
        let patient = RetryPolicy {
            tries: u32::MAX,
            ..policy
        };
        assert_eq!(
            patient.wait_after(4_000_000, None, 1000),
            Some(Duration::from_mins(1))
        );
    }

    #[test]
    fn the_server_decides_unless_it_asks_for_too_much() {
        let policy = RetryPolicy::default();
        let asked = |seconds| policy.wait_after(1, Some(Duration::from_secs(seconds)), 7);
        assert_eq!(asked(0), Some(Duration::ZERO));
        assert_eq!(asked(90), Some(Duration::from_secs(90)));
        assert_eq!(asked(3600), None);
    }

    #[test]
    fn a_wait_beyond_the_limit_is_told() {
        let policy = RetryPolicy::default();
        let told = |seconds, words: &str| {
            let mut error = ApiError::new(crate::error::ApiErrorKind::RateLimited, words);
            error.retry_after = Some(Duration::from_secs(seconds));
            policy.with_asked_wait(error).message
        };
        assert_eq!(told(601, ""), "the server asks to wait for 11 minutes");
        assert_eq!(
            told(7_201, "slow down"),
            "slow down; the server asks to wait for 3 hours"
        );
        assert_eq!(told(600, "slow down"), "slow down");
    }

    #[test]
    fn reads_seconds_and_dates() {
        let at = |value| retry_after(value, 784_111_700);
        assert_eq!(at(" 12 "), Some(Duration::from_secs(12)));
        assert_eq!(at("0.5"), Some(Duration::from_millis(500)));
        assert_eq!(
            at("Sun, 06 Nov 1994 08:49:37 GMT"),
            Some(Duration::from_secs(77))
        );
        assert_eq!(
            retry_after("Sun, 06 Nov 1994 08:49:37 GMT", 784_200_000),
            Some(Duration::ZERO)
        );
        for wrong in ["", "soon", "-1", "NaN", "inf", "1e300"] {
            assert_eq!(at(wrong), None, "{wrong:?}");
        }
    }
}
