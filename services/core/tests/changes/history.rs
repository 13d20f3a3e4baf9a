//! Random histories of a queue: what they changed is what its log shows, in order.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anteroom_core::changes::{ChangeValue, ChangedOverride};
use anteroom_core::queue::{
    Inspected, Join, Overridden, Override, PlaceId, Queue, RULES, Rules, State,
};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{Rng as _, SeedableRng as _};

use super::support::{SECOND, START, TimedStore};
use super::{all, is_newest_first};

/// The most entries that a log keeps.
const KEPT: usize = 1_000;

/// What an entry must show, without its id.
#[derive(Debug, PartialEq)]
struct Expected {
    at_us: u64,
    key: String,
    operation: &'static str,
    ticket: Option<u64>,
    /// The status of an evicted place.
    status: Option<String>,
    /// Rule, before and after.
    overrides: Vec<(&'static str, Option<Overridden>, Option<Overridden>)>,
}

/// A queue, and what its operators did.
struct History {
    world: TimedStore,
    queue: Queue,
    random: StdRng,
    /// What was overridden last, by rule.
    overrides: BTreeMap<&'static str, Overridden>,
    tickets: BTreeSet<u64>,
    expected: Vec<Expected>,
}

impl History {
    async fn begin(seed: u64) -> Self {
        let world = TimedStore::new().await;
        let rules = Rules { capacity: Some(3), ..Rules::default() };
        let queue = Queue::open_with_clock(&world.store, "q", rules.clone(), 100, world.clock());
        queue.apply_rules(&rules).await.expect("the rules are written");
        let random = StdRng::seed_from_u64(seed);
        let (overrides, tickets, expected) = (BTreeMap::new(), BTreeSet::new(), Vec::new());
        Self { world, queue, random, overrides, tickets, expected }
    }

    /// One step; what operators change by their handle is expected in the log.
    async fn step(&mut self) {
        match self.random.random_range(0..20) {
            0..3 => self.pass(),
            3..6 => self.join().await,
            6..8 => self.evict().await,
            8 if self.random.random_bool(0.1) => self.reset().await,
            _ => self.change().await,
        }
    }

    /// Time goes on, or back.
    fn pass(&mut self) {
        let now = self.world.now();
        match self.random.random_range(0..10) {
            0 => self.world.set_now(START.max(now - SECOND * self.random.random_range(0..30))),
            _ => self.world.pass(Duration::from_millis(self.random.random_range(0..3_000))),
        }
    }

    async fn join(&mut self) {
        let id = PlaceId::of_visitor("q", &self.random.random::<u64>().to_string());
        let join = self.queue.join(id).await.expect("a join");
        if let Join::Created(of, _) = join {
            self.tickets.insert(of.ticket);
        }
    }

    /// Who calls: two operators, or no one whose calls are logged.
    fn caller(&mut self) -> (Queue, Option<&'static str>) {
        let key = *[Some("ops"), Some("night-shift"), None].choose(&mut self.random).expect("one");
        (key.map_or_else(|| self.queue.clone(), |key| self.queue.by(key)), key)
    }

    fn expect(
        &mut self,
        key: Option<&str>,
        operation: &'static str,
        fill: impl FnOnce(&mut Expected),
    ) {
        let Some(key) = key.map(str::to_owned) else { return };
        let at_us = self.world.now();
        let mut expected =
            Expected { at_us, key, operation, ticket: None, status: None, overrides: vec![] };
        fill(&mut expected);
        self.expected.push(expected);
    }

    /// Evicts a place, which may have ended.
    async fn evict(&mut self) {
        let Some(ticket) =
            self.tickets.iter().copied().collect::<Vec<_>>().choose(&mut self.random).copied()
        else {
            return;
        };
        let (queue, key) = self.caller();
        let found = queue.inspect(ticket).await.expect("a look").expect("a ticket");
        for _ in 0..self.random.random_range(1..3) {
            queue.evict(ticket).await.expect("an eviction");
        }
        if let Inspected::Here(status) = found.status {
            self.expect(key, "queue.evict", |expected| {
                expected.ticket = Some(ticket);
                expected.status = Some(status.name().to_owned());
            });
        }
    }

    async fn reset(&mut self) {
        let (queue, key) = self.caller();
        queue.reset().await.expect("a reset");
        self.tickets.clear();
        self.expect(key, "queue.reset", |_| {});
    }

    fn override_of(&mut self) -> Override {
        let random = &mut self.random;
        let small = random.random_range(1..4);
        let is_set = random.random_bool(0.7);
        match random.random_range(0..6) {
            0 => Override::State(
                is_set.then(|| *[State::Open, State::Paused].choose(random).expect("one")),
            ),
            1 => Override::Reason(
                is_set.then(|| "잠시 ".repeat(usize::try_from(small * 20).expect("few"))),
            ),
            2 => Override::Capacity(is_set.then_some(small)),
            3 => Override::Interval(is_set.then(|| Duration::from_secs(small))),
            4 => Override::OpensAt(is_set.then_some(1_700_000_000 + small)),
            _ => Override::LocalAnswers(is_set.then_some(small == 1)),
        }
    }

