//! `size` finds the ceilings of services: in virtual time, where only the search counts, and with
//! the program against services that run here, with bounds that a busy machine meets.

#[path = "../common/mod.rs"]
mod common;
mod objective;
mod search;
mod services;
mod simulated;

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anteroom_loadtest::size::Found;
use anteroom_testkit::{Anteroom, PATIENT};
use hyper::StatusCode;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use tempfile::TempDir;

use common::{json, program, stderr};
use services::{Service, SingleWriter, WorkerPool, serve};

const SCENARIO: &str = "[[steps]]\npath = '/'\nretry_on = [409]\nretry_max = 20";

fn millis(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// What a failed test shows.
fn shown(found: &Found) -> String {
    let steps: Vec<_> = found.steps.iter().map(|step| step.line()).collect();
    let Found { held, interval, remarks, .. } = found;
    format!("{held:?} within {interval:?}, {remarks:?}\n{}", steps.join("\n"))
}

/// On a busy machine a service does less.
fn near(value: f64, truth: f64) -> bool {
    (0.7..=1.08).contains(&(value / truth))
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

/// `size` with the scenario at an address of loopback, which writes into the folder.
fn command(scenario: &str, address: SocketAddr, flags: &str, folder: &Path) -> Command {
    let file = folder.join("test.toml");
    std::fs::write(&file, scenario).expect("a file");
    let mut program = program(&format!("size --target http://{address}/ {flags} --output"));
    program.arg(folder).arg("--scenario").arg(file);
    program
}

async fn size(address: SocketAddr, flags: &str, folder: &TempDir) -> (i32, String) {
    size_by(SCENARIO, address, flags, folder).await
}

async fn size_by(
    scenario: &str,
    address: SocketAddr,
    flags: &str,
    folder: &TempDir,
) -> (i32, String) {
    let mut program = command(scenario, address, flags, folder.path());
    let ended = tokio::task::spawn_blocking(move || program.output()).await.expect("no panic");
    let ended = ended.expect("it runs");
    (ended.status.code().expect("an exit code"), stderr(&ended))
}

/// A plan is as its schema describes it.
fn check(plan: &Value) {
    let schema = serde_json::from_str(include_str!("../../plan.schema.json")).expect("JSON");
    assert!(jsonschema::is_valid(&schema, plan), "{plan}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_report_shows_the_plan_and_what_each_pace_costs() {
    let address = serve(SingleWriter::new(millis(10))).await;
    let folder = folder();
    let room = Anteroom::start("[queues.shop]\ncapacity = 1\nbatch = 1\n", &PATIENT).await;
    room.admission.until_ready().await;
    let flags = format!(
        "--apply {} --queue shop --slo p95<200ms --slo errors<1% --from 20 --step 1500ms \
         --interval 2s --headroom 25% --stay 30s --paces",
        room.url("service")
    );
    let (code, text) = size(address, &flags, &folder).await;
    assert_eq!(code, 0, "{text}");
    let read = |file: &str| std::fs::read_to_string(folder.path().join(file)).expect(file);
    let (plan, all) =
        (json(folder.path().join("plan.json")), json(folder.path().join("size.json")));
    let number = |value: &Value| value.as_f64().expect("a number");
    let planned = |name: &str, truth: f64| {
        let value = number(&plan[name]);
        assert!(near(value, truth), "{name}: {value}, not {truth}: {text}");
    };
    // A write takes 10 ms and every third is in vain.
    planned("tps", 100.0);
    planned("visitors_per_minute", 100.0 / 1.5 * 60.0 * 0.75);
    planned("batch", 100.0 / 1.5 * 2.0 * 0.75);
    planned("capacity", 100.0 / 1.5 * 31.0 * 0.75);
    assert!((number(&all["retry_factor"]) - 1.5).abs() < 0.05, "{text}");
    check(&plan);
    let live = reqwest::get(format!("{}/v1/admin/queues/shop", room.url("service"))).await;
    let live: Value = live.expect("an answer").json().await.expect("JSON");
    for name in ["batch", "interval_ms", "pace", "capacity"] {
        assert_eq!(live["rules"][name], plan[name], "{name}");
    }
    let patch = read("shop.patch.yaml");
    assert!(patch.contains(&format!("SHOP__BATCH: \"{}\"", plan["batch"])), "{patch}");
    assert_eq!((&plan["pace"], &plan["interval_ms"]), (&"even".into(), &2_000.into()));
    assert_eq!((&plan["stopped_by"], &plan["headroom"]), (&"p95<200ms".into(), &0.25.into()));
    // 13 visitors at once take 200 ms.
    let batches = all["paces"]["batches"].as_array().expect("a list");
    let batch_holds = number(&batches.last().expect("one")["rate"]);
    assert!(batches.len() > 2 && batch_holds < 66.7 / 4.0, "{batches:?}");
    let report = read("size.md");
    for part in ["test at http://127.0.0.1", "timed out after 1 s"] {
        assert!(report.contains(part), "{report}");
    }
    for file in ["size.md", "size.html", "size-latency.svg", "size-share-1.svg", "size-paces.svg"] {
        assert!(!read(file).is_empty(), "{file}");
    }
}

/// Two requests of 40 ms by four workers, and half a second between: 50 visitors a second who stay
/// for at least 0.58 s.
#[tokio::test(flavor = "multi_thread")]
async fn a_scenario_that_thinks_shows_how_many_are_there_at_once() {
    const THINKS: &str = "[[steps]]\npath = '/'\n[[steps]]\npath = '/b'\nthink = '500ms'";
    let address = serve(WorkerPool::new(4, millis(40))).await;
    let folder = folder();
    let flags = "--slo p95<200ms --step 2s --headroom 0% --within 5m";
    let (code, text) = size_by(THINKS, address, flags, &folder).await;
    assert_eq!(code, 0, "{text}");
    let plan = json(folder.path().join("plan.json"));
    let number = |name: &str| plan[name].as_f64().expect("a number");
    let visitors = number("visitors_per_minute") / 60.0;
    assert!(near(visitors, 50.0), "{visitors}: {text}");
    assert!((number("tps") / visitors - 2.0).abs() <= 0.15, "{plan}: {text}");
    assert!(text.contains("visitors think: each load takes 500ms until it is steady"), "{text}");
    let stay = number("capacity") / visitors;
    assert!((1.55..=1.9).contains(&stay), "{stay} s: {text}");
}

/// Answers each request at once with this status.
struct Refuses(StatusCode);

impl Service for Refuses {
    fn take(&mut self, now: tokio::time::Instant) -> (tokio::time::Instant, StatusCode) {
        (now, self.0)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gated_service_is_named_with_its_statuses() {
    let address = serve(Refuses(StatusCode::UNAUTHORIZED)).await;
    let folder = folder();
    let begun = Instant::now();
    let (code, text) = size(address, "--slo p95<200ms", &folder).await;
    // 1 s of load; the rest is for a busy machine.
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    assert!(code == 70 && text.contains("refuses every visitor"), "{code}: {text}");
    assert!(text.contains("401: 10"), "{text}");
    let result = json(folder.path().join("size.json"));
    assert_eq!(result["steps"][0]["statuses"]["401"], 10);
    let report = std::fs::read_to_string(folder.path().join("size.md")).expect("a report");
    assert!(report.contains("401: 10") && report.contains("There is no plan"), "{report}");
    assert!(!folder.path().join("plan.json").exists());
}

/// Accepts each request and answers none.
struct Mute;

impl Service for Mute {
    fn take(&mut self, now: tokio::time::Instant) -> (tokio::time::Instant, StatusCode) {
        (now + Duration::from_secs(3_600), StatusCode::OK)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_never_answers_is_named_at_the_first_load() {
    let address = serve(Mute).await;
    let folder = folder();
    let (code, text) = size(address, "--slo p95<200ms", &folder).await;
    assert!(code == 70 && text.contains("the service does not answer"), "{code}: {text}");
    let report = std::fs::read_to_string(folder.path().join("size.md")).expect("a report");
    assert!(!report.contains("No load met") && report.contains("timeout: 10"), "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_that_is_not_settled_says_so_and_is_not_applied() {
    let address = serve(WorkerPool::new(4, millis(40))).await;
    let folder = folder();
    // It answers each request, also as a service port.
    let flags = format!("--slo p95<200ms --step 2s --within 4s --apply http://{address}");
    let (code, text) = size(address, &flags, &folder).await;
    assert!(code == 1 && text.contains("the plan was not applied: it is provisional"), "{text}");
    assert!(text.contains("--within 4s may be too short for a plan: give --within"), "{text}");
    assert!(text.contains("Provisional: the search") && !text.contains("For Kubernetes"), "{text}");
    let plan = json(folder.path().join("plan.json"));
    check(&plan);
    let within = plan["provisional"]["within"].as_str().expect("a time");
    let within = anteroom_loadtest::durations::parse_duration(within).expect("one");
    assert!(within > Duration::from_secs(30), "{plan}");
    assert!(plan["provisional"]["confidence"].as_f64().is_some_and(|it| it < 0.9), "{plan}");
    assert!(!folder.path().join("concert.patch.yaml").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_that_is_ended_early_reports_what_was_met_and_applies_nothing() {
    let address = serve(WorkerPool::new(4, millis(40))).await;
    let folder = folder();
    // It answers every request, also as a service port.
    let apply = format!("--apply http://{address} --queue concert");
    let flags = format!("--slo p95<200ms --step 1s {apply}");
    let mut program = command(SCENARIO, address, &flags, folder.path());
    let child = program.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it runs");
    // Two steps and a half.
    tokio::time::sleep(millis(2_500)).await;
    let id = Pid::from_raw(child.id().try_into().expect("an id"));
    kill(id, Signal::SIGINT).expect("it still runs");
    let ended = tokio::task::spawn_blocking(move || child.wait_with_output()).await;
    let ended = ended.expect("no panic").expect("an end");
    let text = stderr(&ended);
    assert_eq!(ended.status.code(), Some(1), "{text}");
    assert!(text.contains("not applied"), "{text}");
    let report = json(folder.path().join("size.json"));
    let remarks = report["remarks"].to_string();
    assert!(remarks.contains("ended early"), "{remarks}");
    assert_eq!(report["settled"], false);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_load_that_meets_them_is_a_missed_objective_and_nonsense_is_usage() {
    let address = serve(WorkerPool::new(1, millis(300))).await;
    let folder = folder();
    let flags = "--slo p50<100ms --from 1 --step 1s --within 10s";
    let (code, text) = size(address, &format!("{flags} --apply http://{address}"), &folder).await;
    assert!(code == 1 && text.contains("No load met the objectives"), "{code}: {text}");
    assert!(text.contains("the plan was not applied"), "{text}");
    assert!(folder.path().join("size.json").is_file());
    for (flags, rule) in [
        ("--slo p95<200", "takes a time"),
        ("--slo p95<1s --from 0", "--from, --most: from 1"),
        ("--slo p95<1s --headroom 100%", "below 100%"),
        ("", "--slo"),
    ] {
        let (code, text) = size(address, flags, &folder).await;
        assert!(code == 64 && text.contains(rule), "{flags}: {code}: {text}");
    }
    let closed = SocketAddr::from(([127, 0, 0, 1], 1));
    let (code, text) = size(closed, "--slo p95<1s", &folder).await;
    assert!(code == 70 && text.contains("no answer at"), "{code}: {text}");
}
