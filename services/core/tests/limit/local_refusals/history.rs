//! A history as it is played. What the store answered is compared with the model. What a process
//! refused without the store is compared with what the model would have answered.

use std::time::Duration;

use anteroom_core::changes::By;
use anteroom_core::limit::{Check, Checked, Limits, Outcome, Rule};
use anteroom_testkit::history::{History, Outcome as Held, differ};
use anteroom_testkit::model::limit as model;

use super::processes::Processes;
use super::step::{LIMITS, Ruled, Step};
use crate::histories::{modelled, shown};
use crate::requests::ask;

const NAMES: [&str; LIMITS] = ["login", "search", "upload"];
const KEYS: [&str; 2] = ["ann", "bob"];
/// How long a process may refuse without the store, and after how long it asks.
const MOST: u64 = 1_000_000;
const ASKS: u64 = 600_000;

/// The last answer of the store to a process about a counter: a refusal that it may repeat.
#[derive(Clone, Copy)]
struct Known {
    rule: Rule,
    at: u64,
    retry_after: u64,
    /// Nothing but time has changed the counter since.
    is_exact: bool,
}

impl Known {
    /// Whether the process has to repeat it after this time (µs).
    fn is_repeated(&self, age: u64) -> bool {
        age < ASKS && age + 2_000 < self.retry_after
    }
}

/// One process.
struct Process {
    limits: Limits,
    /// Of each limit which of its two rules is in force.
    rules: [usize; LIMITS],
    known: [[Option<Known>; KEYS.len()]; LIMITS],
}

/// Two processes and the model.
pub struct LocalHistory<'a> {
    world: &'a Processes,
    rules: [[Ruled; 2]; LIMITS],
    model: model::Limits,
    processes: [Process; 2],
}

impl<'a> LocalHistory<'a> {
    /// Before its first step, on an empty store.
    pub async fn begin(world: &'a Processes, rules: &[[Ruled; 2]; LIMITS]) -> Self {
        let start = |process| Process {
            limits: world.limits(process),
            rules: [0; LIMITS],
            known: Default::default(),
        };
        let processes = [start(0), start(1)];
        Self { world, rules: *rules, model: model::Limits::default(), processes }
    }

    fn rule(&self, process: usize, limit: usize) -> Rule {
        let rule = self.rules[limit][self.processes[process].rules[limit]];
        let (algorithm, limit, seconds, shadow) = rule;
        Rule { algorithm, limit, window: Duration::from_secs(seconds), shadow }
    }

    async fn check(&mut self, process: usize, limit: usize, key: usize, cost: u64) -> Held {
        let rule = self.rule(process, limit);
        let cost = cost.min(rule.max_cost());
        let check = Check { limit: NAMES[limit], rule, key: KEYS[key], group: None, cost };
        let what = format!("process {process}, {check:?}");
        let checks = [modelled(&check)];
        let (now, wall) = (self.world.now(), self.world.world.now());
        let known = self.processes[process].known[limit][key].filter(|it| it.rule == rule);
        let before = self.world.sent(process);
        let checked = ask(&self.processes[process].limits, &check).await;
        let is_local = self.world.sent(process) == before;
        let must_be = cost <= 1 && known.is_some_and(|it| it.is_repeated(now - it.at));
        differ(&format!("{what} without the store"), &is_local, &must_be)?;
        if !is_local {
            let answer = self.model.check(wall, &checks, false, None);
            differ(&what, &decided(&checked, rule), &answer)?;
            self.learn(process, limit, key, cost, &checked);
            return Ok(());
        }
        let Some(known) = known else { return Err(format!("{what}: nothing is known").into()) };
        let age = now - known.at;
        if age >= MOST || age >= known.retry_after || checked.outcome == Outcome::Allowed {
            return Err(format!("{what}: {checked:?}, {age} µs after the store").into());
        }
        if known.is_exact {
            let answer = self.model.clone().check(wall, &checks, false, None);
            let is_like = is_like(&answer, &decided(&checked, rule));
            differ(&format!("{what}: {checked:?}, {answer:?}"), &is_like, &true)?;
        }
        Ok(())
    }

    /// What a process knows after an answer of the store, and what that means for the other.
    fn learn(&mut self, process: usize, limit: usize, key: usize, cost: u64, checked: &Checked) {
        let rule = self.rule(process, limit);
        let refused = checked.outcome != Outcome::Allowed;
        let known = &mut self.processes[process].known[limit][key];
        if !refused {
            *known = None;
        } else if cost <= 1 {
            let retry_after = u64::try_from(checked.retry_after.as_micros()).expect("short");
            *known = Some(Known { rule, at: self.world.now(), retry_after, is_exact: true });
        }
        for other in self.processes.iter_mut().flat_map(|it| &mut it.known[limit][key]) {
            // Units that were taken, or taken away, under another rule.
            other.is_exact &= other.rule == rule;
        }
    }
}

impl History for LocalHistory<'_> {
    type Step = Step;

    fn is_repeat(step: &Step) -> bool {
        matches!(step, Step::Again)
    }

    async fn apply(&mut self, step: &Step) -> Held {
        match *step {
            Step::Check { process, limit, key, cost } => {
                self.check(process, limit, key, cost).await?;
            }
            Step::Forget { process, limit, key } => {
                let limits = &self.processes[process].limits;
                limits.forget(NAMES[limit], KEYS[key], None, &By::default()).await?;
                self.model.forget(NAMES[limit], KEYS[key], KEYS[key]);
                self.processes[process].known = Default::default();
                if let Some(known) = &mut self.processes[1 - process].known[limit][key] {
                    known.is_exact = false;
                }
            }
            Step::Change { process, limit } => {
                let rule = &mut self.processes[process].rules[limit];
                *rule = 1 - *rule;
            }
            Step::Pass { micros } => self.world.pass(Duration::from_micros(micros)),
            Step::Leap { seconds } => {
                self.world.leap(seconds);
                let known = self.processes.iter_mut().flat_map(|it| it.known.iter_mut().flatten());
                known.flatten().for_each(|it| it.is_exact = false);
            }
            // It is played as the step before.
            Step::Again => {}
        }
        Ok(())
    }

    async fn end(&mut self) -> Held {
        // A second later nothing is known any more, and the store answers as the model does.
        self.world.pass(Duration::from_micros(MOST));
        for (limit, key) in (0..LIMITS).flat_map(|limit| [(limit, 0), (limit, 1)]) {
            self.check(0, limit, key, 0).await?;
        }
        Ok(())
    }
}

fn decided(checked: &Checked, rule: Rule) -> model::Answer {
    let allowed = checked.outcome != Outcome::Refused;
    model::Answer::Decided(allowed, false, vec![shown(checked, rule.shadow)])
}

/// Whether a local answer is that of the store. Its times may be a millisecond longer: both are
/// rounded up.
fn is_like(store: &model::Answer, local: &model::Answer) -> bool {
    let (model::Answer::Decided(allowed, _, store), model::Answer::Decided(also, _, local)) =
        (store, local)
    else {
        return false;
    };
    let near = |store: u64, local: u64| (store..=store + 1).contains(&local);
    let (store, local) = (store[0], local[0]);
    allowed == also
        && (store.fits, store.remaining) == (local.fits, local.remaining)
        && near(store.reset, local.reset)
        && near(store.retry_after, local.retry_after)
}
