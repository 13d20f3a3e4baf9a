//! What the shop can bear is what was set.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anteroom_testkit::{PATIENCE, until};
use tokio::task::JoinSet;

use crate::support::{Answer, Concert};

/// `requests` at once, each on a connection of its own.
async fn rush(concert: &Arc<Concert>, requests: usize) -> Vec<Answer> {
    let mut crowd = JoinSet::new();
    for _ in 0..requests {
        let concert = concert.clone();
        crowd.spawn(async move { concert.get("/api/shows").await });
    }
    crowd.join_all().await
}

/// The upper bound is strict; the lower one is for a machine that is busy with other things.
#[tokio::test]
async fn it_bears_workers_divided_by_think() {
    let concert = Arc::new(Concert::start(&["--workers", "2", "--think", "100ms"]).await);
    let began = Instant::now();
    for answer in rush(&concert, 60).await {
        answer.is(200);
    }
    let took = began.elapsed();
    // 60 requests at 20 a second.
    assert!(took >= Duration::from_millis(2990), "{took:?}");
    assert!(took < Duration::from_secs(6), "{took:?}");
}

#[tokio::test]
async fn beyond_the_backlog_requests_are_refused_at_once() {
    let arguments = ["--workers", "1", "--think", "500ms", "--backlog", "2"];
    let concert = Arc::new(Concert::start(&arguments).await);
    let answers = rush(&concert, 20).await;
    let (served, refused): (Vec<_>, Vec<_>) =
        answers.iter().partition(|answer| answer.status == 200);
    // Two wait, and one is worked on; on a slow machine those after the first answers get in too.
    assert!(served.len() >= 2, "{}", served.len());
    assert!(!refused.is_empty());
    for answer in refused {
        assert_eq!(answer.refuses(503, "overloaded").header("retry-after"), "1");
    }
    // Nothing is left behind.
    concert.get("/api/shows").await.is(200);
    concert.get("/readyz").await.is(200);
}

#[tokio::test]
async fn who_has_hung_up_is_not_worked_for() {
    let concert = Arc::new(Concert::start(&["--workers", "1", "--think", "200ms"]).await);
    let mut crowd = JoinSet::new();
    for _ in 0..100 {
        let concert = concert.clone();
        crowd.spawn(async move {
            let call = concert.call(reqwest::Method::GET, "/api/shows");
            let _ = call.timeout(Duration::from_millis(100)).send().await;
        });
    }
    crowd.join_all().await;
    // 100 × 200 ms of work would be 20 s.
    let began = Instant::now();
    concert.get("/api/shows").await.is(200);
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
}

#[tokio::test]
async fn what_is_worked_on_is_answered_before_it_ends() {
    let arguments = ["--workers", "1", "--think", "300ms", "--drain-delay", "100ms"];
    let mut concert = Concert::start(&arguments).await;
    let call = concert.call(reqwest::Method::POST, "/api/shows/1/seats/1/reservation");
    let reserving = tokio::spawn(Answer::of(call));
    // It is under way when its worker is taken.
    let file = rusqlite::Connection::open(concert.file()).expect("the file");
    until("the seat is taken", PATIENCE, async || {
        let count = "SELECT count(*) FROM reservations";
        file.query_row(count, [], |row| row.get(0)).is_ok_and(|count: i64| count == 1)
    })
    .await;
    concert.process.term();
    until("not ready", PATIENCE, async || concert.get("/readyz").await.status == 503).await;
    reserving.await.expect("done").is(201);
    let status = concert.process.exit(PATIENCE).await;
    assert_eq!(status.code(), Some(0), "{}", concert.process.stdout());
    assert!(concert.process.stdout().contains("\"message\":\"stopped\""));
    assert_eq!(concert.process.stderr(), "");
}
