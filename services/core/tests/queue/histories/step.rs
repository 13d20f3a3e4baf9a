//! The steps of a history and the rules it begins with, and how they are chosen.

use std::time::Duration;

use anteroom_core::queue::{Pace, Rules};
use proptest::prelude::*;

use super::breaker::{Breaker, Scheduler, schedulers, target};

/// Visitors of a history.
pub const VISITORS: u64 = 12;

/// What a visitor can ask for by a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    Join,
    Place,
    /// A poll that needs no other answer than being in line.
    Heartbeat,
    Claim,
    Authorize,
    /// Authorize, as the gate asks behind a join of its own.
    AuthorizeJoined,
    Renew,
    Leave,
}

/// One step of a history. `who` is a visitor; `which` one of the places it has held, the latest
/// first.
#[derive(Clone, Debug)]
pub enum Step {
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
    AuthorizeJoined {
        who: u64,
        which: usize,
    },
    Renew {
        who: u64,
        which: usize,
    },
    Leave {
        who: u64,
        which: usize,
    },
    /// Several at once share one call, each decided in its order.
    Together {
        op: Op,
        whom: Vec<(u64, usize)>,
    },
    /// Everyone in line polls.
    AllPoll,
    /// A process reads the line in outline, and may have heard visitors.
    Sketch {
        heard: bool,
    },
    /// It reports visitors as seen in the slot that it has read then.
    MarkSeen {
        whom: Vec<(u64, usize)>,
    },
    Tick,
    /// Something happens to the target that the queue follows.
    Breaker(Breaker),
    Sweep,
    /// The store's clock goes on by this many milliseconds, with a tick each second if a scheduler
    /// runs.
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
    /// An override, for so many seconds or until it is taken back: whether promotion stops, …
    Pause(bool, Option<u64>),
    /// … whether the queue is closed, …
    Close(bool, Option<u64>),
    /// … or the rule of this name, in seconds where it is a time.
    Capacity(u64, Option<u64>),
    Batch(u64, Option<u64>),
    SessionMax(u64, Option<u64>),
    UnprovenTtl(u64, Option<u64>),
    Interval(u64, Option<u64>),
    MaxWaiting(u64, Option<u64>),
    PlacesPerAddress(u64, Option<u64>),
    Evict {
        ticket: u64,
    },
    LocalAnswers(bool),
    /// An admission reads which active places ended before their time.
    Revocations,
    /// An operator begins a new life of the queue.
    Reset,
    /// The service looks at the queue as a whole, and puts back the newest rules that it has seen.
    Look,
    /// The store loses everything, and the service looks.
    Empty,
    /// The same with the meta hash alone, or its epoch alone.
    LoseMeta {
        whole: bool,
    },
    /// The service restarts, and has seen nothing yet.
    Restart,
    ForgetScripts,
    /// What the store holds now is what a later loss goes back to.
    Keep,
    /// The store loses what was written since, as after a failover.
    Lose,
    /// The step before is sent once more.
    Again,
}

