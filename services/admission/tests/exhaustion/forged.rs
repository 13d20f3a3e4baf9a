//! Promise 6: a forged token costs no Redis command, however many come.

use std::ops::Range;
use std::time::Instant;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::siege::Siege;

/// Distinct forged tokens, in all.
const TOKENS: u32 = 40_000;
const CONNECTIONS: u32 = 8;
/// Requests that are sent before their answers are read.
const AHEAD: usize = 100;
const VISITORS: u32 = 10;
/// Calls of a visitor that reach the store.
const CALLS: u32 = 4;

#[tokio::test]
async fn promise_06_forged_tokens_cost_no_redis_command() {
    let siege = Siege::new(1_024).await;
    let token = siege.admission.join("concert").await;
    let scripts = siege.site.redis.evalsha_calls().await;
    let calls = visitors_calls(&siege).await;
    let began = Instant::now();
    let mut forgers = JoinSet::new();
    for forger in 0..CONNECTIONS {
        let numbers = forger * TOKENS / CONNECTIONS..(forger + 1) * TOKENS / CONNECTIONS;
        forgers.spawn(forge(siege.address(), token.clone(), numbers));
    }
    siege.visitors(VISITORS).await;
    assert!(!forgers.is_empty(), "it went on while the visitors came");
    forgers.join_all().await;
    let took = began.elapsed();
    let refused = "anteroom_http_request_seconds_count{status=\"401\"}";
    let refused = siege.admission.metric(refused).await;
    assert!(refused >= Some(f64::from(TOKENS)), "{refused:?} were refused as forged");
    let calls = visitors_calls(&siege).await - calls;
    assert_eq!(calls, f64::from(CALLS * VISITORS), "calls for others than the visitors");
    // Admission reads a snapshot about every second, with requests or without.
    let scripts = siege.site.redis.evalsha_calls().await - scripts;
    let own = 3 * (2 + took.as_secs());
    assert!(scripts <= own + u64::from(CALLS * VISITORS), "{scripts} scripts in {took:?}");
    siege.end("forged tokens").await;
}

/// Items of visitors in calls to Redis.
async fn visitors_calls(siege: &Siege) -> f64 {
    let mut calls = 0.0;
    for operation in ["join", "place", "claim", "authorize", "renew", "leave"] {
        let items = format!("anteroom_store_batch_items_sum{{operation=\"queue.{operation}\"}}");
        calls += siege.admission.metric(&items).await.unwrap_or(0.0);
    }
    calls
}

/// Asks for the place of a forged token, again and again, and expects 401 each time.
async fn forge(address: String, token: String, numbers: Range<u32>) {
    let mut stream = BufReader::new(TcpStream::connect(address).await.expect("a connection"));
    let mut numbers = numbers.peekable();
    while numbers.peek().is_some() {
        let forged: Vec<_> = numbers.by_ref().take(AHEAD).map(|n| forgery(&token, n)).collect();
        let requests: String = forged
            .iter()
            .map(|token| {
                format!(
                    "GET /v1/queues/concert/token HTTP/1.1\r\nhost: room\r\n\
                     x-anteroom-token: {token}\r\n\r\n"
                )
            })
            .collect();
        stream.write_all(requests.as_bytes()).await.expect("taken");
        for _ in forged {
            unauthorized(&mut stream).await;
        }
    }
}

/// A token of our key id, for our queue, with another place id and the tag of the real one.
fn forgery(token: &str, number: u32) -> String {
    let text = token.strip_prefix("art1.").expect("a token");
    let mut bytes = URL_SAFE_NO_PAD.decode(text).expect("base64url");
    let queue = 4 + 1 + usize::from(bytes[4]);
    bytes[queue + 8..queue + 12].copy_from_slice(&number.to_be_bytes());
    format!("art1.{}", URL_SAFE_NO_PAD.encode(bytes))
}

/// Reads one answer.
async fn unauthorized(stream: &mut BufReader<TcpStream>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.expect("an answer"));
    }
    let head = String::from_utf8(head).expect("ASCII");
    assert!(head.starts_with("HTTP/1.1 401 "), "{head}");
    let length = head.split("content-length: ").nth(1).and_then(|rest| rest.split('\r').next());
    let length = length.and_then(|length| length.parse().ok()).expect("a length");
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.expect("a body");
}
