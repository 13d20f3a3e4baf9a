//! The benchmark runs from end to end, with binaries of any profile: it says little about speed
//! then, but that its requests are answered and its report can be read.
#![allow(clippy::unwrap_used, reason = "a test fails by panic")]

use std::{collections::BTreeMap, path::Path, time::Duration};

use anteroom_testkit::{PATIENCE, Process, binary, until};
use serde_json::Value;

fn start(out: &Path, arguments: &[&str]) -> Process {
    let program = env!("CARGO_BIN_EXE_anteroom-bench");
    let folder = binary("anteroom-admission").with_file_name("");
    assert_eq!(binary("anteroom-scheduler").with_file_name(""), folder);
    let out = out.to_str().unwrap();
    let mut all = vec!["--quick", "--out", out];
    all.extend(arguments);
    Process::spawn(program, all, &[("ANTEROOM_BIN_DIR", folder.to_str().unwrap())])
}

fn report(out: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(out.join("report.json")).unwrap()).unwrap()
}

#[tokio::test]
async fn a_quick_run_writes_a_report_of_what_was_wanted() {
    let folder = tempfile::tempdir().unwrap();
    let mut bench = start(folder.path(), &["--only", "hello,authorize"]);
    let status = bench.exit(3 * PATIENCE).await;
    assert!(status.success(), "{}", bench.stderr());
    let report = report(folder.path());
    let sections = report["sections"].as_array().unwrap();
    assert_eq!(sections.len(), 1);
    let rows = sections[0]["rows"].as_array().unwrap();
    let names: Vec<_> = rows.iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["hello", "authorize"]);
    for row in rows {
        for figure in ["requests/s", "ratio", "server µs", "generator µs"] {
            assert!(row["figures"][figure].as_f64().unwrap() > 0.0, "{figure} of {row}");
        }
    }
    let authorize = &rows[1];
    assert_eq!(authorize["budgets"][0]["figure"], "ratio");
    // Whatever the speed: requests of 64 connections share calls.
    let calls = authorize["figures"]["EVALSHA/request"].as_f64().unwrap();
    assert!(calls > 0.0 && calls < 0.9, "{calls}");
    let markdown = std::fs::read_to_string(folder.path().join("report.md")).unwrap();
    assert!(markdown.contains("| authorize | "), "{markdown}");
}

/// Without BullMQ, which is not wanted.
#[tokio::test]
async fn a_quick_run_measures_events_and_pools() {
    let folder = tempfile::tempdir().unwrap();
    let sections = "accepting,issuance,waiting,wakes,recovery,position,worst-events,worst-pools";
    let mut bench = start(folder.path(), &["--only", sections]);
    let status = bench.exit(12 * PATIENCE).await;
    assert!(status.success(), "{}", bench.stderr());
    let report = report(folder.path());
    let mut rows = BTreeMap::new();
    for section in report["sections"].as_array().unwrap() {
        let name = section["name"].as_str().unwrap();
        for row in section["rows"].as_array().unwrap() {
            rows.insert(format!("{name}: {}", row["name"].as_str().unwrap()), &row["figures"]);
        }
    }
    for (row, figure) in [
        ("accepting: apply", "of authorize"),
        ("accepting: draw", "of authorize"),
        ("accepting: hold", "of authorize"),
        ("issuance: issuer", "of hello"),
        ("issuance: bare stream", "a second"),
        ("waiting: local answers", "polls/s"),
        ("waiting: exact", "items/poll"),
        ("wakes: by a message", "p99 ms"),
        ("wakes: every message lost", "p99 ms"),
        ("recovery: recovery", "p99 s"),
        ("position: status", "µs an item"),
        ("position: of it HMGET", "µs an item"),
        ("worst-events: finish: 64", "µs"),
        ("worst-events: reclaim: all is dropped, once", "µs"),
        ("worst-pools: sweep: 50 lines summed up, and ended holds", "µs"),
    ] {
        assert!(rows[row][figure].as_f64().unwrap() > 0.0, "{figure} of {row}: {rows:?}");
    }
    assert!(!rows.contains_key("issuance: BullMQ"));
    assert!(report["notes"].to_string().contains("--bullmq"), "{}", report["notes"]);
}

