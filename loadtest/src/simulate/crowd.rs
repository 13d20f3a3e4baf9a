//! Who comes, and what they do.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args};
use humantime::parse_duration;
use serde::{Serialize, Serializer};

use super::arrivals::Arrivals;
use super::span::Span;
use crate::exit::Usage;
use crate::plan::flags::share;

/// When they come: exactly one of three.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Arrivals")]
#[command(group = ArgGroup::new("curve").required(true).args(["rate", "spike", "csv"]))]
#[group(skip)]
pub struct Coming {
    /// So many visitors a second, above 0
    #[arg(long, value_name = "PER_SECOND")]
    rate: Option<f64>,
    /// So many visitors in all, at least 1 (on average, but with --even), most of them at the start
    #[arg(long, value_name = "VISITORS", value_parser = clap::value_parser!(u64).range(1..))]
    spike: Option<u64>,
    /// A file of lines `seconds,arrivals per second`
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// For how long they come, with --rate and --spike, 1s to 30days
    #[arg(long = "for", value_name = "TIME", conflicts_with = "csv", value_parser = parse_duration, default_value = "10m")]
    length: Duration,
}

impl fmt::Display for Coming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let length = humantime::format_duration(self.length);
        match (self.rate, self.spike, &self.csv) {
            (Some(rate), ..) => write!(f, "--rate {rate} --for {length}"),
            (_, Some(visitors), _) => write!(f, "--spike {visitors} --for {length}"),
            (.., Some(file)) => write!(f, "--csv {}", file.display()),
            (None, None, None) => Ok(()),
        }
    }
}

impl Coming {
    /// The curve.
    ///
    /// # Errors
    ///
    /// Names the flag, or the file and line, and the rule.
    pub fn arrivals(&self) -> Result<Arrivals, Usage> {
        if self.length < Duration::from_secs(1) || self.length > Duration::from_secs(30 * 86_400) {
            return Err(Usage("--for: from 1s to 30days".into()));
        }
        let arrivals = match (self.rate, self.spike, &self.csv) {
            (Some(rate), ..) if !(rate > 0.0 && rate.is_finite()) => {
                return Err(Usage("--rate: more than 0".into()));
            }
            (Some(rate), ..) => Arrivals::constant(rate, self.length),
            (_, Some(visitors), _) => Arrivals::spike(visitors, self.length),
            (.., Some(file)) => Arrivals::read(file)?,
            (None, None, None) => return Err(Usage("give --rate, --spike or --csv".into())),
        };
        if arrivals.total() > 1e9 {
            return Err(Usage("at most 1 000 000 000 visitors".into()));
        }
        Ok(arrivals)
    }
}

/// What they do.
#[derive(Args, Clone, Debug, Serialize)]
#[command(next_help_heading = "Visitors")]
pub struct Crowd {
    /// How long they stay once they are in: 2m, 30s..5m or exponential:2m
    #[arg(long, value_name = "TIMES")]
    #[serde(serialize_with = "shown")]
    pub stay: Span,
    /// How soon they come in once their turn is there
    #[arg(long, value_name = "TIMES", default_value = "0s..2s")]
    #[serde(serialize_with = "shown")]
    pub claims_after: Span,
    /// Share of them who miss their turn, 0% to 100%
    #[arg(long, value_name = "SHARE", default_value = "0%", value_parser = share)]
    pub no_shows: f64,
    /// Share of them who leave the line when their patience ends, 0% to 100%
    #[arg(long, value_name = "SHARE", default_value = "0%", value_parser = share)]
    pub drop_outs: f64,
    /// How long the patience of these lasts
    #[arg(long, value_name = "TIMES", default_value = "exponential:10m")]
    #[serde(serialize_with = "shown")]
    pub patience: Span,
    /// Share of these who leave without a word, 0% to 100%: the queue skips them after --idle-ttl
    #[arg(long, value_name = "SHARE", default_value = "100%", value_parser = share)]
    pub silent: f64,
    /// Visitors come as evenly as the rate allows, not by chance
    #[arg(long)]
    pub even: bool,
    /// The seed of the first run; the others take the next ones. Equal seeds give equal runs
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// How many runs to play, each with a seed of its own, 1 to 100
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=100))]
    pub seeds: u64,
}

fn shown<S: Serializer>(span: &Span, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(span)
}
