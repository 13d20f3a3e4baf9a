//! The waiting room without a cluster: joins one by one, the ticks of a scheduler, the ends of
//! stays. A visitor costs O(log n), a tick O(1) and what it promotes. Times are microseconds.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use tokio_util::sync::CancellationToken;

use super::Simulate;
use super::arrivals::Arrivals;
use super::rate::Rate;
use super::span::micros;
use crate::load::Durations;

/// Between two ticks, as the scheduler spreads its 100 ms.
const TICK: std::ops::RangeInclusive<u64> = 100_000..=120_000;
/// Between two sweeps, as the scheduler spreads its second.
const SWEEP: std::ops::RangeInclusive<u64> = 750_000..=950_000;
/// The most that a tick promotes: 100 calls of 100.
const MOST_OF_A_TICK: u64 = 10_000;
/// How often the state is written down.
const SAMPLE: u64 = 1_000_000;
/// A line that has not been served so long after the last arrival is left standing.
const AFTER_THE_LAST: u64 = 24 * 3_600 * 1_000_000;

/// A second of the run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sample {
    pub joined: u64,
    pub promoted: u64,
    /// What these had waited, in microseconds, summed up.
    pub waited: u64,
    /// Those in line at its end.
    pub depth: u64,
    /// Ready and active at its end.
    pub taken: u64,
}

/// What came of a run.
#[derive(Default)]
pub struct Simulated {
    pub seed: u64,
    /// Of the promoted.
    pub waits: Durations,
    /// Second by second.
    pub samples: Vec<Sample>,
    pub visitors: u64,
    /// Those whom a full line refused.
    pub refused: u64,
    /// Those who left the line, or were skipped in it as inactive.
    pub dropped_out: u64,
    /// Missed turns.
    pub no_shows: u64,
    /// The longest line.
    pub greatest_depth: u64,
    /// Those still in line at the end.
    pub left_standing: u64,
    pub capacity: Option<u64>,
    /// Ready and active, in places × microseconds, while visitors waited.
    pub taken_while_waiting: u64,
    /// How long visitors waited, in microseconds.
    pub waiting_for: u64,
    /// When the last of the line was let in, in microseconds.
    pub line_ended: u64,
    /// Ended before it was over.
    pub interrupted: bool,
}

/// One in line.
struct Waiting {
    joined: u64,
    /// When the queue takes it as gone; never, for most.
    gone: u64,
    /// Away from here on, before the queue knows.
    away: u64,
}

struct Room<'a> {
    args: &'a Simulate,
    random: StdRng,
    rate: Option<Rate>,
    line: VecDeque<Waiting>,
    /// Those who leave the line: when, and their number in it.
    leaving: BinaryHeap<Reverse<(u64, u64)>>,
    /// The number of the first in `line`.
    head: u64,
    depth: u64,
    /// The ends of places that are ready or active.
    ends: BinaryHeap<Reverse<u64>>,
    /// When turns that no visitor takes were promoted, in order.
    untaken: VecDeque<u64>,
    sample: Sample,
    result: Simulated,
}

/// Plays a crowd by these rules; `report` gets each second how many visitors have come in it.
pub fn simulate(
    args: &Simulate,
    arrivals: &Arrivals,
    seed: u64,
    cancelled: &CancellationToken,
    report: impl Fn(u64),
) -> Simulated {
    let mut room = Room::new(args, seed);
    // Not the draws of the room, nor those of a neighbouring seed.
    let times = StdRng::seed_from_u64(!seed);
    let mut coming = arrivals.instants(args.crowd.even, times).peekable();
    let end = micros(arrivals.length()) + AFTER_THE_LAST;
    let (mut now, mut sweep, mut sample) = (0, 0, SAMPLE);
    while now < end && (coming.peek().is_some() || room.depth > 0) && !cancelled.is_cancelled() {
        let before = now;
        now += room.random.random_range(TICK);
        while let Some(at) = coming.next_if(|at| *at <= now) {
            room.join(at);
        }
        room.leave(now);
        if now >= sweep {
            sweep = now + room.random.random_range(SWEEP);
            room.sweep(now);
        }
        room.tick(before, now);
        if now >= sample {
            sample += SAMPLE;
            report(room.sample.joined);
            room.write_down();
        }
    }
    room.write_down();
    Simulated { left_standing: room.depth, interrupted: cancelled.is_cancelled(), ..room.result }
}

