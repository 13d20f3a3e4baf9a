//! The search against loads that take no time: what comes of each is a function of it.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use anteroom_loadtest::client::Fault;
use anteroom_loadtest::load::Tally;
use anteroom_loadtest::size::measure::{Load, Measure, Measured};
use anteroom_loadtest::size::objective::Objective;
use anteroom_loadtest::size::search::{Found, Search};
use tokio_util::sync::CancellationToken;

use crate::told;

const LIMIT: Duration = Duration::from_millis(200);

/// A service that is asked in memory.
struct Fake<F> {
    of: F,
    loads: Mutex<Vec<Load>>,
}

impl<F: Fn(&Load) -> Measured> Measure for Fake<F> {
    async fn at(&self, load: &Load) -> anyhow::Result<Measured> {
        self.loads.lock().expect("no panic").push(*load);
        Ok((self.of)(load))
    }
}

/// As many requests as visitors, each of this latency, of which so many fail.
fn answers(load: &Load, latency: Duration, errors: f64) -> Measured {
    let requests = (load.rate * load.length.as_secs_f64()).round().max(1.0);
    let mut total = Tally { requests: requests as u64, ..Tally::default() };
    let errors = (requests * errors).round() as u64;
    if errors > 0 {
        total.faults.insert(Fault::Status, errors);
    }
    for _ in 0..total.requests {
        total.latency.note(latency);
    }
    Measured { total, arrived: requests, ..Measured::default() }
}

/// In time up to this load.
fn up_to(most: f64, load: &Load) -> Measured {
    answers(load, if load.rate <= most { LIMIT / 2 } else { LIMIT * 2 }, 0.0)
}

async fn search<F: Fn(&Load) -> Measured>(most: f64, of: F) -> (Found, Vec<Load>) {
    let fake = Fake { of, loads: Mutex::default() };
    let found = search_by(&fake, most, Duration::from_secs(10_000), Duration::ZERO).await;
    let loads = fake.loads.lock().expect("no panic").clone();
    (found, loads)
}

async fn search_by(
    measure: &impl Measure,
    most: f64,
    within: Duration,
    recovery: Duration,
) -> Found {
    let objectives: Vec<Objective> =
        ["p95<200ms", "errors<1%"].map(|text| text.parse().expect("an objective")).into();
    let search = Search {
        measure,
        objectives: &objectives,
        from: 10.0,
        most,
        step: Duration::from_secs(4),
        recovery,
        deadline: Instant::now() + within,
        cancelled: &CancellationToken::new(),
    };
    search.run().await.expect("a search")
}

/// Within 5 % of the truth, three runs of which agree.
fn finds(found: &Found, truth: f64) {
    let told = told(found);
    let held = found.held.expect(&told);
    assert!((held / truth - 1.0).abs() <= 0.05 && found.agree, "{truth}: {told}");
}

#[tokio::test]
async fn a_load_that_holds_only_until_it_is_steady_is_not_held() {
    let steady_after = Duration::from_secs(15);
    let (found, _) = search(400.0, |load| {
        let steady = load.warm_up >= steady_after;
        let measured = up_to(if steady { 25.0 } else { 40.0 }, load);
        Measured { steady_after: steady_after.max(load.warm_up), ..measured }
    })
    .await;
    finds(&found, 25.0);
    assert_eq!(found.warm_up, steady_after);
}

#[tokio::test]
async fn no_load_is_above_the_most() {
    for most in [40.0, 99.0, 100.0, 101.0] {
        let (found, loads) = search(most, |load| up_to(97.0, load)).await;
        let highest = loads.iter().map(|load| load.rate).fold(0.0, f64::max);
        assert!(highest <= most, "{highest}: {}", told(&found));
        assert!(found.held.is_some_and(|held| held <= 97.0), "{}", told(&found));
    }
}

/// Nobody ever answers.
struct Hole;

impl Measure for Hole {
    async fn at(&self, _: &Load) -> anyhow::Result<Measured> {
        std::future::pending().await
    }
}

#[tokio::test]
async fn a_load_that_does_not_end_is_given_up_when_the_time_is_over() {
    let begun = Instant::now();
    let within = Duration::from_millis(4_200);
    let found = search_by(&Hole, 100.0, within, Duration::ZERO).await;
    assert!(begun.elapsed() < within + Duration::from_secs(5), "{:?}", begun.elapsed());
    assert!(found.held.is_none() && told(&found).contains("the time for the search was over"));
}

