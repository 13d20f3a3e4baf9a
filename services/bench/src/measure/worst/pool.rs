//! Of a pool with a million holds.

use std::{ops::Deref, sync::atomic::Ordering, time::Duration};

use anteroom_core::pool::{AmountRequest, Answer, Hold, HoldId, MAX_LINES, Pool, Rules};
use anteroom_core::rules::Amount;
use anyhow::{Context as _, bail, ensure};
use futures_util::future::join_all;

use super::{CALLS, Rows, SECOND, Stand, TOGETHER, on_a_thread};
use crate::{progress::say, sections::Sections, settings::Settings};

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
    sections.put(rows.section(NAME, &format!("The worst calls, {holds} holds")));
    Ok(())
}

/// A pool on a stand.
struct Safe {
    stand: Stand,
    pool: Pool,
    named: u64,
}

impl Deref for Safe {
    type Target = Stand;

    fn deref(&self) -> &Stand {
        &self.stand
    }
}

async fn measure(holds: u64) -> anyhow::Result<Rows> {
    let mut safe = Safe::new().await?;
    let mut rows = Rows::default();
    say(&format!("worst: {holds} holds"));
    let held = safe.fill(holds).await?;
    safe.calls("", &mut rows).await?;

    let mut times: [Vec<f64>; 6] = Default::default();
    for call in 0..CALLS {
        let one = |n: usize| held[(CALLS * n + call) * 7_919 % held.len()];
        times[0].push(safe.timed(safe.pool.settle(one(0), units(3)?)).await?.1);
        times[1].push(safe.timed(safe.pool.extend(one(1))).await?.1);
        times[2].push(safe.timed(safe.pool.look(one(2))).await?.1);
        times[3].push(safe.timed(safe.pool.cancel(one(3))).await?.1);
        times[4].push(safe.timed(safe.pool.fund(units(5)?, &format!("funds {call}"))).await?.1);
        times[5].push(safe.timed(safe.pool.snapshot()).await?.1);
    }
    let names = ["settle", "extend", "look", "cancel", "fund", "snapshot"];
    for (name, times) in names.into_iter().zip(times) {
        rows.add(name, times);
    }
    let (mut pages, mut audits) = (Vec::new(), Vec::new());
    for call in 0..CALLS as u64 {
        let (page, time) =
            safe.timed(safe.pool.ledger(call * holds / (CALLS as u64 + 1), MAX_LINES)).await?;
        ensure!(page.lines.len() as u64 == MAX_LINES, "a full page");
        pages.push(time);
        safe.redis.run::<()>(&["CONFIG", "RESETSTAT"]).await;
        ensure!(safe.pool.audit().await?.holds(), "the ledger says something else");
        audits.push(safe.call_us("evalsha").await?);
    }
    rows.add("ledger: a page of 200", pages);
    rows.add("audit: mean of all calls", audits);

    // All holds end, and few of them are taken back.
    safe.time_passes(MINUTE + A_TICK).await?;
    rows.add("sweep: 50 ended holds", safe.sweeps(0).await?);
    safe.calls(", 50 ended holds first", &mut rows).await?;
    // By then the oldest lines are to be summed up.
    safe.time_passes(MINUTE * MINUTE).await?;
    rows.add("sweep: 50 lines summed up, and ended holds", safe.sweeps(SWEPT).await?);
    Ok(rows)
}

impl Safe {
    async fn new() -> anyhow::Result<Self> {
        let stand = Stand::new().await?;
        let ledger_keep = Duration::from_secs(MINUTE * MINUTE);
        let rules = Rules { funds: Some(1_000_000_000_000), ledger_keep, ..Rules::default() };
        let pool =
            Pool::open_with_clock(&stand.store, "worst", rules.clone(), 100_000, stand.given());
        pool.apply_rules(&rules).await?;
        Ok(Self { stand, pool, named: 0 })
    }

    /// So many names for calls that there were not before.
    fn names(&mut self, count: u64) -> Vec<String> {
        let names = self.named..self.named + count;
        self.named = names.end;
        names.map(|n| format!("a call of the benchmark {n}")).collect()
    }

    async fn fill(&mut self, holds: u64) -> anyhow::Result<Vec<HoldId>> {
        let mut held = Vec::new();
        while (held.len() as u64) < holds {
            let names = self.names(TOGETHER.min(holds - held.len() as u64));
            let asked = AmountRequest::Amount(units(7)?);
            let calls = names.iter().map(|name| self.pool.hold(&asked, name));
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
    async fn calls(&mut self, state: &str, rows: &mut Rows) -> anyhow::Result<()> {
        let (mut holds, mut draws) = (Vec::new(), Vec::new());
        let asked = AmountRequest::Amount(units(7)?);
        for _ in 0..CALLS {
            let names = self.names((ITEMS_OF_HOLD + ITEMS_OF_DRAW) as u64);
            let (held, drawn) = names.split_at(ITEMS_OF_HOLD);
            holds.push(self.timed_all(held.iter().map(|it| self.pool.hold(&asked, it))).await?);
            draws.push(self.timed_all(drawn.iter().map(|it| self.pool.draw(&asked, it))).await?);
        }
        rows.add(&format!("hold: {ITEMS_OF_HOLD}{state}"), holds);
        rows.add(&format!("draw: {ITEMS_OF_DRAW}{state}"), draws);
        Ok(())
    }

    async fn time_passes(&self, seconds: u64) -> anyhow::Result<()> {
        for _ in 0..seconds / A_TICK {
            self.clock.fetch_add(A_TICK * SECOND, Ordering::SeqCst);
            self.pool.sweep().await?;
        }
        Ok(())
    }

    /// The times of ticks, each of which takes back as much as it may.
    async fn sweeps(&self, summed: u64) -> anyhow::Result<Vec<f64>> {
        let mut times = Vec::new();
        for _ in 0..CALLS {
            let (swept, time) = self.timed(self.pool.sweep()).await?;
            ensure!((swept.expired, swept.summed) == (SWEPT, summed), "a full tick: {swept:?}");
            times.push(time);
        }
        Ok(times)
    }
}
