//! What holds back a flood before it costs a Redis command.

use std::time::Duration;

use anteroom_testkit::{PATIENCE, until};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::{
    answer::Answer,
    gate_joins::WIDE,
    joining::identity,
    raw::Raw,
    room::{Call, ONE, PATIENT, Room, TOKEN},
    shared::IDENTITY,
};

const JOIN: &str = "/v1/queues/:name/tokens";
const HEAD: &str = "POST /v1/queues/:name/tokens HTTP/1.1\r\nhost: room\r\n\
    content-type: application/json\r\n";

async fn join_from(room: &Room, forwarded: &str) -> Answer {
    room.post(JOIN).header("x-forwarded-for", forwarded).send().await
}

/// How often admission has called a script.
async fn store_calls(room: &Room, operation: &str) -> u64 {
    room.count(&format!("anteroom_store_call_seconds_count{{operation=\"{operation}\"}}")).await
}

/// The warning that is logged when one address can hold half of the slots.
const CROWDING: &str = "one client address can hold";

/// How often it was logged about the room's queue.
fn warnings(room: &Room) -> usize {
    let log = room.anteroom.admission.process.stdout();
    log.matches(&format!("queues.{}: {CROWDING}", room.name)).count()
}

pub const TWO_PLACES: &str = "[queues.:name]\ncapacity = 3\nplaces_per_address = 2\n\
    exempt = [\"198.51.100.0/24\"]\n";
pub const TWO_JOINS: &str = "[queues.:name]\ncapacity = 1\njoins_per_address = \"2/1h\"\n\
    exempt = [\"198.51.100.0/24\"]\n";
pub const FEW_JOINS: &str = "[queues.:name]\ncapacity = 1\nmax_waiting = 2\n\
    joins_per_address = \"3/1h\"\n";
pub const FEW_WAIT: &str = "[queues.:name]\ncapacity = 1\nmax_waiting = 1\n\
    joins_per_address = \"3/1h\"\n";
pub const SLOW: &str = "[queues.:name]\ncapacity = 2\nrequests_per_place = 2\n";
pub const FIVE_JOINS: &str = "[queues.:name]\ncapacity = 1\njoins_per_address = \"5/1h\"\n";

#[tokio::test]
async fn places_per_address_counts_places_that_are_held() {
    let room = Room::shared(TWO_PLACES).await;
    let from = "203.0.113.7";
    let [first, second] = [join_from(&room, from).await, join_from(&room, from).await];
    assert_eq!([first.status, second.status], [201, 201]);
    for _ in 0..3 {
        let refused = join_from(&room, from).await;
        refused.refuses(429, "join_limited");
        assert!(refused.text.contains("places_per_address"), "{refused:?}");
        let after: u64 = refused.header("retry-after").parse().expect("seconds");
        assert!((5..=60).contains(&after), "{after}");
    }
    let gate = || room.get("/v1/queues/:name/authorize?join=1").header("x-forwarded-for", from);
    gate().send().await.refuses(403, "join_limited");
    // A valid token is never refused.
    room.post(JOIN).token(&first.token()).header("x-forwarded-for", from).send().await.is(200);
    gate().token(&first.token()).send().await.is(200);
    // Other addresses, an exempt network and a backend join.
    join_from(&room, "203.0.113.8").await.is(201);
    for n in 0..4 {
        join_from(&room, "198.51.100.9").await.is(201);
        let body = json!({ "visitor_id": format!("visitor {n}") });
        room.post_json(JOIN, body).await.is(201);
    }
    // A place that has ended counts no more.
    let place = "/v1/queues/:name/token";
    room.call("public", Method::DELETE, place).token(&second.token()).send().await.is(204);
    join_from(&room, from).await.is(201);
    join_from(&room, from).await.refuses(429, "join_limited");
    // The log names no address that was counted.
    let log = room.anteroom.admission.process.stdout();
    assert!(warnings(&room) == 1 && !log.contains(from), "{log}");
}

#[tokio::test]
async fn a_reload_by_which_one_address_can_hold_half_of_the_slots_is_warned_of() {
    let queues = "[queues.:name]\ncapacity = 3\nplaces_per_address = 1\n";
    let room = Room::start(queues).await;
    assert_eq!(warnings(&room), 0);
    room.reconfigure(&queues.replace("address = 1", "address = 2"));
    until("a warning", PATIENCE, async || warnings(&room) == 1).await;
    // Whatever is changed, each reload warns.
    let other =
        queues.replace("address = 1", "address = 2").replace("capacity", "batch = 9\ncapacity");
    room.reconfigure(&other);
    until("another warning", PATIENCE, async || warnings(&room) == 2).await;
}

