//! Lanes: order, isolation, bounds, cancelled callers, panics.

use std::{
    borrow::Cow,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use anteroom_core::store::{Args, Batch, Config, Error, Lane, Repeat, Script, Sharded};
use anteroom_testkit::{PATIENCE, Redis, until};
use prometheus::Registry;
use redis::Value;

use crate::support::{
    Deposit, Deposits, LIST, SCRIPTS, brisk, fresh, open, open_in, opened, patient, proxied,
};

fn list_key(list: &str) -> Args {
    Args::new().with(format!("test:{{{list}}}:list"))
}

/// Appends to a list; "bad" is refused.
struct Append {
    keys: Args,
    panic: Arc<AtomicBool>,
}

impl Append {
    fn to(list: &str) -> Self {
        Self { keys: list_key(list), panic: Arc::default() }
    }
}

impl Batch for Append {
    type Item = String;
    type Outcome = i64;
    const MAX_ITEMS: usize = 16;

    fn script(&self) -> &'static Script {
        &LIST
    }

    fn keys(&self, _items: &[String]) -> Cow<'_, Args> {
        Cow::Borrowed(&self.keys)
    }

    fn args(&self, items: &[String]) -> Args {
        assert!(!items.iter().any(|item| item == "panic in args"), "as the test wants");
        let mut args = Args::new();
        for item in items {
            args.push(item);
        }
        args
    }

    fn outcomes(&self, reply: Value, items: &[String]) -> Result<Vec<Result<i64, Error>>, Error> {
        assert!(!self.panic.swap(false, Ordering::SeqCst), "as the test wants");
        let lengths: Vec<i64> = redis::from_redis_value(reply).expect("numbers");
        assert!(!items.iter().any(|item| item == "panic in outcomes"), "as the test wants");
        Ok(lengths
            .into_iter()
            .map(|length| match length {
                -1 => Err(Error::Reply { operation: LIST.name, detail: "bad".into() }),
                length => Ok(length),
            })
            .collect())
    }

    fn repeat(&self, _items: &[String]) -> Repeat {
        Repeat::Never
    }
}

async fn stored(redis: &Redis, list: &str) -> Vec<String> {
    redis.run(&["LRANGE", &format!("test:{{{list}}}:list"), "0", "-1"]).await
}

type Answers = tokio::task::JoinSet<(String, Result<i64, Error>)>;

/// Submits all items in order without waiting for the answers.
async fn submit_all(lane: &Lane<Append>, items: impl IntoIterator<Item = String>) -> Answers {
    let mut answers = Answers::new();
    for item in items {
        let lane = lane.clone();
        answers.spawn(async move {
            let answer = lane.submit(item.clone()).await;
            (item, answer)
        });
        // On one thread the task runs up to its first wait now, which keeps the order.
        tokio::task::yield_now().await;
    }
    answers
}

#[tokio::test]
async fn a_lone_request_is_one_call_at_once() {
    let (redis, store) = fresh().await;
    let lane = Lane::start(&store, Append::to("a"), 8);
    redis.forget_calls().await;
    for length in 1..=5 {
        assert_eq!(lane.submit("x".into()).await, Ok(length));
        assert_eq!(redis.evalsha_calls().await, length.unsigned_abs());
    }
}

