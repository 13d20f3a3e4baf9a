//! Random histories: joins, polls, drop-outs, no-shows, renewals, pauses, overrides, time steps, leaps
//! of the clock, forgotten scripts and repeats, each answer compared with the reference model's.
//!
//! A history that failed once stays as a fixed case at the end of this file.

use std::collections::BTreeMap;
use std::time::Duration;

use anteroom_core::queue::{
    GoneReason, Join, Leave, Override, Pace, Place, PlaceRef, Queue, Rules, State, Status, Visit,
};
use anteroom_testkit::model::queue::{self as model, Gone, Joined, Reading, Told};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};

use super::world::{World, capacity, visitor};

const VISITORS: u64 = 12;
/// How often the scheduler ticks and visitors poll while time passes: within what queue time and heard
/// time take in one step.
const EVERY_US: u64 = 4_000_000;

/// One step of a history. `who` is a visitor; `which` one of the places it has held, the latest first.
#[derive(Clone, Debug)]
enum Step {
    Join {
        who: u64,
    },
    Place {
        who: u64,
        which: usize,
    },
    Claim {
        who: u64,
        which: usize,
    },
    Authorize {
        who: u64,
        which: usize,
        renew: bool,
    },
    Renew {
        who: u64,
        which: usize,
    },
    Leave {
        who: u64,
        which: usize,
    },
    /// Everyone in line polls.
    AllPoll,
    Tick,
    Sweep,
    /// The store's clock goes on by this many milliseconds, with a tick each second if a scheduler runs.
    Pass {
        ms: u64,
        scheduler: bool,
    },
    /// Time goes by with everyone in line polling every few seconds but the sleepers (a bit each).
    Wait {
        seconds: u64,
        asleep: u16,
    },
    /// The store's clock leaps by so many seconds, as after a failover.
    Leap {
        seconds: i64,
    },
    Pause(bool),
    Close(bool),
    Capacity(u64),
    Batch(u64),
    SessionMax {
        seconds: u64,
    },
    Interval {
        seconds: u64,
    },
    MaxWaiting(u64),
    Evict {
        ticket: u64,
    },
    LocalAnswers(bool),
    /// An admission reads which active places ended before their time.
    Revocations,
    /// An operator begins a new life of the queue.
    Reset,
    ForgetScripts,
    /// The step before is sent once more.
    Again,
}

fn step() -> impl Strategy<Value = Step> {
    let who = 0..VISITORS;
    let which = prop_oneof![4 => Just(0usize), 1 => 1usize..3];
    prop_oneof![
        10 => who.clone().prop_map(|who| Step::Join { who }),
        4 => (who.clone(), which.clone()).prop_map(|(who, which)| Step::Place { who, which }),
        3 => (who.clone(), which.clone()).prop_map(|(who, which)| Step::Claim { who, which }),
        4 => (who.clone(), which.clone(), any::<bool>())
            .prop_map(|(who, which, renew)| Step::Authorize { who, which, renew }),
        2 => (who.clone(), which.clone()).prop_map(|(who, which)| Step::Renew { who, which }),
        3 => (who, which).prop_map(|(who, which)| Step::Leave { who, which }),
        4 => Just(Step::AllPoll),
        6 => Just(Step::Tick),
        3 => Just(Step::Sweep),
        4 => (1u64..300).prop_map(|ms| Step::Pass { ms, scheduler: false }),
        6 => (50u64..3000, any::<bool>()).prop_map(|(ms, scheduler)| Step::Pass { ms, scheduler }),
        4 => (10_000u64..400_000, any::<bool>())
            .prop_map(|(ms, scheduler)| Step::Pass { ms, scheduler }),
        4 => (20u64..200, any::<u16>()).prop_map(|(seconds, asleep)| Step::Wait { seconds, asleep }),
        1 => (-900i64..900).prop_map(|seconds| Step::Leap { seconds }),
        1 => any::<bool>().prop_map(Step::Pause),
        1 => any::<bool>().prop_map(Step::Close),
        1 => (1u64..6).prop_map(Step::Capacity),
        1 => (1u64..8).prop_map(Step::Batch),
        1 => (5u64..200).prop_map(|seconds| Step::SessionMax { seconds }),
        1 => (1u64..40).prop_map(|seconds| Step::Interval { seconds }),
        1 => (1u64..30).prop_map(Step::MaxWaiting),
        1 => (1u64..20).prop_map(|ticket| Step::Evict { ticket }),
        1 => any::<bool>().prop_map(Step::LocalAnswers),
        4 => Just(Step::Revocations),
        1 => Just(Step::Reset),
        1 => Just(Step::ForgetScripts),
        3 => Just(Step::Again),
    ]
}

