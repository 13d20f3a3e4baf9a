//! The page's script in a pretended browser, in virtual time: when it polls, and what it shows.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, OnceLock};

use anteroom_admission::public;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};

use crate::support::{app, ask, request};

const BROWSER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/page_script/browser.mjs");

/// What the page shows of numbers and times, in each language: a test in
/// `queue::waiting_page::views` makes the table from the page without a script.
const TEXTS: &str = include_str!("../page_script/numbers.json");

const SECOND: f64 = 1_000.0;
const DAY: f64 = 86_400.0 * SECOND;

/// What a page that begins in `status` does until then.
fn played(status: &str, until: f64, answers: &Value) -> Value {
    play(&json!({ "status": status, "until": until, "answers": answers }))
}

/// The script as admission delivers it, in a file.
fn script() -> &'static PathBuf {
    static SCRIPT: OnceLock<PathBuf> = OnceLock::new();
    SCRIPT.get_or_init(|| {
        let page = get("/queues/shop", "en");
        let (_, name) = page.split_once("<script src=\"shop/").expect("a script");
        let name = name.split('"').next().expect("an end");
        let script = get(&format!("/queues/shop/{name}"), "en");
        let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name.replace('/', "-"));
        // Another test program may write the same.
        let own = file.with_extension(format!("{}", std::process::id()));
        fs::write(&own, script).expect("written");
        fs::rename(&own, &file).expect("renamed");
        file
    })
}

/// The texts of a language, as the page has them for the script.
fn texts(language: &str) -> String {
    static TEXTS: Mutex<BTreeMap<String, String>> = Mutex::new(BTreeMap::new());
    let mut texts = TEXTS.lock().expect("no test failed here");
    texts.entry(language.to_owned()).or_insert_with(|| read_texts(language)).clone()
}

fn read_texts(language: &str) -> String {
    let page = get("/queues/shop", language);
    let (_, texts) =
        page.split_once("<script id=\"texts\" type=\"application/json\">").expect("texts");
    texts.split("</script>").next().expect("an end").to_owned()
}

/// An answer of admission to a browser that wants this language.
fn get(path: &str, language: &str) -> String {
    let get = async {
        let request = request("GET", path, &[("accept-language", language)]);
        let answer = ask(&public(&app("")), request).await;
        let body = answer.into_body().collect().await.expect("a body").to_bytes();
        String::from_utf8(body.to_vec()).expect("UTF-8")
    };
    tokio::runtime::Runtime::new().expect("a runtime").block_on(get)
}

fn play(scene: &Value) -> Value {
    let mut scene = scene.clone();
    scene["script"] = json!(script());
    if scene["lang"].is_null() {
        scene["lang"] = json!("en");
        scene["texts"] = json!(texts("en"));
    }
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
    json!({
        "status": "waiting", "ticket": 7, "position": 7, "ahead": 6, "eta_ms": eta_ms,
        "eta_p90_ms": null, "poll_after_ms": 5_000, "keep_ms": 2_400_000, "queue_state": "open",
        "opens_in_ms": null,
    })
}

