//! When the page calls, and what it shows while a call fails.

use serde_json::{Value, json};

use super::{DAY, SECOND, pauses, play, played, times, waiting};

#[test]
fn a_queue_that_opens_in_weeks_is_polled_in_weeks() {
    let forty_days = 40.0 * DAY;
    let closed = json!({ "code": "queue_closed", "retry_after_ms": forty_days });
    let state = json!({
        "state": "closed", "reason": "until June", "joins_in_ms": forty_days,
    });
    let answers = json!([
        { "path": "/tokens", "status": 503, "body": closed },
        { "path": "/concert", "status": 200, "body": state },
        { "path": "/tokens", "from": forty_days, "status": 201, "body": waiting(None) },
    ]);
    let played = played("none", 39.0 * DAY, &answers);
    assert_eq!(times(&played, "POST", "/tokens"), [0.0], "a longer time than a timer has");
    assert_eq!(played["view"], "not_open");
    assert_eq!(played["elements"]["time"]["textContent"], "24 hours");
    assert_eq!(played["elements"]["reason"]["textContent"], "until June");
    let played = self::played("none", forty_days + SECOND, &answers);
    assert_eq!(times(&played, "POST", "/tokens").len(), 2);
    let closed = json!([
        { "path": "/tokens", "status": 503, "body": { "code": "queue_closed" } },
        { "path": "/concert", "status": 200, "body": { "state": "closed" } },
    ]);
    assert_eq!(self::played("none", SECOND, &closed)["view"], "closed");
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
    // The first failure is no reason for alarm.
    let view = |until: f64| self::played("waiting", until * SECOND, &answers)["view"].clone();
    assert_eq!(view(1.2), "not_in_line");
    assert_eq!(view(30.0), "busy_kept");
    assert_eq!(view(599.0), "unreachable");
    assert_eq!(view(640.0), "waiting");
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
        let shown = |until: f64| played("none", until, &answers)["view"].clone();
        // One lost cookie is no reason yet: the first poll comes a second after the join.
        assert_ne!(shown(SECOND), "cookies");
        // From the second one on it is shown, and no later join hides it.
        for until in [30.0, 60.0, 299.0] {
            assert_eq!(shown(until * SECOND), "cookies", "{until} s");
        }
        // Once the visitor allows cookies the page goes on by itself.
        assert_eq!(shown(400.0 * SECOND), "waiting");
    }
}

#[test]
fn a_page_whose_browser_denies_storage_goes_on_all_the_same() {
    let ready = json!({ "status": "ready", "poll_after_ms": 2_000 });
    let scene = json!({
        "status": "waiting", "until": 60.0 * SECOND, "returnTo": "/seats", "deniesStorage": true,
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
    assert_eq!(played["view"], "busy");
}

#[test]
fn a_join_that_tries_again_by_itself_says_so_and_offers_no_button() {
    for status in [0, 503] {
        let answer = json!({ "path": "/tokens", "status": status });
        let played = played("none", 2.0 * SECOND, &json!([answer]));
        assert_eq!(played["view"], "busy");
        for id in ["join", "try_again"] {
            assert_eq!(played["elements"][id]["hidden"], true, "{id}");
        }
    }
}

#[test]
fn a_browser_that_is_offline_shows_it() {
    for (status, path) in [("none", "/tokens"), ("waiting", "/token")] {
        let scene = json!({
            "status": status, "until": 5.0 * SECOND, "offline": true,
            "answers": [{ "path": path, "status": 0 }],
        });
        assert_eq!(play(&scene)["view"], "offline", "{status}");
    }
}

#[test]
fn a_silent_connection_is_noticed() {
    let answers = json!([{ "path": "/token", "status": 200, "body": waiting(Some(600_000)) }]);
    let stream = json!([
        { "at": 1.0 * SECOND, "event": "place", "data": waiting(Some(600_000)) },
        { "at": 16.0 * SECOND, "event": "place", "data": waiting(Some(600_000)) },
    ]);
    let shown = play(&json!({
        "status": "waiting", "until": 100.0 * SECOND, "answers": answers, "stream": stream,
    }));
    assert_eq!(times(&shown, "GET", "/token/events"), [0.0]);
    let polls = times(&shown, "GET", "/token");
    assert!(
        polls.first().is_some_and(|first| (61.0..63.0).contains(&(first / SECOND))),
        "{polls:?}"
    );

    let silent = json!([{ "path": "/token" }]);
    let polls = times(&played("waiting", 150.0 * SECOND, &silent), "GET", "/token");
    assert_eq!(polls.len(), 4, "one at a time: {polls:?}");
    let silent = json!([{ "path": "/tokens" }]);
    let joins = times(&played("none", 150.0 * SECOND, &silent), "POST", "/tokens");
    assert_eq!(joins.len(), 4, "{joins:?}");
}

#[test]
fn answers_that_no_admission_sends_are_no_flood() {
    let place = |key: &str, value: Value| {
        let mut place = waiting(Some(600_000));
        place[key] = value;
        json!([{ "path": "/token", "status": 200, "body": place }])
    };
    let busy = json!({ "code": "slow_down", "retry_after_ms": "soon" });
    for answers in [
        place("poll_after_ms", Value::Null),
        place("poll_after_ms", json!("soon")),
        place("poll_after_ms", json!(-1)),
        place("status", json!("away")),
        json!([{ "path": "/token", "status": 200, "body": {} }]),
        json!([{ "path": "/token", "status": 429, "body": busy }]),
    ] {
        let shown = played("waiting", 60.0 * SECOND, &answers);
        let polls = times(&shown, "GET", "/token");
        assert!((3..62).contains(&polls.len()), "{} polls: {answers}", polls.len());
        assert_eq!(shown["left"], Value::Null, "{answers}");
        assert!(times(&shown, "POST", "/token/claim").is_empty(), "{answers}");
    }
    let lost = json!({ "code": "place_gone", "reason": "lost" });
    let answers = json!([
        { "path": "/tokens", "status": 201, "body": waiting(None) },
        { "path": "/token", "status": 410, "body": lost },
    ]);
    let joins = times(&played("waiting", 60.0 * SECOND, &answers), "POST", "/tokens");
    assert!(joins.len() < 15, "{} joins", joins.len());
}

#[test]
fn a_page_that_is_loaded_ahead_takes_no_place() {
    let answers = json!([{ "path": "/tokens", "status": 201, "body": waiting(None) }]);
    let shown = play(&json!({
        "status": "none", "until": 60.0 * SECOND, "answers": answers, "shownAt": 20.0 * SECOND,
    }));
    assert_eq!(times(&shown, "POST", "/tokens"), [20.0 * SECOND]);
}

#[test]
fn one_turn_is_claimed_once_at_a_time() {
    let mut ready = waiting(None);
    ready["status"] = json!("ready");
    ready["expires_in_ms"] = json!(60_000);
    let stream: Vec<_> = (1..=10)
        .map(|at| json!({ "at": f64::from(at) * SECOND, "event": "place", "data": ready }))
        .collect();
    let answers = json!([{ "path": "/token/claim" }]);
    let shown = play(&json!({
        "status": "waiting", "until": 30.0 * SECOND, "answers": answers, "stream": stream,
    }));
    assert_eq!(times(&shown, "POST", "/token/claim"), [1.0 * SECOND]);
}
