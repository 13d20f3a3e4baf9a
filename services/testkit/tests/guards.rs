//! The guards themselves: what they start ends with them, and what they say is so.
#![allow(clippy::unwrap_used, reason = "a test fails by panic")]

use std::{
    path::Path,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use anteroom_testkit::{Clock, Cut, Fault, PATIENCE, Process, Proxy, Redis, free_port};
use nix::sys::signal::Signal;
use std::os::unix::process::ExitStatusExt;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

fn shell(script: &str) -> Process {
    Process::spawn("/bin/sh", ["-c", script], &[("GREETING", "hello")])
}

fn runs(id: u32) -> bool {
    Path::new(&format!("/proc/{id}")).exists()
}

#[tokio::test]
async fn a_process_is_heard_and_ended() {
    let mut process = shell(
        "trap 'echo bye; exit 3' TERM; echo $GREETING; echo oops >&2; while :; do sleep 0.01; done",
    );
    assert_eq!(process.line("hell", PATIENCE).await, "hello");
    assert_eq!(process.line("oops", PATIENCE).await, "oops");
    process.term();
    assert_eq!(process.exit(PATIENCE).await.code(), Some(3));
    assert_eq!((process.stdout().as_str(), process.stderr().as_str()), ("hello\nbye", "oops"));
}

#[tokio::test]
async fn a_dropped_process_is_gone() {
    let process = shell("exec sleep 1000");
    let id = process.id();
    assert!(runs(id));
    process.freeze();
    drop(process);
    assert!(!runs(id));
}

#[tokio::test]
async fn a_frozen_process_does_nothing_more() {
    let process = shell("while :; do :; done");
    for _ in 0..200 {
        process.freeze();
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", process.id())).unwrap();
        assert_eq!(stat.split(' ').nth(2), Some("T"), "{stat}");
        process.thaw();
    }
}

#[tokio::test]
async fn a_killed_process_says_so() {
    let mut process = shell("exec sleep 1000");
    process.signal(Signal::SIGKILL);
    assert_eq!(process.exit(PATIENCE).await.signal(), Some(9));
}

#[tokio::test]
#[should_panic(expected = "never wrote")]
async fn waiting_for_a_line_ends_with_the_process() {
    shell("echo something else").line("hello", PATIENCE).await;
}

#[tokio::test]
async fn a_clock_is_wrong_for_whom_it_rules_and_leaps() {
    let redis = Redis::builder().clock(Clock::off_by(600)).start().await;
    let off_by = async || {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        redis.run::<(i64, i64)>(&["TIME"]).await.0 - i64::try_from(now).unwrap()
    };
    assert!((540..660).contains(&off_by().await));
    redis.clock().leaps_to(-600);
    assert!((-660..-540).contains(&off_by().await));
    let id = redis.id().unwrap();
    for name in ["faketime_shm_", "sem.faketime_sem_"] {
        assert!(!Path::new(&format!("/dev/shm/{name}{id}")).exists());
    }
}

#[tokio::test]
async fn a_redis_is_private_and_leaves_nothing() {
    let (first, second) = (Redis::start().await, Redis::start().await);
    first.run::<()>(&["SET", "key", "1"]).await;
    assert_eq!(second.run::<i64>(&["DBSIZE"]).await, 0);
    let socket = first.socket_url();
    let socket = Path::new(socket.trim_start_matches("unix://")).to_owned();
    assert!(socket.exists());
    drop(first);
    assert!(!socket.parent().unwrap().exists());
}

#[tokio::test]
async fn a_durable_redis_keeps_what_it_answered() {
    let mut redis = Redis::builder().durable().start().await;
    redis.run::<()>(&["SET", "key", "1"]).await;
    redis.restart().await;
    assert_eq!(redis.run::<String>(&["GET", "key"]).await, "1");
    redis.script_flush().await;
    assert_eq!((redis.calls("script|flush").await, redis.evalsha_calls().await), (1, 0));
}

/// A server that sends back what it gets, and its port.
async fn parrot() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let (mut from, mut to) = stream.split();
                let _ = tokio::io::copy(&mut from, &mut to).await;
            });
        }
    });
    port
}

async fn ask(stream: &mut TcpStream, text: &str) -> std::io::Result<String> {
    stream.write_all(text.as_bytes()).await?;
    let mut reply = vec![0; text.len()];
    stream.read_exact(&mut reply).await?;
    Ok(String::from_utf8_lossy(&reply).into_owned())
}

