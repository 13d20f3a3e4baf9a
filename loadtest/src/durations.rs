//! Durations as people write and read them: "100ms", "10s", "1h 30m", "7d".

use std::time::Duration;

use jiff::{
    Span, SpanRelativeTo,
    fmt::friendly::{Designator, SpanPrinter},
};

const DAY_SECONDS: u64 = 86_400;

/// Reads a duration. A day has 24 hours; months and years have no length.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let span = text.trim().parse::<Span>();
    let span = span.and_then(|span| span.to_duration(SpanRelativeTo::days_are_24_hours()));
    span.and_then(Duration::try_from).map_err(|error| error.to_string())
}

/// Shows a duration in a form that [`parse_duration`] reads, such as `1day 2h 3m`.
pub fn format_duration(time: Duration) -> String {
    let days = time.as_secs() / DAY_SECONDS;
    let rest = time - Duration::from_secs(days * DAY_SECONDS);
    let plural = if days == 1 { "" } else { "s" };
    let printer = SpanPrinter::new().designator(Designator::HumanTime);
    match printer.unsigned_duration_to_string(&rest) {
        rest if days == 0 => rest,
        _ if rest.is_zero() => format!("{days}day{plural}"),
        rest => format!("{days}day{plural} {rest}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_is_read() {
        for text in ["0s", "1ms", "1s 500ms", "2m 30s", "1h", "1day", "2days", "31days 2h 3m 4s"] {
            assert_eq!(format_duration(parse_duration(text).expect(text)), text);
        }
        assert_eq!(parse_duration(" 1.5h"), Ok(Duration::from_secs(5_400)));
        for wrong in ["", "10", "-1s", "10x", "1month"] {
            assert!(parse_duration(wrong).is_err(), "{wrong}");
        }
    }
}
