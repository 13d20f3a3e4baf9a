//! HTTP at its edges: large heads, hosts, half-closed connections, bodies that come late.

use std::time::Duration;

use anteroom_testkit::PATIENCE;
use tokio::time::timeout;

use crate::raw::Raw;
use crate::room::{ONE, PATIENT, Room, TOKEN};

/// So many short headers, which a proxy in front would pass on.
fn headers(count: usize) -> String {
    (0..count).map(|n| format!("h{n}: x\r\n")).collect()
}

fn get(path: &str, token: &str, headers: &str) -> String {
    format!(
        "GET /v1/queues/:name/{path} HTTP/1.1\r\nhost: room\r\n{headers}{TOKEN}: {token}\r\n\r\n"
    )
}

#[tokio::test]
async fn a_head_of_many_headers_is_read_whole() {
    let room = Room::shared(ONE).await;
    let token = room.join().await.token();
    for count in [90, 95, 100, 500, 4_000] {
        for path in ["authorize", "token"] {
            // In two pieces, on a connection that has been used before.
            let mut raw = Raw::open(&room).await.say(&get("token", &token, "")).await;
            assert!(raw.head().await.starts_with("HTTP/1.1 200 "));
            let head = get(path, &token, &headers(count));
            let (first, second) = head.split_at(head.len() / 2);
            let mut raw = raw.say(first).await.say(second).await;
            let answer = raw.head().await;
            // The rest of the answer before may come first.
            assert!(answer.contains("HTTP/1.1 200 "), "{path}, {count} headers: {answer}");
        }
    }
    let mut raw = Raw::open(&room).await.say(&get("authorize", "forged", &headers(300))).await;
    assert!(raw.head().await.starts_with("HTTP/1.1 401 "), "refused as any other");
    assert!(raw.rest().await.contains("token_invalid"), "and its connection ends");
    let endless = format!("x-long: {}\r\n", "x".repeat(200_000));
    let mut raw = Raw::open(&room).await.say(&get("authorize", &token, &endless)).await;
    let answer = raw.head().await;
    // With more unread the system may cut the connection before the answer is read.
    let refused = answer.is_empty() || answer.starts_with("HTTP/1.1 431 ");
    assert!(refused, "there is a bound all the same: {answer}");
}

#[tokio::test]
async fn who_half_closes_its_connection_gets_its_answer() {
    let env = [&[("ANTEROOM_ADMISSION__MAX_CONCURRENT_REQUESTS", "1")][..], &PATIENT].concat();
    let room = Room::start_with(ONE, &env).await;
    room.anteroom.deployment.redis.freeze();
    let join = "POST /v1/queues/:name/tokens HTTP/1.1\r\nhost: room\r\n\
        content-type: application/json\r\ncontent-length: 2\r\n\r\n{}";
    let mut joins = Vec::new();
    let one_is_under_way = async {
        let mut status = 0;
        while status != 503 {
            joins.push(Raw::open(&room).await.say(join).await.end().await);
            // A look that comes first takes the only slot, and the join is refused instead.
            status = room.get("/x").send().await.status;
        }
    };
    timeout(PATIENCE, one_is_under_way).await.expect("a join is under way");
    room.anteroom.deployment.redis.thaw();
    let mut answers = Vec::new();
    for mut join in joins {
        answers.push(join.rest().await);
    }
    let (joined, refused): (Vec<_>, Vec<_>) =
        answers.iter().partition(|answer| answer.starts_with("HTTP/1.1 201 "));
    assert!(joined.len() == 1 && joined[0].contains("\"ticket\":1"), "{answers:?}");
    assert!(refused.iter().all(|answer| answer.starts_with("HTTP/1.1 503 ")), "{answers:?}");
}

/// The end came before the handler had seen the body, and one in three was not answered.
#[tokio::test]
async fn who_half_closes_behind_the_last_piece_of_a_body_gets_the_answer() {
    let room = Room::shared(ONE).await;
    let calls = [
        ("public", "POST /v1/queues/:name/tokens", "{", "}", "HTTP/1.1 201 "),
        ("service", "PATCH /v1/admin/queues/:name", "{\"capacity\"", ":5}", "HTTP/1.1 200 "),
    ];
    for (port, call, first, last, expected) in calls {
        let length = first.len() + last.len();
        let head = format!(
            "{call} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n\
             content-length: {length}\r\n\r\n{first}"
        );
        for _ in 0..20 {
            let raw = Raw::open_at(&room, port).await.say(&head).await;
            // Until the rest is awaited.
            tokio::time::sleep(Duration::from_millis(10)).await;
            let answer = raw.say(last).await.end().await.rest().await;
            assert!(answer.starts_with(expected), "{call}: {answer:?}");
        }
    }
}

#[tokio::test]
async fn who_goes_away_in_the_middle_of_a_body_or_a_head_leaves_nothing_behind() {
    let room = Room::shared(ONE).await;
    let head = "POST /v1/queues/:name/tokens HTTP/1.1\r\nhost: room\r\n";
    let body = format!("{head}content-type: application/json\r\ncontent-length: 9\r\n\r\n{{");
    for text in [head, &body] {
        let mut raw = Raw::open(&room).await.say(text).await.end().await;
        let answer = raw.rest().await;
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 400 "), "{answer:?}");
    }
    assert_eq!(room.join().await.is(201).json()["ticket"], 1);
}

/// Fifty such connections once made the success ratio 0.02.
#[tokio::test]
async fn slow_bodies_do_not_lower_the_success_ratio() {
    let env = [("ANTEROOM_ADMISSION__REQUEST_TIMEOUT", "1s")];
    let room = Room::behind_own_admission(ONE, &env).await;
    let json = "application/json";
    let calls = [
        ("public", "POST /queues/:name", "application/x-www-form-urlencoded"),
        ("public", "POST /v1/queues/:name/tokens", json),
        ("service", "POST /v1/queues/:name/tokens", json),
        ("service", "PATCH /v1/admin/queues/:name", json),
    ];
    // While the store was not there yet, a call or two failed.
    let before = success_ratio(&room).await;
    let mut open = Vec::new();
    for (port, call, kind) in calls {
        for _ in 0..5 {
            let head = format!(
                "{call} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: {kind}\r\n\
                 content-length: 9\r\n\r\n"
            );
            open.push((call, Raw::open_at(&room, port).await.say(&head).await));
        }
    }
    for (call, mut raw) in open {
        let answer = raw.head().await;
        assert!(answer.starts_with("HTTP/1.1 408 "), "{call}: {answer}");
    }
    let after = success_ratio(&room).await;
    assert!(after >= before, "{before} before, {after} after");
}

async fn success_ratio(room: &Room) -> f64 {
    room.anteroom.admission.metric("anteroom_success_ratio").await.expect("shown")
}
