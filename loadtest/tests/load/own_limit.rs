//! Where the harness itself is the limit it says so, and neither blames the service nor plans.

use std::process::{Command as Blocking, Output};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hyper::Method;
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;
use tokio::process::Command;

use super::common::stderr;
use super::ramp::{ONE, folder, ramp, read};
use super::service::Service;

/// Ends with 75 and this text, and leaves no plan.
fn own_limit(output: &Output, folder: &TempDir, says: &[&str]) {
    let text = stderr(output);
    assert_eq!(output.status.code(), Some(75), "{text}");
    for says in says {
        assert!(text.contains(says), "{says}: {text}");
    }
    assert!(!text.contains("saturated"), "{text}");
    for file in ["plan.json", "concert.patch.yaml"] {
        assert!(!folder.path().join("out").join(file).exists(), "{file}");
    }
}

/// Answers at once, also as a service port. It notes the methods of all requests.
async fn fast() -> (Service, Arc<Mutex<Vec<Method>>>) {
    let methods = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&methods);
    let service = Service::start(move |method| {
        noted.lock().unwrap().push(method);
        async { (200, r#"{"rules":{}}"#.to_owned()) }
    });
    (service.await, methods)
}

/// `ramp` with this many descriptors.
fn limited(descriptors: u32, folder: &TempDir, service: &Service, args: &str) -> Command {
    let inside = ramp(folder, &service.url(), args);
    let inside = inside.as_std();
    let mut command = Command::new("sh");
    let limit = format!(r#"ulimit -n {descriptors}; exec "$0" "$@""#);
    command.args(["-c", &limit]).arg(inside.get_program()).args(inside.get_args());
    command.kill_on_drop(true);
    command
}

#[tokio::test(flavor = "multi_thread")]
async fn too_few_descriptors_end_the_run_before_it_begins() {
    let ((service, methods), folder) = (fast().await, folder(ONE));
    let apply = format!("--apply {}", service.url());
    let args = format!("--users 600 --ramp 2s --hold 4s --down 1s {apply}");
    let output = limited(200, &folder, &service, &args).output().await.unwrap();
    own_limit(&output, &folder, &["600 connections at once", "`ulimit -n 700`"]);
    assert!(
        methods.lock().unwrap().iter().all(|method| method == Method::GET),
        "the rules are as before"
    );
}

/// 100 visitors a second who wait for 3 s each, with 100 descriptors. Half of the answers are
/// errors: so many failed visits alone would be saturation.
#[tokio::test(flavor = "multi_thread")]
async fn visitors_without_a_descriptor_are_not_the_services_fault() {
    let answers = AtomicU64::new(0);
    let slow = move |_| {
        let fails = answers.fetch_add(1, SeqCst) % 2 == 1;
        async move {
            tokio::time::sleep(Duration::from_secs(3)).await;
            (if fails { 500 } else { 200 }, String::new())
        }
    };
    let (service, folder) = (Service::start(slow).await, folder(ONE));
    let open = "--rate 100 --hold 6s";
    let output = limited(200, &folder, &service, open).output().await.unwrap();
    own_limit(&output, &folder, &["no file descriptor", "`ulimit -n"]);
    let report = read(&folder, "ramp.json");
    assert_eq!(report["saturated"], false);
    assert!(report["own_limit"].as_str().unwrap().contains("not the service"), "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_harness_that_was_stopped_does_not_blame_the_service() {
    let ((service, _), folder) = (fast().await, folder(ONE));
    let args = format!("--rate 50 --hold 8s --apply {}", service.url());
    let mut child = ramp(&folder, &service.url(), &args).spawn().unwrap();
    let id = Pid::from_raw(child.id().unwrap().try_into().unwrap());
    // Requests are under way.
    while service.connections() < 20 && child.try_wait().unwrap().is_none() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    kill(id, Signal::SIGSTOP).unwrap();
    tokio::time::sleep(Duration::from_secs(3)).await;
    kill(id, Signal::SIGCONT).unwrap();
    let output = child.wait_with_output().await.unwrap();
    own_limit(&output, &folder, &["did not run for"]);
}

/// In a network namespace of its own, with 1 000 local ports, 1 500 users find no port, and 250
/// source addresses are enough for them. Only root can make one.
#[test]
fn too_few_local_ports_end_the_run_and_more_addresses_are_the_remedy() {
    std::thread::spawn(|| {
        if let Err(error) = unshare(CloneFlags::CLONE_NEWNET) {
            assert_eq!(error, nix::errno::Errno::EPERM, "it is not root");
            return;
        }
        // Processes and sockets of this thread are in the new namespace.
        let up = Blocking::new("ip").args(["link", "set", "lo", "up"]).status().unwrap();
        assert!(up.success());
        std::fs::write("/proc/sys/net/ipv4/ip_local_port_range", "20000 20999").unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let ((service, _), folder) =
                (fast().await, folder("[[steps]]\npath = '/'\nthink = '1s'"));
            let users = "--users 1500 --ramp 3s --hold 2s --down 1s";
            let output = ramp(&folder, &service.url(), users).output().await.unwrap();
            own_limit(&output, &folder, &["1000 local ports", "--source-addresses"]);
            let spread = format!("{users} --source-addresses 127.0.1.0/24");
            let output = ramp(&folder, &service.url(), &spread).output().await.unwrap();
            assert_ne!(output.status.code(), Some(64), "{}", stderr(&output));
            let total = &read(&folder, "ramp.json")["total"];
            assert_eq!(total["faults"].get("ports"), None, "{total}");
            assert!(service.connections() > 1_400, "{total}");
        });
    })
    .join()
    .unwrap();
}
