//! Pools as these tests open and ask them.

use std::time::Duration;

use anteroom_core::pool::{
    AmountRequest, Answer, Drawn, Hold, Pool, Refusal, Rules, Snapshot, Sums,
};
use anteroom_core::rules::{Amount, Amounts};
use anteroom_core::store::Store;

use super::support::TimedStore;

/// A pool with these funds.
pub fn funded(funds: u64) -> Rules {
    Rules { funds: Some(funds), ..Rules::default() }
}

pub fn options(pairs: &[(&str, u64)]) -> Amounts {
    let pairs = pairs.iter().map(|(name, amount)| ((*name).to_owned(), *amount));
    Amounts::new(pairs).expect("amounts")
}

impl TimedStore {
    pub fn pool(&self, name: &str, rules: Rules) -> Pool {
        Pool::open_with_clock(&self.store, name, rules, 100_000, self.clock())
    }
}

/// One that goes by the store's own clock.
pub fn open(store: &Store, name: &str, rules: Rules) -> Pool {
    Pool::open(store, name, rules, 100_000)
}

/// An amount that the scripts do not round.
pub fn units(amount: u64) -> Amount {
    Amount::new(amount).expect("an amount")
}

pub async fn draw(pool: &Pool, amount: u64, id: &str) -> Answer<Drawn> {
    pool.draw(&AmountRequest::Amount(units(amount)), id).await.expect("an answer")
}

pub async fn try_hold(pool: &Pool, amount: u64, id: &str) -> Answer<Hold> {
    pool.hold(&AmountRequest::Amount(units(amount)), id).await.expect("an answer")
}

pub async fn hold(pool: &Pool, amount: u64, id: &str) -> Hold {
    match try_hold(pool, amount, id).await {
        Answer::Done(hold) => hold,
        other => panic!("no hold: {other:?}"),
    }
}

pub async fn look(pool: &Pool) -> Snapshot {
    pool.snapshot().await.expect("a look")
}

/// What it has, which is all that was ever put in.
pub async fn sums(pool: &Pool) -> Sums {
    let sums = look(pool).await.sums;
    assert!(sums.is_whole(), "{sums:?}");
    let audit = pool.audit().await.expect("an audit");
    assert!(audit.holds() && audit.kept == sums, "{audit:?}");
    sums
}

pub async fn tick(pool: &Pool) {
    while pool.sweep().await.expect("a tick").more {}
}

/// Lets time pass with a tick each second.
pub async fn pass(world: &TimedStore, pool: &Pool, seconds: u64) {
    for _ in 0..seconds {
        world.pass(Duration::from_secs(1));
        tick(pool).await;
    }
}

pub fn is_refused<T: std::fmt::Debug>(answer: Answer<T>) -> Refusal {
    match answer {
        Answer::Refused(refusal) => refusal,
        other => panic!("not refused: {other:?}"),
    }
}
