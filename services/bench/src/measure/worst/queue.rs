//! Of a queue, in the longest line.

use std::time::Duration;

use anteroom_core::queue::{
    Departed, Health, Join, Override, PlaceId, PlaceRef, Promotion, Queue, Rules, State,
};
use anyhow::{Context as _, ensure};
use futures_util::future::join_all;

use super::{CALLS, ITEMS, SECOND, Stand, TOGETHER, on_a_thread, section};
use crate::{progress::say, report::Row, sections::Sections, settings::Settings};

/// The name for `--only`.
pub const NAME: &str = "worst";
/// In the longest line.
const WAITING: u64 = 1_000_000;
/// Places that a call of promote looks at.
const HEADS: u64 = 100;
/// Heartbeats of a full call.
const HEARTBEATS: usize = 256;
/// Places of the longest page.
const PAGE: u64 = 200;
/// Places that have left the line since a reading.
const LEFT: u64 = 500;
/// Lapsed turns of a full sweep.
const ENDS: u64 = 60;
/// After so many absent ones it ends.
const ABSENT: u64 = 50;
/// The same of sweep.
const SWEPT: u64 = 30;
/// A line that most have left: one ticket in so many is still there.
const FAR_APART: u64 = 1_050;
/// Of those so many are promoted in a call.
const SPARSE: u64 = 50;

/// Builds each state and measures the call that meets it.
pub async fn run(settings: &Settings, sections: &Sections) -> anyhow::Result<()> {
    let waiting = settings.scaled(WAITING).max(100 * HEADS);
    let rows = on_a_thread(move || measure(waiting)).await?;
    sections.put(section(NAME, format!("The worst calls, {waiting} in line"), rows));
    Ok(())
}

async fn measure(waiting: u64) -> anyhow::Result<Vec<Row>> {
    let mut room =
        Stand::new(|store, clock| Queue::open_with_clock(store, "worst", rules(), 100_000, clock))
            .await?;
    room.entity.apply_rules(&rules()).await?;
    let line = room.turns(waiting).await?;
    room.absent_places(&line).await?;
    room.places_far_apart(waiting, &line).await?;
    Ok(room.rows())
}

impl Stand<Queue> {
    /// The longest line; of its head all get turns, and then take or lose them.
    async fn turns(&mut self, waiting: u64) -> anyhow::Result<Vec<PlaceRef>> {
        say(&format!("worst: filling a line of {waiting}"));
        self.change(&[Override::State(Some(State::Paused))]).await?;
        let line = self.join(waiting).await?;
        self.poll(&line).await?;
        let last = &line[line.len() - 1..];
        for turns in 1..=4 * CALLS as u64 {
            let capacity = Override::Capacity(Some(turns * HEADS));
            self.change(&[capacity, Override::State(None)]).await?;
            self.time_passes(1, last).await?;
            // After a pause the first tick gives no turns.
            if turns == 1 {
                self.entity.promote(&Health::default()).await?;
                self.time_passes(1, last).await?;
            }
            let health = Health::default();
            let promote = self.entity.promote(&health);
            let promotion = self.timed("promote: 100 turns", promote).await?;
            ensure!(promotion.promoted == HEADS, "all turns at once: {promotion:?}");
            self.change(&[Override::State(Some(State::Paused))]).await?;
        }

        let queue = &self.entity;
        let groups: Vec<_> = line[..2 * CALLS * HEADS as usize].chunks(ITEMS as usize).collect();
        for group in &groups[..CALLS] {
            let claims = group.iter().map(|of| queue.authorize(*of, true));
            self.timed_all("authorize: 64 turns claimed", claims).await?;
        }
        for group in &groups[CALLS..2 * CALLS] {
            let leaves = group.iter().map(|of| queue.leave(*of));
            self.timed_all("leave: 64 turns given up", leaves).await?;
        }
        // All turns lapse, and their holders join again before anything is swept.
        self.time_passes(70, last).await?;
        for group in &groups[2 * CALLS..3 * CALLS] {
            let joins = group.iter().map(|of| queue.join(of.id));
            self.timed_all("join: 64 whose turns lapsed", joins).await?;
        }
        Ok(line)
    }

