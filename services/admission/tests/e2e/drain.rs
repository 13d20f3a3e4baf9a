//! SIGTERM while streams are open, requests are under way and connections are idle.

use anteroom_testkit::{Anteroom, PATIENCE, PATIENT, Wire, until};

const QUEUE: &str = "[queues.concert]\ncapacity = 1\n";
const BODY: &str = "{}";

async fn anteroom(env: &[(&str, &str)]) -> Anteroom {
    let anteroom = Anteroom::start(QUEUE, &[&PATIENT[..], env].concat()).await;
    anteroom.admission.until_ready().await;
    anteroom
}

async fn is_draining(anteroom: &Anteroom) -> bool {
    let (status, reason) = anteroom.admission.get("/readyz").await;
    status == 503 && reason.starts_with("drain:")
}

/// An open stream that has sent its first event.
async fn stream(url: &str, token: &str) -> Wire {
    let mut wire = Wire::connect(url).await;
    wire.send(&format!(
        "GET /v1/queues/concert/token/events HTTP/1.1\r\nhost: x\r\nx-anteroom-token: {token}\r\n\r\n"
    ))
    .await;
    wire.read("event: place\n").await;
    wire.read("\n\n").await;
    wire
}

/// A join that is under way: its handler waits for the body.
async fn slow_join(url: &str) -> Wire {
    let mut wire = Wire::connect(url).await;
    wire.send(&format!(
        "POST /v1/queues/concert/tokens HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n\
         content-length: {}\r\nexpect: 100-continue\r\n\r\n",
        BODY.len()
    ))
    .await;
    wire.read("HTTP/1.1 100 Continue\r\n\r\n").await;
    wire
}

/// A kept connection after its first answer.
async fn idle(url: &str) -> Wire {
    let mut wire = Wire::connect(url).await;
    wire.send("GET /v1/queues/concert HTTP/1.1\r\nhost: x\r\n\r\n").await;
    wire.read("\r\n\r\n").await;
    wire.read("}").await;
    wire
}

#[tokio::test]
async fn streams_end_and_requests_under_way_finish() {
    let anteroom = anteroom(&[
        ("ANTEROOM_ADMISSION__DRAIN_TIMEOUT", "10m"),
        ("ANTEROOM_ADMISSION__REQUEST_TIMEOUT", "5m"),
    ])
    .await;
    let (public, service) = (anteroom.url("public"), anteroom.url("service"));
    let (first, second) =
        (anteroom.admission.join("concert").await, anteroom.admission.join("concert").await);
    let streams = [stream(&public, &first).await, stream(&public, &second).await];
    let mut slow = slow_join(&public).await;
    let idle = [idle(&public).await, idle(&service).await];
    let silent = Wire::connect(&public).await;
    let mut anteroom = anteroom;
    anteroom.admission.process.term();

    for stream in streams {
        let last = stream.end().await;
        // Balancers knew before the visitors did.
        assert!(is_draining(&anteroom).await);
        let (_, retry) = last.rsplit_once("retry: ").expect("a hint when to come back");
        let retry: u64 = retry.split_once("\n\n").expect("its end").0.parse().expect("a number");
        assert!((1_000..=30_000).contains(&retry), "{retry}");
        assert!(last.ends_with("0\r\n\r\n"), "the stream ends whole: {last:?}");
    }
    for connection in idle.into_iter().chain([silent]) {
        assert_eq!(connection.end().await, "");
    }
    for url in [&public, &service] {
        until("new connections are refused", PATIENCE, async || !Wire::is_open(url).await).await;
    }

    // It waits for the request, and the request gets its answer.
    assert_eq!(anteroom.admission.process.try_exit(), None);
    slow.send(BODY).await;
    let answer = slow.end().await;
    assert!(answer.starts_with("HTTP/1.1 201 Created\r\n"), "{answer}");
    assert!(
        answer.contains("connection: close\r\n") && answer.contains("\"token\":\""),
        "{answer}"
    );
    assert_eq!(anteroom.admission.process.exit(PATIENCE).await.code(), Some(0));
    let log = anteroom.admission.process.stdout();
    assert!(!log.contains("connections are cut") && !log.contains(&first), "{log}");
}