fn rules() -> impl Strategy<Value = Rules> {
    let pace = prop_oneof![Just(Pace::Even), Just(Pace::Batch)];
    let some = |range: std::ops::Range<u64>| proptest::option::of(range);
    let seconds = |range: std::ops::Range<u64>| range.prop_map(Duration::from_secs);
    let bounds = (some(1..6), some(1..8), 3u64..30, any::<bool>());
    let times = (seconds(1..20), pace, seconds(5..90), seconds(5..300));
    (bounds, times).prop_map(
        |(
            (capacity, batch, max_waiting, local_answers),
            (interval, pace, claim_ttl, session_ttl),
        )| Rules {
            // At least one of the two.
            capacity: if batch.is_none() { capacity.or(Some(2)) } else { capacity },
            batch,
            interval,
            pace,
            claim_ttl,
            session_ttl,
            session_max: session_ttl * 3,
            idle_ttl: Duration::from_secs(60),
            keep_ttl: Duration::from_secs(90),
            first_poll_ttl: Duration::from_secs(30),
            max_waiting,
            joins_at: None,
            opens_at: None,
            closes_at: None,
            local_answers,
        },
    )
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).expect("a short time")
}

fn model_rules(rules: &Rules) -> model::Rules {
    model::Rules {
        capacity: rules.capacity.unwrap_or(0),
        batch: rules.batch.unwrap_or(0),
        interval: micros(rules.interval),
        claim_ttl: micros(rules.claim_ttl),
        session_ttl: micros(rules.session_ttl),
        session_max: micros(rules.session_max),
        idle_ttl: micros(rules.idle_ttl),
        keep_ttl: micros(rules.keep_ttl),
        first_poll_ttl: micros(rules.first_poll_ttl),
        max_waiting: rules.max_waiting,
        paused: false,
        closed: false,
        local_answers: rules.local_answers,
    }
}

/// A queue, its model, and what the visitors hold.
struct History<'a> {
    world: &'a World,
    queue: Queue,
    model: model::Queue,
    /// Every place that a visitor was ever given, the latest first.
    places: BTreeMap<u64, Vec<PlaceRef>>,
    /// The last position told of each place: it only ever improves.
    positions: BTreeMap<u64, u64>,
    /// The version of the revocations that was read last.
    version: Option<u64>,
    /// The steps so far, for repeats.
    done: Vec<Step>,
}

type Outcome = Result<(), String>;

fn differ<T: std::fmt::Debug + PartialEq>(what: &str, told: &T, model: &T) -> Outcome {
    if told == model {
        Ok(())
    } else {
        Err(format!("{what}: told {told:?}, the model says {model:?}"))
    }
}

