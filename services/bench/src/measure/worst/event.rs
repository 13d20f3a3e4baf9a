//! Of an event with a million pending applications; and what it takes to look at their positions.

use std::{ops::Deref, sync::atomic::Ordering, time::Duration};

use anteroom_core::event::{Application, Apply, Claimed, Event, MAX_CLAIM, MAX_CODES, Rules};
use anyhow::{Context as _, ensure};
use futures_util::future::join_all;

use super::{CALLS, ITEMS, Rows, SECOND, Stand, TOGETHER, on_a_thread};
use crate::{
    progress::say,
    report::{Bound, Row, Section},
    sections::Sections,
    settings::Settings,
    stats::{least, median},
};

/// The name for `--only`.
pub const NAME: &str = "worst-events";
/// The name for `--only` of the looks at positions.
pub const POSITION: &str = "position";
const PENDING: u64 = 1_000_000;
/// Full calls of a round, each of other visitors.
const LOOKS: u64 = 200;
const ROUNDS: u64 = 15;
/// Claims that are in hand at once.
const CLAIMS: usize = 300;
/// Applications whose leases a call of reclaim takes back.
const RECLAIMED: u64 = 100;
const DAY: u64 = 86_400;
/// The longest between two ticks that counts.
const A_TICK: u64 = 5;
/// Each visitor has this and a number.
const VISITOR: &str = "visitor of the benchmark ";

/// Builds each state and measures the call that meets it.
pub async fn run(settings: &Settings, sections: &Sections) -> anyhow::Result<()> {
    let pending = settings.scaled(PENDING).max(40_000);
    let (position, worst) = (settings.wants(POSITION), settings.wants(NAME));
    let (looks, rows) = on_a_thread(async move || -> anyhow::Result<_> {
        let rules = Rules { stock: Some(2 * PENDING), max_attempts: 2, ..Rules::default() };
        let mut line = Line::new(rules).await?;
        say(&format!("worst: {pending} applications"));
        line.fill(pending).await?;
        let looks = if position { Some(line.looks().await?) } else { None };
        let mut rows = Rows::default();
        if worst {
            line.measure(&mut rows).await?;
            drop(line);
            sold_out(pending, &mut rows).await?;
        }
        Ok((looks, rows))
    })
    .await?;
    if let Some(looks) = looks {
        sections.put(looks.section(pending));
    }
    if worst {
        sections.put(rows.section(NAME, &format!("The worst calls, {pending} pending")));
    }
    Ok(())
}

/// An event on a stand.
struct Line {
    stand: Stand,
    event: Event,
    applied: u64,
}

impl Deref for Line {
    type Target = Stand;

    fn deref(&self) -> &Stand {
        &self.stand
    }
}

/// For each round what a full call took in µs, and its HMGETs.
struct Looks {
    scripts: Vec<f64>,
    commands: Vec<f64>,
}

fn visitor(n: u64) -> String {
    format!("{VISITOR}{n:011}")
}

impl Line {
    async fn new(rules: Rules) -> anyhow::Result<Self> {
        let stand = Stand::new().await?;
        let event =
            Event::open_with_clock(&stand.store, "worst", rules.clone(), 100_000, stand.given());
        event.apply_rules(&rules).await?;
        Ok(Self { stand, event, applied: 0 })
    }

    async fn fill(&mut self, applications: u64) -> anyhow::Result<()> {
        let end = self.applied + applications;
        while self.applied < end {
            let numbers = self.applied..end.min(self.applied + TOGETHER);
            self.applied = numbers.end;
            let applies = numbers.map(async |n| self.event.apply(&visitor(n)).await);
            for applied in join_all(applies).await {
                let applied = applied?;
                ensure!(matches!(applied, Apply::Accepted(_)), "an application: {applied:?}");
            }
        }
        Ok(())
    }

    /// Visitors of a full call, from all over the line but its head, others for each call.
    fn visitors(&self, call: u64) -> Vec<String> {
        let (head, stride) = (2 * CALLS as u64 * ITEMS, 7_919);
        let from = |n: u64| head + n * stride % (self.applied - head);
        (call * ITEMS..(call + 1) * ITEMS).map(|n| visitor(from(n))).collect()
    }

    /// Looks in one call where these stand; all are pending.
    async fn look(&self, visitors: &[String]) -> anyhow::Result<()> {
        let status = async |visitor: &String| -> anyhow::Result<()> {
            let application = self.event.status(visitor).await?;
            let is_pending = matches!(application, Some(Application::Pending { .. }));
            ensure!(is_pending, "{visitor}: {application:?}");
            Ok(())
        };
        for found in join_all(visitors.iter().map(status)).await {
            found?;
        }
        Ok(())
    }

