//! `ramp`, on the real binary.

use std::process::{Output, Stdio};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use hyper::Method;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;

use super::common::{self, program, stderr};
use super::service::Service;

/// The scenario of a request.
pub const ONE: &str = "[[steps]]\npath = '/'";

/// 100 requests a second, by the clock: at least 10 ms lie between two answers.
pub async fn limited() -> Service {
    let next = Arc::new(Mutex::new(Instant::now()));
    Service::start(move |_| {
        let due = {
            let mut next = next.lock().unwrap();
            let due = (*next).max(Instant::now());
            *next = due + Duration::from_millis(10);
            due
        };
        async move {
            tokio::time::sleep_until(due.into()).await;
            (200, r#"{"seat":"A1"}"#.to_owned())
        }
    })
    .await
}

/// A folder with a scenario.
pub fn folder(scenario: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("test.toml"), scenario).unwrap();
    folder
}

/// `ramp`, whose output is in the folder; of what it writes on the terminal stderr is kept.
pub fn ramp(folder: &TempDir, target: &str, args: &str) -> Command {
    let folder = folder.path();
    let mut command = Command::from(program(&format!("ramp --target {target} --scenario")));
    command.arg(folder.join("test.toml")).arg("--output").arg(folder.join("out"));
    command.args(args.split_whitespace());
    command.stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
    command
}

/// The end of a run. A run that was void, as this machine was busy, is made again, twice at most.
pub async fn played(folder: &TempDir, service: &Service, args: &str) -> Output {
    let mut output = ramp(folder, &service.url(), args).output().await.unwrap();
    for _ in 0..2 {
        if output.status.code() != Some(75) {
            break;
        }
        output = ramp(folder, &service.url(), args).output().await.unwrap();
    }
    output
}

pub fn read(folder: &TempDir, name: &str) -> Value {
    common::json(folder.path().join("out").join(name))
}

const TWO: &str = "
    [[steps]]
    name = 'seats'
    path = '/seats'
    capture.seat = { json = '/seat' }
    [[steps]]
    name = 'reserve'
    method = 'POST'
    path = '/seats/{seat}'
    retry_on = [409]
    retry_from = 'seats'";
const SHORT: &str = "--users 30 --ramp 3s --hold 4s --down 1s";

#[tokio::test(flavor = "multi_thread")]
async fn a_saturated_service_gives_its_plan() {
    let service = limited().await;
    let folder = folder(TWO);
    let output = played(&folder, &service, SHORT).await;
    let stderr = stderr(&output);
    assert!(output.status.success(), "{stderr}");
    assert!(stderr.contains("the service was saturated"), "{stderr}");
    let report = read(&folder, "ramp.json");
    let tps = report["tps"].as_f64().unwrap();
    assert!((90.0..=110.0).contains(&tps), "{tps}: {stderr}");
    assert_eq!(report["retry_factor"], 1.0);
    assert_eq!((&report["model"], &report["saturated"]), (&json!("closed"), &json!(true)));
    assert_eq!(report["total"]["errors"], 0);
    // 1 s of the first second is the ramp's: users rise, and are all there in the hold.
    let users = |at: usize| report["over_time"][at]["users"].as_u64().unwrap();
    assert!(users(0) < 20 && users(5) == 30, "{}", report["over_time"]);
    // Each user has a connection of its own, besides the look whether the service answers.
    assert_eq!(service.connections(), 31);
    let plan = read(&folder, "plan.json");
    let visitors = plan["visitors_per_minute"].as_f64().unwrap();
    // Decimal numbers have four digits.
    assert!((visitors / (tps * 60.0 / 2.0) - 1.0).abs() < 1e-3, "{visitors}: {tps}");
    assert!((plan["batch"].as_f64().unwrap() - visitors / 6.0).abs() < 1.5, "{plan}");
    assert_eq!(plan["capacity"], Value::Null);
    for file in ["ramp.md", "ramp.html", "ramp-latency.svg", "concert.patch.yaml"] {
        assert!(folder.path().join("out").join(file).is_file(), "{file}");
    }
}

