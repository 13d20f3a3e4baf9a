//! Exit codes and signals.

use std::process::{Command, Output};

use crate::support::{deployment, until_ticking};

/// The program with an empty environment.
fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_anteroom-scheduler"));
    command.env_clear();
    command
}

fn output(command: &mut Command) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = command.output().expect("it runs");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (status.code(), text(stdout), text(stderr))
}

#[tokio::test]
async fn a_good_file_passes_the_check_and_nothing_is_started() {
    let deployment = deployment("[queues.concert]\ncapacity = 1\n").await;
    let mut command = command();
    command.arg("--config").arg(deployment.config_file()).arg("--check-config");
    command.env("ANTEROOM_STORE__URL", deployment.redis.url());
    assert_eq!(output(&mut command), (Some(0), "the configuration is valid\n".into(), "".into()));
    assert_eq!(deployment.redis.calls("eval").await + deployment.redis.evalsha_calls().await, 0);
}

#[tokio::test]
async fn a_bad_file_ends_with_64_and_one_line_that_names_the_key() {
    for (queues, key) in [
        ("[queues.concert]\ncapacity = 0\n", "queues.concert.capacity"),
        ("[queues.concert]\n", "queues.concert.capacity"),
        ("[queues.concert]\ncapacity = 1\ncolour = \"red\"\n", "colour"),
        ("[scheduler]\ntick = \"1m\"\n", "scheduler.tick"),
    ] {
        let deployment = deployment(queues).await;
        for check in [&["--check-config"][..], &[]] {
            let mut command = command();
            command.arg("--config").arg(deployment.config_file()).args(check);
            let (code, stdout, stderr) = output(&mut command);
            assert_eq!((code, stdout.as_str()), (Some(64), ""), "{stderr}");
            assert_eq!(stderr.lines().count(), 1, "{stderr}");
            assert!(stderr.contains(key), "{key} in {stderr}");
        }
    }
}

#[test]
fn the_configuration_in_force_is_printed_with_origins_and_nothing_is_started() {
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    std::fs::write(file.path(), "[queues.concert]\ncapacity = 7\n").expect("written");
    let mut command = command();
    command.arg("--config").arg(file.path()).arg("--print-config");
    command.env("ANTEROOM_STORE__PASSWORD", "hunter2").env("RUST_LOG", "warn");
    let (code, stdout, stderr) = output(&mut command);
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    let lines: Vec<_> = stdout.lines().map(|line| line.split_whitespace().collect()).collect();
    let has = |line: &str| lines.contains(&line.split(' ').collect::<Vec<_>>());
    assert!(has(&format!("capacity = 7 # {}", file.path().display())), "{stdout}");
    assert!(has("password = \"[hidden]\" # ANTEROOM_STORE__PASSWORD"), "{stdout}");
    assert!(has("tick = \"100ms\" # default"), "{stdout}");
    assert!(stdout.contains("RUST_LOG takes precedence"), "{stdout}");
    assert!(!stdout.contains("hunter2"), "{stdout}");
    std::fs::write(file.path(), "[queues.concert]\ncapacity = 0\n").expect("written");
    let (code, stdout, stderr) = output(&mut command);
    assert_eq!((code, stdout.as_str()), (Some(64), ""));
    assert!(stderr.contains("queues.concert.capacity = 0"), "{stderr}");
}

/// They are a file to begin with.
#[test]
fn the_defaults_are_printed_and_are_a_configuration() {
    let (code, stdout, stderr) = output(command().arg("--print-defaults"));
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    std::fs::write(file.path(), stdout).expect("written");
    let (code, _, stderr) =
        output(command().arg("--config").arg(file.path()).arg("--check-config"));
    assert_eq!(code, Some(0), "{stderr}");
    let (code, ..) = output(command().args(["--print-defaults", "--print-config"]));
    assert_eq!(code, Some(2), "one of them at a time");
}

#[tokio::test]
async fn sigterm_ends_it_with_0() {
    let deployment = deployment("[queues.a]\ncapacity = 1\n[queues.b]\nbatch = 1\n").await;
    let scheduler = deployment.scheduler().await;
    scheduler.until_ready().await;
    scheduler.end().await;
    // Before the first connection, too.
    let mut deployment = deployment;
    deployment.redis.kill();
    deployment.scheduler().await.end().await;
}

#[tokio::test]
async fn sigterm_does_not_wait_for_a_store_that_is_stuck() {
    let deployment = deployment("[queues.concert]\ncapacity = 1\n").await;
    let scheduler = deployment.scheduler().await;
    until_ticking(&scheduler).await;
    deployment.redis.freeze();
    let errors = "anteroom_tick_errors_total{tick=\"promote\"}";
    scheduler.until_metric(errors, |it| it > Some(0.0)).await;
    scheduler.end().await;
    deployment.redis.thaw();
}