/// 600 joins of one address that keeps its tokens.
#[tokio::test]
async fn one_address_holds_a_quarter_of_the_slots() {
    let room = Room::shared(WIDE).await;
    let joins = (0..600).map(|_| async { room.post(JOIN).send().await.status });
    let statuses = futures_util::future::join_all(joins).await;
    let held = statuses.iter().filter(|status| **status == 201).count();
    let refused = statuses.iter().filter(|status| **status == 429).count();
    // The first one is not counted, and is taken off the bound.
    assert_eq!((held, refused), (75, 525));
    assert_eq!(warnings(&room), 0);
}

#[tokio::test]
async fn joins_per_address_counts_the_client_behind_trusted_proxies() {
    let room = Room::shared(TWO_JOINS).await;
    let first = join_from(&room, "203.0.113.7").await;
    first.is(201);
    join_from(&room, "6.6.6.6, 203.0.113.7").await.is(201);
    for claimed in
        ["203.0.113.7", "6.6.6.7, 203.0.113.7", "203.0.113.7, 10.1.1.1", "x, 203.0.113.7:80"]
    {
        let refused = join_from(&room, claimed).await;
        refused.refuses(429, "join_limited");
        let after: u64 = refused.header("retry-after").parse().expect("seconds");
        assert!((1..=1_800).contains(&after), "{after}");
    }
    let held = room.post(JOIN).token(&first.token()).header("x-forwarded-for", "203.0.113.7");
    held.send().await.is(200).place("ready");
    let gate = room.get("/v1/queues/:name/authorize?join=1");
    gate.header("x-forwarded-for", "203.0.113.7").send().await.refuses(403, "join_limited");

    join_from(&room, "203.0.113.8").await.is(201);
    for _ in 0..5 {
        join_from(&room, "198.51.100.9").await.is(201);
    }
    for (address, status) in [
        ("2001:db8:0:1::1", 201),
        ("2001:db8:0:1::2", 201),
        ("2001:db8:0:1:ffff::3", 429),
        ("2001:db8:0:2::1", 201),
    ] {
        join_from(&room, address).await.is(status);
    }
}

#[tokio::test]
async fn only_new_places_count() {
    // Of its own, so that all joins are the test's.
    let room = Room::behind_own_admission(FEW_JOINS, &[]).await;
    let key = |key: &'static str| room.post(JOIN).header("idempotency-key", key).send();
    let (one, two) = ("one-key-of-22-characters", "another-of-22-characters");
    let ready = key(one).await.is(201).token();
    for _ in 0..10 {
        key(one).await.is(200);
        room.post(JOIN).token(&ready).send().await.is(200);
    }
    let waiting = key(two).await.is(201).token();
    room.join().await.is(201);
    for _ in 0..5 {
        // The room is full, but the address has used up its rate, too; places are kept.
        room.join().await.refuses(429, "join_limited");
    }
    let calls = async || store_calls(&room, "queue.join").await;
    let before = calls().await;
    assert!(before > 0);
    for (token, status) in [(&ready, "ready"), (&waiting, "waiting")] {
        room.post(JOIN).token(token).send().await.is(200).place(status);
    }
    // A key is no proof, so it would take a call.
    key(one).await.refuses(429, "join_limited");
    room.leave(&waiting).await.is(204);
    room.post(JOIN).token(&waiting).send().await.refuses(429, "join_limited");
    let gate = room.get("/v1/queues/:name/authorize?join=1").token(&waiting);
    gate.send().await.refuses(403, "join_limited");
    assert_eq!(calls().await, before, "no join reached Redis");
}

#[tokio::test]
async fn promise_04_a_full_queue_keeps_places_and_a_join_without_a_place_does_not_count() {
    let room = Room::shared(FEW_WAIT).await;
    let key = |key: &'static str| room.post(JOIN).header("idempotency-key", key).send();
    let (one, two) = ("one-key-of-22-characters", "another-of-22-characters");
    key(one).await.is(201).place("ready");
    let waiting = key(two).await.is(201).token();
    for _ in 0..5 {
        room.join().await.refuses(503, "queue_full");
    }
    for (key, ticket, status) in [(key(one), 1, "ready"), (key(two), 2, "waiting")] {
        assert_eq!(key.await.is(200).place(status)["ticket"], ticket, "also when it is full");
    }
    room.leave(&waiting).await.is(204);
    room.join().await.is(201);
    room.join().await.refuses(429, "join_limited");
}

