//! A room in virtual time: visitors who come, look, give up, stay away when they are called, stay
//! and go.

use std::collections::VecDeque;
use std::time::Duration;

use anteroom_core::queue::{Join, Override, Place, PlaceRef, Queue, Rules, Status, Visit};
use futures_util::future::join_all;
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};

use super::situations::{Change, Leaves, Situation, Stay};
use crate::line::{tick, visitor};
use crate::support::TimedStore;

/// What a visitor was shown, and the truth. In seconds.
pub struct Look {
    pub at_join: bool,
    pub median: f64,
    pub slow: f64,
    pub wait: f64,
}

/// One of this many visitors looks while it waits.
const LOOKING: u64 = 3;

struct Waiting {
    of: PlaceRef,
    number: u64,
    joined: f64,
    gives_up: f64,
    /// When it looked, and what it was shown.
    shown: Vec<(f64, f64, f64)>,
    next_look: f64,
}

struct Inside {
    of: PlaceRef,
    claims: f64,
    ends: f64,
    has_claimed: bool,
    renews: f64,
}

struct Room<'a> {
    queue: Queue,
    situation: &'a Situation,
    random: StdRng,
    line: VecDeque<Waiting>,
    inside: Vec<Inside>,
    ended: u64,
    looks: Vec<Look>,
}

/// A time that is as likely to end at any moment.
fn random_time(random: &mut StdRng, mean: f64) -> f64 {
    -mean * (1.0 - random.random::<f64>()).ln()
}

impl Room<'_> {
    fn stay(&mut self) -> f64 {
        match self.situation.stay {
            Stay::Between(least, most) => least + (most - least) * self.random.random::<f64>(),
            Stay::Random(mean) => random_time(&mut self.random, mean),
            Stay::Either(one, other) => {
                if self.random.random() {
                    one
                } else {
                    other
                }
            }
        }
    }

    /// A place that has just got its turn.
    fn enter(&mut self, of: PlaceRef, now: f64) {
        let comes = self.random.random::<f64>() >= self.situation.no_shows;
        let claims = if comes { now + 0.5 + 3.0 * self.random.random::<f64>() } else { f64::MAX };
        let ends = if comes { claims + self.stay() } else { f64::MAX };
        self.inside.push(Inside { of, claims, ends, has_claimed: false, renews: claims });
    }

    async fn leave(&mut self, places: Vec<PlaceRef>) {
        let left = join_all(places.into_iter().map(|of| self.queue.leave(of))).await;
        for it in left {
            it.expect("a leave");
        }
    }

    /// Those who are inside claim, renew and leave.
    async fn live(&mut self, now: f64) {
        let (mut leave, mut claim, mut renew) = (Vec::new(), Vec::new(), Vec::new());
        for inside in &mut self.inside {
            if !inside.has_claimed && inside.claims <= now {
                inside.has_claimed = true;
                inside.renews = now;
                claim.push(inside.of);
            }
            match self.situation.leaves {
                Leaves::Itself if inside.ends <= now => leave.push(inside.of),
                Leaves::Renews
                    if inside.has_claimed && inside.ends > now && inside.renews + 20.0 <= now =>
                {
                    inside.renews = now;
                    renew.push(inside.of);
                }
                _ => {}
            }
        }
        self.inside.retain(|inside| inside.ends > now);
        self.ended += leave.len() as u64;
        let claims = join_all(claim.into_iter().map(|of| self.queue.claim(of))).await;
        assert!(claims.iter().all(Result::is_ok), "claims");
        let renewals = join_all(renew.into_iter().map(|of| self.queue.renew(of))).await;
        assert!(renewals.iter().all(Result::is_ok), "renewals");
        self.leave(leave).await;
    }

    async fn give_up(&mut self, now: f64) {
        let gone = self.line.iter().filter(|it| it.gives_up <= now).map(|it| it.of).collect();
        self.line.retain(|it| it.gives_up > now);
        self.leave(gone).await;
    }

    fn shown(place: &Place) -> Option<(f64, f64)> {
        let (median, slow) = place.eta();
        Some((median?.as_secs_f64(), slow?.as_secs_f64()))
    }

    async fn join(&mut self, numbers: std::ops::Range<u64>, now: f64) {
        let joins = numbers.clone().map(|n| self.queue.join(visitor(&self.queue, n)));
        for (number, joined) in numbers.zip(join_all(joins).await) {
            let Join::Created(of, place) = joined.expect("a join") else { panic!("a new place") };
            if place.status() == Status::Ready {
                self.enter(of, now);
                continue;
            }
            let gives_up = match self.situation.patience {
                0.0 => f64::MAX,
                patience => now + random_time(&mut self.random, patience),
            };
            let first = Self::shown(&place).map(|(median, slow)| (now, median, slow));
            let shown = first.filter(|_| self.ended >= self.situation.after_ends);
            let shown = shown.into_iter().collect();
            let next_look = now + 2.0;
            self.line.push_back(Waiting { of, number, joined: now, gives_up, shown, next_look });
        }
    }

    async fn look(&mut self, now: f64) {
        if self.ended < self.situation.after_ends {
            return;
        }
        let due = |it: &Waiting| it.number.is_multiple_of(LOOKING) && it.next_look <= now;
        let places: Vec<_> = self.line.iter().filter(|it| due(it)).map(|it| it.of).collect();
        let looks = join_all(places.into_iter().map(|of| self.queue.place(of))).await;
        for (waiting, look) in self.line.iter_mut().filter(|it| due(it)).zip(looks) {
            let Visit::Here(place) = look.expect("a look") else { panic!("it is in line") };
            if let Some((median, slow)) = Self::shown(&place) {
                waiting.shown.push((now, median, slow));
            }
            // So that there is a look near half of the wait, however long that is.
            waiting.next_look = now + (now - waiting.joined) / 20.0;
        }
    }

    async fn promote(&mut self, now: f64) {
        let turns = usize::try_from(tick(&self.queue).await).expect("a number");
        let called: Vec<_> = self.line.drain(..turns).collect();
        for waiting in called {
            let wait = now - waiting.joined;
            let add = |at_join, (at, median, slow): &(f64, f64, f64)| Look {
                at_join,
                median: *median,
                slow: *slow,
                wait: now - at,
            };
            let compares = |at: f64| at >= self.situation.compare_from && now - at >= 1.0;
            let at_join = waiting.shown.first().filter(|it| it.0 <= waiting.joined);
            let at_join = at_join.filter(|it| compares(it.0));
            let off = |look: &(f64, f64, f64)| (look.0 - waiting.joined - wait / 2.0).abs();
            let half = waiting.shown.iter().min_by(|a, b| off(a).total_cmp(&off(b)));
            let half = half.filter(|it| compares(it.0) && off(it) <= 0.1 * wait);
            self.looks.extend(at_join.map(|it| add(true, it)));
            self.looks.extend(half.map(|it| add(false, it)));
            self.enter(waiting.of, now);
        }
    }
}

