//! The rules of the waiting room, as the queue's configuration names them.

use std::time::Duration;

use clap::{ArgGroup, Args};
use serde::{Serialize, Serializer};

use crate::plan::{Pace, flags};

/// When the head of the line is promoted: by a rate, a capacity or both.
#[derive(Args, Clone, Debug, Serialize)]
#[command(next_help_heading = "Rules")]
#[command(group = ArgGroup::new("rule").required(true).multiple(true).args(["batch", "capacity"]))]
#[group(skip)]
pub struct Rules {
    /// The most promotions in any interval, 1 to 1000000
    #[arg(long, value_name = "PLACES", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub batch: Option<u64>,
    /// The interval of a batch, 1s to 1h
    #[arg(long, value_name = "TIME", default_value = "10s",
        value_parser = flags::time(flags::INTERVAL))]
    #[serde(serialize_with = "seconds")]
    pub interval: Duration,
    /// How a batch is spread over its interval
    #[arg(long, default_value = "even")]
    pub pace: Pace,
    /// The most places that are ready or active at one time, 1 to 10000000
    #[arg(long, value_name = "PLACES", value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub capacity: Option<u64>,
    /// How long the place of a visitor who does not show up is kept, 5s to 1h
    #[arg(long, value_name = "TIME", default_value = "60s",
        value_parser = flags::time(flags::CLAIM_TTL))]
    #[serde(serialize_with = "seconds")]
    pub claim_ttl: Duration,
    /// The longest stay, 5s to 7d
    #[arg(long, value_name = "TIME", default_value = "30m",
        value_parser = flags::time(flags::SESSION_MAX))]
    #[serde(serialize_with = "seconds")]
    pub session_max: Duration,
    /// How long a visitor in line may be inactive before the queue skips it, 60s to 24h
    #[arg(long, value_name = "TIME", default_value = "10m",
        value_parser = flags::time(flags::IDLE_TTL))]
    #[serde(serialize_with = "seconds")]
    pub idle_ttl: Duration,
    /// The longest line, 1 to 10000000; more visitors are refused
    #[arg(long, value_name = "PLACES", default_value_t = 1_000_000,
        value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub max_waiting: u64,
}

fn seconds<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_f64(time.as_secs_f64())
}
