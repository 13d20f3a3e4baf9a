//! How many event streams there may be: all together, and for one address.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use anteroom_testkit::{PATIENCE, until};
use futures_util::future::join_all;

use crate::raw::Raw;
use crate::room::{Room, TOKEN};

const EVENTS: &str = "/v1/queues/concert/token/events";

async fn open(room: &Room, token: &str, forwarded: &str) -> (u16, Raw) {
    let ask = format!(
        "GET {EVENTS} HTTP/1.1\r\nhost: room\r\n{TOKEN}: {token}\r\n\
         x-forwarded-for: {forwarded}\r\n\r\n"
    );
    let mut raw = Raw::open(room).await.say(&ask).await;
    let head = raw.head().await;
    let status = head.get(9..12).and_then(|status| status.parse().ok());
    (status.unwrap_or_else(|| panic!("{head:?}")), raw)
}

#[tokio::test]
async fn one_address_has_its_part_of_them_and_exempt_networks_share_all() {
    let env = [
        ("ANTEROOM_ADMISSION__SSE_MAX", "8"),
        ("ANTEROOM_ADMISSION__SSE_PER_ADDRESS", "3"),
        ("ANTEROOM_ADMISSION__TRUSTED_PROXIES", "127.0.0.0/8"),
    ];
    let queue = "[queues.concert]\ncapacity = 1\nexempt = [\"198.51.100.0/24\"]\n";
    let room = Room::start_with(queue, &env).await;
    let mut held = Vec::new();
    for (address, statuses) in [
        ("203.0.113.7", &[200, 200, 200, 204, 204][..]),
        ("203.0.113.8", &[200]),
        ("198.51.100.1", &[200, 200, 200, 200, 204]),
    ] {
        for status in statuses {
            let token = room.join().await.token();
            let (told, raw) = open(&room, &token, address).await;
            assert_eq!(told, *status, "{address}, the stream number {}", held.len());
            held.push((address, raw));
        }
    }
    held.retain(|(address, _)| *address != "203.0.113.7");
    let token = room.join().await.token();
    until("the address has its part again", PATIENCE, async || {
        open(&room, &token, "203.0.113.7").await.0 == 200
    })
    .await;
}

/// Once all looked at the same count before any of them had raised it.
#[tokio::test]
async fn those_who_come_at_once_do_not_pass_the_bound_together() {
    let env = [
        ("ANTEROOM_ADMISSION__SSE_MAX", "5"),
        ("ANTEROOM_ADMISSION__SSE_PER_ADDRESS", "0"),
        ("ANTEROOM_STORE__COMMAND_TIMEOUT", "15s"),
        ("ANTEROOM_STORE__REQUEST_TIMEOUT", "15s"),
        ("ANTEROOM_ADMISSION__REQUEST_TIMEOUT", "15s"),
    ];
    let room = Room::start_with("[queues.concert]\ncapacity = 1\n", &env).await;
    let mut tokens = Vec::new();
    for _ in 0..30 {
        tokens.push(room.join().await.token());
    }
    room.anteroom.deployment.redis.freeze();
    let refused = AtomicUsize::new(0);
    let asked = join_all(tokens.iter().map(async |token| {
        let (status, raw) = open(&room, token, "x").await;
        refused.fetch_add(usize::from(status == 204), Relaxed);
        (status, raw)
    }));
    let thawed = async {
        // Whoever gets no stream is told so at once, without the store.
        until("all the others are refused", PATIENCE, async || refused.load(Relaxed) == 25).await;
        room.anteroom.deployment.redis.thaw();
    };
    let (told, ()) = tokio::join!(asked, thawed);
    assert_eq!(told.iter().filter(|(status, _)| *status == 200).count(), 5);
}
