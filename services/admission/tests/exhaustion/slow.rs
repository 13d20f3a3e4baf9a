//! Clients that are slow on purpose, more of them than there are descriptors: a new connection
//! takes the place of the one that has been waited on longest.
//!
//! Visitors are on a thread of their own: one that is late to speak, since its attackers have the
//! thread, would be evicted like them.

use anteroom_testkit::{PATIENCE, until};

use crate::attack::Attack;
use crate::siege::Siege;

/// What admission may open here; its public port takes 84 connections then.
const DESCRIPTORS: u32 = 256;
const ATTACKERS: usize = 120;
const VISITORS: u32 = 3;

async fn hold_out(attack: Attack) {
    hold_out_from(Siege::new(DESCRIPTORS).await, attack).await;
}

async fn hold_out_from(mut siege: Siege, attack: Attack) {
    siege.attack(ATTACKERS, attack);
    until("every connection is taken", PATIENCE, async || siege.open_files() >= 84).await;
    until("others had to go", PATIENCE, async || siege.closed().await > 20.0).await;
    siege.visitors(VISITORS).await;
    assert!(siege.open_files() < DESCRIPTORS as usize);
    siege.end(&format!("{attack:?}")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn silent_clients_lock_no_other_client_out() {
    hold_out(Attack::Silence).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn slow_heads_lock_no_other_client_out() {
    hold_out(Attack::SlowHead).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn slow_bodies_lock_no_other_client_out() {
    hold_out(Attack::SlowBody).await;
}

/// They are no requests under way.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn slow_bodies_do_not_use_up_the_concurrent_requests() {
    let few = [("ANTEROOM_ADMISSION__MAX_CONCURRENT_REQUESTS", "16")];
    hold_out_from(Siege::with(DESCRIPTORS, &few).await, Attack::SlowBody).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn clients_that_never_read_lock_no_other_client_out() {
    hold_out(Attack::NeverReads).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn idle_connections_lock_no_other_client_out() {
    hold_out(Attack::Idle).await;
}

/// Else the pod would be restarted, and its measurements would be missing. Probes are another
/// process's, so the attackers' doings do not delay them.
#[tokio::test(flavor = "multi_thread")]
async fn slow_clients_of_the_metrics_port_shut_no_probe_out() {
    for attack in [Attack::Silence, Attack::SlowHead] {
        let mut siege = Siege::new(1_024).await;
        let before = siege.open_files();
        siege.attack_on("metrics", 300, attack);
        until("they have come", PATIENCE, async || siege.attacks() > 300).await;
        assert!(siege.open_files() > before + 100, "they are held");
        for _ in 0..5 {
            for path in ["/livez", "/readyz", "/metrics"] {
                siege.probe(path).await;
            }
        }
        siege.visitors(1).await;
        siege.end(&format!("metrics port, {attack:?}")).await;
    }
}
