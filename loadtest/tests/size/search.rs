//! The search against loads that take no time: what each shows is a function of it.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use anteroom_loadtest::client::Fault;
use anteroom_loadtest::load::Tally;
use anteroom_loadtest::own_limit::OwnLimit;
use anteroom_loadtest::size::Found;
use anteroom_loadtest::size::measure::{Load, Measure, Measured};
use anteroom_loadtest::size::objective::Objective;
use anteroom_loadtest::size::search::Search;
use tokio_util::sync::CancellationToken;

use crate::shown;

const LIMIT: Duration = Duration::from_millis(200);

/// A service in memory; its clock passes with the loads.
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
        total.statuses.insert(503, errors);
    }
    total.statuses.insert(200, total.requests - errors);
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
    let begun = Instant::now();
    let clock = || {
        let loads = fake.loads.lock().expect("no panic");
        begun + loads.iter().map(|load| load.warm_up + load.length).sum::<Duration>()
    };
    let within = Duration::from_secs(2_000);
    let found = search_by(&fake, most, within, Duration::from_secs(5), &clock).await;
    let loads = fake.loads.lock().expect("no panic").clone();
    (found, loads)
}

async fn search_by(
    measure: &impl Measure,
    most: f64,
    within: Duration,
    recovery: Duration,
    clock: &(dyn Fn() -> Instant + Sync),
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
        deadline: clock() + within,
        clock,
        cancelled: &CancellationToken::new(),
    };
    search.run().await.expect("a search")
}

/// Within 10 % below the truth and 5 % above, settled.
fn finds(found: &Found, truth: f64) {
    let shown = shown(found);
    let held = found.held.expect(&shown);
    assert!((0.9..=1.05).contains(&(held / truth)) && found.settled, "{truth}: {shown}");
}

