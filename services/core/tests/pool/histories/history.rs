//! A history as it is played: each step runs on the pool and on the model, and the answers are
//! compared.

use std::collections::BTreeMap;

use crate::money::units;
use anteroom_core::pool::{Answer, HoldId, Pool, Refusal};
use anteroom_testkit::history::{History, Outcome, differ};
use anteroom_testkit::model::pool as model;
use futures_util::future::join_all;

use super::step::{Ask, Base, Step};
use crate::support::{SECOND, TimedStore, micros};

/// A pool and its model.
pub struct PoolHistory<'a> {
    world: &'a TimedStore,
    pool: Pool,
    model: model::Pool,
    base: Base,
    /// The holds that were given, by the names of their calls.
    holds: BTreeMap<u64, HoldId>,
}

impl<'a> PoolHistory<'a> {
    /// Before its first step, on an empty store.
    pub async fn begin(world: &'a TimedStore, base: &Base) -> Self {
        let pool = world.pool("history", base.rules());
        Self {
            world,
            pool,
            model: model::Pool::new(base.model()),
            base: *base,
            holds: BTreeMap::new(),
        }
    }

    fn id(&self, hold: u64) -> HoldId {
        let unknown = HoldId::parse("AAAAAAAAAAAAAAAAAAAAAA").expect("16 bytes");
        self.holds.get(&hold).copied().unwrap_or(unknown)
    }

    async fn hold(&mut self, requests: &[(Ask, u64)]) -> Outcome {
        let wall = self.world.now();
        let named: Vec<_> =
            requests.iter().map(|(ask, id)| (ask.request(), id.to_string())).collect();
        let returned = join_all(named.iter().map(|(ask, id)| self.pool.hold(ask, id))).await;
        for ((ask, id), returned) in requests.iter().zip(returned) {
            let returned = returned?;
            if let Answer::Done(hold) | Answer::Repeated(hold) = returned {
                self.holds.insert(*id, hold.id);
            }
            let returned = answer(returned, |it| (it.amount, micros(it.expires_in), it.balance));
            differ("hold", &returned, &self.model.hold(wall, ask.model(), *id))?;
        }
        Ok(())
    }

    async fn draw(&mut self, requests: &[(Ask, u64)]) -> Outcome {
        let wall = self.world.now();
        let named: Vec<_> =
            requests.iter().map(|(ask, id)| (ask.request(), id.to_string())).collect();
        let returned = join_all(named.iter().map(|(ask, id)| self.pool.draw(ask, id))).await;
        for ((ask, id), returned) in requests.iter().zip(returned) {
            let returned = answer(returned?, |it| (it.amount, 0, it.balance));
            differ("draw", &returned, &self.model.draw(wall, ask.model(), *id))?;
        }
        Ok(())
    }

    async fn snapshot(&mut self) -> Outcome {
        let snapshot = self.pool.snapshot().await?;
        let model = self.model.snapshot(self.world.now());
        let audit = self.pool.audit().await?;
        if !audit.holds() || audit.kept != snapshot.sums {
            return Err(format!("{audit:?}, {snapshot:?}").into());
        }
        let sums = snapshot.sums;
        let returned = model::Sums {
            balance: sums.balance,
            held: sums.held,
            paid: sums.paid,
            funded: sums.funded,
            lines: audit.lines,
        };
        differ("snapshot", &returned, &model)?;
        differ("rules", &snapshot.rules, &self.base.rules())?;
        let available: Vec<_> = snapshot.options().map(|(_, _, available)| available).collect();
        differ("options", &available, &self.model.available())
    }

    async fn on_hold(&mut self, step: &Step) -> Outcome {
        let wall = self.world.now();
        match *step {
            Step::Settle { hold, amount } => {
                let returned = self.pool.settle(self.id(hold), units(amount)).await?;
                let returned = answer(returned, |it| (it.amount, 0, it.balance));
                let model = match self.model.settle(wall, hold, amount) {
                    model::Answer::Done(amount, _, balance) => {
                        model::Answer::Done(amount, 0, balance)
                    }
                    model::Answer::Repeated(amount, _, balance) => {
                        model::Answer::Repeated(amount, 0, balance)
                    }
                    other => other,
                };
                differ("settle", &returned, &model)
            }
            Step::Extend { hold } => {
                let returned = self.pool.extend(self.id(hold)).await?;
                let returned = done(returned).map(|it| (it.amount, micros(it.expires_in)));
                let model = self.model.extend(wall, hold);
                differ("extend", &returned, &model)
            }
            Step::Cancel { hold } => {
                let returned = done(self.pool.cancel(self.id(hold)).await?);
                differ("cancel", &returned, &self.model.cancel(wall, hold))
            }
            Step::Look { hold } => {
                let returned = self.pool.look(self.id(hold)).await?;
                let returned =
                    returned.map(|it| (it.state.name(), it.amount, micros(it.expires_in)));
                differ("look", &returned, &self.model.look(wall, hold))
            }
            _ => Ok(()),
        }
    }
}

