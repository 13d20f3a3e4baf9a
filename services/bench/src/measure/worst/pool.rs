//! Of a pool with a million holds.

use std::time::Duration;

use anteroom_core::pool::{
    AmountRequest, Answer, Hold, HoldId, LedgerFrom, MAX_LINES, Pool, Rules,
};
use anteroom_core::rules::Amount;
use anyhow::{Context as _, bail, ensure};
use futures_util::future::join_all;

use super::{CALLS, SECOND, Stand, on_a_thread, section};
use crate::{progress::say, report::Row, sections::Sections, settings::Settings};

fn units(amount: u64) -> anyhow::Result<Amount> {
    Amount::new(amount).context("an amount")
}

/// The name for `--only`.
pub const NAME: &str = "worst-pools";
const HOLDS: u64 = 1_000_000;
/// Items of full calls.
const ITEMS_OF_HOLD: usize = 16;
const ITEMS_OF_DRAW: usize = 32;
/// Ended holds that a call takes back, and lines that it sums up.
const SWEPT: u64 = 50;
/// The longest between two ticks that counts.
const A_TICK: u64 = 5;
const MINUTE: u64 = 60;

/// Builds each state and measures the call that meets it.
pub async fn run(settings: &Settings, sections: &Sections) -> anyhow::Result<()> {
    let holds = settings.scaled(HOLDS).max(80_000);
    let rows = on_a_thread(move || measure(holds)).await?;
    sections.put(section(NAME, format!("The worst calls, {holds} holds"), rows));
    Ok(())
}

async fn measure(holds: u64) -> anyhow::Result<Vec<Row>> {
    let ledger_keep = Duration::from_secs(MINUTE * MINUTE);
    let rules = Rules { funds: Some(1_000_000_000_000), ledger_keep, ..Rules::default() };
    let mut safe = Stand::new(|store, clock| {
        Pool::open_with_clock(store, "worst", rules.clone(), 100_000, clock)
    })
    .await?;
    safe.entity.apply_rules(&rules).await?;
    say(&format!("worst: {holds} holds"));
    let held = safe.fill(holds).await?;
    safe.full_calls("").await?;

    let pool = &safe.entity;
    for call in 0..CALLS {
        let one = |n: usize| held[(CALLS * n + call) * 7_919 % held.len()];
        safe.timed("settle", pool.settle(one(0), units(3)?)).await?;
        safe.timed("extend", pool.extend(one(1))).await?;
        safe.timed("look", pool.look(one(2))).await?;
        safe.timed("cancel", pool.cancel(one(3))).await?;
        safe.timed("fund", pool.fund(units(5)?, &format!("funds {call}"))).await?;
        safe.timed("snapshot", pool.snapshot()).await?;
    }
    for call in 0..CALLS as u64 {
        let page = pool.ledger(LedgerFrom::After(call * holds / (CALLS as u64 + 1)), MAX_LINES);
        let page = safe.timed("ledger: a page of 200", page).await?;
        ensure!(page.lines.len() as u64 == MAX_LINES, "a full page");
    }
    for _ in 0..CALLS {
        safe.reset().await;
        ensure!(pool.audit().await?.holds(), "the ledger shows other sums");
        safe.add("audit: mean of all calls", safe.redis.evalsha_calls().await).await?;
    }

    // All holds end, and few of them are taken back.
    safe.time_passes(MINUTE + A_TICK).await?;
    safe.sweeps("sweep: 50 ended holds", 0).await?;
    safe.full_calls(", 50 ended holds first").await?;
    // By then the oldest lines are to be summed up.
    safe.time_passes(MINUTE * MINUTE).await?;
    safe.sweeps("sweep: 50 lines summed up, and ended holds", SWEPT).await?;
    Ok(safe.rows())
}

/// A name for a call.
fn name(n: u64) -> String {
    format!("a call of the benchmark {n}")
}

impl Stand<Pool> {
    async fn fill(&mut self, holds: u64) -> anyhow::Result<Vec<HoldId>> {
        let mut held = Vec::new();
        while self.made < holds {
            let names: Vec<_> = self.next(holds).map(name).collect();
            let payment = AmountRequest::Amount(units(7)?);
            let calls = names.iter().map(|name| self.entity.hold(&payment, name));
            for hold in join_all(calls).await {
                match hold? {
                    Answer::Done(Hold { id, .. }) => held.push(id),
                    other => bail!("a hold: {other:?}"),
                }
            }
        }
        Ok(held)
    }

    /// Full calls of holds and of draws.
    async fn full_calls(&mut self, state: &str) -> anyhow::Result<()> {
        let payment = AmountRequest::Amount(units(7)?);
        for _ in 0..CALLS {
            let end = self.made + (ITEMS_OF_HOLD + ITEMS_OF_DRAW) as u64;
            let names: Vec<_> = self.next(end).map(name).collect();
            let (held, drawn) = names.split_at(ITEMS_OF_HOLD);
            let holds = held.iter().map(|it| self.entity.hold(&payment, it));
            self.timed_all(&format!("hold: {ITEMS_OF_HOLD}{state}"), holds).await?;
            let draws = drawn.iter().map(|it| self.entity.draw(&payment, it));
            self.timed_all(&format!("draw: {ITEMS_OF_DRAW}{state}"), draws).await?;
        }
        Ok(())
    }

    async fn time_passes(&self, seconds: u64) -> anyhow::Result<()> {
        for _ in 0..seconds / A_TICK {
            self.advance(A_TICK * SECOND);
            self.entity.sweep().await?;
        }
        Ok(())
    }

    /// Ticks, each of which takes back as much as it may.
    async fn sweeps(&self, row: &str, summed: u64) -> anyhow::Result<()> {
        for _ in 0..CALLS {
            let swept = self.timed(row, self.entity.sweep()).await?;
            ensure!((swept.expired, swept.summed) == (SWEPT, summed), "a full tick: {swept:?}");
        }
        Ok(())
    }
}