#[tokio::test]
async fn a_program_without_connections_says_so_and_blames_no_service() {
    let (found, _) = search(100.0, |_| Measured { unplayed: 40, ..Measured::default() }).await;
    assert!(found.held.is_none() && found.steps.is_empty(), "{}", told(&found));
    assert!(told(&found).contains("no file descriptor"), "{}", told(&found));
}

#[tokio::test]
async fn whoever_may_take_no_time_to_recover_is_looked_at_once() {
    let (found, _) = search(100.0, |load| up_to(30.0, load)).await;
    finds(&found, 30.0);
}

#[tokio::test]
async fn a_handful_of_errors_is_chance_and_many_are_not() {
    // One of the first forty requests fails, and whatever else would be half of what is allowed.
    let (found, _) = search(1_000.0, |load| {
        let few = load.rate * load.length.as_secs_f64() < 100.0;
        let errors = if few { 0.025 } else { 0.004 };
        if load.rate <= 400.0 { answers(load, LIMIT / 2, errors) } else { up_to(400.0, load) }
    })
    .await;
    finds(&found, 400.0);
    // What fails at any load is found out, though each step is short.
    let (found, _) = search(1_000.0, |load| answers(load, LIMIT / 2, 0.025)).await;
    assert!(found.held.is_none_or(|held| held < 10.0), "{}", told(&found));
    // The same share of many is a miss.
    let (found, _) = search(1_000.0, |load| {
        answers(load, LIMIT / 2, if load.rate > 60.0 { 0.025 } else { 0.0 })
    })
    .await;
    finds(&found, 60.0);
}

#[tokio::test]
async fn runs_after_one_that_found_far_too_little_take_longer_strides() {
    let offered = std::sync::atomic::AtomicUsize::new(0);
    let (found, loads) = search(10_000.0, |load| {
        let so_far = offered.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        up_to(if so_far < 12 { 15.0 } else { 800.0 }, load)
    })
    .await;
    finds(&found, 800.0);
    assert!(loads.len() < 80, "{}: {}", loads.len(), told(&found));
}

#[tokio::test]
async fn a_line_that_grows_is_named_and_the_objective_that_follows_too() {
    let (found, _) = search(100.0, |load| {
        let growth = if load.rate > 30.0 { 0.06 } else { 0.0 };
        Measured { growth, ..answers(load, LIMIT / 2, 0.0) }
    })
    .await;
    finds(&found, 30.0);
    assert_eq!(found.stopped_by.as_deref(), Some("p95<200ms"));
    let next = found.next_higher().expect("one");
    assert_eq!(next.verdict(), "no: the line grows");
    let why = next.why_missed();
    assert!(why.contains("grow by 60 ms a second (50 or more"), "{why}");
}

#[tokio::test]
async fn a_burst_is_not_what_a_service_bears() {
    let truth = 100.0;
    // Refuses what is beyond its rate, after the burst.
    let bucket = |burst: f64| {
        move |load: &Load| {
            let all = load.rate * load.length.as_secs_f64();
            let passed = all.min(truth * load.length.as_secs_f64() + burst);
            answers(load, LIMIT / 2, 1.0 - passed / all)
        }
    };
    let (found, _) = search(10_000.0, |load| {
        let growth = (load.rate / truth - 1.0).max(0.0);
        let collapses = growth * load.length.as_secs_f64() > 0.3;
        let latency = if collapses { 5 * LIMIT } else { LIMIT / 2 };
        Measured { growth, ..answers(load, latency, if collapses { 0.5 } else { 0.0 }) }
    })
    .await;
    finds(&found, truth);
    for burst in [0.0, 50.0, 100.0] {
        let (found, _) = search(10_000.0, bucket(burst)).await;
        let held = found.held.expect("one");
        assert!((held / truth - 1.0).abs() <= 0.07 && found.agree, "{burst}: {}", told(&found));
        assert_eq!(found.lasts, Some(true), "{burst}: {}", told(&found));
        assert_eq!(told(&found).contains("bears bursts"), burst > 0.0, "{}", told(&found));
        assert_eq!(found.stopped_by.as_deref(), Some("errors<1%"));
    }
}
