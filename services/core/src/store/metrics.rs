//! What is counted on the way to the store.
//!
//! The series of an operation begin with its first use: a process has those of what it runs, no
//! others.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use prometheus::{
    Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, Opts, Registry,
};

use super::{Error, Script};

/// The kinds of errors. An operation's outcome is one of these, or `ok`.
const KINDS: [&str; 6] = ["unavailable", "unknown", "overloaded", "reply", "forbidden", "full"];

/// The metrics of one store.
pub(super) struct Metrics {
    families: Arc<Families>,
    errors: [IntCounter; KINDS.len()],
    operations: Vec<(&'static Script, Arc<Operation>)>,
}

struct Families {
    call_seconds: HistogramVec,
    batch_items: HistogramVec,
    operations: IntCounterVec,
}

/// The children of one operation, each made when it is first used.
pub(super) struct Operation {
    name: &'static str,
    families: Arc<Families>,
    call_seconds: OnceLock<Histogram>,
    batch_items: OnceLock<Histogram>,
    outcomes: OnceLock<OutcomeCounters>,
}

/// All outcomes of an operation: once it is used, what has not happened is 0.
struct OutcomeCounters {
    ok: IntCounter,
    failed: [IntCounter; KINDS.len()],
}

impl Metrics {
    /// Registers the families. A family that the registry refuses (a second store in one process)
    /// still counts, unseen.
    pub(super) fn new(
        scripts: &[&'static Script],
        registry: &Registry,
    ) -> prometheus::Result<Self> {
        let families = Families::new()?;
        let errors = IntCounterVec::new(
            Opts::new(
                "anteroom_store_errors_total",
                "Operations that failed at Redis. Without effect: `unavailable` (no connection, or \
                 Redis refused), `overloaded` (too many calls wait), `forbidden` (the Redis user \
                 has no permission), `full` (Redis has no memory left). Sent: `unknown` (no answer \
                 in time, so the effect is unknown), `reply` (the answer was not understood).",
            ),
            &["kind"],
        )?;
        for (name, registered) in [
            (
                "anteroom_store_call_seconds",
                registry.register(Box::new(families.call_seconds.clone())),
            ),
            (
                "anteroom_store_batch_items",
                registry.register(Box::new(families.batch_items.clone())),
            ),
            ("anteroom_operations_total", registry.register(Box::new(families.operations.clone()))),
            ("anteroom_store_errors_total", registry.register(Box::new(errors.clone()))),
        ] {
            if let Err(error) = registered {
                tracing::warn!(metric = name, %error, "a Redis metric is not exported");
            }
        }
        let families = Arc::new(families);
        let operations =
            scripts.iter().map(|script| (*script, Operation::new(script, &families))).collect();
        Ok(Self {
            errors: KINDS.map(|kind| errors.with_label_values(&[kind])),
            families,
            operations,
        })
    }

    /// The children of `script`; resolved each time for a script that was not named at the start.
    pub(super) fn operation(&self, script: &'static Script) -> Arc<Operation> {
        self.operations
            .iter()
            .find(|(known, _)| std::ptr::eq(*known, script))
            .map_or_else(|| Operation::new(script, &self.families), |(_, o)| o.clone())
    }

    /// Counts `items` operations that ended in the same way.
    pub(super) fn ended(&self, operation: &Operation, error: Option<&Error>, items: usize) {
        let items = items as u64;
        let outcomes =
            operation.outcomes.get_or_init(|| operation.families.outcomes(operation.name));
        match error.map(kind_index) {
            None => outcomes.ok.inc_by(items),
            Some(kind) => {
                outcomes.failed[kind].inc_by(items);
                self.errors[kind].inc_by(items);
            }
        }
    }
}

impl Families {
    fn new() -> prometheus::Result<Self> {
        Ok(Self {
            call_seconds: HistogramVec::new(
                HistogramOpts::new(
                    "anteroom_store_call_seconds",
                    "Duration of one call to Redis, including retries.",
                )
                .buckets(vec![
                    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
                    0.5, 1.0,
                ]),
                &["operation"],
            )?,
            batch_items: HistogramVec::new(
                HistogramOpts::new(
                    "anteroom_store_batch_items",
                    "Items that shared one call to Redis.",
                )
                .buckets(vec![1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0]),
                &["operation"],
            )?,
            operations: IntCounterVec::new(
                Opts::new(
                    "anteroom_operations_total",
                    "Operations on Redis, such as `queue.join`. Outcome: `ok`, or a `kind` of \
                     `anteroom_store_errors_total`.",
                ),
                &["operation", "outcome"],
            )?,
        })
    }

    fn outcomes(&self, name: &str) -> OutcomeCounters {
        OutcomeCounters {
            ok: self.operations.with_label_values(&[name, "ok"]),
            failed: KINDS.map(|kind| self.operations.with_label_values(&[name, kind])),
        }
    }
}

impl Operation {
    fn new(script: &'static Script, families: &Arc<Families>) -> Arc<Self> {
        Arc::new(Self {
            name: script.name,
            families: families.clone(),
            call_seconds: OnceLock::new(),
            batch_items: OnceLock::new(),
            outcomes: OnceLock::new(),
        })
    }

    pub(super) fn called(&self, took: Duration) {
        let family = &self.families.call_seconds;
        let seconds = self.call_seconds.get_or_init(|| family.with_label_values(&[self.name]));
        seconds.observe(took.as_secs_f64());
    }

    pub(super) fn batched(&self, items: usize) {
        let family = &self.families.batch_items;
        let sizes = self.batch_items.get_or_init(|| family.with_label_values(&[self.name]));
        sizes.observe(items as f64);
    }
}

/// Position in [`KINDS`].
fn kind_index(error: &Error) -> usize {
    match error {
        Error::Unavailable(_) => 0,
        Error::Unknown(_) => 1,
        Error::Overloaded => 2,
        Error::Reply { .. } => 3,
        Error::Forbidden(_) => 4,
        Error::Full => 5,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_of_an_error_is_that_of_its_kind() {
        for error in [
            Error::Unavailable(String::new()),
            Error::Unknown(String::new()),
            Error::Overloaded,
            Error::Reply { operation: "x.y", detail: String::new() },
            Error::Forbidden(String::new()),
            Error::Full,
        ] {
            assert_eq!(KINDS[kind_index(&error)], error.kind());
        }
    }
}
