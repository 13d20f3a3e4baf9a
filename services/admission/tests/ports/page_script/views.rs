//! What the page shows of a place.

use serde_json::{Value, json};

use super::{KEPT, SECOND, play, played, texts, times, waiting};

/// What the page shows of numbers and times, in each language: a test in
/// `queue::waiting_page::views` makes the table from the page without a script.
const TEXTS: &str = include_str!("../../page_script/numbers.json");

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
            let mut rows = kinds[kind].as_array().expect("rows").clone();
            assert!(!rows.is_empty());
            if kind == "position" {
                // It never gets worse.
                rows.sort_by_key(|row| std::cmp::Reverse(row[0].as_u64()));
            }
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
        // Before it opens a queue is paused.
        stopped["queue_state"] = json!("paused");
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

/// The page sends its position with each poll, until the ticket is another.
#[test]
fn a_position_never_gets_worse_for_a_ticket() {
    let at = |ticket: u64, position: u64| {
        let mut place = waiting(None);
        (place["ticket"], place["position"]) = (json!(ticket), json!(position));
        (place["ahead"], place["poll_after_ms"]) = (json!(position - 1), json!(10_000));
        place
    };
    let answers = json!([
        { "path": "/token", "status": 200, "body": at(7, 5) },
        { "path": "/token", "from": 10.0 * SECOND, "status": 200, "body": at(7, 6) },
        { "path": "/token", "from": 20.0 * SECOND, "status": 200, "body": at(9, 80) },
    ]);
    let scene = |until: f64| played("waiting", until * SECOND, &answers);
    let number = |until| scene(until)["elements"]["number"]["textContent"].clone();
    assert_eq!((number(5.0), number(15.0), number(25.0)), (json!("4"), json!("4"), json!("79")));
    let played = scene(35.0);
    let requests = played["requests"].as_array().expect("a list").iter();
    let polls = requests.filter(|it| it[2].as_str().is_some_and(|it| it.ends_with("/token")));
    let sent: Vec<_> = polls.map(|it| it[4].clone()).collect();
    // The answer about another ticket is not shown: the page asks again, without the position.
    assert_eq!(sent[..4], [json!(null), json!(5), json!(5), json!(null)], "{sent:?}");
    assert_eq!(sent[4], 80, "{sent:?}");
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
    assert_eq!(heard(9.0), "6 people ahead of you");
    assert_eq!(heard(29.0), "", "it is not read again with the page");
    assert_eq!(heard(35.0), "6 people ahead of you", "the pause is over");
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
