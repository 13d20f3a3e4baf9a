//! `size`: the highest load at which a service meets its objectives, and the rules of a waiting
//! room that follow.

pub mod measure;
pub mod objective;
pub mod paces;
pub mod search;
pub mod steady;
pub mod step;

mod ceiling;
mod offer;
mod result;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::ensure;
use clap::Args;

use crate::client::{Sources, Target};
use crate::exit::{Outcome, Usage};
use crate::own_limit::{self, MOST_IN_FLIGHT};
use crate::plan::{self, flags};
use crate::progress::say;
use crate::scenario::Scenario;
use measure::{Measure as _, Visitors};
use objective::Objective;
use result::Sized;

pub use result::Found;

/// Searches for the highest load that meets the objectives, and derives the rules of a queue.
#[derive(Args, Debug)]
#[command(after_help = "\
Objectives: p50, p95, p99 (any pNN), average and max of the latency, errors, and shares of statuses
(503, 5xx); < or <=; times such as 200ms, shares such as 1%. The time-out of a request is 5 times
the largest latency objective, at least 1s; 5s without a latency objective.

Examples:
  anteroom-loadtest size --slo 'p95<200ms' --slo 'errors<1%'
      the concert's scenario at http://127.0.0.1:8090
  anteroom-loadtest size --target http://shop.test --scenario shop.toml --slo 'p99<1s' --stay 5m
  anteroom-loadtest size --slo 'p95<200ms' --paces
      measures also what batches admitted all at once would do
  anteroom-loadtest size --slo 'p95<200ms' --queue concert --apply http://127.0.0.1:8081
      sets the plan live, with the operator's key in ANTEROOM_KEY

Reports are written to --output: size.md, size.html, size.json, plan.json and a kustomize patch.
Exit codes: 0 the plan is settled; 1 no load met the objectives, or the plan is provisional;
64 a wrong argument; 70 the service cannot be measured; 75 this program or its machine was the
limit.")]
pub struct Size {
    /// The service to measure, without the waiting room in front
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8090",
        value_parser = Target::parse)]
    target: Target,
    /// Scenario: what a visitor does (TOML) [default: the concert's]
    #[arg(long, value_name = "FILE")]
    scenario: Option<PathBuf>,
    /// An objective; repeatable
    #[arg(long, value_name = "OBJECTIVE", required = true)]
    slo: Vec<Objective>,
    /// The first load, in visitors a second; from 1 to --most
    #[arg(long, value_name = "PER_SECOND", default_value_t = 10.0)]
    from: f64,
    /// The highest load to try, in visitors a second; at most 100000
    #[arg(long, value_name = "PER_SECOND", default_value_t = 10_000.0)]
    most: f64,
    /// How long to measure each load, from 1s to --within; the final load 4 times as long. With
    /// think time in the scenario each load runs longer
    #[arg(long, value_name = "TIME", default_value = "4s",
        value_parser = flags::time(("1s", "24h")))]
    step: Duration,
    /// Time for the service to recover after a load that missed the objectives, up to 1h
    #[arg(long, value_name = "TIME", default_value = "20s",
        value_parser = flags::time(("0s", "1h")))]
    recovery: Duration,
    /// Maximum time of the whole search, at most 24h. A result that is not settled by then is
    /// provisional
    #[arg(long, value_name = "TIME", default_value = "195s",
        value_parser = flags::time(("1s", "24h")))]
    within: Duration,
    /// Safety margin: the share of the measured capacity that the plan does not use, below 100%
    #[arg(long, value_name = "SHARE", default_value = "20%", value_parser = plan::below_all)]
    headroom: f64,
    #[command(flatten)]
    options: plan::Options,
    /// How long a visitor stays, 1s to 7d [default: as measured, if the scenario has think time]
    #[arg(long, value_name = "TIME", value_parser = flags::time(("1s", "7d")))]
    stay: Option<Duration>,
    /// Local addresses that connections come from, in turn: networks or addresses, separated by
    /// commas, such as 127.0.1.0/24
    #[arg(long, value_name = "NETWORK|LIST", default_value = "", hide_default_value = true,
        value_parser = Sources::parse)]
    source_addresses: Sources,
    /// Also measure batches that are admitted all at once; takes 1 minute more
    #[arg(long)]
    paces: bool,
    /// The folder of the reports and of plan.json
    #[arg(long, value_name = "DIR", default_value = "target/loadtest")]
    output: PathBuf,
}

