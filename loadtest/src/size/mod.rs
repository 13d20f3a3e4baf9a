//! `size`: the highest load that a service holds, and the rules of a waiting room that follow.

pub mod measure;
pub mod objective;
pub mod paces;
pub mod search;
pub mod step;
pub mod visits;

mod result;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use humantime::parse_duration;
use url::Url;

use crate::exit::{Outcome, Usage};
use crate::progress::say;

pub use result::Sized;

/// Searches for the highest load that holds the objectives, and works out the rules of a queue.
#[derive(Args, Debug)]
#[command(after_help = "\
Objectives: p50, p95, p99 (any pNN), average and max of the latency, errors, and shares of statuses
(503, 5xx); < or <=; times such as 200ms, shares such as 1%.

Examples:
  anteroom-loadtest size --target http://127.0.0.1:8090/ --slo 'p95<200ms' --slo 'errors<1%'
  anteroom-loadtest size --target http://shop.test/buy --slo 'p99<1s' --retry-on 409 --headroom 30%
  anteroom-loadtest size --target http://127.0.0.1:8090/ --slo 'p95<200ms' --paces

Exit codes: 0 a load was found that holds, 1 none was, or three runs did not agree; 64 usage.")]
pub struct Size {
    /// The address that every visitor asks for
    #[arg(long, value_name = "URL")]
    target: Url,
    /// What must hold; may be given more than once
    #[arg(long, value_name = "OBJECTIVE", required = true)]
    slo: Vec<objective::Objective>,
    /// The first step, in visitors a second
    #[arg(long, value_name = "PER_SECOND", default_value_t = 10.0)]
    from: f64,
    /// The highest load that is offered, in visitors a second
    #[arg(long, value_name = "PER_SECOND", default_value_t = 10_000.0)]
    most: f64,
    /// How long each load is offered
    #[arg(long, value_name = "TIME", default_value = "4s", value_parser = parse_duration)]
    step: Duration,
    /// How long the service may take to be calm again after a load that it did not hold
    #[arg(long, value_name = "TIME", default_value = "20s", value_parser = parse_duration)]
    recovery: Duration,
    /// The whole search ends by then
    #[arg(long, value_name = "TIME", default_value = "195s", value_parser = parse_duration)]
    within: Duration,
    /// Statuses after which a visitor tries again
    #[arg(long, value_name = "STATUS", value_delimiter = ',')]
    retry_on: Vec<u16>,
    /// How often at most
    #[arg(long, value_name = "TIMES", default_value_t = 10)]
    retry_max: u32,
    /// The interval of a batch
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_duration)]
    interval: Duration,
    /// The share of what was measured that is kept back
    #[arg(long, value_name = "SHARE", default_value = "20%", value_parser = headroom)]
    headroom: f64,
    /// How long a visitor stays; else as long as a visit was measured to take
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    stay: Option<Duration>,
    /// Measures also what batches let in all at once would do; takes a minute more
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
        self.check()?;
        let cancelled = crate::interrupt::watch()?;
        let visits = visits::Visits {
            target: self.target,
            retry_on: self.retry_on,
            retry_max: self.retry_max,
            timeout: timeout(&self.slo),
        };
        let search = search::Search {
            measure: &visits,
            objectives: &self.slo,
            from: self.from,
            most: self.most,
            step: self.step,
            recovery: self.recovery,
            deadline: Instant::now() + self.within,
            cancelled: &cancelled,
        };
        let found = search.run().await?;
        let paces = async {
            let Some(held) = found.held.filter(|_| self.paces) else { return Ok(None) };
            paces::compare(&visits, &self.slo, held, self.interval).await.map(Some)
        };
        let paces = tokio::select! {
            biased;
            () = cancelled.cancelled() => None,
            paces = paces => paces?,
        };
        let sized = Sized::new(found, paces, self.interval, self.headroom, self.stay);
        let report = sized.report(&self.slo);
        report.write(&self.output, "size", &sized)?;
        if let Some(plan) = &sized.plan {
            let text = format!("{:#}\n", serde_json::to_value(plan)?);
            std::fs::write(self.output.join("plan.json"), text)?;
        }
        say(&report.markdown());
        say(&format!("written to {}", self.output.join("size.html").display()));
        Ok(if sized.is_sound() { Outcome::Held } else { Outcome::Missed })
    }

    fn check(&self) -> Result<(), Usage> {
        let hour = Duration::from_secs(3_600);
        let rule = if self.target.scheme() != "http" {
            "--target: an http:// address"
        } else if !(self.from >= 1.0 && self.from <= self.most && self.most <= 1e6) {
            "--from, --most: from 1 to 1 000 000 visitors a second, --from not above --most"
        } else if self.step < Duration::from_secs(1) || self.step > self.within {
            "--step: from 1s to --within"
        } else if self.within > 24 * hour {
            "--within: at most 24h"
        } else if self.interval < Duration::from_secs(1) || self.interval > hour {
            "--interval: from 1s to 1h"
        } else {
            return Ok(());
        };
        Err(Usage(rule.to_owned()))
    }
}

/// Who is not served after some times the largest limit of a latency will not be in time.
fn timeout(objectives: &[objective::Objective]) -> Duration {
    let limits = objectives.iter().filter_map(objective::Objective::latency);
    limits.max().map_or(Duration::from_secs(5), |limit| (5 * limit).max(Duration::from_secs(1)))
}

/// `20%` as 0.2.
fn headroom(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    let share = number.filter(|number| (0.0..100.0).contains(number));
    share.map(|share| share / 100.0).ok_or_else(|| "a share from 0% to below 100%".to_owned())
}
