//! The command line, and the environment.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::ValueParser;
use clap::{Parser, ValueEnum, value_parser};
use jiff::{Span, SpanRelativeTo};
use url::Url;

use crate::shop::Schedule;

const EXAMPLES: &str = "\
Examples:
  anteroom-concert
      a shop at http://127.0.0.1:8090, open to all visitors
  anteroom-concert --gate ask --anteroom http://127.0.0.1:8080 \\
      --anteroom-service http://127.0.0.1:8081
      visitors that the queue \"concert\" has admitted can enter; the others wait
  anteroom-concert --workers 10 --think 50ms --rows 100 --seats 100 --hold 5s
      a service that handles 200 requests a second, for measurements

You can also set each option with an environment variable. Set ANTEROOM_KEY to the key of the
service port, if keys are configured. Ctrl-C and SIGTERM end the shop after it has answered open
requests. Exit code 64: wrong arguments.";

/// A sample ticket shop on SQLite, for Anteroom to protect.
#[derive(Clone, Debug, Parser)]
#[command(name = "anteroom-concert", version, after_help = EXAMPLES)]
pub struct Options {
    /// Listen address
    #[arg(long, env = "CONCERT_LISTEN", default_value = "127.0.0.1:8090")]
    pub listen: SocketAddr,
    /// Database file of the shop; created if it is missing
    #[arg(long, env = "CONCERT_DATABASE", value_name = "FILE", default_value = "concert.sqlite")]
    pub database: PathBuf,
    /// Number of shows in a new database, 1 to 100
    #[arg(long, env = "CONCERT_SHOWS", default_value_t = 3, value_parser = up_to_100())]
    pub shows: u32,
    /// Number of rows per show, 1 to 100
    #[arg(long, env = "CONCERT_ROWS", default_value_t = 8, value_parser = up_to_100())]
    pub rows: u32,
    /// Number of seats per row, 1 to 100
    #[arg(long, env = "CONCERT_SEATS", default_value_t = 6, value_parser = up_to_100())]
    pub seats: u32,
    /// How long a reservation waits for its payment, 1ms to 24h
    #[arg(long, env = "CONCERT_HOLD", default_value = "2m", value_parser = between("1ms", "24h"))]
    pub hold: Duration,
    /// Requests in progress at the same time, 1 to 1024
    #[arg(long, env = "CONCERT_WORKERS", default_value_t = 8,
        value_parser = value_parser!(u16).range(1..=1024))]
    pub workers: u16,
    /// Minimum time of a worker per request, 0s to 60s. The shop handles at most workers ÷ think
    /// requests a second
    #[arg(long, env = "CONCERT_THINK", default_value = "20ms", value_parser = between("0s", "60s"))]
    pub think: Duration,
    /// Requests that can wait for a worker; more are refused, 1 to 1000000
    #[arg(long, env = "CONCERT_BACKLOG", default_value_t = 1000,
        value_parser = value_parser!(u32).range(1..=1_000_000))]
    pub backlog: u32,
    /// How long it still serves, as not ready, after a signal to end, 0s to 1h
    #[arg(long, env = "CONCERT_DRAIN_DELAY", default_value = "0s",
        value_parser = between("0s", "1h"))]
    pub drain_delay: Duration,
    /// How the shop checks that a visitor is admitted
    #[arg(long, env = "CONCERT_GATE", value_enum, default_value_t = GateMode::Off)]
    pub gate: GateMode,
    /// The queue that protects this shop
    #[arg(long, env = "CONCERT_QUEUE", default_value = "concert", value_parser = queue_name)]
    pub queue: String,
    /// Anteroom's public port, for authorize checks; required with --gate ask
    #[arg(long, env = "CONCERT_ANTEROOM", value_name = "URL", value_parser = address,
        required_if_eq("gate", "ask"))]
    pub anteroom: Option<Url>,
    /// Anteroom's service port, to end visits at; required with --gate ask. With --gate headers you
    /// can leave it out: a visit then lasts until its session ends
    #[arg(long, env = "CONCERT_ANTEROOM_SERVICE", value_name = "URL", value_parser = address,
        required_if_eq("gate", "ask"))]
    pub anteroom_service: Option<Url>,
    /// Public address of the shop, one of the queue's `return_to_origins`; the origin of its pages
    /// [default: http:// and the listen address]
    #[arg(long, env = "CONCERT_PUBLIC_URL", value_name = "URL", value_parser = public_address)]
    pub public_url: Option<Url>,
}

/// How the shop checks that a visitor is admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum GateMode {
    /// No check
    Off,
    /// The shop asks Anteroom for each request
    Ask,
    /// No check: a gateway in front asks Anteroom and overwrites the headers x-anteroom-*
    Headers,
}

impl Options {
    /// What a new file is filled with.
    pub fn schedule(&self) -> Schedule {
        Schedule { shows: self.shows, rows: self.rows, seats: self.seats }
    }
}

fn up_to_100() -> impl Into<ValueParser> {
    value_parser!(u32).range(1..=100)
}

/// A time with a unit, such as `20ms`, within bounds.
fn between(
    least: &'static str,
    most: &'static str,
) -> impl Fn(&str) -> Result<Duration, String> + Clone {
    move |text| {
        let rule = || format!("must be a time from {least} to {most}, such as 20ms");
        let read = |text: &str| {
            let span: Span = text.parse().map_err(|_| rule())?;
            let span = span.to_duration(SpanRelativeTo::days_are_24_hours());
            span.and_then(Duration::try_from).map_err(|_| rule())
        };
        let span = read(text)?;
        if (read(least)?..=read(most)?).contains(&span) { Ok(span) } else { Err(rule()) }
    }
}

fn queue_name(text: &str) -> Result<String, String> {
    let is_good = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if (1..=40).contains(&text.len()) && text.bytes().all(is_good) {
        Ok(text.to_owned())
    } else {
        Err("must be 1 to 40 of a to z, 0 to 9 and -".to_owned())
    }
}

/// An address that this program calls: inside a cluster, where nothing needs TLS.
fn address(text: &str) -> Result<Url, String> {
    let url = origin(text)?;
    if url.scheme() == "http" { Ok(url) } else { Err("must begin with http://".to_owned()) }
}

/// An address that visitors call.
fn public_address(text: &str) -> Result<Url, String> {
    let url = origin(text)?;
    let is_web = matches!(url.scheme(), "http" | "https");
    if is_web { Ok(url) } else { Err("must begin with http:// or https://".to_owned()) }
}

fn origin(text: &str) -> Result<Url, String> {
    let rule = "must be scheme, host and port alone, such as http://127.0.0.1:8080";
    let url = Url::parse(text).map_err(|error| format!("{rule}: {error}"))?;
    let is_bare = url.has_host()
        && url.path() == "/"
        && url.query().is_none()
        && url.fragment().is_none()
        && url.username().is_empty()
        && url.password().is_none();
    if is_bare { Ok(url) } else { Err(rule.to_owned()) }
}
