//! Figures of requests and visits over a stretch of time.

use std::collections::BTreeMap;
use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer as _, V2Serializer};
use serde::{Deserialize, Serialize, de, ser};

use super::{Merge, Sample, merges};
use crate::client::Fault;

/// Durations, to a thousandth.
#[derive(Clone, Debug)]
pub struct Durations(Histogram<u64>);

impl Default for Durations {
    fn default() -> Self {
        // Bounds and digits are constants that it takes.
        Self(Histogram::new(3).expect("three digits are allowed"))
    }
}

/// Durations as few bytes, without loss: HdrHistogram's own format (V2), or nothing for none.
#[derive(Clone, Debug, Default)]
pub struct Packed(Vec<u8>);

impl Packed {
    /// All of them.
    pub fn durations(&self) -> Durations {
        let mut durations = Durations::default();
        // It was packed here, or checked when it was read. What is read does not grow by itself.
        if let Ok(packed) = Deserializer::new().deserialize(&mut self.0.as_slice()) {
            durations.merge_with(&Durations(packed));
        }
        durations
    }
}

impl Serialize for Packed {
    fn serialize<S: ser::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&STANDARD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Packed {
    fn deserialize<D: de::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let bytes = STANDARD.decode(String::deserialize(from)?).map_err(de::Error::custom)?;
        if !bytes.is_empty() {
            let read = Deserializer::new().deserialize::<u64, _>(&mut bytes.as_slice());
            read.map_err(|error| de::Error::custom(format!("no histogram: {error:?}")))?;
        }
        Ok(Self(bytes))
    }
}

impl Serialize for Durations {
    fn serialize<S: ser::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.pack().serialize(to)
    }
}

impl<'de> Deserialize<'de> for Durations {
    fn deserialize<D: de::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Packed::deserialize(from).map(|packed| packed.durations())
    }
}

impl Durations {
    /// Adds one.
    pub fn note(&mut self, duration: Duration) {
        let micros = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        // It grows to any value.
        let _ = self.0.record(micros);
    }

    /// Takes no more room than it needs.
    pub fn pack(&self) -> Packed {
        let mut bytes = Vec::new();
        // Memory takes everything.
        let _ = V2Serializer::new().serialize(&self.0, &mut bytes);
        Packed(bytes)
    }

    /// Removes all.
    pub(super) fn clear(&mut self) {
        self.0.reset();
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// The least duration that this share of all does not exceed, 0 to 1; zero of none.
    pub fn quantile(&self, share: f64) -> Duration {
        Duration::from_micros(self.0.value_at_quantile(share))
    }

    /// How many are longer, to a thousandth.
    pub fn above(&self, duration: Duration) -> u64 {
        let micros = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        self.count() - self.0.count_between(0, micros)
    }

    /// Their average; zero of none.
    pub fn mean(&self) -> Duration {
        Duration::from_secs_f64(self.0.mean() / 1e6)
    }

    /// The longest, to a thousandth; zero of none.
    pub fn max(&self) -> Duration {
        Duration::from_micros(self.0.max())
    }
}

impl Merge for Durations {
    fn merge_with(&mut self, other: &Self) {
        // It grows to any value, and has as many digits.
        let _ = self.0.add(&other.0);
    }
}

impl Merge for Packed {
    fn merge_with(&mut self, other: &Self) {
        let mut all = self.durations();
        all.merge_with(&other.durations());
        *self = all.pack();
    }
}

/// Durations in milliseconds, as reports show them.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Percentiles {
    /// How many.
    pub count: u64,
    /// Their average.
    pub mean: f64,
    /// The median.
    pub p50: f64,
    /// As `p50`.
    pub p90: f64,
    /// As `p50`.
    pub p95: f64,
    /// As `p50`.
    pub p99: f64,
    /// As `p50`.
    pub p99_9: f64,
    /// The longest.
    pub max: f64,
}

impl From<&Durations> for Percentiles {
    fn from(all: &Durations) -> Self {
        let millis = |time: Duration| time.as_secs_f64() * 1e3;
        let at = |share| millis(all.quantile(share));
        Self {
            count: all.count(),
            mean: millis(all.mean()),
            p50: at(0.5),
            p90: at(0.9),
            p95: at(0.95),
            p99: at(0.99),
            p99_9: at(0.999),
            max: millis(all.max()),
        }
    }
}

/// Reads a figure in milliseconds.
pub type Millis = fn(&Percentiles) -> f64;

impl Percentiles {
    /// What reports show, by name.
    pub const SHOWN: [(&'static str, Millis); 6] = [
        ("average", |it| it.mean),
        ("p50", |it| it.p50),
        ("p95", |it| it.p95),
        ("p99", |it| it.p99),
        ("p99.9", |it| it.p99_9),
        ("max", |it| it.max),
    ];

    /// For the head of a table.
    pub fn head() -> impl Iterator<Item = &'static str> {
        Self::SHOWN.iter().map(|(name, _)| *name)
    }

    /// For a row of it.
    pub fn cells(&self) -> [String; 6] {
        Self::SHOWN.map(|(_, of)| format!("{:.1} ms", of(self)))
    }

