//! The steps of a run, by their names.

use clap::ValueEnum;

/// A step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Step {
    /// Apply the overlay (always)
    Apply,
    /// Visitors come, and stay (always)
    Visitors,
    /// A small rehearsal
    Rehearsal,
    /// Pods of every kind die
    Kill,
    /// The version before, and then this one; the gate
    RollOut,
    /// A changed ConfigMap
    Configuration,
    /// A rotated token secret
    Secrets,
    /// A rotated key of the service port
    Keys,
    /// Admission, 2 to 5 to 2
    Scale,
    /// Issuers are rolled, and scaled, in mid-issue
    Issuers,
    /// Redis starts again with its volume
    RestartRedis,
    /// Prometheus has every metric of the contract
    Metrics,
    /// The promises, from outside (always)
    Promises,
}

impl Step {
    /// The wanted ones, or all, in their order.
    pub fn of(wanted: &[Self]) -> impl Iterator<Item = Self> {
        let always = [Self::Apply, Self::Visitors, Self::Promises];
        let wanted =
            move |step: &Self| wanted.is_empty() || wanted.contains(step) || always.contains(step);
        Self::value_variants().iter().copied().filter(wanted)
    }

    /// Its title.
    pub fn title(self) -> &'static str {
        match self {
            Self::Apply => "kubectl apply",
            Self::Visitors => "visitors come",
            Self::Rehearsal => "a rehearsal",
            Self::Kill => "pods die",
            Self::RollOut => "a new version",
            Self::Configuration => "a changed ConfigMap",
            Self::Secrets => "a rotated token secret",
            Self::Keys => "a rotated key of the service port",
            Self::Scale => "more admissions, and fewer",
            Self::Issuers => "issuers change in mid-issue",
            Self::RestartRedis => "redis starts again",
            Self::Metrics => "the metrics contract",
            Self::Promises => "the promises",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wanted_comes_between_what_is_always_played() {
        let steps: Vec<_> = Step::of(&[Step::Scale, Step::Kill]).collect();
        let promises = Step::Promises;
        assert_eq!(steps, [Step::Apply, Step::Visitors, Step::Kill, Step::Scale, promises]);
        assert_eq!(Step::of(&[]).count(), Step::value_variants().len());
    }
}
