//! From what a service bears to the rules of its waiting room.

pub mod flags;

mod apply;
mod options;

use std::time::Duration;

use serde::Serialize;

pub use flags::share_below_all as below_all;
pub use options::Options;

/// Of `plan.json`; grows when a program that reads it has to change.
pub const SCHEMA_VERSION: u32 = 2;

/// How a batch is let in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Pace {
    /// Spread over the interval
    #[default]
    Even,
    /// All at once at each interval
    Batch,
}

/// The most that a queue takes as its batch, and as its capacity.
const MOST: (u64, u64) = (1_000_000, 1_000_000_000);
/// The intervals that a queue takes.
const INTERVALS: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(3_600));

/// Until a turn is seen: the waiting page looks each second or two when it is near.
const SEEN_AFTER: Duration = Duration::from_secs(1);

/// What a plan is worked out from.
#[derive(Clone, Debug)]
pub struct Basis {
    /// Requests that the service completes a second.
    pub tps: f64,
    /// Requests of a visit when nothing is tried again.
    pub calls_per_visitor: f64,
    /// Requests made ÷ those, 1 or more.
    pub retry_factor: f64,
    /// From one batch to the next.
    pub interval: Duration,
    /// The share of those let in who show up, above 0 to 1.
    pub show_up: f64,
    /// The share of the capacity that is kept back, 0 to below 1.
    pub headroom: f64,
    /// How long a turn is kept for those who do not show up.
    pub claim_ttl: Duration,
    /// How long a visitor stays, where that is known.
    pub stay: Option<Duration>,
    /// How a batch is let in.
    pub pace: Pace,
    /// The objective that the next higher load missed.
    pub stopped_by: Option<String>,
}

/// The label of a plan whose ceiling is not settled.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Provisional {
    /// The probability that the load is from 10 % below the ceiling to 5 % above.
    pub confidence: f64,
    /// The `--within` that would settle it, such as `5m`.
    pub within: String,
}

/// The rules of a queue, and where they come from: `plan.json` (`loadtest/plan.schema.json`).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plan {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// Requests a second, as measured, before headroom.
    pub tps: f64,
    /// After headroom.
    pub visitors_per_minute: f64,
    /// Places promoted in an interval, at least 1.
    pub batch: u64,
    /// From one batch to the next, in milliseconds.
    pub interval_ms: u64,
    /// How a batch is let in.
    pub pace: Pace,
    /// Places ready or active at any instant; none if the stay of a visitor is not known.
    pub capacity: Option<u64>,
    /// The share that is kept back.
    pub headroom: f64,
    /// The objective that the next higher load missed, if one was looked for.
    pub stopped_by: Option<String>,
    /// Set if the ceiling is not settled; such a plan is never applied.
    pub provisional: Option<Provisional>,
}

impl Basis {
    /// Visitors a minute that the service bears, less the headroom:
    /// TPS × 60 ÷ (calls per visitor × retry factor) × (1 − headroom).
    pub fn visitors_per_minute(&self) -> f64 {
        let borne = self.tps * 60.0 / (self.calls_per_visitor * self.retry_factor);
        borne * (1.0 - self.headroom)
    }

    /// How long a place is ready or active on average: until its turn is seen, and then for the
    /// stay, or where no visitor shows up until the turn lapses.
    fn taken(&self, stay: Duration) -> Duration {
        let until_seen = SEEN_AFTER.mul_f64(self.show_up);
        until_seen + stay.mul_f64(self.show_up) + self.claim_ttl.mul_f64(1.0 - self.show_up)
    }

    /// The wanted interval; a longer one if not even 1 place is promoted in it, and a
    /// shorter one if more are than a batch may have.
    fn interval_of(&self, places_per_second: f64) -> Duration {
        let of = |places: u64| {
            let seconds = (places as f64 / places_per_second).min(INTERVALS.1.as_secs_f64());
            // Whole milliseconds, and not less than the places need.
            Duration::from_millis((1e3 * seconds).ceil() as u64)
        };
        self.interval.clamp(of(1), of(MOST.0)).clamp(INTERVALS.0, INTERVALS.1)
    }

    /// The plan. Batch: visitors a minute × interval ÷ 60 s ÷ share who show up. Capacity, by
    /// Little's law (J. D. C. Little, 1961): places promoted a second × how long each is taken.
    pub fn plan(&self) -> Plan {
        let visitors_per_minute = self.visitors_per_minute();
        let let_in = |time: Duration| {
            let visitors = visitors_per_minute * time.as_secs_f64() / 60.0 / self.show_up;
            // What counting in halves and tenths left below a whole number is no visitor less.
            ((visitors + 1e-6).floor() as u64).max(1)
        };
        let interval = self.interval_of(visitors_per_minute / 60.0 / self.show_up);
        Plan {
            schema_version: SCHEMA_VERSION,
            tps: self.tps,
            visitors_per_minute,
            batch: let_in(interval).min(MOST.0),
            interval_ms: u64::try_from(interval.as_millis()).unwrap_or(u64::MAX),
            pace: self.pace,
            capacity: self.stay.map(|stay| let_in(self.taken(stay)).min(MOST.1)),
            headroom: self.headroom,
            stopped_by: self.stopped_by.clone(),
            provisional: None,
        }
    }