#[tokio::test]
async fn an_address_that_no_trusted_proxy_forwards_is_ignored_with_a_warning() {
    let env = [("ANTEROOM_ADMISSION__TRUSTED_PROXIES", "")];
    let room = Room::behind_own_admission(TWO_JOINS, &env).await;
    let ignored = async || room.count("anteroom_forwarding_ignored_total").await;
    room.get("/v1/queues/:name").send().await.is(200);
    room.get("/v1/queues/:name/token").send().await.refuses(401, "token_missing");
    assert_eq!(ignored().await, 0);
    join_from(&room, "203.0.113.1").await.is(201);
    join_from(&room, "203.0.113.2").await.is(201);
    join_from(&room, "203.0.113.3").await.refuses(429, "join_limited");
    let forwarded = room.get("/v1/queues/:name/authorize").header("forwarded", "for=203.0.113.4");
    forwarded.send().await.refuses(401, "token_missing");
    assert_eq!(ignored().await, 4);
    let log = room.anteroom.admission.process.stdout();
    let lines: Vec<_> = log.lines().filter(|line| line.contains("trusted_proxies")).collect();
    assert_eq!(lines.len(), 1, "warned once: {lines:?}");
    for part in ["\"WARN\"", "127.0.0.1", "joins_per_address", "places_per_address"] {
        assert!(lines[0].contains(part), "{part}: {}", lines[0]);
    }
}

#[tokio::test]
async fn a_page_of_many_parts_passes() {
    let room = Room::shared(ONE).await;
    let token = room.join().await.is(201).token();
    let mut parts = tokio::task::JoinSet::new();
    for _ in 0..120 {
        parts.spawn(room.get("/v1/queues/:name/authorize").token(&token).send());
    }
    for part in parts.join_all().await {
        part.is(200);
    }
}

#[tokio::test]
async fn requests_per_place_slow_down_one_place_only() {
    let room = Room::shared(SLOW).await;
    let (hasty, calm) = (room.join().await.token(), room.join().await.token());
    let path = "/v1/queues/:name/token";
    let refused = async |gate: bool| {
        for _ in 0..100 {
            let path = if gate { "/v1/queues/:name/authorize" } else { path };
            let answer = room.get(path).token(&hasty).send().await;
            if answer.status != 200 {
                return answer;
            }
        }
        panic!("a hundred requests at once passed");
    };
    assert!(!refused(false).await.refuses(429, "slow_down").header("retry-after").is_empty());
    refused(true).await.refuses(403, "slow_down");
    room.get(path).token(&calm).send().await.is(200);
    until("the hasty one may poll again", PATIENCE, async || {
        room.get(path).token(&hasty).send().await.status == 200
    })
    .await;
}

/// A way to join, and the join of a visitor.
type Way<'a> = (&'a str, &'a dyn Fn(&str) -> Call);

