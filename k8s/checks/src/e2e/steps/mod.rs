//! What is done in each step, while visitors come through the gate.

mod apply;
mod change;
mod issuers;
mod kill;
mod metrics;
mod redis;
mod roll_out;
mod rotate;
mod scale;
mod watch;

pub use self::watch::IN_FORCE_WITHIN;
use crate::{progress::say, run::Run, step::Step, table::Line};

/// All steps that are wanted.
pub async fn play_all(run: &Run) -> anyhow::Result<()> {
    for step in Step::of(&run.options.steps) {
        say(&format!("\n{}", step.title()));
        if let Err(error) = play(step, run).await {
            // They end by themselves when a promise is broken.
            let over = run.visitors().ok().and_then(|visitors| visitors.early_verdict());
            if let Some(verdict) = over {
                run.add(Line::new("promises", verdict.report(), Some(false)));
            }
            return Err(error.context(step.title()));
        }
    }
    Ok(())
}

/// What is seen goes into the table.
async fn play(step: Step, run: &Run) -> anyhow::Result<()> {
    match step {
        Step::Apply => apply::overlay(run).await,
        Step::Visitors => apply::visitors(run).await,
        Step::Rehearsal => apply::rehearsal(run).await,
        Step::Kill => kill::pods_of_every_kind(run).await,
        Step::RollOut => {
            roll_out::from_the_version_before(run).await?;
            roll_out::gates(run).await
        }
        Step::Configuration => change::configuration(run).await,
        Step::Secrets => rotate::token_secret::all_steps(run).await,
        Step::Keys => rotate::service_key::all_steps(run).await,
        Step::Scale => scale::admission(run).await,
        Step::Issuers => issuers::in_mid_issue(run).await,
        Step::RestartRedis => redis::starts_again(run).await,
        Step::Metrics => metrics::contract(run).await,
        Step::Promises => apply::promises(run).await,
    }
}
