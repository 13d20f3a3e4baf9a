//! A history as it is played: each step runs on the queue and on the model, and the answers are
//! compared.

use std::collections::BTreeMap;
use std::time::Duration;

use anteroom_core::queue::{
    Departed, Epoch, Health, Inspected, Override, Pace, PlaceRef, Queue, Rules, Seen, State,
    Status, Totals, Waits,
};
use anteroom_testkit::history::{History, Outcome, differ};
use anteroom_testkit::model::queue::{self as model, Reading, Shown};

use super::breaker::{Watched, known, step_of};
use super::overrides::{CLOSED, OPEN, Overrides, PAUSED};
use super::step::{Base, Op, Step, VISITORS};
use crate::line::before;
use crate::support::{TimedStore, micros};

/// How often the scheduler ticks and visitors poll while time passes: within what queue time and
/// heard time take in one step.
const EVERY_US: u64 = 4_000_000;

/// Samples of join times that are older can be forgotten.
const KNOWN_WAIT: Duration = Duration::from_secs(590);

fn model_rules(rules: &Rules) -> model::RulesInForce {
    model::RulesInForce {
        capacity: rules.capacity.unwrap_or(0),
        batch: rules.batch.unwrap_or(0),
        batch_overridden: false,
        interval: micros(rules.interval),
        even: rules.pace == Pace::Even,
        claim_ttl: micros(rules.claim_ttl),
        session_ttl: micros(rules.session_ttl),
        session_max: micros(rules.session_max),
        unproven_ttl: micros(rules.unproven_ttl),
        idle_ttl: micros(rules.idle_ttl),
        keep_ttl: micros(rules.keep_ttl),
        first_poll_ttl: micros(rules.first_poll_ttl),
        max_waiting: rules.max_waiting,
        paused: false,
        closed: false,
        local_answers: rules.local_answers,
        places_per_address: rules.places_per_address,
    }
}

/// What a loss goes back to.
struct Kept {
    model: model::Queue,
    overrides: Overrides,
    epoch: Option<Epoch>,
}

/// A queue, its model, and what the visitors hold.
pub struct QueueHistory<'a> {
    pub world: &'a TimedStore,
    pub queue: Queue,
    pub model: model::Queue,
    /// The rules of the file.
    rules: Rules,
    pub file: model::RulesInForce,
    /// What operators have overridden in the store, …
    pub overrides: Overrides,
    /// … and the newest of it that the service has seen there.
    pub seen: Overrides,
    /// The present epoch of the queue, once a visitor has joined in it.
    pub epoch: Option<Epoch>,
    kept: Option<Kept>,
    /// Every place that a visitor was ever given, the latest first.
    pub places: BTreeMap<u64, Vec<PlaceRef>>,
    /// The last position of each place: it only ever improves.
    pub positions: BTreeMap<u64, u64>,
    /// The version of the revocations that was read last.
    version: Option<u64>,
    /// How many had left the line when that was read last.
    departed: Option<Departed>,
    /// The slot in which visitors are seen, as it was read last, and which one of the model it is.
    slot: Option<(Seen, (u64, u64))>,
    /// So many tickets behind its base the bitmap of a slot has had at least.
    reach: u64,
    /// The target that it follows, as its schedulers read it.
    pub watched: Watched,
}

