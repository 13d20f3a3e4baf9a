//! Of an event with a million pending applications; and what it costs to look up their positions.

use std::time::Duration;

use anteroom_core::event::{Application, Apply, Claimed, Event, MAX_CLAIM, MAX_CODES, Rules};
use anyhow::{Context as _, ensure};
use futures_util::future::join_all;

use super::{CALLS, ITEMS, SECOND, Stand, on_a_thread, section};
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
        let mut line = line(rules).await?;
        say(&format!("worst: {pending} applications"));
        line.fill(pending).await?;
        let looks = if position { Some(line.looks().await?) } else { None };
        let mut rows = Vec::new();
        if worst {
            line.measure().await?;
            rows = line.rows();
            rows.extend(sold_out(pending).await?);
        }
        Ok((looks, rows))
    })
    .await?;
    if let Some(looks) = looks {
        sections.put(looks.section(pending));
    }
    if worst {
        sections.put(section(NAME, format!("The worst calls, {pending} pending"), rows));
    }
    Ok(())
}

/// For each round what a full call took in µs, and its HMGETs.
struct Looks {
    scripts: Vec<f64>,
    commands: Vec<f64>,
}

fn visitor(n: u64) -> String {
    format!("{VISITOR}{n:011}")
}

async fn line(rules: Rules) -> anyhow::Result<Stand<Event>> {
    let line = Stand::new(|store, clock| {
        Event::open_with_clock(store, "worst", rules.clone(), 100_000, clock)
    })
    .await?;
    line.entity.apply_rules(&rules).await?;
    Ok(line)
}

