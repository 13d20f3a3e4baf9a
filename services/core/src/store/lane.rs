//! Batching: what arrives while a call is in flight shares the next one.
//!
//! A lane has one call in flight. No timer holds a request back: a lone one goes at once, except
//! in a lane that [gathers](Batch::gathers_for). The lane is bounded, and beyond the bound it
//! refuses at once. Every item is answered by its deadline, with one timer for the whole lane.

use std::{
    borrow::Cow,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    sync::Arc,
    time::Duration,
};

use redis::Value;
use tokio::{
    sync::{mpsc, oneshot},
    time::{Instant, timeout_at},
};

use super::{
    Args, Error, Repeat, Script, Store,
    metrics::Operation,
    pending::{InFlight, Pending, Slot, Waiting},
};

/// One batched operation.
pub trait Batch: Send + Sync + 'static {
    /// What a caller asks for.
    type Item: Send + Sync + 'static;
    /// What a caller gets.
    type Outcome: Send + 'static;
    /// At most so many items share a call, or so much of their [`weight`](Self::weight).
    const MAX_ITEMS: usize;

    /// The script that decides all items of a call, in order.
    fn script(&self) -> &'static Script;

    /// Its keys for these items. On Cluster all keys of a call share a hash tag.
    fn keys(&self, items: &[Self::Item]) -> Cow<'_, Args>;

    /// Its arguments for these items.
    fn args(&self, items: &[Self::Item]) -> Args;

    /// The outcomes, one for each item and in their order. An item's failure is its own; the outer
    /// error is for a reply that cannot be read at all.
    fn outcomes(
        &self,
        reply: Value,
        items: &[Self::Item],
    ) -> Result<Vec<Result<Self::Outcome, Error>>, Error>;

    /// How long the first item of a call waits for others to share it: zero where a visitor waits
    /// for an answer that only the store knows.
    fn gathers_for(&self) -> Duration {
        Duration::ZERO
    }

    /// As how many items it counts: more than one where it costs the store so many times as much.
    /// An item that is too heavy for any company goes alone.
    fn weight(_item: &Self::Item) -> usize {
        1
    }

    /// What to do about a call of these items whose effect is unknown; idempotent unless
    /// overridden.
    fn repeat(&self, _items: &[Self::Item]) -> Repeat {
        Repeat::IfUnknown
    }
}

/// The queue of one batched operation. A clone is another handle; the lane ends with the last.
pub struct Lane<B: Batch> {
    sender: mpsc::Sender<Waiting<B>>,
    store: Store,
    script: &'static Script,
    operation: Arc<Operation>,
}

impl<B: Batch> Clone for Lane<B> {
    fn clone(&self) -> Self {
        Self {
            sender: self.sender.clone(),
            store: self.store.clone(),
            script: self.script,
            operation: self.operation.clone(),
        }
    }
}

impl<B: Batch> Lane<B> {
    /// Starts a lane in which at most `bound` items wait. Must be called inside a Tokio runtime.
    pub fn start(store: &Store, batch: B, bound: usize) -> Self {
        let (sender, receiver) = mpsc::channel(bound.max(1));
        let script = batch.script();
        let operation = store.operation(script);
        let runner = Runner {
            store: store.clone(),
            operation: operation.clone(),
            batch,
            pending: Pending::new(receiver),
        };
        tokio::spawn(runner.run());
        Self { sender, store: store.clone(), script, operation }
    }

    /// The script of its batches.
    pub fn script(&self) -> &'static Script {
        self.script
    }

    /// Asks for one item; answered within the request's budget. A caller may give up at any time.
    pub async fn submit(&self, item: B::Item) -> Result<B::Outcome, Error> {
        let (answer, answered) = oneshot::channel();
        let deadline = Instant::now() + self.store.config().request_timeout;
        match self.sender.try_send(Waiting { item, slot: Slot { deadline, answer } }) {
            Ok(()) => {}
            Err(mpsc::error::TrySendError::Full(_)) => {
                self.store.ended(&self.operation, Some(&Error::Overloaded), 1);
                return Err(Error::Overloaded);
            }
            Err(mpsc::error::TrySendError::Closed(_)) => {
                return Err(Error::Unavailable("the lane has ended".to_owned()));
            }
        }
        answered.await.unwrap_or_else(|_| Err(Error::Unknown("the lane has ended".to_owned())))
    }
}

/// What came of a call: an outcome for each item, or one error for all.
type CallOutcome<B> = Result<Vec<Result<<B as Batch>::Outcome, Error>>, Error>;

/// The task of a lane.
struct Runner<B: Batch> {
    store: Store,
    operation: Arc<Operation>,
    batch: B,
    pending: Pending<B>,
}

