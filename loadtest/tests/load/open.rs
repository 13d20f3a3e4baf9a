//! The open model.

use std::sync::Arc;
use std::time::Duration;

use anteroom_loadtest::client::{Fault, Route, Sources, Target};
use anteroom_loadtest::load::Measurement;
use anteroom_loadtest::load::open::{Arrivals, Open, run};
use anteroom_loadtest::scenario::Scenario;
use anteroom_loadtest::share::Share;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::ramp::ONE;
use super::service::Service;

async fn route(url: &str) -> Arc<Route> {
    let target = Target::parse(url).unwrap();
    target.reach(Sources::default(), Duration::from_secs(5)).await.unwrap()
}

async fn play(scenario: &str, url: &str, change: impl FnOnce(&mut Open)) -> Measurement {
    play_at(scenario, &route(url).await, change).await
}

async fn play_at(
    scenario: &str,
    route: &Arc<Route>,
    change: impl FnOnce(&mut Open),
) -> Measurement {
    let scenario = Arc::new(Scenario::parse(scenario, "test.toml").unwrap());
    let mut open = Open {
        rate: 50.0,
        arrivals: Arrivals::Even,
        length: Duration::from_secs(2),
        warm_up: Duration::ZERO,
        max_in_flight: 10_000,
        share: Share::WHOLE,
        timeout: Duration::from_secs(20),
    };
    change(&mut open);
    run(&scenario, route, &open, &CancellationToken::new()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn visitors_arrive_at_the_rate_each_with_a_connection() {
    let service = Service::start(|_| async { (200, String::new()) }).await;
    let two = "[[steps]]\npath = '/a'\n[[steps]]\npath = '/b'\nthink = '10ms'";
    let measured = play(two, &service.url(), |_| {}).await;
    assert_eq!(measured.visits_begun, 100);
    assert_eq!(measured.whole.total.statuses.iter().collect::<Vec<_>>(), [(&200, &200)]);
    assert_eq!(measured.whole.visits.count(), 100);
    assert_eq!(measured.whole.total.retry_factor(), 1.0);
    // One more looked whether the service answers.
    assert_eq!(service.connections(), 101);
    let counted: u64 = measured.seconds.over().iter().map(|second| second.requests).sum();
    assert_eq!(counted, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn batches_come_at_once_and_a_warm_up_is_not_looked_at() {
    let service = Service::start(|_| async { (200, String::new()) }).await;
    let batches = |open: &mut Open| {
        open.arrivals = Arrivals::Batches(Duration::from_millis(500));
        open.warm_up = Duration::from_secs(1);
    };
    let measured = play(ONE, &service.url(), batches).await;
    assert_eq!((measured.visits_begun, measured.whole.total.requests), (100, 100));
    assert_eq!(measured.window.total.requests, 50);
    // Those of 1 s are of the first third, those of 1.5 s of the second.
    let [first, last] = &measured.thirds[0];
    assert_eq!((first.count(), last.count()), (25, 0));
}

/// Of a Poisson process the count has a standard deviation of the root of its mean: 1 000 ± 32.
#[tokio::test(flavor = "multi_thread")]
async fn arrivals_of_chance_have_the_rate_on_average() {
    let service = Service::start(|_| async { (200, String::new()) }).await;
    let poisson = |open: &mut Open| {
        (open.rate, open.arrivals) = (125.0, Arrivals::Poisson);
        open.length = Duration::from_secs(8);
    };
    let measured = play(ONE, &service.url(), poisson).await;
    assert!((840..1_160).contains(&measured.visits_begun), "{}", measured.visits_begun);
    // By chance eight seconds in a row are as even once in a million times.
    let seconds: Vec<_> =
        measured.seconds.over().iter().take(8).map(|second| second.requests).collect();
    assert!(seconds.iter().any(|requests| requests.abs_diff(125) > 2), "{seconds:?}");
}

/// One worker of 50 ms bears 20 a second; 40 arrive for 2 s, so the last waits for 2 s.
#[tokio::test(flavor = "multi_thread")]
async fn a_latency_counts_from_when_the_visitor_was_due() {
    let worker = Arc::new(Semaphore::new(1));
    let service = Service::start(move |_| {
        let worker = Arc::clone(&worker);
        async move {
            let _permit = worker.acquire().await;
            tokio::time::sleep(Duration::from_millis(50)).await;
            (200, String::new())
        }
    })
    .await;
    let measured = play(ONE, &service.url(), |open| open.rate = 40.0).await;
    let latency = &measured.window.total.latency;
    // Also of those who were answered after the last had arrived.
    assert_eq!((measured.visits_begun, latency.count()), (80, 80));
    assert!(latency.quantile(0.5) > Duration::from_millis(700), "{:?}", latency.quantile(0.5));
    assert!(latency.max() > Duration::from_millis(1_700), "{:?}", latency.max());
    let tps = measured.window.tps();
    assert!((10.0..21.0).contains(&tps), "{tps}");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_arrives_past_the_bound_is_counted() {
    let service = Service::slow(Duration::from_secs(4), 200).await;
    let measured = play(ONE, &service.url(), |open| open.max_in_flight = 5).await;
    assert_eq!((measured.visits_begun, measured.visits_not_begun), (5, 95));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_goes_wrong_is_counted_by_kind() {
    let only = |measured: &Measurement, fault: Fault| {
        let total = &measured.whole.total;
        assert!(!total.statuses.contains_key(&0));
        assert_eq!(total.faults.keys().collect::<Vec<_>>(), [&fault]);
        assert_eq!(total.errors(), total.requests);
        assert_eq!(total.completed, 0);
        assert_eq!(measured.whole.visits_failed, measured.visits_begun);
    };
    let short = |open: &mut Open| {
        open.length = Duration::from_millis(200);
        open.timeout = Duration::from_millis(300);
    };

    let free = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let gone = route(&format!("http://{}", free.local_addr().unwrap())).await;
    drop(free);
    only(&play_at(ONE, &gone, short).await, Fault::Connect);

    let service = Service::start(|_| async { (503, String::new()) }).await;
    only(&play(ONE, &service.url(), short).await, Fault::Status);
    let again = format!("{ONE}\nretry_on = [503]\nretry_max = 1");
    let measured = play(&again, &service.url(), short).await;
    assert_eq!(measured.whole.total.faults[&Fault::Retries], measured.visits_begun);
    assert_eq!(measured.whole.total.retry_factor(), 2.0);
    let value = format!("{ONE}\nexpect = [503]\ncapture.a = {{ json = '/a' }}");
    only(&play(&value, &service.url(), short).await, Fault::Value);

    let service = Service::slow(Duration::from_secs(5), 200).await;
    let measured = play(ONE, &service.url(), short).await;
    only(&measured, Fault::Timeout);
    // Also those that ended after the last had arrived.
    assert_eq!(measured.window.total.faults[&Fault::Timeout], measured.visits_begun);
    // It has waited for so long, at least.
    assert!(measured.window.total.latency.quantile(0.5) >= Duration::from_millis(299));

    let broken = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", broken.local_addr().unwrap());
    let task = tokio::spawn(async move {
        loop {
            let (mut stream, _) = broken.accept().await.unwrap();
            stream.readable().await.unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhal").await.unwrap();
        }
    });
    only(&play(ONE, &url, short).await, Fault::Broken);
    task.abort();
}