impl History for QueueHistory<'_> {
    type Step = Step;

    fn is_repeat(step: &Step) -> bool {
        matches!(step, Step::Again)
    }

    async fn apply(&mut self, step: &Step) -> Outcome {
        let wall = self.world.now();
        let error = |error: anteroom_core::store::Error| error.to_string();
        match *step {
            Step::Join { who } => self.visits(Op::Join, &[(who, 0)]).await?,
            Step::Place { who, which } => self.visits(Op::Place, &[(who, which)]).await?,
            Step::Claim { who, which } => self.visits(Op::Claim, &[(who, which)]).await?,
            Step::Authorize { who, which, renew: true } => {
                self.visits(Op::Authorize, &[(who, which)]).await?;
            }
            Step::Authorize { who, which, renew: false } => {
                let Some(of) = self.ref_of(who, which) else { return Ok(()) };
                let visit = self.queue.authorize(of, false).await.map_err(error)?;
                let (id, ticket) = self.known(of);
                let model = self.model.enter(wall, id, ticket, false);
                self.compare("authorize", &visit, of, model)?;
            }
            Step::AuthorizeJoined { who, which } => {
                self.visits(Op::AuthorizeJoined, &[(who, which)]).await?;
            }
            Step::Renew { who, which } => self.visits(Op::Renew, &[(who, which)]).await?,
            Step::Leave { who, which } => self.visits(Op::Leave, &[(who, which)]).await?,
            Step::Together { op, ref whom } => self.visits(op, whom).await?,
            Step::AllPoll => {
                let everyone: Vec<_> = (0..VISITORS).map(|who| (who, 0)).collect();
                self.visits(Op::Place, &everyone).await?;
            }
            Step::Sketch { heard } => self.sketch(heard).await?,
            Step::MarkSeen { ref whom } => self.mark_seen(whom).await?,
            Step::Tick => self.tick(self.watched.health(0)).await?,
            Step::Breaker(target) => self.target(target).await?,
            Step::Sweep => {
                let sweep = self.queue.sweep().await.map_err(error)?;
                let returned = (sweep.unclaimed, sweep.expired, sweep.away, sweep.abandoned);
                differ("sweep", &returned, &self.model.sweep(wall))?;
            }
            Step::Pass { ms, scheduler } => {
                let end = wall + 1000 * ms;
                while scheduler && self.world.now() + EVERY_US < end {
                    self.world.set_now(self.world.now() + EVERY_US);
                    self.tick(self.watched.health(0)).await?;
                }
                self.world.set_now(end);
            }
            Step::Wait { seconds, asleep } => {
                let end = wall + seconds * 1_000_000;
                while self.world.now() + EVERY_US < end {
                    self.world.set_now(self.world.now() + EVERY_US);
                    self.tick(self.watched.health(0)).await?;
                    let awake = (0..VISITORS).filter(|who| asleep & (1 << who) == 0);
                    let awake: Vec<_> = awake.map(|who| (who, 0)).collect();
                    self.visits(Op::Place, &awake).await?;
                }
            }
            Step::Leap { seconds } => {
                self.world.set_now(wall.saturating_add_signed(seconds * 1_000_000));
            }
            Step::Pause(paused, lasts) => {
                let state = paused.then_some(State::Paused);
                let value = if paused { PAUSED } else { OPEN };
                self.put(Override::State(state), "state", value, lasts).await?;
            }
            Step::Close(closed, lasts) => {
                let state = closed.then_some(State::Closed);
                let value = if closed { CLOSED } else { OPEN };
                self.put(Override::State(state), "state", value, lasts).await?;
            }
            Step::Capacity(most, lasts) => {
                self.put(Override::Capacity(Some(most)), "capacity", most, lasts).await?;
            }
            Step::Batch(most, lasts) => {
                self.put(Override::Batch(Some(most)), "batch", most, lasts).await?;
            }
            Step::SessionMax(seconds, lasts) => {
                let time = Duration::from_secs(seconds);
                let over = Override::SessionMax(Some(time));
                self.put(over, "session_max", micros(time), lasts).await?;
            }
            Step::UnprovenTtl(seconds, lasts) => {
                let time = Duration::from_secs(seconds);
                let over = Override::UnprovenTtl(Some(time));
                self.put(over, "unproven_ttl", micros(time), lasts).await?;
            }
            Step::Interval(seconds, lasts) => {
                let time = Duration::from_secs(seconds);
                self.put(Override::Interval(Some(time)), "interval", micros(time), lasts).await?;
            }
            Step::MaxWaiting(most, lasts) => {
                self.reach = self.reach.min(4 * most);
                self.put(Override::MaxWaiting(Some(most)), "max_waiting", most, lasts).await?;
            }
            Step::PlacesPerAddress(most, lasts) => {
                let over = Override::PlacesPerAddress(Some(most));
                self.put(over, "places_per_address", most, lasts).await?;
            }
            Step::Evict { ticket } => {
                let evicted = self.queue.evict(ticket).await.map_err(error)?;
                differ("evict", &evicted.is_some(), &self.model.evict(wall, ticket))?;
            }
            Step::LocalAnswers(on) => {
                let over = Override::LocalAnswers(Some(on));
                self.put(over, "local_answers", u64::from(on), None).await?;
            }
            Step::Revocations => {
                let read = self.queue.revocations(self.version).await.map_err(error)?;
                let returned = Reading {
                    queue_time: read.queue_time_us,
                    local_answers: read.local_answers,
                    version: read.version,
                    whole: read.whole,
                    ended: read.ended.iter().map(|(id, ticket)| (id.0, *ticket)).collect(),
                };
                differ("revocations", &returned, &self.model.revocations(wall, self.version))?;
                self.version = Some(read.version);
            }
            Step::Reset => {
                self.queue.reset().await.map_err(error)?;
                self.looked();
                self.model.reset(wall);
                self.epoch = None;
                self.positions.clear();
            }
            Step::Look => {
                self.look().await?;
                self.places().await?;
                self.followed().await?;
            }
            Step::Empty => self.empty().await?,
            Step::LoseMeta { whole } => self.lose_meta(whole).await?,
            Step::Restart => {
                self.queue = self.world.open(self.queue.name(), self.rules.clone());
                self.seen = Overrides::default();
            }
            Step::ForgetScripts => self.world.redis.script_flush().await,
            Step::Keep => {
                self.world.keep(self.queue.name()).await;
                let (model, overrides) = (self.model.clone(), self.overrides.clone());
                self.kept = Some(Kept { model, overrides, epoch: self.epoch });
            }
            Step::Lose => {
                let Some(kept) = &self.kept else { return Ok(()) };
                self.world.lose(self.queue.name()).await;
                self.model = kept.model.clone();
                (self.overrides, self.epoch) = (kept.overrides.clone(), kept.epoch);
                self.positions.clear();
            }
            // It is played as the step before.
            Step::Again => {}
        }
        Ok(())
    }

    async fn end(&mut self) -> Outcome {
        // The snapshot reads the clock without writing it, so the model's time must be its time.
        self.apply(&Step::Sweep).await?;
        self.whole().await?;
        self.places().await?;
        self.followed().await
    }
}

