//! Dates and times, as people read them.

use jiff::Timestamp;
use jiff::civil::DateTime;

use super::layout::escaped;

/// The start of a show; as it was written, if that is no date and time.
pub struct Start<'a> {
    text: &'a str,
    at: Option<DateTime>,
}

impl<'a> Start<'a> {
    pub fn of(text: &'a str) -> Self {
        Self { text, at: text.parse().ok() }
    }

    /// "Friday 15 January 2027, 20:00".
    pub fn long(&self) -> String {
        self.at
            .map_or_else(|| escaped(self.text), |at| at.strftime("%A %-d %B %Y, %H:%M").to_string())
    }

    /// A leaf of a calendar, as decoration: the long form is beside it.
    pub fn leaf(&self) -> String {
        let leaf = |at: DateTime| {
            let (day, month) = (at.day(), at.strftime("%b"));
            format!("<span class=\"leaf\" aria-hidden=\"true\">{month}<b>{day}</b></span>")
        };
        self.at.map_or_else(String::new, leaf)
    }
}

/// The time of a payment, from milliseconds since 1970.
pub fn paid(at: i64) -> Option<String> {
    let at = Timestamp::from_millisecond(at).ok()?;
    Some(at.strftime("%-d %b %Y, %H:%M UTC").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_is_written_out_and_anything_else_stays_text() {
        let start = Start::of("2027-01-15 20:00");
        assert_eq!(start.long(), "Friday 15 January 2027, 20:00");
        assert!(start.leaf().contains("Jan<b>15</b>"), "{}", start.leaf());
        let other = Start::of("<soon>");
        assert_eq!((other.long(), other.leaf()), ("&lt;soon&gt;".into(), String::new()));
    }

    #[test]
    fn a_payment_has_a_time() {
        assert_eq!(paid(0).as_deref(), Some("1 Jan 1970, 00:00 UTC"));
        assert_eq!(paid(i64::MAX), None);
    }
}
