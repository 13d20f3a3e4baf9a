//! What the snapshots of a kind of entity say, as gauges with the entity's name as their label.
//!
//! They show shared state, so they are the same in every process: dashboards take
//! `max`, never `sum`. A number older than five seconds is not shown at all: while the store is
//! away a gap is the truth.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use prometheus::{
    GaugeVec, Opts, Registry,
    core::{Collector, Desc},
    proto::MetricFamily,
};

/// What is older is not shown.
pub const FRESH_FOR: Duration = Duration::from_secs(5);

/// A gauge that is registered, and how its value is read from a snapshot.
type Gauge<S> = (GaugeVec, fn(&S) -> Option<f64>);

/// A gauge with a series for each of some words, and how the one that holds is read.
type StateGauge<S> = (GaugeVec, &'static [&'static str], fn(&S) -> &'static str);

/// The gauges of each entity of a kind, whose snapshots are `S`; clones share them.
#[derive(Clone, Debug)]
pub struct SnapshotGauges<S> {
    gauges: Vec<Gauge<S>>,
    states: Vec<StateGauge<S>>,
    latest: Arc<Mutex<BTreeMap<String, Reading>>>,
}

/// The values of one entity, in the order of the gauges, and when they were read.
#[derive(Clone, Debug)]
struct Reading {
    values: Vec<Option<f64>>,
    states: Vec<&'static str>,
    at: Instant,
}

impl<S: Clone + 'static> SnapshotGauges<S> {
    /// Registers gauges by name, meaning and value; one without a value is not shown. Each of
    /// `states` is 1 for the word that holds and 0 for the others, which the label `state` names.
    /// `label` is the kind of entity, such as `queue`. No entity is shown yet.
    ///
    /// # Errors
    ///
    /// When a name is taken.
    pub fn register(
        registry: &Registry,
        label: &str,
        gauges: impl IntoIterator<Item = (&'static str, &'static str, fn(&S) -> Option<f64>)>,
        states: impl IntoIterator<
            Item = (&'static str, &'static str, &'static [&'static str], fn(&S) -> &'static str),
        >,
    ) -> prometheus::Result<Self> {
        let gauge =
            |(name, help, read)| Ok((GaugeVec::new(Opts::new(name, help), &[label])?, read));
        let state = |(name, help, words, read)| {
            Ok((GaugeVec::new(Opts::new(name, help), &[label, "state"])?, words, read))
        };
        let gauges = gauges.into_iter().map(gauge).collect::<prometheus::Result<_>>()?;
        let states = states.into_iter().map(state).collect::<prometheus::Result<_>>()?;
        let gauges = Self { gauges, states, latest: Arc::default() };
        registry.register(Box::new(gauges.clone()))?;
        Ok(gauges)
    }

    /// Shows this snapshot, read just now, until a newer one comes or it is too old.
    pub fn show(&self, entity: &str, snapshot: &S) {
        let values = self.gauges.iter().map(|(_, read)| read(snapshot)).collect();
        let states = self.states.iter().map(|(_, _, read)| read(snapshot)).collect();
        self.latest().insert(entity.to_owned(), Reading { values, states, at: Instant::now() });
    }

    /// Shows nothing more of an entity that is no longer configured.
    pub fn forget(&self, entity: &str) {
        self.latest().remove(entity);
    }

    fn latest(&self) -> MutexGuard<'_, BTreeMap<String, Reading>> {
        // The map is whole after every single call, so a panic elsewhere cannot have broken it.
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn all(&self) -> impl Iterator<Item = &GaugeVec> {
        let states = self.states.iter().map(|(gauge, _, _)| gauge);
        self.gauges.iter().map(|(gauge, _)| gauge).chain(states)
    }

    fn collect_at(&self, now: Instant) -> Vec<MetricFamily> {
        // Held to the end: two scrapes at once must not see each other's half.
        let latest = self.latest();
        self.all().for_each(GaugeVec::reset);
        for (entity, shown) in latest.iter() {
            if now.saturating_duration_since(shown.at) > FRESH_FOR {
                continue;
            }
            for ((gauge, _), value) in self.gauges.iter().zip(&shown.values) {
                if let Some(value) = value {
                    gauge.with_label_values(&[entity]).set(*value);
                }
            }
            for ((gauge, words, _), holds) in self.states.iter().zip(&shown.states) {
                for word in *words {
                    let value = f64::from(u8::from(word == holds));
                    gauge.with_label_values(&[entity.as_str(), word]).set(value);
                }
            }
        }
        let families = self.all().flat_map(GaugeVec::collect);
        families.filter(|family| !family.get_metric().is_empty()).collect()
    }
}

impl<S: Clone + 'static> Collector for SnapshotGauges<S> {
    fn desc(&self) -> Vec<&Desc> {
        self.all().flat_map(GaugeVec::desc).collect()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        self.collect_at(Instant::now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Snapshot = (f64, Option<f64>);

    fn registered(registry: &Registry) -> SnapshotGauges<Snapshot> {
        let depth: fn(&Snapshot) -> Option<f64> = |(depth, _)| Some(*depth);
        let gauges = [
            ("depth", "How many wait.", depth),
            ("capacity", "How many may be served.", |(_, capacity)| *capacity),
        ];
        let full: fn(&Snapshot) -> &'static str =
            |(depth, capacity)| if Some(*depth) == *capacity { "full" } else { "free" };
        let states = [("room", "Whether there is room.", ["free", "full"].as_slice(), full)];
        SnapshotGauges::register(registry, "queue", gauges, states).expect("fresh names")
    }

    fn shown(families: &[MetricFamily]) -> Vec<String> {
        let text = prometheus::TextEncoder::new().encode_to_string(families).expect("text");
        text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
    }

    #[test]
    fn each_value_shows_under_its_name_until_it_is_forgotten() {
        let registry = Registry::new();
        let gauges = registered(&registry);
        assert!(registry.gather().is_empty());
        gauges.show("concert", &(5.0, Some(5.0)));
        gauges.show("sale", &(0.5, None));
        assert_eq!(
            shown(&registry.gather()),
            [
                "capacity{queue=\"concert\"} 5",
                "depth{queue=\"concert\"} 5",
                "depth{queue=\"sale\"} 0.5",
                "room{queue=\"concert\",state=\"free\"} 0",
                "room{queue=\"concert\",state=\"full\"} 1",
                "room{queue=\"sale\",state=\"free\"} 1",
                "room{queue=\"sale\",state=\"full\"} 0",
            ]
        );
        gauges.show("concert", &(2.0, None));
        gauges.forget("sale");
        assert_eq!(
            shown(&registry.gather()),
            [
                "depth{queue=\"concert\"} 2",
                "room{queue=\"concert\",state=\"free\"} 1",
                "room{queue=\"concert\",state=\"full\"} 0",
            ]
        );
    }

    #[test]
    fn old_values_are_not_shown() {
        let gauges = registered(&Registry::new());
        gauges.show("concert", &(1.0, Some(5.0)));
        let now = Instant::now();
        assert_eq!(shown(&gauges.collect_at(now + FRESH_FOR - Duration::from_secs(1))).len(), 4);
        assert_eq!(shown(&gauges.collect_at(now + FRESH_FOR + Duration::from_secs(1))).len(), 0);
    }
}
