//! Of limits: logs as long as they may be, half of whose units are over.

use std::time::Duration;

use anteroom_core::limit::{
    Algorithm, Answer, Call, Check, Limits, MAX_CHECKS, MAX_LOG_COST, Rule,
};
use anyhow::ensure;
use futures_util::future::join_all;

use super::{CALLS, ITEMS, SECOND, Stand, TOGETHER, on_a_thread, section};
use crate::{report::Row, sections::Sections};

/// The name for `--only`.
pub const NAME: &str = "worst-limits";
/// Units of the longest log.
const UNITS: u64 = 10_000;
const WINDOW: u64 = 60;
/// Logs share a call only if they are of one hash tag.
const GROUP: Option<&str> = Some("bench");

/// Builds each state and measures the call that meets it.
pub async fn run(sections: &Sections) -> anyhow::Result<()> {
    let rows = on_a_thread(measure).await?;
    sections.put(section(NAME, format!("The worst calls, logs of {UNITS} units"), rows));
    Ok(())
}

async fn measure() -> anyhow::Result<Vec<Row>> {
    let in_flight = 2 * TOGETHER as usize;
    let stand = Stand::new(|store, clock| Limits::open_with_clock(store, in_flight, clock)).await?;
    let limits = &stand.entity;
    let keys: Vec<_> = (0..ITEMS).map(|key| key.to_string()).collect();
    for _ in 0..2 {
        for _ in 0..UNITS / 2 / MAX_LOG_COST {
            let calls = keys.iter().map(|key| limits.check(one(key, MAX_LOG_COST)));
            for answer in join_all(calls).await {
                ensure!(matches!(answer?, Answer::Decided { allowed: true, .. }), "it is full");
            }
        }
        stand.advance((WINDOW / 2 + 1) * SECOND);
    }
    let cost = MAX_LOG_COST / MAX_CHECKS as u64;
    let checks: Vec<_> = keys[..MAX_CHECKS].iter().map(|key| check(key, cost)).collect();
    for _ in 0..CALLS {
        let call = Call::several(&checks, None).map_err(|error| anyhow::anyhow!("{error:?}"))?;
        stand.timed("limit: a check of 16 logs", limits.check(call)).await?;
    }
    for _ in 0..CALLS {
        let checks = keys.iter().map(|key| limits.check(one(key, 1)));
        stand.timed_all("limit: 64 checks, each of a log", checks).await?;
    }
    Ok(stand.rows())
}

fn check(key: &str, cost: u64) -> Check<'_> {
    let window = Duration::from_secs(WINDOW);
    let rule = Rule { algorithm: Algorithm::Log, limit: UNITS as u32, window, shadow: false };
    Check { limit: "worst", rule, key, group: GROUP, cost }
}

fn one(key: &str, cost: u64) -> Call {
    Call::one(&check(key, cost), None).expect("a log takes so many")
}