#[tokio::test]
async fn what_arrives_in_flight_shares_the_next_call_in_order() {
    let redis = Redis::start().await;
    let registry = Registry::new();
    let store = open_in(&registry, &patient(redis.url()));
    assert!(store.wait_up(PATIENCE).await);
    let lane = Lane::start(&store, Append::to("a"), 1000);
    redis.forget_calls().await;
    redis.freeze();
    let items: Vec<String> = (0..161).map(|number| number.to_string()).collect();
    let answers = submit_all(&lane, items.clone()).await;
    redis.thaw();
    for (item, answer) in answers.join_all().await {
        assert_eq!(answer.unwrap(), item.parse::<i64>().unwrap() + 1, "place of {item}");
    }
    assert_eq!(stored(&redis, "a").await, items);
    // One alone, then ten full calls.
    assert_eq!(redis.evalsha_calls().await, 11);
    let text = prometheus::TextEncoder::new().encode_to_string(&registry.gather()).unwrap();
    for line in [
        "anteroom_store_batch_items_sum{operation=\"test.list\"} 161",
        "anteroom_store_batch_items_count{operation=\"test.list\"} 11",
        "anteroom_operations_total{operation=\"test.list\",outcome=\"ok\"} 161",
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
}

/// Appends like [`Append`]; an item weighs as much as it is long.
struct Weighed(Append);

impl Batch for Weighed {
    type Item = String;
    type Outcome = i64;
    const MAX_ITEMS: usize = 16;

    fn script(&self) -> &'static Script {
        &LIST
    }

    fn keys(&self, items: &[String]) -> Cow<'_, Args> {
        self.0.keys(items)
    }

    fn args(&self, items: &[String]) -> Args {
        self.0.args(items)
    }

    fn outcomes(&self, reply: Value, items: &[String]) -> Result<Vec<Result<i64, Error>>, Error> {
        self.0.outcomes(reply, items)
    }

    fn weight(item: &String) -> usize {
        item.len()
    }
}

/// Each call takes what is light enough; what is too heavy for any company goes alone.
#[tokio::test]
async fn heavy_items_share_a_call_with_fewer_others_in_order() {
    let (redis, store) = fresh().await;
    let lane = Lane::start(&store, Weighed(Append::to("a")), 1000);
    let weights = [1, 8, 8, 1, 15, 1, 40, 16, 1, 2, 3, 4, 5, 6];
    // What a call is full of, in the order in which it came: the first goes alone.
    let calls: [&[usize]; 7] = [&[1], &[8, 8], &[1, 15], &[1], &[40], &[16], &[1, 2, 3, 4, 5]];
    redis.forget_calls().await;
    redis.freeze();
    let mut answers = tokio::task::JoinSet::new();
    for (at, weight) in weights.into_iter().enumerate() {
        let lane = lane.clone();
        answers.spawn(async move { (at, lane.submit("x".repeat(weight)).await) });
        tokio::task::yield_now().await;
    }
    redis.thaw();
    for (at, answer) in answers.join_all().await {
        assert_eq!(answer, Ok(at as i64 + 1), "item {at}");
    }
    let stored: Vec<_> = stored(&redis, "a").await.iter().map(String::len).collect();
    assert_eq!(stored, weights);
    // And the last by itself.
    assert_eq!(redis.evalsha_calls().await, calls.len() as u64 + 1);
}

#[tokio::test]
async fn an_items_failure_is_its_own() {
    let (redis, store) = fresh().await;
    let lane = Lane::start(&store, Append::to("a"), 100);
    redis.freeze();
    let items = ["first", "a", "bad", "b"].map(String::from);
    let answers = submit_all(&lane, items).await;
    redis.thaw();
    for (item, answer) in answers.join_all().await {
        assert_eq!(answer.is_err(), item == "bad", "{item}: {answer:?}");
    }
    assert_eq!(stored(&redis, "a").await, ["first", "a", "b"]);
}

#[tokio::test]
async fn beyond_the_bound_it_refuses_at_once() {
    let (redis, store) = fresh().await;
    let lane = Lane::start(&store, Append::to("a"), 4);
    redis.freeze();
    // One in flight, four waiting, the rest refused without an answer from Redis.
    let mut answers = submit_all(&lane, (0..8).map(|number| number.to_string())).await;
    for _ in 0..3 {
        let (item, answer) = answers.join_next().await.unwrap().unwrap();
        assert_eq!(answer, Err(Error::Overloaded), "{item}");
    }
    redis.thaw();
    while let Some(answer) = answers.join_next().await {
        assert!(answer.unwrap().1.is_ok());
    }
    assert_eq!(stored(&redis, "a").await, ["0", "1", "2", "3", "4"]);
}

