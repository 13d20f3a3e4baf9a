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
        "1 for the state in force, 0 for the others. An open queue is paused before opens_at and \
         while health pauses it, and closed outside its times of joining.",
        State::NAMES,
        |it| it.state.name(),
    )];

    /// What a snapshot shows of a queue. All have the one label `queue`.
    pub const GAUGES: [Gauge; 13] = [
        ("anteroom_queue_depth", "Places waiting and present.", |it| Some(it.depth as f64)),
        ("anteroom_queue_away", "Places waiting that were not seen for idle_ttl.", |it| {
            Some(it.away as f64)
        }),
        (
            "anteroom_queue_ready",
            "Places whose turn has come and that are not claimed yet.",
            |it| Some(it.ready as f64),
        ),
        ("anteroom_queue_active", "Places claimed.", |it| Some(it.active as f64)),
        (
            "anteroom_queue_unswept",
            "Turns and sessions that have ended and are not cleared away yet.",
            |it| Some(it.unswept as f64),
        ),
        (
            "anteroom_queue_capacity",
            "Most places ready and active; absent without such a rule.",
            |it| it.rules.capacity.map(|most| most as f64),
        ),
        (
            "anteroom_queue_batch",
            "Most promotions in any interval, by the file, an override or the adaptive batch; \
             absent without such a rule.",
            |it| it.batch_in_force().map(|most| most as f64),
        ),
        ("anteroom_queue_interval_seconds", "The interval of the batch in force.", |it| {
            Some(it.rules.interval.as_secs_f64())
        }),
        (
            "anteroom_queue_paused_by_health",
            "1 while the health of the target alone pauses promotion, or allows only probes; \
             else 0.",
            |it| Some(f64::from(u8::from(it.paused_by_health))),
        ),
        (
            "anteroom_queue_health_pace",
            "The part of the pace that the health of the target leaves: 0 while it is open or half \
             open, then 0.25, 0.5, 0.75 and 1; absent while none is followed or it cannot be read.",
            |it| it.health_pace,
        ),
        (
            "anteroom_queue_adaptive_batch",
            "The batch that follows the outcomes of the target; absent without such rules.",
            |it| it.adaptive.map(|adaptive| adaptive.batch as f64),
        ),
        (
            "anteroom_queue_adaptive_batch_min",
            "The least that the adaptive batch may become.",
            |it| it.adaptive.map(|adaptive| adaptive.min_batch as f64),
        ),
        (
            "anteroom_queue_adaptive_batch_max",
            "The most that the adaptive batch may become.",
            |it| it.adaptive.map(|adaptive| adaptive.max_batch as f64),
        ),
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
                Opts::new(
                    "anteroom_queue_promoted_total",
                    "Places whose turn came. Admission counts the joins that were promoted at \
                     once, the schedulers all others.",
                ),
                &["queue"],
            )?,
            gone: IntCounterVec::new(
                Opts::new("anteroom_queue_gone_total", "Places that ended, by reason."),
                &["queue", "reason"],
            )?,
            wait: HistogramVec::new(
                HistogramOpts::new(
                    "anteroom_queue_wait_seconds",
                    "Time from join to promotion. Admission shows the joins that were promoted at \
                     once, the schedulers all others.",
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
