//! Rooms that break a promise are found out, and the lines that prove it are shown.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use anteroom_witness::Token;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use hyper::{Request, body::Incoming};
use serde_json::{Value, json};

use crate::{
    Rehearsed,
    common::{Answer, answer},
    rehearse, scenario, serve,
};

/// What a room does wrong. A visitor who is not let in waits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// All visitors are active at once, where `capacity` is 5, and this after the first look at it.
    LetsAllIn { later: u64 },
    /// Every token passes at the gate, and none does.
    TakesAnyToken,
    /// The same in bypass, where it is none.
    Bypass,
    /// It knows none of its tokens any more.
    DeniesTokens,
    /// The gate passes every own token.
    PassesWithoutTurn,
    /// A forged token is answered as one whose turn has not come.
    LooksForForgedPlaces,
    /// Each join is given a place of its own. It knows every second place only to end it.
    HidesPlaces,
    /// It ends no place at the first request, and every fourth at none.
    KeepsLeavers,
    /// It answers each join so.
    RefusesJoins(u16, &'static str),
    /// With local answers: each position that it shows is worse than the one before.
    IgnoresSentPositions,
    /// It refuses joins. Its batch adapts up to 20, unless an operator has set 60.
    Adapts { overridden: bool },
}

/// A room that does something wrong.
struct Room {
    fault: Fault,
    /// Given so far; the first is 2, as forged tokens have ticket 1.
    tickets: AtomicU64,
    looks_at_rules: AtomicU64,
    /// The position that it showed last.
    position: AtomicU64,
    /// Places that were not given up, and how often that was requested.
    places: Mutex<BTreeMap<u64, u32>>,
}

/// A token in the form of real ones, with no more in it than visitors can read.
pub fn token(ticket: u64) -> String {
    let mut bytes = vec![0, 0, 0, 0, 4];
    bytes.extend(b"hall");
    bytes.extend(7_u64.to_be_bytes());
    bytes.extend([0; 14]);
    bytes.extend(ticket.to_be_bytes());
    format!("art1.{}", URL_SAFE_NO_PAD.encode(bytes))
}

impl Room {
    async fn start(fault: Fault) -> String {
        let (tickets, looks_at_rules) = (AtomicU64::new(1), AtomicU64::new(0));
        let (position, places) = (AtomicU64::new(0), Mutex::default());
        let room = Arc::new(Self { fault, tickets, looks_at_rules, position, places });
        serve(move |request| {
            let room = Arc::clone(&room);
            async move { room.answer(&request) }
        })
        .await
    }

    fn answer(&self, request: &Request<Incoming>) -> Answer {
        match (request.method().as_str(), request.uri().path()) {
            ("GET", "/v1/queues/hall") => {
                let state = if self.fault == Fault::Bypass { "bypass" } else { "open" };
                let depth = self.places.lock().unwrap().len();
                let state = json!({ "state": state, "depth": depth, "ready": 0, "active": 0 });
                answer(200, state)
            }
            ("GET", "/v1/admin/queues/hall") => answer(200, self.rules()),
            ("POST", "/v1/queues/hall/tokens") => {
                if let Fault::RefusesJoins(status, code) = self.fault {
                    return answer(status, json!({ "code": code }));
                }
                if let Fault::Adapts { .. } = self.fault {
                    return answer(403, Value::Null);
                }
                let ticket = self.tickets.fetch_add(1, Ordering::Relaxed) + 1;
                self.places.lock().unwrap().insert(ticket, 0);
                let mut body = self.place(ticket);
                body["token"] = token(ticket).into();
                answer(201, body)
            }
            (method, path) => match path.strip_prefix("/v1/queues/hall/") {
                Some(call) => self.visitor(request, method, call),
                None => answer(404, json!({ "code": "not_found" })),
            },
        }
    }

