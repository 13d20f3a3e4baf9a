//! Streams that are kept for as long as they are: half of the connections are left to those who
//! only ask.

use std::net::{IpAddr, Ipv4Addr};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

use crate::siege::Siege;

/// What admission may open here; its public port takes 84 connections then, and so 42 streams.
const DESCRIPTORS: u32 = 256;
const STREAMS: usize = 42;
const PLACES: u8 = 168;

/// Asks for a stream from this address of the loopback network; `None` when there is no more.
async fn stream(siege: &Siege, token: &str, from: Ipv4Addr) -> Option<TcpStream> {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.bind((IpAddr::V4(from), 0).into()).expect("a loopback address");
    let address = siege.address().parse().expect("an address");
    let mut stream = socket.connect(address).await.expect("a connection");
    let ask = format!(
        "GET /v1/queues/concert/token/events HTTP/1.1\r\nhost: room\r\n\
         x-anteroom-token: {token}\r\n\r\n"
    );
    stream.write_all(ask.as_bytes()).await.expect("taken");
    let mut status = [0; 12];
    stream.read_exact(&mut status).await.expect("an answer");
    match &status {
        b"HTTP/1.1 200" => Some(stream),
        b"HTTP/1.1 204" => None,
        other => panic!("{}", String::from_utf8_lossy(other)),
    }
}

#[tokio::test]
async fn the_streams_of_many_places_leave_room_for_the_gate() {
    let siege = Siege::new(DESCRIPTORS).await;
    let mut held = Vec::new();
    for place in 0..PLACES {
        let token = siege.admission.join("concert").await;
        let from = Ipv4Addr::new(127, 0, 1, place);
        for _ in 0..2 {
            held.extend(stream(&siege, &token, from).await);
        }
    }
    assert_eq!(held.len(), STREAMS);
    siege.visitors(50).await;
    assert_eq!(siege.admission.metric("anteroom_connections_refused_total").await, Some(0.0));
    siege.end("streams").await;
}

#[tokio::test]
async fn one_address_has_a_quarter_of_them() {
    let siege = Siege::new(DESCRIPTORS).await;
    let mut held = Vec::new();
    for _ in 0..STREAMS {
        let token = siege.admission.join("concert").await;
        held.extend(stream(&siege, &token, Ipv4Addr::LOCALHOST).await);
    }
    assert_eq!(held.len(), STREAMS / 4);
    let token = siege.admission.join("concert").await;
    assert!(
        stream(&siege, &token, Ipv4Addr::new(127, 0, 1, 1)).await.is_some(),
        "others have more"
    );
    siege.visitors(1).await;
    siege.end("streams of one address").await;
}
