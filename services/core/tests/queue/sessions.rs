//! Sessions that a join at the gate began: short, until somebody shows the token.

use std::time::Duration;

use anteroom_core::queue::{Inspection, PlaceRef, Queue, Rules, Visit};

use super::line::{capacity, join, look, tick};
use super::support::TimedStore;

const CLAIM_TTL: Duration = Duration::from_secs(60);
const SESSION_TTL: Duration = Duration::from_secs(300);

/// Somebody joins at the gate and passes at once.
async fn joins_at_the_gate(queue: &Queue, n: u64) -> PlaceRef {
    let (of, _) = join(queue, n).await;
    // A call whose effect was unknown is sent once more.
    for _ in 0..2 {
        assert_eq!(left(queue.authorize_joined(of).await), CLAIM_TTL);
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
async fn a_session_whose_token_nobody_shows_ends_after_claim_ttl() {
    let world = TimedStore::new().await;
    let queue = world.queue("q", capacity(1)).await;
    let of = joins_at_the_gate(&queue, 0).await;
    let (next, _) = join(&queue, 1).await;
    // The page that was let in looks at its place, which proves nothing to the service.
    assert_eq!(look(&queue, of).await.expires_in(), Some(CLAIM_TTL));
    world.run(&queue, CLAIM_TTL - Duration::from_secs(1)).await;
    look(&queue, next).await;
    assert_eq!(tick(&queue).await, 0, "it holds the slot until then");
    assert_eq!(world.run(&queue, Duration::from_secs(1)).await, 1);
    assert!(matches!(queue.authorize(of, true).await, Ok(Visit::Gone(_))));
}

#[tokio::test]
async fn the_first_call_with_the_token_gives_the_whole_session() {
    let world = TimedStore::new().await;
    let queue = world.queue("q", capacity(9)).await;
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
    let rules = Rules { session_ttl: Duration::from_secs(20), ..capacity(1) };
    let queue = world.queue("q", rules).await;
    let (of, _) = join(&queue, 0).await;
    assert_eq!(left(queue.authorize_joined(of).await), Duration::from_secs(20));
}
