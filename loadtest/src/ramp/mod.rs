//! `ramp`: a load by the scenario, what it shows, and the plan that follows from it.

mod report;
mod saturation;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use clap::Args as ClapArgs;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::client::{Route, Sources, Target};
use crate::exit::{Outcome, Usage};
use crate::interrupt;
use crate::load::closed::{self, Closed};
use crate::load::open::{self, Arrivals, Open};
use crate::load::{Figures, Measurement, Merge as _};
use crate::own_limit::{self, Cost, MOST_IN_FLIGHT, OwnLimit, Watch};
use crate::plan::{self, Basis, Pace, Plan, flags};
use crate::progress::say;
use crate::scenario::Scenario;
use crate::share;
use saturation::Saturation;

/// A part of a run.
const STRETCH: flags::Bounds = ("1s", "1h");

const EXAMPLES: &str = "\
Examples:
  anteroom-loadtest ramp --target http://127.0.0.1:8090
      the concert's scenario: 1 to 1000 users in 30s, 30s at 1000, 30s down
  anteroom-loadtest ramp --target https://shop.example --scenario shop.toml --users 300 --hold 2m
  anteroom-loadtest ramp --target http://127.0.0.1:8090 --rate 200 --arrivals poisson --hold 60s
      200 visitors a second, whatever the service does; latency counts from when each was due
  anteroom-loadtest ramp --target http://127.0.0.1:8090 --queue concert \\
      --apply http://127.0.0.1:8081
      sets the plan live, with the operator's key in ANTEROOM_KEY

Reports are written to --output: ramp.md, ramp.html, ramp.json, plan.json and a kustomize patch.

If the scenario has think time, visitors of --rate arrive for the longest think time of a visit
before the measurement begins.

Exit codes: 0 done; 1 --apply was refused, because the run shows no capacity or ended early; 64 a
wrong argument; 70 the run was not possible; 75 this program or its machine was the limit, so there
is no plan.";

/// Loads a service with a scenario, and derives the rules of its queue
#[derive(ClapArgs, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The service to measure, without the waiting room in front
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8090",
        value_parser = Target::parse)]
    target: Target,
    /// Scenario: what a visitor does (TOML) [default: the concert's]
    #[arg(long, value_name = "FILE")]
    scenario: Option<PathBuf>,
    /// The folder of the reports
    #[arg(long, value_name = "DIR", default_value = "target/loadtest")]
    output: PathBuf,
    /// Users at the top, 1 to 100000 (closed model)
    #[arg(long, default_value_t = 1000, conflicts_with = "rate",
        value_parser = clap::value_parser!(u32).range(1..=100_000))]
    users: u32,
    /// From 1 user to all, 1s to 1h in whole seconds (closed model)
    #[arg(long, default_value = "30s", conflicts_with = "rate",
        value_parser = flags::seconds(STRETCH))]
    ramp: Duration,
    /// The measured time: all users stay (closed model), or visitors arrive (open model); 1s to 1h
    /// in whole seconds
    #[arg(long, default_value = "30s", value_parser = flags::seconds(STRETCH))]
    hold: Duration,
    /// From all users to none, 1s to 1h in whole seconds (closed model)
    #[arg(long, default_value = "30s", conflicts_with = "rate",
        value_parser = flags::seconds(STRETCH))]
    down: Duration,
    /// Visitors who arrive per second, whatever the service does, 0.1 to 100000 (open model)
    #[arg(long, value_name = "VISITORS", value_parser = rate)]
    rate: Option<f64>,
    /// How arrivals follow each other (open model)
    #[arg(long, value_enum, default_value_t, requires = "rate")]
    arrivals: Arrivals,
    /// Maximum number of visits at the same time; further visitors are counted, not played (open
    /// model) [default: as many as file descriptors allow, at most 50000]
    #[arg(long, value_name = "VISITS", requires = "rate",
        value_parser = clap::value_parser!(u32).range(1..))]
    max_in_flight: Option<u32>,
    /// Time-out of a request, 1ms to 10m
    #[arg(long, default_value = "30s", value_parser = flags::time(("1ms", "10m")))]
    timeout: Duration,
    /// Report the whole run instead of the hold
    #[arg(long)]
    whole_run: bool,
    /// Safety margin: the share of the measured capacity that the plan does not use, below 100%
    #[arg(long, value_name = "SHARE", default_value = "0%", value_parser = plan::below_all)]
    headroom: f64,
    /// Local addresses that connections come from, in turn: networks or addresses, separated by
    /// commas, such as 127.0.1.0/24
    #[arg(long, value_name = "NETWORK|LIST", default_value = "", hide_default_value = true,
        value_parser = Sources::parse)]
    source_addresses: Sources,
    #[command(flatten)]
    share: share::Part,
    #[command(flatten)]
    options: plan::Options,
}

