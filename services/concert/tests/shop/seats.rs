//! A seat has one holder, who was first, whatever happens to the process.

use std::collections::BTreeSet;
use std::sync::Arc;

use anteroom_testkit::{PATIENCE, until};
use futures_util::future::join_all;
use rusqlite::Connection;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::support::{Concert, Reserved as _};

/// No waiting but for the database.
const QUICK: [&str; 4] = ["--think", "0s", "--workers", "16"];

#[tokio::test]
async fn of_hundreds_who_want_a_seat_one_gets_it_and_the_others_are_refused() {
    let rounds = 4;
    let concert = Arc::new(Concert::start(&QUICK).await);
    for seat in 1..=rounds {
        let mut crowd = JoinSet::new();
        for _ in 0..100 {
            let concert = concert.clone();
            crowd.spawn(async move { concert.reserve(seat).await });
        }
        let answers = crowd.join_all().await;
        let (won, lost): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.status == 201);
        assert_eq!(won.len(), 1);
        for answer in lost {
            answer.refuses(409, "seat_taken");
        }
    }
}

#[tokio::test]
async fn a_rush_on_a_few_seats_sells_each_of_them_once() {
    let hall = [&QUICK[..], &["--shows", "1", "--rows", "3", "--seats", "4"]].concat();
    let concert = Arc::new(Concert::start(&hall).await);
    let seats = 12;
    let mut crowd = JoinSet::new();
    for visitor in 0..300 {
        let concert = concert.clone();
        crowd.spawn(async move {
            // From another seat each, until one is theirs or all are gone; and half of them pay
            // twice.
            for step in 0..seats {
                let seat = 1 + (visitor + step) % seats;
                let answer = concert.reserve(seat).await;
                if answer.status == 201 {
                    let id = answer.reservation();
                    for _ in 0..1 + visitor % 2 {
                        assert_eq!(concert.pay(&id).await.is(200).json()["state"], "sold");
                    }
                    return Some((seat, id));
                }
                answer.refuses(409, "seat_taken");
            }
            None
        });
    }
    let sold: Vec<(i64, String)> = crowd.join_all().await.into_iter().flatten().collect();
    let distinct: BTreeSet<i64> = sold.iter().map(|(seat, _)| *seat).collect();
    assert_eq!((sold.len(), distinct.len()), (12, 12));
    let shows = concert.get("/api/shows").await.is(200).json();
    assert_eq!((&shows["shows"][0]["seats"], &shows["shows"][0]["free"]), (&12.into(), &0.into()));
    let left = concert.get("/api/shows/1/seats?state=free").await.is(200).json();
    assert_eq!(left["seats"].as_array().map(Vec::len), Some(0));
}

#[tokio::test]
async fn a_reservation_that_is_not_paid_lapses_and_the_seat_is_free_again() {
    let concert = Concert::start(&["--think", "0s", "--hold", "1s"]).await;
    let first = concert.reserve(1).await;
    let answer = first.is(201).json();
    let left = answer["expires_in_ms"].as_u64().expect("milliseconds");
    assert!((1..=1000).contains(&left), "{answer}");
    let id = first.reservation();
    assert_eq!(first.header("location"), format!("/api/reservations/{id}"));
    let look = async || concert.get(&format!("/api/reservations/{id}")).await;
    until("it lapses", PATIENCE, async || look().await.is(200).json()["state"] == "lapsed").await;
    assert_eq!(concert.state(1).await, "free");
    concert.pay(&id).await.refuses(410, "reservation_lapsed");

    let second = concert.reserve(1).await.is(201).reservation();
    concert.pay(&second).await.is(200);
    assert_eq!(concert.state(1).await, "sold");
    look().await.refuses(404, "unknown_reservation");
    concert.pay(&id).await.refuses(404, "unknown_reservation");
    // What is sold stays sold, when what was reserved later has lapsed.
    concert.reserve(2).await.is(201);
    until("it lapses", PATIENCE, async || concert.state(2).await == "free").await;
    concert.reserve(1).await.refuses(409, "seat_taken");
}