impl<B: Batch> Runner<B> {
    async fn run(mut self) {
        let mut taken = Vec::with_capacity(B::MAX_ITEMS);
        let mut items = Vec::with_capacity(B::MAX_ITEMS);
        let mut in_flight = InFlight::default();
        while self.pending.take(&mut taken).await {
            let gathers_for = self.batch.gathers_for();
            if !gathers_for.is_zero() && taken.len() < B::MAX_ITEMS {
                tokio::time::sleep(gathers_for).await;
                self.pending.add(&mut taken);
            }
            let now = Instant::now();
            for Waiting { item, slot } in taken.drain(..) {
                if slot.answer.is_closed() {
                    // The caller went away before anything was sent.
                } else if slot.deadline <= now {
                    self.answer(slot, Err(Error::Overloaded));
                } else {
                    items.push(item);
                    in_flight.push(slot);
                }
            }
            if !items.is_empty() {
                let outcomes = match self.call(&items, &mut in_flight).await {
                    Ok(reply) => self.outcomes(reply, &items),
                    Err(error) => Err(error),
                };
                self.distribute(outcomes, &mut in_flight);
                items.clear();
                // Callers that are ready join the next call: a larger one costs less per item.
                tokio::task::yield_now().await;
            }
        }
    }

    /// One outcome for each item.
    fn outcomes(&self, reply: Value, items: &[B::Item]) -> CallOutcome<B> {
        let outcomes = guarded(&self.batch, "outcomes", |batch| batch.outcomes(reply, items))??;
        if outcomes.len() == items.len() {
            Ok(outcomes)
        } else {
            let detail = format!("{} outcomes for {} items", outcomes.len(), items.len());
            Err(mistake(&self.batch, detail))
        }
    }

    /// Sends, and meanwhile answers those whose time is up.
    async fn call(
        &mut self,
        items: &[B::Item],
        in_flight: &mut InFlight<B::Outcome>,
    ) -> Result<Value, Error> {
        let Self { store, operation, batch, pending } = self;
        operation.batched(items.len());
        let (keys, args, repeat) = guarded(batch, "args", |batch| {
            (batch.keys(items), batch.args(items), batch.repeat(items))
        })?;
        let begun = Instant::now();
        // The newest item's deadline; those before it are answered at their own.
        let last = in_flight.last_deadline().unwrap_or(begun);
        let call = store.call_by(batch.script(), operation, &keys, &args, repeat, last);
        let mut call = pin!(call);
        let mut next = in_flight.next_deadline();
        loop {
            let Some(look) = next else { return call.await };
            match timeout_at(look, call.as_mut()).await {
                Ok(reply) => return reply,
                Err(_) => {
                    let now = Instant::now();
                    let expired = Error::Unknown("no answer in time".to_owned());
                    for slot in in_flight.expired(now) {
                        store.ended(operation, Some(&expired), 1);
                        let _ = slot.answer.send(Err(expired.clone()));
                    }
                    for slot in pending.expired(now) {
                        store.ended(operation, Some(&Error::Overloaded), 1);
                        let _ = slot.answer.send(Err(Error::Overloaded));
                    }
                    next =
                        in_flight.next_deadline().into_iter().chain(pending.next_deadline()).min();
                }
            }
        }
    }

    fn distribute(&self, outcomes: CallOutcome<B>, in_flight: &mut InFlight<B::Outcome>) {
        match outcomes {
            Ok(outcomes) => {
                for (slot, outcome) in in_flight.drain().zip(outcomes) {
                    if let Some(slot) = slot {
                        self.answer(slot, outcome);
                    }
                }
            }
            Err(error) => {
                for slot in in_flight.drain().flatten() {
                    self.answer(slot, Err(error.clone()));
                }
            }
        }
    }

    fn answer(&self, slot: Slot<B::Outcome>, result: Result<B::Outcome, Error>) {
        self.store.ended(&self.operation, result.as_ref().err(), 1);
        // A caller that went away in flight is no concern of the others.
        let _ = slot.answer.send(result);
    }
}

/// Runs the batch's code. A panic in it fails this call, not the lane.
fn guarded<'a, B: Batch, T>(
    batch: &'a B,
    what: &str,
    code: impl FnOnce(&'a B) -> T,
) -> Result<T, Error> {
    // What the code left half done goes with the call: a batch has no state of its own here.
    catch_unwind(AssertUnwindSafe(|| code(batch)))
        .map_err(|_| mistake(batch, format!("{what} panicked")))
}

fn mistake<B: Batch>(batch: &B, detail: String) -> Error {
    Error::Reply { operation: batch.script().name, detail }
}
