//! `rehearse`: a crowd goes through the waiting room, and the witness judges from outside whether
//! it keeps its promises.

mod address;
pub mod board;
mod cheat;
mod connection;
mod counts;
mod delivery;
mod in_line;
mod inside;
mod judge;
mod kind;
mod mix;
mod present;
mod report;
mod result;
mod room;
mod run;
mod stream;
mod tab;
mod visitor;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::durations::parse_duration;
use anteroom_witness::{Record, Rules};
use anyhow::Context as _;
use clap::{Args, value_parser};
use jiff::Timestamp;
use parking_lot::{Mutex, MutexGuard};
use serde_json::Value;
use tokio::sync::{RwLock, Semaphore};
use url::Host;

use crate::client::{Route, Sources, Target};
use crate::exit::{Outcome, Usage};
use crate::progress::say;
use crate::scenario::Scenario;
use crate::size::objective::Objective;
use crate::{interrupt, own_limit, share};

use connection::Reuse;
use counts::Counts;
use in_line::Polls;
use mix::Mix;
use present::Present;
use result::{Played, Rehearsal};
use room::{Look, RulesWatch};

const EXAMPLES: &str = "\
Examples:
  # 50 000 visitors within 30 s, on the waiting room of `make run`
  anteroom-loadtest rehearse --queue concert \\
    --anteroom http://127.0.0.1:8080 --service http://127.0.0.1:8081

  # The same crowd at a shop without authorize check (`anteroom-concert --listen 127.0.0.1:8091`),
  # first without and then with the waiting room
  anteroom-loadtest rehearse --both --queue concert \\
    --anteroom http://127.0.0.1:8080 --service http://127.0.0.1:8081 \\
    --target http://127.0.0.1:8091 --slo 'p95<200ms' --slo 'errors<1%'

  # 200 visitors at a time for 10 minutes, through a gateway that protects /api/
  anteroom-loadtest rehearse --queue concert --anteroom http://gate --gate /api/shows \\
    --visitors 200 --mix faithful=1 --connections both --again --limit 10m --follow

Visitors have many addresses, in X-Forwarded-For. Admission must trust the machine of this program.
If not, all visitors share the join limit of a few addresses. On one machine, connections come from
127.0.1.1 to 127.0.1.250: set trusted_proxies = [\"127.0.0.0/8\"].
--service shows the rules in force (set ANTEROOM_KEY to the operator's key). Without it, promises 1
and 2 are not checked. docs/explanation/sizing-method.md lists what else is not checked, and why.

Objectives are those of `size`, for all requests of a run to the service. The scenario says which
answers are errors.

Exit codes: 0 all promises were kept and, with the waiting room, all objectives met; 1 a promise or
objective was missed, visits were refused for good or did not end in time, or you ended the run
early; 64 a wrong argument; 70 the run was not possible, or each join was refused; 75 this program
or its machine was the limit.";

/// Plays a rush through the waiting room, and checks its guarantees (promises) from outside
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Rehearse {
    /// The public port of admission
    #[arg(long, value_name = "URL", required_unless_present = "without_room",
        value_parser = Target::parse)]
    anteroom: Option<Target>,
    /// The service port of admission, which shows the rules in force
    #[arg(long, value_name = "URL", value_parser = Target::parse)]
    service: Option<Target>,
    /// The queue
    #[arg(long, value_name = "NAME", required_unless_present = "without_room")]
    queue: Option<String>,
    /// How many visitors arrive, 1 to 10000000
    #[arg(long, value_name = "N", default_value_t = 50_000,
        value_parser = value_parser!(u32).range(1..=10_000_000))]
    visitors: u32,
    /// The time in which they arrive
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = parse_duration)]
    arrive: Duration,
    /// Habits by weight: faithful, sleeps, tabs, no-show, late, drops-out, gives-up, cheats
    #[arg(long, value_name = "HABIT=WEIGHT,…", default_value = Mix::OF_A_HUNDRED,
        value_parser = Mix::parse)]
    mix: Mix,
    /// How visitors in line learn their position
    #[arg(long, value_enum, default_value_t)]
    polls: Polls,
    /// The protected service, which visitors use while they are inside
    #[arg(long, value_name = "URL", value_parser = Target::parse,
        required_if_eq_any([("without_room", "true"), ("both", "true")]))]
    target: Option<Target>,
    /// What a visitor does there (TOML); the concert's scenario if left out
    #[arg(long, value_name = "FILE", requires = "target")]
    scenario: Option<PathBuf>,
    /// An objective of the service with the waiting room; repeatable
    #[arg(long, value_name = "OBJECTIVE", requires = "target")]
    slo: Vec<Objective>,
    /// A path that a gateway protects: requested instead of …/authorize, which the gateway blocks
    #[arg(long, value_name = "PATH", value_parser = path)]
    gate: Option<String>,
    /// How long a visitor stays inside on average, besides the think time of the scenario
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = parse_duration)]
    stay: Duration,
    /// How long a phone sleeps on average
    #[arg(long, value_name = "TIME", default_value = "45s", value_parser = parse_duration)]
    sleep: Duration,
    /// How long a visitor waits for an answer
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_duration)]
    patience: Duration,
    /// The run ends after this time at the latest
    #[arg(long, value_name = "TIME", default_value = "30m", value_parser = parse_duration)]
    limit: Duration,
    /// Which connections visitors use
    #[arg(long, value_enum, default_value_t)]
    connections: Reuse,
    /// Local addresses that connections come from, in turn: networks or addresses, separated by
    /// commas [default: 127.0.1.1 to 127.0.1.250 for servers on the loopback]
    #[arg(long, value_name = "NETWORK|LIST", default_value = "", hide_default_value = true,
        value_parser = Sources::parse)]
    source_addresses: Sources,
    /// A new visitor arrives for each who is done, until --limit or Ctrl-C
    #[arg(long)]
    again: bool,
    /// Prints a line of JSON each second on standard output, and the verdict at the end
    #[arg(long)]
    follow: bool,
    /// Only without the waiting room
    #[arg(long, conflicts_with = "both")]
    without_room: bool,
    /// First without the waiting room, then with it
    #[arg(long)]
    both: bool,
    /// The seed of the visitors' behaviour; each run has visitors with new ids [default: random]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    #[command(flatten)]
    share: share::Part,
    /// The folder of the report
    #[arg(long, value_name = "DIR", default_value = "target/loadtest")]
    output: PathBuf,
}