impl<'a> QueueHistory<'a> {
    /// Before its first step, on an empty store.
    pub async fn begin(world: &'a TimedStore, base: &Base) -> Self {
        let rules = base.rules();
        let file = model_rules(&rules);
        Self {
            world,
            queue: world.queue("history", rules.clone()).await,
            model: model::Queue::new(file.clone(), world.now()),
            rules,
            file,
            overrides: Overrides::default(),
            seen: Overrides::default(),
            epoch: None,
            kept: None,
            places: BTreeMap::new(),
            positions: BTreeMap::new(),
            version: None,
            departed: None,
            slot: None,
            reach: 4 * base.max_waiting,
            watched: Watched::new(base.followed, base.schedulers, world.now()),
        }
    }

    /// One tick to its end, by a scheduler that knows this of the target.
    pub async fn tick(&mut self, health: Health) -> Outcome {
        loop {
            let tick = self.queue.promote(&health).await?;
            let wall = self.world.now();
            self.refresh();
            let returned = model::Tick {
                promoted: tick.promoted,
                away: tick.away,
                abandoned: tick.abandoned,
                step: tick.step.and_then(step_of),
            };
            self.model.promote(wall, &known(&health), returned)?;
            if !tick.more {
                let held_back = self.model.held_back();
                return differ("places held back without a reason", &held_back, &false);
            }
        }
    }

    /// The whole as the snapshot shows it.
    async fn whole(&self) -> Outcome {
        let snapshot = self.queue.snapshot().await?;
        let (ready, active) = self.model.admitted();
        let returned = [snapshot.depth, snapshot.away, snapshot.ready, snapshot.active];
        differ("snapshot", &returned, &[self.model.depth(), self.model.away(), ready, active])?;
        let head_wait = self.model.head_wait().map(Duration::from_millis);
        if head_wait.is_none_or(|wait| wait < KNOWN_WAIT) {
            differ("snapshot: head", &snapshot.head_wait, &head_wait)?;
        }
        let totals = self.model.totals();
        let millis = |(wait, count): (&u64, &u64)| (*count, Duration::from_millis(*wait));
        let waits: Vec<_> = totals.waits.iter().map(millis).collect();
        let model = Totals {
            at_once: totals.at_once,
            missed: totals.missed,
            waits: Waits::of(&waits, 0).folded(KNOWN_WAIT),
        };
        let waits = snapshot.totals.waits.folded(KNOWN_WAIT);
        differ("totals", &Totals { waits, ..snapshot.totals }, &model)
    }

