//! Visitors follow the line in three ways: with each the promises are kept, and it costs what it
//! should.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use anteroom_witness::Token;
use hyper::{Request, body::Incoming};
use serde_json::{Value, json};

use crate::{
    Rehearsed,
    broken_room::token,
    common::{Answer, answer},
    real_room::{anteroom, rooms},
    rehearse, serve,
};

/// How many requests of a kind there were.
fn requests(result: &Value, kind: &str) -> u64 {
    result["with_room"]["room"]["by_kind"][kind]["requests"].as_u64().unwrap_or(0)
}

/// A crowd goes through a real room, with local answers and without.
async fn play(polls: &str) -> [Value; 2] {
    let play = async |local_answers: bool| {
        let rules = "capacity = 5\nclaim_ttl = \"24s\"\nsession_ttl = \"30s\"\n";
        let room = format!("[queues.hall]\n{rules}local_answers = {local_answers}\n");
        let room = anteroom(&room).await;
        let crowd = "--visitors 150 --arrive 1s --stay 400ms --sleep 2s --limit 5m \
            --mix faithful=80,sleeps=4,tabs=6,gives-up=4,cheats=6";
        let run = rehearse(&format!("{} {crowd} --polls {polls}", rooms(&room))).await;
        let (code, report) = (run.code(), run.file("rehearse.md"));
        assert_eq!(code, 0, "local answers: {local_answers}\n{}\n{report}", run.stderr());
        let result = run.result();
        let held = &result["with_room"]["room"]["promises"]["held"];
        for promise in ["1", "3", "4", "5"] {
            assert_eq!(held[promise], true, "{result:#}");
        }
        assert_eq!(result["rules"]["local_answers"], local_answers);
        assert_eq!(result["polls"], polls);
        assert!(report.contains("| GET …/token: polls | "), "{report}");
        result
    };
    tokio::join!(play(true), play(false)).into()
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_01_to_05_hold_for_visitors_who_poll() {
    for result in play("place").await {
        let [place, board, stream] =
            ["place", "board", "stream"].map(|kind| requests(&result, kind));
        assert!(place > 150 && board == 0 && stream == 0, "{result:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_01_to_05_hold_for_visitors_who_read_the_board() {
    for result in play("board").await {
        assert!(requests(&result, "board") > 50, "{result:#}");
        assert!(requests(&result, "place") > 100, "near the head they poll: {result:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_01_to_05_hold_for_visitors_who_follow_events() {
    for result in play("events").await {
        let [stream, event] = ["stream", "event"].map(|kind| requests(&result, kind));
        assert!(stream > 50 && event > stream, "{result:#}");
    }
}

/// What a simulated room does at a request for the board or an event stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Does {
    /// There is no board, or there are too many streams.
    Refuses(u16),
    /// Two newer streams are open.
    Replaces,
    /// The stream ends after each event.
    Ends,
    /// Each stream says that the place is lost.
    Loses,
}

/// A room in which each place is active at the fourth look, by polls and by events.
struct Room {
    does: Does,
    joins: AtomicU64,
    /// Looks by ticket.
    looks: Mutex<BTreeMap<u64, u64>>,
    /// Requests that did not send the position of the last answer.
    without_position: Mutex<Vec<String>>,
}

impl Room {
    fn answer(&self, request: &Request<Incoming>) -> Answer {
        let call = request.uri().path().trim_start_matches("/v1/queues/hall");
        let ticket = request
            .headers()
            .get("x-anteroom-token")
            .map_or(0, |token| Token::read(token.to_str().unwrap()).unwrap().place.ticket);
        match (request.method().as_str(), call) {
            ("GET", "") => {
                let state = json!({ "state": "open", "depth": 0, "ready": 0, "active": 0 });
                answer(200, state)
            }
            ("POST", "/tokens") => {
                let ticket = 100 + self.joins.fetch_add(1, Ordering::Relaxed);
                let mut body = self.look(ticket);
                body["token"] = token(ticket).into();
                // As admission answers: each place is polled before its first board.
                body["board_until_ticket"] = Value::Null;
                answer(201, body)
            }
            ("GET", "/token") => {
                self.check_position(request, ticket);
                answer(200, self.look(ticket))
            }
            ("GET", "/token/events") => {
                self.check_position(request, ticket);
                self.events(ticket)
            }
            ("GET", "/board") => {
                assert!(ticket == 0, "the board is for all");
                let Does::Refuses(status) = self.does else { return answer(500, "") };
                answer(status, "{}")
            }
            ("DELETE", _) => answer(204, ""),
            _ => {
                let mut passes = answer(200, "");
                let headers = passes.headers_mut();
                headers.insert("x-anteroom-visitor", ticket.to_string().parse().unwrap());
                headers.insert("x-anteroom-expires-in", "60".parse().unwrap());
                passes
            }
        }
    }

    /// Positions are 9, 8, 7; then the place is active.
    fn look(&self, ticket: u64) -> Value {
        let mut looks = self.looks.lock().unwrap();
        let looks = looks.entry(ticket).or_default();
        *looks += 1;
        if *looks > 3 {
            return json!({ "status": "active", "ticket": ticket, "expires_in_ms": 60_000 });
        }
        json!({
            "status": "waiting", "ticket": ticket, "position": 10 - *looks, "poll_after_ms": 50,
            "board_until_ticket": 50,
        })
    }

    fn check_position(&self, request: &Request<Incoming>, ticket: u64) {
        let sent = request.headers().get("x-anteroom-position");
        let sent = sent.map(|sent| sent.to_str().unwrap().to_owned());
        let looks = self.looks.lock().unwrap()[&ticket];
        let shown = (10 - looks.min(3)).to_string();
        if sent.as_ref() != Some(&shown) {
            let what = format!("{ticket}: {sent:?} instead of {shown} at {request:?}");
            self.without_position.lock().unwrap().push(what);
        }
    }

    fn events(&self, ticket: u64) -> Answer {
        let events = match self.does {
            Does::Refuses(status) => return answer(status, ""),
            Does::Replaces => "event: replaced\ndata: {}\n\n".to_owned(),
            Does::Loses => "event: gone\ndata: {\"reason\":\"lost\"}\n\n".to_owned(),
            Does::Ends => format!("retry: 50\nevent: place\ndata: {}\n\n", self.look(ticket)),
        };
        let mut stream = answer(200, events);
        stream.headers_mut().insert("content-type", "text/event-stream".parse().unwrap());
        stream
    }
}

/// In a simulated room.
const VISITORS: u64 = 10;

/// A crowd goes through such a room.
async fn play_simulated(polls: &str, does: Does) -> (Arc<Room>, Rehearsed) {
    let (joins, looks, without_position) = Default::default();
    let room = Arc::new(Room { does, joins, looks, without_position });
    let answering = Arc::clone(&room);
    let url = serve(move |request| {
        let room = Arc::clone(&answering);
        async move { room.answer(&request) }
    })
    .await;
    let crowd = format!("--mix faithful=1 --visitors {VISITORS} --arrive 100ms --stay 10ms");
    let run = rehearse(&format!("--anteroom {url} --queue hall {crowd} --polls {polls}")).await;
    (room, run)
}

#[tokio::test(flavor = "multi_thread")]
async fn visitors_without_board_or_stream_poll_and_send_their_position() {
    // So many boards and streams, polls, and events of each visitor.
    for (polls, does, asks, looks, events) in [
        ("place", Does::Refuses(404), 0, 3, 0),
        ("board", Does::Refuses(404), 1, 3, 0),
        ("board", Does::Refuses(503), 2, 3, 0),
        ("events", Does::Refuses(204), 1, 3, 0),
        ("events", Does::Refuses(503), 1, 3, 0),
        ("events", Does::Replaces, 1, 3, 0),
        ("events", Does::Ends, 3, 0, 3),
    ] {
        let (room, run) = play_simulated(polls, does).await;
        assert_eq!(run.code(), 0, "{polls} {does:?}: {}", run.stderr());
        let result = run.result();
        let counts = ["board", "stream", "place", "event"].map(|kind| requests(&result, kind));
        let [boards, streams, place, event] = counts;
        let expected = [asks, looks, events].map(|of_each| of_each * VISITORS);
        assert_eq!([boards + streams, place, event], expected, "{polls} {does:?}");
        assert_eq!(*room.without_position.lock().unwrap(), [""; 0], "{polls} {does:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_05_a_stream_that_loses_its_place_is_found_out() {
    let (_room, run) = play_simulated("events", Does::Loses).await;
    assert_eq!(run.code(), 1, "{}", run.stderr());
    let promises = &run.result()["with_room"]["room"]["promises"];
    assert_eq!(promises["held"]["5"], false, "{promises:#}");
    let violation = promises["violations"][0].as_str().unwrap();
    assert!(violation.contains(" ended (lost) as the waiting room reported"), "{violation}");
}
