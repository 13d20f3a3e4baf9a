//! The waiting page without JavaScript: a button joins, meta refresh keeps the page current.

use anteroom_testkit::{PATIENCE, until};

use crate::{
    journey::cookie_of,
    room::{ONE, Room},
};

const PAGE: &str = "/queues/:name";
const FORM: &str = "application/x-www-form-urlencoded";

#[tokio::test]
async fn a_get_never_joins_and_the_button_does() {
    let room = Room::shared(ONE).await;
    let holder = room.join().await.token();
    for _ in 0..3 {
        let page = room.get(PAGE).send().await;
        assert!(page.is(200).header("content-type").starts_with("text/html"), "{page:?}");
        assert!(page.headers.get("set-cookie").is_none());
        assert!(!page.header("content-security-policy").contains("unsafe"));
        assert!(page.text.contains("<button id=\"join\">"), "{}", page.text);
    }
    let path = format!("{PAGE}?return_to=%2Fseats%3Frow%3D1");
    let page = room.get(&path).send().await;
    let key = page.text.split("name=\"key\" value=\"").nth(1).expect("a key");
    let form = format!("key={}", key.split('"').next().expect("an end"));

    let press = || room.post(&path).browser().body(FORM, form.clone()).send();
    let joined = press().await;
    assert_eq!(joined.is(303).header("location"), room.text(":name?return_to=%2Fseats"));
    let cookie = cookie_of(&joined);
    let place = room.get("/v1/queues/:name/token").cookie(&cookie).send().await;
    assert_eq!(place.is(200).place("waiting")["ticket"], 2, "the pages took no ticket");
    assert_eq!(cookie_of(&press().await), cookie, "two presses are one join");

    let page = room.get(&path).header("cookie", &cookie).send().await;
    assert!(page.is(200).text.contains("You are next"), "{}", page.text);
    assert!(page.text.contains("<meta http-equiv=\"refresh\" content=\""), "{}", page.text);
    assert!(!page.header("retry-after").is_empty());

    room.leave(&holder).await.is(204);
    room.becomes(cookie.split_once('=').expect("a cookie").1, "ready").await;
    let page = room.get(&path).header("cookie", &cookie).send().await;
    assert!(page.is(200).text.contains("url=/seats"), "it leads on: {}", page.text);
}

/// The page without `return_to`, as a browser of this cookie gets it.
async fn visit(room: &Room, cookie: &str) -> String {
    let page = room.get(PAGE).header("cookie", cookie).send().await;
    assert!(!page.is(200).text.contains("url="), "it leads nowhere: {}", page.text);
    page.text
}

#[tokio::test]
async fn without_return_to_the_page_shows_the_visit_and_finishes_it() {
    let room = Room::shared(ONE).await;
    let cookie = cookie_of(&room.post(PAGE).browser().send().await);
    let press = |step: &'static str, to: &'static str| {
        let to = room.text(to);
        let call = room.post(PAGE).cookie(&cookie).body(FORM, format!("step={step}"));
        async move {
            let answer = call.send().await;
            assert_eq!(answer.is(303).header("location"), to);
            answer
        }
    };
    let offers = |page: &str, step: &str| {
        let button = format!("name=\"step\" value=\"{step}\">");
        let form = room.text("<form id=\"form\" method=\"post\" action=\":name\">");
        page.contains(&form) && page.contains(&button)
    };

    let page = visit(&room, &cookie).await;
    assert!(page.contains(">It is your turn<") && page.contains(">Time left to enter<"), "{page}");
    assert!(offers(&page, "claim") && !offers(&page, "finish"), "{page}");
    // A look takes no turn.
    let token = cookie.split_once('=').expect("a cookie").1;
    room.becomes(token, "ready").await;
    press("claim", ":name").await;
    let page = visit(&room, &cookie).await;
    assert!(page.contains(">You are in<") && page.contains(">Time left<"), "{page}");
    assert!(offers(&page, "finish") && !offers(&page, "claim"), "{page}");
    assert!(
        page.contains("<meta http-equiv=\"refresh\" content=\""),
        "the time stays current: {page}"
    );
    // With somewhere to go on to, there the visit is.
    let onward =
        room.get(&format!("{PAGE}?return_to=/seats")).header("cookie", &cookie).send().await;
    assert!(onward.is(200).text.contains("url=/seats"), "{}", onward.text);
    assert!(!offers(&onward.text, "finish"), "{}", onward.text);

    let finished = press("finish", ":name?over").await;
    assert!(finished.header("set-cookie").contains("Max-Age=0"), "{finished:?}");
    let over = room.get(&format!("{PAGE}?over")).send().await;
    for part in [">Your visit is over<", "data-status=\"gone\"", &room.text("action=\":name\">")] {
        assert!(over.is(200).text.contains(part), "{part}: {}", over.text);
    }
    let gone = room.get("/v1/queues/:name/token").token(token).send().await;
    assert_eq!(gone.is(410).json()["reason"], "completed");
    // Again, from a page that is still open: nothing happens, and no visitor joins.
    press("finish", ":name?over").await;
    press("claim", ":name").await;
    let late = room.post(PAGE).browser().body(FORM, "step=finish").send().await;
    assert!(late.is(303).headers.get("set-cookie").is_none(), "{late:?}");
    // Finished elsewhere: the cookie is still there, and the visit over all the same.
    let page = visit(&room, &cookie).await;
    assert!(page.contains(">Your visit is over<") && page.contains("Join the line"), "{page}");
    let next = room.join().await;
    assert_eq!(next.is(201).place("ready")["ticket"], 2);
    let cookie = room.cookie(&next.token());
    let page = room.get(&format!("{PAGE}?over")).header("cookie", &cookie).send().await;
    assert!(page.is(200).text.contains(">It is your turn<"), "the place counts: {}", page.text);
}

