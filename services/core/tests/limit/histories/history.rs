//! A history as it is played: each step runs on the limits and on the model, and the answers are
//! compared.

use std::time::Duration;

use anteroom_core::changes::By;
use anteroom_core::limit::{
    self, Algorithm, Answer, Call, CallError, Check, Limits, Outcome, Rule,
};
use anteroom_testkit::history::{History, Outcome as Held, differ};
use anteroom_testkit::model::limit as model;
use futures_util::future::join_all;

use super::step::{Checked, Ruled, Step};
use crate::support::TimedStore;

const NAMES: [&str; 4] = ["login", "search", "upload", "mail"];
const KEYS: [&str; 2] = ["ann", "bob"];
const GROUP: &str = "together";

/// The limits, their model, and the rules in force.
pub struct LimitHistory<'a> {
    world: &'a TimedStore,
    limits: Limits,
    model: model::Limits,
    rules: Vec<Ruled>,
    /// The rules of the other admission.
    other: Vec<Ruled>,
}

impl<'a> LimitHistory<'a> {
    /// Before its first step, on an empty store.
    pub async fn begin(world: &'a TimedStore, rules: &[Vec<Ruled>; 2]) -> Self {
        let [rules, other] = rules.clone();
        let (limits, model) = (world.limits(), model::Limits::default());
        Self { world, limits, model, rules, other }
    }

    fn check(&self, (limit, key, cost): Checked, grouped: bool) -> Check<'static> {
        let (algorithm, most, seconds, shadow) = self.rules[limit];
        let window = Duration::from_secs(seconds);
        let rule = Rule { algorithm, limit: most, window, shadow };
        let group = grouped.then_some(GROUP);
        Check { limit: NAMES[limit], rule, key: KEYS[key], group, cost: cost.min(rule.max_cost()) }
    }

    /// Asks both for calls that are sent at once.
    async fn ask(&mut self, calls: &[Vec<Check<'static>>], several: bool, id: Option<u8>) -> Held {
        let id = id.map(|id| format!("id {id}"));
        let id = id.as_deref();
        let wall = self.world.now();
        let made = calls.iter().map(|checks| {
            if several { Call::several(checks, id) } else { Call::one(&checks[0], id) }
        });
        let made: Vec<_> = match made.collect::<Result<_, _>>() {
            Ok(made) => made,
            // The logs of a call take no more than so many together.
            Err(CallError::Twice { .. } | CallError::Cost { .. }) => return Ok(()),
            Err(error) => return Err(format!("{error:?}").into()),
        };
        let answers = join_all(made.into_iter().map(|call| self.limits.check(call))).await;
        for (checks, answer) in calls.iter().zip(answers) {
            let answer = decided(answer?, checks);
            let checks: Vec<_> = checks.iter().map(modelled).collect();
            let model = self.model.check(wall, &checks, several, id);
            differ(&format!("{checks:?}"), &answer, &model)?;
        }
        Ok(())
    }
}

impl History for LimitHistory<'_> {
    type Step = Step;

    fn is_repeat(step: &Step) -> bool {
        matches!(step, Step::Again)
    }

    async fn apply(&mut self, step: &Step) -> Held {
        match *step {
            Step::Check { check, grouped, id } => {
                let calls = [vec![self.check(check, grouped)]];
                self.ask(&calls, false, id).await?;
            }
            Step::Several { ref checks, id } => {
                let checks = checks.iter().map(|check| self.check(*check, true)).collect();
                self.ask(&[checks], true, id).await?;
            }
            Step::Together { ref checks, id } => {
                let calls: Vec<_> =
                    checks.iter().map(|check| vec![self.check(*check, false)]).collect();
                self.ask(&calls, false, id).await?;
            }
            Step::Forget { limit, key, grouped } => {
                let (limit, key) = (NAMES[limit], KEYS[key]);
                let group = grouped.then_some(GROUP);
                let returned = self.limits.forget(limit, key, group, &By::default()).await?;
                differ("forget", &returned, &self.model.forget(limit, group.unwrap_or(key), key))?;
            }
            Step::Alternate => std::mem::swap(&mut self.rules, &mut self.other),
            Step::Change { limit, rule } => self.rules[limit] = rule,
            Step::Pass { micros } => self.world.set_now(self.world.now() + micros),
            Step::Leap { seconds } => {
                let leapt = self.world.now().saturating_add_signed(1_000_000 * seconds);
                self.world.set_now(leapt);
            }
            Step::ForgetScripts => self.world.redis.script_flush().await,
            // It is played as the step before.
            Step::Again => {}
        }
        Ok(())
    }

    async fn end(&mut self) -> Held {
        for limit in 0..self.rules.len() {
            for (key, grouped) in [(0, false), (1, false), (0, true), (1, true)] {
                let calls = [vec![self.check((limit, key, 0), grouped)]];
                self.ask(&calls, false, None).await?;
            }
        }
        Ok(())
    }
}

/// A check for the model.
pub fn modelled(check: &Check<'_>) -> model::Check {
    let algorithm = match check.rule.algorithm {
        Algorithm::Log => model::Algorithm::Log,
        Algorithm::Counter => model::Algorithm::Counter,
        Algorithm::Gcra => model::Algorithm::Gcra,
    };
    let Rule { limit, window, shadow, .. } = check.rule;
    model::Check {
        limit: check.limit.to_owned(),
        group: check.group.unwrap_or(check.key).to_owned(),
        key: check.key.to_owned(),
        rule: model::Rule {
            algorithm,
            limit: limit.into(),
            window_ms: 1000 * window.as_secs(),
            shadow,
        },
        cost: check.cost,
    }
}

fn decided(answer: Answer, requested: &[Check<'_>]) -> model::Answer {
    let Answer::Decided { allowed, repeated, checks } = answer else {
        return model::Answer::Mismatch;
    };
    let checks = checks.iter().zip(requested);
    let checks = checks.map(|(checked, check)| shown(checked, check.rule.shadow));
    model::Answer::Decided(allowed, repeated, checks.collect())
}

/// The outcome of a check as the model has it.
pub fn shown(checked: &limit::Checked, shadow: bool) -> model::Checked {
    let ms = |time: Duration| u64::try_from(time.as_millis()).expect("a short time");
    model::Checked {
        fits: checked.outcome == Outcome::Allowed,
        shadow,
        remaining: checked.remaining.into(),
        reset: ms(checked.reset),
        retry_after: ms(checked.retry_after),
    }
}
