//! More than any client needs to send: refused, without much memory, while visitors come in.

use anteroom_testkit::{PATIENCE, until};
use futures_util::future::join_all;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::attack::Attack;
use crate::siege::Siege;

const ATTACKERS: usize = 16;
const VISITORS: u32 = 20;

async fn holds(attack: Attack, attacks: usize) {
    let mut siege = Siege::new(1_024).await;
    siege.attack(ATTACKERS, attack);
    until("the flood is there", PATIENCE, async || siege.attacks() >= attacks).await;
    siege.visitors(VISITORS).await;
    siege.end(&format!("{attack:?}")).await;
}

#[tokio::test]
async fn a_header_without_an_end() {
    holds(Attack::HugeHead, 200).await;
}

#[tokio::test]
async fn headers_without_an_end() {
    holds(Attack::ManyHeaders, 200).await;
}

#[tokio::test]
async fn bodies_past_their_bound() {
    holds(Attack::BigBody, 200).await;
}

#[tokio::test]
async fn chunks_without_an_end() {
    holds(Attack::EndlessChunks, 2 * ATTACKERS).await;
}

/// These are requests like any other: no connection is closed, and the connections share the
/// processor.
#[tokio::test]
async fn requests_one_behind_the_other() {
    holds(Attack::Pipeline, ATTACKERS).await;
}

/// Who comes in the moment in which admission does something else waits; none has to knock again a
/// second later.
#[tokio::test]
async fn a_thousand_connections_at_once() {
    let siege = Siege::new(4_096).await;
    let line = std::fs::read_to_string("/proc/sys/net/core/somaxconn").expect("Linux");
    let clients = line.trim().parse::<usize>().expect("a number").min(1_000);
    siege.admission.process.freeze();
    let connect = || TcpStream::connect(siege.address());
    let all = join_all((0..clients).map(|_| connect()));
    let connected = timeout(PATIENCE, all).await.expect("the system's line takes them all");
    assert!(connected.iter().all(Result::is_ok));
    siege.admission.process.thaw();
    siege.visitors(1).await;
}
