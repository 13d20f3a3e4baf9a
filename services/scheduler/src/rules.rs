//! The rules of the file reach the store: at the start, and when the file changed them.
//!
//! Only then: a scheduler that wrote again what it knows would undo what a newer file has set.

use std::time::Duration;

use anteroom_core::queue::{Pace, Rules};
use rand::Rng as _;

use crate::scheduled::Scheduled;
use crate::ticks::Tick;

/// The pauses before another try, half a second to a whole.
const TRY_AGAIN: (f64, f64) = (0.5, 1.0);

/// Follows the configuration until it no longer names the queue, which stops the queue, or until
/// the service is to end.
pub async fn keep(queue: &Scheduled) {
    let mut changes = queue.changes();
    let mut written = None;
    while !queue.stop.is_cancelled() {
        let config = changes.borrow_and_update().clone();
        let Some(own) = config.queues.get(queue.name()) else {
            queue.stop.cancel();
            return;
        };
        let rules = own.rules();
        let mut try_again = false;
        if written.as_ref() != Some(&rules) {
            // For a store that loses everything and is given rules by whoever comes first.
            queue.queue.set_rules(rules.clone());
            let result = queue.queue.apply_rules(&rules).await;
            queue.note("apply_rules", &result);
            match result {
                Ok(changed) => {
                    if changed {
                        tracing::info!(queue = queue.name(), "the file's rules are in force");
                    }
                    if let Some(lost) = lost_share(&rules, config.scheduler.tick) {
                        tracing::warn!(
                            queue = queue.name(),
                            lost_percent = (lost * 100.0).round(),
                            "scheduler.tick is too long for an even pace: one scheduler alone \
                             promotes less than the batch"
                        );
                    }
                    written = Some(rules);
                    queue.set_rules_written();
                }
                Err(_) => try_again = true,
            }
        }
        let pause = rand::rng().random_range(TRY_AGAIN.0..=TRY_AGAIN.1);
        tokio::select! {
            () = queue.stop.cancelled() => return,
            changed = changes.changed() => {
                if changed.is_err() {
                    // The watch on the file is over, as at the end of the service.
                    queue.stop.cancelled().await;
                }
            }
            () = tokio::time::sleep(Duration::from_secs_f64(pause)), if try_again => {}
        }
    }
}

/// The share of the batch that one scheduler alone loses because its tick is longer than a slice
/// counts.
///
/// A slice lasts at least 100 ms and at least a hundredth of the interval, and counts at most
/// twice that time, so that a scheduler that was away does not come back with a burst.
fn lost_share(rules: &Rules, tick: Duration) -> Option<f64> {
    if rules.batch.is_none() || rules.pace != Pace::Even {
        return None;
    }
    let slice = (rules.interval / 100).max(Duration::from_millis(100));
    let (least, most) = Tick::Promote.spread();
    let between = tick.mul_f64((least + most) / 2.0);
    let lost = 1.0 - (2 * slice).as_secs_f64() / between.as_secs_f64();
    (lost > 0.0).then_some(lost)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tick_longer_than_two_slices_loses_a_share() {
        let minute = Duration::from_secs(60);
        let mut rules = Rules {
            capacity: None,
            batch: Some(100),
            interval: Duration::from_secs(10),
            pace: Pace::Even,
            claim_ttl: minute,
            session_ttl: minute,
            session_max: minute,
            idle_ttl: minute,
            keep_ttl: minute,
            first_poll_ttl: minute,
            max_waiting: 1,
            joins_at: None,
            opens_at: None,
            closes_at: None,
        };
        let percent = |rules: &Rules, tick| {
            lost_share(rules, Duration::from_millis(tick)).map(|lost| (lost * 100.0).round())
        };
        assert_eq!(percent(&rules, 100), None, "the default");
        assert_eq!(percent(&rules, 1_000), Some(82.0));
        rules.interval = 10 * minute;
        assert_eq!(percent(&rules, 1_000), None, "a slice of six seconds");
        rules.interval = Duration::from_secs(10);
        rules.pace = Pace::Batch;
        assert_eq!(percent(&rules, 1_000), None);
    }
}