    /// The line in outline. Each place of a short line is a point of it.
    async fn sketch(&mut self, heard: bool) -> Outcome {
        let sketch = self.queue.sketch(heard, Duration::ZERO).await?;
        let departures = self.queue.departures(self.departed).await?;
        let model = self.departed.and_then(|last| {
            let of_this_epoch = last.epoch == departures.upto.epoch;
            self.model.departures(last.count).filter(|_| of_this_epoch)
        });
        differ("departures", &departures.tickets, &model)?;
        self.departed = Some(departures.upto);
        differ("departures: uncounted", &departures.upto.uncounted, &0)?;
        let (slot, check_in, places) = self.model.sketch(self.world.now(), heard);
        differ("sketch: slot", &sketch.slot.unwrap_or(0), &slot)?;
        differ("sketch: check-in period", &sketch.check_in, &check_in)?;
        let front = places.first().map(|(ticket, ..)| *ticket);
        differ("sketch: front", &sketch.front(), &front)?;
        let seen = self.queue.seen(front.unwrap_or(0)).await?;
        differ("seen: slot", &seen.as_ref().map_or(0, |seen| seen.slot.opened_at), &slot)?;
        for (ticket, position, turn) in places {
            let is_seen = seen.as_ref().is_some_and(|seen| seen.has(ticket));
            // Further back a record can have it.
            let is_near =
                self.model.present_slot().is_none_or(|(_, base)| ticket < base + self.reach);
            if is_near || is_seen {
                differ("seen", &is_seen, &self.model.was_seen(ticket))?;
            }
            let place = sketch.place(ticket).ok_or("sketch: no place")?;
            differ("sketch: position", &place.position(), &position)?;
            let shown = before(&place);
            differ("sketch: before it", &shown, &shown.map(|_| turn))?;
        }
        self.slot = seen.zip(self.model.present_slot());
        Ok(())
    }

    /// A process reports who was seen in the slot that it has read last.
    async fn mark_seen(&mut self, whom: &[(u64, usize)]) -> Outcome {
        let Some((seen, slot)) = &self.slot else { return Ok(()) };
        let mut polled = seen.polled();
        let places = whom.iter().filter_map(|(who, which)| self.ref_of(*who, *which));
        let tickets = places.filter(|of| of.epoch == seen.slot.epoch).map(|of| of.ticket);
        let tickets: Vec<_> = tickets.filter(|ticket| polled.add(*ticket)).collect();
        differ("polled", &tickets.iter().all(|ticket| *ticket >= slot.1), &true)?;
        if tickets.is_empty() {
            return Ok(());
        }
        let marked = self.queue.mark_seen(&polled).await?;
        let model = self.epoch == Some(seen.slot.epoch) && self.model.mark_seen(*slot, &tickets);
        differ("mark_seen", &marked, &model)
    }

    /// The line, read page by page: all of it, and each state alone.
    async fn places(&mut self) -> Outcome {
        let mut shown = self.model.shown(self.world.now());
        for (_, _, place) in &mut shown {
            if let Shown::Ready { ends } | Shown::Active { ends } = place {
                *ends = self.up(*ends);
            }
        }
        for state in [None].into_iter().chain(Status::ALL.map(Some)) {
            let (mut listed, mut after) = (Vec::new(), 0);
            loop {
                let page = self.queue.places(state, after, 3).await?;
                for (of, place) in page.places {
                    let ends = self.model.now() + place.expires_in.map_or(0, micros);
                    let place = match place.status {
                        Inspected::Here(Status::Waiting) => Shown::Waiting,
                        Inspected::Here(Status::Ready) => Shown::Ready { ends },
                        Inspected::Here(Status::Active) => Shown::Active { ends },
                        Inspected::Here(Status::Away) => Shown::Away,
                        Inspected::Gone(reason) => return Err(format!("gone: {reason:?}").into()),
                    };
                    listed.push((of.id.0, of.ticket, place));
                }
                match page.next {
                    Some(next) if next > after => after = next,
                    Some(next) => {
                        return Err(format!("the page behind {after} leads to {next}").into());
                    }
                    None => break,
                }
            }
            let wanted = |(_, _, place): &&(model::Id, u64, Shown)| match state {
                None => true,
                Some(Status::Waiting) => *place == Shown::Waiting,
                Some(Status::Ready) => matches!(place, Shown::Ready { .. }),
                Some(Status::Active) => matches!(place, Shown::Active { .. }),
                Some(Status::Away) => *place == Shown::Away,
            };
            let model: Vec<_> = shown.iter().filter(wanted).copied().collect();
            differ(&format!("places {state:?}"), &listed, &model)?;
        }
        Ok(())
    }
}
