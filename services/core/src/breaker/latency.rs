//! Latencies, counted by upper bounds.

use super::LATENCY_BOUNDS_MS;

/// The longest latency that can be reported, in milliseconds: one hour.
pub const MAX_LATENCY_MS: u64 = 3_600_000;

/// A latency histogram: a count for each of [`LATENCY_BOUNDS_MS`], and one for what is slower.
pub(super) type Latencies = [u64; LATENCY_BOUNDS_MS.len() + 1];

/// The number of the upper bound under which a latency is counted, from 1.
pub(super) fn number_of(latency_ms: u64) -> u8 {
    let before = LATENCY_BOUNDS_MS.partition_point(|bound| *bound < latency_ms);
    u8::try_from(before + 1).expect("there are few bounds")
}

/// The upper bound in milliseconds of the bucket in which this percentile lies; `None` without
/// latencies.
pub(super) fn percentile(latencies: &Latencies, percent: u64) -> Option<u64> {
    let all: u64 = latencies.iter().sum();
    let rank = (all * percent).div_ceil(100).max(1);
    let mut seen = 0;
    let at = latencies.iter().position(|count| {
        seen += count;
        seen >= rank
    })?;
    Some(LATENCY_BOUNDS_MS.get(at).copied().unwrap_or(MAX_LATENCY_MS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_latency_is_counted_under_the_first_bound_that_it_does_not_exceed() {
        for (latency_ms, number) in
            [(0, 1), (1, 1), (2, 2), (3, 3), (10_000, 13), (10_001, 14), (MAX_LATENCY_MS, 14)]
        {
            assert_eq!(number_of(latency_ms), number, "{latency_ms} ms");
        }
    }

    #[test]
    fn a_percentile_is_the_bound_of_its_bucket() {
        let mut latencies = Latencies::default();
        assert_eq!(percentile(&latencies, 95), None);
        latencies[3] = 95; // up to 10 ms
        latencies[6] = 5; // up to 100 ms
        assert_eq!(percentile(&latencies, 50), Some(10));
        assert_eq!(percentile(&latencies, 95), Some(10));
        assert_eq!(percentile(&latencies, 96), Some(100));
        latencies[13] = 900;
        assert_eq!(percentile(&latencies, 95), Some(MAX_LATENCY_MS));
    }
}