/// A connection for each request, and one more that looks whether the service answers.
#[tokio::test(flavor = "multi_thread")]
async fn a_scenario_may_ask_for_new_connections() {
    for (model, name) in [("--rate 20 --hold 1s", "open"), (SHORT, "closed")] {
        let service = limited().await;
        let folder = folder(&format!("connections = 'new'\n{TWO}"));
        played(&folder, &service, model).await;
        let requests = read(&folder, "ramp.json")["total"]["requests"].as_u64().unwrap();
        assert!(requests > 20 && service.connections() > requests, "{name}: {requests}");
    }
}

/// Goose would print a line.
#[tokio::test(flavor = "multi_thread")]
async fn a_ramp_is_silent_on_standard_output() {
    let service = limited().await;
    let folder = folder(ONE);
    let short = "--users 3 --ramp 1s --hold 1s --down 1s";
    let mut command = ramp(&folder, &service.url(), short);
    let output = command.stdout(Stdio::piped()).output().await.unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "", "{}", stderr(&output));
}

/// A service that has fallen over has no plan, and its failures are counted, not listed.
#[tokio::test(flavor = "multi_thread")]
async fn where_no_visit_is_completed_there_is_no_plan() {
    let service = Service::slow(Duration::from_millis(50), 500).await;
    let folder = folder(TWO);
    let output = played(&folder, &service, SHORT).await;
    let stderr = stderr(&output);
    assert_eq!(output.status.code(), Some(70), "{stderr}");
    assert!(stderr.contains("no visit was completed"), "{stderr}");
    assert!(stderr.lines().count() < 20, "{stderr}");
    assert_eq!(read(&folder, "ramp.json")["plan"], Value::Null);
    assert!(!folder.path().join("out/plan.json").exists());
}