/// What the part of one machine has shown.
#[derive(Serialize, Deserialize)]
pub struct Played {
    measured: Measurement,
    /// Of the hold, and of all up to its end.
    costs: [Cost; 2],
}

/// What a run was and has shown.
struct Run {
    scenario: Arc<Scenario>,
    measured: Measurement,
    saturation: Saturation,
    /// None where no visit was completed: then the duration of a visit is not known. None where
    /// this program was the limit.
    planned: Option<(Plan, Basis)>,
    /// What the hold cost this program.
    cost: Cost,
    limit: Option<OwnLimit>,
}

impl Args {
    /// Runs it.
    ///
    /// # Errors
    ///
    /// [`crate::exit::Usage`] for a wrong file or argument; when the run could not be done.
    pub async fn run(self) -> anyhow::Result<Outcome> {
        let applied = self.share.is_shared() && self.options.apply.is_some();
        let rule = "--apply: a share is only a part; apply the plan of `merge`";
        ensure!(!applied, Usage(rule.to_owned()));
        let some = self.rate.is_some() || self.users() > 0;
        ensure!(some, Usage("--users: fewer users than shares".to_owned()));
        let scenario = Arc::new(Scenario::read(self.scenario.as_deref())?);
        let route = self.target.reach(self.source_addresses.clone(), self.timeout).await?;
        self.options.prepare(&self.output).await?;
        own_limit::check(self.most_connections(), &self.source_addresses)?;
        let cancelled = interrupt::watch()?;
        self.share.wait(&cancelled).await;
        let (watch, started_at) = (Watch::start(), Timestamp::now());
        let measured = self.play(&scenario, &route, &cancelled).await?;
        let hold = self.hold_of(&scenario);
        let costs = [watch.cost(hold.clone()), watch.cost(Duration::ZERO..hold.end)];
        let played = Played { measured, costs };
        self.share.write(&self.output, started_at, &scenario, &played)?;
        self.conclude(scenario, played).await
    }

    /// One report of all shares, and the plan that follows.
    pub async fn merged(
        mut self,
        scenario: Arc<Scenario>,
        shares: Vec<Played>,
        output: PathBuf,
        apply: Option<Target>,
    ) -> anyhow::Result<Outcome> {
        self.options.apply = apply;
        self.output = output;
        self.options.prepare(&self.output).await?;
        let whole = shares.into_iter().reduce(|mut whole, share| {
            whole.measured.merge_with(&share.measured);
            let [of_hold, of_all] = share.costs;
            whole.costs = [whole.costs[0].or_worse(of_hold), whole.costs[1].or_worse(of_all)];
            whole
        });
        self.conclude(scenario, whole.context("no share")?).await
    }

    /// Reports what was measured, and what follows from it.
    async fn conclude(
        self,
        scenario: Arc<Scenario>,
        Played { measured, costs: [of_hold, of_all] }: Played,
    ) -> anyhow::Result<Outcome> {
        let saturation = match self.rate {
            Some(_) => saturation::open(&measured),
            None => saturation::closed(&measured, &scenario, self.users as usize, self.ramp),
        };
        let limit = self
            .limit_of(&measured, &saturation)
            .or_else(|| of_hold.limit())
            .or_else(|| of_all.limit())
            .or_else(|| of_hold.starved().filter(|_| self.rate.is_none() && saturation.reached));
        let may_plan = limit.is_none() && !self.share.is_shared();
        let basis = self.basis(&scenario, &measured).filter(|_| may_plan);
        let planned = basis.map(|basis| (basis.plan(), basis));
        let run = Run { scenario, measured, saturation, planned, cost: of_hold, limit };
        self.report(&run)?;
        if let Some(limit) = run.limit {
            return Err(limit.into());
        }
        if let Some((plan, _)) = &run.planned {
            return self.set_live(&run, plan).await;
        }
        let explained = run.measured.interrupted || self.share.is_shared();
        ensure!(explained, "no visit was completed, so there is no plan; the report shows why");
        Ok(Outcome::Held)
    }

