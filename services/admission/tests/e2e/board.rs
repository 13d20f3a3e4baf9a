//! The board: the line in outline, which any HTTP cache can serve.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use anteroom_testkit::{PATIENCE, until};
use reqwest::Method;
use serde_json::Value;

use crate::answer::Answer;
use crate::room::Room;

/// One has its turn, the others wait.
pub const LINE: &str = "[queues.:name]\ncapacity = 1\nplaces_per_address = 0\n";
const BOARD: &str = "/v1/queues/:name/board";

async fn board(room: &Room) -> Answer {
    room.get(BOARD).send().await
}

/// The board once it shows so many in line.
async fn with_places(room: &Room, places: usize) -> Value {
    let last = RefCell::new(Value::Null);
    until("the board shows the line", PATIENCE, async || {
        let shown = board(room).await.is(200).json();
        let is_all = sums(&shown["points"]["position"]).last() == Some(&(places as i64));
        last.replace(shown);
        is_all
    })
    .await;
    last.into_inner()
}

/// Numbers of which each is the difference to the one before.
fn sums(differences: &Value) -> Vec<i64> {
    let differences = differences.as_array().expect("an array").iter();
    let add = |sum: &mut i64, number: &Value| {
        *sum += number.as_i64().expect("a number");
        Some(*sum)
    };
    differences.scan(0, add).collect()
}

/// So many places: the first has its turn. The tokens of those in line.
async fn line(room: &Room, waiting: usize) -> Vec<String> {
    let first = room.join().await.token();
    room.becomes(&first, "ready").await;
    // Else the turn goes to the next visitor after claim_ttl.
    room.authorize(&first).await.is(200);
    let mut tokens = Vec::new();
    for _ in 0..waiting {
        tokens.push(room.join().await.token());
    }
    tokens
}

async fn place(room: &Room, token: &str) -> Value {
    room.get("/v1/queues/:name/token").token(token).send().await.is(200).json()
}

#[tokio::test]
async fn the_board_shows_positions_and_tickets_and_nothing_private() {
    let room = Room::shared(LINE).await;
    let tokens = line(&room, 5).await;
    room.leave(&tokens[1]).await.is(204);
    let shown = with_places(&room, 4).await;
    assert_eq!(shown["front"], 2);
    assert_eq!(sums(&shown["points"]["position"]), [1, 2, 3, 4]);
    assert_eq!(sums(&shown["points"]["ticket"]), [2, 4, 5, 6]);
    let expected = [("queue_state", "open"), ("queue", &room.name)];
    for (field, value) in expected {
        assert_eq!(shown[field], value, "{shown}");
    }
    assert_eq!((&shown["check_in"], &shown["heartbeat_ms"]), (&false.into(), &15_000.into()));
    assert_eq!(shown["next_in_ms"], 1_000);
    let mut fields: Vec<_> = shown.as_object().expect("an object").keys().collect();
    fields.sort();
    let known = "as_of check_in epoch front heartbeat_ms next_in_ms pace points queue queue_state";
    assert_eq!(fields, known.split(' ').collect::<Vec<_>>(), "{shown}");
    // What a place shows, the board shows too.
    for (ticket, token) in [(5, &tokens[3]), (6, &tokens[4])] {
        let place = place(&room, token).await;
        assert_eq!((&place["ticket"], &place["position"]), (&ticket.into(), &(ticket - 2).into()));
    }
}

#[tokio::test]
async fn any_cache_may_keep_the_board_for_a_second() {
    let room = Room::shared(LINE).await;
    let first = room.get(BOARD).header("accept-encoding", "identity").send().await;
    let etag = first.is(200).header("etag").to_owned();
    assert_eq!(first.header("access-control-allow-origin"), "*");
    assert_eq!(first.header("vary"), "accept-encoding");
    assert_eq!(first.header("content-type"), "application/json");
    assert!(etag.starts_with("W/\""), "{etag}");
    // It is another one each second.
    until("the client has the board", PATIENCE, async || {
        let etag = board(&room).await.is(200).header("etag").to_owned();
        let known = format!("\"x\", {}", etag.trim_start_matches("W/"));
        let answer = room.get(BOARD).header("if-none-match", known).send().await;
        assert!([200, 304].contains(&answer.status), "{answer:?}");
        answer.status == 304 && answer.text.is_empty() && answer.header("etag") == etag
    })
    .await;
    let unknown = room.get(BOARD).header("if-none-match", "\"x\"").send().await;
    unknown.is(200);
    assert_eq!(room.get(BOARD).header("if-none-match", "*").send().await.status, 304);
    let head = room.call("public", Method::HEAD, BOARD).header("if-none-match", "*").send().await;
    assert!(head.status == 304 && head.header("content-length") != "0", "{head:?}");
    let gzip = room.get(BOARD).header("accept-encoding", "gzip").send().await;
    assert_eq!(gzip.is(200).header("content-encoding"), "gzip");
    let named = room.get(BOARD).header("x-request-id", "of-one-client").send().await;
    assert_ne!(named.is(200).header("x-request-id"), "of-one-client", "others get it from a cache");
    // A token, or a cookie of another site, makes no difference.
    let with_token = room.get(BOARD).token("no token").header("origin", "https://a.example");
    with_token.send().await.is(200);
    assert_eq!(room.call("public", Method::HEAD, BOARD).send().await.status, 200);
    room.post(BOARD).send().await.refuses(405, "method_not_allowed");
}

