//! A ramp that a signal ends early.

use std::process::{Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;
use tempfile::TempDir;
use tokio::process::Command;

use super::common::stderr;
use super::ramp::{ONE, folder, ramp, read};
use super::service::Service;

/// A run by these arguments, which gets each signal after a few requests.
async fn signalled(folder: &TempDir, args: &str, signals: &[Signal], answers: bool) -> Output {
    let seen = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&seen);
    let service = Service::start(move |_| {
        count.fetch_add(1, SeqCst);
        async move {
            if !answers {
                std::future::pending::<()>().await;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
            (200, String::new())
        }
    })
    .await;
    let mut command = ramp(folder, &service.url(), args);
    // Whether these tests ignore SIGHUP themselves is no matter then.
    let wrapper = match signals {
        [Signal::SIGHUP] => Some(&["env", "--default-signal=HUP"][..]),
        [Signal::SIGHUP, _] => Some(&["nohup"][..]),
        _ => None,
    };
    if let Some(wrapper) = wrapper {
        let ramp = command.as_std();
        let mut wrapped = Command::new(wrapper[0]);
        wrapped.args(&wrapper[1..]).arg(ramp.get_program()).args(ramp.get_args());
        command = wrapped;
        command.stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
    }
    let mut child = command.spawn().unwrap();
    for signal in signals {
        let enough = seen.load(SeqCst) + 5;
        while seen.load(SeqCst) < enough && child.try_wait().unwrap().is_none() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        kill(Pid::from_raw(child.id().unwrap().try_into().unwrap()), *signal).unwrap();
    }
    let output = tokio::time::timeout(Duration::from_secs(60), child.wait_with_output());
    output.await.unwrap_or_else(|_| panic!("{signals:?} {args}: it goes on")).unwrap()
}

/// Five requests wait for up to 10 minutes.
#[tokio::test(flavor = "multi_thread")]
async fn a_signal_waits_for_no_answer_and_reports_who_had_none() {
    let folder = folder(ONE);
    let hole = "--users 5 --ramp 1s --hold 1h --timeout 10m";
    let output = signalled(&folder, hole, &[Signal::SIGINT], false).await;
    let text = stderr(&output);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("5 requests had no answer when the run ended"), "{text}");
    let report = read(&folder, "ramp.json");
    assert_eq!((&report["unanswered"], &report["visits_begun"]), (&json!(5), &json!(5)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_was_ended_early_is_not_applied_for_that_reason() {
    let folder = folder(ONE);
    let admin = Service::start(|_| async { (200, String::new()) }).await;
    let apply = format!("--rate 20 --hold 1h --apply {}", admin.url());
    let output = signalled(&folder, &apply, &[Signal::SIGINT], true).await;
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let why = "the plan was not applied: the run was ended early";
    assert!(stderr(&output).contains(why), "{}", stderr(&output));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signal_ends_a_run_with_its_report() {
    let closed = "--users 5 --ramp 1s --hold 1h";
    let open = "--rate 20 --hold 1h";
    for (signals, model) in [
        (&[Signal::SIGINT][..], closed),
        (&[Signal::SIGTERM], closed),
        (&[Signal::SIGHUP], closed),
        // Under `nohup`, which ignores the first.
        (&[Signal::SIGHUP, Signal::SIGTERM], open),
        (&[Signal::SIGINT], open),
    ] {
        // The run does not wait for a visitor who thinks for long.
        let folder = folder("[[steps]]\npath = '/'\n[[steps]]\nname = 'rest'\nthink = '1s..1h'");
        let output = signalled(&folder, model, signals, true).await;
        assert!(output.status.success(), "{signals:?} {model}: {}", stderr(&output));
        // It is this program that has the signal, not Goose: so a second one ends it at once.
        assert!(
            stderr(&output).contains("ending early"),
            "{signals:?} {model}: {}",
            stderr(&output)
        );
        let report = read(&folder, "ramp.json");
        assert_eq!(report["interrupted"], true, "{signals:?} {model}");
        let seconds = report["over_time"].as_array().unwrap().iter();
        let completed: u64 = seconds.map(|it| it["completed"].as_u64().unwrap()).sum();
        assert!(completed >= 4, "{}", report["over_time"]);
    }
}
