//! What the scheduler does, any number of them at once: promote, sweep, and the view of the whole.

use std::fmt;
use std::time::Duration;

use super::health::{AdaptiveBatch, Health, StepReason};
use super::outlook::{Outlook, QUARTERS};
use super::overrides;
use super::place::{Epoch, Ticket, Wait};
use super::rules::{Override, Rules, State};
use super::totals::Totals;
use super::{Queue, scripts};
use crate::breaker;
use crate::store::{Error, Repeat, Reply};

/// What one tick of promotion did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Promotion {
    /// Places made ready.
    pub promoted: u64,
    /// Another call would promote more now.
    pub more: bool,
    /// How late the slice or batch was.
    pub lag: Duration,
    /// Heads of the line skipped because they were not seen for `idle_ttl`.
    pub away: u64,
    /// Heads of the line that were never polled.
    pub abandoned: u64,
    /// The adaptive batch took a step, and why.
    pub step: Option<StepReason>,
    /// How long the promoted waited, to a second: (places, wait).
    pub waits: Vec<(u64, Duration)>,
    /// The estimate that every 64th of them got at the join, and the true wait.
    pub estimates: Vec<(Duration, Duration)>,
}

/// What one sweep cleared away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sweep {
    /// Turns that were not claimed in time.
    pub unclaimed: u64,
    /// Sessions that ended.
    pub expired: u64,
    /// Places skipped from now on.
    pub away: u64,
    /// Places gone: never polled, or away for `keep_ttl`.
    pub abandoned: u64,
    /// Another call would find more that has ended, or more places to be passed over.
    pub more: bool,
}

/// A queue as a whole.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// The present life of the queue.
    pub epoch: Epoch,
    /// The state in force, opening times applied.
    pub state: State,
    /// What the operator gave as the reason for the state.
    pub reason: Option<String>,
    /// Places waiting and present.
    pub depth: u64,
    /// Places waiting but not seen for `idle_ttl`.
    pub away: u64,
    /// Places whose turn has come, unclaimed.
    pub ready: u64,
    /// Places claimed.
    pub active: u64,
    /// Turns and sessions that have ended and are not cleared away yet.
    pub unswept: u64,
    /// The last ticket given; 0 when there is none.
    pub last_ticket: Ticket,
    /// Turns a second while places waited, in the last five minutes of such time or the last 20
    /// turns; absent when unknown.
    pub rate_per_second: Option<f64>,
    /// The store's clock, in microseconds since 1970.
    pub store_time_us: u64,
    /// When the bypass ends, in microseconds since 1970 by the store's clock.
    pub bypass_until_us: Option<u64>,
    /// For the health of its target alone nothing is promoted, or only its probes are.
    pub paused_by_health: bool,
    /// The state of the target, as the schedulers read it last; `None` when they follow none, or
    /// cannot read it.
    pub health: Option<breaker::State>,
    /// The part of the pace that this leaves: 0 while it is open or half open, then 0.25, 0.5, 0.75
    /// and 1; `None` as the state is.
    pub health_pace: Option<f64>,
    /// The adaptive batch, while schedulers name its bounds.
    pub adaptive: Option<AdaptiveBatch>,
    /// The expected wait of a visitor who joins now. Absent while no visitor is promoted, or if it
    /// is unknown.
    pub expected_wait: Option<Duration>,
    /// How long the head of the line has waited, to the second. Absent if no visitor waits, or if
    /// the time of the join is unknown.
    pub head_wait: Option<Duration>,
    /// What the queue has done since it was created.
    pub totals: Totals,
    /// The epoch with which they began at 0; `None` if version 0.2.0 began it. A reset keeps them.
    pub totals_of: Option<Epoch>,
    /// The revision of the rules.
    pub revision: Revision,
    /// The rules in force, overrides applied. The adaptive batch is none of them.
    pub rules: Rules,
    /// The rules without overrides, as the store has them.
    pub file: Rules,
    /// The overrides in force.
    pub overridden: Vec<Overridden>,
}

/// The revision of a queue's rules: each write that changes them makes another one, and so does the
/// end of an override.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Revision {
    /// That of the file's.
    pub file: u64,
    /// That of the overrides.
    pub overrides: u64,
    /// How many overrides are in force.
    pub in_force: u64,
}

impl Revision {
    /// Reads a text that `Display` has written; `None` for any other.
    pub fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.split('-').map(|number| number.parse().ok());
        let mut next = || numbers.next()?;
        let revision = Self { file: next()?, overrides: next()?, in_force: next()? };
        (revision.to_string() == text).then_some(revision)
    }

    pub(super) fn read(parts: &[u64], in_force: u64, reply: &Reply) -> Result<Self, Error> {
        let [file, overrides] = *parts else {
            return Err(reply.error(format!("{} parts of rules", parts.len())));
        };
        Ok(Self { file, overrides, in_force })
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}-{}", self.file, self.overrides, self.in_force)
    }
}

/// An override in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overridden {
    /// The rule and its value; never taken back.
    pub rule: Override,
    /// Its end, in seconds since 1970 by the store's clock; `None` until it is taken back.
    pub until: Option<u64>,
}

