//! What a snapshot says of each queue, as gauges. Admission and the schedulers both show them.
//!
//! They tell of shared state, so every process that shows them says the same: dashboards take
//! `max by (queue)`, never `sum`. A number older than five seconds is not shown at all: while the
//! store is away a gap is the truth.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use anteroom_core::queue::Snapshot;
use prometheus::{
    IntGaugeVec, Opts, Registry,
    core::{Collector, Desc},
    proto::MetricFamily,
};

/// What is older is not shown.
pub const FRESH_FOR: Duration = Duration::from_secs(5);

/// The gauges of all queues; clones share them.
#[derive(Clone, Debug)]
pub struct QueueGauges {
    families: [IntGaugeVec; 6],
    latest: Arc<Mutex<BTreeMap<String, Seen>>>,
}

/// The numbers of one queue, in the order of [`QueueGauges::FAMILIES`], and when they were read.
#[derive(Clone, Debug)]
struct Seen {
    values: [Option<i64>; 6],
    at: Instant,
}

impl QueueGauges {
    /// Names and meanings. All have the one label `queue`.
    const FAMILIES: [(&str, &str); 6] = [
        ("anteroom_queue_depth", "Places waiting and present."),
        ("anteroom_queue_away", "Places waiting that were not seen for idle_ttl."),
        ("anteroom_queue_ready", "Places whose turn has come and that are not claimed yet."),
        ("anteroom_queue_active", "Places claimed."),
        (
            "anteroom_queue_unswept",
            "Turns and sessions that have ended and are not cleared away yet.",
        ),
        ("anteroom_queue_capacity", "Most places ready and active; absent without such a rule."),
    ];

    /// Registers the families. No queue is shown yet.
    pub fn register(registry: &Registry) -> prometheus::Result<Self> {
        let family = |(name, help)| IntGaugeVec::new(Opts::new(name, help), &["queue"]);
        let [depth, away, ready, active, unswept, capacity] = Self::FAMILIES.map(family);
        let families = [depth?, away?, ready?, active?, unswept?, capacity?];
        let gauges = Self { families, latest: Arc::default() };
        registry.register(Box::new(gauges.clone()))?;
        Ok(gauges)
    }

    /// Shows this snapshot, read just now, until a newer one comes or it is too old.
    pub fn show(&self, queue: &str, snapshot: &Snapshot) {
        let values = [
            Some(snapshot.depth),
            Some(snapshot.away),
            Some(snapshot.ready),
            Some(snapshot.active),
            Some(snapshot.unswept),
            snapshot.rules.capacity,
        ];
        // A count beyond 2^63 is as good as the greatest that a gauge can show.
        let values = values.map(|value| value.map(|it| i64::try_from(it).unwrap_or(i64::MAX)));
        self.latest().insert(queue.to_owned(), Seen { values, at: Instant::now() });
    }

    /// Shows nothing more of a queue that is no longer configured.
    pub fn forget(&self, queue: &str) {
        self.latest().remove(queue);
    }

    fn latest(&self) -> MutexGuard<'_, BTreeMap<String, Seen>> {
        // The map is whole after every single call, so a panic elsewhere cannot have broken it.
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn collect_at(&self, now: Instant) -> Vec<MetricFamily> {
        // Held to the end: two scrapes at once must not see each other's half.
        let latest = self.latest();
        self.families.iter().for_each(IntGaugeVec::reset);
        for (queue, seen) in latest.iter() {
            if now.saturating_duration_since(seen.at) > FRESH_FOR {
                continue;
            }
            for (family, value) in self.families.iter().zip(seen.values) {
                if let Some(value) = value {
                    family.with_label_values(&[queue]).set(value);
                }
            }
        }
        self.families
            .iter()
            .flat_map(Collector::collect)
            .filter(|family| !family.get_metric().is_empty())
            .collect()
    }
}

impl Collector for QueueGauges {
    fn desc(&self) -> Vec<&Desc> {
        self.families.iter().flat_map(Collector::desc).collect()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        self.collect_at(Instant::now())
    }
}

#[cfg(test)]
mod tests {
    use anteroom_core::queue::{Epoch, Pace, Rules, State};

    use super::*;

    fn snapshot(depth: u64, capacity: Option<u64>) -> Snapshot {
        let minute = Duration::from_secs(60);
        Snapshot {
            epoch: Epoch([0; 8]),
            state: State::Open,
            reason: None,
            depth,
            away: 2,
            ready: 3,
            active: 4,
            unswept: 5,
            last_ticket: 9,
            rate_per_second: None,
            store_time_us: 0,
            bypass_until_us: None,
            rules: Rules {
                capacity,
                batch: Some(1),
                interval: minute,
                pace: Pace::Even,
                claim_ttl: minute,
                session_ttl: minute,
                session_max: minute,
                idle_ttl: minute,
                keep_ttl: minute,
                first_poll_ttl: minute,
                max_waiting: 1,
                joins_at: None,
                opens_at: None,
                closes_at: None,
                local_answers: false,
            },
            overridden: Vec::new(),
        }
    }

    fn shown(families: &[MetricFamily]) -> Vec<String> {
        let text = prometheus::TextEncoder::new().encode_to_string(families).expect("text");
        text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
    }

    #[test]
    fn a_queue_shows_its_numbers_and_no_capacity_without_the_rule() {
        let registry = Registry::new();
        let gauges = QueueGauges::register(&registry).expect("fresh names");
        assert!(registry.gather().is_empty());
        gauges.show("concert", &snapshot(1, Some(5)));
        gauges.show("sale", &snapshot(u64::MAX, None));
        assert_eq!(
            shown(&registry.gather()),
            [
                "anteroom_queue_active{queue=\"concert\"} 4",
                "anteroom_queue_active{queue=\"sale\"} 4",
                "anteroom_queue_away{queue=\"concert\"} 2",
                "anteroom_queue_away{queue=\"sale\"} 2",
                "anteroom_queue_capacity{queue=\"concert\"} 5",
                "anteroom_queue_depth{queue=\"concert\"} 1",
                "anteroom_queue_depth{queue=\"sale\"} 9223372036854776000",
                "anteroom_queue_ready{queue=\"concert\"} 3",
                "anteroom_queue_ready{queue=\"sale\"} 3",
                "anteroom_queue_unswept{queue=\"concert\"} 5",
                "anteroom_queue_unswept{queue=\"sale\"} 5",
            ]
        );
        gauges.show("concert", &snapshot(1, None));
        gauges.forget("sale");
        assert_eq!(shown(&registry.gather()).len(), 5);
    }

    #[test]
    fn old_numbers_are_not_shown() {
        let gauges = QueueGauges::register(&Registry::new()).expect("fresh names");
        gauges.show("concert", &snapshot(1, None));
        let now = Instant::now();
        assert_eq!(shown(&gauges.collect_at(now + FRESH_FOR - Duration::from_secs(1))).len(), 5);
        assert_eq!(shown(&gauges.collect_at(now + FRESH_FOR + Duration::from_secs(1))).len(), 0);
    }
}