impl Stand<Event> {
    async fn fill(&mut self, applications: u64) -> anyhow::Result<()> {
        while self.made < applications {
            let applies = self.next(applications).map(visitor);
            let applies = applies.map(async |visitor| self.entity.apply(&visitor).await);
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
        let from = |n: u64| head + n * stride % (self.made - head);
        (call * ITEMS..(call + 1) * ITEMS).map(|n| visitor(from(n))).collect()
    }

    /// Looks up their positions in one call; all are pending.
    async fn look(&self, visitors: &[String]) -> anyhow::Result<()> {
        let status = async |visitor: &String| -> anyhow::Result<()> {
            let application = self.entity.status(visitor).await?;
            let is_pending = matches!(application, Some(Application::Pending { .. }));
            ensure!(is_pending, "{visitor}: {application:?}");
            Ok(())
        };
        join_all(visitors.iter().map(status)).await.into_iter().collect()
    }

    /// Rounds of calls that follow each other, as those of many visitors do.
    async fn looks(&self) -> anyhow::Result<Looks> {
        let (mut scripts, mut commands) = (Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            self.reset().await;
            for call in 0..LOOKS {
                self.look(&self.visitors(round * LOOKS + call)).await?;
            }
            let [script, hmget] = self.call_us(LOOKS, ["evalsha", "hmget"]).await?;
            scripts.push(script);
            // Two of them a call: one reads the rules.
            commands.push(2.0 * hmget);
        }
        Ok(Looks { scripts, commands })
    }

    async fn claim(&self) -> anyhow::Result<Claimed> {
        let claimed = self.entity.claim(MAX_CLAIM).await?;
        ensure!(claimed.work.len() == MAX_CLAIM, "a full claim");
        Ok(claimed)
    }

    /// The clock goes on by so many steps of 900 ms, with a tick before each: where none comes for
    /// a second, no lease ends.
    async fn time_passes(&self, steps: u64) -> anyhow::Result<()> {
        for _ in 0..steps {
            self.entity.reclaim().await?;
            self.advance(SECOND * 9 / 10);
            self.entity.kick().await?;
        }
        Ok(())
    }

    /// Ticks, each of which takes back as much as it may.
    async fn reclaims(&self, row: &str, are_dead: bool) -> anyhow::Result<()> {
        for _ in 0..CALLS {
            let reclaimed = self.timed(row, self.entity.reclaim()).await?;
            let found = if are_dead { reclaimed.dead } else { reclaimed.returned };
            ensure!(found == RECLAIMED, "a full tick: {reclaimed:?}");
        }
        while self.entity.reclaim().await?.more {}
        Ok(())
    }

    async fn measure(&mut self) -> anyhow::Result<()> {
        for call in 0..CALLS as u64 {
            let new: Vec<_> = (0..ITEMS).map(|n| visitor(self.made + n)).collect();
            self.made += ITEMS;
            let event = &self.entity;
            let applies = || new.iter().map(|visitor| event.apply(visitor));
            self.timed_all("apply: 64 new ones", applies()).await?;
            self.timed_all("apply: 64 again", applies()).await?;
            self.timed("status: 64 in line", self.look(&self.visitors(call))).await?;
            let Claimed { fence, work, .. } = self.timed("claim: 64", self.claim()).await?;
            let sequences: Vec<_> = work.iter().map(|work| work.sequence).collect();
            self.timed("renew: 64", event.renew(fence, &sequences)).await?;
            self.timed("finish: 64", event.finish(fence, &work)).await?;
            let Claimed { fence, work, .. } = self.claim().await?;
            let sequences: Vec<_> = work.iter().map(|work| work.sequence).collect();
            let (first, rest) = sequences.split_first().context("a full claim")?;
            self.timed("fail", event.fail(fence, *first, "no", None)).await?;
            self.timed("give_back: 63", event.give_back(fence, rest)).await?;
        }
        self.reclaim_and_claim_again().await?;
        self.operate().await
    }

    /// Leases that end by the thousands, and what becomes of their applications.
    async fn reclaim_and_claim_again(&self) -> anyhow::Result<()> {
        // The clock was stopped before: the grace that such a gap leaves is over by then.
        self.time_passes(13).await?;
        self.entity.reclaim().await?;
        let mut retried = Vec::new();
        for n in 0..CLAIMS {
            let claimed = self.claim().await?;
            if n < CALLS {
                retried.extend(claimed.work.into_iter().map(|work| (claimed.fence, work)));
            }
        }
        for (fence, work) in &retried {
            let retry_in = Some(Duration::from_secs(1));
            self.entity.fail(*fence, work.sequence, "no", retry_in).await?;
        }
        self.time_passes(2).await?;
        for _ in 0..CALLS {
            let claimed = self.timed("claim: 64 to be tried again", self.claim()).await?;
            ensure!(claimed.work.iter().all(|work| work.attempt == 2), "those whose time has come");
        }
        self.time_passes(10).await?;
        self.reclaims("reclaim: 100 leases that ended", false).await?;
        let returned: Vec<_> = (3_000..3_000 + CALLS as u64 * ITEMS).map(visitor).collect();
        for visitors in returned.chunks(ITEMS as usize) {
            self.timed("status: 64 in line again", self.look(visitors)).await?;
        }
        for _ in 0..CLAIMS - 2 * CALLS {
            self.timed("claim: 64 in line again", self.claim()).await?;
        }
        self.time_passes(12).await?;
        self.reclaims("reclaim: 100 last attempts", true).await
    }

    /// What operators and the scheduler request, now that there are thousands of dead letters.
    async fn operate(&self) -> anyhow::Result<()> {
        let event = &self.entity;
        let dead = event.dead(5_000, 100).await?.letters;
        ensure!(dead.len() == 100, "a full page of dead letters");
        for call in 0..CALLS {
            self.timed("dead: a page of 100", event.dead(5_000, 100)).await?;
            let page = event.dead(dead[99].sequence, 100).await?.letters;
            let visitors: Vec<_> = page.iter().map(|it| it.visitor_id.as_str()).collect();
            let reply = self.timed("retry_dead: 100", event.retry_dead(&visitors)).await?;
            ensure!(reply.retried == 100, "a full page of dead letters: {reply:?}");
            self.timed("give_up", event.give_up(&dead[call].visitor_id)).await?;
            self.timed("add_stock", event.add_stock(&call.to_string(), 1)).await?;
            let codes: Vec<_> = (0..MAX_CODES).map(|n| format!("{call:02}-{n:0195}")).collect();
            self.timed("load_codes: 200", event.load_codes(&codes)).await?;
            self.timed("kick", event.kick()).await?;
            self.timed("snapshot", event.snapshot()).await?;
        }
        Ok(())
    }
}

/// The last unit of an event for which many more have applied; and the end of all it held.
async fn sold_out(pending: u64) -> anyhow::Result<Vec<Row>> {
    let units = pending / 1_000;
    let mut line = line(Rules {
        stock: Some(units),
        over_apply: 1_000_000_000,
        ends_at: Some(1_800_000_000 + DAY),
        keep_ttl: Duration::from_secs(DAY),
        ..Rules::default()
    })
    .await?;
    line.fill(pending).await?;
    let (event, mut issued) = (&line.entity, 0);
    while issued < units {
        let Claimed { fence, work, .. } = event.claim(MAX_CLAIM).await?;
        issued += work.len() as u64;
        let finish = event.finish(fence, &work);
        if issued < units {
            finish.await?;
        } else {
            line.timed("finish: the last unit, once", finish).await?;
        }
    }
    let shown = event.snapshot().await?;
    ensure!((shown.pending, shown.sold_out) == (0, pending - units), "sold out: {shown:?}");
    for _ in 1..2 * DAY / A_TICK {
        line.advance(A_TICK * SECOND);
        event.reclaim().await?;
    }
    line.advance(A_TICK * SECOND);
    line.timed("reclaim: all is dropped, once", event.reclaim()).await?;
    ensure!(event.status(&visitor(0)).await?.is_none(), "all is dropped");
    Ok(line.rows())
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
