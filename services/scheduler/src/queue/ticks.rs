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
/// Places in line that one call of the sweep looks at (`WALK` in `lua/queue/sweep.lua`).
const WALKED_BY_A_CALL: u64 = 150;

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
    let (depth, idle_ttl) = queue.line.get();
    let sweep_tick = queue.config().scheduler.sweep_tick;
    let most = most_sweeps(sweep_tick);
    let walk = walk_calls(depth, idle_ttl, sweep_tick).min(most);
    for call in 1..=most {
        let swept = queue.queue.sweep().await?;
        queue.metrics.swept(&swept);
        if (!swept.more && call >= walk) || queue.served().stop.is_cancelled() {
            break;
        }
    }
    Ok(())
}

/// Reads the gauges.
pub async fn snapshot(queue: &ScheduledQueue) -> Result<(), Error> {
    let snapshot = queue.queue.snapshot().await?;
    queue.line.set(snapshot.depth + snapshot.away, &snapshot.rules);
    queue.shared().metrics.queue.gauges.show(queue.name(), &snapshot);
    Ok(())
}

/// Calls of one sweep.
fn most_sweeps(sweep_tick: Duration) -> u32 {
    sweep_tick.mul_f64(f64::from(SWEEPS_PER_SECOND)).as_secs_f64().ceil() as u32
}

/// How many calls walk a line of this length once in a quarter of `idle_ttl`: who is away should
/// be known before long, also in a long line. Past `most_sweeps` a tick it takes longer.
fn walk_calls(depth: u64, idle_ttl: Duration, sweep_tick: Duration) -> u32 {
    let ticks = (idle_ttl / 4).as_millis() / sweep_tick.as_millis().max(1);
    let calls = u128::from(depth.div_ceil(WALKED_BY_A_CALL)).div_ceil(ticks.max(1));
    u32::try_from(calls).unwrap_or(u32::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_walked_faster() {
        let (idle_ttl, second) = (Duration::from_secs(600), Duration::from_secs(1));
        assert_eq!(walk_calls(0, idle_ttl, second), 1);
        assert_eq!(walk_calls(22_500, idle_ttl, second), 1);
        assert_eq!(walk_calls(22_501, idle_ttl, second), 2);
        assert_eq!(walk_calls(u64::MAX, idle_ttl, second), u32::MAX);
        assert_eq!(walk_calls(3_000, Duration::ZERO, second), 20, "nothing known yet");
        assert_eq!(walk_calls(0, Duration::ZERO, second), 1);
    }

    #[test]
    fn what_lapses_in_a_second_is_swept_in_one() {
        let (shortest, longest) = (Duration::from_millis(100), Duration::from_secs(5));
        assert_eq!(most_sweeps(shortest), 20);
        assert_eq!(most_sweeps(longest), 1_000);
    }

    #[test]
    fn a_call_walks_as_far_as_the_script_says() {
        let script = include_str!("../../../../lua/queue/sweep.lua");
        let line =
            format!("local ENDS, WALK, STRIDE, ABSENT, FORGETS, READS = 60, {WALKED_BY_A_CALL}, ");
        assert!(script.contains(&line), "{line}");
    }
}