#[tokio::test]
async fn a_caller_that_goes_away_takes_nothing_with_it() {
    let (redis, store) = fresh().await;
    let lane = Lane::start(&store, Append::to("a"), 100);
    redis.freeze();
    let mut flying = submit_all(&lane, ["in flight".into()]).await;
    let mut waiting = submit_all(&lane, ["gone".into()]).await;
    let staying = submit_all(&lane, ["stays".into()]).await;
    flying.shutdown().await;
    waiting.shutdown().await;
    redis.thaw();
    for (_, answer) in staying.join_all().await {
        assert_eq!(answer, Ok(2));
    }
    // Who went before it was sent was never sent.
    assert_eq!(stored(&redis, "a").await, ["in flight", "stays"]);
}

#[tokio::test]
async fn a_panic_fails_its_call_and_not_the_lane() {
    let (_redis, store) = fresh().await;
    let batch = Append::to("a");
    let in_outcomes = batch.panic.clone();
    let lane = Lane::start(&store, batch, 100);
    let failed = lane.submit("panic in args".into()).await;
    assert!(matches!(failed, Err(Error::Reply { .. })), "{failed:?}");
    assert_eq!(lane.submit("one".into()).await, Ok(1));
    in_outcomes.store(true, Ordering::SeqCst);
    let failed = lane.submit("two".into()).await;
    assert!(matches!(failed, Err(Error::Reply { .. })), "{failed:?}");
    assert_eq!(lane.submit("three".into()).await, Ok(3));
}

#[tokio::test]
async fn one_lane_does_not_starve_another() {
    let (redis, store) = fresh().await;
    let busy = Lane::start(&store, Append::to("busy"), 10_000);
    let quiet = Lane::start(&store, Append::to("quiet"), 8);
    redis.freeze();
    let crowd = submit_all(&busy, (0..5_000).map(|number| number.to_string())).await;
    let lone = tokio::spawn(async move { quiet.submit("x".into()).await });
    tokio::task::yield_now().await;
    redis.thaw();
    assert_eq!(lone.await.unwrap(), Ok(1));
    let served_before = stored(&redis, "busy").await.len();
    assert!(served_before < 5_000, "the lone request waited for the whole crowd");
    assert_eq!(crowd.join_all().await.len(), 5_000);
}

#[tokio::test]
async fn everyone_is_answered_when_the_server_dies() {
    let mut redis = Redis::start().await;
    let store =
        opened(&Config { request_timeout: Duration::from_millis(500), ..brisk(redis.url()) }).await;
    let lane = Lane::start(&store, Append::to("a"), 100);
    redis.freeze();
    let answers = submit_all(&lane, (0..40).map(|number| number.to_string())).await;
    redis.kill();
    for (item, answer) in answers.join_all().await {
        match answer {
            Err(Error::Unknown(_)) | Err(Error::Unavailable(_)) => {}
            other => panic!("{item}: {other:?}"),
        }
    }
    redis.restart().await;
    assert!(store.wait_up(PATIENCE).await);
    assert_eq!(lane.submit("again".into()).await, Ok(1));
}

#[tokio::test]
async fn time_up_before_sending_is_harmless_and_after_sending_unknown() {
    let redis = Redis::start().await;
    redis.load(SCRIPTS.iter().map(|script| script.source())).await;
    let short = Duration::from_millis(300);
    let config = Config { command_timeout: short, request_timeout: short, ..patient(redis.url()) };
    let store = opened(&config).await;
    let lane = Lane::start(&store, Append::to("a"), 100);
    redis.freeze();
    let answers = submit_all(&lane, (0..40).map(|number| number.to_string())).await;
    let (mut unknown, mut harmless) = (Vec::new(), Vec::new());
    for (item, answer) in answers.join_all().await {
        match answer {
            Err(Error::Unknown(_)) => unknown.push(item),
            Err(Error::Overloaded | Error::Unavailable(_)) => harmless.push(item),
            other => panic!("{item}: {other:?}"),
        }
    }
    // The first went alone and held up the others.
    assert!(unknown.contains(&"0".to_owned()), "{unknown:?}");
    redis.thaw();
    until("what was sent is executed", PATIENCE, || async {
        stored(&redis, "a").await.len() == unknown.len()
    })
    .await;
    let executed = stored(&redis, "a").await;
    assert!(!executed.iter().any(|item| harmless.contains(item)), "{executed:?} {harmless:?}");
}

