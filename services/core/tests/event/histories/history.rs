//! A history as it is played: each step runs on the event and on the model, and the answers are
//! compared.

use std::collections::BTreeSet;

use anteroom_core::event::{self, Event, Issue, Rules, Work};
use anteroom_testkit::history::{History, Outcome, differ};
use anteroom_testkit::model::event as model;
use futures_util::future::join_all;
use std::time::Duration;

use super::step::{Base, Part, Step, code, visitor};
use crate::lives::lose_meta;
use crate::support::{TimedStore, micros};

/// Why attempts of the history fail.
const CAUSE: &str = "the receiver answered 500";

/// A claim that was given: as the event named it, as the model did, and what it held.
struct Claim {
    fence: u64,
    in_model: model::Fence,
    work: Vec<Work>,
}

/// An event and its model.
pub struct EventHistory<'a> {
    world: &'a TimedStore,
    event: Event,
    model: model::Event,
    base: Base,
    claims: Vec<Claim>,
    /// Who was issued a unit, and which codes, in the present life of the store.
    issued: BTreeSet<String>,
    codes: BTreeSet<String>,
}

impl<'a> EventHistory<'a> {
    /// Before its first step, on an empty store.
    pub async fn begin(world: &'a TimedStore, base: &Base) -> Self {
        Self {
            world,
            event: world.event(base.rules()),
            model: model::Event::new(base.model()),
            base: *base,
            claims: Vec::new(),
            issued: BTreeSet::new(),
            codes: BTreeSet::new(),
        }
    }

    async fn apply(&mut self, visitors: impl Iterator<Item = u64> + Clone) -> Outcome {
        let ids: Vec<_> = visitors.clone().map(visitor).collect();
        let returned = join_all(ids.iter().map(|id| self.event.apply(id))).await;
        for (visitor, returned) in visitors.zip(returned) {
            let returned = match returned? {
                event::Apply::Accepted(it) => model::Apply::Accepted(application(it)),
                event::Apply::Same(it) => model::Apply::Same(application(it)),
                event::Apply::SoldOut => model::Apply::SoldOut,
                event::Apply::NotOpen { opens_in } => {
                    model::Apply::NotOpen(opens_in.map(|left| micros(left) / 1_000))
                }
            };
            differ("apply", &returned, &self.model.apply(self.world.now(), visitor))?;
        }
        Ok(())
    }

    async fn status(&mut self, visitors: impl Iterator<Item = u64> + Clone) -> Outcome {
        let ids: Vec<_> = visitors.clone().map(visitor).collect();
        let returned = join_all(ids.iter().map(|id| self.event.status(id))).await;
        for (visitor, returned) in visitors.zip(returned) {
            let returned = returned?.map(application);
            differ("status", &returned, &self.model.status(self.world.now(), visitor))?;
        }
        Ok(())
    }

    async fn claim(&mut self, most: usize) -> Outcome {
        let claimed = self.event.claim(most).await?;
        let in_model = self.claims.len() as u64 + 1;
        let model = self.model.claim(self.world.now(), in_model, most as u64);
        let returned = model::Claimed {
            work: claimed.work.iter().map(work).collect(),
            again_in: claimed.again_in.map(micros),
            pending: claimed.pending,
        };
        differ("claim", &returned, &model)?;
        let last = self.claims.last().map_or(0, |claim| claim.fence);
        if !claimed.work.is_empty() && claimed.fence == last {
            return Err(format!("fence {last} twice").into());
        }
        self.claims.push(Claim { fence: claimed.fence, in_model, work: claimed.work });
        Ok(())
    }

    /// The claim of a step, and some of what it held.
    fn part(&self, part: Part) -> Option<(u64, model::Fence, Vec<Work>)> {
        let claim = self.claims.iter().rev().nth(part.claim)?;
        let work = claim.work.iter().enumerate();
        let work = work.filter(|(at, _)| part.mask >> (at % 8) & 1 == 1);
        let work: Vec<_> = work.map(|(_, work)| work.clone()).collect();
        (!work.is_empty()).then_some((claim.fence, claim.in_model, work))
    }

    async fn finish(&mut self, part: Part) -> Outcome {
        let Some((fence, in_model, works)) = self.part(part) else { return Ok(()) };
        let returned = self.event.finish(fence, &works).await?;
        for (returned, work) in returned.iter().zip(&works) {
            let event::Finished::Issued { code, after: Some(_) } = returned else { continue };
            if !self.issued.insert(work.visitor_id.clone()) {
                return Err(format!("promise 9: two units for {}", work.visitor_id).into());
            }
            if let Some(code) = code
                && !self.codes.insert(code.clone())
            {
                return Err(format!("promise 9: {code} twice").into());
            }
        }
        let returned: Vec<_> = returned.into_iter().map(finished).collect();
        let works: Vec<_> = works.iter().map(work).collect();
        differ("finish", &returned, &self.model.finish(self.world.now(), in_model, &works))
    }

