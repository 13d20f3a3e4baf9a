//! What admission counts of limits.

use anteroom_runtime::Families;
use prometheus::{IntCounter, IntCounterVec, Opts, Registry};

/// The metrics of all limits, by name.
#[derive(Debug)]
pub struct LimitFamilies {
    checks: IntCounterVec,
}

impl Families for LimitFamilies {
    fn register(registry: &Registry) -> prometheus::Result<Self> {
        let checks = Opts::new(
            "anteroom_limit_checks_total",
            "Checks of limits: allowed and refused; asked (cost 0, takes nothing); shadow_refused: \
             a limit in shadow would refuse; withheld: there was room, but another check of the \
             call refused; repeated: an earlier call with the same id decided; degraded_allowed \
             and degraded_refused: the store was away, and on_store_error decided.",
        );
        let families = Self { checks: IntCounterVec::new(checks, &["limit", "outcome"])? };
        registry.register(Box::new(families.checks.clone()))?;
        Ok(families)
    }
}

impl LimitFamilies {
    /// The children of one limit, so that no request formats a label.
    pub fn of(&self, name: &str) -> LimitMetrics {
        let child = |counted: Counted| self.checks.with_label_values(&[name, counted.name()]);
        LimitMetrics { checks: Counted::ALL.map(child) }
    }
}

/// What came of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// Its units are taken.
    Allowed,
    /// There was no room.
    Refused,
    /// It asked only.
    Asked,
    /// There was no room, which a shadow only tells.
    ShadowRefused,
    /// There was room, but not for all checks of the call.
    Withheld,
    /// An earlier call decided.
    Repeated,
    /// The store was away: `open`.
    DegradedAllowed,
    /// The store was away: `closed`.
    DegradedRefused,
}

impl Counted {
    /// All of them, in the order of the variants.
    pub const ALL: [Self; 8] = [
        Self::Allowed,
        Self::Refused,
        Self::Asked,
        Self::ShadowRefused,
        Self::Withheld,
        Self::Repeated,
        Self::DegradedAllowed,
        Self::DegradedRefused,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Refused => "refused",
            Self::Asked => "asked",
            Self::ShadowRefused => "shadow_refused",
            Self::Withheld => "withheld",
            Self::Repeated => "repeated",
            Self::DegradedAllowed => "degraded_allowed",
            Self::DegradedRefused => "degraded_refused",
        }
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_outcome_has_its_own_counter() {
        let families = LimitFamilies::register(&Registry::new()).expect("fresh names");
        let limit = families.of("login");
        for (index, counted) in Counted::ALL.into_iter().enumerate() {
            assert_eq!(counted as usize, index);
            limit.check(counted);
            assert_eq!(families.checks.with_label_values(&["login", counted.name()]).get(), 1);
        }
    }
}
