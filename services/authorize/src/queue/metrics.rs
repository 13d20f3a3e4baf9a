//! What admission counts of queues.

use anteroom_core::queue::{GoneReason, Place, QueueCounts, Snapshot, Status, Visit};
use anteroom_runtime::{Families, SnapshotGauges, counters};
use prometheus::{Histogram, IntCounter, IntCounterVec, Registry};

use crate::metrics::label_values;

/// The metrics of all queues, by name.
#[derive(Debug)]
pub struct QueueFamilies {
    joined: IntCounterVec,
    joins_refused: IntCounterVec,
    looks: IntCounterVec,
    counts: QueueCounts,
    gate: IntCounterVec,
    /// The state of each queue, from its snapshots.
    pub(crate) gauges: SnapshotGauges<Snapshot>,
}

impl Families for QueueFamilies {
    fn register(registry: &Registry) -> prometheus::Result<Self> {
        let counters = |name, help, labels: &[&str]| counters(registry, name, help, labels);
        let (gauges, states) = (Snapshot::GAUGES, Snapshot::STATES);
        Ok(Self {
            joined: counters("anteroom_queue_joined_total", "New places.", &["queue"])?,
            joins_refused: counters(
                "anteroom_queue_joins_refused_total",
                "Joins that got no place: `line_full` (`max_waiting` is reached), `redis_full` \
                 (Redis has no memory left), `closed` (the queue accepts no joins), \
                 `address_places` (`places_per_address`), `address_rate` (`joins_per_address`).",
                &["queue", "reason"],
            )?,
            looks: counters(
                "anteroom_queue_looks_total",
                "Polls of waiting visitors: requests for the place, event streams and gateway \
                 checks. If it does not grow, no waiting visitor contacts Anteroom.",
                &["queue"],
            )?,
            gate: counters(
                "anteroom_gate_answers_total",
                "Answers of the gateway check (`authorize`). Passed: `admitted`, `local` (this \
                 process knows the place as active), `bypass`, `preflight` (CORS). Passed while \
                 Redis is down: `held` (this process knows the place as active), `opened` \
                 (`on_store_error = \"open\"`). Not passed: `refused`, and while Redis is down \
                 `store_unavailable`.",
                &["queue", "answer"],
            )?,
            counts: QueueCounts::register(registry)?,
            gauges: SnapshotGauges::register(registry, "queue", gauges, states)?,
        })
    }

    fn forget(&self, name: &str) {
        self.gauges.forget(name);
    }
}

impl QueueFamilies {
    /// The children of one queue, so that no request formats a label.
    pub fn of(&self, name: &str) -> QueueMetrics {
        let gone = |reason: GoneReason| self.counts.gone.with_label_values(&[name, reason.name()]);
        let refused = |why: JoinRefusal| self.joins_refused.with_label_values(&[name, why.name()]);
        QueueMetrics {
            joined: self.joined.with_label_values(&[name]),
            joins_refused: JoinRefusal::ALL.map(refused),
            looks: self.looks.with_label_values(&[name]),
            promoted: self.counts.promoted.with_label_values(&[name]),
            left: gone(GoneReason::Left),
            completed: gone(GoneReason::Completed),
            evicted: gone(GoneReason::Evicted),
            wait: self.counts.wait.with_label_values(&[name]),
            gate: GateAnswer::ALL.map(|answer| self.gate.with_label_values(&[name, answer.name()])),
        }
    }
}

label_values! {
    /// Why a join got no place.
    JoinRefusal {
        /// The queue holds `max_waiting` places.
        LineFull = "line_full",
        /// Redis has no memory left for places.
        RedisFull = "redis_full",
        /// The queue takes no joins at the moment.
        Closed = "closed",
        /// The client's address holds `places_per_address` places.
        AddressPlaces = "address_places",
        /// The client's address has used up `joins_per_address`.
        AddressRate = "address_rate",
    }
}

label_values! {
    /// By which rule authorize answered as it did.
    GateAnswer {
        /// 200: the place is active.
        Admitted = "admitted",
        /// 200: this process knows the place as active, by the rule `local_answers`.
        Local = "local",
        /// 200: the queue is in state bypass.
        Bypass = "bypass",
        /// 200: a CORS preflight, passed by `pass_preflight`.
        Preflight = "preflight",
        /// 200: Redis is down, and this process knew the place as active.
        Held = "held",
        /// 200: Redis is down, and `on_store_error = "open"` had room.
        Opened = "opened",
        /// 401 or 403 by the rules of the queue.
        Refused = "refused",
        /// 403 because Redis is down.
        StoreUnavailable = "store_unavailable",
    }
}

/// What one queue counts.
#[derive(Debug)]
pub struct QueueMetrics {
    /// New places.
    pub joined: IntCounter,
    joins_refused: [IntCounter; JoinRefusal::ALL.len()],
    looks: IntCounter,
    /// Places that were promoted by their own join.
    pub promoted: IntCounter,
    /// Places that were given up.
    pub left: IntCounter,
    /// Places that were finished.
    pub completed: IntCounter,
    /// Places that an operator removed.
    pub evicted: IntCounter,
    /// The wait of those promoted by their own join: none.
    pub wait: Histogram,
    gate: [IntCounter; GateAnswer::ALL.len()],
}

impl QueueMetrics {
    /// Counts a visit by which a waiting visitor polled.
    pub fn polled(&self, visit: &Visit) {
        if let Some(place) = visit.place() {
            self.polled_place(place);
        }
    }

    /// The same, of a visitor whose place is known.
    pub fn polled_place(&self, place: &Place) {
        if place.status() == Status::Waiting {
            self.looks.inc();
        }
    }

    /// Counts one join that got no place.
    pub fn join_refused(&self, why: JoinRefusal) {
        self.joins_refused[why as usize].inc();
    }

    /// Counts one answer of authorize.
    pub fn gate(&self, answer: GateAnswer) {
        self.gate[answer as usize].inc();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::tests::each_is_counted_apart;

    #[test]
    fn every_gate_answer_has_its_own_counter() {
        let families = QueueFamilies::register(&Registry::new()).expect("fresh names");
        let queue = families.of("concert");
        let counter = |it: &GateAnswer| families.gate.with_label_values(&["concert", it.name()]);
        each_is_counted_apart(GateAnswer::ALL, |it| queue.gate(*it), counter);
    }

    #[test]
    fn every_join_refusal_has_its_own_counter() {
        let families = QueueFamilies::register(&Registry::new()).expect("fresh names");
        let queue = families.of("concert");
        let counter =
            |it: &JoinRefusal| families.joins_refused.with_label_values(&["concert", it.name()]);
        each_is_counted_apart(JoinRefusal::ALL, |it| queue.join_refused(*it), counter);
    }
}