    async fn fail(&mut self, part: Part, retry_ms: Option<u64>) -> Outcome {
        let Some((fence, in_model, works)) = self.part(part) else { return Ok(()) };
        for Work { sequence, .. } in works {
            let retry_in = retry_ms.map(Duration::from_millis);
            let returned = self.event.fail(fence, sequence, CAUSE, retry_in).await?;
            let returned = match returned {
                event::Failed::Retried => model::Failed::Retried,
                event::Failed::Dead => model::Failed::Dead,
                event::Failed::LeaseLost => model::Failed::LeaseLost,
            };
            let (now, retry_in) = (self.world.now(), retry_in.map(micros));
            differ("fail", &returned, &self.model.fail(now, in_model, sequence, CAUSE, retry_in))?;
        }
        Ok(())
    }

    async fn tick(&mut self) -> Outcome {
        let returned = self.event.reclaim().await?;
        let model = self.model.reclaim(self.world.now());
        differ("reclaim", &(returned.returned, returned.dead), &model)
    }

    async fn look(&mut self) -> Outcome {
        let snapshot = self.event.snapshot().await?;
        let issue = if self.model.gives_codes() { Issue::Codes } else { Issue::Count };
        differ("rules", &snapshot.rules, &Rules { issue, ..self.base.rules() })?;
        let returned = model::Look {
            stock: snapshot.stock,
            issued: snapshot.issued,
            pending: snapshot.pending,
            claimed: snapshot.claimed,
            dead: snapshot.dead,
            failed: snapshot.failed,
            sold_out: snapshot.sold_out,
            codes: snapshot.codes,
        };
        let model = self.model.look(self.world.now());
        if returned.issued > returned.stock {
            return Err(
                format!("promise 9: {} issued of {}", returned.issued, returned.stock).into()
            );
        }
        differ("look", &returned, &model)
    }

    async fn dead(&mut self, after: u64, limit: u64) -> Outcome {
        let returned = self.event.dead(after, limit).await?;
        let letters = returned.letters.into_iter().map(|letter| model::Letter {
            sequence: letter.sequence,
            visitor: number(&letter.visitor_id),
            attempts: letter.attempts,
            at: letter.died_at,
            cause: letter.error,
        });
        let model = self.model.dead(self.world.now(), after, limit as usize + 1);
        let next = model.get(limit as usize - 1).map(|letter| letter.sequence);
        let next = next.filter(|_| model.len() > limit as usize);
        let model: Vec<_> = model.into_iter().take(limit as usize).collect();
        differ("dead", &(letters.collect(), returned.next), &(model, next))
    }

    fn pass(&self, micros: u64) {
        self.world.set_now(self.world.now() + micros);
    }
}

