//! How many event streams there may be: all together, and for one address.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use anteroom_testkit::{PATIENCE, until};
use futures_util::future::join_all;

use crate::raw::Raw;
use crate::room::{ONE, PATIENT, Room, TOKEN};
use crate::shared::PROXIES;

/// A queue with a network that has no bound of its own.
pub const EXEMPT: &str = "[queues.:name]\ncapacity = 1\nexempt = [\"198.51.100.0/24\"]\n";

const EVENTS: &str = "/v1/queues/:name/token/events";

async fn open(room: &Room, token: &str, forwarded: &str) -> (u16, Raw) {
    let get = format!(
        "GET {EVENTS} HTTP/1.1\r\nhost: room\r\n{TOKEN}: {token}\r\n\
         x-forwarded-for: {forwarded}\r\n\r\n"
    );
    let mut raw = Raw::open(room).await.say(&get).await;
    let head = raw.head().await;
    let status = head.get(9..12).and_then(|status| status.parse().ok());
    (status.unwrap_or_else(|| panic!("{head:?}")), raw)
}

#[tokio::test]
async fn one_address_has_its_part_of_them_and_exempt_networks_share_all() {
    let env = [
        ("ANTEROOM_ADMISSION__SSE_MAX", "8"),
        ("ANTEROOM_ADMISSION__SSE_PER_ADDRESS", "3"),
        PROXIES,
    ];
    let room = Room::behind_own_admission(EXEMPT, &env).await;
    let mut held = Vec::new();
    for (address, statuses) in [
        ("203.0.113.7", &[200, 200, 200, 204, 204][..]),
        ("203.0.113.8", &[200]),
        ("198.51.100.1", &[200, 200, 200, 200, 204]),
    ] {
        for status in statuses {
            let token = room.join().await.token();
            let (seen, raw) = open(&room, &token, address).await;
            assert_eq!(seen, *status, "{address}, the stream number {}", held.len());
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

/// All once read the same count before any of them had raised it.
#[tokio::test]
async fn streams_that_open_at_once_do_not_exceed_the_bound() {
    let env = [
        &[("ANTEROOM_ADMISSION__SSE_MAX", "5"), ("ANTEROOM_ADMISSION__SSE_PER_ADDRESS", "0")][..],
        &PATIENT,
    ]
    .concat();
    let room = Room::start_with(ONE, &env).await;
    let mut tokens = Vec::new();
    for _ in 0..30 {
        tokens.push(room.join().await.token());
    }
    room.anteroom.deployment.redis.freeze();
    let refused = AtomicUsize::new(0);
    let opened = join_all(tokens.iter().map(async |token| {
        let (status, raw) = open(&room, token, "x").await;
        refused.fetch_add(usize::from(status == 204), Relaxed);
        (status, raw)
    }));
    let thawed = async {
        // A refusal comes at once, without Redis.
        until("all the others are refused", PATIENCE, async || refused.load(Relaxed) == 25).await;
        room.anteroom.deployment.redis.thaw();
    };
    let (opened, ()) = tokio::join!(opened, thawed);
    assert_eq!(opened.iter().filter(|(status, _)| *status == 200).count(), 5);
}
