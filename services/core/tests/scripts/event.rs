//! The events' part: every operation called, and what its arguments repeat.

use std::time::Duration;

use anteroom_core::Kind as _;
use anteroom_core::event::{Event, Issue, Retried, Rules};
use anteroom_core::store::Store;
use futures_util::future::join_all;

use super::{MANY, Subsystem};

pub const SUBSYSTEM: Subsystem = Subsystem {
    name: Event::NAME,
    folder: Event::FOLDER,
    repeated: &[
        ("(rule, value)*", |pairs| pairs.len() % 2 == 0),
        ("(visitor)*", |visitors| visitors.iter().all(|it| (15..=14 + 128).contains(&it.len()))),
        ("(digest)*", |digests| digests.iter().all(|it| it.len() == 14)),
        ("(sequence)*", |sequences| sequences.iter().all(|it| is_number(it))),
        ("(application)*", |applications| applications.iter().all(|it| is_number(&it[14..]))),
        ("(code)*", |codes| codes.iter().all(|it| (13..=12 + 200).contains(&it.len()))),
    ],
    call_everything: |store| Box::pin(call_everything(store)),
};

fn is_number(arg: &[u8]) -> bool {
    !arg.is_empty() && arg.iter().all(u8::is_ascii_digit)
}

async fn call_everything(store: &Store) {
    let rules = Rules { stock: Some(MANY), issue: Issue::Codes, ..Rules::default() };
    // The first application finds no rules, and seeds them.
    let event = Event::open(store, "e", rules.clone(), 1_000);
    let event = event.by("ops");
    event.apply("visitor 0").await.expect("an application");
    event.apply_rules(&rules).await.expect("the rules are written");
    let visitors: Vec<_> = (0..MANY).map(|n| format!("visitor {n}")).collect();
    join_all(visitors.iter().map(|it| event.apply(it))).await;
    join_all(visitors.iter().map(|it| event.status(it))).await;
    event.add_stock("more", 5).await.expect("stock");
    event.load_codes(&["one".into(), "two".into(), "three".into()]).await.expect("codes");
    let claimed = event.claim(3).await.expect("a claim");
    let sequences: Vec<_> = claimed.work.iter().map(|work| work.sequence).collect();
    assert_eq!(sequences, [1, 2, 3]);
    event.renew(claimed.fence, &sequences).await.expect("a renewal");
    event.finish(claimed.fence, &claimed.work[..1]).await.expect("an end");
    event.fail(claimed.fence, 2, "no", None).await.expect("a failure");
    event.fail(claimed.fence, 3, "no", Some(Duration::ZERO)).await.expect("a failure");
    event.give_back(claimed.fence, &sequences).await.expect("a return");
    event.dead(0, 10).await.expect("a look");
    let second = &claimed.work[1].visitor_id;
    assert_eq!(event.retry_dead(&[second]).await, Ok(Retried { retried: 1, dead: 0 }));
    assert_eq!(event.give_up(second).await, Ok(false));
    event.changes(None, 1).await.expect("a look");
    event.reclaim().await.expect("a tick");
    event.kick().await.expect("a kick");
    event.snapshot().await.expect("a snapshot");
}
