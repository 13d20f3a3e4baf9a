//! The page's script in a pretended browser, in virtual time: when it polls, and what it shows.

use std::process::Command;

use anteroom_admission::public;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};

use crate::support::{app, ask, request};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/queue/waiting_page/page.js");
const BROWSER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/page_script/browser.mjs");

/// The texts to show, as `[number, text]`: with the script, and without it
/// (`queue::waiting_page::render`).
const TEXTS: &str = include_str!("../page_script/said.json");

const SECOND: f64 = 1_000.0;
const DAY: f64 = 86_400.0 * SECOND;

/// What a page that begins in `status` does until then.
fn played(status: &str, until: f64, answers: &Value) -> Value {
    play(&json!({
        "script": SCRIPT, "status": status, "words": words(), "until": until, "answers": answers,
    }))
}

fn words() -> String {
    let words = json!({
        "ended": "ended", "over": "over", "ended_detail": "join again", "number": "number {}", "turn": "turn",
        "wait": ["soon", "a minute", "{} minutes"], "again": "again", "failed": "failed",
        "full": "full", "closed": "closed", "limited": "limited", "busy": "busy", "paused": "paused",
        "recovering": "recovering", "cookies": "cookies",
        "inside": "inside", "left": "left {}",
    });
    words.to_string()
}

fn play(scene: &Value) -> Value {
    let output = Command::new("node").arg(BROWSER).arg(scene.to_string()).output();
    let output = output.expect("node is installed: scripts/prerequisites.sh");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {errors}"))
}

/// When it made this request.
fn times(played: &Value, method: &str, path: &str) -> Vec<f64> {
    let requests = played["requests"].as_array().expect("a list").iter();
    let these = requests.filter(|it| {
        it[1] == method && it[2].as_str().is_some_and(|address| address.ends_with(path))
    });
    these.map(|it| it[0].as_f64().expect("a time")).collect()
}

