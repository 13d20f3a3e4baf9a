//! Promise 11: calls that are sent again, and links that break.

use std::time::Duration;

use anteroom_core::event::{AddStock, Apply, Claimed, Event, Failed, Finished, Rules};
use anteroom_core::store::Config;
use anteroom_testkit::{Proxy, Redis};

use super::requests::{apply_many, claim, finish, opened, stock};
use super::support::open;

#[tokio::test]
async fn promise_11_stock_is_given_once_for_each_name() {
    let (world, event) = opened(Rules::default()).await;
    assert_eq!(event.add_stock("a", 5).await, Ok(AddStock::Added(5)));
    assert_eq!(event.add_stock("b", 1).await, Ok(AddStock::Added(6)));
    assert_eq!(event.add_stock("a", 5).await, Ok(AddStock::Repeated(5)), "the first answer");
    assert_eq!(event.add_stock("a", 6).await, Ok(AddStock::Mismatch));
    // What was refused is decided again.
    let most = (1 << 53) - 1;
    assert_eq!(event.add_stock("c", most).await, Ok(AddStock::TooLarge));
    assert_eq!(event.add_stock("c", most - 6).await, Ok(AddStock::Added(most)));
    assert_eq!(event.snapshot().await.expect("a look").stock, most);
    let other = Event::open_with_clock(&world.store, "other", stock(1), 9, world.clock());
    assert_eq!(other.add_stock("a", 7).await, Ok(AddStock::Added(8)), "another event's name");
}

#[tokio::test]
async fn promise_11_a_name_holds_for_a_day_of_queue_time() {
    let (world, event) = opened(Rules::default()).await;
    assert_eq!(event.add_stock("a", 5).await, Ok(AddStock::Added(5)));
    // An outage of a week is no time at all.
    world.pass(Duration::from_secs(7 * 86_400));
    event.reclaim().await.expect("a tick");
    assert_eq!(event.add_stock("a", 5).await, Ok(AddStock::Repeated(5)));
    for _ in 0..86_400 / 5 {
        world.pass(Duration::from_secs(5));
        event.reclaim().await.expect("a tick");
    }
    assert_eq!(event.add_stock("a", 5).await, Ok(AddStock::Added(10)));
}

/// Every call whose reply is lost after it was executed has its effect once, and returns that.
#[tokio::test]
async fn promise_11_a_lost_reply_is_requested_again_and_the_effect_is_once() {
    let redis = Redis::start().await;
    redis.load(anteroom_core::scripts().iter().map(|script| script.source())).await;
    let proxy = Proxy::start(redis.port()).await;
    let store = open(Config::new(proxy.url())).await;
    let event = Event::open(&store, "coupon", stock(5), 100);
    apply_many(&event, 0..3).await;
    proxy.cut_reply_to(b"EVALSHA");
    assert!(matches!(event.apply("v3").await, Ok(Apply::Same(_))));
    proxy.cut_reply_to(b"EVALSHA");
    assert_eq!(event.add_stock("a", 5).await, Ok(AddStock::Repeated(10)));
    let claimed = claim(&event, 4).await;
    proxy.cut_reply_to(b"EVALSHA");
    let finished = event.finish(claimed.fence, &claimed.work[..1]).await.expect("an answer");
    assert_eq!(finished, [Finished::Issued { code: None, after: None }]);
    proxy.cut_reply_to(b"EVALSHA");
    let failed = event.fail(claimed.fence, 2, "no", Some(Duration::from_secs(9))).await;
    assert_eq!(failed, Ok(Failed::Retried));
    proxy.cut_reply_to(b"EVALSHA");
    assert_eq!(event.fail(claimed.fence, 3, "no", None).await, Ok(Failed::Dead));
    proxy.cut_reply_to(b"EVALSHA");
    assert_eq!(event.give_up("v2").await, Ok(true));
    assert_eq!(proxy.cuts(), 6);
    let shown = event.snapshot().await.expect("a look");
    assert_eq!((shown.stock, shown.issued, shown.failed, shown.dead), (10, 1, 1, 0));
    assert_eq!((shown.pending, shown.claimed), (1, 1));
}

/// No attempt is lost with the reply to a claim, however long the store is away.
#[tokio::test]
async fn promise_12_a_claim_whose_reply_is_lost_is_told_again() {
    let redis = Redis::start().await;
    let proxy = Proxy::start(redis.port()).await;
    let store = open(Config::new(proxy.url())).await;
    let rules = Rules { lease: Duration::from_secs(1), ..stock(5) };
    let event = Event::open(&store, "coupon", rules, 100);
    apply_many(&event, 0..2).await;
    let name = event.name_claim();
    proxy.cut_reply_to(b"EVALSHA");
    let first = event.claim_as(name, 1).await.expect("returned again");
    assert_eq!((proxy.cuts(), first.work.len(), first.work[0].attempt), (1, 1, 1));
    assert_eq!(event.claim_as(name, 1).await.as_ref(), Ok(&Claimed { pending: true, ..first }));
    // What went back to the line, or was finished meanwhile, is no part of the answer any more.
    let name = event.name_claim();
    let second = event.claim_as(name, 9).await.expect("the next");
    assert_eq!(event.give_back(second.fence, &[2]).await, Ok(1));
    let again = event.claim_as(name, 9).await.expect("the same");
    assert_eq!((again.fence, again.work.len()), (second.fence, 0));
    let name = event.name_claim();
    let third = event.claim_as(name, 9).await.expect("the next");
    assert_eq!(finish(&event, &third).await, 1);
    assert!(event.claim_as(name, 9).await.expect("the same").work.is_empty());
    assert!(claim(&event, 9).await.work.is_empty());
}