/// Plays a situation to its end.
pub async fn play(world: &TimedStore, situation: &Situation, seed: u64) -> Vec<Look> {
    let long = Duration::from_secs(86_400);
    let rules =
        Rules { idle_ttl: long, keep_ttl: long, first_poll_ttl: long, ..(situation.rules)() };
    let queue = world.queue("hall", rules).await;
    let mut random = StdRng::seed_from_u64(0x0e57_1a7e + seed);
    let mut arrivals = situation.arrivals(&mut random).into_iter().peekable();
    let (line, inside, looks) = (VecDeque::new(), Vec::new(), Vec::new());
    let mut room = Room { queue, situation, random, line, inside, ended: 0, looks };
    let (mut now, mut visitors, mut swept) = (0.0, 0, 0.0);
    let mut changes = situation.changes.iter().peekable();
    let mut is_paused = false;
    while arrivals.peek().is_some() || !room.line.is_empty() {
        let step = situation.step * (0.95 + 0.1 * room.random.random::<f64>());
        world.pass(Duration::from_secs_f64(step));
        now += step;
        assert!(now < 3.0 * situation.comes_until + 20_000.0, "{}: it ends", situation.name);
        while let Some((_, change)) = changes.next_if(|(at, _)| *at <= now) {
            match change {
                Change::Batch(batch) => {
                    let batch = [Override::Batch(Some(*batch))];
                    room.queue.override_rules(&batch, None).await.expect("an override");
                }
                Change::Paused(is_away) => is_paused = *is_away,
            }
        }
        let from = visitors;
        while arrivals.next_if(|at| *at <= now).is_some() {
            visitors += 1;
        }
        if is_paused {
            // Redis is down: no call comes, and visitors come later.
            visitors = from;
            continue;
        }
        room.live(now).await;
        room.give_up(now).await;
        room.join(from..visitors, now).await;
        room.promote(now).await;
        room.look(now).await;
        if now >= swept + 2.0 {
            swept = now;
            room.queue.sweep().await.expect("a sweep");
        }
    }
    room.looks
}