/// Every second reservation is a conflict after which the visitor looks again: four requests of
/// six are first ones.
#[tokio::test(flavor = "multi_thread")]
async fn the_retry_factor_is_measured() {
    let reservations = Arc::new(AtomicU64::new(0));
    let service = Service::start(move |method| {
        let conflict =
            method == Method::POST && reservations.fetch_add(1, SeqCst).is_multiple_of(2);
        async move {
            tokio::time::sleep(Duration::from_millis(20)).await;
            (if conflict { 409 } else { 200 }, r#"{"seat":"A1"}"#.to_owned())
        }
    })
    .await;
    let folder = folder(TWO);
    let one = "--users 1 --ramp 1s --hold 4s --down 1s";
    let output = played(&folder, &service, one).await;
    assert!(output.status.success(), "{}", stderr(&output));
    let report = read(&folder, "ramp.json");
    let factor = report["retry_factor"].as_f64().unwrap();
    assert!((1.9..=2.1).contains(&factor), "{factor}");
    assert_eq!(report["total"]["errors"], 0);
    assert!(report["total"]["statuses"]["409"].as_u64().unwrap() > 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn load_is_not_capacity_and_is_not_applied() {
    let service = Service::start(|_| async { (200, String::new()) }).await;
    let folder = folder("[[steps]]\npath = '/'\nthink = '200ms..400ms'");
    let apply = format!("{SHORT} --apply {}", service.url());
    let output = played(&folder, &service, &apply).await;
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("load, not capacity: use size"), "{}", stderr(&output));
    assert_eq!(read(&folder, "ramp.json")["saturated"], false);
    // It thinks, so there is a stay, and a capacity by it.
    assert!(read(&folder, "plan.json")["capacity"].as_u64().unwrap() > 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_load_past_the_limit_is_capacity() {
    let service = limited().await;
    let folder = folder(ONE);
    let open = "--rate 150 --hold 3s";
    let output = played(&folder, &service, open).await;
    assert!(output.status.success(), "{}", stderr(&output));
    let report = read(&folder, "ramp.json");
    assert_eq!((&report["model"], &report["visits_begun"]), (&json!("open"), &json!(450)));
    assert_eq!(report["saturated"], true);
    assert!(read(&folder, "plan.json")["batch"].as_u64().unwrap() > 800);
}

/// Who thinks for 2 s when the arrivals end is not what the service did not bear.
#[tokio::test(flavor = "multi_thread")]
async fn visitors_who_think_are_looked_at_when_as_many_go_as_come() {
    let service = Service::start(|_| async { (200, String::new()) }).await;
    let folder = folder("[[steps]]\npath = '/'\n[[steps]]\npath = '/b'\nthink = '2s'");
    let open = "--rate 20 --hold 3s";
    let output = played(&folder, &service, open).await;
    let stderr = stderr(&output);
    assert!(output.status.success(), "{stderr}");
    assert!(stderr.contains("visitors arrive for 2s before the measurement begins"), "{stderr}");
    let report = read(&folder, "ramp.json");
    assert_eq!((&report["visits_begun"], &report["seconds"]), (&json!(100), &json!(3.0)));
    let stay = report["stay_ms"].as_f64().unwrap();
    assert!(stay >= 2_000.0, "{stay}");
    // 20 a second, of two requests each.
    let plan = read(&folder, "plan.json");
    let visitors = plan["visitors_per_minute"].as_f64().unwrap();
    assert!((900.0..=1_500.0).contains(&visitors), "{plan}");
    assert!(plan["capacity"].as_u64().unwrap() >= 30, "{plan}");
}

/// The hold of a service that answers no request has none of its own.
#[tokio::test(flavor = "multi_thread")]
async fn requests_without_an_answer_at_the_end_of_the_hold_are_reported() {
    let service = Service::start(|_| std::future::pending()).await;
    let folder = folder(ONE);
    let hole = "--users 5 --ramp 1s --hold 1s --down 1s --timeout 5s";
    let output = played(&folder, &service, hole).await;
    let stderr = stderr(&output);
    assert_eq!(output.status.code(), Some(70), "{stderr}");
    assert!(stderr.contains("5 requests had no answer yet at the end of the hold"), "{stderr}");
    assert_eq!(read(&folder, "ramp.json")["waiting_at_end_of_hold"], 5);
}

#[tokio::test]
async fn what_is_called_wrongly_ends_with_64() {
    let folder = folder(ONE);
    for (args, rule) in [
        ("--users 0", "--users"),
        ("--ramp 500ms", "must be 1s to 1h, in whole seconds"),
        ("--rate 0", "must be 0.1 to 100000"),
        ("--rate 5 --users 5", "cannot be used with"),
        ("--interval 2h", "must be 1s to 1h, in whole milliseconds"),
        ("--claim-ttl 4s", "must be 5s to 1h"),
        ("--show-up 0", "must be above 0%"),
        ("--headroom 100%", "must be below 100%"),
        ("--source-addresses here", "neither an address nor a network"),
        ("--queue A", "a queue's name is"),
        ("--apply http://me:secret@127.0.0.1:9", "the key is in ANTEROOM_KEY"),
    ] {
        let output = ramp(&folder, "http://127.0.0.1:9", args).output().await.unwrap();
        assert_eq!(output.status.code(), Some(64), "{args}");
        assert!(stderr(&output).contains(rule), "{args}: {}", stderr(&output));
    }
    let output = ramp(&folder, "ftp://a", "").output().await.unwrap();
    assert_eq!(output.status.code(), Some(64));
    let output = ramp(&folder, "http://127.0.0.1:9", "").output().await.unwrap();
    assert_eq!(output.status.code(), Some(70));
    assert!(stderr(&output).contains("no answer at http://127.0.0.1:9/"), "{}", stderr(&output));
    assert!(!folder.path().join("out").exists());
}

/// Minutes later the result would be lost.
#[tokio::test]
async fn a_folder_that_cannot_be_written_is_refused_before_the_run() {
    let service = limited().await;
    let (folder, url) = (folder(TWO), service.url());
    for args in [
        format!("ramp --target {url}"),
        format!("size --target {url} --slo p95<1s"),
        format!("rehearse --without-room --target {url}"),
        "simulate --rate 1 --capacity 1 --stay 1s".to_owned(),
    ] {
        // Not even root can write there.
        let mut command = Command::from(program(&format!("{args} --output /proc/self")));
        let output = command.current_dir(folder.path()).output().await.unwrap();
        assert_eq!(output.status.code(), Some(64), "{args}: {}", stderr(&output));
        assert!(stderr(&output).contains("--output /proc/self: "), "{}", stderr(&output));
    }
    // Each looks whether it answers.
    assert_eq!(service.connections(), 3);
}
