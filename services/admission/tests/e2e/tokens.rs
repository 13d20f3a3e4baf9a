//! Only the proof of a place acts on it, and what is no proof costs the store nothing.

use anteroom_core::queue::{Epoch, PlaceRef, Token, TokenKeys};
use reqwest::Method;
use serde_json::json;

use crate::{
    journey::cookie_of,
    room::{ONE, PATIENT, Room, SECRETS},
    store_dump::{difference, dump, idle, noted, noting},
};

const PLACE: &str = "/v1/queues/:name/token";
const GATE: &str = "/v1/queues/:name/authorize";

#[tokio::test]
async fn promise_06_a_forged_token_is_refused_without_a_command_to_the_store() {
    let queues = format!("{ONE}[queues.opera]\ncapacity = 1\n");
    let room = Room::start_on(noting().await, &queues, &PATIENT).await;
    let good = room.join().await.token();
    let opera = room.post("/v1/queues/opera/tokens").send().await.is(201).token();
    let retired = keys("a-secret-that-was-retired-long-ago").sign("concert", &read(&good));
    room.anteroom.scheduler.process.freeze();
    let before = dump(&room.anteroom.deployment.redis).await;
    let idle = idle(&room.anteroom.deployment.redis).await;

    let mut flipped = good.clone().into_bytes();
    let middle = flipped.len() / 2;
    flipped[middle] = if flipped[middle] == b'A' { b'B' } else { b'A' };
    let flipped = String::from_utf8(flipped).expect("ASCII");
    let forged = [
        "art1.",
        "art1.AAAA",
        "nonsense",
        &good[5..],
        &good[..good.len() - 1],
        &good[..middle],
        &format!("{good}A"),
        &flipped,
        &good.to_uppercase(),
        &opera,
        &retired,
        &good.replace("art1.", "art2."),
        &format!("art1.{}", "A".repeat(7_000)),
    ];
    for token in forged {
        for (method, path) in [
            (Method::GET, PLACE.to_owned()),
            (Method::GET, format!("{PLACE}/events")),
            (Method::POST, format!("{PLACE}/claim")),
            (Method::POST, format!("{PLACE}/renew")),
            (Method::DELETE, PLACE.to_owned()),
            (Method::POST, "/v1/queues/:name/tokens".to_owned()),
            (Method::GET, GATE.to_owned()),
            (Method::POST, format!("{GATE}/seats?join=1")),
        ] {
            let call = || room.call("public", method.clone(), &path);
            call().token(token).send().await.refuses(401, "token_invalid");
            let cookie = room.cookie(token);
            let refused = call().cookie(&cookie).send().await;
            refused.refuses(401, "token_invalid");
            assert!(refused.header("set-cookie").contains("Max-Age=0"), "a dead cookie goes");
        }
    }
    let during = noted(&room.anteroom.deployment.redis).await;
    let changed = difference(&before, &dump(&room.anteroom.deployment.redis).await);
    assert!(changed.is_empty(), "{changed:?}");
    let ours = |name: &&String| !idle.contains(*name);
    let caused: Vec<_> = during.iter().filter(ours).collect();
    assert!(caused.is_empty(), "{caused:?}");

    // The measure works: the true token is heard.
    room.get(PLACE).token(&good).send().await.is(200);
    assert!(
        noted(&room.anteroom.deployment.redis)
            .await
            .iter()
            .any(|name| { name.starts_with("EVALSHA") && !idle.contains(name) })
    );
}

#[tokio::test]
async fn promise_06_a_token_of_another_life_or_ticket_acts_on_nothing() {
    let room = Room::start(ONE).await;
    let good = room.join().await.token();
    let token = read(&good);
    let keys = keys(SECRETS.1);
    room.anteroom.scheduler.process.freeze();
    for place in [
        PlaceRef { epoch: Epoch([7; 8]), ..token.place },
        PlaceRef { ticket: token.place.ticket + 1, ..token.place },
        PlaceRef { ticket: (1 << 53) - 1, ..token.place },
    ] {
        let other = keys.sign("concert", &Token { place, visitor_id: None });
        let before = dump(&room.anteroom.deployment.redis).await;
        let gone = room.get(PLACE).token(&other).send().await;
        assert_eq!(gone.refuses(410, "place_gone").json()["reason"], "lost");
        for path in ["claim", "renew"] {
            let gone = room.post(&format!("{PLACE}/{path}")).token(&other).send().await;
            gone.refuses(410, "place_gone");
        }
        let gone = room.get(GATE).token(&other).send().await;
        assert_eq!(gone.refuses(403, "place_gone").json()["reason"], "lost");
        room.leave(&other).await.is(204);
        let changed = difference(&before, &dump(&room.anteroom.deployment.redis).await);
        assert!(changed.iter().all(|line| line.contains(":meta hash ")), "{changed:?}");
    }
    room.get(PLACE).token(&good).send().await.is(200).place("ready");
    let handle = token.place.to_handle();
    room.get(PLACE).token(&handle).send().await.refuses(401, "token_invalid");
    room.get(PLACE).token(&format!("art1.{handle}")).send().await.refuses(401, "token_invalid");
}

#[tokio::test]
async fn a_token_is_never_taken_from_a_url_and_never_in_one() {
    let room = Room::shared(ONE).await;
    let (one, two) = (room.join().await.token(), room.join().await.token());
    let bearer = |token: &str| room.get(PLACE).key(token);
    for other in ["a-token-of-the-service", "ark1.a-key", "eyJhbGciOiJIUzI1NiJ9.e30.AAAA"] {
        bearer(other).send().await.refuses(401, "token_missing");
        room.get(GATE).key(other).send().await.refuses(401, "token_missing");
        let joined = room.post("/v1/queues/:name/tokens").key(other).send().await;
        joined.is(201).place("waiting");
    }
    bearer("art1.forged").send().await.refuses(401, "token_invalid");
    for path in [format!("{PLACE}?token={one}"), format!("{GATE}?x-anteroom-token={one}")] {
        room.get(&path).send().await.refuses(401, "token_missing");
    }
    let joined = room.post("/queues/:name?return_to=/a").browser().send().await;
    assert!(cookie_of(&joined).contains("art1."));
    assert!(!joined.is(303).header("location").contains("art1."));
    let page = room.get("/queues/:name").header("cookie", cookie_of(&joined)).send().await;
    assert!(!page.is(200).text.contains("art1."), "a page is no place for a token");
    let refused = room.get(&format!("{GATE}/seats")).token(&two).json(json!({})).send().await;
    assert!(!refused.is(403).header("x-anteroom-room").contains("art1."));
}

fn keys(secret: &str) -> TokenKeys {
    TokenKeys::new(&[secret.to_owned().into()]).expect("there is a secret")
}

fn read(token: &str) -> Token {
    keys(SECRETS.1).verify("concert", token).expect("it is signed")
}
