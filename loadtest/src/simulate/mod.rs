//! `simulate`: what a crowd would wait by these rules, without a cluster.

pub mod arrivals;
pub mod crowd;
pub mod model;
pub mod rate;
pub mod rules;
pub mod span;

mod result;

use std::path::PathBuf;

use clap::Args;
use tokio::task::spawn_blocking;

use crate::exit::Outcome;
use crate::progress::{Progress, say};

/// Plays an arrival curve by the rules of a queue, and tells the waits, the line, who did not come
/// and how the capacity was used.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  A rush of 50 000 in ten minutes, 2 200 let in every 10 s:
    anteroom-loadtest simulate --spike 50000 --for 10m --batch 2200 --stay 2m

  At most 5 000 inside, a twentieth does not come when it is their turn:
    anteroom-loadtest simulate --rate 200 --for 1h --capacity 5000 \\
        --stay exponential:1m --no-shows 5%

  The curve of last year's sale:
    anteroom-loadtest simulate --csv sale.csv --batch 300 --capacity 2000 --stay 30s..3m

Every 0.1 s a tick promotes by the rules in force, as the scheduler does; 10 million visitors take
seconds. The report is written as simulate.md, .html, .json and .svg.")]
pub struct Simulate {
    #[command(flatten)]
    coming: crowd::Coming,
    #[command(flatten)]
    crowd: crowd::Crowd,
    #[command(flatten)]
    rules: rules::Rules,
    /// The folder of the reports
    #[arg(long, value_name = "DIR", default_value = "target/loadtest", help_heading = None)]
    output: PathBuf,
}

impl Simulate {
    /// Plays it and writes the report.
    ///
    /// # Errors
    ///
    /// A mistake of the caller, or a report that cannot be written.
    pub async fn run(self) -> anyhow::Result<Outcome> {
        let arrivals = self.coming.arrivals()?;
        let coming = self.coming.to_string();
        self.rules.check()?;
        let cancelled = crate::interrupt::watch()?;
        let (crowd, rules, ends) = (self.crowd.clone(), self.rules.clone(), cancelled.clone());
        let played = spawn_blocking(move || {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "checked: from 0 to 10^9"
            )]
            let total = arrivals.total() as u64;
            let progress = Progress::new("simulate", total);
            model::simulate(&arrivals, &crowd, &rules, &ends, |visitors| {
                progress.at(visitors, || format!("{visitors} visitors"));
            })
        })
        .await?;
        let result =
            result::Answer::new(coming, self.crowd, self.rules, &played, cancelled.is_cancelled());
        let report = result.report();
        report.write(&self.output, "simulate", &result)?;
        say(&report.markdown());
        say(&format!("written to {}", self.output.join("simulate.html").display()));
        Ok(Outcome::Held)
    }
}
