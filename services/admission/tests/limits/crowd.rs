//! Promise 7 under load: real admissions, many clients each, few keys, and all decisions compared
//! with the limit afterwards.
//!
//! `ANTEROOM_LIMIT_DECISIONS` is the number of decisions for each algorithm.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use anteroom_testkit::{Deployment, PATIENT, Redis};
use rand::Rng as _;
use tokio::task::JoinSet;

use crate::MACHINE;
use crate::limited::Limited;

const ADMISSIONS: usize = 8;
const CLIENTS: usize = 64;
const KEYS: usize = 4;
const LIMIT: u64 = 60;
const WINDOW: Duration = Duration::from_secs(1);
/// Decisions for each algorithm by default.
const DECISIONS: u64 = 4_000;

/// Units that were taken, at some time from `before` to `after`.
#[derive(Clone, Copy, Debug)]
struct Taken {
    key: usize,
    before: Duration,
    after: Duration,
    units: u64,
}

/// The most units of a key that were certainly taken within one window.
fn most_in_a_window(taken: &mut [Taken]) -> u64 {
    taken.sort_unstable_by_key(|it| it.before);
    let mut most = 0;
    for (at, first) in taken.iter().enumerate() {
        let end = first.before + WINDOW;
        let begun = taken[at..].iter().take_while(|it| it.before < end);
        most = most.max(begun.filter(|it| it.after < end).map(|it| it.units).sum());
    }
    most
}

/// Lets all clients check until there were so many decisions. Returns what was taken.
async fn crowd(clients: &[Limited], limit: &'static str, decisions: u64) -> Vec<Taken> {
    let (left, began) = (Arc::new(AtomicU64::new(decisions)), Instant::now());
    let mut checking = JoinSet::new();
    for client in clients.iter().flat_map(|client| std::iter::repeat_n(client, CLIENTS)) {
        let (client, left) = (client.clone(), left.clone());
        checking.spawn(async move {
            let mut taken = Vec::new();
            while left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_ok() {
                let (key, units) = {
                    let mut random = rand::rng();
                    let several = random.random_ratio(1, 10);
                    let units = if several { random.random_range(2..=5) } else { 1 };
                    (random.random_range(0..KEYS), units)
                };
                let before = began.elapsed();
                let decision = client.check(limit, &format!("key {key}"), units).await;
                let after = began.elapsed();
                assert!(!decision.degraded(), "{decision:?}");
                if decision.allowed() {
                    taken.push(Taken { key, before, after, units });
                }
            }
            taken
        });
    }
    checking.join_all().await.concat()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn promise_07_no_window_holds_more_through_eight_admissions() {
    let _alone = MACHINE.write().await;
    let decisions = std::env::var("ANTEROOM_LIMIT_DECISIONS");
    let decisions = decisions.map_or(DECISIONS, |text| text.parse().expect("a number"));
    let algorithms = [("log", LIMIT), ("counter", 2 * LIMIT - 1), ("gcra", 2 * LIMIT - 1)];
    let limits = algorithms.map(|(name, _)| {
        format!("[limits.{name}]\nlimit = {LIMIT}\nwindow = \"1s\"\nalgorithm = \"{name}\"\n")
    });
    let site = Deployment::new(Redis::start().await, &limits.concat(), &PATIENT);
    let mut admissions = Vec::new();
    for _ in 0..ADMISSIONS {
        admissions.push(site.admission().await);
    }
    for admission in &admissions {
        admission.until_ready().await;
    }
    let clients: Vec<_> = admissions.iter().map(Limited::of).collect();
    for (algorithm, most) in algorithms {
        let taken = crowd(&clients, algorithm, decisions).await;
        let all: u64 = taken.iter().map(|it| it.units).sum();
        let mut found = 0;
        for key in 0..KEYS {
            let mut of_key: Vec<_> = taken.iter().filter(|it| it.key == key).copied().collect();
            found = found.max(most_in_a_window(&mut of_key));
        }
        assert!(all >= LIMIT * KEYS as u64, "{algorithm}: the limit was reached");
        assert!(found <= most, "{algorithm}: {found} units in a window");
    }
}

#[test]
fn the_check_finds_what_is_certainly_too_much_and_nothing_else() {
    let taken = |from_ms: u64, to_ms: u64| Taken {
        key: 0,
        before: Duration::from_millis(from_ms),
        after: Duration::from_millis(to_ms),
        units: 1,
    };
    // The second and the fourth may be a window apart, the second and the third may not.
    for (last, most) in [(taken(990, 1_011), 2), (taken(990, 1_009), 3)] {
        let mut all = [taken(0, 5), taken(10, 20), taken(1_000, 1_009), last];
        assert_eq!(most_in_a_window(&mut all), most);
    }
}