impl<'a> Room<'a> {
    fn new(args: &'a Simulate, seed: u64) -> Self {
        let rules = &args.rules;
        let rate = rules.batch.map(|batch| Rate::new(batch, micros(rules.interval), rules.pace));
        Self {
            args,
            random: StdRng::seed_from_u64(seed),
            rate,
            line: VecDeque::new(),
            leaving: BinaryHeap::new(),
            head: 0,
            depth: 0,
            ends: BinaryHeap::new(),
            untaken: VecDeque::new(),
            sample: Sample::default(),
            result: Simulated { seed, capacity: rules.capacity, ..Simulated::default() },
        }
    }

    /// Who finds an empty line, and both rules with room, need not wait.
    fn join(&mut self, now: u64) {
        self.leave(now);
        self.result.visitors += 1;
        self.sample.joined += 1;
        let mut waiting = Waiting { joined: now, gone: u64::MAX, away: u64::MAX };
        let room = self.depth == 0 && self.room(now) > 0;
        if room && self.rate.as_mut().is_none_or(|rate| rate.pass(now)) {
            self.promote(&waiting, now);
            return;
        }
        if self.depth >= self.args.rules.max_waiting {
            self.result.refused += 1;
            return;
        }
        if self.random.random_bool(self.args.crowd.drop_outs) {
            waiting.away = now + self.args.crowd.patience.draw(&mut self.random);
            let silent = self.random.random_bool(self.args.crowd.silent);
            let unseen = if silent { micros(self.args.rules.idle_ttl) } else { 0 };
            waiting.gone = waiting.away + unseen;
            self.leaving.push(Reverse((waiting.gone, self.head + self.line.len() as u64)));
        }
        self.line.push_back(waiting);
        self.depth += 1;
        self.result.greatest_depth = self.result.greatest_depth.max(self.depth);
    }

    /// Those whose time to leave the line has come; the line itself forgets them at its head.
    fn leave(&mut self, now: u64) {
        while let Some(Reverse((at, number))) = self.leaving.peek()
            && *at <= now
        {
            if *number >= self.head {
                self.depth -= 1;
                self.result.dropped_out += 1;
            }
            self.leaving.pop();
        }
    }

    /// Turns that lapsed give their share of the rate back.
    fn sweep(&mut self, now: u64) {
        let claim_ttl = micros(self.args.rules.claim_ttl);
        while let Some(promoted) = self.untaken.front().copied()
            && promoted + claim_ttl <= now
        {
            self.untaken.pop_front();
            if let Some(rate) = &mut self.rate {
                rate.give_back(promoted, now);
            }
        }
    }

    /// Free slots by the capacity.
    fn room(&mut self, now: u64) -> u64 {
        while self.ends.peek().is_some_and(|Reverse(end)| *end <= now) {
            self.ends.pop();
        }
        let taken = self.ends.len() as u64;
        self.args.rules.capacity.map_or(u64::MAX, |capacity| capacity.saturating_sub(taken))
    }

    fn tick(&mut self, before: u64, now: u64) {
        let by_room = self.room(now);
        if self.depth == 0 {
            return;
        }
        self.result.taken_while_waiting += self.ends.len() as u64 * (now - before);
        self.result.waiting_for += now - before;
        let by_rate = self.rate.as_mut().map_or(u64::MAX, |rate| rate.free(now));
        let free = by_rate.min(by_room).min(MOST_OF_A_TICK);
        let mut promoted = 0;
        while promoted < free
            && let Some(first) = self.line.pop_front()
        {
            self.head += 1;
            if first.gone > now {
                promoted += 1;
                self.depth -= 1;
                self.promote(&first, now);
            }
        }
        if let Some(rate) = &mut self.rate {
            rate.spend(promoted, now);
        }
        if promoted > 0 {
            self.result.line_ended = now;
        }
    }

    fn promote(&mut self, visitor: &Waiting, now: u64) {
        let waited = now - visitor.joined;
        self.result.waits.note(Duration::from_micros(waited));
        self.sample.promoted += 1;
        self.sample.waited += waited;
        let claim_ttl = micros(self.args.rules.claim_ttl);
        // Whom the join itself lets in knows at once.
        let knows = visitor.joined == now;
        let after = if knows { 0 } else { self.args.crowd.claims_after.draw(&mut self.random) };
        let comes = visitor.away > now + after
            && after < claim_ttl
            && !self.random.random_bool(self.args.crowd.no_shows);
        let lasts = if comes {
            after
                + self
                    .args
                    .crowd
                    .stay
                    .draw(&mut self.random)
                    .min(micros(self.args.rules.session_max))
        } else {
            self.result.no_shows += 1;
            self.untaken.push_back(now);
            claim_ttl
        };
        self.ends.push(Reverse(now + lasts));
    }

    fn write_down(&mut self) {
        let state = Sample { depth: self.depth, taken: self.ends.len() as u64, ..self.sample };
        self.result.samples.push(state);
        self.sample = Sample::default();
    }
}
