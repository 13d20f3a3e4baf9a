//! `local_answers`: polls of visitors in line are answered from a sketch of the line.

use std::cell::Cell;
use std::time::{Duration, Instant};

use anteroom_testkit::{PATIENCE, Service, until};
use reqwest::Method;
use serde_json::json;

use crate::answer::Answer;
use crate::room::Room;

/// One is promoted, and those behind the second place in line are answered from the sketch.
pub const LINE: &str = "[queues.:name]\ncapacity = 1\nlocal_answers = true\nrequests_per_place = 0\n\
                    idle_ttl = \"60s\"\nfirst_poll_ttl = \"60s\"\n";

/// Its slots last 150 s.
pub const LONG: &str =
    "[queues.:name]\ncapacity = 1\nlocal_answers = true\nrequests_per_place = 0\n";

/// The same, and a check-in period after 30 s without a poll.
pub const SOON: &str = "[queues.:name]\ncapacity = 1\nlocal_answers = true\n\
                    requests_per_place = 0\nfirst_poll_ttl = \"30s\"\n";

async fn calls(admission: &Service, operation: &str) -> u64 {
    let outcome = format!("operation=\"{operation}\",outcome=\"ok\"");
    let metric = admission.metric(&format!("anteroom_operations_total{{{outcome}}}")).await;
    metric.unwrap_or(0.0) as u64
}

/// Items that Redis has answered for polls.
pub async fn redis_items(admission: &Service) -> u64 {
    calls(admission, "queue.place").await + calls(admission, "queue.heartbeat").await
}

/// So many places: the first has its turn, the others wait.
async fn line(room: &Room, count: usize) -> Vec<String> {
    let mut tokens = vec![room.join().await.token()];
    // With a scheduler that is late, a slot is free some moments later.
    room.becomes(&tokens[0], "ready").await;
    for _ in 1..count {
        tokens.push(room.join().await.token());
    }
    tokens
}

/// One more admission.
async fn another(room: &Room) -> Service {
    let admission = room.anteroom.deployment.admission().await;
    admission.until_ready().await;
    admission
}

/// Polls until no poll of this place needs Redis.
async fn becomes_local(room: &Room, token: &str) {
    becomes_local_at(&room.anteroom.admission, room, token).await;
}

async fn becomes_local_at(admission: &Service, room: &Room, token: &str) {
    until("a poll is answered without Redis", PATIENCE, async || {
        let before = redis_items(admission).await;
        poll_at(admission, room, token).await.is(200);
        redis_items(admission).await == before
    })
    .await;
}

async fn poll(room: &Room, token: &str) -> Answer {
    poll_at(&room.anteroom.admission, room, token).await
}

async fn poll_at(admission: &Service, room: &Room, token: &str) -> Answer {
    let get = room.call_at(&admission.url("public"), Method::GET, "/v1/queues/:name/token");
    get.token(token).send().await
}

#[tokio::test]
async fn polls_of_a_waiting_visitor_need_no_redis() {
    let room = Room::behind_own_admission(LINE, &[]).await;
    let tokens = line(&room, 6).await;
    becomes_local(&room, &tokens[5]).await;
    let (before, looks) = (redis_items(&room.anteroom.admission).await, room.count(LOOKS).await);
    for _ in 0..300 {
        let place = poll(&room, &tokens[5]).await.is(200).json();
        assert_eq!((&place["position"], &place["ticket"]), (&5.into(), &6.into()), "{place}");
        assert_eq!((&place["status"], &place["ahead"]), (&"waiting".into(), &4.into()));
    }
    assert_eq!(room.count(LOOKS).await - looks, 300, "they are polls");
    // A slot lasts 15 s, and a sketch that comes late on a busy machine costs a few.
    let items = redis_items(&room.anteroom.admission).await - before;
    assert!(items < 150, "{items} of 300 reached Redis");
    // The front of the line, and a visitor whose turn it is, ask Redis.
    for (token, status) in [(&tokens[0], "ready"), (&tokens[1], "waiting")] {
        let before = calls(&room.anteroom.admission, "queue.place").await;
        assert_eq!(poll(&room, token).await.is(200).json()["status"], status);
        assert_eq!(calls(&room.anteroom.admission, "queue.place").await, before + 1, "{status}");
    }
}

const MARK_SEEN: &str = "queue.mark_seen";
const LOOKS: &str = "anteroom_queue_looks_total{queue=\":name\"}";