/// What all visitors of a run share.
pub struct Stage {
    args: Arc<Rehearse>,
    with_room: bool,
    site: Arc<Site>,
    /// One for each connection that may be open, besides event streams.
    permits: Arc<Semaphore>,
    /// One for each event stream that may be open.
    stream_permits: Arc<Semaphore>,
    /// Whether there are enough for visitors to keep theirs between two requests.
    can_keep: bool,
    record: Record,
    counts: Mutex<Counts>,
    present: Present,
    /// Read by each request, until its answer.
    asking: RwLock<()>,
}

/// What both runs share: the servers, and what is known of them.
struct Site {
    public: Arc<Route>,
    /// The protected service; without it a visitor only stays.
    target: Option<Arc<Route>>,
    scenario: Arc<Scenario>,
    rules: RulesWatch,
}

impl Site {
    /// How many connections visitors have opened.
    fn opened(&self) -> u64 {
        let target = self.target.iter().filter(|target| !Arc::ptr_eq(target, &self.public));
        target.chain([&self.public]).map(|route| route.opened()).sum()
    }
}

/// A server that does not accept a connection in this time does not answer.
const REACHED_WITHIN: Duration = Duration::from_secs(5);

/// Between the two runs of `--both` the service comes to rest.
const REST: Duration = Duration::from_secs(5);

impl Rehearse {
    /// Runs it.
    ///
    /// # Errors
    ///
    /// [`Usage`] for a wrong argument; anything else when a server does not answer, or the report
    /// cannot be written.
    pub async fn run(self) -> anyhow::Result<Outcome> {
        let site = Arc::new(self.site().await?);
        crate::report::prepare(&self.output)?;
        let interrupted = interrupt::watch()?;
        let seed = self.seed.unwrap_or_else(rand::random);
        let mut played = Played { seed, rules: site.rules.first(), runs: Vec::new() };
        let args = Arc::new(self);
        let stage = |with_room| Stage::new(with_room, &args, &site);
        args.share.wait(&interrupted).await;
        let started_at = Timestamp::now();
        if args.both || args.without_room {
            played.runs.push(run::play(&stage(false)?, seed, &interrupted).await);
        }
        if args.both {
            interrupted.run_until_cancelled(tokio::time::sleep(REST)).await;
        }
        if !args.without_room {
            let stage = stage(true)?;
            played.runs.insert(0, run::play(&stage, seed, &interrupted).await);
            present::all_leave(&stage).await;
        }
        args.share.write(&args.output, started_at, &site.scenario, &played)?;
        args.conclude(&played, &args.output)
    }

    /// One report of all shares.
    pub fn merged(&self, shares: Vec<Played>, output: &Path) -> anyhow::Result<Outcome> {
        crate::report::prepare(output)?;
        let whole = shares.into_iter().reduce(Played::merge).context("no share")?;
        self.conclude(&whole, output)
    }

