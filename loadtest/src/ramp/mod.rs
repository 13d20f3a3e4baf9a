//! `ramp`: a load by the scenario, what it shows, and the plan that follows from it.

mod report;
pub mod saturation;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::bail;
use clap::Args as ClapArgs;
use tokio_util::sync::CancellationToken;

use crate::cpu;
use crate::descriptors;
use crate::exit::Outcome;
use crate::interrupt;
use crate::load::closed::{self, Closed};
use crate::load::open::{self, Arrivals, Open};
use crate::load::{Fault, Figures, Measurement, Target};
use crate::plan::{self, Basis, Pace, Plan};
use crate::progress::say;
use crate::scenario::Scenario;
use saturation::Saturation;

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

Reports land in --output: ramp.md, ramp.html, ramp.json, plan.json and a kustomize patch. It exits
with 0, with 1 when the plan was to be applied and the run shows no capacity or was ended early,
with 64 when called wrongly, and with 70 when the run could not be done.

Where the scenario thinks, visitors of --rate arrive for as long as a visit may think before they
are looked at.";

/// Loads a service by a scenario, and works out how many people to let in
#[derive(ClapArgs, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The service that is measured, without the waiting room before it
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8090",
        value_parser = Target::parse)]
    target: Target,
    /// What a visitor does (TOML); the concert's scenario if left out
    #[arg(long, value_name = "FILE")]
    scenario: Option<PathBuf>,
    /// Where reports land
    #[arg(long, value_name = "DIR", default_value = "target/loadtest")]
    output: PathBuf,
    /// Users at the top, 1 to 100000 (closed model)
    #[arg(long, default_value_t = 1000, conflicts_with = "rate",
        value_parser = clap::value_parser!(u32).range(1..=100_000))]
    users: u32,
    /// From 1 user to all, 1s to 1h in whole seconds (closed model)
    #[arg(long, default_value = "30s", conflicts_with = "rate", value_parser = stretch)]
    ramp: Duration,
    /// How long all users stay, or visitors who arrive are looked at, 1s to 1h in whole seconds
    #[arg(long, default_value = "30s", value_parser = stretch)]
    hold: Duration,
    /// From all users to none, 1s to 1h in whole seconds (closed model)
    #[arg(long, default_value = "30s", conflicts_with = "rate", value_parser = stretch)]
    down: Duration,
    /// Open model: so many visitors a second arrive, whatever the service does; 0.1 to 100000
    #[arg(long, value_name = "VISITORS", value_parser = rate)]
    rate: Option<f64>,
    /// How arrivals follow each other (open model)
    #[arg(long, value_enum, default_value_t, requires = "rate")]
    arrivals: Arrivals,
    /// Visits under way at most; who arrives then is counted, not played (open model)
    /// [default: as many as file descriptors allow, at most 50000]
    #[arg(long, value_name = "VISITS", requires = "rate",
        value_parser = clap::value_parser!(u32).range(1..))]
    max_in_flight: Option<u32>,
    /// How long a request may take, 1ms to 10m
    #[arg(long, default_value = "30s", value_parser = timeout)]
    timeout: Duration,
    /// Figures of the whole run instead of the hold
    #[arg(long)]
    whole_run: bool,
    /// The share of what was measured that the plan keeps back, below 100%
    #[arg(long, value_name = "SHARE", default_value = "0%", value_parser = plan::below_all)]
    headroom: f64,
    #[command(flatten)]
    options: plan::Options,
}

/// What a run was and has shown.
struct Run {
    scenario: Arc<Scenario>,
    measured: Measurement,
    saturation: Saturation,
    /// None where no visit was completed: then nobody knows what a visit takes.
    planned: Option<(Basis, Plan)>,
    /// Processor time that the harness took, in seconds a second: 1 is a whole core.
    harness_cores: f64,
}

impl Run {
    fn plan(&self) -> Option<&Plan> {
        self.planned.as_ref().map(|(_, plan)| plan)
    }
}