impl History<'_> {
    fn ref_of(&self, who: u64, which: usize) -> Option<PlaceRef> {
        let places = self.places.get(&who)?;
        places.get(which.min(places.len() - 1)).copied()
    }

    /// A place as the model tells it.
    fn told(&self, place: &Place) -> Told {
        // Scripts tell whole milliseconds, rounded up.
        let ends = self.model.now() + place.expires_in.map_or(0, micros);
        match place.status {
            Status::Waiting => Told::Waiting { position: place.position },
            Status::Ready => Told::Ready { ends },
            Status::Active => Told::Active { ends },
        }
    }

    fn rounded(&self, told: Told) -> Told {
        let up = |ends: u64| self.model.now() + (ends - self.model.now()).div_ceil(1000) * 1000;
        match told {
            Told::Ready { ends } => Told::Ready { ends: up(ends) },
            Told::Active { ends } => Told::Active { ends: up(ends) },
            other => other,
        }
    }

    fn compare(&mut self, what: &str, visit: &Visit, of: PlaceRef, model: Told) -> Outcome {
        let told = match visit {
            Visit::Gone(reason) => Told::Gone(gone(*reason)),
            Visit::Here(place) | Visit::NotReady(place) | Visit::NotActive(place) => {
                if place.status == Status::Waiting {
                    let before = self.positions.insert(of.ticket, place.position);
                    if before.is_some_and(|before| before < place.position) {
                        return Err(format!("{what}: position of {} got worse", of.ticket));
                    }
                }
                self.told(place)
            }
        };
        let model = self.rounded(model);
        differ(what, &told, &model)
    }

    async fn apply(&mut self, step: &Step) -> Outcome {
        let wall = self.world.now();
        let error = |error: anteroom_core::store::Error| error.to_string();
        match *step {
            Step::Join { who } => {
                let id = visitor(&self.queue, who);
                let join = self.queue.join(id).await.map_err(error)?;
                let ready =
                    matches!(&join, Join::Created(_, place) if place.status == Status::Ready);
                let model = self.model.join(wall, id.0, ready)?;
                match (&join, model) {
                    (Join::Created(of, _), Joined::New(ticket)) => {
                        self.places.entry(who).or_default().insert(0, *of);
                        differ("ticket", &of.ticket, &ticket)?;
                    }
                    (Join::Same(of, place), Joined::Same(ticket, told)) => {
                        differ("promise 4: ticket of the same place", &of.ticket, &ticket)?;
                        let visit = Visit::Here(place.clone());
                        self.compare("join", &visit, *of, told)?;
                    }
                    (Join::Full, Joined::Full) | (Join::Closed { .. }, Joined::Closed) => {}
                    other => return Err(format!("join: {other:?}")),
                }
            }
            Step::Place { who, which } => {
                let Some(of) = self.ref_of(who, which) else { return Ok(()) };
                let visit = self.queue.place(of).await.map_err(error)?;
                let model = self.model.place(wall, of.id.0, of.ticket);
                self.compare("place", &visit, of, model)?;
            }
            Step::Claim { who, which } => {
                let Some(of) = self.ref_of(who, which) else { return Ok(()) };
                let visit = self.queue.claim(of).await.map_err(error)?;
                let model = self.model.enter(wall, of.id.0, of.ticket, false);
                let waiting = matches!(model, Told::Waiting { .. });
                differ("not_ready", &matches!(visit, Visit::NotReady(_)), &waiting)?;
                self.compare("claim", &visit, of, model)?;
            }
            Step::Authorize { who, which, renew } => {
                let Some(of) = self.ref_of(who, which) else { return Ok(()) };
                let visit = self.queue.authorize(of, renew).await.map_err(error)?;
                let model = self.model.enter(wall, of.id.0, of.ticket, renew);
                self.compare("authorize", &visit, of, model)?;
            }
            Step::Renew { who, which } => {
                let Some(of) = self.ref_of(who, which) else { return Ok(()) };
                let visit = self.queue.renew(of).await.map_err(error)?;
                let model = self.model.renew(wall, of.id.0, of.ticket);
                let refused = matches!(model, Told::Waiting { .. } | Told::Ready { .. });
                differ("not_active", &matches!(visit, Visit::NotActive(_)), &refused)?;
                self.compare("renew", &visit, of, model)?;
            }
            Step::Leave { who, which } => {
                let Some(of) = self.ref_of(who, which) else { return Ok(()) };
                let leave = match self.queue.leave(of).await.map_err(error)? {
                    Leave::Left(reason) => Some(gone(reason)),
                    Leave::Already => None,
                };
                differ("leave", &leave, &self.model.leave(wall, of.id.0, of.ticket))?;
            }
            Step::AllPoll => {
                for who in 0..VISITORS {
                    Box::pin(self.apply(&Step::Place { who, which: 0 })).await?;
                }
            }
            Step::Tick => self.tick().await?,
            Step::Sweep => {
                let sweep = self.queue.sweep().await.map_err(error)?;
                let told = (sweep.unclaimed, sweep.expired, sweep.away, sweep.abandoned);
                differ("sweep", &told, &self.model.sweep(wall))?;
            }
            Step::Pass { ms, scheduler } => {
                let end = wall + 1000 * ms;
                while scheduler && self.world.now() + EVERY_US < end {
                    self.world.set_now(self.world.now() + EVERY_US);
                    self.tick().await?;
                }
                self.world.set_now(end);
            }
            Step::Wait { seconds, asleep } => {
                let end = wall + seconds * 1_000_000;
                while self.world.now() + EVERY_US < end {
                    self.world.set_now(self.world.now() + EVERY_US);
                    self.tick().await?;
                    for who in (0..VISITORS).filter(|who| asleep & (1 << who) == 0) {
                        Box::pin(self.apply(&Step::Place { who, which: 0 })).await?;
                    }
                }
            }
            Step::Leap { seconds } => {
                self.world.set_now(wall.saturating_add_signed(seconds * 1_000_000));
            }
            Step::Pause(paused) => {
                let state = paused.then_some(State::Paused);
                self.queue.override_rules(&[Override::State(state)], None).await.map_err(error)?;
                (self.model.rules.paused, self.model.rules.closed) = (paused, false);
            }
            Step::Close(closed) => {
                let state = closed.then_some(State::Closed);
                self.queue.override_rules(&[Override::State(state)], None).await.map_err(error)?;
                (self.model.rules.paused, self.model.rules.closed) = (false, closed);
            }
            Step::Capacity(capacity) => {
                let overrides = [Override::Capacity(Some(capacity))];
                self.queue.override_rules(&overrides, None).await.map_err(error)?;
                self.model.rules.capacity = capacity;
            }
            Step::Batch(batch) => {
                let overrides = [Override::Batch(Some(batch))];
                self.queue.override_rules(&overrides, None).await.map_err(error)?;
                self.model.rules.batch = batch;
            }
            Step::SessionMax { seconds } => {
                let time = Duration::from_secs(seconds);
                let overrides = [Override::SessionMax(Some(time))];
                self.queue.override_rules(&overrides, None).await.map_err(error)?;
                self.model.rules.session_max = micros(time);
            }
            Step::Interval { seconds } => {
                let time = Duration::from_secs(seconds);
                let overrides = [Override::Interval(Some(time))];
                self.queue.override_rules(&overrides, None).await.map_err(error)?;
                self.model.rules.interval = micros(time);
            }
            Step::MaxWaiting(most) => {
                let overrides = [Override::MaxWaiting(Some(most))];
                self.queue.override_rules(&overrides, None).await.map_err(error)?;
                self.model.rules.max_waiting = most;
            }
            Step::Evict { ticket } => {
                let evicted = self.queue.evict(ticket).await.map_err(error)?;
                differ("evict", &evicted, &self.model.evict(wall, ticket))?;
            }
            Step::LocalAnswers(on) => {
                let overrides = [Override::LocalAnswers(Some(on))];
                self.queue.override_rules(&overrides, None).await.map_err(error)?;
                self.model.set_local_answers(wall, on);
            }
            Step::Revocations => {
                let read = self.queue.revocations(self.version).await.map_err(error)?;
                let told = Reading {
                    queue_time: read.queue_time_us,
                    local_answers: read.local_answers,
                    version: read.version,
                    whole: read.whole,
                    ended: read.ended.iter().map(|(id, ticket)| (id.0, *ticket)).collect(),
                };
                differ("revocations", &told, &self.model.revocations(wall, self.version))?;
                self.version = Some(read.version);
            }
            Step::Reset => {
                self.queue.reset().await.map_err(error)?;
                self.model.reset(wall);
                self.places.clear();
                self.positions.clear();
            }
            Step::ForgetScripts => self.world.redis.script_flush().await,
            Step::Again => {
                if let Some(last) = self.done.last().cloned() {
                    Box::pin(self.apply(&last)).await?;
                }
            }
        }
        if !matches!(step, Step::Again) {
            self.done.push(step.clone());
        }
        Ok(())
    }

    async fn tick(&mut self) -> Outcome {
        loop {
            let tick = self.queue.promote().await.map_err(|error| error.to_string())?;
            let wall = self.world.now();
            self.model.promote(wall, tick.promoted, tick.away, tick.abandoned)?;
            if !tick.more {
                let held_back = self.model.held_back();
                return differ("places held back without a reason", &held_back, &false);
            }
        }
    }

    /// The whole as the snapshot shows it.
    async fn whole(&self) -> Outcome {
        let snapshot = self.queue.snapshot().await.map_err(|error| error.to_string())?;
        let (ready, active) = self.model.admitted();
        let told = [snapshot.depth, snapshot.away, snapshot.ready, snapshot.active];
        differ("snapshot", &told, &[self.model.depth(), self.model.away(), ready, active])
    }
}