#[tokio::test]
async fn the_page_has_one_language_and_shows_why_nothing_moves() {
    let room = Room::shared(ONE).await;
    let _ready = room.join().await;
    let cookie = cookie_of(&room.post(PAGE).browser().send().await);
    let page = async |language: &str, cookie: &str| {
        let page = room.get(PAGE).header("accept-language", language).header("cookie", cookie);
        page.send().await.is(200).text.clone()
    };
    let korean = page("ko-KR,ko;q=0.9,en;q=0.8", &cookie).await;
    for part in ["<html lang=\"ko\" dir=\"ltr\">", "<title>대기실</title>", "다음이 내 차례입니다"]
    {
        assert!(korean.contains(part), "{part}: {korean}");
    }
    let arabic = page("ar", &cookie).await;
    assert!(arabic.contains("<html lang=\"ar\" dir=\"rtl\">"), "{arabic}");
    let english = page("it, en;q=0.5", &cookie).await;
    for part in ["<html lang=\"en\" dir=\"ltr\">", "<title>Waiting room</title>", "You are next"] {
        assert!(english.contains(part), "{part}: {english}");
    }
    assert!(english.contains("<p id=\"reason\" hidden></p>"), "{english}");

    let change = async |body: serde_json::Value| {
        let path = "/v1/admin/queues/:name";
        room.patch_json(path, body).await.is(200);
    };
    let shows = async |state: &str, language: &str, cookie: &str, parts: &[&str]| {
        until(&format!("the page shows {parts:?}"), PATIENCE, async || {
            let page = page(language, cookie).await;
            parts.iter().all(|part| page.contains(part))
        })
        .await;
        let public = room.get("/v1/queues/:name").send().await.is(200).json();
        assert_eq!((&public["state"], &public["reason"]), (&state.into(), &"a <fault>".into()));
    };
    let reason = "<p id=\"reason\">a &lt;fault&gt;</p>";
    change(serde_json::json!({ "state": "paused", "reason": "a <fault>" })).await;
    shows("paused", "en", "", &[reason]).await;
    shows("paused", "en", &cookie, &["data-view=\"paused\"", "The line is paused", reason]).await;
    shows("paused", "de", &cookie, &["data-view=\"paused\"", "angehalten", reason]).await;
    let place = room.get("/v1/queues/:name/token").header("cookie", &cookie).send().await;
    let place = place.is(200).json();
    let state = (&place["queue_state"], &place["reason"], &place["opens_in_ms"]);
    assert_eq!(state, (&"paused".into(), &"a <fault>".into(), &serde_json::Value::Null));
    assert!(place["keep_ms"].as_u64().is_some_and(|keep| keep >= 30_000), "{place}");
    change(serde_json::json!({ "state": "closed", "reason": "a <fault>" })).await;
    shows("closed", "en", &cookie, &["data-view=\"waiting\"", reason]).await;
    shows("closed", "en", "", &["data-view=\"closed\"", "The line is closed", reason]).await;
    // So does the answer to a visitor who tried to join.
    let refused = room.post(PAGE).browser().send().await;
    let page_of_refusal = &refused.is(503).text;
    assert!(page_of_refusal.contains("data-view=\"closed\""), "{page_of_refusal}");
    assert!(page_of_refusal.contains(reason), "{page_of_refusal}");
    change(serde_json::json!({ "state": null })).await;
    until("there is nothing to say", PATIENCE, async || {
        page("en", "").await.contains("<p id=\"reason\" hidden></p>")
    })
    .await;
}

#[tokio::test]
async fn promise_06_the_form_of_another_site_does_nothing_with_a_cookie() {
    let room = Room::shared(ONE).await;
    let joined = room.post(PAGE).browser().send().await;
    let cookie = cookie_of(&joined);
    for step in ["", "step=claim", "step=finish"] {
        for (name, value) in [("sec-fetch-site", "cross-site"), ("origin", "https://evil.example")]
        {
            let call = room.post(PAGE).header("cookie", &cookie).header(name, value);
            call.body(FORM, step).send().await.refuses(403, "origin_refused");
        }
    }
    room.becomes(cookie.split_once('=').expect("a cookie").1, "ready").await;
    let forged = room.cookie("art1.forged");
    room.post(PAGE).cookie(&forged).send().await.is(303);
    let page = room.get(PAGE).header("cookie", &forged).send().await;
    let cleared = page.is(200).header("set-cookie");
    assert!(cleared.contains("Max-Age=0"), "a dead cookie is taken away: {cleared}");
}
