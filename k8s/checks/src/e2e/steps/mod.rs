//! The steps, in their order. Each is played while visitors come through the gate.

mod apply;
mod change;
mod kill;
mod metrics;
mod redis;
mod roll_out;
mod rotate;
mod scale;
mod watch;

use clap::ValueEnum;

use crate::run::Run;

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
    /// Redis starts again with its volume
    RestartRedis,
    /// Prometheus has every metric of the contract
    Metrics,
    /// The promises, from outside (always)
    Promises,
}

impl Step {
    /// Those that were asked for, or all, in their order.
    pub fn of(asked: &[Self]) -> impl Iterator<Item = Self> {
        let always = [Self::Apply, Self::Visitors, Self::Promises];
        let wanted =
            move |step: &Self| asked.is_empty() || asked.contains(step) || always.contains(step);
        Self::value_variants().iter().copied().filter(wanted)
    }

    /// What is said of it.
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
            Self::RestartRedis => "redis starts again",
            Self::Metrics => "the metrics contract",
            Self::Promises => "the promises",
        }
    }

    /// Plays it; what is seen goes into the table.
    ///
    /// # Errors
    ///
    /// What could not be done.
    pub async fn play(self, run: &Run) -> anyhow::Result<()> {
        match self {
            Self::Apply => apply::overlay(run).await,
            Self::Visitors => apply::visitors(run).await,
            Self::Rehearsal => apply::rehearsal(run).await,
            Self::Kill => kill::pods_of_every_kind(run).await,
            Self::RollOut => {
                roll_out::from_the_version_before(run).await?;
                roll_out::gate(run).await
            }
            Self::Configuration => change::configuration(run).await,
            Self::Secrets => rotate::token_secret::all_steps(run).await,
            Self::Keys => rotate::service_key::all_steps(run).await,
            Self::Scale => scale::admission(run).await,
            Self::RestartRedis => redis::starts_again(run).await,
            Self::Metrics => metrics::contract(run).await,
            Self::Promises => apply::promises(run).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_stands_between_what_is_always_played() {
        let steps: Vec<_> = Step::of(&[Step::Scale, Step::Kill]).collect();
        let promises = Step::Promises;
        assert_eq!(steps, [Step::Apply, Step::Visitors, Step::Kill, Step::Scale, promises]);
        assert_eq!(Step::of(&[]).count(), Step::value_variants().len());
    }
}