#[tokio::test]
async fn a_load_that_meets_its_objectives_only_until_it_is_steady_does_not_count() {
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
async fn no_load_is_above_the_most_and_one_that_is_met_there_is_a_plan() {
    for most in [40.0, 99.0, 100.0, 101.0, 110.0] {
        let (found, loads) = search(most, |load| up_to(100.0, load)).await;
        let highest = loads.iter().map(|load| load.rate).fold(0.0, f64::max);
        assert!(highest <= most, "{highest}: {}", shown(&found));
        finds(&found, most.min(100.0));
        assert_eq!(found.remarks.iter().any(|it| it.contains("--most")), most <= 100.0);
        assert_eq!(found.stopped_by.is_none(), most <= 100.0, "{}", shown(&found));
    }
}

/// Never answers.
struct Hole;

impl Measure for Hole {
    async fn at(&self, _: &Load) -> anyhow::Result<Measured> {
        std::future::pending().await
    }
}

#[tokio::test]
async fn a_load_that_does_not_end_is_given_up_when_the_time_is_over() {
    let within = Duration::from_millis(1_100);
    let found = search_by(&Hole, 100.0, within, Duration::ZERO, &Instant::now).await;
    assert!(found.held.is_none() && shown(&found).contains("the time for the search was over"));
}

fn at_its_own_limit(measured: Measured) -> Measured {
    Measured { own_limit: OwnLimit::of_unplayed(40, 40), ..measured }
}

#[tokio::test]
async fn a_harness_at_its_own_limit_says_so_and_blames_no_service() {
    for measured in
        [at_its_own_limit(Measured::default()), Measured { unplayed: 40, ..Measured::default() }]
    {
        let (found, _) = search(100.0, |_| measured.clone()).await;
        assert!(found.held.is_none() && found.steps.is_empty(), "{}", shown(&found));
        assert!(found.own_limit.is_some() && found.within.is_none(), "{}", shown(&found));
        assert!(shown(&found).contains("no file descriptor"), "{}", shown(&found));
    }
}

#[tokio::test]
async fn a_ceiling_below_what_the_harness_can_offer_is_found() {
    let offered = |truth: f64, own: f64| {
        search(10_000.0, move |load| {
            let measured = up_to(truth, load);
            if load.rate > own { at_its_own_limit(measured) } else { measured }
        })
    };
    let (found, _) = offered(700.0, 1_000.0).await;
    finds(&found, 700.0);
    let (found, loads) = offered(1_500.0, 1_000.0).await;
    assert!(found.own_limit.is_some() && found.held.is_none(), "no plan: {}", shown(&found));
    let offered = loads.iter().filter(|load| load.rate <= 1_000.0).map(|load| load.rate);
    assert!(offered.fold(0.0, f64::max) > 800.0, "{}", shown(&found));
}

#[tokio::test]
async fn a_limit_of_the_harness_above_a_miss_by_chance_ends_the_search() {
    let offered = std::sync::atomic::AtomicUsize::new(0);
    let (found, loads) = search(10_000.0, |load| {
        let so_far = offered.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let measured = up_to(if so_far == 3 { 15.0 } else { 5_000.0 }, load);
        if load.rate > 900.0 { at_its_own_limit(measured) } else { measured }
    })
    .await;
    assert!(found.own_limit.is_some() && found.held.is_none(), "no plan: {}", shown(&found));
    let highest = loads.iter().filter(|it| it.rate <= 900.0).map(|it| it.rate).fold(0.0, f64::max);
    let times = loads.iter().filter(|it| it.rate > 0.99 * highest && it.rate <= 900.0).count();
    assert!(loads.len() < 40 && times < 4, "{}: {}", loads.len(), shown(&found));
}

#[tokio::test]
async fn the_second_after_a_load_that_was_refused_in_part_does_not_count() {
    let refused = |rate: f64| (1.0 - 60.0 / rate).max(0.0);
    let (found, loads) = search(1_000.0, |load| answers(load, LIMIT / 2, refused(load.rate))).await;
    finds(&found, 60.0);
    for pair in loads.windows(2) {
        let seconds = u64::from(pair[0].rate > 62.0);
        assert_eq!(pair[1].warm_up, Duration::from_secs(seconds), "{}", shown(&found));
    }
}

#[tokio::test]
async fn a_service_does_not_recover_only_if_the_harness_was_not_at_its_limit() {
    // After the first load above its ceiling everything is slow.
    let misses = |own: bool| {
        let above = std::sync::atomic::AtomicBool::new(false);
        search(1_000.0, move |load| {
            let was = above.fetch_or(load.rate > 50.0, std::sync::atomic::Ordering::Relaxed);
            let measured = up_to(if was { 0.0 } else { 50.0 }, load);
            if was && own { at_its_own_limit(measured) } else { measured }
        })
    };
    let (found, _) = misses(false).await;
    assert!(shown(&found).contains("the service did not recover"), "{}", shown(&found));
    assert!(found.held.is_some_and(|held| held <= 50.0) && !found.settled, "{}", shown(&found));
    let (found, _) = misses(true).await;
    assert!(!shown(&found).contains("did not recover"), "{}", shown(&found));
    assert!(found.own_limit.is_some() && !found.settled, "{}", shown(&found));
}

#[tokio::test]
async fn a_handful_of_errors_is_chance_and_many_are_not() {
    // One of the first forty requests fails, and all others are half of what is allowed.
    let (found, _) = search(1_000.0, |load| {
        let few = load.rate * load.length.as_secs_f64() < 100.0;
        let errors = if few { 0.025 } else { 0.004 };
        if load.rate <= 400.0 { answers(load, LIMIT / 2, errors) } else { up_to(400.0, load) }
    })
    .await;
    finds(&found, 400.0);
    // What fails at any load is found out, though each step is short.
    let (found, _) = search(1_000.0, |load| answers(load, LIMIT / 2, 0.05)).await;
    assert!(found.held.is_none_or(|held| held < 10.0), "{}", shown(&found));
    // The same share of many is a miss.
    let (found, _) =
        search(1_000.0, |load| answers(load, LIMIT / 2, if load.rate > 60.0 { 0.05 } else { 0.0 }))
            .await;
    finds(&found, 60.0);
}

#[tokio::test]
async fn a_stall_while_loads_double_is_corrected() {
    let offered = std::sync::atomic::AtomicUsize::new(0);
    let (found, loads) = search(10_000.0, |load| {
        let so_far = offered.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        up_to(if so_far == 3 { 15.0 } else { 800.0 }, load)
    })
    .await;
    finds(&found, 800.0);
    assert!(loads.len() < 40, "{}: {}", loads.len(), shown(&found));
}

#[tokio::test]
async fn a_queue_that_grows_is_named_and_the_objective_that_follows_too() {
    let (found, _) = search(100.0, |load| {
        let growth = if load.rate > 30.0 { 0.06 } else { 0.0 };
        Measured { growth, ..answers(load, LIMIT / 2, 0.0) }
    })
    .await;
    finds(&found, 30.0);
    assert_eq!(found.stopped_by.as_deref(), Some("p95<200ms"));
    let next = found.next_higher().expect("one");
    assert_eq!(next.verdict(), "no: the queue grows");
    let why = next.why_missed();
    assert!(why.contains("grow by 60 ms a second"), "{why}");
}

#[tokio::test]
async fn a_service_that_refuses_each_visitor_is_seen_at_the_first_load() {
    let (found, loads) = search(100.0, |load| answers(load, LIMIT / 2, 1.0)).await;
    assert!(found.refused && found.held.is_none() && loads.len() == 1, "{}", shown(&found));
    assert!(shown(&found).contains("503: 10"), "{}", shown(&found));
}

#[tokio::test]
async fn a_step_that_is_refused_to_each_visitor_is_seen_at_the_first_load() {
    let (found, loads) = search(100.0, |load| {
        let steps = [0.0, 1.0].map(|errors| answers(load, LIMIT / 2, errors).total);
        Measured { steps: steps.into(), ..answers(load, LIMIT / 2, 0.5) }
    })
    .await;
    assert!(found.refused && found.held.is_none() && loads.len() == 1, "{}", shown(&found));
    assert!(shown(&found).contains("refuses every visitor"), "{}", shown(&found));
}
