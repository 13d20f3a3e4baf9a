//! The requests of the tests of this folder, with what they expect of every answer.

use std::time::Duration;

use anteroom_core::event::{Application, Apply, Claimed, Event, Finished, Rules};
use futures_util::future::join_all;

use super::support::TimedStore;

/// So many units, for as many applications.
pub fn stock(units: u64) -> Rules {
    Rules { stock: Some(units), ..Rules::default() }
}

/// A store of its own, and an event on it by these rules.
pub async fn opened(rules: Rules) -> (TimedStore, Event) {
    let world = TimedStore::new().await;
    let event = world.event(rules);
    (world, event)
}

/// Time goes by, with ticks as close as a scheduler's.
pub async fn pass(world: &TimedStore, event: &Event, mut time: Duration) {
    while time > Duration::ZERO {
        let step = time.min(Duration::from_millis(900));
        world.pass(step);
        event.reclaim().await.expect("a tick");
        time -= step;
    }
}

/// One that is taken.
pub async fn apply(event: &Event, visitor: &str) -> Application {
    match event.apply(visitor).await {
        Ok(Apply::Accepted(application)) => application,
        other => panic!("{visitor}: {other:?}"),
    }
}

/// So many, by visitors `v0` and on, in their order.
pub async fn apply_many(event: &Event, visitors: std::ops::Range<u64>) {
    let visitors: Vec<_> = visitors.map(|number| format!("v{number}")).collect();
    join_all(visitors.iter().map(|visitor| apply(event, visitor))).await;
}

pub async fn status(event: &Event, visitor: &str) -> Application {
    event.status(visitor).await.expect("an answer").expect("an application")
}

pub async fn claim(event: &Event, at_most: usize) -> Claimed {
    event.claim(at_most).await.expect("a claim")
}

/// The sequences of what was claimed.
pub fn sequences(claimed: &Claimed) -> Vec<u64> {
    claimed.work.iter().map(|work| work.sequence).collect()
}

/// Finishes all of a claim; how many were issued by this call.
pub async fn finish(event: &Event, claimed: &Claimed) -> usize {
    let finished = event.finish(claimed.fence, &claimed.work).await.expect("an answer");
    let issued = |it: &&Finished| matches!(it, Finished::Issued { after: Some(_), .. });
    finished.iter().filter(issued).count()
}
