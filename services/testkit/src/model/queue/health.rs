//! Promotion that follows the health of a target, and the batch that adapts to its outcomes.

use super::{Queue, STEP};

/// The states of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the words of the specification")]
pub enum BreakerState {
    Closed,
    Open,
    HalfOpen,
}

/// Why an adaptive batch took a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names of the operation's reply")]
pub enum Step {
    Raised,
    Highest,
    Unused,
    CutSuccess,
    CutP95,
}

/// Everything that was ever reported: successes, failures, and latencies by their bounds.
pub type Totals = (u64, u64, [u64; 14]);

/// A target as a scheduler read it; times in microseconds.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the words of the specification")]
pub struct BreakerReading {
    pub state: BreakerState,
    pub version: u64,
    pub probes: u64,
    pub open_for: u64,
    pub totals: Totals,
}

/// The rules of an adaptive batch.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the names of the configuration")]
pub struct Adaptive {
    pub min_batch: u64,
    pub max_batch: u64,
    /// In millionths.
    pub success_target: u64,
    /// The latencies of so many bounds are within the aim; `None`: there is none.
    pub quick: Option<usize>,
    pub min_samples: u64,
}

impl Adaptive {
    /// Successes, failures, calls within the aim and past it.
    fn split(&self, (successes, failures, latencies): &Totals) -> [u64; 4] {
        let (quick, slow) = self.quick.map_or((0, 0), |within| {
            let (quick, slow) = latencies.split_at(within);
            (quick.iter().sum(), slow.iter().sum())
        });
        [*successes, *failures, quick, slow]
    }
}

/// What a scheduler says of the target with a tick.
#[derive(Clone, Copy, Debug, Default)]
#[expect(missing_docs, reason = "the names of the operation's arguments")]
pub struct Health {
    pub reading: Option<BreakerReading>,
    pub adaptive: Option<Adaptive>,
}

/// What the queue keeps of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Followed {
    /// The newest reading, and the tick that gave it last.
    reading: Option<(BreakerReading, u64)>,
    ramp_at: Option<u64>,
    /// Every place promoted while the target was probed.
    probes: Vec<u64>,
    /// Those that were promoted at a time.
    lots: Vec<(u64, u64)>,
    /// The adaptive batch, and when a tick named its bounds last.
    batch: Option<(u64, u64)>,
    /// Since when, and from which totals on, outcomes count.
    counted_from: Option<(u64, Totals)>,
    /// Whether the batch may have been used up since: the model knows no slices.
    used: bool,
}

impl Queue {
    /// The state of the target, while a reading of it is in force.
    pub fn health(&self) -> Option<BreakerState> {
        let (reading, at) = self.followed.reading?;
        (self.now - at <= STEP).then_some(reading.state)
    }

    /// Whether places are promoted at all.
    pub(super) fn promotes(&self) -> bool {
        !self.rules.paused && self.health() != Some(BreakerState::Open)
    }

    /// Whether it is for the health of the target alone that none is, or only a few to find out.
    pub fn is_paused_by_health(&self) -> bool {
        let ill = matches!(self.health(), Some(BreakerState::Open | BreakerState::HalfOpen));
        !self.rules.paused && ill
    }

    /// How many quarters of the pace the health of the target leaves.
    pub fn health_quarters(&self) -> Option<u64> {
        Some(if self.health()? == BreakerState::Closed { self.quarters() } else { 0 })
    }

    /// The adaptive batch, while its bounds are named.
    pub fn adaptive_batch(&self) -> Option<u64> {
        let (batch, seen) = self.followed.batch?;
        (self.now - seen <= STEP).then_some(batch)
    }

    /// How many quarters of the pace are in force.
    fn quarters(&self) -> u64 {
        match (self.health(), self.followed.ramp_at, self.followed.reading) {
            (Some(BreakerState::Closed), Some(since), Some((reading, _))) => {
                (1 + (self.now - since) / reading.open_for).min(4)
            }
            _ => 4,
        }
    }

    /// The capacity and the batch in force; 0: no such rule.
    pub(super) fn pace(&self) -> (u64, u64) {
        let part = |whole: u64| if whole == 0 { 0 } else { (whole * self.quarters() / 4).max(1) };
        let adaptive = self.adaptive_batch().filter(|_| !self.rules.batch_overridden);
        let batch = adaptive.unwrap_or(self.rules.batch);
        if batch > 0 { (self.rules.capacity, part(batch)) } else { (part(self.rules.capacity), 0) }
    }

    /// How many places may find out how the target is; `None`: it is not probed.
    pub(super) fn probes_left(&self) -> Option<u64> {
        let (reading, _) = self.followed.reading?;
        (self.health()? == BreakerState::HalfOpen)
            .then(|| reading.probes.saturating_sub(self.lot(reading.open_for)))
    }

