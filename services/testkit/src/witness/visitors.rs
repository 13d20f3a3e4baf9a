//! Thousands of visitors, each with habits of its own.

use std::time::Duration;

use rand::{Rng as _, SeedableRng as _, rngs::StdRng, seq::IndexedRandom as _};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep, sleep_until},
};

use anteroom_witness::{Call, Heard, Shown};

use super::{Caller, Scene};

/// What a visitor does that not everyone does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Habit {
    /// Joins, waits, enters, leaves.
    Faithful,
    /// The same, and joins again now and then, in a second tab.
    ManyTabs,
    /// Gives its place up while it waits.
    GivesUp,
    /// Is not heard of any more while it waits.
    DropsOut,
    /// Does not take its turn.
    NeverClaims,
    /// Takes its turn and is not heard of any more.
    StaysOn,
}

/// Of two hundred visitors so many have a habit. A visitor that drops out is absent when its turn
/// comes, so each of them hides a slot from the witness for a while: few.
const HABITS: [(Habit, u32); 6] = [
    (Habit::Faithful, 130),
    (Habit::ManyTabs, 40),
    (Habit::GivesUp, 10),
    (Habit::DropsOut, 1),
    (Habit::NeverClaims, 10),
    (Habit::StaysOn, 9),
];

/// How they come and how long they stay.
///
/// The queue must not limit joins by address, since all come from one.
#[derive(Clone, Debug)]
pub struct Crowd {
    /// The number of the first; they are numbered on from there.
    pub first: u32,
    /// How many come.
    pub visitors: u32,
    /// All have come after this time.
    pub arrive_within: Duration,
    /// They look at least so often, also where they may look later.
    pub look_every: Duration,
    /// How long a session lasts.
    pub stay: Duration,
    /// Decides every habit and every moment that is the visitors' own.
    pub seed: u64,
}

/// What became of a crowd: the habit of each, and whether it ended as it meant to.
#[derive(Debug, Default)]
pub struct Ended {
    /// Habits of those whose visit was over, in the order in which they were.
    pub done: Vec<Habit>,
    /// How many were not done in time.
    pub unfinished: usize,
}

impl Crowd {
    /// Lets all come and do as they do, until the last is done or `patience` is over.
    pub async fn visit(&self, scene: &Scene, patience: Duration) -> Ended {
        let mut random = StdRng::seed_from_u64(self.seed);
        let start = Instant::now();
        let mut visits = JoinSet::new();
        for visitor in self.first..self.first + self.visitors {
            let habit = HABITS.choose_weighted(&mut random, |(_, weight)| *weight);
            let visit = Visit {
                habit: habit.map_or(Habit::Faithful, |(habit, _)| *habit),
                caller: Caller::new(scene, visitor),
                random: StdRng::seed_from_u64(random.random()),
                look_every: self.look_every,
                stay: self.stay,
            };
            let arrives = start + self.arrive_within.mul_f64(random.random());
            visits.spawn(async move {
                sleep_until(arrives).await;
                visit.whole().await
            });
        }
        let mut ended = Ended::default();
        while let Ok(Some(visit)) =
            tokio::time::timeout_at(start + patience, visits.join_next()).await
        {
            ended.done.push(visit.expect("a visit does not panic"));
        }
        ended.unfinished = visits.len();
        // Their last calls are in the record before it is read.
        visits.shutdown().await;
        ended
    }
}

/// One visitor's visit.
struct Visit {
    habit: Habit,
    caller: Caller,
    random: StdRng,
    look_every: Duration,
    stay: Duration,
}

impl Visit {
    /// From the join to the end, and again from the start where the place was lost without fault.
    async fn whole(mut self) -> Habit {
        loop {
            let mut heard = self.ask_until(Call::Join).await;
            loop {
                let next = match heard.shown {
                    Shown::Nothing => Call::Place,
                    Shown::Waiting { .. } if self.ends_in_line() => return self.end().await,
                    Shown::Waiting { .. } => {
                        self.pause(&heard).await;
                        self.tab().await;
                        Call::Place
                    }
                    Shown::Ready { .. } if self.habit == Habit::NeverClaims => return self.habit,
                    Shown::Ready { .. } => self.either(Call::Claim, Call::Authorize),
                    Shown::Active { .. } if self.habit == Habit::StaysOn => return self.habit,
                    Shown::Active { .. } => {
                        if self.session().await {
                            return self.end().await;
                        }
                        break;
                    }
                    Shown::Gone { .. } => break,
                };
                heard = self.ask_until(next).await;
            }
        }
    }

    /// Asks until an answer says something of the place.
    async fn ask_until(&mut self, call: Call) -> Heard {
        loop {
            let heard = self.caller.ask(call).await;
            if heard.shown != Shown::Nothing {
                return heard;
            }
            sleep(Duration::from_millis(self.random.random_range(50..250))).await;
        }
    }

    async fn pause(&mut self, heard: &Heard) {
        let after = Duration::from_millis(heard.poll_after_ms.unwrap_or(1_000));
        sleep(after.min(self.look_every.mul_f64(self.random.random_range(0.8..1.0)))).await;
    }

    /// A second tab joins at the same time as this one goes on.
    async fn tab(&mut self) {
        if self.habit == Habit::ManyTabs && self.random.random_bool(0.2) {
            let (mut tab, mut other) = (self.caller.clone(), self.caller.clone());
            tab.turn_to_the_next_door();
            // Half of them have no token: a private window, another device.
            tab.token = tab.token.filter(|_| self.random.random_bool(0.5));
            tokio::join!(tab.ask(Call::Join), other.ask(Call::Place));
        }
    }

    /// Uses the session to its end; false when it was over before.
    async fn session(&mut self) -> bool {
        let uses = 3;
        for _ in 0..uses {
            sleep((self.stay / uses).mul_f64(self.random.random_range(0.5..1.0))).await;
            let call = self.either(Call::Authorize, Call::Renew);
            if !matches!(self.ask_until(call).await.shown, Shown::Active { .. }) {
                return false;
            }
        }
        true
    }

    fn ends_in_line(&mut self) -> bool {
        matches!(self.habit, Habit::GivesUp | Habit::DropsOut) && self.random.random_bool(0.3)
    }

    /// Leaves, unless it is the habit to say nothing.
    async fn end(&mut self) -> Habit {
        if self.habit != Habit::DropsOut {
            self.ask_until(Call::Leave).await;
        }
        self.habit
    }

    fn either(&mut self, one: Call, other: Call) -> Call {
        if self.random.random_bool(0.5) { one } else { other }
    }
}