fn gone(reason: GoneReason) -> Gone {
    match reason {
        GoneReason::Completed => Gone::Completed,
        GoneReason::Left => Gone::Left,
        GoneReason::Unclaimed => Gone::Unclaimed,
        GoneReason::Expired => Gone::Expired,
        GoneReason::Abandoned => Gone::Abandoned,
        GoneReason::Evicted => Gone::Evicted,
        GoneReason::Lost => Gone::Lost,
        GoneReason::Ended => Gone::Ended,
    }
}

async fn play(world: &World, name: &str, rules: Rules, steps: &[Step]) -> Outcome {
    let queue = world.queue(name, rules.clone()).await;
    let mut history = History {
        world,
        queue,
        model: model::Queue::new(model_rules(&rules), world.now()),
        places: BTreeMap::new(),
        positions: BTreeMap::new(),
        version: None,
        done: Vec::new(),
    };
    for (at, step) in steps.iter().enumerate() {
        history.apply(step).await.map_err(|error| format!("step {at}, {step:?}: {error}"))?;
    }
    // The snapshot reads the clock without writing it, so the model's time must be its time.
    history.apply(&Step::Sweep).await?;
    history.whole().await
}

#[test]
fn promises_01_to_05_11_12_random_histories_answer_like_the_model() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    let world = runtime.block_on(World::new());
    let cases =
        std::env::var("ANTEROOM_HISTORIES").ok().and_then(|n| n.parse().ok()).unwrap_or(300);
    let mut runner = TestRunner::new(Config {
        cases,
        max_shrink_iters: 2000,
        failure_persistence: None,
        ..Config::default()
    });
    let number = std::cell::Cell::new(0);
    let histories = (rules(), proptest::collection::vec(step(), 1..80));
    let result = runner.run(&histories, |(rules, steps)| {
        number.set(number.get() + 1);
        let name = format!("history-{}", number.get());
        runtime.block_on(play(&world, &name, rules, &steps)).map_err(TestCaseError::fail)
    });
    if let Err(failure) = result {
        panic!("{failure}");
    }
}

/// Plays one history on a store of its own.
async fn holds(rules: Rules, steps: &[Step]) {
    let world = World::new().await;
    if let Err(error) = play(&world, "fixed", rules, steps).await {
        panic!("{error}");
    }
}

/// The notes of both places were one, because they had the same identity, reason and time.
#[tokio::test]
async fn fixed_two_places_of_one_visitor_left_in_the_same_instant() {
    let again = [Step::Join { who: 1 }, Step::Leave { who: 1, which: 0 }];
    let steps = [&again[..], &again, &[Step::Place { who: 1, which: 1 }]].concat();
    holds(capacity(2), &steps).await;
}