#[tokio::test]
async fn a_place_names_the_ticket_up_to_which_the_board_is_enough() {
    let room = Room::shared(LINE).await;
    let tokens = line(&room, 7).await;
    with_places(&room, 7).await;
    // Two intervals, here the slots, and as many again for visitors who leave meanwhile.
    for (token, until) in [(0, None), (2, None), (3, Some(3)), (4, Some(4)), (6, Some(6))] {
        let place = place(&room, &tokens[token]).await;
        assert_eq!(place["board_until_ticket"].as_u64(), until, "{token}: {place}");
    }
    // Each place is polled once before its first heartbeat.
    let joined = room.post("/v1/queues/:name/tokens").token(&tokens[6]).send().await.is(200).json();
    assert!(joined["position"] == 7 && joined["board_until_ticket"].is_null(), "{joined}");
}

/// A board can be some seconds old, and the turn would be over.
#[tokio::test]
async fn with_little_time_to_claim_a_turn_the_place_is_polled() {
    let room = Room::start(&format!("{LINE}claim_ttl = \"23s\"\n")).await;
    let tokens = line(&room, 7).await;
    with_places(&room, 7).await;
    assert!(place(&room, &tokens[6]).await["board_until_ticket"].is_null());
}

#[tokio::test]
async fn without_the_rule_there_is_no_board_and_no_place_names_one() {
    let room = Room::start(&LINE.replace("capacity", "board = false\ncapacity")).await;
    let tokens = line(&room, 7).await;
    let refused = board(&room).await.refuses(404, "not_found").json();
    let detail = refused["detail"].as_str().expect("a detail");
    assert!(detail.contains("queues.concert.board"), "{refused}");
    assert!(place(&room, &tokens[6]).await["board_until_ticket"].is_null());
    room.reconfigure(LINE);
    until("there is a board", PATIENCE, async || board(&room).await.status == 200).await;
    with_places(&room, 7).await;
    assert_eq!(place(&room, &tokens[6]).await["board_until_ticket"], 6);
}

#[tokio::test]
async fn after_a_reset_the_board_is_of_another_epoch() {
    let room = Room::behind_own_admission(LINE, &[]).await;
    line(&room, 5).await;
    let before = with_places(&room, 5).await;
    let reset = room.call("service", Method::POST, "/v1/admin/queues/:name/reset");
    reset.send().await.is(202);
    let last = RefCell::new(Value::Null);
    until("the board is of another epoch", PATIENCE, async || {
        last.replace(board(&room).await.is(200).json());
        last.borrow()["epoch"] != before["epoch"]
    })
    .await;
    let after = last.into_inner();
    assert!(after["front"].is_null() && sums(&after["points"]["ticket"]).is_empty(), "{after}");
    assert!(sums(&after["pace"]["position"]).is_empty());
}

#[tokio::test]
async fn a_board_older_than_5_s_is_not_shown() {
    let room = Room::start_with(LINE, &[]).await;
    line(&room, 5).await;
    let last = with_places(&room, 5).await["as_of"].as_u64().expect("a time");
    room.anteroom.deployment.redis.freeze();
    let frozen = Instant::now();
    until("the board is too old", PATIENCE, async || {
        let requested_at = frozen.elapsed();
        let answer = board(&room).await;
        if answer.status == 200 {
            assert!(requested_at < Duration::from_millis(5_100), "{requested_at:?}");
            let as_of = answer.json()["as_of"].as_u64().expect("a time");
            assert!((last..last + 5_000).contains(&as_of), "{as_of}");
        } else {
            answer.refuses(503, "store_unavailable");
            assert!(!answer.header("retry-after").is_empty(), "{answer:?}");
        }
        answer.status == 503
    })
    .await;
    room.anteroom.deployment.redis.thaw();
    until("Redis is back", PATIENCE, async || board(&room).await.status == 200).await;
}