impl Size {
    /// Searches and writes the report.
    ///
    /// # Errors
    ///
    /// A mistake of the caller, a target that does not answer, or a report that cannot be written.
    pub async fn run(self) -> anyhow::Result<Outcome> {
        let loads = self.from >= 1.0 && self.from <= self.most && self.most <= 1e5;
        let rule = "--from, --most: from 1 to 100000 visitors a second, --from not above --most";
        ensure!(loads, Usage(rule.to_owned()));
        ensure!(self.step <= self.within, Usage("--step: from 1s to --within".to_owned()));
        let deadline = Instant::now() + self.within;
        let scenario = Arc::new(Scenario::read(self.scenario.as_deref())?);
        let cancelled = crate::interrupt::watch()?;
        let (timeout, sources) = (self.timeout(), self.source_addresses.clone());
        let visitors = Visitors {
            scenario: Arc::clone(&scenario),
            route: self.target.reach(sources, timeout.min(self.within)).await?,
            timeout,
            max_in_flight: usize::try_from(own_limit::connections()?.min(MOST_IN_FLIGHT))?,
        };
        self.options.prepare(&self.output).await?;
        let search = search::Search {
            measure: &visitors,
            objectives: &self.slo,
            from: self.from,
            most: self.most,
            step: self.step,
            recovery: self.recovery,
            deadline,
            clock: &Instant::now,
            cancelled: &cancelled,
        };
        self.announce(search.takes(visitors.warm_up()), visitors.warm_up());
        let found = search.run().await?;
        let paces = async {
            let wanted = self.paces && !cancelled.is_cancelled();
            let Some(held) = found.held.filter(|_| wanted) else { return Ok(None) };
            let interval = self.options.interval;
            paces::compare(&search, held, interval, found.warm_up).await.map(Some)
        };
        let paces = cancelled.run_until_cancelled(paces).await.transpose()?.flatten();
        let sized = Sized::new(&self, &scenario, found, paces);
        let report = sized.report(&self)?;
        say(&report.markdown());
        report.write(&self.output, "size", &sized)?;
        if let Some(plan) = &sized.plan {
            self.options.write(plan, &self.output)?;
        }
        if let Some(limit) = sized.found.own_limit {
            return Err(limit.into());
        }
        ensure!(!sized.found.refused, "{}", sized.found.remarks.join("; "));
        let refused = match &sized.plan {
            None => "no load met the objectives",
            Some(plan) if plan.provisional.is_some() => "it is provisional",
            Some(_) if cancelled.is_cancelled() && self.options.apply.is_some() => {
                "it was ended early"
            }
            Some(plan) => {
                self.options.set_live(plan).await?;
                return Ok(Outcome::Held);
            }
        };
        self.options.refuse(refused);
        Ok(Outcome::Missed)
    }

    /// Says before the run how long it takes, if the scenario thinks or the time is too short.
    fn announce(&self, takes: Duration, warm_up: Duration) {
        let up_to = search::minutes(takes);
        if !warm_up.is_zero() {
            let warm_up = crate::durations::format_duration(warm_up);
            say(&format!(
                "visitors think: each load takes {warm_up} until it is steady, and longer if they \
                 retry; the search takes up to {up_to}"
            ));
        }
        if takes > self.within {
            let within = crate::durations::format_duration(self.within);
            say(&format!("--within {within} may be too short for a plan: give --within {up_to}"));
        }
    }

    /// A request without an answer after some times the largest limit of a latency will not be in
    /// time.
    fn timeout(&self) -> Duration {
        let limits = self.slo.iter().filter_map(Objective::latency);
        limits.max().map_or(Duration::from_secs(5), |limit| (5 * limit).max(Duration::from_secs(1)))
    }
}
