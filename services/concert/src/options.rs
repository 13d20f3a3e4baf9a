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
      a shop at http://127.0.0.1:8090, open to everybody
  anteroom-concert --gate ask --anteroom http://127.0.0.1:8080 \\
      --anteroom-service http://127.0.0.1:8081
      whoever has a place in the queue \"concert\" comes in; the others wait
  anteroom-concert --workers 10 --think 50ms --rows 100 --seats 100 --hold 5s
      a service that bears 200 requests a second, to be measured

Each option can be given by the environment as well. ANTEROOM_KEY holds the key of the service
port, where it asks for one. Ctrl-C and SIGTERM end it when what it works on is answered. It exits
with 64 when called wrongly.";

/// A ticket shop on SQLite, for Anteroom to stand in front of.
#[derive(Clone, Debug, Parser)]
#[command(name = "anteroom-concert", version, after_help = EXAMPLES)]
pub struct Options {
    /// Where it listens
    #[arg(long, env = "CONCERT_LISTEN", default_value = "127.0.0.1:8090")]
    pub listen: SocketAddr,
    /// The file that holds the shop; made when it is missing
    #[arg(long, env = "CONCERT_DATABASE", value_name = "FILE", default_value = "concert.sqlite")]
    pub database: PathBuf,
    /// Shows of a new file, 1 to 100
    #[arg(long, env = "CONCERT_SHOWS", default_value_t = 3, value_parser = up_to_100())]
    pub shows: u32,
    /// Rows of each show, 1 to 100
    #[arg(long, env = "CONCERT_ROWS", default_value_t = 8, value_parser = up_to_100())]
    pub rows: u32,
    /// Seats of each row, 1 to 100
    #[arg(long, env = "CONCERT_SEATS", default_value_t = 6, value_parser = up_to_100())]
    pub seats: u32,
    /// How long a reservation waits for its payment, 1ms to 24h
    #[arg(long, env = "CONCERT_HOLD", default_value = "2m", value_parser = between("1ms", "24h"))]
    pub hold: Duration,
    /// How many requests are worked on at once, 1 to 1024
    #[arg(long, env = "CONCERT_WORKERS", default_value_t = 8,
        value_parser = value_parser!(u16).range(1..=1024))]
    pub workers: u16,
    /// The least that a request takes of a worker, 0s to 60s: it bears workers ÷ think a second
    #[arg(long, env = "CONCERT_THINK", default_value = "20ms", value_parser = between("0s", "60s"))]
    pub think: Duration,
    /// How many requests wait for a worker before others are refused, 1 to 1000000
    #[arg(long, env = "CONCERT_BACKLOG", default_value_t = 1000,
        value_parser = value_parser!(u32).range(1..=1_000_000))]
    pub backlog: u32,
    /// How long it goes on, not ready, once it is asked to end, 0s to 1h
    #[arg(long, env = "CONCERT_DRAIN_DELAY", default_value = "0s",
        value_parser = between("0s", "1h"))]
    pub drain_delay: Duration,
    /// Who is let in
    #[arg(long, env = "CONCERT_GATE", value_enum, default_value_t = GateMode::Off)]
    pub gate: GateMode,
    /// The waiting room before this shop
    #[arg(long, env = "CONCERT_QUEUE", default_value = "concert", value_parser = queue_name)]
    pub queue: String,
    /// Anteroom's public port, to ask; required with --gate ask
    #[arg(long, env = "CONCERT_ANTEROOM", value_name = "URL", value_parser = address,
        required_if_eq("gate", "ask"))]
    pub anteroom: Option<Url>,
    /// Anteroom's service port, to end visits at; required with --gate ask. With --gate headers you
    /// can leave it out: a visit then lasts until its session ends
    #[arg(long, env = "CONCERT_ANTEROOM_SERVICE", value_name = "URL", value_parser = address,
        required_if_eq("gate", "ask"))]
    pub anteroom_service: Option<Url>,
    /// Where visitors find the shop, one of the queue's `return_to_origins`, and the origin of its
    /// own pages [default: http:// and where it listens]
    #[arg(long, env = "CONCERT_PUBLIC_URL", value_name = "URL", value_parser = public_address)]
    pub public_url: Option<Url>,
}

/// Who is let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum GateMode {
    /// Everybody
    Off,
    /// Whoever Anteroom lets pass; the shop asks for each request
    Ask,
    /// Everybody: a gateway in front has asked, and overwrites the headers x-anteroom-*
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