impl Args {
    /// Runs it.
    ///
    /// # Errors
    ///
    /// [`crate::exit::Usage`] for a wrong file or argument; when the run could not be done.
    pub async fn run(self) -> anyhow::Result<Outcome> {
        let scenario = Arc::new(Scenario::read(self.scenario.as_deref())?);
        self.target.reach(self.timeout).await?;
        self.options.prepare(&self.output).await?;
        let cancelled = interrupt::watch()?;
        let before = cpu::seconds();
        let (measured, saturation) = self.play(&scenario, &cancelled).await?;
        let harness_cores =
            (cpu::seconds() - before) / measured.whole.length.as_secs_f64().max(1.0);
        self.warn(&measured);
        let basis = self.basis(&scenario, &measured);
        let planned = basis.map(|basis| (basis.clone(), basis.plan()));
        let run = Run { scenario, measured, saturation, planned, harness_cores };
        self.report(&run)?;
        match &run.planned {
            Some((_, plan)) => self.set_live(&run, plan).await,
            None if run.measured.interrupted => Ok(Outcome::Held),
            None => bail!("no visit was completed, so there is no plan; the report tells why"),
        }
    }

    async fn play(
        &self,
        scenario: &Arc<Scenario>,
        cancelled: &CancellationToken,
    ) -> anyhow::Result<(Measurement, Saturation)> {
        let target = Arc::new(self.target.clone());
        let Some(rate) = self.rate else {
            descriptors::check(u64::from(self.users))?;
            let closed = Closed {
                users: self.users as usize,
                ramp: self.ramp,
                hold: self.hold,
                down: self.down,
                timeout: self.timeout,
            };
            let measured = closed::run(scenario, &target, &closed, cancelled).await?;
            let saturation = saturation::closed(&measured, scenario, closed.users, self.ramp);
            return Ok((measured, saturation));
        };
        let allowed = descriptors::connections()?;
        if let Some(most) = self.max_in_flight {
            descriptors::check(u64::from(most))?;
        }
        let bound = self.max_in_flight.map_or(allowed.min(50_000), u64::from);
        // Then as many are on each of their steps as will be.
        let warm_up = scenario.longest_think();
        if !warm_up.is_zero() {
            say(&format!(
                "visitors arrive for {} before they are looked at: as long as a visit may think",
                humantime::format_duration(warm_up)
            ));
        }
        let open = Open {
            rate,
            arrivals: self.arrivals,
            length: warm_up + self.hold,
            warm_up,
            max_in_flight: usize::try_from(bound)?,
            timeout: self.timeout,
        };
        let measured = open::run(scenario, &target, &open, cancelled).await?;
        let saturation = saturation::open(&measured);
        Ok((measured, saturation))
    }

    /// What the reader of the figures must know first.
    fn warn(&self, measured: &Measurement) {
        let faults = &measured.whole.total.faults;
        if let Some(count) = faults.get(&Fault::Descriptors) {
            say(&format!(
                "{count} requests found no file descriptor here: raise the limit (ulimit -n)"
            ));
        }
        if measured.visits_not_begun > 0 {
            say(&format!(
                "{} visitors arrived while as many as allowed were under way, and were not played \
                 (--max-in-flight)",
                measured.visits_not_begun
            ));
        }
    }

    /// The stretch whose figures are told: the hold, unless the run ended before it.
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
        let refused = if run.measured.interrupted {
            Some("the run was ended early")
        } else if !run.saturation.reached {
            Some("the run shows load, not capacity; use size")
        } else {
            None
        };
        if let Some(why) = refused.filter(|_| self.options.apply.is_some()) {
            self.options.refuse(why);
            return Ok(Outcome::Missed);
        }
        self.options.set_live(plan).await?;
        Ok(Outcome::Held)
    }
}

fn stretch(text: &str) -> Result<Duration, String> {
    let time = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    let whole = time.subsec_nanos() == 0 && (1..=3600).contains(&time.as_secs());
    if whole { Ok(time) } else { Err("must be 1s to 1h, in whole seconds".to_owned()) }
}

fn timeout(text: &str) -> Result<Duration, String> {
    let time = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    let allowed = Duration::from_millis(1)..=Duration::from_secs(600);
    if allowed.contains(&time) { Ok(time) } else { Err("must be 1ms to 10m".to_owned()) }
}

fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse().ok().filter(|rate| (0.1..=100_000.0).contains(rate));
    rate.ok_or_else(|| "must be 0.1 to 100000 visitors a second".to_owned())
}