#[test]
fn a_queue_that_opens_in_weeks_is_polled_in_weeks() {
    let forty_days = 40.0 * DAY;
    let closed = json!({ "code": "queue_closed", "retry_after_ms": forty_days });
    let state = json!({
        "state": "closed", "reason": "until June", "joins_at": "1970-02-10T00:00:00Z",
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
fn after_a_pressed_button_is_gone_the_focus_is_on_the_heading() {
    let place = |status: &str| {
        let mut place = waiting(None);
        place["status"] = json!(status);
        place["poll_after_ms"] = json!(60_000);
        place["expires_in_ms"] = json!(60_000);
        place
    };
    let scene = |finishes: u16, until: f64| {
        play(&json!({
            "status": "waiting", "returnTo": "", "until": until,
            "answers": [
                { "path": "/token", "status": 200, "body": place("active") },
                { "path": "/token", "from": 1_500.0, "status": finishes },
                { "path": "/tokens", "status": 201, "body": place("waiting") },
            ],
            "presses": [{ "at": 2_000.0, "button": "finish" }, { "at": 3_000.0, "button": "join" }],
        }))
    };
    let finished = scene(204, 2_000.0);
    assert_eq!(finished["view"], "finished");
    assert_eq!(finished["focus"], "heading", "the button that was pressed is gone");
    assert_eq!(finished["address"], "?over=", "a reload does not join");
    let joined = scene(204, 3_000.0);
    assert_eq!(joined["view"], "waiting");
    assert_eq!(joined["focus"], "heading");
    let failed = scene(503, 2_000.0);
    assert_eq!(failed["view"], "busy_kept");
}

#[test]
fn a_visitor_who_leaves_the_line_loses_the_place_and_its_key() {
    let played = play(&json!({
        "status": "waiting", "until": 3.0 * SECOND, "kept": { KEPT: "the-key" },
        "answers": [
            { "path": "/token", "status": 200, "body": waiting(None) },
            { "path": "/token", "from": 1_500.0, "status": 204 },
        ],
        "presses": [{ "at": 2_000.0, "button": "leave_yes" }],
    }));
    assert_eq!(played["view"], "left");
    assert_eq!(times(&played, "DELETE", "/token"), [2_000.0]);
    assert_eq!(played["kept"], json!({}));
}

#[test]
fn numbers_and_times_are_as_on_the_page_without_a_script() {
    let table: Value = serde_json::from_str(TEXTS).expect("JSON");
    for (language, kinds) in table.as_object().expect("languages") {
        for (kind, status) in
            [("position", "waiting"), ("wait", "waiting"), ("keep", "waiting"), ("left", "active")]
        {
            let rows = kinds[kind].as_array().expect("rows");
            assert!(!rows.is_empty());
            let answers = rows.iter().enumerate().map(|(index, row)| {
                let mut place = waiting(None);
                place["status"] = json!(status);
                place["poll_after_ms"] = json!(10_000);
                let value = row[0].clone();
                match kind {
                    "position" => {
                        place["ahead"] = json!(value.as_u64().expect("a number") - 1);
                        place["position"] = value;
                    }
                    "wait" => {
                        (place["eta_ms"], place["eta_p90_ms"]) =
                            (value[0].clone(), value[1].clone());
                    }
                    "keep" => place["keep_ms"] = value,
                    _ => place["expires_in_ms"] = value,
                }
                json!({
                    "path": "/token", "from": 10.0 * SECOND * index as f64, "status": 200,
                    "body": place,
                })
            });
            let played = play(&json!({
                "lang": language, "texts": texts(language), "status": "waiting", "returnTo": "",
                "until": 10.0 * SECOND * rows.len() as f64,
                "answers": answers.collect::<Vec<_>>(),
            }));
            let frames = played["frames"].as_array().expect("frames");
            for (index, row) in rows.iter().enumerate() {
                let frame = frames.iter().find(|frame| frame["answer"] == index);
                let frame = frame.unwrap_or_else(|| panic!("{language} {kind}: {index}"));
                let shown = match kind {
                    "position" => json!([frame["before"], frame["number"], frame["after"]]),
                    "wait" => frame["wait_value"].clone(),
                    "keep" => frame["keep"].clone(),
                    _ => frame["time"].clone(),
                };
                assert_eq!(shown, row[1], "{language} {kind} {}", row[0]);
            }
        }
    }
}

#[test]
fn a_place_shows_why_nothing_moves_for_as_long_as_nothing_does() {
    for (key, value, view) in [
        ("queue_state", json!("paused"), "paused"),
        ("paused_by", json!("health"), "recovering"),
        ("opens_in_ms", json!(600_000), "entry_starts"),
    ] {
        let mut stopped = waiting(None);
        stopped[key] = value;
        stopped["reason"] = json!("the hall is full");
        let answers = json!([
            { "path": "/token", "status": 200, "body": stopped },
            { "path": "/token", "from": 100.0 * SECOND, "status": 200, "body": waiting(Some(600_000)) },
        ]);
        let shown = played("waiting", 90.0 * SECOND, &answers);
        assert_eq!(shown["view"], view);
        let reason = &shown["elements"]["reason"];
        assert_eq!(
            (&reason["hidden"], &reason["textContent"]),
            (&json!(false), &json!("the hall is full"))
        );
        assert!(times(&shown, "GET", "/concert").is_empty(), "the place has it all");
        let moving = played("waiting", 140.0 * SECOND, &answers);
        assert_eq!(moving["view"], "waiting");
        assert_eq!(moving["elements"]["reason"]["hidden"], true);
        assert_eq!(moving["elements"]["wait_value"]["textContent"], "10 minutes");
    }
}

#[test]
fn the_progress_only_grows() {
    let at = |ahead: u64| {
        let mut place = waiting(None);
        (place["ahead"], place["position"]) = (json!(ahead), json!(ahead + 1));
        place
    };
    let answers = json!([
        { "path": "/token", "status": 200, "body": at(100) },
        { "path": "/token", "from": 20.0 * SECOND, "status": 200, "body": at(60) },
        { "path": "/token", "from": 40.0 * SECOND, "status": 200, "body": at(80) },
        { "path": "/token", "from": 60.0 * SECOND, "status": 200, "body": at(25) },
    ]);
    let scene = |until: f64, kept: &Value| {
        play(&json!({ "status": "waiting", "until": until, "answers": answers, "kept": kept }))
    };
    let progress = |played: &Value| played["elements"]["progress"]["value"].clone();
    for (until, expected) in [(10.0, 0), (30.0, 40), (50.0, 40), (70.0, 75)] {
        assert_eq!(progress(&scene(until * SECOND, &json!({}))), expected, "{until} s");
    }
    // A page that is loaded again goes on where it was.
    let kept = scene(70.0 * SECOND, &json!({}))["kept"].clone();
    assert_eq!(progress(&scene(10.0 * SECOND, &kept)), 75);
    let icon = scene(70.0 * SECOND, &json!({}))["elements"]["icon"]["href"].clone();
    assert_eq!(icon, "concert/assets/icon-7-digest.svg");
}

#[test]
fn a_visitor_who_was_away_reads_that_the_place_was_kept() {
    let seen = |at: i64| json!({ "anteroom-place-concert": json!({ "ticket": 7, "seen": at }).to_string() });
    let detail = |kept: Value| {
        let answers = json!([{ "path": "/token", "status": 200, "body": waiting(None) }]);
        let scene =
            json!({ "status": "waiting", "until": SECOND, "answers": answers, "kept": kept });
        play(&scene)["elements"]["detail"]["textContent"].clone()
    };
    assert_eq!(detail(seen(-600_000)), "Welcome back. Your place was kept.");
    assert_eq!(detail(seen(-60_000)), "");
}

#[test]
fn a_wrong_clock_changes_nothing() {
    let scene = |clock: f64| {
        let mut opening = waiting(Some(600_000));
        opening["opens_in_ms"] = json!(3_600_000);
        let date = json!({ "date": "Thu, 01 Jan 1970 12:00:00 GMT" });
        play(&json!({
            "status": "none", "until": 30.0 * SECOND, "clock": clock,
            "answers": [
                { "path": "/tokens", "status": 201, "headers": date, "body": opening },
                { "path": "/token", "status": 200, "headers": date, "body": opening },
            ],
        }))
    };
    let right = scene(0.0);
    assert_ne!(right["frames"][0]["since"], "", "{right}");
    for hours in [-3.0, 3.0] {
        let wrong = scene(hours * 3_600.0 * SECOND);
        for what in ["elements", "title", "view"] {
            assert_eq!(wrong[what], right[what], "{what}");
        }
    }
}

#[test]
fn a_screen_reader_hears_at_most_one_change_in_half_a_minute() {
    let mut paused = waiting(None);
    paused["queue_state"] = json!("paused");
    let answers = json!([
        { "path": "/token", "status": 200, "body": waiting(None) },
        { "path": "/token", "from": 5.0 * SECOND, "status": 200, "body": paused },
        { "path": "/token", "from": 12.0 * SECOND, "status": 200, "body": waiting(None) },
    ]);
    let heard = |until: f64| {
        played("waiting", until * SECOND, &answers)["elements"]["announcement"]["textContent"]
            .clone()
    };
    assert_eq!(heard(2.0), "6 people ahead of you");
    assert_eq!(heard(29.0), "6 people ahead of you");
    assert_eq!(heard(40.0), "6 people ahead of you", "the pause is over");
}

#[test]
fn a_visit_that_another_tab_finished_is_over_and_has_not_run_out() {
    for (reason, message) in [("completed", "finished"), ("expired", "ended"), ("left", "left")] {
        let gone = json!({ "code": "place_gone", "reason": reason });
        let answers = json!([{ "path": "/token", "status": 410, "body": gone }]);
        let played = played("waiting", 12.0 * SECOND, &answers);
        assert_eq!(played["view"], message);
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
        "status": "none", "until": SECOND, "answers": answers, "kept": { KEPT: key },
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
            "status": status, "returnTo": "", "until": 90.0 * SECOND,
            "answers": answers, "presses": presses, "kept": { KEPT: "the-old-key" }, "others": others,
        }))
    };
    let gone = |reason: &str| {
        let body = json!({ "code": "place_gone", "reason": reason });
        json!({ "path": "/token", "from": 50.0 * SECOND, "status": 410, "body": body })
    };
    let again = json!([{ "at": 80.0 * SECOND, "button": "join" }]);
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
    let finish = json!([{ "at": 55.0 * SECOND, "button": "finish" }]);
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