fn pauses(times: &[f64]) -> Vec<f64> {
    times.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

fn waiting(eta_ms: Option<u64>) -> Value {
    json!({ "status": "waiting", "position": 7, "eta_ms": eta_ms, "poll_after_ms": 5_000 })
}

#[test]
fn a_queue_that_opens_in_weeks_is_polled_in_weeks() {
    let forty_days = 40.0 * DAY;
    let closed = json!({ "code": "queue_closed", "retry_after_ms": forty_days });
    let answers = json!([
        { "path": "/tokens", "status": 503, "body": closed },
        { "path": "/concert", "status": 200, "body": { "state": "closed", "reason": "until June" } },
        { "path": "/tokens", "from": forty_days, "status": 201, "body": waiting(None) },
    ]);
    let played = played("none", 39.0 * DAY, &answers);
    assert_eq!(times(&played, "POST", "/tokens"), [0.0], "a longer time than a timer has");
    assert_eq!(played["elements"]["message"]["textContent"], "closed");
    assert_eq!(played["elements"]["notice"]["textContent"], "until June", "and is not repeated");
    let played = self::played("none", forty_days + SECOND, &answers);
    assert_eq!(times(&played, "POST", "/tokens").len(), 2);
}

#[test]
fn a_page_without_an_answer_polls_less_and_less_often() {
    let answers = json!([
        { "path": "/token", "status": 0 },
        { "path": "/token", "from": 600.0 * SECOND, "status": 200, "body": waiting(Some(1_000)) },
        { "path": "/token", "from": 700.0 * SECOND, "status": 0 },
    ]);
    let played = played("waiting", 800.0 * SECOND, &answers);
    let times = times(&played, "GET", "/token");
    let (failing, rest): (Vec<f64>, Vec<f64>) = times.iter().partition(|at| **at < 600.0 * SECOND);
    let failing = pauses(&failing);
    for (index, pause) in failing.iter().enumerate() {
        let middle = (1_000.0 * 2_f64.powi(index.min(10) as i32)).min(20_000.0);
        assert!((0.5 * middle..=1.5 * middle).contains(pause), "{index}: {failing:?}");
    }
    assert!(failing.len() < 70, "{failing:?}");
    let (first, last) = (failing[failing.len() - 2], failing[failing.len() - 1]);
    assert!((first - last).abs() > 1e-6, "jittered: {failing:?}");
    // With an answer it polls after `poll_after_ms`, and after the next failure soon again.
    let (calm, again): (Vec<f64>, Vec<f64>) = rest.iter().partition(|at| **at < 700.0 * SECOND);
    assert!(pauses(&calm).iter().all(|pause| *pause == 5_000.0), "{calm:?}");
    assert!(again[1] - again[0] <= 1_500.0, "{again:?}");
}

#[test]
fn a_browser_that_takes_no_cookie_is_no_flood() {
    let place = waiting(None);
    let ready = json!({ "status": "ready", "poll_after_ms": 2_000 });
    for place in [place, ready] {
        let answers = json!([
            { "path": "/tokens", "status": 201, "body": place },
            { "path": "/token", "status": 401, "body": { "code": "token_missing" } },
            { "path": "/token/claim", "status": 401, "body": { "code": "token_missing" } },
        ]);
        let played = played("none", 600.0 * SECOND, &answers);
        let joins = times(&played, "POST", "/tokens").len();
        assert!((10..80).contains(&joins), "{joins} joins in ten minutes");
    }
}

#[test]
fn a_browser_that_keeps_no_cookie_shows_that_the_page_needs_them() {
    for place in [waiting(None), json!({ "status": "ready", "poll_after_ms": 2_000 })] {
        let answers = json!([
            { "path": "/tokens", "status": 201, "body": place },
            { "path": "/token", "status": 401, "body": { "code": "token_missing" } },
            { "path": "/token/claim", "status": 401, "body": { "code": "token_missing" } },
            { "path": "/token", "from": 300.0 * SECOND, "status": 200, "body": waiting(None) },
        ]);
        let shown = |until: f64| {
            let played = played("none", until, &answers);
            let elements = &played["elements"];
            ["message", "detail"].map(|id| elements[id]["textContent"].clone())
        };
        // One lost cookie is no reason yet: the first poll comes a second after the join.
        assert_ne!(shown(SECOND)[0], "cookies");
        // From the second one on it is shown, and no later join hides it.
        for until in [30.0, 60.0, 299.0] {
            assert_eq!(shown(until * SECOND), ["cookies", "again"], "{until} s");
        }
        // Once the visitor allows cookies the page goes on by itself.
        assert_eq!(shown(400.0 * SECOND)[0], "number 7");
    }
}

#[test]
fn a_page_whose_browser_denies_storage_goes_on_all_the_same() {
    let ready = json!({ "status": "ready", "poll_after_ms": 2_000 });
    let scene = json!({
        "script": SCRIPT, "status": "waiting", "words": words(), "until": 60.0 * SECOND,
        "returnTo": "/seats", "deniesStorage": true,
        "answers": [
            { "path": "/token", "status": 200, "body": waiting(None) },
            { "path": "/token", "from": 10.0 * SECOND, "status": 200, "body": ready },
            { "path": "/token/claim", "status": 200, "body": waiting(None) },
        ],
    });
    let played = play(&scene);
    assert_eq!(played["left"], "/seats");
    assert_eq!(times(&played, "POST", "/token/claim").len(), 1);
}

#[test]
fn a_page_comes_back_no_sooner_than_retry_after() {
    let busy = json!({ "code": "store_unavailable", "retry_after_ms": 9_000 });
    let in_two_minutes = "Thu, 01 Jan 1970 00:02:00 GMT";
    for (answer, least) in [
        (json!({ "path": "/token", "status": 503, "body": busy }), 9_000.0),
        (json!({ "path": "/token", "status": 503, "headers": { "retry-after": "40" } }), 40_000.0),
        (
            json!({ "path": "/token", "status": 429, "headers": { "retry-after": in_two_minutes } }),
            118_000.0,
        ),
    ] {
        let played = played("waiting", 400.0 * SECOND, &json!([answer]));
        let times = times(&played, "GET", "/token");
        assert!(times.len() >= 3, "{times:?}");
        assert!(times[1] - times[0] >= least, "{times:?}");
    }
    let played = played(
        "none",
        100.0 * SECOND,
        &json!([
            { "path": "/tokens", "status": 503, "headers": { "retry-after": "30" } },
        ]),
    );
    let times = times(&played, "POST", "/tokens");
    assert!(times.len() >= 2 && times[1] - times[0] >= 30_000.0, "{times:?}");
    assert_eq!(played["elements"]["message"]["textContent"], "busy");
}

#[test]
fn a_join_that_tries_again_by_itself_says_so_and_offers_no_button() {
    for status in [0, 503] {
        let answer = json!({ "path": "/tokens", "status": status });
        let played = played("none", 2.0 * SECOND, &json!([answer]));
        let shown = |id: &str, what: &str| played["elements"][id][what].clone();
        assert_eq!(
            (shown("message", "textContent"), shown("detail", "textContent")),
            (json!("busy"), json!("again"))
        );
        assert_eq!(shown("join", "hidden"), true);
    }
}

#[test]
fn after_a_pressed_button_is_gone_the_focus_is_on_the_message() {
    let place = |status: &str| {
        json!({
            "status": status, "position": 1, "eta_ms": null, "poll_after_ms": 60_000, "expires_in_ms": 60_000,
        })
    };
    let scene = |finishes: u16, until: f64| {
        play(&json!({
            "script": SCRIPT, "status": "waiting", "words": words(), "returnTo": "", "until": until,
            "answers": [
                { "path": "/token", "status": 200, "body": place("active") },
                { "path": "/token", "from": 1_500.0, "status": finishes },
                { "path": "/tokens", "status": 201, "body": place("waiting") },
            ],
            "presses": [
                { "at": 2_000.0, "form": "visit", "button": "finish" },
                { "at": 3_000.0, "form": "join", "button": "join" },
            ],
        }))
    };
    let finished = scene(204, 2_000.0);
    assert_eq!(finished["elements"]["message"]["textContent"], "over");
    assert_eq!(finished["focus"], "message", "the button that was pressed is gone");
    assert_eq!(finished["address"], "?over", "a reload does not join");
    let joined = scene(204, 3_000.0);
    assert_eq!(joined["elements"]["message"]["textContent"], "number 1");
    assert_eq!(joined["focus"], "message");
    let failed = scene(503, 2_000.0);
    assert_eq!(failed["elements"]["message"]["textContent"], "failed");
    assert_eq!(failed["focus"], "finish", "a button that is still there keeps it");
}

#[tokio::test]
async fn numbers_and_times_are_told_as_the_page_without_a_script_tells_them() {
    let page = ask(&public(&app("")), request("GET", "/queues/shop", &[])).await;
    let page = page.into_body().collect().await.expect("a body").to_bytes();
    let page = String::from_utf8(page.to_vec()).expect("UTF-8");
    let (_, words) = page.split_once("data-words=\"").expect("words");
    let words = words.split('"').next().expect("an end").replace("&quot;", "\"");
    let texts: Value = serde_json::from_str(TEXTS).expect("JSON");
    for (kind, status, id) in [
        ("position", "waiting", "message"),
        ("wait", "waiting", "detail"),
        ("left", "active", "detail"),
    ] {
        let rows = texts[kind].as_array().expect("rows");
        assert!(!rows.is_empty());
        for row in rows {
            let mut place =
                json!({ "status": status, "position": 1, "eta_ms": 1, "poll_after_ms": 5_000 });
            place[match kind {
                "position" => "position",
                "wait" => "eta_ms",
                _ => "expires_in_ms",
            }] = row[0].clone();
            let played = play(&json!({
                "script": SCRIPT, "status": status, "words": words, "returnTo": "",
                "until": if status == "active" { 0.0 } else { SECOND },
                "answers": [
                    { "path": "/token", "status": 200, "body": place },
                    { "path": "/token/claim", "status": 200, "body": place },
                ],
            }));
            assert_eq!(played["elements"][id]["textContent"], row[1], "{kind} {}", row[0]);
        }
    }
}

#[test]
fn a_page_says_why_nothing_moves_for_as_long_as_nothing_does() {
    for (state, text) in [
        (json!({ "state": "paused", "reason": "the hall is full" }), "paused the hall is full"),
        (json!({ "state": "paused", "paused_by": "health" }), "recovering"),
    ] {
        let answers = json!([
            { "path": "/token", "status": 200, "body": waiting(None) },
            { "path": "/concert", "status": 200, "body": state },
            { "path": "/concert", "from": 100.0 * SECOND, "status": 200, "body": { "state": "open" } },
            { "path": "/token", "from": 100.0 * SECOND, "status": 200, "body": waiting(Some(600_000)) },
        ]);
        let paused = played("waiting", 90.0 * SECOND, &answers);
        let notice = &paused["elements"]["notice"];
        assert_eq!((&notice["hidden"], &notice["textContent"]), (&json!(false), &json!(text)));
        let polls = times(&paused, "GET", "/concert").len();
        assert!((2..=4).contains(&polls), "twice a minute, not with each poll: {polls}");
        let open = played("waiting", 140.0 * SECOND, &answers);
        assert_eq!(open["elements"]["notice"]["hidden"], true);
        let open = played("waiting", 1_000.0 * SECOND, &answers);
        assert_eq!(open["elements"]["notice"]["hidden"], true);
        assert_eq!(open["elements"]["detail"]["textContent"], "10 minutes");
        assert!(times(&open, "GET", "/concert").iter().all(|at| *at < 140.0 * SECOND));
    }
}

#[test]
fn a_page_that_got_a_pause_that_is_over_polls_again_soon() {
    let state =
        |state: &str, paused_by: Option<&str>| json!({ "state": state, "paused_by": paused_by });
    // The place moves again at 8 s, and the state of the queue is a second old.
    let answers = |after: Value| {
        json!([
            { "path": "/token", "status": 200, "body": waiting(None) },
            { "path": "/concert", "status": 200, "body": state("paused", Some("health")) },
            { "path": "/token", "from": 8.0 * SECOND, "status": 200, "body": waiting(Some(600_000)) },
            { "path": "/concert", "from": 12.0 * SECOND, "status": 200, "body": after },
        ])
    };
    let notice = |played: &Value| played["elements"]["notice"]["textContent"].clone();
    let open = answers(state("open", None));
    let looks = times(&played("waiting", 20.0 * SECOND, &open), "GET", "/token");
    let moves = looks.iter().find(|at| **at >= 8.0 * SECOND).expect("a look");
    assert!(*moves < 12.0 * SECOND, "{looks:?}");
    assert_eq!(notice(&played("waiting", *moves, &open)), "recovering", "as it was");
    assert_eq!(notice(&played("waiting", 15.0 * SECOND, &open)), "", "3 s later");
    // A queue that is closed is so while its line moves: no reason to ask on.
    let closed = played("waiting", 600.0 * SECOND, &answers(state("closed", None)));
    assert_eq!(notice(&closed), "closed");
    let polls = times(&closed, "GET", "/concert");
    let often = polls.iter().filter(|at| **at > 15.0 * SECOND).count();
    assert!(often <= 20, "twice a minute: {polls:?}");
}

#[test]
fn the_notice_of_a_pause_goes_with_it() {
    let state = |state: &str| json!({ "state": state, "reason": "the hall is full" });
    let ready = json!({ "status": "ready", "position": 0, "eta_ms": null, "poll_after_ms": 1_000 });
    let answers = json!([
        { "path": "/token", "status": 200, "body": waiting(None) },
        { "path": "/concert", "status": 200, "body": state("paused") },
        { "path": "/concert", "from": 8.0 * SECOND, "status": 200, "body": state("open") },
        { "path": "/token", "from": 8.0 * SECOND, "status": 200, "body": waiting(Some(5_000)) },
    ]);
    let hidden = |played: &Value| played["elements"]["notice"]["hidden"].clone();
    assert_eq!(hidden(&played("waiting", 7.0 * SECOND, &answers)), false);
    assert_eq!(hidden(&played("waiting", 12.0 * SECOND, &answers)), true, "the line moves again");
    let turn = json!([
        { "path": "/token", "status": 200, "body": waiting(None) },
        { "path": "/concert", "status": 200, "body": state("paused") },
        { "path": "/token", "from": 8.0 * SECOND, "status": 200, "body": ready },
    ]);
    assert_eq!(hidden(&played("waiting", 12.0 * SECOND, &turn)), true, "it is the visitor's turn");
}

#[test]
fn a_visit_that_another_tab_finished_is_over_and_has_not_run_out() {
    for (reason, message) in [("completed", "over"), ("expired", "ended")] {
        let gone = json!({ "code": "place_gone", "reason": reason });
        let answers = json!([{ "path": "/token", "status": 410, "body": gone }]);
        let played = played("waiting", 12.0 * SECOND, &answers);
        assert_eq!(played["elements"]["message"]["textContent"], message);
    }
}

const KEPT: &str = "anteroom-key-concert";

/// The Idempotency-Keys of its joins.
fn keys(played: &Value) -> Vec<&str> {
    let requests = played["requests"].as_array().expect("a list").iter();
    let joins = requests.filter(|it| it[1] == "POST" && it[2].as_str().is_some_and(is_join));
    joins.map(|it| it[3].as_str().expect("a key")).collect()
}

fn is_join(address: &str) -> bool {
    address.ends_with("/tokens")
}

#[test]
fn promise_04_a_cookie_that_is_pushed_out_costs_no_place() {
    // The page joins, and 10 s later its cookie is lost: it joins with the same key. So does the
    // page after a reload, and another tab.
    let answers = json!([
        { "path": "/tokens", "status": 201, "body": waiting(None) },
        { "path": "/token", "status": 200, "body": waiting(None) },
        { "path": "/token", "from": 10.0 * SECOND, "status": 401, "body": { "code": "token_missing" } },
    ]);
    let first = played("none", 20.0 * SECOND, &answers);
    let key = first["kept"][KEPT].as_str().expect("a key that is kept");
    assert!(keys(&first).len() >= 2 && key.len() >= 32, "{first}");
    assert!(keys(&first).iter().all(|sent| *sent == key), "{first}");
    let reloaded = play(&json!({
        "script": SCRIPT, "status": "none", "words": words(), "until": SECOND, "answers": answers,
        "kept": { KEPT: key },
    }));
    assert_eq!(keys(&reloaded), [key]);
}

#[test]
fn a_place_that_has_ended_takes_its_key_with_it() {
    let place = json!({
        "status": "active", "position": 0, "eta_ms": null, "poll_after_ms": 60_000, "expires_in_ms": 60_000,
    });
    let scene = |status: &str, gone: Value, others: Value, presses: Value| {
        let answers = json!([
            { "path": "/tokens", "status": 201, "body": waiting(None) },
            { "path": "/token", "status": 200, "body": place },
            gone,
            { "path": "/token", "from": 80.0 * SECOND, "status": 200, "body": waiting(None) },
        ]);
        play(&json!({
            "script": SCRIPT, "status": status, "words": words(), "returnTo": "", "until": 90.0 * SECOND,
            "answers": answers, "presses": presses, "kept": { KEPT: "the-old-key" }, "others": others,
        }))
    };
    let gone = |reason: &str| {
        let body = json!({ "code": "place_gone", "reason": reason });
        json!({ "path": "/token", "from": 50.0 * SECOND, "status": 410, "body": body })
    };
    let again = json!([{ "at": 80.0 * SECOND, "form": "join", "button": "join" }]);
    for reason in ["completed", "left", "expired", "unclaimed", "evicted", "ended"] {
        let ended = scene("active", gone(reason), json!([]), json!([]));
        assert_eq!(ended["kept"], json!({}), "{reason}");
        let joined = scene("active", gone(reason), json!([]), again.clone());
        assert_eq!(keys(&joined).len(), 1, "{reason}: {joined}");
        assert_ne!(keys(&joined)[0], "the-old-key", "{reason}");
        assert_eq!(joined["kept"][KEPT], keys(&joined)[0], "{reason}");
    }
    // The visitor finished, or the page already knew it at its start.
    let left = json!({ "path": "/token", "from": 50.0 * SECOND, "status": 204 });
    let finish = json!([{ "at": 55.0 * SECOND, "form": "visit", "button": "finish" }]);
    assert_eq!(scene("active", left, json!([]), finish)["kept"], json!({}));
    assert_eq!(scene("gone", gone("ended"), json!([]), json!([]))["kept"], json!({}));
    // Another tab has joined already: its key is not of the place that ended.
    let newer = json!({ KEPT: "the-key-of-another-tab" });
    let others = json!([{ "at": 40.0 * SECOND, "kept": newer }]);
    assert_eq!(scene("active", gone("expired"), others.clone(), json!([]))["kept"], newer);
    let joined = scene("active", gone("expired"), others, again);
    assert_eq!(keys(&joined), ["the-key-of-another-tab"], "one place for both tabs");
    // A lost place is joined again by all tabs, and the same key gives them one.
    let lost = scene("active", gone("lost"), json!([]), json!([]));
    assert!(keys(&lost).iter().all(|key| *key == "the-old-key"), "{lost}");
    assert!(!keys(&lost).is_empty());
}