#[tokio::test]
async fn an_interrupted_run_writes_what_it_has_and_leaves_nothing_running() {
    let folder = tempfile::tempdir().unwrap();
    let mut bench = start(folder.path(), &["--only", "memory,idle"]);
    bench.line("filling lines", 3 * PATIENCE).await;
    let id = bench.id();
    let children = || std::fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap();
    let started: Vec<_> = children().split_whitespace().map(str::to_owned).collect();
    bench.signal(nix::sys::signal::Signal::SIGINT);
    let status = bench.exit(PATIENCE).await;
    assert!(!status.success());
    assert!(report(folder.path())["notes"].to_string().contains("interrupted"));
    for child in started {
        let process = format!("/proc/{child}");
        until("its processes have ended", Duration::from_secs(5), || {
            std::future::ready(!Path::new(&process).exists())
        })
        .await;
    }
}

#[tokio::test]
async fn a_build_is_compared_with_another_and_with_itself() {
    let folder = tempfile::tempdir().unwrap();
    let other = binary("anteroom-admission").with_file_name("");
    let mut bench = start(folder.path(), &["--against", other.to_str().unwrap()]);
    let status = bench.exit(6 * PATIENCE).await;
    assert!(status.success(), "{}", bench.stderr());
    let report = report(folder.path());
    let rows = report["sections"][0]["rows"].as_array().unwrap();
    let names: Vec<_> = rows.iter().map(|row| row["name"].as_str().unwrap()).collect();
    let figures = ["requests/s", "admission µs", "Redis µs", "EVALSHA/request"];
    let expected = ["join", "join with capacity", "place", "authorize"]
        .map(|row| figures.map(|it| format!("{row}: {it}")));
    assert_eq!(names, expected.as_flattened());
    for row in rows {
        let of = |name: &str| row["figures"][name].as_f64().unwrap();
        assert!(of("own") > 0.0 && of("other") > 0.0, "{row}");
        assert!((of("own") / of("other") / of("ratio") - 1.0).abs() < 1e-9, "one round: {row}");
        assert!(of("A/A from") <= of("A/A") && of("A/A") <= of("A/A to"), "{row}");
    }
    let bound: Vec<_> = rows
        .iter()
        .filter(|row| !row["budgets"].as_array().unwrap().is_empty())
        .map(|row| row["name"].as_str().unwrap())
        .collect();
    let times = ["admission µs", "Redis µs"];
    let expected = ["join", "place", "authorize"].map(|row| times.map(|it| format!("{row}: {it}")));
    assert_eq!(bound, expected.as_flattened());
}

#[tokio::test]
async fn a_folder_without_programs_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    let mut bench = start(folder.path(), &["--against", empty.to_str().unwrap()]);
    assert!(!bench.exit(PATIENCE).await.success());
    let text = bench.stderr();
    assert!(text.contains("empty has no anteroom-admission. Build it: cargo build"), "{text}");
}

/// With few connections, because a gateway answers 503 where a check takes too long.
#[tokio::test]
async fn a_quick_run_measures_gateways_and_rate_limits_of_envoy() {
    let folder = tempfile::tempdir().unwrap();
    let mut bench = start(folder.path(), &["--only", "gateways,rls", "--connections", "4"]);
    let status = bench.exit(12 * PATIENCE).await;
    assert!(status.success(), "{}", bench.stderr());
    let report = report(folder.path());
    let sections = report["sections"].as_array().unwrap();
    let rows: Vec<_> = sections.iter().flat_map(|it| it["rows"].as_array().unwrap()).collect();
    let row = |name: &str| {
        let row = rows.iter().find(|row| row["name"] == name);
        &row.unwrap_or_else(|| panic!("no {name}: {report}"))["figures"]
    };
    for name in ["NGINX, alone", "NGINX, with the check", "anteroom-envoy, counter"] {
        assert!(row(name)["p99 µs"].as_f64().unwrap() > 0.0, "{name}");
    }
    assert!(row("NGINX, with the check")["Anteroom µs"].as_f64().unwrap() > 0.0);
    assert_eq!(row("NGINX, alone")["Anteroom µs"].as_f64().unwrap(), 0.0);
    assert!(row("anteroom-envoy, counter")["service µs"].as_f64().unwrap() > 0.0);
}
