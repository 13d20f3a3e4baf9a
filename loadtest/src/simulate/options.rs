//! The options of a simulation: who comes, what they do, and by which rules of the waiting room.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args, value_parser};
use serde::{Serialize, Serializer};

use super::arrivals::Arrivals;
use super::span::Span;
use crate::exit::Usage;
use crate::plan::Pace;
use crate::plan::flags::{CLAIM_TTL, IDLE_TTL, INTERVAL, SESSION_MAX, share, time};

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
    #[arg(long, value_name = "VISITORS", value_parser = value_parser!(u64).range(1..))]
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
    /// The curve, and its flags.
    pub fn arrivals(&self) -> Result<(Arrivals, String), Usage> {
        let length = crate::durations::format_duration(self.length);
        let (arrivals, flags) = match (self.rate, self.spike, &self.csv) {
            (Some(rate), ..) => {
                let same = Arrivals::straight(rate, rate, self.length);
                (same, format!("--rate {rate} --for {length}"))
            }
            (_, Some(visitors), _) => {
                let peak = 2.0 * visitors as f64 / self.length.as_secs_f64();
                let spike = Arrivals::straight(peak, 0.0, self.length);
                (spike, format!("--spike {visitors} --for {length}"))
            }
            (.., Some(file)) => (Arrivals::read(file)?, format!("--csv {}", file.display())),
            (None, None, None) => return Err(Usage("give --rate, --spike or --csv".into())),
        };
        if arrivals.total() > 1e9 {
            return Err(Usage("at most 1 000 000 000 visitors".into()));
        }
        Ok((arrivals, flags))
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
    #[arg(long, value_name = "TIMES", value_parser = Span::parse)]
    pub stay: Span,
    /// How soon they enter once they are ready
    #[arg(long, value_name = "TIMES", default_value = "0s..2s", value_parser = Span::parse)]
    pub claims_after: Span,
    /// The share of visitors who miss their turn, 0% to 100%
    #[arg(long, value_name = "SHARE", default_value = "0%", value_parser = share)]
    pub no_shows: f64,
    /// The share of visitors who leave the line when their patience ends, 0% to 100%
    #[arg(long, value_name = "SHARE", default_value = "0%", value_parser = share)]
    pub drop_outs: f64,
    /// How long the patience of drop-outs lasts
    #[arg(long, value_name = "TIMES", default_value = "exponential:10m", value_parser = Span::parse)]
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
    #[arg(long, default_value_t = 5, value_parser = value_parser!(u64).range(1..=100))]
    pub seeds: u64,
}

/// The rules, as the queue's configuration names them: by a rate, a capacity or both.
#[derive(Args, Clone, Debug, Serialize)]
#[command(next_help_heading = "Rules")]
#[command(group = ArgGroup::new("rule").required(true).multiple(true).args(["batch", "capacity"]))]
#[group(skip)]
pub struct Rules {
    /// Maximum number of visitors admitted in any interval, 1 to 1000000
    #[arg(long, value_name = "PLACES", value_parser = value_parser!(u64).range(1..=1_000_000))]
    pub batch: Option<u64>,
    /// The interval of a batch, 1s to 1h
    #[arg(long, value_name = "TIME", default_value = "10s",
        value_parser = time(INTERVAL))]
    #[serde(serialize_with = "seconds")]
    pub interval: Duration,
    /// How a batch is spread over its interval
    #[arg(long, default_value = "even")]
    pub pace: Pace,
    /// Maximum number of visitors ready or active at any moment, 1 to 10000000
    #[arg(long, value_name = "PLACES", value_parser = value_parser!(u64).range(1..=10_000_000))]
    pub capacity: Option<u64>,
    /// How long a called visitor has to enter, 5s to 1h
    #[arg(long, value_name = "TIME", default_value = "60s",
        value_parser = time(CLAIM_TTL))]
    #[serde(serialize_with = "seconds")]
    pub claim_ttl: Duration,
    /// The longest stay, 5s to 7d
    #[arg(long, value_name = "TIME", default_value = "30m",
        value_parser = time(SESSION_MAX))]
    #[serde(serialize_with = "seconds")]
    pub session_max: Duration,
    /// How long a waiting visitor can be inactive before the queue skips it, 60s to 24h
    #[arg(long, value_name = "TIME", default_value = "10m",
        value_parser = time(IDLE_TTL))]
    #[serde(serialize_with = "seconds")]
    pub idle_ttl: Duration,
    /// The longest line, 1 to 10000000; more visitors are refused
    #[arg(long, value_name = "PLACES", default_value_t = 1_000_000,
        value_parser = value_parser!(u64).range(1..=10_000_000))]
    pub max_waiting: u64,
}

fn seconds<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_f64(time.as_secs_f64())
}
