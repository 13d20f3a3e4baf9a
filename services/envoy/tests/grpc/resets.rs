//! Visitors who go away: Envoy cancels their calls on the connection that all visitors share.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::room::Room;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;
const END_HEADERS: u8 = 4;
const END_STREAM: u8 = 1;
const CANCEL: [u8; 4] = [0, 0, 0, 8];
/// More than a library for HTTP/2 allows by itself.
const CANCELLED: u32 = 200;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// The head of a call of the health service, without compression.
fn head() -> Vec<u8> {
    let text = |text: &str| [&[u8::try_from(text.len()).unwrap()], text.as_bytes()].concat();
    let fields = [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", "/grpc.health.v1.Health/Check"),
        (":authority", "anteroom"),
        ("content-type", "application/grpc"),
        ("te", "trailers"),
    ];
    fields.iter().flat_map(|(name, value)| [vec![0], text(name), text(value)].concat()).collect()
}

#[tokio::test]
async fn cancelled_calls_do_not_end_the_connection_of_others() {
    let room = Room::start("").await;
    let mut connection = TcpStream::connect(room.envoy.address("grpc")).await.unwrap();
    let head = head();
    let mut sent = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    sent.extend(frame(SETTINGS, 0, 0, &[]));
    for call in 0..CANCELLED {
        sent.extend(frame(HEADERS, END_HEADERS, 2 * call + 1, &head));
        sent.extend(frame(RST_STREAM, 0, 2 * call + 1, &CANCEL));
    }
    let other = 2 * CANCELLED + 1;
    sent.extend(frame(HEADERS, END_HEADERS, other, &head));
    sent.extend(frame(DATA, END_STREAM, other, &[0; 5]));
    connection.write_all(&sent).await.unwrap();
    // Until the answer to the other call ends.
    let answered = async {
        loop {
            let mut begin = [0; 9];
            connection.read_exact(&mut begin).await.expect("the connection stays open");
            let length = u32::from_be_bytes([0, begin[0], begin[1], begin[2]]);
            let mut payload = vec![0; usize::try_from(length).unwrap()];
            connection.read_exact(&mut payload).await.unwrap();
            let (kind, flags) = (begin[3], begin[4]);
            let stream = u32::from_be_bytes(begin[5..].try_into().unwrap());
            assert_ne!(kind, GOAWAY, "{payload:?}");
            if stream == other && kind == HEADERS && flags & END_STREAM != 0 {
                break;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(60), answered).await.expect("an answer");
}