    /// A limit of this program that shows in the requests and visits of a run.
    fn limit_of(&self, measured: &Measurement, saturation: &Saturation) -> Option<OwnLimit> {
        let total = &measured.whole.total;
        let of_faults = OwnLimit::of_faults(&total.faults, total.requests);
        // A service that does not keep up makes visits pile up. More load changes nothing then.
        if of_faults.is_some() || self.max_in_flight.is_some() || saturation.piles_up {
            return of_faults;
        }
        let unplayed = measured.visits_not_begun;
        OwnLimit::of_unplayed(unplayed, measured.visits_begun + unplayed)
    }

    /// The users of this share.
    fn users(&self) -> u32 {
        self.share.part().of(self.users)
    }

    /// As far as it is known before the run.
    fn most_connections(&self) -> u64 {
        let open = self.max_in_flight.unwrap_or(1);
        if self.rate.is_some() { open.into() } else { self.users().into() }
    }

    /// The stretch that is measured, from the start on.
    fn hold_of(&self, scenario: &Scenario) -> std::ops::Range<Duration> {
        let start = if self.rate.is_some() { scenario.longest_think() } else { self.ramp };
        start..start + self.hold
    }

    async fn play(
        &self,
        scenario: &Arc<Scenario>,
        route: &Arc<Route>,
        cancelled: &CancellationToken,
    ) -> anyhow::Result<Measurement> {
        let Some(rate) = self.rate else {
            let closed = Closed {
                users: self.users() as usize,
                ramp: self.ramp,
                hold: self.hold,
                down: self.down,
                share: self.share.part(),
                timeout: self.timeout,
            };
            return closed::run(scenario, route, &closed, cancelled).await;
        };
        let bound = match self.max_in_flight {
            Some(most) => most.into(),
            None => own_limit::connections()?.min(MOST_IN_FLIGHT),
        };
        let window = self.hold_of(scenario);
        if !window.start.is_zero() {
            say(&format!(
                "visitors arrive for {} before the measurement begins: the longest think time of a \
                 visit",
                crate::durations::format_duration(window.start)
            ));
        }
        let open = Open {
            rate,
            arrivals: self.arrivals,
            length: window.end,
            warm_up: window.start,
            max_in_flight: usize::try_from(bound)?,
            share: self.share.part(),
            timeout: self.timeout,
        };
        open::run(scenario, route, &open, cancelled).await
    }

    /// The stretch whose figures are reported: the hold, unless the run ended before it.
    fn figures<'m>(&self, measured: &'m Measurement) -> &'m Figures {
        let whole = self.whole_run || measured.window.length < Duration::from_secs(1);
        if whole { &measured.whole } else { &measured.window }
    }

    fn basis(&self, scenario: &Scenario, measured: &Measurement) -> Option<Basis> {
        let figures = self.figures(measured);
        if figures.visits.count() == 0 {
            return None;
        }
        // How long people stay is in the file or nowhere: a scenario that never thinks is a script.
        let thinks = !scenario.think_per_visitor().is_zero();
        Some(Basis {
            tps: figures.tps(),
            calls_per_visitor: scenario.calls_per_visitor(),
            retry_factor: figures.total.retry_factor(),
            interval: self.options.interval,
            show_up: self.options.show_up,
            claim_ttl: self.options.claim_ttl,
            headroom: self.headroom,
            stay: thinks.then(|| self.stay(measured)).flatten(),
            pace: Pace::Even,
            stopped_by: None,
        })
    }

    /// How long visits take at full load, where enough of them were followed to their end.
    fn stay(&self, measured: &Measurement) -> Option<Duration> {
        let closed = self.rate.is_none() && !self.whole_run;
        measured.cohorts.stay(if closed { self.ramp } else { Duration::ZERO })
    }

    async fn set_live(&self, run: &Run, plan: &Plan) -> anyhow::Result<Outcome> {
        let interrupted = run.measured.interrupted;
        if self.options.apply.is_some() && (interrupted || !run.saturation.reached) {
            let load = "the run shows load, not capacity; use size";
            self.options.refuse(if interrupted { "the run was ended early" } else { load });
            return Ok(Outcome::Missed);
        }
        self.options.set_live(plan).await?;
        Ok(Outcome::Held)
    }
}

fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse().ok().filter(|rate| (0.1..=100_000.0).contains(rate));
    rate.ok_or_else(|| "must be 0.1 to 100000 visitors a second".to_owned())
}