    /// Rounds of calls that follow each other, as those of many visitors do.
    async fn looks(&self) -> anyhow::Result<Looks> {
        let (mut scripts, mut commands) = (Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            self.redis.run::<()>(&["CONFIG", "RESETSTAT"]).await;
            for call in 0..LOOKS {
                self.look(&self.visitors(round * LOOKS + call)).await?;
            }
            let calls = self.redis.calls("evalsha").await;
            ensure!(calls == LOOKS, "{LOOKS} calls were expected: {calls}");
            scripts.push(self.call_us("evalsha").await?);
            // Two of them a call: one reads the rules.
            commands.push(2.0 * self.call_us("hmget").await?);
        }
        Ok(Looks { scripts, commands })
    }

    async fn claim(&self) -> anyhow::Result<Claimed> {
        let claimed = self.event.claim(MAX_CLAIM).await?;
        ensure!(claimed.work.len() == MAX_CLAIM, "a full claim");
        Ok(claimed)
    }

    /// The clock goes on by so many steps of 900 ms, with a tick before each: where none comes for
    /// a second, no lease ends.
    async fn time_passes(&self, steps: u64) -> anyhow::Result<()> {
        for _ in 0..steps {
            self.event.reclaim().await?;
            self.clock.fetch_add(SECOND * 9 / 10, Ordering::SeqCst);
            self.event.kick().await?;
        }
        Ok(())
    }

    /// The times of ticks, each of which takes back as much as it may.
    async fn reclaims(&self, are_dead: bool) -> anyhow::Result<Vec<f64>> {
        let mut times = Vec::new();
        for _ in 0..CALLS {
            let (reclaimed, time) = self.timed(self.event.reclaim()).await?;
            let found = if are_dead { reclaimed.dead } else { reclaimed.returned };
            ensure!(found == RECLAIMED, "a full tick: {reclaimed:?}");
            times.push(time);
        }
        while self.event.reclaim().await?.more {}
        Ok(times)
    }

    async fn measure(&mut self, rows: &mut Rows) -> anyhow::Result<()> {
        let mut times: [Vec<f64>; 8] = Default::default();
        for call in 0..CALLS as u64 {
            let new: Vec<_> = (0..ITEMS).map(|n| visitor(self.applied + n)).collect();
            self.applied += ITEMS;
            let applies = || new.iter().map(|visitor| self.event.apply(visitor));
            times[0].push(self.timed_all(applies()).await?);
            times[1].push(self.timed_all(applies()).await?);
            times[2].push(self.timed(self.look(&self.visitors(call))).await?.1);
            let (claimed, time) = self.timed(self.claim()).await?;
            times[3].push(time);
            let sequences: Vec<_> = claimed.work.iter().map(|work| work.sequence).collect();
            times[4].push(self.timed(self.event.renew(claimed.fence, &sequences)).await?.1);
            times[5].push(self.timed(self.event.finish(claimed.fence, &claimed.work)).await?.1);
            let claimed = self.claim().await?;
            let (first, rest) = claimed.work.split_first().context("a full claim")?;
            let fail = self.event.fail(claimed.fence, first.sequence, "no", None);
            times[6].push(self.timed(fail).await?.1);
            let rest: Vec<_> = rest.iter().map(|work| work.sequence).collect();
            times[7].push(self.timed(self.event.give_back(claimed.fence, &rest)).await?.1);
        }
        let names = [
            "apply: 64 new ones",
            "apply: 64 again",
            "status: 64 in line",
            "claim: 64",
            "renew: 64",
            "finish: 64",
            "fail",
            "give_back: 63",
        ];
        for (name, times) in names.into_iter().zip(times) {
            rows.add(name, times);
        }
        self.reclaim_and_claim_again(rows).await?;
        self.operate(rows).await
    }

    /// Leases that end by the thousands, and what becomes of their applications.
    async fn reclaim_and_claim_again(&self, rows: &mut Rows) -> anyhow::Result<()> {
        // The clock has stood still before: what such a gap leaves in grace is over by then.
        self.time_passes(13).await?;
        self.event.reclaim().await?;
        let mut retried = Vec::new();
        for n in 0..CLAIMS {
            let claimed = self.claim().await?;
            if n < CALLS {
                retried.extend(claimed.work.into_iter().map(|work| (claimed.fence, work)));
            }
        }
        for (fence, work) in &retried {
            let retry_in = Some(Duration::from_secs(1));
            self.event.fail(*fence, work.sequence, "no", retry_in).await?;
        }
        self.time_passes(2).await?;
        let mut times = Vec::new();
        for _ in 0..CALLS {
            let (claimed, time) = self.timed(self.claim()).await?;
            ensure!(claimed.work.iter().all(|work| work.attempt == 2), "those whose time has come");
            times.push(time);
        }
        rows.add("claim: 64 to be tried again", times);
        self.time_passes(10).await?;
        rows.add("reclaim: 100 leases that ended", self.reclaims(false).await?);
        let returned: Vec<_> = (3_000..3_000 + CALLS as u64 * ITEMS).map(visitor).collect();
        let mut times = Vec::new();
        for visitors in returned.chunks(ITEMS as usize) {
            times.push(self.timed(self.look(visitors)).await?.1);
        }
        rows.add("status: 64 in line again", times);
        let mut times = Vec::new();
        for _ in 0..CLAIMS - 2 * CALLS {
            times.push(self.timed(self.claim()).await?.1);
        }
        rows.add("claim: 64 in line again", times);
        self.time_passes(12).await?;
        rows.add("reclaim: 100 last attempts", self.reclaims(true).await?);
        Ok(())
    }