impl History for PoolHistory<'_> {
    type Step = Step;

    fn is_repeat(step: &Step) -> bool {
        matches!(step, Step::Again)
    }

    async fn apply(&mut self, step: &Step) -> Outcome {
        let wall = self.world.now();
        match *step {
            Step::Fund { amount, id } => {
                let returned = self.pool.fund(units(amount), &id.to_string()).await?;
                let returned = answer(returned, |it| (it.amount, 0, it.balance));
                differ("fund", &returned, &self.model.fund(wall, amount, id))?;
            }
            Step::Hold(ask, id) => self.hold(&[(ask, id)]).await?,
            Step::Holds(ref requests) => self.hold(requests).await?,
            Step::Draw(ask, id) => self.draw(&[(ask, id)]).await?,
            Step::Draws(ref requests) => self.draw(requests).await?,
            Step::Settle { .. } | Step::Extend { .. } | Step::Cancel { .. } | Step::Look { .. } => {
                self.on_hold(step).await?;
            }
            Step::Snapshot => self.snapshot().await?,
            Step::Tick => {
                self.pool.sweep().await?;
                self.model.sweep(wall);
            }
            Step::Pass { ms } => self.world.set_now(wall + 1_000 * ms),
            Step::PassTtl { short } => {
                // In steps that queue time follows.
                let mut left = 1_000 * self.base.hold_ttl - u64::from(short);
                while left > 0 {
                    let step = left.min(5 * SECOND);
                    left -= step;
                    self.world.set_now(self.world.now() + step);
                    self.pool.sweep().await?;
                    self.model.sweep(self.world.now());
                }
            }
            Step::PassDay => {
                // Queue time is what is kept: a day of it goes by without as many ticks.
                self.pool.sweep().await?;
                self.model.sweep(wall);
                let key = "anteroom:v1:pool:{history}:meta";
                let day = model::DAY.to_string();
                for field in ["last", "tick", "offset"] {
                    self.world.redis.run::<i64>(&["HINCRBY", key, field, &day]).await;
                }
                self.model.pass_unseen(model::DAY);
            }
            Step::Leap { seconds } => {
                self.world.set_now(wall.saturating_add_signed(seconds * 1_000_000));
            }
            Step::Change(base) => {
                self.base = base;
                self.pool.apply_rules(&base.rules()).await?;
                self.model.change(wall, base.model());
            }
            Step::Empty => {
                self.world.empty().await;
                self.model.forget();
            }
            Step::ForgetScripts => self.world.redis.script_flush().await,
            // It is played as the step before.
            Step::Again => {}
        }
        Ok(())
    }

    async fn end(&mut self) -> Outcome {
        self.snapshot().await
    }
}

fn refusal(refusal: Refusal) -> model::Refusal {
    match refusal {
        Refusal::Mismatch => model::Refusal::Mismatch,
        Refusal::TooLarge => model::Refusal::TooLarge,
        Refusal::Insufficient { balance } => model::Refusal::Insufficient(balance),
        Refusal::NoOption => model::Refusal::NoOption,
        Refusal::NoHold => model::Refusal::NoHold,
        Refusal::Settled { amount } => model::Refusal::Settled(amount),
        Refusal::Cancelled => model::Refusal::Cancelled,
        Refusal::Expired => model::Refusal::Expired,
        Refusal::Exceeds { held } => model::Refusal::Exceeds(held),
        Refusal::Unconfirmed | Refusal::Unseen => panic!("nothing fails over here"),
    }
}

fn answer<T>(returned: Answer<T>, numbers: impl Fn(T) -> (u64, u64, u64)) -> model::Answer {
    match returned {
        Answer::Done(returned) => {
            let (amount, left, balance) = numbers(returned);
            model::Answer::Done(amount, left, balance)
        }
        Answer::Repeated(returned) => {
            let (amount, left, balance) = numbers(returned);
            model::Answer::Repeated(amount, left, balance)
        }
        Answer::Refused(why) => model::Answer::Refused(refusal(why)),
    }
}

fn done<T>(returned: Answer<T>) -> Result<T, model::Refusal> {
    match returned {
        Answer::Done(returned) | Answer::Repeated(returned) => Ok(returned),
        Answer::Refused(why) => Err(refusal(why)),
    }
}
