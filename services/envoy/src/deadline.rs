//! How long a call may take.

use std::time::Duration;

use tonic::metadata::MetadataMap;

/// The most digits of a `grpc-timeout`.
const DIGITS: std::ops::RangeInclusive<usize> = 1..=8;

/// The time for the work of a call: at most `most`, and nine tenths of what its caller waits.
/// A caller that has stopped waiting gets no answer, and decides without `on_store_error`.
pub fn time_for(metadata: &MetadataMap, most: Duration) -> Duration {
    let waits = metadata.get("grpc-timeout").and_then(|value| parse(value.to_str().ok()?));
    waits.map_or(most, |waits| most.min(waits / 10 * 9))
}

/// A `grpc-timeout`: up to 8 digits and a unit.
fn parse(text: &str) -> Option<Duration> {
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    if !DIGITS.contains(&digits.len()) || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let count = digits.parse().ok()?;
    match unit {
        "H" => Some(Duration::from_secs(count * 3_600)),
        "M" => Some(Duration::from_secs(count * 60)),
        "S" => Some(Duration::from_secs(count)),
        "m" => Some(Duration::from_millis(count)),
        "u" => Some(Duration::from_micros(count)),
        "n" => Some(Duration::from_nanos(count)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use tonic::metadata::MetadataValue;

    use super::*;

    #[test]
    fn the_caller_can_only_shorten_the_time() {
        let second = Duration::from_secs(1);
        let time_with = |value: &'static str| {
            let mut metadata = MetadataMap::new();
            metadata.insert("grpc-timeout", MetadataValue::from_static(value));
            time_for(&metadata, second)
        };
        assert_eq!(time_for(&MetadataMap::new(), second), second);
        assert_eq!(time_with("200m"), Duration::from_millis(180));
        assert_eq!(time_with("200000u"), Duration::from_millis(180));
        assert_eq!(time_with("1S"), Duration::from_millis(900));
        assert_eq!(time_with("0n"), Duration::ZERO);
        for longer in ["2S", "1M", "99999999H"] {
            assert_eq!(time_with(longer), second, "{longer}");
        }
        for unreadable in ["", "S", "1", "1s", "-1S", "+1S", "123456789m", "1 S", "é"] {
            assert_eq!(parse(unreadable), None, "{unreadable}");
        }
    }
}
