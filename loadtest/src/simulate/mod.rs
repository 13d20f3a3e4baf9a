//! `simulate`: what a crowd would wait by these rules, without a cluster.

mod arrivals;
mod model;
mod options;
mod rate;
mod result;
mod span;

use std::num::NonZero;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{iter, thread};

use clap::Args;
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

use crate::exit::Outcome;
use crate::progress::{Progress, say};
use crate::report;
use arrivals::Arrivals;
use model::Simulated;
use options::{Coming, Crowd, Rules};
use result::Answer;

/// Simulates an arrival curve under the rules of a queue, with several seeds, and shows the waits,
/// the line, missed turns and the use of the capacity: the median of the runs and their range.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  A rush of 50 000 visitors in 10 minutes, 2 200 admitted each 10 s:
    anteroom-loadtest simulate --spike 50000 --for 10m --batch 2200 --stay 2m

  At most 5 000 inside, 5 % miss their turn:
    anteroom-loadtest simulate --rate 200 --for 1h --capacity 5000 \\
        --stay exponential:1m --no-shows 5%

  The curve of last year's sale:
    anteroom-loadtest simulate --csv sale.csv --batch 300 --capacity 2000 --stay 30s..3m

Every 0.1 s the rules are applied, as the scheduler does. A run of 10 million visitors takes
seconds. The report is written as simulate.md, .html, .json and .svg.")]
pub struct Simulate {
    #[command(flatten)]
    coming: Coming,
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
        let (curve, arrivals) = self.coming.arrivals()?;
        report::prepare(&self.output)?;
        let (interrupt, output) = (crate::interrupt::watch()?, self.output.clone());
        let played = spawn_blocking(move || {
            let runs = play(&self, &curve, &interrupt);
            Answer { arrivals, args: self, runs, interrupted: interrupt.is_cancelled() }
        });
        let answer = played.await?;
        let report = answer.report();
        say(&report.markdown());
        report.write(&output, "simulate", &answer.json())?;
        Ok(Outcome::Held)
    }
}

/// A run for each seed, in their order, with as many threads as processors. After an interrupt:
/// those that came to their end, or what there is of the first.
fn play(args: &Simulate, arrivals: &Arrivals, cancelled: &CancellationToken) -> Vec<Simulated> {
    let crowd = &args.crowd;
    let progress = Progress::new("simulate", arrivals.total() as u64 * crowd.seeds);
    let (begun, come) = (AtomicU64::new(0), AtomicU64::new(0));
    let report = |more| {
        let visitors = come.fetch_add(more, Ordering::Relaxed) + more;
        progress.at(visitors, || format!("{visitors} visitors"));
    };
    let next = || {
        let number = begun.fetch_add(1, Ordering::Relaxed);
        let wanted = number < crowd.seeds && (number == 0 || !cancelled.is_cancelled());
        let seed = crowd.seed.wrapping_add(number);
        wanted.then(|| model::simulate(args, arrivals, seed, cancelled, report))
    };
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let mut runs: Vec<_> = thread::scope(|scope| {
        let started: Vec<_> =
            (0..threads).map(|_| scope.spawn(|| iter::from_fn(next).collect::<Vec<_>>())).collect();
        started.into_iter().flat_map(|it| it.join().expect("a run does not panic")).collect()
    });
    runs.sort_by_key(|run| run.seed.wrapping_sub(crowd.seed));
    if runs.iter().any(|run| !run.interrupted) {
        runs.retain(|run| !run.interrupted);
    }
    runs
}
