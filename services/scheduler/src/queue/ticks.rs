//! What each tick of a queue does. Its work is bounded: a call of a script moves a bounded number
//! of places, and a tick makes a bounded number of calls.

use std::time::Duration;

use anteroom_core::store::Error;

use super::{ScheduledQueue, health};
use crate::entity::Entity as _;

/// Calls of one promotion, 100 places each: 100 000 a second at the default tick.
const PROMOTE_CALLS: u32 = 100;
/// Calls of sweeps a second: 10 000 turns lapse in it at the highest rates, and after a check-in
/// period a million places become inactive in three minutes.
const SWEEPS_PER_SECOND: u32 = 200;

/// Moves the head of the line on.
pub async fn promote(queue: &ScheduledQueue) -> Result<(), Error> {
    let (mut promoted, mut lag) = (0, Duration::ZERO);
    let health = health::read(queue).await;
    for _ in 0..PROMOTE_CALLS {
        let promotion = queue.queue.promote(&health).await?;
        queue.metrics.promoted(&promotion);
        promoted += promotion.promoted;
        lag = lag.max(promotion.lag);
        // Every call is whole in itself, so a service that is to end need not wait for the rest.
        if !promotion.more || queue.served().stop.is_cancelled() {
            break;
        }
    }
    if promoted > 0 || !lag.is_zero() {
        queue.metrics.lag.observe(lag.as_secs_f64());
    }
    Ok(())
}

/// Clears away what has ended.
pub async fn sweep(queue: &ScheduledQueue) -> Result<(), Error> {
    for _ in 0..most_sweeps(queue.config().scheduler.sweep_tick) {
        let swept = queue.queue.sweep().await?;
        queue.metrics.swept(&swept);
        if !swept.more || queue.served().stop.is_cancelled() {
            break;
        }
    }
    Ok(())
}

/// Reads the gauges.
pub async fn snapshot(queue: &ScheduledQueue) -> Result<(), Error> {
    let snapshot = queue.queue.snapshot().await?;
    queue.shared().metrics.queue.gauges.show(queue.name(), &snapshot);
    Ok(())
}

/// Calls of one sweep.
fn most_sweeps(sweep_tick: Duration) -> u32 {
    sweep_tick.mul_f64(f64::from(SWEEPS_PER_SECOND)).as_secs_f64().ceil() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lapses_in_a_second_is_swept_in_one() {
        let (shortest, longest) = (Duration::from_millis(100), Duration::from_secs(5));
        assert_eq!(most_sweeps(shortest), 20);
        assert_eq!(most_sweeps(longest), 1_000);
    }
}
