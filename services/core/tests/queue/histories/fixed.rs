//! Histories that failed once.

use anteroom_testkit::history::Harness as _;

use super::breaker::Scheduler;
use super::step::{Base, Op, Step};
use crate::support::TimedStore;

/// Plays one history on a store of its own.
async fn holds(base: Base, steps: &[Step]) {
    if let Err(error) = TimedStore::new().await.play(&base, steps).await {
        panic!("{error}");
    }
}

/// A scheduler whose rules play no part.
const PLAIN: Scheduler = Scheduler {
    probes: 2,
    open_for: 7,
    adaptive: None,
    success_target: 900_000,
    p95_target: None,
    min_samples: 5,
};

fn two_at_a_time() -> Base {
    Base {
        capacity: Some(2),
        batch: None,
        interval: 10,
        even: true,
        claim_ttl: 60,
        session_ttl: 300,
        max_waiting: 20,
        local_answers: false,
        places_per_address: None,
        followed: false,
        schedulers: [PLAIN; 2],
    }
}

/// The notes of both places were one, because they had the same identity, reason and time.
#[tokio::test]
async fn two_places_of_one_visitor_left_in_the_same_instant() {
    let again = [Step::Join { who: 1 }, Step::Leave { who: 1, which: 0 }];
    let steps = [&again[..], &again, &[Step::Place { who: 1, which: 1 }]].concat();
    holds(two_at_a_time(), &steps).await;
}

/// The second join of a place that was given in the same call did not count as heard.
#[tokio::test]
async fn two_tabs_join_in_one_call_and_go_to_sleep() {
    let base = Base { capacity: Some(1), max_waiting: 3, ..two_at_a_time() };
    let steps = [
        Step::Together { op: Op::Join, whom: vec![(2, 0), (1, 0), (1, 0), (4, 0)] },
        Step::Wait { seconds: 40, asleep: 0b10 },
    ];
    holds(base, &steps).await;
}

/// The model thought that a lost place whose ticket was given to another had ended long ago.
#[tokio::test]
async fn a_ticket_that_was_lost_is_given_to_another() {
    let steps = [
        Step::Keep,
        Step::Join { who: 1 },
        Step::Lose,
        Step::Join { who: 2 },
        Step::Place { who: 1, which: 0 },
        Step::Place { who: 2, which: 0 },
    ];
    holds(two_at_a_time(), &steps).await;
}

/// A call that admits many at once took the first of them for the head of the line, and showed the
/// last that tickets had run too far ahead of it.
#[tokio::test]
async fn more_are_let_in_by_one_call_than_may_wait() {
    let base =
        Base { capacity: None, batch: Some(5), even: false, max_waiting: 1, ..two_at_a_time() };
    let everyone = (0..5).map(|who| (who, 0)).collect();
    holds(base, &[Step::Together { op: Op::Join, whom: everyone }]).await;
}

/// A place that came back twice in one call was counted twice, and the last to join got the answer
/// that the queue was full.
#[tokio::test]
async fn two_tabs_come_back_in_one_call() {
    let base = Base { max_waiting: 6, ..two_at_a_time() };
    let steps = [
        Step::Pause(true, None),
        Step::Join { who: 9 },
        Step::Join { who: 0 },
        Step::Wait { seconds: 81, asleep: 1 << 9 },
        Step::Sweep,
        Step::Together { op: Op::Join, whom: vec![(9, 0), (1, 0), (9, 0), (2, 0), (3, 0), (4, 0)] },
    ];
    holds(base, &steps).await;
}

/// The model gave each of two that left in one call a version of its own.
#[tokio::test]
async fn two_leave_in_one_call_and_the_list_is_read() {
    let base = Base { local_answers: true, ..two_at_a_time() };
    let both = vec![(2, 0), (8, 0)];
    let steps = [
        Step::Pass { ms: 200, scheduler: true },
        Step::Together { op: Op::Join, whom: both.clone() },
        Step::Together { op: Op::Claim, whom: both.clone() },
        Step::Together { op: Op::Leave, whom: both },
        Step::Revocations,
    ];
    holds(base, &steps).await;
}

/// The first of two tabs moved heard time on, and the second got the answer that the place, which
/// had just come back, was abandoned.
#[tokio::test]
async fn two_tabs_come_back_in_one_call_at_the_end_of_keep_ttl() {
    let base = Base {
        interval: 1,
        even: false,
        claim_ttl: 77,
        session_ttl: 5,
        max_waiting: 10,
        ..two_at_a_time()
    };
    let steps = [
        Step::Join { who: 5 },
        Step::Together { op: Op::Join, whom: vec![(6, 0), (2, 0), (4, 0), (1, 0)] },
        Step::Together { op: Op::Join, whom: vec![(3, 0), (8, 0)] },
        Step::Join { who: 11 },
        Step::Together { op: Op::Claim, whom: vec![(5, 0)] },
        Step::Wait { seconds: 173, asleep: 36962 },
        Step::Join { who: 2 },
        Step::Pass { ms: 10000, scheduler: false },
        Step::Together { op: Op::Claim, whom: vec![(1, 0), (1, 0)] },
    ];
    holds(base, &steps).await;
}

/// A session that a lowered session_max cuts was revoked by each of two renewals in one call.
#[tokio::test]
async fn two_tabs_renew_in_one_call_what_a_lowered_session_max_cuts() {
    let base =
        Base { interval: 1, even: false, session_ttl: 27, max_waiting: 3, ..two_at_a_time() };
    let steps = [
        Step::Join { who: 3 },
        Step::Together { op: Op::Claim, whom: vec![(3, 0)] },
        Step::LocalAnswers(true),
        Step::SessionMax(5, None),
        Step::Together { op: Op::Renew, whom: vec![(3, 0), (3, 0)] },
        Step::Revocations,
    ];
    holds(base, &steps).await;
}

/// The second join of a place that was given in the same call did not count who had come back in
/// between.
#[tokio::test]
async fn one_comes_back_between_the_joins_of_two_tabs() {
    let base = Base {
        capacity: Some(3),
        interval: 2,
        claim_ttl: 5,
        session_ttl: 5,
        max_waiting: 6,
        ..two_at_a_time()
    };
    let steps = [
        Step::Batch(1, Some(69)),
        Step::Together { op: Op::Join, whom: vec![(0, 0)] },
        Step::Join { who: 5 },
        Step::Wait { seconds: 33, asleep: 10912 },
        Step::Join { who: 0 },
        Step::Pass { ms: 10000, scheduler: false },
        Step::Tick,
        Step::Together { op: Op::Join, whom: vec![(2, 0), (8, 0)] },
        Step::Pass { ms: 26001, scheduler: false },
        Step::Wait { seconds: 25, asleep: 18176 },
        Step::Pause(false, None),
        Step::Together { op: Op::Join, whom: vec![(1, 0), (2, 0), (0, 0), (7, 0), (8, 0), (7, 0)] },
    ];
    holds(base, &steps).await;
}
