//! The limits' part: every operation called, and what its arguments repeat.

use std::time::Duration;

use anteroom_core::Kind as _;
use anteroom_core::changes::By;
use anteroom_core::limit::{Algorithm, Answer, Call, Check, Limits, Rule};
use anteroom_core::store::Store;
use futures_util::future::join_all;

use super::{MANY, Subsystem};

pub const SUBSYSTEM: Subsystem = Subsystem {
    name: Limits::NAME,
    folder: Limits::FOLDER,
    repeated: &[("(checks)*", |items| items.iter().all(|item| are_checks(item)))],
    call_everything: |store| Box::pin(call_everything(store)),
};

/// The fingerprint of an item, where it has a name, and 14 bytes for each of its checks.
fn are_checks(item: &[u8]) -> bool {
    let nameless = item.len().is_multiple_of(14);
    let checks = if nameless { item } else { item.get(8..).unwrap_or_default() };
    !checks.is_empty()
        && checks.len().is_multiple_of(14)
        && checks.chunks(14).all(|check| (1..=3).contains(&check[0]) && check[1] <= 1)
}

async fn call_everything(store: &Store) {
    let limits = Limits::open(store, 1_000);
    let check = |key, algorithm| Check {
        limit: "login",
        rule: Rule { algorithm, limit: 5, window: Duration::from_secs(60), shadow: false },
        key,
        group: Some("group"),
        cost: 2,
    };
    let all = Algorithm::ALL.map(|(algorithm, name)| check(name, algorithm));
    for id in [None, Some("1"), Some("1")] {
        let one = all.iter().map(|check| Call::one(check, id).expect("a call"));
        let several = (0..3).map(|_| Call::several(&all, id).expect("a call"));
        let answers = join_all(one.chain(several).map(|call| limits.check(call))).await;
        let decided = |answer| matches!(answer, Ok(Answer::Decided { .. }));
        assert!(answers.into_iter().all(decided), "as {id:?}");
    }
    let keys: Vec<_> = (0..MANY).map(|n| n.to_string()).collect();
    let calls =
        keys.iter().map(|key| Call::one(&check(key, Algorithm::Counter), None).expect("a call"));
    join_all(calls.map(|call| limits.check(call))).await;
    let by = By::operator("ops");
    for (_, name) in Algorithm::ALL {
        assert_eq!(limits.forget("login", name, Some("group"), &by).await, Ok(true));
        assert_eq!(limits.forget("login", name, Some("group"), &by).await, Ok(false));
    }
    limits.changes("login", None, 1).await.expect("a look");
}
