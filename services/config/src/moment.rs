//! Moments of the calendar, as RFC 3339 writes them.

use std::fmt;

use jiff::Timestamp;

use crate::parse::FromText;

/// The last moment that the store can hold exactly in microseconds: in the year 2255.
const LAST: i64 = ((1 << 53) - 1) / 1_000_000;

/// A moment, to the second. The first second of 1970 means "no such time" in the store, and is
/// refused here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(i64);

impl Moment {
    /// What a text must be, as the rest of a sentence "FIELD …".
    pub const RULE: &'static str = "must be a moment from 1970 to 2255 as RFC 3339 writes it, such \
        as \"2027-01-15T20:00:00+09:00\"";

    /// Reads a moment with its offset from UTC; nothing when the text is none.
    pub fn parse(text: &str) -> Option<Self> {
        Self::at(text.parse::<Timestamp>().ok()?.as_second())
    }

    /// The moment so many seconds after the start of 1970; nothing beyond what the store can hold.
    pub fn from_seconds(seconds: u64) -> Option<Self> {
        Self::at(i64::try_from(seconds).ok()?)
    }

    /// Seconds since 1970.
    pub fn seconds(self) -> u64 {
        self.0.unsigned_abs()
    }

    fn at(seconds: i64) -> Option<Self> {
        (1..=LAST).contains(&seconds).then_some(Self(seconds))
    }
}

/// As RFC 3339 writes it, in UTC.
impl fmt::Display for Moment {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        Timestamp::from_second(self.0).map_err(|_| fmt::Error)?.fmt(formatter)
    }
}

impl FromText for Moment {
    const RULE: &'static str = Self::RULE;

    fn from_text(text: &str) -> Option<Self> {
        Self::parse(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_offset_is_read() {
        for text in
            ["2027-01-15T20:00:00+09:00", "2027-01-15T11:00:00Z", "2027-01-15t07:30:00.5-03:30"]
        {
            assert_eq!(Moment::parse(text).map(Moment::seconds), Some(1_800_010_800), "{text}");
        }
    }

    #[test]
    fn it_is_written_in_utc() {
        let written = |seconds| Moment::from_seconds(seconds).map(|moment| moment.to_string());
        assert_eq!(written(1_800_000_000).as_deref(), Some("2027-01-15T08:00:00Z"));
        assert_eq!(written(LAST.unsigned_abs()).as_deref(), Some("2255-06-05T23:47:34Z"));
        for none in [0, LAST.unsigned_abs() + 1, u64::MAX] {
            assert_eq!(written(none), None);
        }
    }

    #[test]
    fn what_is_no_moment_is_refused() {
        for text in [
            "",
            "2027-01-15",
            "2027-01-15T20:00:00",
            "2027-01-15T20:00:00+26:00",
            "2027-13-15T20:00:00Z",
            "1969-12-31T23:59:59Z",
            "1970-01-01T00:00:00Z",
            "2300-01-01T00:00:00Z",
            "1800010800",
            "now, and some more text é",
        ] {
            assert_eq!(Moment::parse(text), None, "{text}");
        }
    }
}