#[tokio::test]
async fn without_a_store_a_lane_fails_at_once() {
    let mut redis = Redis::start().await;
    redis.kill();
    let store = open(&patient(redis.url()));
    let lane = Lane::start(&store, Append::to("a"), 100);
    for _ in 0..100 {
        let answer = tokio::time::timeout(PATIENCE, lane.submit("x".into())).await;
        assert!(matches!(answer, Ok(Err(Error::Unavailable(_)))), "{answer:?}");
    }
}

#[tokio::test]
async fn on_a_single_server_one_lane_serves_all_tags() {
    let (redis, store) = fresh().await;
    let lanes = Arc::new(Sharded::new(&store, 16, || Deposits, 100));
    redis.forget_calls().await;
    redis.freeze();
    let mut totals = Vec::new();
    for number in 0..49 {
        let lanes = lanes.clone();
        let deposit = Deposit { tag: number % 16, account: "a", id: None };
        totals.push(tokio::spawn(async move { deposit.submit(&lanes).await }));
        // On one thread the task runs up to its first wait now.
        tokio::task::yield_now().await;
    }
    redis.thaw();
    for (number, total) in totals.into_iter().enumerate() {
        assert_eq!(total.await.unwrap(), Ok(1 + number as i64 / 16), "deposit {number}");
    }
    // One alone, then three full calls of all tags.
    assert_eq!(redis.evalsha_calls().await, 4);
}

/// Whether a second run would count twice depends on the items.
#[tokio::test]
async fn a_lost_reply_is_requested_again_when_each_item_of_the_call_allows_it() {
    let (redis, proxy, store) = proxied(patient).await;
    let lanes = Sharded::new(&store, 4, || Deposits, 100);
    let total = async |account: &str| -> i64 {
        redis.run(&["HGET", &format!("test:{{1}}:{account}"), "total"]).await
    };
    let deposit = |account, id| Deposit { tag: 1, account, id }.submit(&lanes);

    proxy.cut_reply_to(b"named");
    assert_eq!(deposit("named", Some("one")).await, Ok(1));
    assert_eq!((proxy.cuts(), total("named").await), (1, 1));

    proxy.cut_reply_to(b"nameless");
    let lost = deposit("nameless", None).await;
    assert!(matches!(lost, Err(Error::Unknown(_))), "{lost:?}");
    assert_eq!((proxy.cuts(), total("nameless").await), (2, 1));

    // On one thread both ask before the lane sends: they share a call.
    assert!(store.wait_up(PATIENCE).await);
    proxy.cut_reply_to(b"mixed");
    let (one, other) = tokio::join!(deposit("mixed", Some("one")), deposit("mixed", None));
    for lost in [one, other] {
        assert!(matches!(lost, Err(Error::Unknown(_))), "{lost:?}");
    }
    assert_eq!((proxy.cuts(), total("mixed").await), (3, 2));
}

#[tokio::test]
async fn a_lane_ends_with_its_last_handle() {
    let (_redis, store) = fresh().await;
    let batch = Append::to("a");
    let held = Arc::downgrade(&batch.panic);
    let lane = Lane::start(&store, batch, 100);
    let second = lane.clone();
    drop(lane);
    assert_eq!(second.submit("x".into()).await, Ok(1));
    drop(second);
    until("the lane lets go of its batch", PATIENCE, || async { held.upgrade().is_none() }).await;
}

#[tokio::test]
async fn a_single_server_needs_one_lane_for_all_tags() {
    let (_redis, store) = fresh().await;
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let before = tasks();
    let lanes = Sharded::new(&store, 16, || Deposits, 100);
    for tag in 0..16 {
        let deposit = Deposit { tag, account: "a", id: None };
        deposit.submit(&lanes).await.expect("a sum");
    }
    assert_eq!(tasks() - before, 1);
}
