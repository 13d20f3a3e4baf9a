//! Durations as people write them: "100ms", "10s", "1h 30m", "7d".

use std::time::Duration;

use jiff::{
    Span, SpanRelativeTo,
    fmt::friendly::{Designator, SpanPrinter},
};

const DAY_SECONDS: u64 = 86_400;
/// An average month and year: 30.44 and 365.25 days.
const MONTH_NANOS: u128 = 2_630_016_000_000_000;
const YEAR_NANOS: u128 = 31_557_600_000_000_000;

/// A duration in whole milliseconds; nothing when the text is none.
///
/// `jiff` reads each unit once, from large to small, and no part of a day. People write what they
/// like, so only the units are read by it.
pub(crate) fn read(text: &str) -> Option<Duration> {
    let mut nanos: u128 = 0;
    for part in parts(text) {
        let (number, unit) = part.split_at(part.find(char::is_alphabetic)?);
        let number = number.replace(char::is_whitespace, "");
        let (whole, fraction) = number.split_once('.').unwrap_or((&number, "0"));
        let is_number = |digits: &str| digits.parse::<u64>().is_ok() && !digits.starts_with('+');
        if !is_number(whole) || !is_number(fraction) {
            return None;
        }
        let digits: u128 = format!("{whole}{fraction}").parse().ok()?;
        let parts = 10_u128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
        let length = digits.checked_mul(unit_nanos(unit.trim())?)?;
        nanos = nanos.checked_add(length.is_multiple_of(parts).then_some(length / parts)?)?;
    }
    let millis = nanos.is_multiple_of(1_000_000).then_some(nanos / 1_000_000)?;
    u64::try_from(millis).ok().map(Duration::from_millis)
}

/// How long one unit is. `M` is a month: `jiff` has no such label, which is easily taken for a
/// minute, and gives months and years no length.
fn unit_nanos(unit: &str) -> Option<u128> {
    match unit {
        "M" | "month" | "months" => Some(MONTH_NANOS),
        "y" | "yr" | "yrs" | "year" | "years" => Some(YEAR_NANOS),
        _ => {
            let one: Span = format!("1{unit}").parse().ok()?;
            let one = one.to_duration(SpanRelativeTo::days_are_24_hours()).ok()?;
            u128::try_from(one.as_nanos()).ok()
        }
    }
}

/// The text cut before each number that follows a unit; a text without any is one part.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let unit = text.find(char::is_alphabetic).unwrap_or(text.len());
        let next = text[unit..].find(|char: char| char.is_ascii_digit()).map(|at| unit + at);
        let (part, later) = next.map_or((text, None), |at| (&text[..at], Some(&text[at..])));
        rest = later;
        Some(part)
    })
}

/// The same as text; whole days are shown as such, however many.
pub(crate) fn shown(span: Duration) -> String {
    match (span.as_secs() / DAY_SECONDS, span.as_secs() % DAY_SECONDS) {
        (1, 0) => "1day".to_owned(),
        (days @ 2.., 0) => format!("{days}days"),
        _ => {
            SpanPrinter::new().designator(Designator::HumanTime).unsigned_duration_to_string(&span)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_read() {
        let (minute, hour, day) = (60_000, 3_600_000, 86_400_000);
        for (text, millis) in [
            ("0s", 0),
            ("1ms", 1),
            ("1 millis", 1),
            ("100msec", 100),
            ("10s", 10_000),
            ("10 s", 10_000),
            ("10sec", 10_000),
            ("10 secs", 10_000),
            ("1second", 1_000),
            ("10 seconds", 10_000),
            ("1.5s", 1_500),
            ("5m", 5 * minute),
            ("5min", 5 * minute),
            ("5 mins", 5 * minute),
            ("1minute", minute),
            ("5 minutes", 5 * minute),
            ("1h", hour),
            ("1hr", hour),
            ("2hrs", 2 * hour),
            ("1hour", hour),
            ("2 hours", 2 * hour),
            ("1.5h", 90 * minute),
            ("1.5d", 36 * hour),
            ("0.25 weeks", 42 * hour),
            ("1 000s", 1_000_000),
            ("7d", 7 * day),
            ("1day", day),
            ("3650days", 3650 * day),
            ("1w", 7 * day),
            ("1wk", 7 * day),
            ("2wks", 14 * day),
            ("1week", 7 * day),
            ("2 weeks", 14 * day),
            ("1M", 2_630_016_000),
            ("1month", 2_630_016_000),
            ("2months", 5_260_032_000),
            ("1y", 31_557_600_000),
            ("1yr", 31_557_600_000),
            ("1year", 31_557_600_000),
            ("2years", 63_115_200_000),
            ("1h 30m", 90 * minute),
            ("1h30m", 90 * minute),
            (" 1day 2h  3m 4s 5ms ", day + 2 * hour + 3 * minute + 4_005),
            ("30m 1h", 90 * minute),
            ("10s 10s", 20_000),
            ("1000000us", 1_000),
            ("5000000ns", 5),
        ] {
            assert_eq!(read(text), Some(Duration::from_millis(millis)), "{text:?}");
        }
    }

    #[test]
    fn what_is_no_duration_is_refused() {
        for text in [
            "",
            " ",
            "10",
            "s",
            "-10s",
            "10s -5s",
            "10s ago",
            "1us",
            "1s 1us",
            "10x",
            "1e3s",
            "é",
            "99999999999999999999y",
            "PT10S",
            "10s,",
            "1.s",
        ] {
            assert_eq!(read(text), None, "{text:?}");
        }
    }

    #[test]
    fn what_is_shown_is_what_people_write() {
        for text in ["0s", "1ms", "150ms", "10s", "1m", "1m 30s", "1h", "1day", "7days", "3650days"]
        {
            assert_eq!(shown(read(text).expect(text)), text);
        }
    }
}
