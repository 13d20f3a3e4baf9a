//! Distributions of times.

use hdrhistogram::Histogram;

/// Latencies are kept with two digits, within 1 %.
const DIGITS: u8 = 2;

/// An empty one, of microseconds or milliseconds.
pub fn histogram() -> Histogram<u64> {
    Histogram::new(DIGITS).expect("0 to 5 digits are allowed")
}

/// Adds a value.
pub fn record(histogram: &mut Histogram<u64>, value: u64) {
    histogram.record(value).expect("it grows with its values");
}
