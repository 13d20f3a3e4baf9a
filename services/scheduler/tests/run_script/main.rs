//! `make run` as a newcomer meets it: it starts, visitors wait and get their seats, the lines that
//! it prints work when pasted, and however it ends, nothing is left behind.

mod demo;
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
    let said = run.script.stdout();
    let lines: Vec<&str> = said
        .lines()
        .map(str::trim)
        .filter(|line| line.starts_with("TOKEN=") || line.starts_with("curl "))
        .collect();
    assert_eq!(lines.len(), 3, "{said}");
    let output = Command::new("bash").args(["-c", &lines.join("\n")]).output().expect("bash");
    let answers = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(answers.starts_with("art1."), "{answers}");
    assert!(answers.contains("\"status\":\"ready\""), "nobody waits: {answers}");
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
    let said = run.ends_with(1).await;
    assert!(said.contains("scheduler ended by itself, with code 137"), "{said}");
    assert!(said.contains("\"message\":\"listening\""), "its last lines: {said}");
}

#[tokio::test]
async fn a_taken_port_is_named_before_anything_starts() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("bound").to_string();
    let run = Run::start(&[("ANTEROOM_ADMISSION__SERVICE_LISTEN", &address)]);
    let said = run.ends_with(1).await;
    assert!(said.contains(&format!("{address} is taken by another program")), "{said}");
    assert!(said.contains("ANTEROOM_ADMISSION__SERVICE_LISTEN"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}

#[tokio::test]
async fn a_store_that_cannot_be_reached_is_named_at_once_and_ends_it() {
    let free = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = free.local_addr().expect("bound").to_string();
    drop(free);
    let url = format!("redis://someone:a-p@ss@{address}");
    let mut run = Run::start(&[("ANTEROOM_STORE__URL", &url)]);
    let line = run.script.line("waiting for the store at", PATIENCE).await;
    assert_eq!(line, format!("waiting for the store at redis://***@{address}"));
    let said = run.ends_with(1).await;
    let why = format!("no answer from the store at redis://***@{address} for 10 s: ");
    assert!(said.contains(&why), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}

#[tokio::test]
async fn a_configuration_that_is_refused_is_told() {
    let run = Run::start(&[("ANTEROOM_QUEUES__CONCERT__CAPACITY", "0")]);
    let said = run.ends_with(1).await;
    assert!(said.contains("queues.concert.capacity"), "{said}");
    assert!(said.contains("with code 64"), "{said}");
}
