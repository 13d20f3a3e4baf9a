//! Far from the front the page reads the board, and polls its place rarely.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use super::{SECOND, pauses, play, script, times, waiting};

/// Place 1 000, of which 940 are ahead.
fn far() -> Value {
    let mut place = waiting(Some(3_600_000));
    place["ticket"] = json!(1_000);
    place["position"] = json!(941);
    place["board_until_ticket"] = json!(800);
    place
}

/// The tickets 60 to 1 060 wait; so many of those before the 1 000th have left since.
fn board(left: u64) -> Value {
    json!({
        "epoch": "one", "front": 60, "check_in": false, "heartbeat_ms": 150_000,
        "next_in_ms": 1_000, "queue_state": "open",
        "points": { "position": [1, 940 - left, 60], "ticket": [60, 940, 60] },
        "pace": { "position": [1, 1_000 - left], "eta_ms": [0, 600_000], "eta_p90_ms": [] },
    })
}

fn changed(mut json: Value, field: &str, value: impl Into<Value>) -> Value {
    json[field] = value.into();
    json
}

/// A page that waits; `boards` by the time from which each is there.
fn page(until: f64, boards: &[(f64, Value)], place: Value) -> Value {
    let board = |(from, body): &(f64, Value)| json!({ "path": "/board", "from": from * SECOND, "status": 200, "body": body });
    let mut answers: Vec<_> = boards.iter().map(board).collect();
    answers.push(json!({ "path": "/token", "status": 200, "body": place }));
    json!({ "status": "waiting", "until": until * SECOND, "answers": answers })
}

#[test]
fn far_from_the_front_the_board_is_read_and_the_place_polled_rarely() {
    let scene = page(1_500.0, &[(0.0, board(0)), (700.0, board(100))], far());
    let shown = play(&scene);
    let (boards, polls) = (times(&shown, "GET", "/board"), times(&shown, "GET", "/token"));
    assert!((270..300).contains(&boards.len()), "{boards:?}");
    // Every 150 s with jitter that only hastens, at the time of the next board.
    let apart = pauses(&polls);
    assert!(apart.iter().all(|pause| (120_000.0..=155_000.0).contains(pause)), "{apart:?}");
    assert!(apart.iter().any(|pause| (pause - apart[0]).abs() > 1.0), "{apart:?}");
    // Place 1 000 is the 941st less those who have left.
    assert_eq!(shown["elements"]["number"]["textContent"], "840");
    assert_eq!(shown["elements"]["wait_value"]["textContent"], "10 minutes");
    // A minute after the last poll the place is kept for a minute less.
    let kept = play(&page(60.0 + polls[0] / SECOND, &[(0.0, board(0))], far()));
    let kept = kept["elements"]["keep"]["textContent"].as_str().expect("a text").to_owned();
    assert!(kept.contains("39 minutes"), "{kept}");
}

#[test]
fn a_position_of_the_board_is_never_worse_than_the_last_one() {
    let scene = page(100.0, &[(0.0, board(100)), (20.0, board(0))], far());
    assert_eq!(play(&scene)["elements"]["number"]["textContent"], "840");
}

#[test]
fn near_the_front_the_place_is_polled_again() {
    let front = changed(board(0), "front", 800);
    let near = changed(far(), "board_until_ticket", Value::Null);
    let mut scene = page(60.0, &[(0.0, board(0)), (20.0, front)], far());
    let answer = json!({ "path": "/token", "from": 20.0 * SECOND, "status": 200, "body": near });
    scene["answers"].as_array_mut().expect("a list").push(answer);
    let shown = play(&scene);
    let (boards, polls) = (times(&shown, "GET", "/board"), times(&shown, "GET", "/token"));
    let first_near = *boards.last().expect("a board");
    assert!((20.0..26.0).contains(&(first_near / SECOND)), "{boards:?}");
    let near = polls.iter().filter(|at| **at >= first_near).count();
    assert!((7..=9).contains(&near), "{polls:?}");
}

