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

use super::ramp::{folder, ramp, read, told};
use super::service::Service;

/// A run by these arguments, which gets each signal after a few requests.
async fn signalled(folder: &TempDir, args: &[&str], signals: &[Signal], answers: bool) -> Output {
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
    let mut command = ramp(folder.path(), &service.url(), args);
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
    output.await.unwrap_or_else(|_| panic!("{signals:?} {args:?}: it goes on")).unwrap()
}

/// Five requests wait for up to 10 minutes.
#[tokio::test(flavor = "multi_thread")]
async fn a_signal_waits_for_no_answer_and_who_had_none_is_told() {
    let folder = folder("[[steps]]\npath = '/'");
    let hole = ["--users", "5", "--ramp", "1s", "--hold", "1h", "--timeout", "10m"];
    let output = signalled(&folder, &hole, &[Signal::SIGINT], false).await;
    let told = told(&output);
    assert!(output.status.success(), "{told}");
    assert!(told.contains("5 requests had no answer when the run ended"), "{told}");
    let report = read(&folder, "ramp.json");
    assert_eq!((&report["unanswered"], &report["visits_begun"]), (&json!(5), &json!(5)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_was_ended_early_is_not_applied_for_that_reason() {
    let folder = folder("[[steps]]\npath = '/'");
    let admin = Service::start(|_| async { (200, String::new()) }).await;
    let url = admin.url();
    let apply = ["--rate", "20", "--hold", "1h", "--apply", &url];
    let output = signalled(&folder, &apply, &[Signal::SIGINT], true).await;
    assert_eq!(output.status.code(), Some(1), "{}", told(&output));
    let why = "the plan was not applied: the run was ended early";
    assert!(told(&output).contains(why), "{}", told(&output));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signal_ends_a_run_with_its_report() {
    for (signals, model) in [
        (&[Signal::SIGINT][..], &["--users", "5", "--ramp", "1s", "--hold", "1h"][..]),
        (&[Signal::SIGTERM], &["--users", "5", "--ramp", "1s", "--hold", "1h"][..]),
        (&[Signal::SIGHUP], &["--users", "5", "--ramp", "1s", "--hold", "1h"][..]),
        // Under `nohup`, which ignores the first.
        (&[Signal::SIGHUP, Signal::SIGTERM], &["--rate", "20", "--hold", "1h"][..]),
        (&[Signal::SIGINT], &["--rate", "20", "--hold", "1h"][..]),
    ] {
        // Nobody waits for who thinks for long.
        let folder = folder("[[steps]]\npath = '/'\n[[steps]]\nname = 'rest'\nthink = '1s..1h'");
        let output = signalled(&folder, model, signals, true).await;
        assert!(output.status.success(), "{signals:?} {model:?}: {}", told(&output));
        // It is this program that has the signal, not Goose: so a second one ends it at once.
        assert!(told(&output).contains("ending early"), "{signals:?} {model:?}: {}", told(&output));
        let report = read(&folder, "ramp.json");
        assert_eq!(report["interrupted"], true, "{signals:?} {model:?}");
        let seconds = report["over_time"].as_array().unwrap().iter();
        let completed: u64 = seconds.map(|it| it["completed"].as_u64().unwrap()).sum();
        assert!(completed >= 4, "{}", report["over_time"]);
    }
}
