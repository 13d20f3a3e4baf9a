//! `rehearse`: a crowd goes through the waiting room, and the witness judges from outside whether
//! it keeps its promises.

mod address;
mod answer;
mod cheat;
mod connection;
mod cost;
mod delivery;
mod follow;
mod histogram;
mod judge;
mod mix;
mod peer;
mod report;
mod result;
mod room;
mod run;
mod tab;
mod tally;
mod traffic;
mod visit;
mod visitor;

use std::{path::PathBuf, sync::Arc, time::Duration};

use anteroom_witness::{Record, Rules};
use clap::Args;
use url::Url;

use crate::{
    descriptors,
    exit::{Outcome, Usage},
    interrupt,
    progress::say,
    scenario::Scenario,
    size::objective::Objective,
};

use connection::Connections;
use delivery::Reuse;
use mix::Mix;
use peer::Peer;
use result::Rehearsal;
use room::RulesWatch;
use tally::Tally;
use visit::Visit;

const EXAMPLES: &str = "\
Examples:
  # 50 000 visitors within 30 s, on the waiting room of `make run`
  anteroom-loadtest rehearse --queue concert \\
    --anteroom http://127.0.0.1:8080 --service http://127.0.0.1:8081

  # The same crowd at a shop with its gate off (`anteroom-concert --listen 127.0.0.1:8091`), first
  # without and then with the waiting room
  anteroom-loadtest rehearse --both --queue concert \\
    --anteroom http://127.0.0.1:8080 --service http://127.0.0.1:8081 \\
    --target http://127.0.0.1:8091 --slo 'p95<200ms' --slo 'errors<1%'

  # Two hundred at a time, who never cease to come, through a gateway that protects /api/
  anteroom-loadtest rehearse --queue concert --anteroom http://gate --gate /api/shows \
    --visitors 200 --mix faithful=1 --connections both --again --limit 10m --follow

  # Nobody is late, every tenth cheats
  anteroom-loadtest rehearse --queue concert --anteroom http://127.0.0.1:8080 \\
    --visitors 2000 --mix faithful=90,cheats=10

