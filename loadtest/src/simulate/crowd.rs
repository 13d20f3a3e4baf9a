//! Who comes, and what they do.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args};
use serde::Serialize;

use super::arrivals::Arrivals;
use super::span::Span;
use crate::exit::Usage;
use crate::plan::flags::{share, time};

/// When they come: exactly one of three.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Arrivals")]
#[command(group = ArgGroup::new("curve").required(true).args(["rate", "spike", "csv"]))]
#[group(skip)]
pub struct Coming {
    /// Visitors per second, above 0
    #[arg(long, value_name = "PER_SECOND", value_parser = rate)]
    rate: Option<f64>,
    /// Visitors in all (on average, unless --even is set), most of them at the start, at least 1
    #[arg(long, value_name = "VISITORS", value_parser = clap::value_parser!(u64).range(1..))]
    spike: Option<u64>,
    /// A file of lines `seconds,arrivals per second`
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// How long they arrive, with --rate and --spike, 1s to 30days
    #[arg(long = "for", value_name = "TIME", conflicts_with = "csv", default_value = "10m",
        value_parser = time(("1s", "30days")))]
    length: Duration,
}

impl Coming {
    /// The curve, and how it was asked for.
    pub fn arrivals(&self) -> Result<(Arrivals, String), Usage> {
        let length = humantime::format_duration(self.length);
        let (arrivals, asked) = match (self.rate, self.spike, &self.csv) {
            (Some(rate), ..) => {
                (Arrivals::constant(rate, self.length), format!("--rate {rate} --for {length}"))
            }
            (_, Some(visitors), _) => {
                let spike = Arrivals::spike(visitors, self.length);
                (spike, format!("--spike {visitors} --for {length}"))
            }
            (.., Some(file)) => (Arrivals::read(file)?, format!("--csv {}", file.display())),
            (None, None, None) => return Err(Usage("give --rate, --spike or --csv".into())),
        };
        if arrivals.total() > 1e9 {
            return Err(Usage("at most 1 000 000 000 visitors".into()));
        }
        Ok((arrivals, asked))
    }
}

fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse().ok().filter(|rate| *rate > 0.0);
    rate.ok_or_else(|| "must be above 0".to_owned())
}

/// What they do.
#[derive(Args, Clone, Debug, Serialize)]
#[command(next_help_heading = "Visitors")]
pub struct Crowd {
    /// How long they stay inside: 2m, 30s..5m or exponential:2m
    #[arg(long, value_name = "TIMES")]
    pub stay: Span,
    /// How soon they enter once they are ready
    #[arg(long, value_name = "TIMES", default_value = "0s..2s")]
    pub claims_after: Span,
    /// The share of visitors who miss their turn, 0% to 100%
    #[arg(long, value_name = "SHARE", default_value = "0%", value_parser = share)]
    pub no_shows: f64,
    /// The share of visitors who leave the line when their patience ends, 0% to 100%
    #[arg(long, value_name = "SHARE", default_value = "0%", value_parser = share)]
    pub drop_outs: f64,
    /// How long the patience of drop-outs lasts
    #[arg(long, value_name = "TIMES", default_value = "exponential:10m")]
    pub patience: Span,
    /// The share of drop-outs who leave without a request, 0% to 100%: the queue skips them after
    /// --idle-ttl
    #[arg(long, value_name = "SHARE", default_value = "100%", value_parser = share)]
    pub silent: f64,
    /// Visitors arrive as evenly as the rate allows, not at random
    #[arg(long)]
    pub even: bool,
    /// The seed of the first run; the others take the next ones. Equal seeds give equal runs
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// How many runs to play, each with a seed of its own, 1 to 100
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=100))]
    pub seeds: u64,
}
