//! `simulate`: what a crowd would wait by these rules, without a cluster.

pub mod arrivals;
pub mod crowd;
pub mod model;
pub mod rate;
pub mod rules;
pub mod span;

mod result;
mod spread;

use std::num::NonZero;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{iter, thread};

use clap::Args;
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

use crate::exit::Outcome;
use crate::progress::{Progress, say};
use arrivals::Arrivals;
use crowd::Crowd;
use result::Run;
use rules::Rules;

/// Plays an arrival curve by the rules of a queue, with several seeds, and shows the waits, the
/// line, missed turns and the use of the capacity: the median of the runs and their range.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  A rush of 50 000 in ten minutes, 2 200 let in every 10 s:
    anteroom-loadtest simulate --spike 50000 --for 10m --batch 2200 --stay 2m

  At most 5 000 inside, 5 % miss their turn:
    anteroom-loadtest simulate --rate 200 --for 1h --capacity 5000 \\
        --stay exponential:1m --no-shows 5%

  The curve of last year's sale:
    anteroom-loadtest simulate --csv sale.csv --batch 300 --capacity 2000 --stay 30s..3m

Every 0.1 s a tick promotes by the rules in force, as the scheduler does; a run of 10 million
visitors takes seconds. The report is written as simulate.md, .html, .json and .svg.")]
pub struct Simulate {
    #[command(flatten)]
    coming: crowd::Coming,
    #[command(flatten)]
    crowd: Crowd,
    #[command(flatten)]
    rules: Rules,
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
        let runs = spawn_blocking(move || play(&arrivals, &crowd, &rules, &ends)).await?;
        let interrupted = cancelled.is_cancelled();
        let result = result::Answer::new(coming, self.crowd, self.rules, &runs, interrupted);
        let report = result.report();
        report.write(&self.output, "simulate", &result)?;
        say(&report.markdown());
        say(&format!("written to {}", self.output.join("simulate.html").display()));
        Ok(Outcome::Held)
    }
}

/// A run for each seed that was begun, in their order, with as many threads as processors.
fn play(
    arrivals: &Arrivals,
    crowd: &Crowd,
    rules: &Rules,
    cancelled: &CancellationToken,
) -> Vec<Run> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked: from 0 to 10^9"
    )]
    let total = arrivals.total() as u64 * crowd.seeds;
    let progress = Progress::new("simulate", total);
    let (begun, come) = (AtomicU64::new(0), AtomicU64::new(0));
    let tell = |more| {
        let visitors = come.fetch_add(more, Ordering::Relaxed) + more;
        progress.at(visitors, || format!("{visitors} visitors"));
    };
    let next = || {
        let number = begun.fetch_add(1, Ordering::Relaxed);
        let wanted = number < crowd.seeds && (number == 0 || !cancelled.is_cancelled());
        let seed = crowd.seed.wrapping_add(number);
        let played = || model::simulate(arrivals, crowd, rules, seed, cancelled, tell);
        wanted.then(|| Run { number, seed, played: played() })
    };
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let mut runs = thread::scope(|scope| {
        let started: Vec<_> =
            (0..threads).map(|_| scope.spawn(|| iter::from_fn(next).collect::<Vec<_>>())).collect();
        let joined = started.into_iter().flat_map(|it| it.join().expect("a run does not panic"));
        joined.collect::<Vec<_>>()
    });
    runs.sort_by_key(|run| run.number);
    runs
}
