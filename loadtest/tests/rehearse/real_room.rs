//! A crowd goes through real services.

use std::{
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use anteroom_testkit::{Anteroom, PATIENCE, PATIENT, Process, binary};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::{
    common::{answer, json as read, program},
    rehearse, scenario, serve,
};

/// Steps of a scenario.
pub const LOOK: &str = "[[steps]]\nname = \"look\"\npath = \"/\"\n";
const TWO_REQUESTS: &str = "[[steps]]\nname = \"look\"\npath = \"/seats\"\n\
    capture.seat.json = \"/seat\"\n\
    [[steps]]\nname = \"take\"\nmethod = \"POST\"\npath = \"/seats/{seat}\"\n";

/// Services with this queue, ready.
pub async fn anteroom(queue: &str) -> Anteroom {
    let room = Anteroom::start(&format!("{PROXIES}{queue}"), &PATIENT).await;
    tokio::join!(room.admission.until_ready(), room.scheduler.until_ready());
    room
}

/// The flags of its queue.
pub fn rooms(room: &Anteroom) -> String {
    let (public, service) = (room.url("public"), room.url("service"));
    format!("--anteroom {public} --service {service} --queue hall")
}

const PROXIES: &str = "[admission]\ntrusted_proxies = [\"127.0.0.0/8\"]\n";

#[tokio::test(flavor = "multi_thread")]
async fn promise_01_to_06_two_thousand_visitors_are_served_as_promised() {
    let queue = "[queues.hall]\ncapacity = 200\nbatch = 150\ninterval = \"1s\"\n\
        claim_ttl = \"5s\"\nsession_ttl = \"30s\"\n";
    let room = anteroom(queue).await;
    let crowd = "--visitors 2000 --arrive 4s --stay 500ms --sleep 6s --limit 5m";
    let run = rehearse(&format!("{} {crowd}", rooms(&room))).await;
    assert_eq!(run.code(), 0, "{}\n{}", run.stderr(), run.file("rehearse.md"));
    let result = run.result();
    assert_eq!(result["schema_version"], 2);
    assert_eq!(result["rules"]["batch"], 150, "the rules were read from the service port");
    let run_with = &result["with_room"];
    assert!(run_with["over"] == "complete" && run_with["unfinished"] == 0, "{run_with:#}");
    let room = &run_with["room"];
    assert_eq!(
        room["promises"]["held"],
        json!({ "1": true, "2": true, "3": true, "4": true, "5": true, "6": true })
    );
    assert!(run.stderr().contains("promise 3, kept: Order"), "{}", run.stderr());
    // A run that never comes near its limits proves little.
    assert!(room["promises"]["most_promoted"].as_u64() > Some(75), "{:#}", room["promises"]);
    assert!(room["greatest_depth"].as_u64() > Some(500), "a line formed");
    // Each visitor ended by the habit.
    let ended = |habit: &str, end: &str| run_with["ended"][habit][end].as_u64().unwrap_or(0);
    for habit in ["faithful", "sleeps", "tabs", "late", "cheats"] {
        let ends = run_with["ended"][habit].as_object().unwrap();
        assert!(ends.len() == 1 && ends.contains_key("served"), "{habit}: {ends:?}");
    }
    assert!(ended("no-show", "no_show") > 0 && ended("gives-up", "gave_up") > 0);
    assert!(ended("drops-out", "dropped_out") > 0);
    for trick in ["forged_token", "foreign_token", "no_token", "gate_without_turn", "early_claim"] {
        let tried = &room["tricks"][trick];
        assert!(tried["refused"].as_u64() > Some(0), "{trick}: {tried}");
        assert_eq!(tried.get("accepted"), None, "{trick}");
    }
    assert_eq!(room["refusals"].get("join_limited"), None, "they came from many addresses");
    // Waits are as long as the rate makes them: the last of some 1 900 at 150 a second.
    assert!(room["wait_ms"]["max"].as_f64() > Some(5_000.0), "{:#}", room["wait_ms"]);
    assert!(run.file("rehearse-line.svg").contains("in line"));
}

/// A service with four workers, 20 ms a request.
async fn four_workers() -> String {
    let workers = Arc::new(Semaphore::new(4));
    serve(move |_| {
        let workers = Arc::clone(&workers);
        async move {
            let _worker = workers.acquire().await.unwrap();
            tokio::time::sleep(Duration::from_millis(20)).await;
            answer(200, json!({ "seat": 1 }))
        }
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_crowd_is_slower_without_the_room() {
    let queue = "[queues.hall]\nbatch = 60\ninterval = \"1s\"\n";
    let room = anteroom(queue).await;
    let (target, folder) = (four_workers().await, tempfile::tempdir().unwrap());
    let run = rehearse(&format!(
        "--both {} --target {target} {} --slo errors<1% --visitors 400 --arrive 1s --stay 500ms \
         --mix faithful=1 --limit 5m",
        rooms(&room),
        scenario(&folder, TWO_REQUESTS),
    ))
    .await;
    assert_eq!(run.code(), 0, "{}\n{}", run.stderr(), run.file("rehearse.md"));
    let result = run.result();
    let of = |run: &str, value: &str| result[run]["service"][value].clone();
    for run in ["with_room", "without_room"] {
        assert_eq!(of(run, "requests"), 800, "two requests a visit: {run}");
        assert_eq!(of(run, "errors"), 0, "{run}");
    }
    let p95 = |run| of(run, "latency_ms")["p95"].as_f64().unwrap();
    // 800 requests within 1.5 s or so where 200 a second are served; or 120 a second.
    assert!(p95("without_room") > 500.0, "{}", p95("without_room"));
    assert!(p95("without_room") > p95("with_room"), "{} with it", p95("with_room"));
    let report = run.file("rehearse.md");
    for run in ["with the waiting room", "without the waiting room"] {
        assert!(report.contains(&format!("| {run} | 0.00 % | met |")), "{report}");
    }
    let plot = run.file("rehearse-latency.svg");
    assert!(plot.contains("with the waiting room") && plot.contains("without"));
    assert_eq!(result["with_room"]["room"]["promises"]["held"]["1"], Value::Null, "no capacity");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_objective_that_is_missed_with_the_room_ends_it_with_1() {
    let room = anteroom("[queues.hall]\ncapacity = 5\n").await;
    let (target, folder) = (four_workers().await, tempfile::tempdir().unwrap());
    let run = rehearse(&format!(
        "--anteroom {} --queue hall --target {target} {} --slo p50<10ms --slo 5xx<=0% \
         --visitors 10 --arrive 1s --stay 1s --mix faithful=1 --limit 5m",
        room.url("public"),
        scenario(&folder, TWO_REQUESTS),
    ))
    .await;
    assert_eq!(run.code(), 1, "{}", run.stderr());
    let with_room = &run.result()["with_room"];
    let objectives = &with_room["objectives"];
    let held = ["p50<10ms", "5xx<=0%"].map(|text| {
        let all = objectives.as_array().unwrap();
        all.iter().find(|it| it["objective"] == text).unwrap()["held"].clone()
    });
    assert_eq!(held, [json!(false), json!(true)], "{objectives:#}");
    assert_eq!(with_room["ended"]["faithful"]["served"], 10, "{with_room:#}");
    assert!(run.file("rehearse.md").contains("| MISSED |"));
    let plot = run.file("rehearse-latency.svg");
    assert!(
        plot.contains("p50&lt;10ms") && !plot.contains("5xx"),
        "a line for the latency: {plot}"
    );
    assert!(run.file("rehearse-errors.svg").contains("5xx&lt;=0%"), "a line for the share");
}

/// The shop of `make run`, which asks the gate and ends visits; and its address.
async fn shop(room: &Anteroom, folder: &tempfile::TempDir) -> (Process, String) {
    let mut command = Command::new(binary("anteroom-concert"));
    command.args(["--listen", "127.0.0.1:0", "--think", "0s", "--shows", "1", "--rows", "20"]);
    command.args(["--gate", "ask", "--queue", "hall", "--anteroom", &room.url("public")]);
    command.args(["--anteroom-service", &room.url("service"), "--database"]);
    command.arg(folder.path().join("shop.sqlite"));
    let mut shop = Process::start(command);
    let line = shop.line("\"message\":\"listening\"", PATIENCE).await;
    let line: Value = serde_json::from_str(&line).unwrap();
    (shop, format!("http://{}", line["address"].as_str().unwrap()))
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_01_and_05_a_service_may_end_visits() {
    let room = anteroom("[queues.hall]\ncapacity = 5\n").await;
    let folder = tempfile::tempdir().unwrap();
    let (_shop, target) = shop(&room, &folder).await;
    let crowd = "--visitors 40 --arrive 1s --mix faithful=1 --stay 3s --limit 5m";
    let run = rehearse(&format!("{} --target {target} {crowd}", rooms(&room))).await;
    assert_eq!(run.code(), 0, "{}\n{}", run.stderr(), run.file("rehearse.md"));
    let with_room = &run.result()["with_room"];
    assert_eq!(with_room["ended"]["faithful"]["served"], 40, "{with_room:#}");
    assert_eq!(with_room["room"]["promises"]["held"]["1"], true, "{with_room:#}");
    // Each was ended by the shop before the visitor left, who heard of it but where it was put off.
    let count = |value: &Value| value.as_u64().unwrap_or(0);
    let ended = count(&with_room["room"]["refusals"]["place_gone"]);
    let put_off = count(&with_room["connections"]["kept"]["put_off"]);
    assert!(ended <= 40 && ended + put_off >= 40 && put_off < 20, "{with_room:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_seed_may_be_used_again_at_the_same_room() {
    let queue = "[queues.hall]\nbatch = 20\ninterval = \"1s\"\nclaim_ttl = \"5s\"\n";
    let room = anteroom(queue).await;
    let crowd = "--visitors 100 --arrive 1s --seed 12 --mix faithful=1 --stay 1s";
    let rooms = rooms(&room);
    let plays = async |limit| rehearse(&format!("{rooms} {crowd} --limit {limit}")).await;
    let first = plays("3s").await.result();
    assert!(first["with_room"]["unfinished"].as_u64() > Some(20), "{first:#}");
    let second = plays("5m").await;
    assert_eq!(second.code(), 0, "{}\n{}", second.stderr(), second.file("rehearse.md"));
    let with_room = &second.result()["with_room"];
    assert_eq!(with_room["ended"]["faithful"]["served"], 100, "{with_room:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_visit_that_the_scenario_does_not_expect_is_not_served() {
    let (target, folder) = (four_workers().await, tempfile::tempdir().unwrap());
    let steps = scenario(&folder, &format!("{LOOK}expect = [201]\n"));
    let crowd = "--visitors 5 --arrive 1s --mix faithful=1 --slo errors<1%";
    let run = rehearse(&format!("--without-room --target {target} {steps} {crowd}")).await;
    assert_eq!(run.code(), 1, "{}", run.stderr());
    let without = &run.result()["without_room"];
    assert_eq!(without["ended"]["faithful"]["failed"], 5, "{without:#}");
    assert_eq!(without["opened"], 5, "each on a connection of its own: {without:#}");
    let service = &without["service"];
    assert_eq!(service["faults"], json!({ "status": 5 }));
    assert_eq!(service["statuses"], json!({ "200": 5 }));
    assert!(
        run.stderr().contains("errors<1% without the waiting room: MISSED"),
        "{}",
        run.stderr()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_lost_differs_from_what_is_refused_and_put_off() {
    let requests = Arc::new(AtomicU64::new(0));
    let target = serve(move |_| {
        let (status, code) = [
            (200, ""),
            (429, "slow_down"),
            (503, "store_unavailable"),
            (503, "gate_unavailable"),
            (502, ""),
        ][requests.fetch_add(1, Ordering::Relaxed) as usize % 5];
        async move { answer(status, json!({ "code": code })) }
    })
    .await;
    let folder = tempfile::tempdir().unwrap();
    let steps = scenario(&folder, LOOK);
    let crowd = "--visitors 5 --arrive 1s --mix faithful=0,late=1";
    let run = rehearse(&format!("--without-room --target {target} {steps} {crowd}")).await;
    let without = &run.result()["without_room"];
    let lost = json!({ "502": 1, "503 gate_unavailable": 1 });
    let kept = json!({ "requests": 5, "lost": lost, "put_off": 1 });
    assert_eq!(without["connections"]["kept"], kept, "{without:#}");
    let line = "5 sent, 2 lost (502: 1, 503 gate_unavailable: 1), 1 to retry later";
    assert!(run.file("rehearse.md").contains(line), "{}", run.file("rehearse.md"));
    // A habit without weight does not occur.
    let ended = without["ended"].as_object().unwrap();
    assert!(ended.keys().eq(["late"]), "{ended:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_still_writes_the_report() {
    let queue = "[queues.hall]\ncapacity = 2\n";
    let room = anteroom(queue).await;
    let folder = tempfile::tempdir().unwrap();
    let rooms = rooms(&room);
    let mut command = program(&format!("rehearse {rooms} --visitors 100 --arrive 1s --output"));
    command.arg(folder.path());
    let mut harness = Process::start(command);
    harness.line("arrived", PATIENCE).await;
    harness.term();
    let status = harness.exit(PATIENCE).await;
    assert_eq!(status.code(), Some(1), "{}", harness.stderr());
    let why = "of 100 visits had not ended when the run was ended early";
    assert!(harness.stderr().contains(why), "{}", harness.stderr());
    let result = read(folder.path().join("rehearse.json"));
    assert_eq!(result["with_room"]["over"], "interrupted");
    assert!(result["with_room"]["unfinished"].as_u64() > Some(50), "{result:#}");
    // Its visitors leave the room, which shows it within a second or two.
    let left = async || {
        let state = reqwest::get(room.url("public") + "/v1/queues/hall").await.unwrap();
        let state: Value = state.json().await.unwrap();
        ["depth", "ready", "active"].map(|count| state[count].as_u64().unwrap())
    };
    let end = tokio::time::Instant::now() + PATIENCE;
    while left().await != [0, 0, 0] {
        assert!(tokio::time::Instant::now() < end, "{:?}", left().await);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
