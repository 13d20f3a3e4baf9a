//! A load that several machines share, and the one report of it.

use std::path::Path;
use std::process::{Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Duration;

use anteroom_loadtest::cli::Arguments;
use clap::Parser as _;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use tempfile::TempDir;
use tokio::process::Command;

use super::common::{self, program, stderr};
use super::ramp::{ONE, folder};
use super::service::Service;

/// Each share of a command, at the same time, in folders 0, 1 and so on.
async fn shares(folder: &TempDir, args: &str, count: usize) -> Vec<Output> {
    // As long as programs may take to begin on a busy machine.
    let start = Timestamp::now() + SignedDuration::from_secs(3);
    let running = (0..count).map(|index| {
        let share = format!("{args} --share {index}/{count} --start-at {start} --scenario");
        let mut command = Command::from(program(&share));
        command.arg(folder.path().join("test.toml"));
        command.arg("--output").arg(folder.path().join(index.to_string()));
        command.stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
        command.spawn().unwrap().wait_with_output()
    });
    let mut outputs = Vec::new();
    for child in running.collect::<Vec<_>>() {
        outputs.push(child.await.unwrap());
    }
    outputs
}

async fn merge(folder: &Path, parts: &str) -> Output {
    let mut command = Command::from(program(&format!("merge {parts} --output whole")));
    command.current_dir(folder).output().await.unwrap()
}

fn read(folder: &TempDir, name: &str) -> Value {
    common::json(folder.path().join(name))
}

/// Answers after 20 ms, and counts.
async fn counting() -> (Service, Arc<AtomicU64>) {
    let requests = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&requests);
    let service = Service::start(move |_| {
        counted.fetch_add(1, SeqCst);
        async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            (200, "{}".to_owned())
        }
    });
    (service.await, requests)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_report_of_four_shares_counts_what_the_service_has_counted() {
    for model in ["--rate 100 --hold 3s", "--users 10 --ramp 2s --hold 2s --down 1s"] {
        let ((service, counted), folder) = (counting().await, folder(ONE));
        let args = format!("ramp --target {} {model}", service.url());
        for output in shares(&folder, &args, 4).await {
            assert!(matches!(output.status.code(), Some(0 | 75)), "{}", stderr(&output));
        }
        let output = merge(folder.path(), "0 1 2 3").await;
        // 1: there is no limit to be seen. 75: this machine was too busy for four.
        assert!(matches!(output.status.code(), Some(0 | 75)), "{}", stderr(&output));
        let whole = read(&folder, "whole/ramp.json");
        let parts = (0..4).map(|part| read(&folder, &format!("{part}/ramp.json")));
        let requests = |report: &Value| report["total"]["requests"].as_u64().unwrap();
        assert_eq!(requests(&whole), parts.map(|part| requests(&part)).sum::<u64>());
        let over_time = whole["over_time"].as_array().unwrap().iter();
        let all: u64 = over_time.map(|second| second["requests"].as_u64().unwrap()).sum();
        // At the end of a closed run users are stopped while they wait for an answer.
        let unanswered = whole["unanswered"].as_u64().unwrap();
        assert!((all..=all + unanswered).contains(&counted.load(SeqCst)), "{all}, {counted:?}");
        if whole["model"] == "open" {
            assert_eq!((&whole["visits_begun"], requests(&whole)), (&300.into(), 300));
        }
        // Neither a mean of means nor a median of medians.
        let p50 = whole["total"]["p50_ms"].as_f64().unwrap();
        assert!(p50 >= 20.0 && whole["total"]["max_ms"].as_f64().unwrap() >= p50, "{whole}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_shares_of_a_rehearsal_are_one_crowd() {
    let ((service, counted), folder) = (counting().await, folder(ONE));
    let crowd = "--visitors 41 --arrive 1s --mix faithful=1 --stay 100ms";
    let args = format!("rehearse --without-room --target {} {crowd}", service.url());
    for output in shares(&folder, &args, 2).await {
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    }
    let output = merge(folder.path(), "1 0").await;
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let whole = &read(&folder, "whole/rehearse.json")["without_room"];
    assert_eq!((&whole["came"], &whole["unfinished"]), (&41.into(), &0.into()), "{whole:#}");
    assert_eq!(whole["service"]["requests"], counted.load(SeqCst));
    assert_eq!(whole["ended"]["faithful"]["served"], 41);
}

#[tokio::test(flavor = "multi_thread")]
async fn parts_that_do_not_belong_together_are_named() {
    let ((service, _), folder) = (counting().await, folder(ONE));
    let args = format!("ramp --target {} --rate 20 --hold 1s", service.url());
    shares(&folder, &args, 2).await;
    let refused = async |parts: &str, says: &str| {
        let output = merge(folder.path(), parts).await;
        assert_eq!(output.status.code(), Some(64), "{parts}: {}", stderr(&output));
        assert!(stderr(&output).contains(says), "{parts}: {}", stderr(&output));
        assert!(!folder.path().join("whole").exists());
    };
    refused("0", "of 2 shares these are missing: [1]").await;
    refused("0 1 1", "a share is given twice").await;
    refused("0 none", "none/share.json").await;
    let second = folder.path().join("1/share.json");
    let whole = std::fs::read_to_string(&second).unwrap();
    let change = |name: &str, value: Value| {
        let mut part: Value = serde_json::from_str(&whole).unwrap();
        part[name] = value;
        std::fs::write(&second, part.to_string()).unwrap();
    };
    change("text", "[[steps]]\npath = '/other'".into());
    refused("0 1", "share 1/2 is of another run").await;
    change("started_at", "2026-11-24T20:00:00Z".into());
    refused("0 1", "s apart").await;
    change("schema_version", 9.into());
    refused("0 1", "version 9").await;
}

/// The Job of `k8s/components/loadtest`, as Kubernetes fills in its variables.
#[test]
fn the_job_on_kubernetes_has_flags_that_ramp_knows() {
    let job = include_str!("../../../k8s/components/loadtest/loadtest.yaml");
    let between = |from: &str, to: &str| job.split_once(from).unwrap().1.split_once(to).unwrap().0;
    let data = between("\ndata:\n", "\n---").lines().filter(|line| !line.trim().starts_with('#'));
    let data = data.map(|line| line.trim().split_once(": ").unwrap());
    let soon = (Timestamp::now() + SignedDuration::from_mins(30)).to_string();
    let own = [("JOB_COMPLETION_INDEX", "3"), ("START_AT", &*soon)];
    let values: Vec<_> = data.chain(own).collect();
    let args =
        between("args:\n", "envFrom:").lines().filter_map(|line| line.trim().strip_prefix("- "));
    let filled = args.map(|arg| {
        values.iter().fold(arg.to_owned(), |arg, (name, value)| {
            arg.replace(&format!("$({name})"), value.trim_matches('"'))
        })
    });
    let filled: Vec<_> = ["anteroom-loadtest".to_owned()].into_iter().chain(filled).collect();
    assert!(filled.len() > 8 && !filled.concat().contains('$'), "{filled:?}");
    Arguments::try_parse_from(&filled).unwrap();
    let unknown = filled.iter().map(|arg| arg.replace("--share", "--part"));
    assert!(Arguments::try_parse_from(unknown).is_err());
}