    fn rules(&self) -> Value {
        let is_first = self.looks_at_rules.fetch_add(1, Ordering::Relaxed) == 0;
        let capacity = match self.fault {
            Fault::LetsAllIn { later } if !is_first => later,
            _ => 5,
        };
        let mut view = json!({ "rules": {
            "capacity": capacity, "batch": Value::Null, "interval_ms": 10_000,
            "claim_ttl_ms": 60_000, "session_ttl_ms": 300_000, "idle_ttl_ms": 600_000,
            "first_poll_ttl_ms": 60_000,
        }});
        view["rules"]["local_answers"] = (self.fault == Fault::IgnoresSentPositions).into();
        if let Fault::Adapts { overridden } = self.fault {
            view["rules"]["batch"] = 60.into();
            view["adaptive"] = json!({ "max_batch": 20 });
            let overrides = json!({ "batch": { "value": 60 } });
            view["overrides"] = if overridden { overrides } else { json!({}) };
        }
        view
    }

    fn place(&self, ticket: u64) -> Value {
        if matches!(self.fault, Fault::LetsAllIn { .. }) {
            json!({ "status": "active", "ticket": ticket, "expires_in_ms": 300_000 })
        } else {
            let worse = self.fault == Fault::IgnoresSentPositions;
            let position = 1 + self.position.fetch_add(worse.into(), Ordering::Relaxed);
            json!({
                "status": "waiting", "ticket": ticket, "position": position, "poll_after_ms": 200,
            })
        }
    }

    fn visitor(&self, request: &Request<Incoming>, method: &str, call: &str) -> Answer {
        let refused = |status, code| answer(status, json!({ "code": code }));
        let passes_all = matches!(self.fault, Fault::TakesAnyToken | Fault::Bypass);
        let passes = passes_all || matches!(self.fault, Fault::LetsAllIn { .. });
        if call == "authorize" && passes {
            return answer(200, json!({}));
        }
        let Some(held) = request.headers().get("x-anteroom-token") else {
            return refused(401, "token_missing");
        };
        let ticket = Token::read(held.to_str().unwrap()).unwrap().place.ticket;
        let is_forged = ticket == 1 || *held != *token(ticket);
        if method == "DELETE" && !is_forged {
            return self.leaves(ticket);
        }
        if self.fault == Fault::HidesPlaces && ticket.is_multiple_of(2) {
            return refused(401, "token_invalid");
        }
        if self.fault == Fault::DeniesTokens {
            let status = if ticket.is_multiple_of(2) { 401 } else { 404 };
            return refused(status, "token_invalid");
        }
        if is_forged && self.fault != Fault::LooksForForgedPlaces {
            return refused(401, "token_invalid");
        }
        match (method, call) {
            ("GET", "token") if is_forged => refused(302, ""),
            ("GET", "token") => answer(200, self.place(ticket)),
            ("POST", "token/claim") => refused(409, "not_ready"),
            ("POST", "token/renew") => refused(409, "not_active"),
            (_, "authorize") if self.fault == Fault::PassesWithoutTurn => answer(200, json!({})),
            (_, "authorize") => refused(403, "not_admitted"),
            _ => refused(410, "place_gone"),
        }
    }

    fn leaves(&self, ticket: u64) -> Answer {
        let mut places = self.places.lock().unwrap();
        let Some(requests) = places.get_mut(&ticket) else {
            return answer(410, json!({ "code": "place_gone", "reason": "left" }));
        };
        *requests += 1;
        if self.fault == Fault::KeepsLeavers && (*requests == 1 || ticket.is_multiple_of(4)) {
            return answer(503, json!({ "code": "store_unavailable" }));
        }
        places.remove(&ticket);
        answer(204, Value::Null)
    }
}

/// How many places were not given up.
async fn depth(room: &str) -> Value {
    let state = reqwest::get(format!("{room}/v1/queues/hall")).await.unwrap();
    state.json::<Value>().await.unwrap()["depth"].clone()
}

/// The flags of such a room, of which the rules are known.
fn flags(room: &str) -> String {
    format!("--anteroom {room} --service {room} --queue hall")
}

