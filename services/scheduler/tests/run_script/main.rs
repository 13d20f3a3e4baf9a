//! `make run` as a newcomer meets it: it starts, visitors wait and get their seats, the lines that
//! it prints work when pasted, and however it ends, nothing is left behind.

mod demo;
mod documentation;
mod run;
mod walks;

use std::net::TcpListener;
use std::process::Command;

use anteroom_testkit::{PATIENCE, Redis};
use nix::sys::signal::{Signal, kill};

use self::run::Run;

#[tokio::test]
async fn the_printed_lines_work_and_ctrl_c_leaves_nothing() {
    let mut run = Run::start(&[]);
    run.until_running().await;
    for program in
        ["anteroom-admission", "anteroom-scheduler", "anteroom-issuer", "anteroom-concert"]
    {
        assert_eq!(run.count(program), 1, "{program}");
    }
    assert_eq!(run.count("redis.sock"), 1, "a server of its own, on a socket");
    let output = run.script.stdout();
    let lines: Vec<&str> = output
        .lines()
        .map(str::trim)
        .filter(|line| line.starts_with("TOKEN=") || line.starts_with("curl "))
        .collect();
    assert_eq!(lines.len(), 3, "{output}");
    let output = Command::new("bash").args(["-c", &lines.join("\n")]).output().expect("bash");
    let answers = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(answers.starts_with("art1."), "{answers}");
    assert!(answers.contains("\"status\":\"ready\""), "the line is empty: {answers}");
    assert!(answers.contains("HTTP/1.1 200 OK\r\nx-anteroom-visitor: 1\r\n"), "{answers}");
    run.script.signal(Signal::SIGINT);
    run.ends_with(0).await;
}

#[tokio::test]
async fn it_uses_the_store_that_is_named_and_sigterm_leaves_nothing() {
    let redis = Redis::start().await;
    let mut run = Run::start(&[("ANTEROOM_STORE__URL", &redis.url())]);
    run.until_running().await;
    assert_eq!(run.count("redis.sock"), 0);
    assert!(redis.run::<u64>(&["DBSIZE"]).await > 0, "the rules are there");
    run.script.term();
    run.ends_with(0).await;
}

#[tokio::test]
async fn a_service_that_dies_ends_everything_with_its_last_words() {
    let mut run = Run::start(&[]);
    run.until_running().await;
    let processes = run.processes();
    let scheduler = processes.iter().find(|(_, line)| line.contains("anteroom-scheduler"));
    kill(scheduler.expect("it runs").0, Signal::SIGKILL).expect("killed");
    let output = run.ends_with(1).await;
    assert!(output.contains("scheduler ended unexpectedly, with code 137"), "{output}");
    assert!(output.contains("\"message\":\"listening\""), "its last lines: {output}");
}

#[tokio::test]
async fn a_taken_port_is_named_before_anything_starts() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("bound").to_string();
    let run = Run::start(&[("ANTEROOM_ADMISSION__SERVICE_LISTEN", &address)]);
    let output = run.ends_with(1).await;
    assert!(output.contains(&format!("another program uses {address}")), "{output}");
    assert!(output.contains("ANTEROOM_ADMISSION__SERVICE_LISTEN"), "{output}");
    assert_eq!(output.lines().count(), 1, "{output}");
}

#[tokio::test]
async fn a_store_that_cannot_be_reached_is_named_at_once_and_ends_it() {
    let free = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = free.local_addr().expect("bound").to_string();
    drop(free);
    let url = format!("redis://someone:a-p@ss@{address}");
    let mut run = Run::start(&[("ANTEROOM_STORE__URL", &url)]);
    let line = run.script.line("waiting for Redis at", PATIENCE).await;
    assert_eq!(line, format!("waiting for Redis at redis://***@{address}"));
    let output = run.ends_with(1).await;
    let why = format!("no answer from Redis at redis://***@{address} for 10 s: ");
    assert!(output.contains(&why), "{output}");
    assert_eq!(output.lines().count(), 1, "{output}");
}

#[tokio::test]
async fn a_configuration_that_is_refused_is_reported() {
    let run = Run::start(&[("ANTEROOM_QUEUES__CONCERT__CAPACITY", "0")]);
    let output = run.ends_with(1).await;
    assert!(output.contains("queues.concert.capacity"), "{output}");
    assert!(output.contains("with code 64"), "{output}");
}