    /// How the plan is worked out, in words and figures.
    pub fn derivation(&self) -> String {
        let Plan { visitors_per_minute, batch, capacity, interval_ms, .. } = self.plan();
        let capacity = match self.stay.zip(capacity) {
            Some((stay, capacity)) => format!(
                "capacity = visitors a second ÷ show-up share {} × {:.3} s for which a place is \
                 taken (Little's law: 1 s until a visitor sees the turn, a stay of {:.3} s, and \
                 claim_ttl {} of visitors who do not show up) = {capacity}.",
                self.show_up,
                self.taken(stay).as_secs_f64(),
                stay.as_secs_f64(),
                crate::durations::format_duration(self.claim_ttl),
            ),
            None => {
                "No capacity: the stay of a visitor is not known, because the scenario has no think \
                 time or too few visits were measured to their end."
                    .to_owned()
            }
        };
        format!(
            "visitors a minute = {:.1} TPS × 60 ÷ ({:.3} calls × {:.3} retry factor) × (1 − {} \
             headroom) = {visitors_per_minute:.1}; batch = that × {} ÷ 60 s ÷ show-up share {} = \
             {batch}. {capacity}",
            self.tps,
            self.calls_per_visitor,
            self.retry_factor,
            self.headroom,
            crate::durations::format_duration(Duration::from_millis(interval_ms)),
            self.show_up,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reference() -> Basis {
        Basis {
            tps: 660.0,
            calls_per_visitor: 2.0,
            retry_factor: 1.5,
            interval: Duration::from_secs(10),
            show_up: 1.0,
            headroom: 0.0,
            claim_ttl: Duration::from_secs(60),
            stay: None,
            pace: Pace::Even,
            stopped_by: None,
        }
    }

    #[test]
    fn who_does_not_show_up_makes_room_and_headroom_takes_it() {
        let plan = reference().plan();
        assert_eq!((plan.visitors_per_minute, plan.batch, plan.capacity), (13_200.0, 2_200, None));
        let stay = Some(Duration::from_secs(90));
        let plan = Basis { show_up: 0.8, headroom: 0.2, stay, ..reference() }.plan();
        assert_eq!((plan.visitors_per_minute, plan.batch), (10_560.0, 2_200));
        // 176 visitors a second who show up are 220 turns; of ten, eight take 91 s and two 60 s.
        assert_eq!(plan.capacity, Some(18_656));
        let nothing = Basis { tps: 0.0, ..reference() }.plan();
        assert_eq!((nothing.batch, nothing.interval_ms), (1, 3_600_000));
    }

    #[test]
    fn a_batch_and_its_interval_are_what_a_queue_takes() {
        let basis = |visitors_per_minute: f64, interval| {
            let tps = visitors_per_minute / 60.0 * 3.0;
            Basis { tps, interval: Duration::from_secs(interval), ..reference() }
        };
        for (visitors_per_minute, interval, batch, interval_ms) in [
            (20.0, 1, 1, 3_000),
            (7.0, 1, 1, 8_572),
            (60.0, 1, 1, 1_000),
            (175_470.0 * 60.0, 3_600, 1_000_000, 5_699),
            (600.0, 3_600, 36_000, 3_600_000),
        ] {
            let plan = basis(visitors_per_minute, interval).plan();
            assert_eq!((plan.batch, plan.interval_ms), (batch, interval_ms), "{plan:?}");
        }
    }

    #[test]
    fn the_schema_and_the_type_are_the_same() {
        let schema: serde_json::Value =
            serde_json::from_str(include_str!("../../plan.schema.json")).expect("it can be had");
        let validator = jsonschema::validator_for(&schema).expect("it can be had");
        let stopped_by = Some("p95<200ms".to_owned());
        let stay = Some(Duration::from_secs(60));
        let provisional = Some(Provisional { confidence: 0.5, within: "5m".to_owned() });
        let whole = Basis { stay, stopped_by, pace: Pace::Batch, ..reference() }.plan();
        let whole = Plan { provisional, ..whole };
        for plan in [reference().plan(), whole] {
            let plan = serde_json::to_value(plan).expect("it can be had");
            let errors: Vec<_> = validator.iter_errors(&plan).map(|it| it.to_string()).collect();
            assert!(errors.is_empty(), "{errors:?}");
            let fields = plan.as_object().expect("it can be had");
            assert!(fields.keys().eq(schema["properties"].as_object().expect("some").keys()));
            // Each field is required, and no other is allowed.
            for name in fields.keys() {
                let mut without = fields.clone();
                without.remove(name);
                assert!(!validator.is_valid(&without.into()), "{name}");
            }
            let mut more = plan;
            more["more"] = 1.into();
            assert!(!validator.is_valid(&more));
        }
    }
}