impl History for EventHistory<'_> {
    type Step = Step;

    fn is_repeat(step: &Step) -> bool {
        matches!(step, Step::Again)
    }

    async fn apply(&mut self, step: &Step) -> Outcome {
        let now = self.world.now();
        match *step {
            Step::Apply { visitor } => self.apply(std::iter::once(visitor)).await?,
            Step::Together { first, count } => self.apply(first..first + count).await?,
            Step::Status { first, count } => self.status(first..first + count).await?,
            Step::Claim { most } => self.claim(most).await?,
            Step::Renew(part) => {
                let Some((fence, in_model, works)) = self.part(part) else { return Ok(()) };
                let sequences = sequences(&works);
                let returned = self.event.renew(fence, &sequences).await?;
                differ("renew", &returned, &self.model.renew(now, in_model, &sequences))?;
            }
            Step::Finish(part) => self.finish(part).await?,
            Step::Fail(part, retry_ms) => self.fail(part, retry_ms).await?,
            Step::GiveBack(part) => {
                let Some((fence, in_model, works)) = self.part(part) else { return Ok(()) };
                let sequences = sequences(&works);
                let returned = self.event.give_back(fence, &sequences).await?;
                differ("give_back", &returned, &self.model.give_back(now, in_model, &sequences))?;
            }
            Step::Tick => self.tick().await?,
            Step::Kick => {
                differ("kick", &self.event.kick().await?, &self.model.kick(now))?;
            }
            Step::Look => self.look().await?,
            Step::AddStock { name, units } => {
                let returned = self.event.add_stock(&format!("call {name}"), units).await;
                let returned = match returned? {
                    event::AddStock::Added(given) => model::AddStock::Added(given),
                    event::AddStock::Repeated(given) => model::AddStock::Repeated(given),
                    event::AddStock::Mismatch => model::AddStock::Mismatch,
                    event::AddStock::TooLarge => model::AddStock::TooLarge,
                };
                differ("add_stock", &returned, &self.model.add_stock(now, name, units))?;
            }
            Step::Load { first, count } => {
                let codes: Vec<_> = (first..first + count).map(code).collect();
                let returned = self.event.load_codes(&codes).await?;
                let model = self.model.load_codes(now, first..first + count);
                differ("load_codes", &(returned.new, returned.left), &model)?;
            }
            Step::Dead { after, limit } => self.dead(after, limit).await?,
            Step::RetryDead { first, count } => {
                let ids: Vec<_> = (first..first + count).map(visitor).collect();
                let ids: Vec<_> = ids.iter().map(String::as_str).collect();
                let returned = self.event.retry_dead(&ids).await?;
                let model = self.model.retry_dead(now, first..first + count);
                differ("retry_dead", &(returned.retried, returned.dead), &model)?;
            }
            Step::RetryAllDead => {
                let returned = self.event.retry_all_dead().await?;
                let dead = self.model.dead(now, 0, usize::MAX);
                let dead = dead.into_iter().map(|letter| letter.visitor);
                let model = self.model.retry_dead(now, dead);
                differ("retry_all_dead", &(returned.retried, returned.dead), &model)?;
            }
            Step::GiveUp { visitor: number } => {
                let returned = self.event.give_up(&visitor(number)).await?;
                differ("give_up", &returned, &self.model.give_up(now, number))?;
            }
            Step::Pass { ms } => self.pass(1_000 * ms),
            Step::PassLease { short } => {
                let mut left = micros(self.base.rules().lease) - u64::from(short);
                while left > 900_000 {
                    self.pass(900_000);
                    self.tick().await?;
                    left -= 900_000;
                }
                self.pass(left);
            }
            Step::Leap { seconds } => {
                self.world.set_now(now.saturating_add_signed(seconds * 1_000_000));
            }
            Step::Change(base) => {
                self.event.apply_rules(&base.rules()).await?;
                self.base = base;
                self.model.apply_rules(now, base.model());
            }
            Step::Empty => {
                self.world.empty().await;
                self.model.empty();
                (self.issued, self.codes) = Default::default();
                // In one microsecond two lives would have the same fences.
                self.pass(7);
            }
            Step::LoseMeta { whole } => {
                lose_meta(self.world, whole).await;
                self.model.lose_meta();
                self.pass(7);
            }
            Step::ForgetScripts => self.world.redis.script_flush().await,
            // It is played as the step before.
            Step::Again => {}
        }
        Ok(())
    }

    async fn end(&mut self) -> Outcome {
        self.status(0..60).await?;
        self.look().await
    }
}

fn number(text: &str) -> u64 {
    text.split_once(' ').and_then(|(_, number)| number.parse().ok()).unwrap_or(u64::MAX)
}

fn application(returned: event::Application) -> model::Application {
    match returned {
        event::Application::Pending { position } => model::Application::Pending(position),
        event::Application::Claimed => model::Application::Claimed,
        event::Application::ToRetry { again_in } => {
            model::Application::ToRetry(micros(again_in) / 1_000)
        }
        event::Application::Issued { issued_at, code } => {
            let code = code.as_deref().map(number);
            model::Application::Issued { at: issued_at, code }
        }
        event::Application::SoldOut => model::Application::SoldOut,
        event::Application::Failed => model::Application::Failed,
    }
}

fn work(returned: &Work) -> model::Work {
    let attempt = u64::from(returned.attempt);
    model::Work { sequence: returned.sequence, visitor: number(&returned.visitor_id), attempt }
}

fn finished(returned: event::Finished) -> model::Finished {
    match returned {
        event::Finished::Issued { code, after } => model::Finished::Issued {
            code: code.as_deref().map(number),
            after_ms: after.map(|after| micros(after) / 1_000),
        },
        event::Finished::LeaseLost => model::Finished::LeaseLost,
        event::Finished::NoCodes => model::Finished::NoCodes,
    }
}

fn sequences(works: &[Work]) -> Vec<u64> {
    works.iter().map(|work| work.sequence).collect()
}