#[tokio::test]
async fn a_line_that_moves_shows_within_seconds() {
    let room = Room::behind_own_admission(LINE, &[]).await;
    let tokens = line(&room, 8).await;
    becomes_local(&room, &tokens[7]).await;
    for token in &tokens[2..5] {
        room.leave(token).await.is(204);
    }
    until("the visitor has moved up", PATIENCE, async || {
        poll(&room, &tokens[7]).await.is(200).json()["position"] == 4
    })
    .await;
    // A turn that comes is seen by the next sketch.
    for token in [&tokens[0], &tokens[1], &tokens[5], &tokens[6]] {
        room.becomes(token, "ready").await;
        room.leave(token).await.is(204);
    }
    room.becomes(&tokens[7], "ready").await;
}

#[tokio::test]
async fn a_leave_shows_at_once_in_the_same_process_and_within_seconds_in_others() {
    let room = Room::behind_own_admission(LONG, &[]).await;
    let other = another(&room).await;
    let tokens = line(&room, 7).await;
    for token in &tokens[3..6] {
        becomes_local(&room, token).await;
    }
    room.leave(&tokens[3]).await.is(204);
    poll(&room, &tokens[3]).await.refuses(410, "place_gone");
    // Through another process, by the visitor and by an operator.
    let path = "/v1/queues/:name/token";
    let leave = room.call_at(&other.url("public"), Method::DELETE, path).token(&tokens[4]);
    leave.send().await.is(204);
    // It is the sixth of this queue.
    let evict = "/v1/admin/queues/:name/places/6";
    room.call_at(&other.url("service"), Method::DELETE, evict).send().await.is(204);
    let began = Instant::now();
    for (token, reason) in [(&tokens[4], "left"), (&tokens[5], "evicted")] {
        until("the end shows", Duration::from_secs(60), async || {
            poll(&room, token).await.status == 410
        })
        .await;
        assert_eq!(poll(&room, token).await.refuses(410, "place_gone").json()["reason"], reason);
    }
    // Long before the next slot.
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_turn_that_was_claimed_is_never_shown_as_waiting_in_the_same_process() {
    let room = Room::behind_own_admission(LINE, &[]).await;
    let tokens = line(&room, 24).await;
    for token in &tokens[2..] {
        becomes_local(&room, token).await;
    }
    // Faster than the sketches follow.
    for pair in tokens.windows(2) {
        follows(&room, &pair[0], &pair[1]).await;
        assert_eq!(poll(&room, &pair[1]).await.is(200).json()["status"], "active");
    }
}

/// The next visitor gets the slot of one who leaves.
async fn follows(room: &Room, before: &str, next: &str) {
    room.leave(before).await.is(204);
    until("the turn is claimed", PATIENCE, async || {
        room.post("/v1/queues/:name/token/claim").token(next).send().await.status == 200
    })
    .await;
}

#[tokio::test]
async fn where_slots_are_soon_free_again_the_front_that_redis_answers_is_longer() {
    let room = Room::behind_own_admission(LINE, &[]).await;
    let tokens = line(&room, 30).await;
    becomes_local(&room, &tokens[29]).await;
    for pair in tokens[..24].windows(2) {
        follows(&room, &pair[0], &pair[1]).await;
    }
    // Six wait, and one of them can have a turn each time that the slot is free.
    until("Redis answers each poll", PATIENCE, async || {
        let before = calls(&room.anteroom.admission, "queue.place").await;
        for _ in 0..10 {
            assert_eq!(poll(&room, &tokens[29]).await.is(200).json()["position"], 6);
        }
        calls(&room.anteroom.admission, "queue.place").await == before + 10
    })
    .await;
}

#[tokio::test]
async fn after_a_reset_no_place_of_before_is_answered() {
    let room = Room::behind_own_admission(LINE, &[]).await;
    let tokens = line(&room, 5).await;
    becomes_local(&room, &tokens[4]).await;
    let reset = room.call("service", Method::POST, "/v1/admin/queues/:name/reset");
    reset.send().await.is(202);
    assert_eq!(poll(&room, &tokens[4]).await.refuses(410, "place_gone").json()["reason"], "lost");
}

#[tokio::test]
async fn promise_05_visitors_who_poll_stay_in_line() {
    let room = Room::behind_own_admission(LINE, &[]).await;
    let tokens = line(&room, 4).await;
    // Else the turn goes to the next visitor after claim_ttl.
    room.authorize(&tokens[0]).await.is(200);
    let polls = async |seconds| {
        let end = Instant::now() + Duration::from_secs(seconds);
        while Instant::now() < end {
            for token in &tokens[1..] {
                assert_eq!(poll(&room, token).await.is(200).json()["status"], "waiting");
            }
            tokio::time::sleep(Duration::from_secs(2)).await;
        }
    };
    // Two slots, in which each is reported.
    polls(30).await;
    let reports = calls(&room.anteroom.admission, "queue.heartbeat").await;
    // Longer than idle_ttl and a slot.
    polls(80).await;
    let reports = calls(&room.anteroom.admission, "queue.heartbeat").await - reports;
    let bulk = calls(&room.anteroom.admission, MARK_SEEN).await;
    assert!(reports < 10, "two visitors in six slots, of which each is reported in one: {reports}");
    assert!(bulk >= 2, "{bulk} calls");
    let state = room.get("/v1/queues/:name").send().await.is(200).json();
    assert_eq!(state["depth"], 3, "none is inactive: {state}");
}

/// Visitors have polled who are to be reported by their bits: their tickets.
async fn polls_to_be_reported(room: &Room) -> Vec<u64> {
    let tokens = line(room, 8).await;
    let poll_all = async || {
        let mut tickets = Vec::new();
        for token in &tokens[3..] {
            tickets.extend(poll(room, token).await.is(200).json()["ticket"].as_u64());
        }
        tickets
    };
    until("visitors are reported by their bits", PATIENCE, async || {
        poll_all().await;
        calls(&room.anteroom.admission, MARK_SEEN).await > 0
    })
    .await;
    let slot = meta(room, "slot").await;
    let readings = Cell::new(calls(&room.anteroom.admission, "queue.seen").await);
    until("the process knows of a new slot", PATIENCE, async || {
        poll_all().await;
        let now = calls(&room.anteroom.admission, "queue.seen").await;
        let is_new = meta(room, "slot").await > slot;
        if !is_new {
            readings.set(now);
        }
        is_new && now > readings.get()
    })
    .await;
    poll_all().await
}

/// Whether a bit of each of these tickets is set in this slot.
async fn were_seen(room: &Room, tickets: &[u64], slot: u64, base: u64) -> bool {
    let key = format!("anteroom:v1:queue:{{concert}}:seen:{}", slot % 5);
    let mut all = true;
    for ticket in tickets {
        let get = ["GETBIT", &key, &(ticket - base).to_string()];
        all &= room.anteroom.deployment.redis.run::<bool>(&get).await;
    }
    all
}

#[tokio::test]
async fn promise_05_a_process_that_ends_reports_all_polls_that_it_has_answered() {
    let mut room = Room::start_with(LINE, &[]).await;
    let tickets = polls_to_be_reported(&room).await;
    room.anteroom.admission.process.term();
    room.anteroom.admission.process.exit(PATIENCE).await;
    let (slot, base) = (meta(&room, "slot").await, meta(&room, "base").await);
    assert!(were_seen(&room, &tickets, slot, base).await, "{tickets:?} polled in {slot}");
}

#[tokio::test]
async fn promise_05_polls_that_redis_could_not_take_are_reported_later() {
    let room = Room::start_with(LINE, &[]).await;
    let tickets = polls_to_be_reported(&room).await;
    let (slot, base) = (meta(&room, "slot").await, meta(&room, "base").await);
    let redis = &room.anteroom.deployment.redis;
    // A replica takes no writes.
    redis.run::<()>(&["REPLICAOF", "127.0.0.1", "1"]).await;
    let failed = "anteroom_operations_total{operation=\"queue.mark_seen\",outcome=\"unavailable\"}";
    room.anteroom.admission.until_metric(failed, |count| count > Some(0.0)).await;
    assert!(!were_seen(&room, &tickets, slot, base).await);
    redis.run::<()>(&["REPLICAOF", "NO", "ONE"]).await;
    until("they are reported", PATIENCE, async || were_seen(&room, &tickets, slot, base).await)
        .await;
}

#[tokio::test]
async fn promise_05_polls_are_reported_also_when_the_rule_is_switched_off() {
    let room = Room::start_with(&format!("{LINE}board = false\n"), &[]).await;
    let tickets = polls_to_be_reported(&room).await;
    let (slot, base) = (meta(&room, "slot").await, meta(&room, "base").await);
    let off = room.patch_json("/v1/admin/queues/:name", json!({ "local_answers": false }));
    off.await.is(200);
    until("they are reported", PATIENCE, async || were_seen(&room, &tickets, slot, base).await)
        .await;
}

/// A number of the queue in Redis.
async fn meta(room: &Room, field: &str) -> u64 {
    let get = ["HGET", "anteroom:v1:queue:{concert}:meta", field];
    room.anteroom.deployment.redis.run(&get).await
}

#[tokio::test]
async fn promise_05_a_visitor_who_missed_a_check_in_period_is_present_after_the_next_poll() {
    let room = Room::behind_own_admission(SOON, &[]).await;
    let tokens = line(&room, 5).await;
    let [late, present] = [&tokens[3], &tokens[4]];
    let inactive = async || {
        let queue = room.call("service", Method::GET, "/v1/admin/queues/:name").send().await;
        queue.is(200).json()["away"].as_u64()
    };
    // The first has a session, so that no turn comes.
    room.authorize(&tokens[0]).await.is(200);
    for token in &tokens[2..] {
        becomes_local(&room, token).await;
    }
    for _ in 0..35 {
        // The process goes on reading the line, and no visitor polls.
        room.get("/v1/queues/:name/board").send().await.is(200);
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    until("who does not check in is inactive", Duration::from_secs(60), async || {
        poll(&room, present).await.is(200);
        tokio::time::sleep(Duration::from_millis(500)).await;
        inactive().await == Some(3)
    })
    .await;
    // In the slot in which the period was, and after one in which the visitor was seen.
    assert_eq!(poll(&room, late).await.is(200).json()["status"], "waiting");
    until("the visitor is present", PATIENCE, async || inactive().await == Some(2)).await;
}

#[tokio::test]
async fn no_answer_is_from_a_sketch_older_than_2_s() {
    let room = Room::start_with(LINE, &[]).await;
    let tokens = line(&room, 5).await;
    becomes_local(&room, &tokens[4]).await;
    room.anteroom.deployment.redis.freeze();
    let frozen = Instant::now();
    while frozen.elapsed() < Duration::from_secs(3) {
        let requested_at = frozen.elapsed();
        let answer = poll(&room, &tokens[4]).await;
        // By the requests that were under way.
        if requested_at >= Duration::from_secs(2) {
            answer.refuses(503, "store_unavailable");
        }
    }
    room.anteroom.deployment.redis.thaw();
    until("Redis is back", PATIENCE, async || poll(&room, &tokens[4]).await.status == 200).await;
    becomes_local(&room, &tokens[4]).await;
}

#[tokio::test]
async fn a_position_is_never_above_the_one_that_the_client_sends() {
    let room = Room::shared(LINE).await;
    let tokens = line(&room, 7).await;
    let place = async |position: &str| {
        let get = room.get("/v1/queues/:name/token").token(&tokens[6]);
        get.header("x-anteroom-position", position).send().await
    };
    for (sent, position) in [("3", 3), ("1", 1), ("6", 6), ("900", 6), ("0", 6)] {
        let place = place(sent).await.is(200).json();
        assert_eq!(
            (&place["position"], &place["ahead"]),
            (&position.into(), &(position - 1).into())
        );
    }
    for wrong in ["", "-1", "+1", "1.5", "next", "18446744073709551616"] {
        let problem = place(wrong).await.refuses(400, "bad_request").json();
        assert!(
            problem["detail"].as_str().expect("a detail").contains("x-anteroom-position"),
            "{problem}"
        );
    }
    // A turn is no position.
    let get = room.get("/v1/queues/:name/token").token(&tokens[0]);
    let turn = get.header("x-anteroom-position", "5").send().await.is(200).json();
    assert_eq!((&turn["status"], &turn["position"]), (&"ready".into(), &0.into()));
}

#[tokio::test]
async fn a_visitor_who_was_seen_by_one_process_needs_no_report_by_another() {
    let room = Room::behind_own_admission(LINE, &[]).await;
    let one = &room.anteroom.admission;
    let other = another(&room).await;
    let tokens = line(&room, 6).await;
    let token = &tokens[5];
    for process in [one, &other] {
        becomes_local_at(process, &room, token).await;
    }
    let reports = async |process| redis_items(process).await + calls(process, MARK_SEEN).await;
    // It goes on reading the line, and this visitor does not poll it.
    let goes_on = async || {
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_secs(7) {
            room.call_at(&other.url("public"), Method::GET, "/v1/queues/:name/board").send().await;
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    };
    // In each slot of 15 s one process reports the visitor; the other one knows that 5 s later.
    until("the report is known", Duration::from_secs(150), async || {
        let known = reports(one).await;
        until("a new slot", PATIENCE, async || {
            poll(&room, token).await.is(200);
            reports(one).await > known
        })
        .await;
        goes_on().await;
        let before = reports(&other).await;
        poll_at(&other, &room, token).await.is(200);
        // It would report the visitor within 6 s.
        goes_on().await;
        reports(&other).await == before
    })
    .await;
}

#[tokio::test]
async fn a_poll_does_not_contradict_the_gateway_check_of_the_same_process() {
    let room = Room::behind_own_admission(LINE, &[]).await;
    let other = another(&room).await;
    let tokens = line(&room, 6).await;
    becomes_local(&room, &tokens[5]).await;
    let leave = room.call_at(&other.url("public"), Method::DELETE, "/v1/queues/:name/token");
    leave.token(&tokens[5]).send().await.is(204);
    room.authorize(&tokens[5]).await.refuses(403, "place_gone");
    poll(&room, &tokens[5]).await.refuses(410, "place_gone");
}