#[tokio::test]
async fn requests_per_place_count_a_join_that_is_repeated_too() {
    // Of its own, so that all joins are the test's.
    let room = Room::behind_own_admission(SLOW, &[IDENTITY]).await;
    let key = |key: &str| room.post(JOIN).header("idempotency-key", key);
    let known = |visitor_id: &str| {
        let assertion = identity(IDENTITY.1, &room.name, visitor_id, 120);
        room.post(JOIN).json(json!({ "assertion": assertion }))
    };
    let form = |key: &str| {
        let kind = "application/x-www-form-urlencoded";
        room.post("/queues/:name").browser().body(kind, format!("key={key}"))
    };
    let ways: [Way<'_>; 3] = [("a key", &key), ("an assertion", &known), ("a form", &form)];
    for (at, (way, join)) in ways.into_iter().enumerate() {
        let hasty = format!("the-hasty-visitor-number-{at}");
        // Six times two at once, as for a place; two a second flow in meanwhile.
        let mut passed = 0;
        let refused = loop {
            let answer = join(&hasty).send().await;
            if answer.status == 429 {
                break answer;
            }
            assert!([200, 201, 303].contains(&answer.status), "{way}: {answer:?}");
            passed += 1;
            assert!(passed < 100, "{way}: a hundred joins of one identity passed");
        };
        assert!(passed >= 12, "{way}: only {passed} joins passed");
        assert!(!refused.header("retry-after").is_empty(), "{way}");
        let calm = join(&format!("the-calm-visitor-number-{at}")).send().await;
        assert_ne!(calm.status, 429, "{way}: {calm:?}");
        until("the hasty one may join again", PATIENCE, async || {
            join(&hasty).send().await.status != 429
        })
        .await;
    }
    let flood = || async {
        for _ in 0..50 {
            key("the-hasty-visitor-number-0").send().await;
        }
    };
    flood().await;
    let before = store_calls(&room, "queue.join").await;
    let started = std::time::Instant::now();
    flood().await;
    let calls = store_calls(&room, "queue.join").await - before;
    let most = 2 * started.elapsed().as_secs() + 3;
    assert!(calls <= most, "{calls} of 50 repeated joins reached Redis, {most} may");
    key("the-hasty-visitor-number-0").token("forged").send().await.refuses(401, "token_invalid");
    for _ in 0..20 {
        // Without an identity each is a new place, which joins_per_address counts.
        room.join().await.is(201);
    }
}

#[tokio::test]
async fn a_body_of_16_kib_is_taken_and_no_more_in_any_form() {
    let room = Room::shared(ONE).await;
    let spaces =
        |count| room.post(JOIN).body("application/json", format!("{{{}}}", " ".repeat(count)));
    spaces(16 * 1024 - 2).send().await.is(201);
    spaces(16 * 1024 - 1).send().await.refuses(413, "body_too_large");
    let chunk = format!("1000\r\n{}\r\n", " ".repeat(0x1000));
    let chunks = format!("{HEAD}transfer-encoding: chunked\r\n\r\n{}", chunk.repeat(5));
    let answer = Raw::open(&room).await.say(&chunks).await.head().await;
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    let claimed = format!("{HEAD}content-length: 9999999999\r\n\r\n");
    let answer = Raw::open(&room).await.say(&claimed).await.head().await;
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
}

#[tokio::test]
async fn the_connection_past_the_cap_is_answered_503_while_all_are_being_served() {
    let env = [&[("ANTEROOM_ADMISSION__MAX_CONNECTIONS", "4")][..], &PATIENT].concat();
    let room = Room::start_with(ONE, &env).await;
    let mut tokens = Vec::new();
    for _ in 0..4 {
        tokens.push(room.join().await.token());
    }
    let get = async |path: &str, token: &str| {
        let get = format!(
            "GET /v1/queues/:name/{path} HTTP/1.1\r\nhost: room\r\n{TOKEN}: {token}\r\n\r\n"
        );
        Raw::open(&room).await.say(&get).await
    };
    // Two read events, as many as may; two wait for Redis.
    let mut open = Vec::new();
    for token in &tokens[..2] {
        let mut raw = get("token/events", token).await;
        assert!(raw.head().await.starts_with("HTTP/1.1 200 "));
        open.push(raw);
    }
    room.anteroom.deployment.redis.freeze();
    for token in &tokens[2..] {
        open.push(get("token", token).await);
    }
    let get = "GET /nothing HTTP/1.1\r\nhost: room\r\n\r\n";
    let mut raw = Raw::open(&room).await.say(get).await;
    let refused = raw.head().await + &raw.rest().await;
    assert!(refused.starts_with("HTTP/1.1 503 "), "{refused}");
    for part in [
        "retry-after: ",
        "cache-control: no-store\r\n",
        "x-request-id: ",
        "\"code\":\"overloaded\"",
    ] {
        assert!(refused.contains(part), "{refused}");
    }
    assert_eq!(room.count("anteroom_connections_refused_total").await, 1);
    drop(open);
    room.anteroom.deployment.redis.thaw();
    until("there is room again", PATIENCE, async || {
        Raw::open(&room).await.say(get).await.head().await.starts_with("HTTP/1.1 404 ")
    })
    .await;
}

#[tokio::test]
async fn the_connection_past_the_cap_takes_the_place_of_one_that_waits_for_its_client() {
    let env = [("ANTEROOM_ADMISSION__MAX_CONNECTIONS", "4")];
    let room = Room::behind_own_admission(ONE, &env).await;
    let get = "GET /nothing HTTP/1.1\r\nhost: room\r\n\r\n";
    let mut open = Vec::new();
    for _ in 0..12 {
        let mut raw = Raw::open(&room).await.say(get).await;
        assert!(raw.head().await.starts_with("HTTP/1.1 404 "));
        open.push(raw);
    }
    assert_eq!(room.count("anteroom_connections_refused_total").await, 0);
    assert_eq!(open[0].rest().await.split("\r\n\r\n").count(), 1, "it was closed");
}

#[tokio::test]
async fn the_request_past_the_cap_is_answered_at_once() {
    let env = [&[("ANTEROOM_ADMISSION__MAX_CONCURRENT_REQUESTS", "1")][..], &PATIENT].concat();
    let room = Room::start_with(ONE, &env).await;
    // A body that does not come is no request under way; a store that does not answer makes one.
    let head = format!("{HEAD}content-length: 2\r\nexpect: 100-continue\r\n\r\n");
    let mut bodiless = Raw::open(&room).await.say(&head).await;
    assert!(bodiless.head().await.starts_with("HTTP/1.1 100 "), "its body is waited for");
    room.get("/v1/queues/:name").send().await.is(200);
    room.anteroom.deployment.redis.freeze();
    // No look may hold the place just when the join comes: it waits for the store, or there was an
    // answer.
    let join = format!("{HEAD}content-length: 2\r\n\r\n{{}}");
    let mut joins = Raw::open(&room).await.say(&join).await;
    assert!(timeout(Duration::from_secs(1), joins.head()).await.is_err(), "the store is frozen");
    room.get("/x").send().await.refuses(503, "overloaded");
    let refused = room.get("/v1/queues/:name").send().await;
    let after: u64 =
        refused.refuses(503, "overloaded").header("retry-after").parse().expect("seconds");
    assert!((1..=15).contains(&after), "{after}");
    room.get("/v1/queues/:name/authorize").send().await.refuses(403, "overloaded");
    room.anteroom.deployment.redis.thaw();
    assert!(joins.head().await.starts_with("HTTP/1.1 201 "));
    room.get("/v1/queues/:name").send().await.is(200);
    bodiless = bodiless.say("{}").await;
    assert!(bodiless.head().await.starts_with("HTTP/1.1 201 "));
}

#[tokio::test]
async fn slow_clients_are_disconnected() {
    let env = [
        ("ANTEROOM_ADMISSION__FIRST_BYTE_TIMEOUT", "100ms"),
        ("ANTEROOM_ADMISSION__HEADER_TIMEOUT", "1s"),
    ];
    let room = Room::behind_own_admission(ONE, &env).await;
    assert_eq!(Raw::open(&room).await.rest().await, "", "no request");
    let half = Raw::open(&room).await.say("GET /v1/queues/:name HTTP/1.1\r\nho").await.rest().await;
    assert!(half.is_empty() || half.starts_with("HTTP/1.1 408 "), "half a head: {half}");
    let mut bodiless =
        Raw::open(&room).await.say(&format!("{HEAD}content-length: 2\r\n\r\n")).await;
    let answer = bodiless.rest().await;
    assert!(answer.starts_with("HTTP/1.1 408 "), "no body: {answer}");
    let body: Value = answer
        .split("\r\n\r\n")
        .nth(1)
        .and_then(|body| serde_json::from_str(body).ok())
        .unwrap_or_default();
    assert_eq!(body["code"], "body_timeout", "{answer}");
    assert_eq!(room.join().await.is(201).json()["ticket"], 1, "none of them joined");
}

/// One client that comes again and again before the opening is not taken for a crowd.
#[tokio::test]
async fn refused_joins_of_one_address_delay_no_other_visitor() {
    let room = Room::shared(FIVE_JOINS).await;
    let opens = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(600);
    room.patch_json("/v1/admin/queues/:name", json!({ "joins_at": opens.to_string() }))
        .await
        .is(200);
    for _ in 0..1_500 {
        join_from(&room, "203.0.113.7").await.refuses(503, "queue_closed");
    }
    for other in 1..=20 {
        let refused = join_from(&room, &format!("198.51.100.{other}")).await;
        let after: i64 =
            refused.refuses(503, "queue_closed").header("retry-after").parse().expect("seconds");
        let left = opens.duration_since(jiff::Timestamp::now()).as_secs();
        assert!((left..=left + 8).contains(&after), "{after} s with {left} s to go");
    }
}