#[tokio::test]
async fn what_was_answered_as_sold_is_sold_after_a_kill() {
    let hall = [&QUICK[..], &["--rows", "20", "--seats", "20"]].concat();
    let concert = Concert::start(&hall).await;
    let (answered, mut hears) = mpsc::unbounded_channel();
    let mut crowd = JoinSet::new();
    for visitor in 0..8_i64 {
        let (answered, client, url) =
            (answered.clone(), crate::support::client(), concert.url.clone());
        crowd.spawn(async move {
            let post = async |path: String| client.post(format!("{url}{path}")).send().await;
            for seat in (1 + visitor..=400).step_by(8) {
                // From the kill on nothing answers.
                let reserve = post(format!("/api/shows/1/seats/{seat}/reservation"));
                let Ok(reserved) = reserve.await else { return };
                // A disk that is busy for too long is no sale.
                if reserved.status() == 503 {
                    continue;
                }
                let Ok(reserved) = reserved.json::<serde_json::Value>().await else { return };
                let id = reserved["reservation"].as_str().expect("an id").to_owned();
                let Ok(paid) = post(format!("/api/reservations/{id}/payment")).await else {
                    return;
                };
                if paid.status() == 503 {
                    continue;
                }
                assert_eq!(paid.status(), 200);
                let _ = answered.send((seat, id));
            }
        });
    }
    drop(answered);
    let mut sold = Vec::new();
    while sold.len() < 40 {
        sold.push(hears.recv().await.expect("there are 400 seats"));
    }
    let concert = concert.killed_and_started_again().await;
    crowd.join_all().await;
    while let Some(more) = hears.recv().await {
        sold.push(more);
    }
    for (seat, id) in &sold {
        let found = concert.get(&format!("/api/reservations/{id}")).await.is(200).json();
        assert_eq!((&found["state"], &found["seat"]["id"]), (&"sold".into(), &(*seat).into()));
        concert.reserve(*seat).await.refuses(409, "seat_taken");
    }
}

#[tokio::test]
async fn a_database_that_another_program_locks_refuses_and_recovers() {
    let concert = Concert::start(&["--think", "0s"]).await;
    let other = Connection::open(concert.file()).expect("the file");
    other.execute_batch("BEGIN IMMEDIATE").expect("the lock");
    let busy = concert.reserve(1).await;
    assert_eq!(busy.refuses(503, "database_busy").header("retry-after"), "1");
    assert_eq!(concert.state(1).await, "free", "readers do not wait");
    other.execute_batch("COMMIT").expect("let go");
    concert.reserve(1).await.is(201);
}

/// A second is a second for all who write, not one for each of them.
#[tokio::test]
async fn a_call_behind_others_for_a_locked_database_waits_no_longer_than_they() {
    let concert = Concert::start(&["--think", "0s", "--workers", "60"]).await;
    let other = Connection::open(concert.file()).expect("the file");
    other.execute_batch("BEGIN IMMEDIATE").expect("the lock");
    let writes = join_all((1..=60).map(|seat| concert.reserve(seat)));
    for busy in timeout(PATIENCE, writes).await.expect("all at once") {
        busy.refuses(503, "database_busy");
    }
}

#[tokio::test]
async fn seats_and_shows_that_are_none_are_named() {
    let concert = Concert::start(&["--think", "0s"]).await;
    for (path, code) in [
        ("/api/shows/1/seats/0/reservation", "unknown_seat"),
        ("/api/shows/2/seats/1/reservation", "unknown_seat"),
        ("/api/shows/9/seats/1/reservation", "unknown_seat"),
        ("/api/shows/1/seats/x/reservation", "unknown_seat"),
        ("/api/reservations/none/payment", "unknown_reservation"),
    ] {
        concert.post(path).await.refuses(404, code);
    }
    concert.get("/api/shows/9/seats").await.refuses(404, "unknown_show");
    concert.get("/api/shows/x/seats").await.refuses(404, "unknown_show");
    concert.get("/api/reservations/none").await.refuses(404, "unknown_reservation");
    concert.get("/api/shows/1/seats?state=gold").await.refuses(400, "bad_request");
}