    /// What operators and the scheduler ask, now that there are thousands of dead letters.
    async fn operate(&self, rows: &mut Rows) -> anyhow::Result<()> {
        let mut times: [Vec<f64>; 7] = Default::default();
        let dead = self.event.dead(5_000, 100).await?.letters;
        ensure!(dead.len() == 100, "a full page of dead letters");
        for call in 0..CALLS {
            times[0].push(self.timed(self.event.dead(5_000, 100)).await?.1);
            let page = self.event.dead(dead[99].sequence, 100).await?.letters;
            let visitors: Vec<_> = page.iter().map(|it| it.visitor_id.as_str()).collect();
            let (told, time) = self.timed(self.event.retry_dead(&visitors)).await?;
            ensure!(told.retried == 100, "a full page of dead letters: {told:?}");
            times[1].push(time);
            times[2].push(self.timed(self.event.give_up(&dead[call].visitor_id)).await?.1);
            times[3].push(self.timed(self.event.add_stock(&call.to_string(), 1)).await?.1);
            let codes: Vec<_> = (0..MAX_CODES).map(|n| format!("{call:02}-{n:0195}")).collect();
            times[4].push(self.timed(self.event.load_codes(&codes)).await?.1);
            times[5].push(self.timed(self.event.kick()).await?.1);
            times[6].push(self.timed(self.event.snapshot()).await?.1);
        }
        let names = [
            "dead: a page of 100",
            "retry_dead: 100",
            "give_up",
            "add_stock",
            "load_codes: 200",
            "kick",
            "snapshot",
        ];
        for (name, times) in names.into_iter().zip(times) {
            rows.add(name, times);
        }
        Ok(())
    }
}

/// The last unit of an event for which many more have applied; and the end of all it held.
async fn sold_out(pending: u64, rows: &mut Rows) -> anyhow::Result<()> {
    let units = pending / 1_000;
    let mut line = Line::new(Rules {
        stock: Some(units),
        over_apply: 1_000_000_000,
        ends_at: Some(1_800_000_000 + DAY),
        keep_ttl: Duration::from_secs(DAY),
        ..Rules::default()
    })
    .await?;
    line.fill(pending).await?;
    let (mut issued, mut last) = (0, f64::NAN);
    while issued < units {
        let claimed = line.event.claim(MAX_CLAIM).await?;
        issued += claimed.work.len() as u64;
        last = line.timed(line.event.finish(claimed.fence, &claimed.work)).await?.1;
    }
    let shown = line.event.snapshot().await?;
    ensure!((shown.pending, shown.sold_out) == (0, pending - units), "sold out: {shown:?}");
    rows.add("finish: the last unit, once", vec![last]);
    let ticks = 2 * DAY / A_TICK;
    let mut drops = f64::NAN;
    for tick in 1..=ticks {
        line.clock.fetch_add(A_TICK * SECOND, Ordering::SeqCst);
        match tick {
            last if last == ticks => drops = line.timed(line.event.reclaim()).await?.1,
            _ => drop(line.event.reclaim().await?),
        }
    }
    ensure!(line.event.status(&visitor(0)).await?.is_none(), "all is dropped");
    rows.add("reclaim: all is dropped, once", vec![drops]);
    Ok(())
}

impl Looks {
    fn section(&self, pending: u64) -> Section {
        let row = |name: &str, times: &[f64], at_most: Option<Bound>| {
            let an_item: Vec<_> = times.iter().map(|time| time / ITEMS as f64).collect();
            Row::new(name)
                .within("µs an item", median(&an_item), at_most)
                .figure("least", least(&an_item))
        };
        Section {
            name: POSITION,
            title: format!("Where an application stands, {pending} pending"),
            how: format!(
                "Means of {LOOKS} calls that follow each other, each of {ITEMS} visitors from all \
                 over the line, by Redis' own clock (`INFO commandstats`): the whole script, and \
                 what of it are its HMGETs. The median of {ROUNDS} rounds."
            ),
            rows: vec![
                row("status", &self.scripts, Some(Bound::AtMost(1.5))),
                row("of it HMGET", &self.commands, None),
            ],
        }
    }
}
