//! SIGTERM while more clients connect than there is room for: the drain begins all the same.

use std::time::{Duration, Instant};

use anteroom_testkit::{PATIENCE, until};

use crate::attack::Attack;
use crate::siege::Siege;

/// What admission may open here; its public port takes 32 connections then.
const DESCRIPTORS: u32 = 96;
/// Each second, at most as many connections are closed to make room as there is room for. So it
/// takes 15 seconds to accept all of these.
const ATTACKERS: usize = 500;
/// `drain_timeout` and the second that the drain may take besides.
const LIMIT: Duration = Duration::from_secs(2);
/// More of it for a slow machine.
const SLACK: Duration = Duration::from_secs(5);

#[tokio::test]
async fn a_flood_of_connections_does_not_delay_the_end() {
    let env = [("ANTEROOM_ADMISSION__DRAIN_TIMEOUT", "1s")];
    let mut siege = Siege::with(DESCRIPTORS, &env).await;
    siege.attack(ATTACKERS, Attack::SlowHead);
    until("they wait to be accepted", PATIENCE, async || siege.attacks() >= ATTACKERS).await;
    let began = Instant::now();
    siege.admission.process.term();
    assert_eq!(siege.admission.process.exit(4 * PATIENCE).await.code(), Some(0));
    let took = began.elapsed();
    assert!(took < LIMIT + SLACK, "{took:?}");
}
