//! What admission counts of queues.

use anteroom_core::queue::{GoneReason, QueueCounts, Snapshot, Status, Visit};
use anteroom_runtime::{Families, SnapshotGauges};
use prometheus::{Histogram, IntCounter, IntCounterVec, Opts, Registry};

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
        let families = Self {
            joined: IntCounterVec::new(
                Opts::new("anteroom_queue_joined_total", "Places given."),
                &["queue"],
            )?,
            joins_refused: IntCounterVec::new(
                Opts::new(
                    "anteroom_queue_joins_refused_total",
                    "Joins that got no place, by reason.",
                ),
                &["queue", "reason"],
            )?,
            looks: IntCounterVec::new(
                Opts::new(
                    "anteroom_queue_looks_total",
                    "Looks of those who wait at their place, by which they are heard: polls, \
                     streams, and the gate.",
                ),
                &["queue"],
            )?,
            gate: IntCounterVec::new(
                Opts::new(
                    "anteroom_gate_answers_total",
                    "Answers of authorize: what passed by which rule, and what was refused.",
                ),
                &["queue", "answer"],
            )?,
            counts: QueueCounts::register(registry)?,
            gauges: SnapshotGauges::register(
                registry,
                "queue",
                Snapshot::GAUGES,
                Snapshot::STATES,
            )?,
        };
        registry.register(Box::new(families.joined.clone()))?;
        registry.register(Box::new(families.joins_refused.clone()))?;
        registry.register(Box::new(families.looks.clone()))?;
        registry.register(Box::new(families.gate.clone()))?;
        Ok(families)
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

/// Why a join got no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinRefusal {
    /// The queue holds `max_waiting` places.
    LineFull,
    /// Redis has no memory left for places.
    RedisFull,
    /// The queue takes no joins at the moment.
    Closed,
    /// The client's address holds `places_per_address` places.
    AddressPlaces,
    /// The client's address has used up `joins_per_address`.
    AddressRate,
}

impl JoinRefusal {
    /// Every reason, in the order of the variants.
    pub const ALL: [Self; 5] =
        [Self::LineFull, Self::RedisFull, Self::Closed, Self::AddressPlaces, Self::AddressRate];

    pub fn name(self) -> &'static str {
        match self {
            Self::LineFull => "line_full",
            Self::RedisFull => "redis_full",
            Self::Closed => "closed",
            Self::AddressPlaces => "address_places",
            Self::AddressRate => "address_rate",
        }
    }
}

/// By which rule authorize answered as it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateAnswer {
    /// 200: the place is active.
    Admitted,
    /// 200: this process knows the place as active, by the rule `local_answers`.
    Local,
    /// 200: the queue is in state bypass.
    Bypass,
    /// 200: a CORS preflight, let through by `pass_preflight`.
    Preflight,
    /// 200: the store is away, and this process knew the place as active.
    Held,
    /// 200: the store is away, and `on_store_error = "open"` had room.
    Opened,
    /// 401 or 403 by the rules of the queue.
    Refused,
    /// 403 because the store is away.
    StoreUnavailable,
}

impl GateAnswer {
    /// Every answer, in the order of the variants.
    pub const ALL: [Self; 8] = [
        Self::Admitted,
        Self::Local,
        Self::Bypass,
        Self::Preflight,
        Self::Held,
        Self::Opened,
        Self::Refused,
        Self::StoreUnavailable,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Admitted => "admitted",
            Self::Local => "local",
            Self::Bypass => "bypass",
            Self::Preflight => "preflight",
            Self::Held => "held",
            Self::Opened => "opened",
            Self::Refused => "refused",
            Self::StoreUnavailable => "store_unavailable",
        }
    }
}

/// What one queue counts.
#[derive(Debug)]
pub struct QueueMetrics {
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
    /// Counts a visit that heard somebody who waits.
    pub fn heard(&self, visit: &Visit) {
        let (Visit::Here(place) | Visit::NotReady(place) | Visit::NotActive(place)) = visit else {
            return;
        };
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

    #[test]
    fn every_gate_answer_has_its_own_counter() {
        let families = QueueFamilies::register(&Registry::new()).expect("fresh names");
        let queue = families.of("concert");
        for (index, answer) in GateAnswer::ALL.into_iter().enumerate() {
            assert_eq!(answer as usize, index);
            queue.gate(answer);
            assert_eq!(families.gate.with_label_values(&["concert", answer.name()]).get(), 1);
        }
    }

    #[test]
    fn every_join_refusal_has_its_own_counter() {
        let families = QueueFamilies::register(&Registry::new()).expect("fresh names");
        let queue = families.of("concert");
        let count =
            |why: JoinRefusal| families.joins_refused.with_label_values(&["concert", why.name()]);
        for (index, why) in JoinRefusal::ALL.into_iter().enumerate() {
            assert_eq!(why as usize, index);
            queue.join_refused(why);
            assert_eq!(count(why).get(), 1);
        }
    }
}
