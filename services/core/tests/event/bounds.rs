//! What an event takes in the store, and what it leaves.

use std::time::Duration;

use anteroom_core::event::{AddStock, Apply, Event, Rules};
use anteroom_core::store::Error;
use anteroom_testkit::PATIENCE;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

use super::requests::{apply, apply_many, claim, finish, opened, stock};
use super::support::{SECOND, START};

/// With visitor_ids of 36 bytes, as long as a UUID.
#[tokio::test]
async fn an_applicant_takes_at_most_150_bytes() {
    const MANY: u64 = 20_000;
    let (world, event) = opened(stock(MANY)).await;
    for from in (0..MANY).step_by(1_000) {
        let visitors: Vec<_> = (from..from + 1_000).map(|number| format!("{number:036}")).collect();
        let all = visitors.iter().map(|visitor| apply(&event, visitor));
        futures_util::future::join_all(all).await;
    }
    let mut bytes = 0;
    for key in world.redis.run::<Vec<String>>(&["KEYS", "*"]).await {
        bytes += world.redis.run::<u64>(&["MEMORY", "USAGE", &key, "SAMPLES", "0"]).await;
    }
    let each = bytes as f64 / MANY as f64;
    assert!(each <= 150.0, "{each} bytes");
}

#[tokio::test]
async fn a_full_store_takes_no_application_and_goes_on_issuing() {
    let (world, event) = opened(stock(9)).await;
    apply_many(&event, 0..3).await;
    world.fill(true).await;
    assert_eq!(event.apply("new").await, Err(Error::Full));
    assert_eq!(event.add_stock("a", 1).await, Err(Error::Full));
    assert_eq!(event.load_codes(&["a".to_owned()]).await, Err(Error::Full));
    event.reclaim().await.expect("a tick");
    let claimed = claim(&event, 2).await;
    assert_eq!(finish(&event, &claimed).await, 2);
    let claimed = claim(&event, 2).await;
    assert_eq!(event.give_back(claimed.fence, &[3]).await, Ok(1));
    world.fill(false).await;
    assert_eq!(event.add_stock("a", 1).await, Ok(AddStock::Added(10)), "the name was not used");
    apply(&event, "new").await;
}

/// Long after its end only the hash is left that says that the event was created.
#[tokio::test]
async fn promise_13_applications_are_dropped_long_after_the_end() {
    let (keep_ttl, ends_at) = (Duration::from_secs(86_400), Some(START / SECOND + 60));
    let (world, event) = opened(Rules { keep_ttl, ends_at, ..stock(9) }).await;
    apply_many(&event, 0..5).await;
    let claimed = claim(&event, 2).await;
    event.fail(claimed.fence, 1, "no", None).await.expect("an answer");
    // The last claim of an issuer has a TTL, by the store's own clock.
    let keys = async || world.redis.ttls().await.into_iter().filter(|ttl| *ttl < 0).count();
    let tick = async |until: u64| {
        while world.now() < until {
            world.set_now(until.min(world.now() + 5 * SECOND));
            event.reclaim().await.expect("a tick");
        }
    };
    let drops_at = START + (60 + 86_400) * SECOND;
    tick(drops_at - 1).await;
    assert!(keys().await > 3);
    tick(drops_at).await;
    assert_eq!(keys().await, 1);
    let shown = event.snapshot().await.expect("a look");
    assert_eq!((shown.stock, shown.pending, shown.claimed, shown.dead), (9, 0, 0, 0));
    assert_eq!(event.status("v3").await, Ok(None));
    // Who was given a unit is not known any more: no application is taken, whatever the rules.
    let later = Rules { ends_at: Some(world.now() / SECOND + 60), ..stock(9) };
    event.apply_rules(&later).await.expect("written");
    assert_eq!(event.apply("v0").await, Ok(Apply::NotOpen { opens_in: None }));
    assert!(claim(&event, 9).await.work.is_empty());
}

/// Work to claim is announced on the event's channel, and only if no issuer may know of
/// it.
#[tokio::test]
async fn issuers_are_woken_when_there_is_something_to_claim() {
    let (world, event) = opened(stock(9)).await;
    event.snapshot().await.expect("its birth");
    let stream = TcpStream::connect(("127.0.0.1", world.redis.port())).await.expect("Redis");
    let mut stream = BufReader::new(stream);
    let channel = Event::wake_channel("coupon");
    assert_eq!(channel, "anteroom:v1:event:{coupon}:wake");
    stream.write_all(format!("SUBSCRIBE {channel}\r\n").as_bytes()).await.expect("sent");
    let mut line = String::new();
    while !line.starts_with(":1") {
        line.clear();
        stream.read_line(&mut line).await.expect("subscribed");
    }
    let before = world.redis.calls("publish").await;
    let messages = async || world.redis.calls("publish").await - before;
    assert_eq!(event.kick().await, Ok(false), "nothing to claim");
    apply(&event, "ann").await;
    assert_eq!(messages().await, 1);
    apply(&event, "bob").await;
    assert_eq!(messages().await, 1, "issuers that work come back by themselves");
    assert_eq!(event.kick().await, Ok(true));
    let claimed = claim(&event, 9).await;
    assert_eq!(event.kick().await, Ok(false), "all of it is claimed");
    event.give_back(claimed.fence, &[1]).await.expect("given back");
    assert_eq!(messages().await, 3);
    let mut seen = 0;
    while seen < 3 {
        line.clear();
        let read = tokio::time::timeout(PATIENCE, stream.read_line(&mut line)).await;
        read.expect("a message").expect("a line");
        seen += u64::from(line.starts_with("message"));
    }
}