    fn lot(&self, open_for: u64) -> u64 {
        let (mut count, mut after) = (0, self.now);
        for (at, places) in self.followed.lots.iter().rev() {
            if after - at >= open_for {
                break;
            }
            (count, after) = (count + places, *at);
        }
        count
    }

    /// So many are about to be promoted.
    pub(super) fn probe(&mut self, promoted: u64) -> Result<(), String> {
        let Some((reading, _)) = self.followed.reading else { return Ok(()) };
        if promoted == 0 || self.health() != Some(BreakerState::HalfOpen) {
            return Ok(());
        }
        let from = self.now.saturating_sub(reading.open_for);
        let before = self.followed.probes.iter().filter(|at| **at > from).count() as u64;
        if before + promoted > reading.probes {
            return Err(format!("{promoted} promoted after {before} in open_for, to probe"));
        }
        self.followed.lots.push((self.now, promoted));
        self.followed.probes.extend((0..promoted).map(|_| self.now));
        Ok(())
    }

    /// A tick, with the health that its scheduler passed and the step of the batch that the script
    /// returned.
    pub(super) fn follow(&mut self, health: &Health, returned: Option<Step>) -> Result<(), String> {
        if let Some(reading) = health.reading {
            let before = self.health();
            match &mut self.followed.reading {
                Some((known, _)) if before.is_some() && reading.version < known.version => {}
                Some((known, at)) if before.is_some() && reading.version == known.version => {
                    let state = known.state;
                    (*known, *at) = (BreakerReading { state, ..reading }, self.now);
                }
                newest => {
                    let known = newest.replace((reading, self.now));
                    let left = known.is_some_and(|(known, _)| known.state != BreakerState::Closed);
                    if left && reading.state == BreakerState::Closed {
                        self.followed.ramp_at = Some(self.now);
                    }
                }
            }
        }
        let step = match &health.adaptive {
            Some(rules) => self.adapt(rules, health.reading.map(|it| it.totals), returned)?,
            None => None,
        };
        if step == returned {
            Ok(())
        } else {
            Err(format!("step of the batch: returned {returned:?}, the model says {step:?}"))
        }
    }

    fn adapt(
        &mut self,
        rules: &Adaptive,
        totals: Option<Totals>,
        returned: Option<Step>,
    ) -> Result<Option<Step>, String> {
        let Adaptive { min_batch, max_batch, .. } = *rules;
        let lapsed = self.adaptive_batch().is_none();
        let batch = self.followed.batch.map_or(self.rules.batch, |(batch, _)| batch);
        let batch = batch.clamp(min_batch, max_batch);
        self.followed.batch = Some((batch, self.now));
        let judges = self.promotes()
            && self.health() == Some(BreakerState::Closed)
            && self.quarters() == 4
            && !self.rules.batch_overridden;
        if lapsed || !judges {
            self.followed.counted_from = None;
        }
        let (true, Some(totals)) = (judges, totals) else { return Ok(None) };
        let Some((since, base)) = self.followed.counted_from else {
            self.count_from(totals);
            return Ok(None);
        };
        if self.now - since < self.rules.interval {
            return Ok(None);
        }
        let (total, base) = (rules.split(&totals), rules.split(&base));
        if total.iter().zip(base).any(|(total, base)| *total < base) {
            if self.now - since > STEP {
                self.count_from(totals);
            }
            return Ok(None);
        }
        let [successes, failures, quick, slow] =
            std::array::from_fn(|kind| total[kind] - base[kind]);
        if successes + failures < rules.min_samples {
            return Ok(None);
        }
        let cut = (batch * 4 / 5).max(min_batch);
        let raised = (batch + ((max_batch - min_batch) / 20).max(1)).min(max_batch);
        let (batch, step) = if successes * 1_000_000 < rules.success_target * (successes + failures)
        {
            (cut, Step::CutSuccess)
        } else if quick * 20 < (quick + slow) * 19 {
            (cut, Step::CutP95)
        } else if matches!(returned, None | Some(Step::Unused)) {
            (batch, Step::Unused)
        } else if !self.followed.used {
            return Err("the batch rose although it was not used up".into());
        } else if batch == max_batch {
            (batch, Step::Highest)
        } else {
            (raised, Step::Raised)
        };
        self.followed.batch = Some((batch, self.now));
        self.count_from(totals);
        Ok(Some(step))
    }

    fn count_from(&mut self, totals: Totals) {
        self.followed.counted_from = Some((self.now, totals));
        self.followed.used = false;
    }

    /// A tick is over: whether it may have left places for want of rate alone.
    pub(super) fn note_use(&mut self) {
        let nearly_all = 4 * self.window() >= 3 * self.pace().1;
        self.followed.used |= self.depth() > 0 && self.room() > 0 && nearly_all;
    }
}
