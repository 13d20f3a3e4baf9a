//! Sessions that a join at the gate began: short, until a client shows the token.

use std::time::Duration;

use anteroom_core::queue::{Inspection, PlaceRef, Queue, Rules, Status, Visit};

use super::line::{capacity, join, look, room, tick};
use super::support::TimedStore;

const UNPROVEN_TTL: Duration = Duration::from_secs(10);
const SESSION_TTL: Duration = Duration::from_secs(300);

/// A visitor joins at the gate and passes at once.
async fn joins_at_the_gate(queue: &Queue, n: u64) -> PlaceRef {
    let (of, _) = join(queue, n).await;
    // A call whose effect was unknown is sent once more.
    for _ in 0..2 {
        assert_eq!(left(queue.authorize_joined(of).await), UNPROVEN_TTL);
    }
    of
}

fn left(visit: Result<Visit, anteroom_core::store::Error>) -> Duration {
    match visit {
        Ok(Visit::Here(place)) => place.expires_in().expect("an end"),
        other => panic!("not here: {other:?}"),
    }
}

#[tokio::test]
async fn a_session_whose_token_no_client_shows_ends_after_unproven_ttl() {
    let (world, queue) = room(capacity(1)).await;
    let of = joins_at_the_gate(&queue, 0).await;
    let (next, _) = join(&queue, 1).await;
    // The page that was let in looks at its place, which proves nothing to the service.
    assert_eq!(look(&queue, of).await.expires_in(), Some(UNPROVEN_TTL));
    world.run(&queue, UNPROVEN_TTL - Duration::from_secs(1)).await;
    look(&queue, next).await;
    assert_eq!(tick(&queue).await, 0, "it holds the slot until then");
    assert_eq!(world.run(&queue, Duration::from_secs(1)).await, 1);
    assert!(matches!(queue.authorize(of, true).await, Ok(Visit::Gone(_))));
}

#[tokio::test]
async fn the_first_call_with_the_token_gives_the_whole_session() {
    let (world, queue) = room(capacity(9)).await;
    let passed = Duration::from_secs(2);
    for (n, how) in ["authorize", "claim", "renew"].into_iter().enumerate() {
        let of = joins_at_the_gate(&queue, n as u64).await;
        let began = world.now();
        world.pass(passed);
        let visit = match how {
            // Also where the gate renews nothing.
            "authorize" => queue.authorize(of, false).await,
            "claim" => queue.claim(of).await,
            _ => queue.renew(of).await,
        };
        assert_eq!(left(visit), SESSION_TTL, "{how}");
        // Once only: from here on it is as any session.
        world.pass(passed);
        assert_eq!(left(queue.authorize(of, false).await), SESSION_TTL - passed, "{how}");
        let since = match queue.inspect(of.ticket).await {
            Ok(Some(Inspection { since, .. })) => since.expect("it is known"),
            other => panic!("not known: {other:?}"),
        };
        assert_eq!(since, began / 1_000_000, "it is counted from the join");
        tick(&queue).await;
    }
}

#[tokio::test]
async fn a_short_session_is_no_longer_than_a_whole_one() {
    let world = TimedStore::new().await;
    let seconds = Duration::from_secs;
    for (n, (unproven, claim, session, lasts)) in
        [(60, 60, 20, 20), (60, 30, 50, 30), (40, 60, 50, 40)].into_iter().enumerate()
    {
        let rules = Rules {
            unproven_ttl: seconds(unproven),
            claim_ttl: seconds(claim),
            session_ttl: seconds(session),
            ..capacity(1)
        };
        let queue = world.queue(&format!("q{n}"), rules).await;
        let (of, _) = join(&queue, 0).await;
        assert_eq!(left(queue.authorize_joined(of).await), seconds(lasts));
    }
}

/// One client joins at the gate 9.5 times a second and keeps no cookie. With a session of
/// `claim_ttl` for each it held all 300 slots from the 32nd second on.
#[tokio::test]
async fn a_client_that_keeps_no_cookie_leaves_room_for_others() {
    let (world, queue) = room(capacity(300)).await;
    let mut waited = 0;
    for n in 0..(240 * 19 / 2) {
        let (of, place) = join(&queue, n).await;
        assert_eq!(place.status(), Status::Ready, "join {n}");
        left(queue.authorize_joined(of).await);
        world.pass(Duration::from_micros(1_000_000 * 2 / 19));
        if n.is_multiple_of(19) {
            tick(&queue).await;
            queue.sweep().await.expect("a sweep");
        }
        if n.is_multiple_of(47) {
            // Every 5 s a visitor who comes, and stays for 30 s.
            let (of, place) = join(&queue, 1_000_000 + n).await;
            waited += u64::from(place.status() != Status::Ready);
            left(queue.authorize(of, true).await);
        }
    }
    assert_eq!(waited, 0, "visitors who found no slot");
}
