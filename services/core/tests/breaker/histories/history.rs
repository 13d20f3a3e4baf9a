//! A history as it is played: each step runs on the target and on the model, and the answers are
//! compared.

use anteroom_core::breaker::{Breaker, Permission, Recorded, State, Window};
use anteroom_testkit::history::{History, Outcome, differ};
use anteroom_testkit::model::breaker as model;
use futures_util::future::join_all;

use super::step::{Base, Report, Step, permit};
use crate::support::{TimedStore, micros};

/// So much shares a call: what has a name counts twice.
const MOST_WEIGHT: usize = 64;

/// A target and its model.
pub struct BreakerHistory<'a> {
    world: &'a TimedStore,
    target: Breaker,
    model: model::Breaker,
    base: Base,
    /// The rules of the other admission.
    other: Base,
    /// The newest version that was seen: it only grows, until the store loses the target.
    version: u64,
}

impl<'a> BreakerHistory<'a> {
    /// Before its first step, on an empty store.
    pub async fn begin(world: &'a TimedStore, [base, other]: &[Base; 2]) -> Self {
        let (target, model) = (world.target("history"), model::Breaker::default());
        Self { world, target, model, base: *base, other: *other, version: 0 }
    }

    async fn record(&mut self, reports: &[(Report, Option<u64>)]) -> Outcome {
        let (wall, rules) = (self.world.now(), self.base.rules());
        let outcomes: Vec<_> = reports.iter().map(|(report, id)| report.outcome(*id)).collect();
        let returned = join_all(outcomes.iter().map(|it| self.target.record(&rules, it))).await;
        let returned = returned.into_iter().map(|it| it.map(recorded));
        let returned: Vec<_> = returned.collect::<Result<_, _>>()?;
        // All have names, or none has.
        let weight = if reports.iter().any(|(_, id)| id.is_some()) { 2 } else { 1 };
        let calls = reports.chunks(MOST_WEIGHT / weight);
        let model = calls.flat_map(|call| {
            let reports: Vec<_> = call.iter().map(|(it, id)| (it.model(), *id)).collect();
            self.model.record(wall, &self.base.model(), &reports)
        });
        differ("record", &returned, &model.collect())
    }

    async fn permits(&mut self, permits: impl Iterator<Item = u8> + Clone) -> Outcome {
        let (wall, rules) = (self.world.now(), self.base.rules());
        let calls = permits.clone().map(|number| self.target.permit(&rules, permit(number)));
        for (number, returned) in permits.clone().zip(join_all(calls).await) {
            let returned = match returned? {
                Permission::Free => model::Permission::Free,
                Permission::Permit(named) => {
                    differ("the name of the permit", &named, &permit(number))?;
                    model::Permission::Permit
                }
                Permission::Refused { state, retry_in } => {
                    model::Permission::Refused(in_model(state), micros(retry_in))
                }
            };
            let model = self.model.permit(wall, &self.base.model(), u64::from(number));
            differ("permit", &returned, &model)?;
        }
        Ok(())
    }

    async fn look(&mut self) -> Outcome {
        let snapshot = self.target.snapshot(&self.base.rules()).await?;
        let totals = snapshot.totals;
        let returned = model::Look {
            window: window(snapshot.window()),
            version: snapshot.version,
            latencies: snapshot.latencies,
            reporters: snapshot.reporters as usize,
            permits: snapshot.permits as usize,
            last_outcome_ago: snapshot.last_outcome_ago.map(micros),
            totals: (totals.successes, totals.failures, totals.latencies),
        };
        differ("look", &returned, &self.model.look(self.world.now(), &self.base.model()))?;
        if returned.version < self.version {
            return Err(format!("version {} after {}", returned.version, self.version).into());
        }
        self.version = returned.version;
        Ok(())
    }

    fn pass(&self, micros: u64, short: bool) {
        self.world.set_now(self.world.now() + micros - u64::from(short));
    }
}

impl History for BreakerHistory<'_> {
    type Step = Step;

    fn is_repeat(step: &Step) -> bool {
        matches!(step, Step::Again)
    }

    async fn apply(&mut self, step: &Step) -> Outcome {
        let rules = self.base.model();
        match *step {
            Step::Record(report, id) => self.record(&[(report, id)]).await?,
            Step::Together(ref reports, first) => {
                // Those that have a call of their own would come in any order.
                let alone =
                    |report: &&Report| self.base.log && report.successes + report.failures > 1;
                let reports: Vec<_> = reports.iter().filter(|it| !alone(it)).copied().collect();
                let ids = (0u64..).map(|at| first.map(|first| (first + at) % 6));
                let reports: Vec<_> = reports.into_iter().zip(ids).collect();
                self.record(&reports).await?;
            }
            Step::Fleet { first, count, is_success } => {
                let one = |replica| Report {
                    successes: u32::from(is_success),
                    failures: u32::from(!is_success),
                    latency_ms: None,
                    reporter: Some(replica),
                    permit: None,
                };
                let fleet: Vec<_> =
                    (first..first + count).map(|replica| (one(replica), None)).collect();
                self.record(&fleet).await?;
            }
            Step::Permit { permit } => self.permits(std::iter::once(permit)).await?,
            Step::Permits { first, count } => self.permits(first..first + count).await?,
            Step::Look => self.look().await?,
            Step::Pass { ms } => self.pass(1_000 * ms, false),
            Step::PassWindow { short } => self.pass(rules.window, short),
            Step::PassBucket { short } => self.pass(rules.window / 20, short),
            Step::PassOpen { short } => self.pass(rules.open_for, short),
            Step::Leap { seconds } => {
                let now = self.world.now();
                self.world.set_now(now.saturating_add_signed(seconds * 1_000_000));
            }
            Step::Alternate => std::mem::swap(&mut self.base, &mut self.other),
            Step::Change(base) => self.base = base,
            Step::Empty => {
                self.world.empty().await;
                (self.model, self.version) = (model::Breaker::default(), 0);
            }
            Step::ForgetScripts => self.world.redis.script_flush().await,
            // It is played as the step before.
            Step::Again => {}
        }
        Ok(())
    }

    async fn end(&mut self) -> Outcome {
        self.look().await
    }
}

fn in_model(state: State) -> model::State {
    match state {
        State::Closed => model::State::Closed,
        State::Open => model::State::Open,
        State::HalfOpen => model::State::HalfOpen,
    }
}

fn window(window: Window) -> model::Window {
    (window.successes, window.failures, in_model(window.state))
}

fn recorded(recorded: Recorded) -> model::Recorded {
    match recorded {
        Recorded::Counted(it) => model::Recorded::Counted(window(it)),
        Recorded::Repeated(it) => model::Recorded::Repeated(window(it)),
        Recorded::Mismatch => model::Recorded::Mismatch,
        Recorded::TooMany => model::Recorded::TooMany,
    }
}
