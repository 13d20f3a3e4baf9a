//! What admission counts of limits.

use anteroom_runtime::{Families, counters};
use prometheus::{IntCounter, IntCounterVec, Registry};

use crate::metrics::label_values;

/// The metrics of all limits, by name.
#[derive(Debug)]
pub struct LimitFamilies {
    checks: IntCounterVec,
}

impl Families for LimitFamilies {
    fn register(registry: &Registry) -> prometheus::Result<Self> {
        let checks = counters(
            registry,
            "anteroom_limit_checks_total",
            "Checks: `allowed`, `refused`, `asked` (cost 0), `repeated` (an earlier call with the \
             same `id` decided), `shadow_refused` (a limit in shadow mode would refuse). \
             `withheld`: there was room, but another check of the same call refused. While Redis \
             is down, `on_store_error` decides: `degraded_allowed`, `degraded_refused`.",
            &["limit", "outcome"],
        )?;
        Ok(Self { checks })
    }
}

impl LimitFamilies {
    /// The children of one limit, so that no request formats a label.
    pub fn of(&self, name: &str) -> LimitMetrics {
        let child = |counted: Counted| self.checks.with_label_values(&[name, counted.name()]);
        LimitMetrics { checks: Counted::ALL.map(child) }
    }
}

label_values! {
    /// The outcome of a check.
    Counted {
        /// Its units are taken.
        Allowed = "allowed",
        /// There was no room.
        Refused = "refused",
        /// Its cost is 0: it takes nothing.
        CostsNothing = "asked",
        /// There was no room, which a limit in shadow only reports.
        ShadowRefused = "shadow_refused",
        /// There was room, but not for all checks of the call.
        Withheld = "withheld",
        /// An earlier call decided.
        Repeated = "repeated",
        /// Redis was down: `open`.
        DegradedAllowed = "degraded_allowed",
        /// Redis was down: `closed`.
        DegradedRefused = "degraded_refused",
    }
}

/// What one limit counts.
#[derive(Debug)]
pub struct LimitMetrics {
    checks: [IntCounter; Counted::ALL.len()],
}

impl LimitMetrics {
    /// Counts one check.
    pub fn check(&self, counted: Counted) {
        self.checks[counted as usize].inc();
    }

    /// All checks, and those that were refused.
    pub fn totals(&self) -> [u64; 2] {
        let count = |counted: Counted| self.checks[counted as usize].get();
        let refused = count(Counted::Refused) + count(Counted::DegradedRefused);
        [Counted::ALL.map(count).into_iter().sum(), refused]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::tests::each_is_counted_apart;

    #[test]
    fn every_outcome_has_its_own_counter() {
        let families = LimitFamilies::register(&Registry::new()).expect("fresh names");
        let limit = families.of("login");
        let counter = |it: &Counted| families.checks.with_label_values(&["login", it.name()]);
        each_is_counted_apart(Counted::ALL, |it| limit.check(*it), counter);
    }
}
