//! Moments of the calendar, as RFC 3339 writes them.

use std::time::UNIX_EPOCH;

use super::parse::FromText;

/// A moment, to the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(u64);

impl Moment {
    /// Seconds since 1970.
    pub fn seconds(self) -> u64 {
        self.0
    }
}

impl FromText for Moment {
    const RULE: &'static str = "must be a moment from 1970 on as RFC 3339 writes it, such as \"2027-01-15T20:00:00+09:00\"";

    /// `humantime` reads the moment in UTC only; the offset is taken off by hand.
    fn from_text(text: &str) -> Option<Self> {
        if !text.is_ascii() || text.len() < 20 {
            return None;
        }
        let zone = text.rfind(['Z', 'z', '+', '-']).filter(|at| *at >= 19)?;
        let (local, offset) = text.split_at(zone);
        let local = humantime::parse_rfc3339(&format!("{local}Z").to_ascii_uppercase()).ok()?;
        let local = i64::try_from(local.duration_since(UNIX_EPOCH).ok()?.as_secs()).ok()?;
        u64::try_from(local - offset_seconds(offset)?).ok().map(Self)
    }
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
        digits.parse::<i64>().ok().filter(|number| plain && *number < below)
    };
    Some(sign * (number(hours, 24)? * 3600 + number(minutes, 60)? * 60))
}
