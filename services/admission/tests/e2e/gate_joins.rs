//! Joins at the gateway check: for visitors of a page, and a slot for a short time only until the
//! token is shown.

use std::cell::Cell;

use anteroom_testkit::{PATIENCE, until};

use crate::{journey::cookie_of, room::Room};

pub const CROWDED: &str = "[queues.:name]\ncapacity = 1_000\nclaim_ttl = \"5s\"\n\
    places_per_address = 0\n";
pub const WIDE: &str = "[queues.:name]\ncapacity = 300\n";
pub const LOCAL: &str = "[queues.:name]\ncapacity = 1_000\nlocal_answers = true\n";

const GATE: &str = "/v1/queues/:name/authorize";

/// How many tickets were given, and how many places are active, as the operator sees it now.
async fn counts(room: &Room) -> (u64, u64) {
    let view = room.service("/v1/admin/queues/:name").await.is(200).json();
    let number = |name: &str| view[name].as_u64().unwrap_or_else(|| panic!("{name}: {view}"));
    (number("last_ticket"), number("active"))
}

#[tokio::test]
async fn seven_hundred_requests_without_cookies_hold_no_slots_for_five_minutes() {
    let room = Room::shared(CROWDED).await;
    let path = format!("{GATE}?join=1");
    let visitor = cookie_of(room.get(&path).send().await.is(200));
    let whole = room.get(GATE).cookie(&visitor).send().await;
    let left: u64 = whole.is(200).header("x-anteroom-expires-in").parse().expect("seconds");
    assert!(left > 290, "{left}: a shown token has the whole session");

    let mut passed = 0;
    for _ in 0..700 {
        let answer = room.get(&path).send().await;
        if answer.status == 200 {
            let left: u64 = answer.header("x-anteroom-expires-in").parse().expect("seconds");
            assert!(left <= 5, "{left}");
            passed += 1;
        } else {
            answer.refuses(403, "join_limited");
        }
    }
    // The rate of joins from one address has a burst of a minute's, and one is the visitor's.
    assert!(passed >= 599, "{passed}");
    until("the slots are free again", PATIENCE, async || counts(&room).await.1 == 1).await;
    room.get(GATE).cookie(&visitor).send().await.is(200);
}

#[tokio::test]
async fn another_site_s_page_takes_no_slot() {
    let room = Room::shared(WIDE).await;
    let behind = ["/", "/seats", "/..%2ftoken", "/%2e%2e/token", "/authorize"];
    for path in behind {
        let path = format!("{GATE}{path}?join=1&on_refusal=redirect");
        let visit = room.get(&path).header("sec-fetch-mode", "navigate");
        visit.header("sec-fetch-dest", "document").send().await.refuses(401, "token_missing");
    }
    for (path, header) in [(format!("{GATE}?join=1"), ""), (format!("{GATE}/seats"), "join")] {
        let gate = |method| {
            let call = room.call("public", method, &path);
            if header.is_empty() { call } else { call.header("x-anteroom-gate", header) }
        };
        let get = || gate(reqwest::Method::GET).header("sec-fetch-site", "cross-site");
        for dest in ["image", "iframe", "empty", "script", "style"] {
            let embedded = get().header("sec-fetch-dest", dest).send().await;
            embedded.refuses(401, "token_missing");
        }
        for (name, purpose) in [
            ("sec-purpose", "prefetch"),
            ("purpose", "prefetch"),
            ("purpose", "preview"),
            ("x-purpose", "preview"),
            ("x-moz", "prefetch"),
        ] {
            let early = get().header("sec-fetch-dest", "document").header(name, purpose);
            early.send().await.refuses(401, "token_missing");
        }
        gate(reqwest::Method::POST).send().await.refuses(401, "token_missing");
        assert_eq!(counts(&room).await, (0, 0), "{path}");
    }
    // A link on that page is another thing: a visitor has followed it.
    let visit = room.get(&format!("{GATE}?join=1")).header("sec-fetch-site", "cross-site");
    visit.header("sec-fetch-dest", "document").send().await.is(200);
    assert_eq!(counts(&room).await, (1, 1));
}

#[tokio::test]
async fn no_process_answers_for_a_session_whose_token_was_not_shown() {
    let room = Room::shared(LOCAL).await;
    let expires_in = async |cookie: &str| -> u64 {
        let passed = room.get(GATE).cookie(cookie).send().await;
        passed.is(200).header("x-anteroom-expires-in").parse().expect("seconds")
    };
    // With requests coming in, readings are taken all the time, so most of these could be local
    // answers.
    let passed = Cell::new(0);
    until("fifty have passed at once", PATIENCE, async || {
        let joined = room.get(&format!("{GATE}?join=1")).send().await;
        // Slots are withheld for a moment after the start.
        if joined.status == 200 {
            let left = joined.header("x-anteroom-expires-in").parse::<u64>().expect("seconds");
            assert!(left <= 60, "{left}");
            assert!(expires_in(&cookie_of(&joined)).await > 290, "Redis has answered");
            passed.set(passed.get() + 1);
        }
        passed.get() == 50
    })
    .await;
}