    async fn absent_places(&self, line: &[PlaceRef]) -> anyhow::Result<()> {
        let (queue, last) = (&self.entity, &line[line.len() - 1..]);
        // The other turns are swept; in the line behind them no visitor polls any more.
        self.time_passes(30, last).await?;
        for _ in 0..CALLS {
            let row = "sweep: 60 lapsed turns, and absent places";
            let swept = self.timed(row, queue.sweep()).await?;
            ensure!(swept.unclaimed == ENDS && swept.away > 0, "a full sweep: {swept:?}");
        }
        while queue.sweep().await?.unclaimed > 0 {}
        self.sweep_absent("sweep: absent places").await?;
        for (name, free) in [("one free slot", 1), ("100 free slots", HEADS)] {
            let is_state = |tick: &Promotion| tick.away >= ABSENT;
            self.ticks(&format!("promote: absent heads, {name}"), free, is_state).await?;
        }

        for group in line[3_000..3_000 + CALLS * ITEMS as usize].chunks(ITEMS as usize) {
            let places = group.iter().map(|of| queue.place(*of));
            self.timed_all("place: 64 of the front", places).await?;
        }
        for group in line[5_000..5_000 + CALLS * HEARTBEATS].chunks(HEARTBEATS) {
            let heartbeats = group.iter().map(|of| queue.heartbeat(*of));
            self.timed_all("heartbeat: 256 in line", heartbeats).await?;
        }
        for _ in 0..CALLS {
            self.timed_parts("sketch: each of its calls", queue.sketch(true, Duration::ZERO))
                .await?;
        }
        let seen = queue.seen(line[0].ticket).await?.context("a slot")?;
        let behind = &line[line.len() / 2..];
        for first in 0..CALLS {
            let mut polled = seen.polled();
            for of in behind[first..].iter().step_by(2) {
                ensure!(polled.add(of.ticket), "it is behind the head of the line");
            }
            self.timed_parts("mark_seen: each of its calls", queue.mark_seen(&polled)).await?;
            let mut polled = seen.polled();
            ensure!(polled.add(line[line.len() / 10 + first].ticket), "it is in line");
            self.timed("mark_seen: one far in front", queue.mark_seen(&polled)).await?;
        }
        for of in &line[line.len() / 2..line.len() / 2 + CALLS] {
            self.timed("evict", queue.evict(of.ticket)).await?;
        }
        for of in &line[2_000..2_000 + CALLS] {
            let page = queue.places(None, of.ticket, PAGE);
            let page = self.timed("places: a page of 200", page).await?;
            ensure!(page.next.is_some(), "a page in the middle of the line");
        }
        for _ in 0..CALLS {
            self.timed("snapshot", queue.snapshot()).await?;
        }
        // No visitor polls for a while, then one does; the check-in period that this opens passes.
        self.time_passes(40, &[]).await?;
        self.time_passes(40, last).await?;
        self.sweep_absent("sweep: after a check-in period").await
    }

