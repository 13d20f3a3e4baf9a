//! Moments in bodies, in the form that the configuration takes as well.

use std::time::UNIX_EPOCH;

use super::Wrong;

/// The value of `field` is no moment.
pub(super) fn wrong(field: &'static str) -> Wrong {
    Wrong::new(
        field,
        "must be a moment from 1970 on as RFC 3339 writes it, such as \"2027-01-15T20:00:00+09:00\"",
    )
}

/// Seconds since 1970.
pub(super) fn parse(text: &str) -> Option<u64> {
    if !text.is_ascii() || text.len() < 20 {
        return None;
    }
    let zone = text.rfind(['Z', 'z', '+', '-']).filter(|&at| at >= 19)?;
    let (local, offset) = text.split_at(zone);
    // humantime reads UTC only, so the offset is taken off by hand.
    let local = humantime::parse_rfc3339(&format!("{local}Z").to_ascii_uppercase()).ok()?;
    let local = i64::try_from(local.duration_since(UNIX_EPOCH).ok()?.as_secs()).ok()?;
    u64::try_from(local - offset_seconds(offset)?).ok()
}

/// `Z`, `+09:00`, `-03:30` in seconds.
fn offset_seconds(text: &str) -> Option<i64> {
    if text.eq_ignore_ascii_case("z") {
        return Some(0);
    }
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let (hours, minutes) = text.get(1..)?.split_once(':')?;
    let number = |digits: &str, below: i64| {
        let plain = digits.len() == 2 && digits.bytes().all(|byte| byte.is_ascii_digit());
        digits.parse::<i64>().ok().filter(|&number| plain && number < below)
    };
    Some(sign * (number(hours, 24)? * 3600 + number(minutes, 60)? * 60))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_offset_is_read() {
        for text in
            ["2027-01-15T20:00:00+09:00", "2027-01-15T11:00:00Z", "2027-01-15t07:30:00.5-03:30"]
        {
            assert_eq!(parse(text), Some(1_800_010_800), "{text}");
        }
    }

    #[test]
    fn what_is_no_moment_is_refused() {
        for text in [
            "",
            "2027-01-15",
            "2027-01-15T20:00:00",
            "2027-01-15T20:00:00+9:00",
            "2027-01-15T20:00:00+24:00",
            "2027-13-15T20:00:00Z",
            "1969-12-31T23:59:59Z",
            "1970-01-01T00:00:00+09:00",
            "1800010800",
            "now, and some more text é",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