    /// For a line.
    pub fn line(&self) -> String {
        let cells = Self::head().zip(self.cells());
        cells.map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>().join(", ")
    }
}

/// What came of requests.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Tally {
    /// From the (intended) start to the last byte, or to the timeout.
    pub latency: Durations,
    /// Requests that began in this stretch and ended, however.
    pub requests: u64,
    /// Those among them that their visit had made before.
    pub again: u64,
    /// Requests that ended in this stretch, answered as the scenario expects or with what it tries
    /// again after.
    pub completed: u64,
    /// Answers by status.
    pub statuses: BTreeMap<u16, u64>,
    /// Those that brought nothing, by kind.
    pub faults: BTreeMap<Fault, u64>,
}

impl Tally {
    /// Requests with a fault.
    pub fn errors(&self) -> u64 {
        self.faults.values().sum()
    }

    /// Requests with a fault, of all; 0 of none.
    pub fn error_share(&self) -> f64 {
        share(self.errors(), self.requests)
    }

    /// Requests made ÷ requests that the same visits need when nothing is tried again; 1 of none.
    pub fn retry_factor(&self) -> f64 {
        let first = self.requests - self.again;
        if first == 0 { 1.0 } else { self.requests as f64 / first as f64 }
    }

    /// Adds one more, of a request that took so long. It counts as a request if it `began` in this
    /// stretch, and as completed if it `ended` in it: so no slow request and no timeout is left
    /// out, and no throughput is counted that came later.
    pub fn add(&mut self, sample: &Sample, latency: Duration, began: bool, ended: bool) {
        self.completed += u64::from(ended && sample.fault.is_none());
        if !began {
            return;
        }
        if sample.waited() {
            self.latency.note(latency);
        }
        self.requests += 1;
        self.again += u64::from(sample.again);
        count(&mut self.statuses, sample.status);
        count(&mut self.faults, sample.fault);
    }

    /// Removes requests that failed on this machine: the service did not get them.
    pub fn forget_own(&mut self) {
        let own = self.faults.iter().filter(|(fault, _)| fault.is_own());
        self.requests -= own.map(|(_, count)| count).sum::<u64>();
        self.faults.retain(|fault, _| !fault.is_own());
    }

    /// Statuses and kinds of errors with their counts, for people.
    pub fn outcomes(&self) -> String {
        let statuses = self.statuses.iter().map(|(status, count)| format!("{status}: {count}"));
        let unanswered = |(fault, _): &(&Fault, &u64)| !matches!(fault, Fault::Status);
        let faults = self.faults.iter().filter(unanswered);
        let faults = faults.map(|(fault, count)| format!("{fault}: {count}"));
        statuses.chain(faults).collect::<Vec<_>>().join(", ")
    }
}

merges!(Tally { latency, requests, again, completed, statuses, faults });

fn count<K: Ord>(counts: &mut BTreeMap<K, u64>, key: Option<K>) {
    if let Some(key) = key {
        *counts.entry(key).or_default() += 1;
    }
}

/// All figures of a stretch of time.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Figures {
    /// How long it was.
    pub length: Duration,
    /// Of all requests.
    pub total: Tally,
    /// Of each step of the scenario, in its order.
    pub steps: Vec<Tally>,
    /// Of visits that came to their last step, from arrival to end.
    pub visits: Durations,
    /// Visits that began in this stretch and ended before their last step.
    pub visits_failed: u64,
}

impl Figures {
    pub(super) fn of(steps: usize) -> Self {
        Self { steps: vec![Tally::default(); steps], ..Self::default() }
    }

    pub(super) fn add(&mut self, sample: &Sample, latency: Duration, began: bool, ended: bool) {
        self.total.add(sample, latency, began, ended);
        self.steps[sample.step].add(sample, latency, began, ended);
    }

    /// Requests completed ÷ time, in requests a second.
    pub fn tps(&self) -> f64 {
        self.per_second(self.total.completed)
    }

    /// Visits completed ÷ time, in visits a second.
    pub fn visits_per_second(&self) -> f64 {
        self.per_second(self.visits.count())
    }

    fn per_second(&self, count: u64) -> f64 {
        if self.length.is_zero() { 0.0 } else { count as f64 / self.length.as_secs_f64() }
    }
}

impl Merge for Figures {
    fn merge_with(&mut self, other: &Self) {
        self.length = self.length.max(other.length);
        self.total.merge_with(&other.total);
        self.steps.merge_with(&other.steps);
        self.visits.merge_with(&other.visits);
        self.visits_failed.merge_with(&other.visits_failed);
    }
}

/// A part of a whole; 0 of nothing.
pub fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What was read grows too: a share may be slower than the one it is added to.
    #[test]
    fn durations_of_another_machine_may_be_longer() {
        let [fast, slow] = [5, 5_000_000].map(|millis| {
            let mut durations = Durations::default();
            durations.note(Duration::from_millis(millis));
            serde_json::to_string(&durations).expect("it can be written")
        });
        let read = |text: &str| serde_json::from_str::<Durations>(text).expect("it can be read");
        let mut both = read(&fast);
        both.merge_with(&read(&slow));
        assert_eq!((both.count(), both.above(Duration::from_secs(4_000))), (2, 1));
    }
}
