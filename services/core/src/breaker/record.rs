//! Outcomes of calls to a target, batched: those that arrive together share one run of the script,
//! and each is answered with the window after it.

use std::borrow::Cow;

use redis::Value;

use super::permits::PermitId;
use super::reply::Code;
use super::{Breaker, Kept, Rules, Window, latency, scripts};
use crate::operation::{Operation, digest};
use crate::store::{Args, Batch, Clock, Error, Lane, Repeat, Reply, Script, Store};

/// What came of one call to a target, or of several.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// How many succeeded. At least one did or failed, and at most [`Rules::most_outcomes`].
    pub successes: u32,
    /// How many failed.
    pub failures: u32,
    /// How long each of them took, in milliseconds: at most
    /// [`MAX_LATENCY_MS`](super::MAX_LATENCY_MS).
    pub latency_ms: Option<u64>,
    /// Who reports; all without a name are one.
    pub reporter: Option<String>,
    /// The permit that the call had. In half_open an outcome counts as a probe only if its permit
    /// has not ended and was not used before. Without a permit it counts while none is out.
    pub permit: Option<PermitId>,
    /// The caller's name for the report: it counts once, however often it is sent.
    pub id: Option<String>,
}

impl Outcome {
    /// One success, or one failure.
    pub fn of(is_success: bool) -> Self {
        Self::counted(u32::from(is_success), u32::from(!is_success))
    }

    /// So many of each.
    pub fn counted(successes: u32, failures: u32) -> Self {
        Self { successes, failures, ..Self::default() }
    }
}

/// The answer to a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recorded {
    /// It counts, and this is the window with it.
    Counted(Window),
    /// It was counted before, under the same id; this is the window as it is now.
    Repeated(Window),
    /// Its id is that of another report. Nothing was counted.
    Mismatch,
    /// It reports more outcomes than the log takes in one call. Nothing was counted.
    TooMany,
}

impl Breaker {
    /// Reports an outcome.
    ///
    /// One with an id is sent again when its effect is unknown. One without is not: sent again, it
    /// would count again.
    pub async fn record(&self, rules: &Rules, outcome: &Outcome) -> Result<Recorded, Error> {
        let lanes = &self.0.record;
        let item = Item::new(*rules, outcome, &self.0.name);
        let lane = if item.operation.is_some() { &lanes.named } else { &lanes.nameless };
        lane.submit(item).await
    }
}

/// So many keep a call well below a millisecond.
const MOST_ITEMS: usize = 64;

/// The lanes of one target. Reports with and without an id do not share a call, since only one
/// with nothing but ids can be sent again.
pub(super) struct Lanes {
    named: Lane<Records>,
    nameless: Lane<Records>,
}

impl Lanes {
    pub(super) fn start(store: &Store, target: &str, clock: &Clock, bound: usize) -> Self {
        let lane = |named| Lane::start(store, Records::new(target, clock, named), bound);
        Self { named: lane(true), nameless: lane(false) }
    }
}

/// An outcome as the script takes it.
struct Item {
    rules: Rules,
    outcomes: u32,
    outcome: [u8; 17],
    permit: Option<PermitId>,
    operation: Option<Operation>,
}

impl Item {
    fn new(rules: Rules, outcome: &Outcome, target: &str) -> Self {
        let reporter = outcome.reporter.as_deref();
        let reporter = reporter.map_or([0; 8], |name| digest([name.as_bytes()].into_iter()));
        let mut packed = [0; 17];
        packed[..4].copy_from_slice(&outcome.successes.to_be_bytes());
        packed[4..8].copy_from_slice(&outcome.failures.to_be_bytes());
        packed[8] = outcome.latency_ms.map_or(0, latency::number_of);
        packed[9..].copy_from_slice(&reporter);
        let permit = outcome.permit;
        let operation = outcome.id.as_deref().map(|id| {
            let latency_ms = outcome.latency_ms.map(u64::to_be_bytes);
            let latency_ms = latency_ms.as_ref().map_or([].as_slice(), <[u8; 8]>::as_slice);
            let permit = permit.as_ref().map_or([].as_slice(), |permit| permit.0.as_slice());
            Operation::new(&[target.as_bytes()], id, &[&packed, latency_ms, permit])
        });
        let outcomes = outcome.successes.saturating_add(outcome.failures);
        Self { rules, outcomes, outcome: packed, permit, operation }
    }
}

/// Outcomes that share a call.
struct Records {
    target: String,
    keys: Args,
    clock: Clock,
    /// Whether all of them have a name; else none has.
    named: bool,
}

impl Records {
    fn new(target: &str, clock: &Clock, named: bool) -> Self {
        let keys = scripts::RECORD.keys_of(target);
        Self { target: target.to_owned(), keys, clock: clock.clone(), named }
    }
}

impl Batch for Records {
    type Item = Item;
    type Outcome = Recorded;
    const MAX_ITEMS: usize = MOST_ITEMS;

    fn script(&self) -> &'static Script {
        &scripts::RECORD
    }

    fn keys(&self, items: &[Item]) -> Cow<'_, Args> {
        let mut keys = Cow::Borrowed(&self.keys);
        for operation in items.iter().filter_map(|item| item.operation) {
            scripts::RECORD.push_digest_key(keys.to_mut(), &self.target, b'i', &operation.id);
        }
        keys
    }

    fn args(&self, items: &[Item]) -> Args {
        let mut args = Args::with_capacity(2 + items.len(), 64 + 48 * items.len());
        self.clock.push_to(&mut args);
        // Those of the newest: a reload comes between two outcomes, not between two calls.
        if let Some(newest) = items.last() {
            newest.rules.push_to(&mut args);
        }
        let mut packed = Vec::with_capacity(48);
        for item in items {
            packed.clear();
            packed.extend_from_slice(&item.outcome);
            packed.extend(item.operation.iter().flat_map(|operation| operation.fingerprint));
            packed.extend(item.permit.iter().flat_map(|permit| permit.0));
            args.push(packed.as_slice());
        }
        args
    }

    fn outcomes(
        &self,
        reply: Value,
        items: &[Item],
    ) -> Result<Vec<Result<Recorded, Error>>, Error> {
        let mut numbers = Reply::of(scripts::RECORD.name, reply)?.numbers()?;
        let mut recorded = || {
            let code = Code::of(numbers.count()?, &numbers)?;
            let window = Window::read(&mut numbers)?;
            Ok(Ok(match code {
                Code::Ok => Recorded::Counted(window),
                Code::Repeated => Recorded::Repeated(window),
                Code::Mismatch => Recorded::Mismatch,
                Code::TooMany => Recorded::TooMany,
            }))
        };
        let outcomes = items.iter().map(|_| recorded()).collect::<Result<_, _>>()?;
        numbers.end()?;
        Ok(outcomes)
    }

    /// A name is looked up and written. Several outcomes are many members of a log, which may also
    /// have to make room for them.
    fn weight(item: &Item) -> usize {
        let one = if item.operation.is_some() { 2 } else { 1 };
        let is_many = item.rules.kept == Kept::InLog && item.outcomes > 1;
        if is_many { MOST_ITEMS } else { one }
    }

    fn repeat(&self, _items: &[Item]) -> Repeat {
        if self.named { Repeat::IfUnknown } else { Repeat::Never }
    }
}
