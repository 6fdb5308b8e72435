//! The time of now, on machines whose clock is wrong too.

use std::time::SystemTime;

use jiff::Timestamp;

/// The time of now; the latest or earliest that can be written down if the clock is beyond it.
pub fn now() -> Timestamp {
    from_system(SystemTime::now())
}

fn from_system(time: SystemTime) -> Timestamp {
    let beyond = if time < SystemTime::UNIX_EPOCH {
        Timestamp::MIN
    } else {
        Timestamp::MAX
    };
    Timestamp::try_from(time).unwrap_or(beyond)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_clock_beyond_the_year_9999_gives_the_last_time_that_there_is() {
        let year = Duration::from_hours(24 * 366);
        let far = SystemTime::UNIX_EPOCH + 9_000 * year;
        assert_eq!(from_system(far), Timestamp::MAX);
        let json = serde_json::to_string(&from_system(far)).unwrap();
        assert_eq!(
            serde_json::from_str::<Timestamp>(&json).unwrap(),
            Timestamp::MAX
        );
        let earlier = SystemTime::UNIX_EPOCH + Duration::from_secs(5);
        assert_eq!(from_system(earlier), Timestamp::from_second(5).unwrap());
    }
}
