//! Of a queue, in the longest line.

use std::{ops::Deref, sync::atomic::Ordering, time::Duration};

use anteroom_core::queue::{
    Health, Join, Override, Pace, PlaceId, PlaceRef, Promotion, Queue, Rules, State,
};
use anyhow::ensure;
use futures_util::future::join_all;

use super::{CALLS, ITEMS, Rows, SECOND, Stand, TOGETHER, on_a_thread};
use crate::{progress::say, sections::Sections, settings::Settings};

/// The name for `--only`.
pub const NAME: &str = "worst";
/// In the longest line.
const WAITING: u64 = 1_000_000;
/// Places that a call of promote looks at.
const HEADS: u64 = 100;
/// Places of the longest page.
const PAGE: u64 = 200;
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
    let waiting = settings.scaled(WAITING).max(40 * HEADS);
    let rows = on_a_thread(move || measure(waiting)).await?;
    sections.put(rows.section(NAME, &format!("The worst calls, {waiting} in line")));
    Ok(())
}

async fn measure(waiting: u64) -> anyhow::Result<Rows> {
    let mut room = Room::new().await?;
    let mut rows = Rows::default();
    let mut row = |name: &str, times| rows.add(name, times);

    say(&format!("worst: filling a line of {waiting}"));
    room.change(&[Override::State(Some(State::Paused))]).await?;
    let line = room.join(waiting).await?;
    room.poll(&line).await?;
    let last = &line[line.len() - 1..];
    let mut times = Vec::new();
    for turns in 1..=4 * CALLS as u64 {
        let capacity = Override::Capacity(Some(turns * HEADS));
        room.change(&[capacity, Override::State(None)]).await?;
        room.time_passes(1, last).await?;
        // After a pause the first tick gives no turns.
        if turns == 1 {
            room.queue.promote(&Health::default()).await?;
            room.time_passes(1, last).await?;
        }
        let (promotion, time) = room.timed(room.queue.promote(&Health::default())).await?;
        ensure!(promotion.promoted == HEADS, "all turns at once: {promotion:?}");
        times.push(time);
        room.change(&[Override::State(Some(State::Paused))]).await?;
    }
    row("promote: 100 turns", times);
    let turns = &line[..2 * CALLS * HEADS as usize];

    let groups: Vec<_> = turns.chunks(ITEMS as usize).collect();
    let (mut claims, mut leaves) = (Vec::new(), Vec::new());
    for group in &groups[..CALLS] {
        claims.push(room.timed_all(group.iter().map(|of| room.queue.authorize(*of, true))).await?);
    }
    for group in &groups[CALLS..2 * CALLS] {
        leaves.push(room.timed_all(group.iter().map(|of| room.queue.leave(*of))).await?);
    }
    row("authorize: 64 turns claimed", claims);
    row("leave: 64 turns given up", leaves);

    // All turns lapse, and their holders join again before anything is swept.
    room.time_passes(70, last).await?;
    let mut joins = Vec::new();
    for group in &groups[2 * CALLS..3 * CALLS] {
        joins.push(room.timed_all(group.iter().map(|of| room.queue.join(of.id))).await?);
    }
    row("join: 64 whose turns lapsed", joins);

    // The other turns are swept; in the line behind them nobody is heard any more.
    room.time_passes(30, last).await?;
    let mut sweeps = Vec::new();
    for _ in 0..CALLS {
        let (swept, time) = room.timed(room.queue.sweep()).await?;
        ensure!(swept.unclaimed == 100 && swept.away > 0, "a full sweep: {swept:?}");
        sweeps.push(time);
    }
    row("sweep: 100 lapsed turns, and absent places", sweeps);

    while room.queue.sweep().await?.unclaimed > 0 {}
    let mut sweeps = Vec::new();
    for _ in 0..CALLS {
        let (swept, time) = room.timed(room.queue.sweep()).await?;
        ensure!(swept.away >= SWEPT, "a walk past absent places: {swept:?}");
        sweeps.push(time);
    }
    row("sweep: absent places", sweeps);

    for (name, free) in [("one free slot", 1), ("100 free slots", HEADS)] {
        let is_state = |tick: &Promotion| tick.away >= ABSENT;
        row(&format!("promote: absent heads, {name}"), room.ticks(free, is_state).await?);
    }

    let away: Vec<_> = line.iter().skip(3_000).take(CALLS * ITEMS as usize).copied().collect();
    let mut places = Vec::new();
    for group in away.chunks(ITEMS as usize) {
        places.push(room.timed_all(group.iter().map(|of| room.queue.place(*of))).await?);
    }
    row("place: 64 of the front", places);
    let mut evicts = Vec::new();
    for of in &line[line.len() / 2..line.len() / 2 + CALLS] {
        evicts.push(room.timed(room.queue.evict(of.ticket)).await?.1);
    }
    row("evict", evicts);
    let mut places = Vec::new();
    for of in &line[2_000..2_000 + CALLS] {
        let (page, time) = room.timed(room.queue.places(None, of.ticket, PAGE)).await?;
        ensure!(page.next.is_some(), "a page in the middle of the line");
        places.push(time);
    }
    row("places: a page of 200", places);
    let mut snapshots = Vec::new();
    for _ in 0..CALLS {
        snapshots.push(room.timed(room.queue.snapshot()).await?.1);
    }
    row("snapshot", snapshots);

    // No visitor polls for a while, then one does; the check-in period that this opens passes.
    room.time_passes(40, &[]).await?;
    room.time_passes(40, last).await?;
    let mut sweeps = Vec::new();
    for _ in 0..CALLS {
        let (swept, time) = room.timed(room.queue.sweep()).await?;
        ensure!(swept.away >= SWEPT, "those who did not check in are away: {swept:?}");
        sweeps.push(time);
    }
    row("sweep: after a check-in period", sweeps);

    // Nearly everybody has left; the rest, far apart, was last seen as long ago as a place may be.
    room.change(&[Override::State(Some(State::Paused))]).await?;
    let newest = room.join(1).await?;
    let stays_in_line = |of: &&PlaceRef| of.ticket > 10_000 && of.ticket.is_multiple_of(FAR_APART);
    let (stays, leaves): (Vec<_>, Vec<_>) = line.iter().partition(stays_in_line);
    say(&format!("worst: {} leave the line", leaves.len()));
    room.leave(&leaves).await?;
    room.poll(&stays).await?;
    room.time_passes(48, &newest).await?;
    // Each walk lets some more of the line count as old enough to be asked.
    for _ in 0..waiting / 4_000 {
        room.queue.sweep().await?;
    }
    while room.queue.sweep().await?.more {}
    let mut sweeps = Vec::new();
    for _ in 0..CALLS {
        let (swept, time) = room.timed(room.queue.sweep()).await?;
        ensure!(swept.away + swept.abandoned == 0, "all are still present: {swept:?}");
        sweeps.push(time);
    }
    row("sweep: places far apart", sweeps);
    let promotes = room.ticks(SPARSE, |tick| tick.promoted == SPARSE).await?;
    row("promote: 50 turns, far apart", promotes);
    Ok(rows)
}