#[test]
fn a_check_in_period_and_a_new_epoch_make_each_page_poll_within_10_s() {
    let check_in = changed(board(0), "check_in", true);
    let reset = changed(board(0), "epoch", "two");
    for changed in [check_in, reset] {
        let shown = play(&page(60.0, &[(0.0, board(0)), (20.0, changed)], far()));
        let polls = times(&shown, "GET", "/token");
        let after: Vec<_> = polls.iter().filter(|at| **at > 20.0 * SECOND).collect();
        assert_eq!(after.len(), 1, "once: {polls:?}");
        assert!(*after[0] <= 36.0 * SECOND, "{polls:?}");
    }
}

#[test]
fn without_a_board_the_place_is_polled() {
    let away = json!({ "path": "/board", "from": 30.0 * SECOND, "status": 0 });
    let off = json!({ "path": "/board", "from": 30.0 * SECOND, "status": 404, "body": {} });
    let down = json!({ "path": "/board", "from": 30.0 * SECOND, "status": 503, "body": {} });
    let html = json!({ "path": "/board", "from": 30.0 * SECOND, "status": 200, "body": "<html>" });
    let outside = changed(board(0), "points", json!({ "position": [1, 10], "ticket": [60, 10] }));
    let outside =
        json!({ "path": "/board", "from": 30.0 * SECOND, "status": 200, "body": outside });
    for answer in [away, off, down, html, outside] {
        let mut scene = page(90.0, &[(0.0, board(0))], far());
        scene["answers"].as_array_mut().expect("a list").push(answer.clone());
        let shown = play(&scene);
        let polls = times(&shown, "GET", "/token");
        let after = polls.iter().filter(|at| **at > 30.0 * SECOND).count();
        assert!((9..=13).contains(&after), "{answer}: {polls:?}");
        assert_eq!(shown["view"], "waiting");
    }
}

#[test]
fn a_hidden_page_follows_events() {
    let mut scene = page(60.0, &[(0.0, board(0))], far());
    scene["hiddenAt"] = json!(30.0 * SECOND);
    scene["stream"] = json!([{ "at": SECOND, "event": "place", "data": far() }]);
    let shown = play(&scene);
    assert_eq!(times(&shown, "GET", "/token/events"), [0.0, 30.0 * SECOND]);
    let boards = times(&shown, "GET", "/board");
    assert!(boards.len() > 3 && boards.iter().all(|at| *at < 30.0 * SECOND), "{boards:?}");
}

#[test]
fn what_an_operator_changes_shows_by_the_board() {
    let paused = changed(changed(board(0), "queue_state", "paused"), "reason", "A break.");
    let shown = play(&page(60.0, &[(0.0, board(0)), (20.0, paused)], far()));
    assert_eq!(shown["view"], "paused");
    assert_eq!(shown["elements"]["reason"]["textContent"], "A break.");
    assert!(times(&shown, "GET", "/token").len() <= 1);
}

#[test]
fn the_page_reads_a_board_as_the_reference_does() {
    let vectors = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/board-vectors.json");
    let script = fs::read_to_string(script()).expect("the script");
    let begin = script.find("const sums").expect("the functions of the board");
    let end = script.find("// A hidden page").expect("their end");
    let program = format!(
        "{}
        const vectors = JSON.parse(require('node:fs').readFileSync({vectors:?}));
        const read = ({{ board, tickets }}) =>
            ({{ board, tickets: tickets.map(({{ ticket }}) => ({{ ticket, ...onBoard(board, ticket) }})) }});
        process.stdout.write(JSON.stringify(vectors.map(read)));",
        &script[begin..end],
    );
    let output = Command::new("node").args(["-e", &program]).output().expect("node");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let read: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let vectors: Value =
        serde_json::from_slice(&fs::read(vectors).expect("vectors")).expect("JSON");
    let (read, vectors) = (read.as_array().expect("a list"), vectors.as_array().expect("a list"));
    assert!(vectors.len() > 5 && read.len() == vectors.len());
    for (read, vector) in read.iter().zip(vectors) {
        assert_eq!(read["tickets"], vector["tickets"], "{}", vector["name"]);
    }
}