/// Plays a crowd in such a room.
async fn play(fault: Fault, crowd: &str) -> Rehearsed {
    rehearse(&format!("{crowd} {}", flags(&Room::start(fault).await))).await
}

const SIXTY: &str = "--mix faithful=1 --visitors 60 --arrive 1s --stay 2s";
const CHEATS: &str = "--mix cheats=1 --visitors 20 --arrive 1s --limit 60s";

#[tokio::test(flavor = "multi_thread")]
async fn promise_01_a_room_that_lets_all_in_is_found_out() {
    let run = play(Fault::LetsAllIn { later: 5 }, SIXTY).await;
    assert_eq!(run.code(), 1, "{}", run.stderr());
    let result = run.result();
    let promises = &result["with_room"]["room"]["promises"];
    assert_eq!(promises["held"]["1"], false, "{promises:#}");
    assert_eq!(promises["held"]["2"], Value::Null, "there is no batch: {promises:#}");
    assert_eq!(promises["held"]["3"], true, "{promises:#}");
    assert_eq!(result["with_room"]["over"], "promise_broken");
    // The lines prove it: six who were active together.
    let violation = promises["violations"][0].as_str().unwrap();
    let (first, lines) = violation.split_once('\n').unwrap();
    assert!(first.starts_with("promise 1: 6 ready or active at "), "{first}");
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
    assert!(run.stderr().contains("promise 1, BROKEN: Cap"), "{}", run.stderr());
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_04_and_05_are_proved_on_the_terminal_and_no_place_is_left() {
    let room = Room::start(Fault::HidesPlaces).await;
    let crowd = "--mix tabs=1 --visitors 8 --arrive 500ms --limit 60s";
    let run = rehearse(&format!("{crowd} {}", flags(&room))).await;
    assert_eq!(run.code(), 1, "{}", run.stderr());
    for promise in ["4", "5"] {
        let stderr = run.stderr();
        let (_, proof) = stderr.split_once(&format!("promise {promise}, BROKEN: ")).unwrap();
        let mut proof = proof.lines().skip(1);
        assert!(proof.next().unwrap().starts_with(&format!("promise {promise}: ")), "{stderr}");
        let lines = proof.take_while(|line| line.starts_with("  line ")).count();
        assert!((1..=3).contains(&lines), "{stderr}");
    }
    assert!(run.stderr().contains("record.jsonl"), "{}", run.stderr());
    assert_eq!(depth(&room).await, 0, "{}", run.stderr());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_place_that_cannot_be_given_up_is_tried_for_a_minute_and_then_reported() {
    let room = Room::start(Fault::KeepsLeavers).await;
    let crowd = "--mix faithful=1 --visitors 8 --arrive 500ms --limit 2s";
    let run = rehearse(&format!("--anteroom {room} --queue hall {crowd}")).await;
    assert_eq!(run.code(), 1, "{}", run.stderr());
    let why = "8 of 8 visits had not ended when --limit 2s was over";
    assert!(run.stderr().contains(why), "{}", run.stderr());
    assert_eq!(depth(&room).await, 2, "{}", run.stderr());
    assert!(run.stderr().contains("2 of them stay in the line"), "{}", run.stderr());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_room_that_refuses_every_join_ends_the_run_with_its_statuses() {
    for (visitors, status, code) in [("2000", 403, ""), ("3", 401, "assertion_required")] {
        let crowd = format!("--mix faithful=1 --visitors {visitors} --arrive 1s");
        let run = play(Fault::RefusesJoins(status, code), &crowd).await;
        assert_eq!(run.code(), 70, "{}", run.stderr());
        let answer =
            format!("the waiting room refuses every join: {}", format!("{status} {code}").trim());
        assert!(run.stderr().contains(&answer), "{}", run.stderr());
        let with_room = &run.result()["with_room"];
        assert!(with_room["seconds"].as_f64() < Some(60.0), "{with_room:#}");
        let held = with_room["room"]["promises"]["held"].as_object().unwrap();
        assert!(held.values().all(Value::is_null), "no visitor had a place: {held:?}");
        assert!(!run.stderr().contains("kept"), "{}", run.stderr());
    }
    // It may take joins later.
    let crowd = "--mix faithful=1 --visitors 30 --arrive 1s --limit 2s";
    let run = play(Fault::RefusesJoins(503, "queue_closed"), crowd).await;
    assert_eq!(run.code(), 1, "{}", run.stderr());
    assert_eq!(run.result()["with_room"]["over"], "time_limit");
    assert!(run.stderr().contains("joins: 503 queue_closed: "), "{}", run.stderr());
    assert!(run.stderr().contains("promise 5, not judged: "), "{}", run.stderr());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_objective_that_no_request_measured_is_not_judged() {
    let target = Room::start(Fault::TakesAnyToken).await;
    let crowd = "--mix faithful=1 --visitors 5 --arrive 1s --limit 2s";
    let slo = format!("--target {target} --slo p95<200ms --slo errors<1%");
    let run = play(Fault::LooksForForgedPlaces, &format!("{crowd} {slo}")).await;
    assert_eq!(run.code(), 1, "{}", run.stderr());
    for objective in ["p95<200ms", "errors<1%"] {
        let says = "with the waiting room: not judged: no request reached the service";
        assert!(run.stderr().contains(&format!("{objective} {says}")), "{}", run.stderr());
    }
    assert!(!run.stderr().contains("MISSED"), "{}", run.stderr());
    let report = run.file("rehearse.md");
    assert!(report.contains("| no request reached the service | not judged |"), "{report}");
    assert!(run.file("rehearse-errors.svg").contains("errors&lt;1%"), "a line for the share");
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_06_a_room_that_takes_any_token_is_found_out() {
    let run = play(Fault::TakesAnyToken, CHEATS).await;
    assert_eq!(run.code(), 1, "{}", run.stderr());
    let result = run.result();
    assert_eq!(result["with_room"]["over"], "promise_broken", "before the time limit");
    let room = &result["with_room"]["room"];
    assert_eq!(room["promises"]["held"]["6"], false, "{room:#}");
    assert!(room["tricks"]["no_token"]["accepted"].as_u64() > Some(0), "{room:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_01_is_judged_behind_a_service_that_ends_no_visit() {
    let (target, folder) = (Room::start(Fault::TakesAnyToken).await, tempfile::tempdir().unwrap());
    let nothing = "[[steps]]\nname = \"look\"\npath = \"/\"\nexpect = [404]\n";
    let service = format!("--target {target} {}", scenario(&folder, nothing));
    let run = play(Fault::LetsAllIn { later: 5 }, &format!("{SIXTY} {service}")).await;
    let result = run.result();
    let promises = &result["with_room"]["room"]["promises"];
    assert_eq!(promises["held"]["1"], false, "{promises:#}");
    assert_eq!(run.code(), 1, "{}", run.stderr());
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_01_is_not_judged_where_the_rules_changed_unless_all_of_them_forbid_it() {
    for (later, held, code) in [(100, Value::Null, 0), (10, false.into(), 1)] {
        let run = play(Fault::LetsAllIn { later }, SIXTY).await;
        let result = run.result();
        let promises = &result["with_room"]["room"]["promises"];
        assert_eq!(promises["held"]["1"], held, "{later}: {promises:#}");
        assert_eq!(run.code(), code, "{later}: {}", run.stderr());
        assert_eq!(result["rules_changed"], true, "{later}");
        assert!(run.file("rehearse.md").contains("The rules changed during the run"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_05_a_room_that_denies_its_tokens_is_found_out() {
    let crowd = "--mix faithful=1 --visitors 20 --arrive 1s";
    let run = play(Fault::DeniesTokens, crowd).await;
    assert_eq!(run.code(), 1, "{}", run.stderr());
    let with_room = &run.result()["with_room"];
    let promises = &with_room["room"]["promises"];
    assert_eq!(promises["held"]["5"], false, "{promises:#}");
    let violation = promises["violations"][0].as_str().unwrap();
    assert!(violation.contains("ended (token_invalid) before its time was over"), "{violation}");
    assert_eq!(with_room["refused"], 20, "{with_room:#}");
    // Where no rules are known the room is not accused, and all the same it has not held.
    let room = Room::start(Fault::DeniesTokens).await;
    let run = rehearse(&format!("{crowd} --anteroom {room} --queue hall")).await;
    assert_eq!(run.code(), 1, "{}", run.stderr());
    assert_eq!(run.result()["with_room"]["over"], "complete");
    assert!(run.stderr().contains("20 visits were refused for good"), "{}", run.stderr());
    assert!(run.file("rehearse.md").contains("20 visits were refused for good"));
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_05_a_room_that_ignores_the_position_of_a_visitor_is_found_out() {
    let crowd = "--mix faithful=1 --visitors 5 --arrive 500ms --limit 60s";
    let run = play(Fault::IgnoresSentPositions, crowd).await;
    assert_eq!(run.code(), 1, "{}", run.stderr());
    let promises = &run.result()["with_room"]["room"]["promises"];
    assert_eq!(promises["held"]["5"], false, "{promises:#}");
    let violation = promises["violations"][0].as_str().unwrap();
    assert!(violation.contains(" goes backwards: position "), "{violation}");
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_06_a_gate_that_passes_without_a_turn_is_found_out() {
    let run = play(Fault::PassesWithoutTurn, CHEATS).await;
    assert_eq!(run.code(), 1, "{}", run.stderr());
    let result = run.result();
    assert_eq!(result["with_room"]["over"], "promise_broken");
    let room = &result["with_room"]["room"];
    assert_eq!(room["promises"]["held"]["6"], false, "{room:#}");
    assert!(room["tricks"]["gate_without_turn"]["accepted"].as_u64() > Some(0), "{room:#}");
    let violation = room["promises"]["violations"][0].as_str().unwrap();
    let begins = "promise 6: a gateway check without a turn: Authorize gets 200, and then ticket ";
    assert!(violation.starts_with(begins), "{violation}");
    assert!(run.file("record.jsonl").contains("\"authorize\""), "it proves it");
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_06_a_room_that_looks_for_forged_places_is_found_out() {
    let run = play(Fault::LooksForForgedPlaces, CHEATS).await;
    assert_eq!(run.code(), 1, "{}", run.stderr());
    let room = &run.result()["with_room"]["room"];
    assert_eq!(room["promises"]["held"]["6"], false, "{room:#}");
    for trick in ["forged_token", "foreign_token"] {
        assert_eq!(room["tricks"][trick].get("refused"), None, "{trick}: {room:#}");
    }
    assert!(room["tricks"]["forged_token"]["accepted"].as_u64() > Some(0), "{room:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_06_is_not_judged_in_bypass() {
    let crowd = "--mix cheats=1 --visitors 20 --arrive 1s --limit 7s";
    let run = play(Fault::Bypass, crowd).await;
    let result = run.result();
    assert_eq!(result["with_room"]["over"], "time_limit", "no promise was broken");
    let room = &result["with_room"]["room"];
    assert_eq!(room["promises"]["held"]["6"], Value::Null, "{room:#}");
    assert!(room["tricks"]["no_token"]["accepted"].as_u64() > Some(0), "{room:#}");
    assert!(run.file("rehearse.md").contains("Promise 6 is not judged: the queue was in bypass"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operators_batch_goes_before_one_that_adapts() {
    for (overridden, batch) in [(true, 60), (false, 20)] {
        let crowd = "--visitors 1 --arrive 1s --mix faithful=1";
        let run = play(Fault::Adapts { overridden }, crowd).await;
        assert_eq!(run.result()["rules"]["batch"], batch, "{}", run.stderr());
    }
}