Visitors come from many addresses, told by X-Forwarded-For: admission must trust the machine this
runs on (trusted_proxies = [\"127.0.0.0/8\"] here: connections come from 127.0.1.1 to 127.0.1.250),
else they share the joins of a few addresses.
With --service the rules in force are read there (key of an operator in ANTEROOM_KEY); without it
promises 1 and 2 are not judged, nor where they are kept while the rules change. A service may end
visits, as the shop of `make run` does: whoever has asked the --target counts as inside until the
room last says so. In bypass everybody passes, and promise 6 is not judged.

Objectives are those of `size`, held against all requests of a run to the service, each from its
sending; what is an error the scenario says.

Exit codes: 0 all promises and, with the waiting room, all objectives held; 1 one did not, or visits
were refused for good or not over in time; 64 wrong arguments, 70 it could not be done.";

/// Plays a rush through the waiting room and judges its promises from outside
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Rehearse {
    /// Public port of admission
    #[arg(long, value_name = "URL", required_unless_present = "without_room")]
    anteroom: Option<Url>,
    /// Service port of admission: the rules in force are read there
    #[arg(long, value_name = "URL")]
    service: Option<Url>,
    /// Key of an operator for the service port
    #[arg(long, env = "ANTEROOM_KEY", hide_env_values = true, hide = true)]
    key: Option<String>,
    /// The queue
    #[arg(long, value_name = "NAME", required_unless_present = "without_room")]
    queue: Option<String>,
    /// How many come
    #[arg(long, value_name = "N", default_value_t = 50_000,
        value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    visitors: u32,
    /// All have come after this time
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = humantime::parse_duration)]
    arrive: Duration,
    /// Habits by weight: faithful, sleeps, tabs, no-show, late, drops-out, gives-up, cheats
    #[arg(long, value_name = "HABIT=WEIGHT,…", default_value_t = Mix::default())]
    mix: Mix,
    /// The protected service, which visitors use while they are inside
    #[arg(long, value_name = "URL", required_if_eq_any([("without_room", "true"), ("both", "true")]))]
    target: Option<Url>,
    /// What a visitor does there (TOML); the concert's scenario if left out
    #[arg(long, value_name = "FILE", requires = "target")]
    scenario: Option<PathBuf>,
    /// What must hold at the service with the waiting room; may be given more than once
    #[arg(long, value_name = "OBJECTIVE", requires = "target")]
    slo: Vec<Objective>,
    /// A path that a gateway protects: asked instead of …/authorize, which it keeps for itself
    #[arg(long, value_name = "PATH", value_parser = path)]
    gate: Option<String>,
    /// How long a visitor stays inside, in the mean, besides what the scenario thinks
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = humantime::parse_duration)]
    stay: Duration,
    /// How long a phone sleeps, in the mean
    #[arg(long, value_name = "TIME", default_value = "45s", value_parser = humantime::parse_duration)]
    sleep: Duration,
    /// How long a visitor waits for an answer
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = humantime::parse_duration)]
    patience: Duration,
    /// The run ends after this time, whoever is still in line
    #[arg(long, value_name = "TIME", default_value = "30m", value_parser = humantime::parse_duration)]
    limit: Duration,
    /// Which connections visitors ask on
    #[arg(long, value_enum, default_value_t)]
    connections: Reuse,
    /// Whoever is done comes again as somebody else, until --limit or Ctrl-C: a line that stays
    #[arg(long)]
    again: bool,
    /// Tells each second what happened, as JSON on standard output, and the verdict at the end
    #[arg(long)]
    follow: bool,
    /// The crowd goes straight to the service
    #[arg(long, conflicts_with = "both")]
    without_room: bool,
    /// First without the waiting room, then with it
    #[arg(long)]
    both: bool,
    /// Decides all that is the visitors' own but for their keys and the scenario [default: another
    /// each time]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Where the report goes
    #[arg(long, value_name = "DIR", default_value = "target/loadtest")]
    output: PathBuf,
}

/// What all visitors of a run share.
pub struct Stage {
    public: Peer,
    queue: String,
    visitors: u32,
    record: Record,
    tally: Tally,
    connections: Arc<Connections>,
    claim_ttl: Duration,
    /// Absent where they cannot be read.
    rules: Option<Arc<RulesWatch>>,
    sleep: Duration,
    patience: Duration,
    visit: Visit,
    gate: Option<String>,
    reuse: Reuse,
    follow: bool,
}

/// Who is asked.
struct Peers {
    public: Peer,
    service: Option<Peer>,
    target: Option<Peer>,
}

/// Between the two runs of `--both` the service comes to rest.
const REST: Duration = Duration::from_secs(5);

