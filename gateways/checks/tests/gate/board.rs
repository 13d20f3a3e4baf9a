//! The board: each visitor can read it, and a gateway with a cache requests it about once a second.

use std::time::Instant;

use anteroom_testkit::{Answer, PATIENCE, client, until, until_some};
use http::Method;
use reqwest::RequestBuilder;
use tokio::task::JoinSet;

use crate::browser::{AtGate as _, COOKIE_NAME};
use crate::program::Program;
use crate::site::{Plan, Site};

const BOARD: &str = "/v1/queues/concert/board";
/// How many boards admission has sent.
const SENT: &str = "anteroom_http_request_seconds_count{route=\"/v1/queues/{queue}/board\"}";
const READERS: usize = 8;
/// So many each.
const READS: usize = 250;

fn has_cache(program: Program) -> bool {
    matches!(program, Program::Nginx | Program::Haproxy)
}

/// Whether the answer came out of the gateway's cache.
fn is_cached(answer: &Answer) -> bool {
    matches!(answer.header("x-cache"), "HIT" | "STALE" | "UPDATING")
}

async fn sent(site: &Site) -> usize {
    site.anteroom.admission.metric(SENT).await.unwrap_or_default() as usize
}

async fn board(site: &Site) -> Answer {
    site.call(Method::GET, BOARD, "").await
}

/// A board as admission sends it.
fn is_board(answer: &Answer, queue: &str) {
    answer.is(200);
    for (name, value) in [
        ("cache-control", "public, max-age=1, stale-while-revalidate=5"),
        ("content-type", "application/json"),
        ("access-control-allow-origin", "*"),
        ("content-encoding", ""),
        ("location", ""),
    ] {
        assert_eq!(answer.header(name), value, "{name}: {answer:?}");
    }
    assert_eq!(answer.header("vary").to_lowercase(), "accept-encoding", "{answer:?}");
    assert!(answer.header("etag").starts_with("W/\""), "{answer:?}");
    assert!(answer.cookies().is_empty(), "{answer:?}");
    assert_eq!(answer.json()["queue"], queue);
}

pub async fn each_visitor_can_read_the_board(program: Program) {
    let site = Site::of(program).await;
    let first = board(&site).await;
    is_board(&first, "concert");
    until("the next board", PATIENCE, async || {
        let next = board(&site).await;
        is_board(&next, "concert");
        next.header("etag") != first.header("etag")
    })
    .await;
    let read = |method| site.client.request(method, format!("{}{BOARD}", site.url));
    let gzip = Answer::of(read(Method::GET).header("accept-encoding", "br, gzip;q=0.5")).await;
    assert_eq!(gzip.is(200).header("content-encoding"), "gzip");
    until("the client has the board", PATIENCE, async || {
        let etag = board(&site).await.header("etag").to_owned();
        let answer = Answer::of(read(Method::GET).header("if-none-match", &etag)).await;
        answer.status == 304 && answer.text.is_empty() && answer.header("etag") == etag
    })
    .await;
    assert_eq!(Answer::of(read(Method::HEAD)).await.is(200).text, "");
    Answer::of(read(Method::POST)).await.is_problem(405, "method_not_allowed");
    // These are paths of the service.
    for other in ["/", "/x", ".json", "s"] {
        let answer = site.call(Method::GET, &format!("{BOARD}{other}"), "").await;
        answer.is_problem(401, "token_missing");
    }
    assert!(site.shop.arrivals().is_empty());
}

pub async fn the_board_is_cached(program: Program) {
    let site = Site::of(program).await;
    let before = sent(&site).await;
    let started = Instant::now();
    let mut readers = JoinSet::new();
    for _ in 0..READERS {
        let url = format!("{}{BOARD}", site.url);
        readers.spawn(async move {
            let client = client();
            let mut hits = 0;
            for _ in 0..READS {
                let answer = Answer::of(client.get(&url)).await;
                is_board(&answer, "concert");
                hits += usize::from(is_cached(&answer));
            }
            hits
        });
    }
    let hits: usize = readers.join_all().await.into_iter().sum();
    let seconds = usize::try_from(started.elapsed().as_secs()).expect("a few") + 2;
    let sent = sent(&site).await - before;
    let most = match program {
        // The first ones wait for each other for a second, and no longer.
        Program::Nginx => seconds + READERS,
        // Its readers do not wait for each other.
        Program::Haproxy => seconds * READERS,
        _ => READERS * READS,
    };
    assert!(sent <= most, "{sent} in {seconds} s");
    assert!(hits + sent >= READERS * READS, "{hits} of the cache, {sent} of admission");
    assert_eq!(hits > 0, has_cache(program));
}

