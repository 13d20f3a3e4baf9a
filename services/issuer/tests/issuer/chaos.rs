//! Promise 9 while everything breaks: issuers and schedulers are killed, issuers are put to sleep,
//! the store is killed and keeps what it acknowledged, replies are cut after they were executed.

use std::{collections::HashSet, time::Duration};

use anteroom_core::event::Application;
use anteroom_testkit::{Cut, PATIENCE, Proxy, Receiver, Redis, Service, until};
use rand::Rng as _;
use tokio::time::sleep;

use crate::stage::{Stage, webhook};

const STOCK: u64 = 200;
const VISITORS: u64 = 260;
const RULES: &str = "stock = 200\nover_apply = 1.3\nlease = \"1s\"\nmax_attempts = 1000\n";
const ISSUERS: usize = 3;
/// Longer than the lease.
const SLEEP: Duration = Duration::from_millis(1_500);

/// Some time, while there is still something to do.
fn moment() -> Duration {
    Duration::from_millis(rand::rng().random_range(20..400))
}

/// What must hold in the end: exactly the stock is issued, to each at most once, and every
/// application has ended.
async fn holds(stage: &Stage) {
    stage.until_all_ended().await;
    let snapshot = stage.snapshot().await;
    assert_eq!((snapshot.stock, snapshot.issued, snapshot.dead), (STOCK, STOCK, 0));
    let all = stage.applications(0..VISITORS).await;
    let count = |is: fn(&Application) -> bool| all.iter().filter(|it| is(it)).count() as u64;
    assert_eq!(count(|it| matches!(it, Application::Issued { .. })), STOCK);
    assert_eq!(count(|it| *it == Application::SoldOut), VISITORS - STOCK);
}

/// The receiver knows each by one key, however often it was called.
async fn each_once_at(receiver: &Receiver) {
    let keys = receiver.issued().await;
    assert_eq!(keys.iter().collect::<HashSet<_>>().len(), keys.len());
    assert!(keys.len() as u64 >= STOCK);
}

async fn issuers(stage: &Stage) -> Vec<Service> {
    let mut issuers = Vec::new();
    for _ in 0..ISSUERS {
        issuers.push(stage.deployment.issuer().await);
    }
    issuers
}

/// Kills or puts to sleep one after the other, and kills schedulers, until nothing is left to
/// issue. A sleeper wakes after its lease.
async fn torment(stage: &mut Stage, issuers: &mut [Service]) {
    for round in 0.. {
        sleep(moment()).await;
        let snapshot = stage.snapshot().await;
        if (snapshot.pending, snapshot.claimed) == (0, 0) {
            assert!(round > 3, "it was over before it began");
            return;
        }
        let victim = &mut issuers[round % ISSUERS];
        if round % 2 == 0 {
            victim.process.kill();
            *victim = stage.deployment.issuer().await;
        } else {
            victim.process.freeze();
            sleep(SLEEP).await;
            victim.process.thaw();
        }
        if round % 3 == 0 {
            stage.scheduler.process.kill();
            stage.scheduler = stage.deployment.scheduler().await;
        }
    }
}

async fn end(issuers: Vec<Service>) {
    for issuer in issuers {
        issuer.end().await;
    }
}

#[tokio::test]
async fn promise_09_issuers_that_are_killed_and_zombies_that_wake_issue_nothing_twice() {
    let receiver = Receiver::start().await;
    // So slow that there is always something in hand.
    let rules = format!("{RULES}max_per_second = 30\n");
    let mut stage = Stage::with_webhook(&receiver, "/issue", &rules).await;
    stage.apply(0..VISITORS).await;
    let mut issuers = issuers(&stage).await;
    torment(&mut stage, &mut issuers).await;
    holds(&stage).await;
    each_once_at(&receiver).await;
    end(issuers).await;
}

#[tokio::test]
async fn promise_09_codes_are_given_once_while_issuers_die() {
    let mut stage = Stage::new(&format!("{RULES}issue = \"codes\"\nmax_per_second = 30\n")).await;
    let codes: Vec<String> = (0..STOCK).map(|code| format!("CODE-{code}")).collect();
    stage.event.load_codes(&codes).await.expect("they are loaded");
    stage.apply(0..VISITORS).await;
    let mut issuers = issuers(&stage).await;
    torment(&mut stage, &mut issuers).await;
    holds(&stage).await;
    let (_, given) = stage.issued(0..VISITORS).await;
    assert_eq!(given.len() as u64, STOCK);
    end(issuers).await;
}

/// It writes each command to its file before it answers, so that it loses nothing.
#[tokio::test]
async fn promise_09_a_store_that_is_killed_again_and_again_loses_nothing() {
    let receiver = Receiver::start().await;
    let rules = webhook(&receiver, "/issue", &format!("{RULES}max_per_second = 60\n"));
    let mut stage = Stage::on(Redis::builder().durable().start().await, &rules).await;
    stage.apply(0..VISITORS).await;
    let issuers = issuers(&stage).await;
    for _ in 0..4 {
        sleep(moment()).await;
        stage.deployment.redis.restart().await;
    }
    holds(&stage).await;
    each_once_at(&receiver).await;
    end(issuers).await;
}

/// Each was executed and the issuer never heard of it, or it was not executed.
#[tokio::test]
async fn promise_09_replies_that_are_cut_are_requested_again() {
    let receiver = Receiver::start().await;
    let rules = format!("{RULES}max_per_second = 100\n");
    let stage = Stage::with_webhook(&receiver, "/fails/1", &rules).await;
    stage.apply(0..VISITORS).await;
    let proxy = Proxy::start(stage.deployment.redis.port()).await;
    let issuer = stage.deployment.issuer_with(&[("ANTEROOM_STORE__URL", &proxy.url())]).await;
    issuer.until_ready().await;
    for cut in [Cut::After, Cut::Before, Cut::Amid].repeat(4) {
        sleep(moment()).await;
        let before = proxy.cuts();
        // Whatever call comes next.
        proxy.cut(b"EVALSHA", cut);
        until("a call is cut", PATIENCE, async || proxy.cuts() > before).await;
    }
    holds(&stage).await;
    each_once_at(&receiver).await;
    issuer.end().await;
}