/// Any step, more often the more it shows.
pub fn step() -> impl Strategy<Value = Step> {
    let who = 0..VISITORS;
    let which = prop_oneof![4 => Just(0usize), 1 => 1usize..3];
    let whom = proptest::collection::vec((who.clone(), which.clone()), 1..9);
    let lasts = prop_oneof![3 => Just(None), 2 => (5u64..300).prop_map(Some)];
    let over = |values: std::ops::Range<u64>| (values, lasts.clone());
    let flag = || (any::<bool>(), lasts.clone());
    prop_oneof![
        10 => who.clone().prop_map(|who| Step::Join { who }),
        4 => (who.clone(), which.clone()).prop_map(|(who, which)| Step::Place { who, which }),
        3 => (who.clone(), which.clone()).prop_map(|(who, which)| Step::Claim { who, which }),
        4 => (who.clone(), which.clone(), any::<bool>())
            .prop_map(|(who, which, renew)| Step::Authorize { who, which, renew }),
        2 => (who.clone(), which.clone())
            .prop_map(|(who, which)| Step::AuthorizeJoined { who, which }),
        2 => (who.clone(), which.clone()).prop_map(|(who, which)| Step::Renew { who, which }),
        3 => (who, which).prop_map(|(who, which)| Step::Leave { who, which }),
        6 => (op(), whom.clone()).prop_map(|(op, whom)| Step::Together { op, whom }),
        4 => Just(Step::AllPoll),
        3 => any::<bool>().prop_map(|heard| Step::Sketch { heard }),
        3 => whom.clone().prop_map(|whom| Step::MarkSeen { whom }),
        6 => Just(Step::Tick),
        6 => target().prop_map(Step::Breaker),
        3 => Just(Step::Sweep),
        4 => (1u64..300).prop_map(|ms| Step::Pass { ms, scheduler: false }),
        6 => (50u64..3000, any::<bool>()).prop_map(|(ms, scheduler)| Step::Pass { ms, scheduler }),
        4 => (10_000u64..400_000, any::<bool>())
            .prop_map(|(ms, scheduler)| Step::Pass { ms, scheduler }),
        4 => (20u64..200, any::<u16>())
            .prop_map(|(seconds, asleep)| Step::Wait { seconds, asleep }),
        1 => (-900i64..900).prop_map(|seconds| Step::Leap { seconds }),
        1 => flag().prop_map(|(paused, lasts)| Step::Pause(paused, lasts)),
        1 => flag().prop_map(|(closed, lasts)| Step::Close(closed, lasts)),
        1 => over(1..6).prop_map(|(capacity, lasts)| Step::Capacity(capacity, lasts)),
        1 => over(1..8).prop_map(|(batch, lasts)| Step::Batch(batch, lasts)),
        1 => over(5..200).prop_map(|(seconds, lasts)| Step::SessionMax(seconds, lasts)),
        1 => over(1..90).prop_map(|(seconds, lasts)| Step::UnprovenTtl(seconds, lasts)),
        1 => over(1..40).prop_map(|(seconds, lasts)| Step::Interval(seconds, lasts)),
        1 => over(1..30).prop_map(|(most, lasts)| Step::MaxWaiting(most, lasts)),
        1 => over(0..5).prop_map(|(most, lasts)| Step::PlacesPerAddress(most, lasts)),
        1 => (1u64..20).prop_map(|ticket| Step::Evict { ticket }),
        1 => any::<bool>().prop_map(Step::LocalAnswers),
        4 => Just(Step::Revocations),
        1 => Just(Step::Reset),
        3 => Just(Step::Look),
        1 => Just(Step::Empty),
        1 => any::<bool>().prop_map(|whole| Step::LoseMeta { whole }),
        1 => Just(Step::Restart),
        1 => Just(Step::ForgetScripts),
        1 => Just(Step::Keep),
        1 => Just(Step::Lose),
        3 => Just(Step::Again),
    ]
}

fn op() -> impl Strategy<Value = Op> {
    use Op::{Authorize, AuthorizeJoined, Claim, Heartbeat, Join, Leave, Place, Renew};
    proptest::sample::select(vec![
        Join,
        Join,
        Join,
        Place,
        Heartbeat,
        Heartbeat,
        Claim,
        Authorize,
        AuthorizeJoined,
        Renew,
        Leave,
    ])
}

/// The rules that a history begins with; times in seconds.
#[derive(Clone, Debug)]
pub struct Base {
    pub capacity: Option<u64>,
    pub batch: Option<u64>,
    pub interval: u64,
    pub even: bool,
    pub claim_ttl: u64,
    pub session_ttl: u64,
    pub max_waiting: u64,
    pub local_answers: bool,
    pub places_per_address: Option<u64>,
    /// Whether it follows a target from the beginning, …
    pub followed: bool,
    /// … and by which rules of its two schedulers.
    pub schedulers: [Scheduler; 2],
}

impl Base {
    pub fn rules(&self) -> Rules {
        let session_ttl = Duration::from_secs(self.session_ttl);
        Rules {
            capacity: self.capacity,
            batch: self.batch,
            interval: Duration::from_secs(self.interval),
            pace: if self.even { Pace::Even } else { Pace::Batch },
            claim_ttl: Duration::from_secs(self.claim_ttl),
            session_ttl,
            session_max: session_ttl * 3,
            idle_ttl: Duration::from_secs(60),
            keep_ttl: Duration::from_secs(90),
            first_poll_ttl: Duration::from_secs(30),
            max_waiting: self.max_waiting,
            local_answers: self.local_answers,
            places_per_address: self.places_per_address,
            ..Rules::default()
        }
    }
}

/// Any rules to begin with.
pub fn base() -> impl Strategy<Value = Base> {
    let some = |range: std::ops::Range<u64>| proptest::option::of(range);
    let bounds = (some(1..6), some(1..8), 3u64..30, any::<bool>(), some(0..5));
    let follows = (any::<bool>(), schedulers());
    let times = (1u64..20, any::<bool>(), 5u64..90, 5u64..300);
    (bounds, times, follows).prop_map(
        |(
            (capacity, batch, max_waiting, local_answers, places_per_address),
            (interval, even, claim_ttl, session_ttl),
            (followed, schedulers),
        )| {
            // At least one of the two.
            let capacity = if batch.is_none() { capacity.or(Some(2)) } else { capacity };
            Base {
                capacity,
                batch,
                interval,
                even,
                claim_ttl,
                session_ttl,
                max_waiting,
                local_answers,
                places_per_address,
                followed,
                schedulers,
            }
        },
    )
}