    fn conclude(&self, played: &Played, output: &Path) -> anyhow::Result<Outcome> {
        let rehearsal = Rehearsal { args: self, played };
        played.keep_record(output)?;
        if let Some(verdict) = rehearsal.verdict().filter(|_| self.follow) {
            follow_line(&verdict);
        }
        say(&report::verdict(&rehearsal));
        report::document(&rehearsal).write(output, "rehearse", &rehearsal.json())?;
        rehearsal.outcome()
    }

    /// Reaches all servers, before the first visitor comes.
    async fn site(&self) -> anyhow::Result<Site> {
        let scenario = Arc::new(Scenario::read(self.scenario.as_deref())?);
        let route = async |target: &Option<Target>| match target {
            Some(target) => {
                let reached = target.reach(self.sources(target), REACHED_WITHIN).await;
                anyhow::Ok(Some(reached?))
            }
            None => Ok(None),
        };
        let target = route(&self.target).await?;
        // Without a room no visitor asks it.
        let public = route(&self.anteroom).await?.or(target.clone());
        let public = public.ok_or_else(|| Usage("--anteroom: must be named".to_owned()))?;
        let mut rules = RulesWatch::default();
        if let Some(queue) = self.queue.as_deref().filter(|_| !self.without_room) {
            if !room::look(&public, queue).await?.open {
                say(&format!("the queue {queue} is closed or paused: visitors can wait long"));
            }
            let service = route(&self.service).await?;
            if service.is_none() {
                say("without --service no rules are known: promises 1 and 2 are not judged");
            }
            rules = RulesWatch::new(service, queue).await?;
        }
        Ok(Site { public, target, scenario, rules })
    }

    fn sources(&self, target: &Target) -> Sources {
        let loopback = matches!(target.url.host(), Some(Host::Ipv4(ip)) if ip.is_loopback());
        let none_is_named = self.source_addresses.is_empty();
        if loopback && none_is_named { Sources::loopback() } else { self.source_addresses.clone() }
    }
}

impl Stage {
    fn new(with_room: bool, args: &Arc<Rehearse>, site: &Arc<Site>) -> anyhow::Result<Arc<Self>> {
        let ports = own_limit::ports() * args.sources(&site.public.target).count() as u64;
        let bound = own_limit::connections()?.min(ports);
        let has_streams = with_room && args.polls == Polls::Events;
        let streams = if has_streams { bound / 2 } else { 0 };
        if has_streams && streams < args.visitors.into() {
            say(&format!(
                "{} visitors, {streams} event streams at once (`ulimit -n` and the local ports \
                 limit them): the other visitors poll",
                args.visitors
            ));
        }
        let bound = bound - streams;
        // The tabs of some visitors take more than one each.
        let can_keep = 2 * u64::from(args.visitors) <= bound;
        if !can_keep {
            say(&format!(
                "{} visitors, {bound} connections at once (`ulimit -n` and the local ports limit \
                 them): each visitor closes its own between two requests",
                args.visitors
            ));
        }
        Ok(Arc::new(Self {
            args: Arc::clone(args),
            with_room,
            site: Arc::clone(site),
            permits: Arc::new(Semaphore::new(usize::try_from(bound)?)),
            stream_permits: Arc::new(Semaphore::new(usize::try_from(streams)?)),
            can_keep,
            record: Record::new(),
            counts: Mutex::default(),
            present: Present::default(),
            asking: RwLock::default(),
        }))
    }

    fn queue(&self) -> &str {
        self.args.queue.as_deref().unwrap_or_default()
    }

    /// How many this machine plays.
    fn visitors(&self) -> u32 {
        self.args.share.part().of(self.args.visitors)
    }

    /// How long a turn lasts, by the first rules.
    fn claim_ttl(&self) -> Duration {
        self.site.rules.first().map_or_else(Rules::default, Rules::from).claim_ttl
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock()
    }

    /// Time since the start.
    fn elapsed(&self) -> Duration {
        Duration::from_micros(self.record.now())
    }

    /// Looks at the room, and at its rules.
    async fn look(&self) -> Option<Look> {
        let look = room::look(&self.site.public, self.queue());
        tokio::join!(look, self.site.rules.look()).0.ok()
    }
}

/// A line of `--follow`.
fn follow_line(line: &Value) {
    // A closed standard output is no reason to fail: the report shows the same.
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// The path of an address.
fn path(text: &str) -> Result<String, String> {
    let is_path = text.starts_with('/') && text.parse::<http::uri::PathAndQuery>().is_ok();
    if is_path { Ok(text.to_owned()) } else { Err("must be a path such as /api/shows".to_owned()) }
}