    /// Sets and removes overrides, sometimes for rules that are not in force.
    async fn change(&mut self) {
        let mut named = BTreeMap::new();
        for _ in 0..self.random.random_range(1..5) {
            let change = self.override_of();
            named.insert(change.rule().name, change);
        }
        let changes: Vec<_> = named.values().cloned().collect();
        let now = self.world.now();
        let until =
            self.random.random_bool(0.5).then(|| now / SECOND + 1 + self.random.random_range(0..5));
        let (queue, key) = self.caller();
        let (is_conditional, is_current) =
            (self.random.random_bool(0.4), self.random.random_bool(0.6));
        if is_conditional {
            let mut found = queue.snapshot().await.expect("a snapshot");
            found.revision.file += u64::from(!is_current);
            let made = queue.override_rules_of(&found, &changes, until).await.expect("an answer");
            assert_eq!(made.is_some(), is_current);
        } else {
            for _ in 0..self.random.random_range(1..3) {
                queue.override_rules(&changes, until).await.expect("an override");
            }
        }
        if is_conditional && !is_current {
            return;
        }
        let in_force = |it: &&Overridden| it.until.is_none_or(|until| now < until * SECOND);
        let mut shown = Vec::new();
        for rule in RULES {
            let Some(change) = named.remove(rule.name) else { continue };
            let before = self.overrides.get(rule.name).filter(in_force).cloned();
            let after = change.value().is_some().then_some(Overridden { rule: change, until });
            match after.clone() {
                Some(after) => self.overrides.insert(rule.name, after),
                None => self.overrides.remove(rule.name),
            };
            if before != after {
                shown.push((rule.name, before, after));
            }
        }
        if !shown.is_empty() {
            self.expect(key, "queue.override_rules", |expected| expected.overrides = shown);
        }
    }

    /// Holds the log against what is expected.
    async fn check(&mut self, seed: u64) {
        let limit = self.random.random_range(1..=200);
        let found = all(async |before| self.queue.changes(before, limit).await).await;
        assert!(is_newest_first(&found), "seed {seed}");
        let newest = self.expected.iter().rev().take(KEPT);
        assert_eq!(found.len(), newest.len(), "seed {seed}");
        for (at, (change, expected)) in found.into_iter().zip(newest).enumerate() {
            let status = change.before.iter().find_map(|(name, value)| match value {
                ChangeValue::Text(status) if name == "status" => Some(status.clone()),
                _ => None,
            });
            let whole = expected.overrides.iter().find(|(name, ..)| *name == "reason");
            let shown = |it: ChangedOverride| match whole.filter(|_| it.rule().name == "reason") {
                Some((name, before, after)) => {
                    (*name, uncut(it.before, before.as_ref()), uncut(it.after, after.as_ref()))
                }
                None => (it.rule().name, it.before, it.after),
            };
            let shown = Expected {
                at_us: change.at_us,
                key: change.key,
                operation: expected.operation,
                ticket: change.ticket,
                status,
                overrides: change.overrides.into_iter().map(shown).collect(),
            };
            assert_eq!(change.operation, expected.operation, "seed {seed}, change {at}");
            assert_eq!(&shown, expected, "seed {seed}, change {at}");
        }
    }
}

/// An override whose reason may have been cut: the whole one, if it was.
fn uncut(shown: Option<Overridden>, whole: Option<&Overridden>) -> Option<Overridden> {
    if let Some(Overridden { rule: Override::Reason(Some(shown)), until }) = &shown
        && let Some(Overridden { rule: Override::Reason(Some(text)), .. }) = whole
        && shown.strip_suffix('…').is_some_and(|kept| text.starts_with(kept))
    {
        return Some(Overridden { rule: Override::Reason(Some(text.clone())), until: *until });
    }
    shown
}

#[tokio::test]
async fn what_operators_changed_is_what_the_log_shows() {
    for seed in 0..20 {
        let mut history = History::begin(seed).await;
        for _ in 0..history.random.random_range(1..80) {
            history.step().await;
        }
        history.check(seed).await;
    }
}

#[tokio::test]
async fn promise_13_the_log_keeps_the_newest_thousand_of_at_most_512_bytes() {
    let mut history = History::begin(1_000).await;
    while history.expected.len() < KEPT + 100 {
        history.step().await;
    }
    history.check(1_000).await;
    let log = "anteroom:v1:queue:{q}:changes";
    let members: Vec<Vec<u8>> = history.world.redis.run(&["ZRANGE", log, "0", "-1"]).await;
    assert_eq!(members.len(), KEPT);
    assert!(members.iter().all(|member| member.len() <= 512));
}