async fn through(proxy: &Proxy) -> TcpStream {
    TcpStream::connect(("127.0.0.1", proxy.port())).await.unwrap()
}

#[tokio::test]
async fn a_proxy_passes_delays_and_trickles_whole_replies() {
    let proxy = Proxy::start(parrot().await).await;
    let mut stream = through(&proxy).await;
    let pause = Duration::from_millis(2);
    for fault in [Fault::Pass, Fault::Delay(pause), Fault::Trickle(pause), Fault::Pass] {
        proxy.set(fault);
        assert_eq!(ask(&mut stream, "hello").await.unwrap(), "hello", "{fault:?}");
    }
    assert_eq!(proxy.connections(), 1);
}

#[tokio::test]
async fn a_proxy_refuses_and_silences() {
    let proxy = Proxy::start(parrot().await).await;
    let mut old = through(&proxy).await;
    assert!(ask(&mut old, "a").await.is_ok());
    proxy.silence_open();
    let mut new = through(&proxy).await;
    assert!(ask(&mut new, "b").await.is_ok());
    let silence = tokio::time::timeout(Duration::from_millis(50), ask(&mut old, "c")).await;
    assert!(silence.is_err(), "nothing comes through a half-open link");
    proxy.set(Fault::Refuse);
    assert!(ask(&mut new, "d").await.is_err());
}

#[tokio::test]
async fn a_cut_passes_the_request_and_drops_the_reply() {
    let proxy = Proxy::start(parrot().await).await;
    let mut stream = through(&proxy).await;
    proxy.cut_reply_to(b"precious");
    assert!(ask(&mut stream, "cheap").await.is_ok());
    assert!(ask(&mut stream, "precious").await.is_err());
    assert_eq!(proxy.cuts(), 1);
    let mut again = through(&proxy).await;
    assert!(ask(&mut again, "precious").await.is_ok());
}

#[tokio::test]
async fn a_cut_may_come_before_the_request_or_in_the_middle_of_the_reply() {
    let proxy = Proxy::start(parrot().await).await;
    let text = "precious";
    for (cut, comes) in [(Cut::Before, ""), (Cut::Amid, "prec"), (Cut::After, "")] {
        let mut stream = through(&proxy).await;
        proxy.cut(text.as_bytes(), cut);
        stream.write_all(text.as_bytes()).await.unwrap();
        let mut reply = Vec::new();
        // A reset follows what has come.
        let _ = stream.read_to_end(&mut reply).await;
        assert_eq!(String::from_utf8_lossy(&reply), comes, "{cut:?}");
    }
    assert_eq!(proxy.cuts(), 3);
}

#[tokio::test]
async fn a_cut_behind_the_reply_refuses_what_comes_then() {
    let proxy = Proxy::start(parrot().await).await;
    let mut stream = through(&proxy).await;
    proxy.cut(b"precious", Cut::Behind);
    stream.write_all(b"precious").await.unwrap();
    let mut reply = Vec::new();
    stream.read_to_end(&mut reply).await.expect("an orderly end");
    assert_eq!(String::from_utf8_lossy(&reply), "precious");
    assert!(ask(&mut through(&proxy).await, "x").await.is_err());
    proxy.set(Fault::Pass);
    assert!(ask(&mut through(&proxy).await, "x").await.is_ok());
}

#[tokio::test]
async fn what_was_sent_into_a_black_hole_comes_when_it_ends() {
    let proxy = Proxy::start(parrot().await).await;
    let mut stream = through(&proxy).await;
    proxy.set(Fault::Blackhole);
    let silence = tokio::time::timeout(Duration::from_millis(50), ask(&mut stream, "late")).await;
    assert!(silence.is_err(), "nothing comes through");
    proxy.set(Fault::Pass);
    let mut reply = [0; 4];
    stream.read_exact(&mut reply).await.unwrap();
    assert_eq!(&reply, b"late");
}

#[tokio::test]
async fn a_redirected_proxy_leads_elsewhere() {
    let proxy = Proxy::start(free_port()).await;
    assert!(ask(&mut through(&proxy).await, "x").await.is_err());
    proxy.redirect(parrot().await);
    assert!(ask(&mut through(&proxy).await, "x").await.is_ok());
}
