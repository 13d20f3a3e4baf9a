//! `GET …/history`: what an admission has seen of a queue.

use anteroom_testkit::{PATIENCE, until};
use reqwest::Method;
use serde_json::{Value, json};

use crate::live::Follower;
use crate::room::{PATIENT, Room, SECRETS};

const HISTORY: &str = "/v1/admin/queues/:name/history";

/// One visitor a second, who has 5 s to enter.
const QUEUE: &str =
    "[queues.:name]\nbatch = 1\ninterval = \"1s\"\nclaim_ttl = \"5s\"\nfirst_poll_ttl = \"60s\"\n";

fn sum(history: &Value, member: &str) -> u64 {
    let points = history["points"].as_array().expect("points");
    points.iter().map(|point| point[member].as_u64().expect("a number")).sum()
}

#[tokio::test]
async fn it_has_the_promotions_and_missed_turns_of_all_processes() {
    let room = Room::start_with(QUEUE, &PATIENT).await;
    let history = async || room.service(HISTORY).await.is(200).json();
    let first = history().await;
    assert_eq!((&first["queue"], &first["step_ms"]), (&json!("concert"), &json!(5_000)));
    assert_eq!((sum(&first, "admitted"), sum(&first, "missed")), (0, 0));

    // The first is promoted by its join, the others by the scheduler.
    for _ in 0..3 {
        room.join().await.is(201);
    }
    until("all are promoted", PATIENCE, async || sum(&history().await, "admitted") == 3).await;
    let seen = history().await;
    let waits = seen["points"].as_array().expect("points").iter();
    let waits: Vec<_> = waits.filter_map(|point| point["wait_p90_ms"].as_u64()).collect();
    assert!(waits.iter().any(|wait| *wait > 0), "{seen:#}");
    let live = Follower::open(&room, "").await;
    assert_eq!(live.state["queues"]["concert"]["admitted_per_minute"], 3);
    until("all turns are missed", PATIENCE, async || sum(&history().await, "missed") == 3).await;

    // Another admission has read nothing of it.
    let later = room.anteroom.deployment.admission_with(&[SECRETS]).await;
    later.until_ready().await;
    let call = room.call_at(&later.url("service"), Method::GET, HISTORY);
    let empty = call.send().await.is(200).json();
    assert_eq!((sum(&empty, "admitted"), sum(&empty, "missed")), (0, 0));
    assert!(empty["points"].as_array().expect("points").len() < 12, "{empty:#}");

    // It is kept through a reload, and goes on after a reset.
    room.reconfigure(&format!("{QUEUE}max_waiting = 7\n[queues.other]\ncapacity = 1\n"));
    until("the reload is in force", PATIENCE, async || {
        room.service("/v1/queues/other").await.status == 200
    })
    .await;
    assert_eq!(sum(&history().await, "admitted"), 3);
    room.call("service", Method::POST, "/v1/admin/queues/:name/reset").send().await.is(202);
    room.join().await.is(201);
    until("the next promotion counts", PATIENCE, async || sum(&history().await, "admitted") == 4)
        .await;
}