#[tokio::test]
async fn in_the_delay_everything_goes_on_but_readiness() {
    let mut anteroom = anteroom(&[("ANTEROOM_ADMISSION__DRAIN_DELAY", "2m")]).await;
    let public = anteroom.url("public");
    let token = anteroom.admission.join("concert").await;
    let mut before = stream(&public, &token).await;
    anteroom.admission.process.term();
    until("readiness closes", PATIENCE, async || is_draining(&anteroom).await).await;

    anteroom.admission.join("concert").await;
    let mut after = stream(&public, &token).await;
    before.read("event: place\n").await;
    after.read("event: place\n").await;
    assert_eq!(anteroom.admission.process.try_exit(), None);

    // The second signal does not wait.
    anteroom.admission.process.term();
    assert_eq!(anteroom.admission.process.exit(PATIENCE).await.code(), Some(130));
}

#[tokio::test]
async fn from_sigterm_on_each_answer_is_the_last_of_its_connection() {
    let anteroom = anteroom(&[("ANTEROOM_ADMISSION__DRAIN_DELAY", "2m")]).await;
    let urls = [anteroom.url("public"), anteroom.url("service")];
    let mut connections = Vec::new();
    for url in &urls {
        connections.push(idle(url).await);
    }
    let mut anteroom = anteroom;
    anteroom.admission.process.term();
    until("readiness closes", PATIENCE, async || is_draining(&anteroom).await).await;
    for url in &urls {
        connections.push(Wire::connect(url).await);
    }
    // The kept ones and the new ones, and every kind of request.
    for mut wire in connections {
        wire.send("GET /v1/queues/none/authorize HTTP/1.1\r\nhost: x\r\n\r\n").await;
        let answer = wire.end().await;
        assert!(answer.starts_with("HTTP/1.1 40"), "{answer}");
        assert!(answer.contains("connection: close\r\n"), "{answer}");
    }
    assert_eq!(anteroom.admission.process.try_exit(), None);
}

/// Half a head at the end of the delay is a request on its way.
#[tokio::test]
async fn what_is_on_its_way_at_the_end_of_the_delay_is_answered() {
    let mut anteroom = anteroom(&[]).await;
    let public = anteroom.url("public");
    let (mut kept, mut new) = (idle(&public).await, Wire::connect(&public).await);
    for wire in [&mut kept, &mut new] {
        wire.send("GET /v1/queues/concert HTTP/1.1\r\nho").await;
    }
    let silent = idle(&public).await;
    anteroom.admission.process.term();
    assert_eq!(silent.end().await, "");
    until("new connections are refused", PATIENCE, async || !Wire::is_open(&public).await).await;
    for mut wire in [kept, new] {
        wire.send("st: x\r\n\r\n").await;
        let answer = wire.end().await;
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer:?}");
        assert!(answer.contains("connection: close\r\n"), "{answer}");
    }
    assert_eq!(anteroom.admission.process.exit(PATIENCE).await.code(), Some(0));
}

#[tokio::test]
async fn a_stuck_client_is_cut_at_drain_timeout() {
    let mut anteroom = anteroom(&[
        ("ANTEROOM_ADMISSION__DRAIN_TIMEOUT", "1s"),
        ("ANTEROOM_ADMISSION__REQUEST_TIMEOUT", "5m"),
    ])
    .await;
    let stuck = slow_join(&anteroom.url("public")).await;
    anteroom.admission.process.term();
    assert_eq!(anteroom.admission.process.exit(PATIENCE).await.code(), Some(0));
    assert!(anteroom.admission.process.stdout().contains("connections are cut"));
    assert_eq!(stuck.end().await, "");
}

#[tokio::test]
async fn the_second_signal_ends_at_once() {
    let mut anteroom = anteroom(&[
        ("ANTEROOM_ADMISSION__DRAIN_TIMEOUT", "10m"),
        ("ANTEROOM_ADMISSION__REQUEST_TIMEOUT", "5m"),
    ])
    .await;
    let stuck = slow_join(&anteroom.url("public")).await;
    anteroom.admission.process.term();
    until("it drains", PATIENCE, async || is_draining(&anteroom).await).await;
    assert_eq!(anteroom.admission.process.try_exit(), None);
    anteroom.admission.process.term();
    assert_eq!(anteroom.admission.process.exit(PATIENCE).await.code(), Some(130));
    assert_eq!(stuck.end().await, "");
}

#[tokio::test]
async fn the_scheduler_ends_too() {
    let mut anteroom = anteroom(&[]).await;
    anteroom.scheduler.process.term();
    assert_eq!(anteroom.scheduler.process.exit(PATIENCE).await.code(), Some(0));
}