/// What a client can send with the request that fills the cache.
const FILLS: [(&str, &str); 23] = [
    ("cookie", "__Host-anteroom_concert=TOKEN; evil=1"),
    ("x-anteroom-token", "TOKEN"),
    ("authorization", "Bearer TOKEN"),
    ("authorization", "Basic ZXZpbA=="),
    ("host", "evil.example"),
    ("x-forwarded-host", "evil.example"),
    ("x-forwarded-proto", "evil"),
    ("x-forwarded-for", "198.51.100.66, evil"),
    ("forwarded", "host=evil.example"),
    ("x-original-url", "/v1/queues/concert/token?evil"),
    ("x-rewrite-url", "/v1/queues/concert/token?evil"),
    ("x-forwarded-uri", "/v1/queues/concert/token?evil"),
    ("x-http-method-override", "DELETE"),
    ("origin", "https://evil.example"),
    ("x-request-id", "evil"),
    ("range", "bytes=0-3"),
    ("if-none-match", "*"),
    ("if-modified-since", "Fri, 01 Jan 2100 00:00:00 GMT"),
    ("accept-encoding", "gzip"),
    ("accept-encoding", "evil"),
    ("cache-control", "no-store, no-cache"),
    ("x-accel-expires", "3600"),
    ("x-anteroom-position", "666"),
];

pub async fn the_cache_has_nothing_of_a_visitor(program: Program) {
    // A queue for each: its first reader fills its cache.
    let tables: String =
        (0..FILLS.len() + 2).map(|number| format!("[queues.q{number}]\ncapacity = 1\n")).collect();
    let queue = format!("capacity = 1\n{tables}");
    let site = Site::with(Plan { program, queue: &queue, ..Plan::default() }).await;
    let browser = site.joined().await;
    let token = browser.token().expect("a cookie").to_owned();
    let url = |number: usize, query: &str| format!("{}/v1/queues/q{number}/board{query}", site.url);
    let mut fills: Vec<RequestBuilder> = FILLS
        .iter()
        .enumerate()
        .map(|(number, (name, value))| {
            site.client.get(url(number, "")).header(*name, value.replace("TOKEN", &token))
        })
        .collect();
    let query = format!("?evil=1&token={token}");
    fills.push(site.client.get(url(fills.len(), &query)));
    fills.push(site.client.head(url(fills.len(), "")));
    for (number, fill) in fills.into_iter().enumerate() {
        let first = Answer::of(fill).await;
        let plain = Answer::of(site.client.get(url(number, ""))).await;
        is_board(&plain, &format!("q{number}"));
        let text = format!("{plain:?}");
        assert!(!text.contains("evil") && !text.contains(&token), "{number}: {text}");
        assert!(first.cookies().is_empty(), "{number}: {first:?}");
    }
    // Every other path below the queue is one visitor's.
    let cookie = format!("{COOKIE_NAME}={token}");
    for path in [
        "token",
        "token?/board",
        "token/board",
        "board/../token",
        "board/..%2ftoken",
        "board%2f..%2ftoken",
        "board;/../token",
        "board/token",
        "BOARD",
        "tokens/board",
    ] {
        for _ in 0..2 {
            let request = site.client.get(format!("{}/v1/queues/concert/{path}", site.url));
            let answer = Answer::of(request.header("cookie", &cookie)).await;
            assert_eq!(answer.header("x-cache"), "", "{path}: {answer:?}");
            assert!(!answer.header("cache-control").contains("public"), "{path}: {answer:?}");
        }
    }
}

pub async fn refusals_of_the_board_are_not_cached(program: Program) {
    let queue = "capacity = 1\nboard = false";
    let site = Site::with(Plan { program, queue, ..Plan::default() }).await;
    for (path, code) in [(BOARD, "not_found"), ("/v1/queues/none/board", "unknown_queue")] {
        for _ in 0..2 {
            let answer = site.call(Method::GET, path, "").await;
            answer.is_problem(404, code);
            assert!(!is_cached(&answer), "{answer:?}");
        }
    }
    let deployment = &site.anteroom.deployment;
    let written = std::fs::read_to_string(deployment.config_file()).expect("the configuration");
    deployment.write(&written.replace("board = false", "board = true"));
    let is_shown =
        || until("there is a board", PATIENCE, async || board(&site).await.status == 200);
    is_shown().await;

    deployment.redis.freeze();
    // Admission sends a board for 5 s, and then NGINX has it for up to 6 s.
    let refused = until_some("the board is too old", PATIENCE, async || {
        let answer = board(&site).await;
        if answer.status == 200 {
            is_board(&answer, "concert");
        }
        (answer.status != 200).then_some(answer)
    })
    .await;
    for answer in [refused, board(&site).await] {
        answer.is_problem(503, "store_unavailable");
        assert!(!is_cached(&answer), "{answer:?}");
        assert!(!answer.header("retry-after").is_empty(), "{answer:?}");
    }
    deployment.redis.thaw();
    is_shown().await;
}