impl Rehearse {
    /// Runs it.
    ///
    /// # Errors
    ///
    /// [`Usage`] for a wrong argument; anything else when nobody answers, or the report cannot be
    /// written.
    pub async fn run(self) -> anyhow::Result<Outcome> {
        let peers = self.peers()?;
        let scenario = Arc::new(Scenario::read(self.scenario.as_deref())?);
        std::fs::create_dir_all(&self.output)
            .map_err(|error| Usage(format!("--output {}: {error}", self.output.display())))?;
        let descriptors = usize::try_from(descriptors::connections()?)?;
        let rules = self.looks_first(&peers).await?.map(Arc::new);
        let interrupted = interrupt::watch()?;
        let seed = self.seed.unwrap_or_else(rand::random);
        let mut result = Rehearsal::new(&self, seed, rules.as_ref().map(|rules| rules.first()));
        if self.both || self.without_room {
            let stage = self.stage(&peers, &scenario, descriptors, rules.as_ref());
            let ran = run::without_room(&self, stage, seed, &interrupted).await;
            result.add(ran, &self.slo, &self.output)?;
            if self.both && !interrupted.is_cancelled() {
                let rest = tokio::time::sleep(REST);
                interrupted.run_until_cancelled(rest).await;
            }
        }
        if !self.without_room && !interrupted.is_cancelled() {
            let stage = self.stage(&peers, &scenario, descriptors, rules.as_ref());
            let following = self.follow.then(|| follow::seconds(&stage));
            let ran = run::with_room(&self, stage, seed, &interrupted).await;
            if let Some(following) = following {
                following.abort();
            }
            result.add(ran, &self.slo, &self.output)?;
        }
        report::document(&result).write(&self.output, "rehearse", &result)?;
        if let Some(run) = result.with_room.as_ref().filter(|_| self.follow) {
            follow::verdict(run);
        }
        if let Some(run) = result.with_room.as_ref().filter(|run| run.refused > 0) {
            say(&format!("{} visits were refused for good", run.refused));
        }
        say(&format!("the report: {}", self.output.join("rehearse.html").display()));
        Ok(if result.held() { Outcome::Held } else { Outcome::Missed })
    }

    fn peers(&self) -> Result<Peers, Usage> {
        let peer = |argument, url: &Option<Url>| {
            url.as_ref().map(|url| Peer::new(argument, url)).transpose()
        };
        let target = peer("--target", &self.target)?;
        // Without a room nobody asks it.
        let public = peer("--anteroom", &self.anteroom)?.or(target.clone());
        let public = public.ok_or_else(|| Usage("--anteroom: must be named".to_owned()))?;
        Ok(Peers { public, service: peer("--service", &self.service)?, target })
    }

    /// Before anybody comes: whether there is a room, and what is known of it.
    async fn looks_first(&self, peers: &Peers) -> anyhow::Result<Option<RulesWatch>> {
        if let Some(target) = &peers.target {
            target.reach().await?;
        }
        let Some(queue) = self.queue.as_deref().filter(|_| !self.without_room) else {
            return Ok(None);
        };
        if !room::look(&peers.public, queue).await?.open {
            say(&format!("the queue {queue} is not open, or is paused: visitors may wait long"));
        }
        let Some(service) = &peers.service else {
            say("without --service the rules are not known: promises 1 and 2 are not judged");
            return Ok(None);
        };
        Ok(Some(RulesWatch::new(service, queue, self.key.as_deref()).await?))
    }

    fn stage(
        &self,
        peers: &Peers,
        scenario: &Arc<Scenario>,
        descriptors: usize,
        rules: Option<&Arc<RulesWatch>>,
    ) -> Arc<Stage> {
        let connections = Arc::new(Connections::new(self.visitors, descriptors));
        if !connections.kept {
            say(&format!(
                "{} visitors, {} connections at once (`ulimit -n` and the ports of one address \
                 bound them): each visitor closes its own between two requests",
                self.visitors,
                connections.bound()
            ));
        }
        let (target, patience) = (peers.target.clone(), self.patience);
        Arc::new(Stage {
            public: peers.public.clone(),
            queue: self.queue.clone().unwrap_or_default(),
            visitors: self.visitors,
            record: Record::new(),
            tally: Tally::new(),
            connections,
            claim_ttl: rules.map_or(Rules::default().claim_ttl, |rules| rules.first().claim_ttl),
            rules: rules.cloned(),
            sleep: self.sleep,
            patience,
            visit: Visit { target, scenario: Arc::clone(scenario), stay: self.stay, patience },
            gate: self.gate.clone(),
            reuse: self.connections,
            follow: self.follow,
        })
    }
}

/// The path of an address.
fn path(text: &str) -> Result<String, String> {
    let is_path = text.starts_with('/') && text.parse::<http::uri::PathAndQuery>().is_ok();
    if is_path { Ok(text.to_owned()) } else { Err("must be a path such as /api/shows".to_owned()) }
}