    /// Nearly all visitors leave; the rest, far apart, was last seen as long ago as a place may be.
    async fn places_far_apart(&mut self, waiting: u64, line: &[PlaceRef]) -> anyhow::Result<()> {
        self.change(&[Override::State(Some(State::Paused))]).await?;
        let newest = self.join(1).await?;
        let stays_in_line =
            |of: &&PlaceRef| of.ticket > 10_000 && of.ticket.is_multiple_of(FAR_APART);
        let (stays, leaves): (Vec<_>, Vec<_>) = line.iter().partition(stays_in_line);
        say(&format!("worst: {} leave the line", leaves.len()));
        for some in leaves.chunks(TOGETHER as usize) {
            for left in join_all(some.iter().map(|of| self.entity.leave(*of))).await {
                left?;
            }
        }
        let left = self.entity.departures(None).await?.upto;
        for _ in 0..CALLS {
            let since = Departed { count: left.count - LEFT, ..left };
            self.timed_parts("departures: 500 have left", self.entity.departures(Some(since)))
                .await?;
        }
        self.poll(&stays).await?;
        self.time_passes(48, &newest).await?;
        // Each walk lets some more of the line count as old enough to be skipped.
        for _ in 0..waiting / 4_000 {
            self.entity.sweep().await?;
        }
        while self.entity.sweep().await?.more {}
        for _ in 0..CALLS {
            let swept = self.timed("sweep: places far apart", self.entity.sweep()).await?;
            ensure!(swept.away + swept.abandoned == 0, "all are still present: {swept:?}");
        }
        let is_state = |tick: &Promotion| tick.promoted == SPARSE;
        self.ticks("promote: 50 turns, far apart", SPARSE, is_state).await
    }

    async fn sweep_absent(&self, row: &str) -> anyhow::Result<()> {
        for _ in 0..CALLS {
            let swept = self.timed(row, self.entity.sweep()).await?;
            ensure!(swept.away >= SWEPT, "a walk past absent places: {swept:?}");
        }
        Ok(())
    }

    async fn change(&self, overrides: &[Override]) -> anyhow::Result<()> {
        self.entity.override_rules(overrides, None).await?;
        Ok(())
    }

    /// Ticks, each of which finds so many free slots, and the state that was built.
    async fn ticks(
        &self,
        row: &str,
        free: u64,
        is_state: impl Fn(&Promotion) -> bool,
    ) -> anyhow::Result<()> {
        for _ in 0..CALLS {
            let taken = self.entity.snapshot().await?;
            let capacity = Override::Capacity(Some(taken.ready + taken.active + free));
            self.change(&[capacity, Override::State(None)]).await?;
            let tick = self.timed(row, self.entity.promote(&Health::default())).await?;
            ensure!(is_state(&tick), "not the state that was built: {tick:?}");
            self.change(&[Override::State(Some(State::Paused))]).await?;
        }
        Ok(())
    }

    /// So many new places at the end of the line.
    async fn join(&mut self, count: u64) -> anyhow::Result<Vec<PlaceRef>> {
        let mut places = Vec::new();
        let end = self.made + count;
        while self.made < end {
            let ids = self.next(end).map(|n| PlaceId::of_visitor("worst", &n.to_string()));
            for joined in join_all(ids.map(|id| self.entity.join(id))).await {
                match joined? {
                    Join::Created(of, _) => places.push(of),
                    other => anyhow::bail!("a join: {other:?}"),
                }
            }
        }
        Ok(places)
    }

    async fn poll(&self, places: &[PlaceRef]) -> anyhow::Result<()> {
        for some in places.chunks(TOGETHER as usize) {
            for place in join_all(some.iter().map(|of| self.entity.place(*of))).await {
                place?;
            }
        }
        Ok(())
    }

    /// The clock goes on by so many seconds, with ticks of a paused queue, while these poll.
    async fn time_passes(&self, seconds: u64, polling: &[PlaceRef]) -> anyhow::Result<()> {
        for step in 0..seconds.div_ceil(4) {
            self.advance((seconds - 4 * step).min(4) * SECOND);
            if seconds > 1 {
                self.entity.promote(&Health::default()).await?;
            }
            self.poll(polling).await?;
        }
        Ok(())
    }
}

fn rules() -> Rules {
    let minute = Duration::from_secs(60);
    Rules {
        capacity: Some(1),
        claim_ttl: minute,
        session_ttl: 60 * minute,
        session_max: 60 * minute,
        unproven_ttl: minute,
        idle_ttl: minute,
        keep_ttl: 600 * minute,
        first_poll_ttl: minute / 2,
        max_waiting: 2 * WAITING,
        local_answers: true,
        ..Rules::default()
    }
}
