//! Three rules at once, held to the outcomes themselves.

use std::time::Duration;

use anteroom_core::breaker::{Kept, Outcome, Rules};
use proptest::prelude::*;

use super::BOTH;
use crate::reports::{look, record};
use crate::support::TimedStore;

/// A step of a history in which three replicas with rules of their own take turns.
type Turn = (usize, bool, u64);

/// Plays it, and holds every look to the outcomes themselves: all of the window and at most those
/// of one bucket more; in a log, once it is complete, none more.
async fn play(windows: [u64; 3], kept: [Kept; 3], turns: &[Turn]) -> Result<(), TestCaseError> {
    let world = TimedStore::new().await;
    let target = world.target("t");
    let rules = [0, 1, 2].map(|at| Rules {
        window: Duration::from_millis(windows[at]),
        kept: kept[at],
        min_samples: 100_000,
        ..Rules::default()
    });
    for rules in &rules {
        look(&target, rules).await;
    }
    let shortest = *windows.iter().min().unwrap_or(&1);
    let (began, mut outcomes) = (world.now(), Vec::new());
    for (number, (who, is_success, part)) in turns.iter().enumerate() {
        // Each is in use all the time.
        world.pass(Duration::from_micros(shortest * part));
        for rules in rules.iter().cycle().skip(*who).take(3) {
            if number == 0 {
                record(&target, rules, &Outcome::of(*is_success)).await;
                outcomes.push((world.now(), *is_success));
            }
        }
        record(&target, &rules[*who], &Outcome::of(*is_success)).await;
        outcomes.push((world.now(), *is_success));
        for rules in &rules {
            let shown = look(&target, rules).await;
            let (now, window) = (world.now(), rules.window.as_micros() as u64);
            let is_whole = rules.kept == Kept::InLog && now >= began + 2 * window;
            let more = if is_whole { 0 } else { window / 20 };
            for (is_success, count) in [(true, shown.successes), (false, shown.failures)] {
                let within = |length: u64| {
                    let live =
                        outcomes.iter().filter(|(at, it)| *it == is_success && at + length > now);
                    live.count() as u64
                };
                let known = within(window)..=within(window + more);
                prop_assert!(known.contains(&count), "{count} in {rules:?}, not {known:?}");
            }
        }
    }
    Ok(())
}

#[test]
fn promise_08_three_rules_at_once_are_each_exact_to_one_bucket() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    let window = || prop_oneof![Just(60_000u64), 1_000u64..400_000];
    let kept = || prop::sample::select(BOTH.to_vec());
    let turns = prop::collection::vec((0..3usize, any::<bool>(), 0..700u64), 1..60);
    let config = ProptestConfig { cases: 40, failure_persistence: None, ..Default::default() };
    proptest!(config, |(
        windows in [window(), window(), window()],
        kept in [kept(), kept(), kept()],
        turns in turns,
    )| {
        runtime.block_on(play(windows, kept, &turns))?;
    });
}
