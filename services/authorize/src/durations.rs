//! Times in answers: durations in whole milliseconds in a body, in whole seconds in a header,
//! moments as RFC 3339.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anteroom_config::Moment;

/// A duration in whole milliseconds.
pub fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// A duration in whole seconds, rounded up and at least one: what `Retry-After` can say.
pub fn whole_seconds(duration: Duration) -> u64 {
    duration.as_secs().saturating_add(u64::from(duration.subsec_nanos() > 0)).max(1)
}

/// The clock of this process: the time since 1970.
pub fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// A moment as RFC 3339 writes it, in UTC; `None` for one that the store cannot hold.
pub fn moment(seconds: u64) -> Option<String> {
    Moment::from_seconds(seconds).map(|moment| moment.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_never_zero() {
        assert_eq!(whole_seconds(Duration::ZERO), 1);
        assert_eq!(whole_seconds(Duration::from_secs(3)), 3);
        assert_eq!(whole_seconds(Duration::from_millis(3_001)), 4);
    }
}
