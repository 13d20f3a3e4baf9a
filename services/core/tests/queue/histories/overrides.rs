//! What operators override in a history: what the store holds of it, and what the service has seen,
//! which it puts back when the store has lost it.

use std::collections::BTreeMap;

use anteroom_core::queue::Override;
use anteroom_testkit::history::{Outcome, differ};
use anteroom_testkit::model::queue as model;

use super::history::QueueHistory;
use crate::support::micros;

pub const OPEN: u64 = 0;
pub const PAUSED: u64 = 1;
pub const CLOSED: u64 = 2;

/// Overrides under a revision: value, and until when (µs of the store's clock). An ended one stays,
/// for the clock may leap back; histories are shorter than the day after which it is dropped.
#[derive(Clone, Default)]
pub struct Overrides {
    revision: u64,
    rules: BTreeMap<&'static str, (u64, Option<u64>)>,
}

impl QueueHistory<'_> {
    /// Puts an override in force. Scripts that look at the rules notice its end, and so does
    /// `refresh`.
    pub async fn put(
        &mut self,
        over: Override,
        name: &'static str,
        value: u64,
        lasts: Option<u64>,
    ) -> Outcome {
        let wall = self.world.now();
        let until = lasts.map(|seconds| wall / 1_000_000 + seconds);
        self.queue.override_rules(&[over], until).await?;
        if self.seen.revision > self.overrides.revision {
            self.overrides = self.seen.clone();
        }
        self.overrides.revision = wall.max(self.overrides.revision + 1);
        let until = until.map(|seconds| seconds * 1_000_000);
        self.overrides.rules.insert(name, (value, until));
        self.seen = self.overrides.clone();
        self.refresh();
        Ok(())
    }

    /// The rules in force by the store's clock.
    fn in_force(&self) -> model::RulesInForce {
        let wall = self.world.now();
        let over = |name| {
            let (value, until) = self.overrides.rules.get(name)?;
            until.is_none_or(|until| until > wall).then_some(*value)
        };
        let state = over("state").unwrap_or(OPEN);
        model::RulesInForce {
            paused: state == PAUSED,
            closed: state == CLOSED,
            capacity: over("capacity").unwrap_or(self.file.capacity),
            batch: over("batch").unwrap_or(self.file.batch),
            batch_overridden: over("batch").is_some(),
            session_max: over("session_max").unwrap_or(self.file.session_max),
            unproven_ttl: over("unproven_ttl").unwrap_or(self.file.unproven_ttl),
            interval: over("interval").unwrap_or(self.file.interval),
            places_per_address: over("places_per_address").or(self.file.places_per_address),
            max_waiting: over("max_waiting").unwrap_or(self.file.max_waiting),
            local_answers: over("local_answers")
                .map_or(self.file.local_answers, |answers| answers == 1),
            ..self.file.clone()
        }
    }

    /// A script looks at the rules: some overrides have ended, or the clock leapt back behind their
    /// end.
    pub fn refresh(&mut self) {
        let rules = self.in_force();
        let local_answers = self.model.rules.local_answers;
        let switched = rules.local_answers != local_answers;
        self.model.rules = model::RulesInForce { local_answers, ..rules };
        if switched {
            self.model.set_local_answers(self.world.now(), !local_answers);
        }
    }

    /// A service has looked at the queue: it learned the newest overrides, or put them back.
    pub fn looked(&mut self) {
        self.refresh();
        if self.seen.revision > self.overrides.revision {
            self.overrides = self.seen.clone();
            self.refresh();
        }
        self.seen = self.overrides.clone();
    }

    /// A service looks at the queue.
    pub async fn look(&mut self) -> Outcome {
        let snapshot = self.queue.snapshot().await?;
        self.looked();
        let (returned, model) = (snapshot.rules, &self.model.rules);
        let returned = [
            returned.capacity.unwrap_or(0),
            returned.batch.unwrap_or(0),
            returned.max_waiting,
            micros(returned.interval),
            micros(returned.session_max),
            micros(returned.unproven_ttl),
            u64::from(returned.local_answers),
            returned.places_per_address.unwrap_or(u64::MAX),
        ];
        let model = [
            model.capacity,
            model.batch,
            model.max_waiting,
            model.interval,
            model.session_max,
            model.unproven_ttl,
            u64::from(model.local_answers),
            model.places_per_address.unwrap_or(u64::MAX),
        ];
        differ("rules in force", &returned, &model)
    }

    /// The store loses everything, and a service gives it what it has seen, or its file.
    pub async fn empty(&mut self) -> Outcome {
        self.world.empty().await;
        self.overrides = self.seen.clone();
        self.recreate().await
    }

    /// Redis loses the meta hash, or its epoch alone: the queue is as empty as after a full loss.
    pub async fn lose_meta(&mut self, whole: bool) -> Outcome {
        let meta = format!("anteroom:v1:queue:{{{}}}:meta", self.queue.name());
        let command: &[&str] = if whole { &["DEL", &meta] } else { &["HDEL", &meta, "epoch"] };
        self.world.redis.run::<i64>(command).await;
        if whole || self.seen.revision > self.overrides.revision {
            self.overrides = self.seen.clone();
        }
        self.recreate().await
    }

    async fn recreate(&mut self) -> Outcome {
        self.model = model::Queue::new(self.in_force(), self.world.now());
        self.epoch = None;
        self.positions.clear();
        self.look().await
    }
}
