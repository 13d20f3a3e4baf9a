//! Rooms that break a promise are found out, and the lines that prove it are told.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use crate::{
    fake::{self, Answer, Asked, serve},
    rehearse,
};

/// What a room does wrong.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// Everybody is active at once.
    LetsAllIn,
    /// Everybody waits, and every token passes at the gate.
    TakesAnyToken,
}

/// A token in the form of real ones, with no more in it than visitors can read.
fn token(ticket: u64) -> String {
    let mut bytes = vec![0, 0, 0, 0, 4];
    bytes.extend(b"hall");
    bytes.extend(7_u64.to_be_bytes());
    bytes.extend([0; 14]);
    bytes.extend(ticket.to_be_bytes());
    format!("art1.{}", URL_SAFE_NO_PAD.encode(bytes))
}

fn answer(fault: Fault, tickets: &AtomicU64, asked: &Asked) -> Answer {
    let place = |ticket: u64| match fault {
        Fault::LetsAllIn => {
            json!({ "status": "active", "ticket": ticket, "expires_in_ms": 300_000 })
        }
        Fault::TakesAnyToken => {
            json!({ "status": "waiting", "ticket": ticket, "position": 1, "poll_after_ms": 200 })
        }
    };
    let body = match (asked.method().as_str(), asked.uri().path()) {
        ("GET", "/v1/queues/hall") => {
            json!({ "state": "open", "depth": 0, "ready": 0, "active": 0 })
        }
        ("GET", "/v1/admin/queues/hall") => json!({ "rules": {
            "capacity": 5, "batch": Value::Null, "interval_ms": 10_000, "claim_ttl_ms": 60_000,
            "session_ttl_ms": 300_000, "idle_ttl_ms": 600_000, "first_poll_ttl_ms": 60_000,
        }}),
        ("POST", "/v1/queues/hall/tokens") => {
            let ticket = tickets.fetch_add(1, Ordering::Relaxed) + 1;
            let mut body = place(ticket);
            body["token"] = token(ticket).into();
            return fake::json(201, &body);
        }
        ("GET", "/v1/queues/hall/token") => {
            let held = asked.headers()["x-anteroom-token"].to_str().unwrap();
            let ticket = anteroom_witness::Token::read(held).unwrap().place.ticket;
            place(ticket)
        }
        ("GET", "/v1/queues/hall/authorize") => json!({}),
        _ => return fake::json(404, &json!({ "code": "not_found" })),
    };
    fake::json(200, &body)
}

async fn room(fault: Fault) -> String {
    let tickets = Arc::new(AtomicU64::new(0));
    serve(move |asked| {
        let tickets = Arc::clone(&tickets);
        async move { answer(fault, &tickets, &asked) }
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_01_a_room_that_lets_all_in_is_found_out() {
    let room = room(Fault::LetsAllIn).await;
    let mix = ["--mix", "faithful=1", "--visitors", "60", "--arrive", "1s", "--stay", "2s"];
    let rooms = ["--anteroom", &room, "--service", &room, "--queue", "hall"];
    let run = rehearse(&[mix.as_slice(), &rooms].concat()).await;
    assert_eq!(run.code(), 1, "{}", run.said());
    let result = run.result();
    let promises = &result["with_room"]["room"]["promises"];
    assert_eq!(promises["held"]["1"], false, "{promises:#}");
    assert_eq!(promises["held"]["2"], Value::Null, "there is no batch: {promises:#}");
    assert_eq!(promises["held"]["3"], true, "{promises:#}");
    assert_eq!(result["with_room"]["over"], "promise_broken");
    // What is told proves it: six who were active together.
    let violation = promises["violations"][0].as_str().unwrap();
    let (told, lines) = violation.split_once('\n').unwrap();
    assert!(told.starts_with("promise 1: 6 ready or active at "), "{told}");
    let record = run.file("record.jsonl");
    let record: Vec<_> = record.lines().collect();
    let mut active = 0;
    for line in lines.lines().filter(|line| line.contains("\"active\"")) {
        let (number, text) = line.trim().strip_prefix("line ").unwrap().split_once(": ").unwrap();
        assert_eq!(record[number.parse::<usize>().unwrap() - 1], text);
        active += 1;
    }
    assert_eq!(active, 6, "{violation}");
    assert!(run.file("rehearse.md").contains("`capacity` | BROKEN |"), "the report says it");
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_06_a_room_that_takes_any_token_is_found_out() {
    let room = room(Fault::TakesAnyToken).await;
    let mix = ["--mix", "cheats=1", "--visitors", "20", "--arrive", "1s", "--limit", "60s"];
    let rooms = ["--anteroom", &room, "--service", &room, "--queue", "hall"];
    let run = rehearse(&[mix.as_slice(), &rooms].concat()).await;
    assert_eq!(run.code(), 1, "{}", run.said());
    let result = run.result();
    assert_eq!(result["with_room"]["over"], "promise_broken", "before the time limit");
    let room = &result["with_room"]["room"];
    assert_eq!(room["promises"]["held"]["6"], false, "{room:#}");
    assert!(room["tricks"]["no_token"]["accepted"].as_u64() > Some(0), "{room:#}");
}