impl Queue {
    /// One tick: queue time moves on and the head of the line is promoted as far as the rules
    /// and the health of the target allow. Without a reading the last one stays in force for 5 s of
    /// queue time.
    pub async fn promote(&self, health: &Health) -> Result<Promotion, Error> {
        let mut args = self.entity().args();
        health.push_to(&mut args);
        let mut reply = self.entity().ask(&scripts::PROMOTE, args, Repeat::Never).await?;
        let mut promotion = Promotion {
            promoted: reply.count()?,
            more: reply.count()? == 1,
            lag: Duration::from_micros(reply.count()?),
            away: reply.count()?,
            abandoned: reply.count()?,
            step: StepReason::numbered(reply.count()?),
            ..Promotion::default()
        };
        for _ in 0..reply.count()? {
            promotion.waits.push((reply.count()?, Duration::from_millis(reply.count()?)));
        }
        for _ in 0..reply.count()? {
            let estimate = Duration::from_millis(reply.count()?);
            promotion.estimates.push((estimate, Duration::from_millis(reply.count()?)));
        }
        Ok(promotion)
    }

    /// Clears away what has ended, a bounded part of it.
    pub async fn sweep(&self) -> Result<Sweep, Error> {
        let mut reply =
            self.entity().ask(&scripts::SWEEP, self.entity().args(), Repeat::Never).await?;
        Ok(Sweep {
            unclaimed: reply.count()?,
            expired: reply.count()?,
            away: reply.count()?,
            abandoned: reply.count()?,
            more: reply.count()? == 1,
        })
    }

    /// The queue as a whole. A store that holds older rules than were seen gets the newest first.
    pub async fn snapshot(&self) -> Result<Snapshot, Error> {
        self.entity().snapshot(|| self.look()).await
    }

    /// The queue as a whole, and whether the store holds the newest rules that were seen.
    async fn look(&self) -> Result<(Snapshot, bool), Error> {
        let mut reply = self.entity().ask_for_all(&scripts::SNAPSHOT).await?;
        let epoch = Epoch(reply.exactly()?);
        let store_time_us = reply.count()?;
        let state = reply.count()?;
        let state = State::numbered(state).ok_or_else(|| reply.error(format!("state {state}")))?;
        let (depth, away) = (reply.count()?, reply.count()?);
        let (ready, active) = (reply.count()?, reply.count()?);
        let unswept = reply.count()?;
        let last_ticket = reply.count()?;
        #[expect(clippy::cast_precision_loss, reason = "a rate for people to read")]
        let rate_per_second = reply.known()?.map(|rate| rate as f64 / 1e6);
        let bypass_until_us = Some(reply.count()?).filter(|until| *until > 0);
        let paused_by_health = reply.count()? == 1;
        let health = breaker::State::numbered(reply.count()?);
        let quarters = u8::try_from(reply.count()?).unwrap_or(u8::MAX);
        let health_pace = health.map(|_| f64::from(quarters) / QUARTERS);
        let adaptive = adaptive(&mut reply)?;
        let outlook = Outlook::read_ahead(&mut reply)?;
        let expected_wait = outlook.and_then(|outlook| match outlook.wait(depth + 1) {
            Wait::Expected { eta, .. } => Some(eta),
            Wait::Unknown { .. } => None,
        });
        let head_wait = reply.known()?.map(Duration::from_millis);
        let totals = Totals::read(&mut reply)?;
        let totals_of = reply.bytes()?.try_into().ok().map(Epoch);
        let (has_all, revisions) = self.entity().newest().read(&mut reply)?;
        let (rules, reason) = overrides::read(&mut reply)?;
        let (mut overridden, mut configured) = (Vec::new(), Vec::new());
        while !reply.is_empty() {
            let (name, value) = (reply.text()?, reply.text()?);
            let rule = overrides::read_override(&name, &value);
            let rule = rule.ok_or_else(|| reply.error(format!("override {name} = {value:?}")))?;
            let until = Some(reply.count()? / 1_000_000).filter(|until| *until > 0);
            configured.push((rule.rule(), reply.text()?));
            overridden.push(Overridden { rule, until });
        }
        let file =
            overrides::file_rules(&rules, &configured).map_err(|detail| reply.error(detail))?;
        let snapshot = Snapshot {
            epoch,
            state,
            reason,
            depth,
            away,
            ready,
            active,
            unswept,
            last_ticket,
            rate_per_second,
            store_time_us,
            bypass_until_us,
            paused_by_health,
            health,
            health_pace,
            adaptive,
            expected_wait,
            head_wait,
            totals,
            totals_of,
            revision: Revision::read(&revisions, overridden.len() as u64, &reply)?,
            rules,
            file,
            overridden,
        };
        Ok((snapshot, has_all))
    }
}

/// The adaptive batch with its bounds, and why it took its last step; a batch of 0 is none.
fn adaptive(reply: &mut Reply) -> Result<Option<AdaptiveBatch>, Error> {
    let (batch, min_batch, max_batch) = (reply.count()?, reply.count()?, reply.count()?);
    let reason = StepReason::numbered(reply.count()?).unwrap_or(StepReason::Start);
    Ok((batch > 0).then_some(AdaptiveBatch { batch, min_batch, max_batch, reason }))
}