/// A queue on a stand.
struct Room {
    stand: Stand,
    queue: Queue,
    joined: u64,
}

impl Deref for Room {
    type Target = Stand;

    fn deref(&self) -> &Stand {
        &self.stand
    }
}

impl Room {
    async fn new() -> anyhow::Result<Self> {
        let stand = Stand::new().await?;
        let queue = Queue::open_with_clock(&stand.store, "worst", rules(), 100_000, stand.given());
        queue.apply_rules(&rules()).await?;
        Ok(Self { stand, queue, joined: 0 })
    }

    async fn change(&self, overrides: &[Override]) -> anyhow::Result<()> {
        Ok(self.queue.override_rules(overrides, None).await?)
    }

    /// The times of ticks, each of which finds so many free slots, and the state that was built.
    async fn ticks(
        &self,
        free: u64,
        is_state: impl Fn(&Promotion) -> bool,
    ) -> anyhow::Result<Vec<f64>> {
        let mut times = Vec::new();
        for _ in 0..CALLS {
            let taken = self.queue.snapshot().await?;
            let capacity = Override::Capacity(Some(taken.ready + taken.active + free));
            self.change(&[capacity, Override::State(None)]).await?;
            let (tick, time) = self.timed(self.queue.promote(&Health::default())).await?;
            ensure!(is_state(&tick), "not the state that was built: {tick:?}");
            times.push(time);
            self.change(&[Override::State(Some(State::Paused))]).await?;
        }
        Ok(times)
    }

    /// So many new places at the end of the line.
    async fn join(&mut self, count: u64) -> anyhow::Result<Vec<PlaceRef>> {
        let mut places = Vec::new();
        let end = self.joined + count;
        while self.joined < end {
            let numbers = self.joined..end.min(self.joined + TOGETHER);
            self.joined = numbers.end;
            let id = |n: u64| PlaceId::of_visitor("worst", &n.to_string());
            for joined in join_all(numbers.map(|n| self.queue.join(id(n)))).await {
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
            for place in join_all(some.iter().map(|of| self.queue.place(*of))).await {
                place?;
            }
        }
        Ok(())
    }

    async fn leave(&self, places: &[PlaceRef]) -> anyhow::Result<()> {
        for some in places.chunks(TOGETHER as usize) {
            for left in join_all(some.iter().map(|of| self.queue.leave(*of))).await {
                left?;
            }
        }
        Ok(())
    }

    /// The clock goes on by so many seconds, with ticks of a paused queue, while these poll.
    async fn time_passes(&self, seconds: u64, polling: &[PlaceRef]) -> anyhow::Result<()> {
        for step in 0..seconds.div_ceil(4) {
            let passes = (seconds - 4 * step).min(4) * SECOND;
            self.clock.fetch_add(passes, Ordering::SeqCst);
            if seconds > 1 {
                self.queue.promote(&Health::default()).await?;
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
        batch: None,
        interval: Duration::from_secs(10),
        pace: Pace::Even,
        claim_ttl: minute,
        session_ttl: 60 * minute,
        session_max: 60 * minute,
        unproven_ttl: minute,
        idle_ttl: minute,
        keep_ttl: 600 * minute,
        first_poll_ttl: minute / 2,
        max_waiting: 2 * WAITING,
        places_per_address: None,
        joins_at: None,
        opens_at: None,
        closes_at: None,
        local_answers: true,
    }
}
