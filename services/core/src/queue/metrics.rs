//! The metrics of queues that several services export, and so under the same names: what a snapshot
//! shows, and what happened.

use prometheus::{HistogramOpts, HistogramVec, IntCounterVec, Opts, Registry};

use super::{Overridden, Override, Snapshot, State};

/// A gauge: its name, its meaning, and its value in a snapshot, if it has one there.
type Gauge = (&'static str, &'static str, fn(&Snapshot) -> Option<f64>);

/// A gauge that says which of some words holds: its name, its meaning, the words, and the one of a
/// snapshot.
type StateGauge =
    (&'static str, &'static str, &'static [&'static str], fn(&Snapshot) -> &'static str);

impl Snapshot {
    /// Which of some words holds of a queue, with the labels `queue` and `state`.
    pub const STATES: [StateGauge; 1] = [(
        "anteroom_queue_state",
        "1 for the state in force, 0 for the others: `open`, `paused`, `closed`, `bypass`. An open \
         queue shows `paused` before `opens_at` and while health pauses it. It shows `closed` \
         before `joins_at` and from `closes_at` on.",
        State::NAMES,
        |it| it.state.name(),
    )];

    /// What a snapshot shows of a queue. All have the one label `queue`.
    pub const GAUGES: [Gauge; 13] = [
        (
            "anteroom_queue_depth",
            "Visitors who wait and are present: the length of the line. Inactive places are not \
             included.",
            |it| Some(it.depth as f64),
        ),
        (
            "anteroom_queue_away",
            "Visitors who wait but did not poll for `idle_ttl`: inactive. Promotion skips them \
             until they poll.",
            |it| Some(it.away as f64),
        ),
        ("anteroom_queue_ready", "Visitors who were called and have not entered yet.", |it| {
            Some(it.ready as f64)
        }),
        ("anteroom_queue_active", "Visitors inside: they have claimed their place.", |it| {
            Some(it.active as f64)
        }),
        (
            "anteroom_queue_unswept",
            "Missed turns and ended sessions that the scheduler has not removed yet. It should \
             stay near the number that end in 1 s.",
            |it| Some(it.unswept as f64),
        ),
        (
            "anteroom_queue_capacity",
            "The most places ready + active, under the rules in force. Absent without `capacity`.",
            |it| it.rules.capacity.map(|most| most as f64),
        ),
        (
            "anteroom_queue_batch",
            "The most promotions in any interval, under the rules in force. An operator's override \
             takes precedence over the adaptive batch, and the adaptive batch over the file. \
             Absent without `batch`.",
            |it| it.batch_in_force().map(|most| most as f64),
        ),
        (
            "anteroom_queue_interval_seconds",
            "The interval of the batch, under the rules in force.",
            |it| Some(it.rules.interval.as_secs_f64()),
        ),
        (
            "anteroom_queue_paused_by_health",
            "1 while only the circuit breaker (`health`) stops promotion, or allows only its \
             probes.",
            |it| Some(f64::from(u8::from(it.paused_by_health))),
        ),
        (
            "anteroom_queue_health_pace",
            "The share of the pace that the circuit breaker allows: 0, 0.25, 0.5, 0.75 or 1. \
             Absent if the queue follows no target, or while the target cannot be read.",
            |it| it.health_pace,
        ),
        (
            "anteroom_queue_adaptive_batch",
            "The adaptive batch: it follows the outcomes of the target. Absent without \
             `[queues.NAME.adaptive]`.",
            |it| it.adaptive.map(|adaptive| adaptive.batch as f64),
        ),
        ("anteroom_queue_adaptive_batch_min", "The lower bound of the adaptive batch.", |it| {
            it.adaptive.map(|adaptive| adaptive.min_batch as f64)
        }),
        ("anteroom_queue_adaptive_batch_max", "The upper bound of the adaptive batch.", |it| {
            it.adaptive.map(|adaptive| adaptive.max_batch as f64)
        }),
    ];

    /// The batch: an operator's goes before the adaptive one, and that before the file's.
    fn batch_in_force(&self) -> Option<u64> {
        let is_override = |it: &Overridden| matches!(it.rule, Override::Batch(_));
        match self.adaptive {
            Some(adaptive) if !self.overridden.iter().any(is_override) => Some(adaptive.batch),
            _ => self.rules.batch,
        }
    }
}

/// What happened in the queues, as far as this process made it happen; the children are made per
/// queue.
///
/// A join that finds an empty line is promoted by admission, all others by a scheduler. Each
/// process counts its own part once, so dashboards `sum` these.
#[derive(Clone, Debug)]
pub struct QueueCounts {
    /// `anteroom_queue_promoted_total{queue}`.
    pub promoted: IntCounterVec,
    /// `anteroom_queue_gone_total{queue,reason}`, the reasons being those of
    /// [`GoneReason`](super::GoneReason).
    pub gone: IntCounterVec,
    /// `anteroom_queue_wait_seconds{queue}`: from the join to the promotion.
    pub wait: HistogramVec,
}

impl QueueCounts {
    /// Upper bounds of the waits in seconds: from at once to four hours.
    const WAIT_BUCKETS: [f64; 14] = [
        0.1, 1.0, 5.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1_200.0, 1_800.0, 3_600.0, 7_200.0,
        14_400.0,
    ];

    /// Registers the families.
    pub fn register(registry: &Registry) -> prometheus::Result<Self> {
        let counts = Self {
            promoted: IntCounterVec::new(
                Opts::new("anteroom_queue_promoted_total", "Promotions: places that became ready."),
                &["queue"],
            )?,
            gone: IntCounterVec::new(
                Opts::new(
                    "anteroom_queue_gone_total",
                    "Places that ended. Counted by admission: `completed` (finished), `left`, \
                     `evicted` (by an operator). Counted by the scheduler: `unclaimed` (missed \
                     turn), `expired` (session over), `abandoned` (never polled, or inactive for \
                     too long).",
                ),
                &["queue", "reason"],
            )?,
            wait: HistogramVec::new(
                HistogramOpts::new(
                    "anteroom_queue_wait_seconds",
                    "Waiting time, from the join to the promotion.",
                )
                .buckets(Self::WAIT_BUCKETS.to_vec()),
                &["queue"],
            )?,
        };
        registry.register(Box::new(counts.promoted.clone()))?;
        registry.register(Box::new(counts.gone.clone()))?;
        registry.register(Box::new(counts.wait.clone()))?;
        Ok(counts)
    }
}
