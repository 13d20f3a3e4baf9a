//! Batching: what arrives while a call is in flight shares the next one.
//!
//! A lane has one call in flight. No timer holds a request back: a lone one goes at once. The
//! lane is bounded, and beyond the bound it refuses at once. Every item is answered by its
//! deadline, with one timer for the whole lane.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    sync::Arc,
};

use redis::Value;
use tokio::{
    sync::{mpsc, oneshot},
    time::{Instant, timeout_at},
};

use super::{
    Args, Error, Repeat, Script, Store,
    line::{Flight, Line, Slot, Waiting},
    metrics::Operation,
};

/// One batched operation of one entity, whose keys share a hash tag.
pub trait Batch: Send + Sync + 'static {
    /// What a caller asks for.
    type Item: Send + 'static;
    /// What a caller gets.
    type Outcome: Send + 'static;
    /// At most so many items share a call.
    const MAX_ITEMS: usize;

    /// The script that decides all items of a call, in order.
    fn script(&self) -> &'static Script;

    /// Its keys.
    fn keys(&self) -> &[String];

    /// Its arguments for these items.
    fn args(&self, items: &[Self::Item]) -> Args;

    /// The outcomes, one for each item and in their order. An item's failure is its own; the outer
    /// error is for a reply that cannot be read at all.
    fn outcomes(
        &self,
        reply: Value,
        items: &[Self::Item],
    ) -> Result<Vec<Result<Self::Outcome, Error>>, Error>;

    /// What to do about a call whose effect is unknown; idempotent unless said otherwise.
    fn repeat(&self) -> Repeat {
        Repeat::IfUnknown
    }
}

/// The way to one batched operation. A clone is another handle; the lane ends with the last.
pub struct Lane<B: Batch> {
    sender: mpsc::Sender<Waiting<B>>,
    store: Store,
    operation: Arc<Operation>,
}

impl<B: Batch> Clone for Lane<B> {
    fn clone(&self) -> Self {
        Self {
            sender: self.sender.clone(),
            store: self.store.clone(),
            operation: self.operation.clone(),
        }
    }
}

impl<B: Batch> Lane<B> {
    /// Starts a lane in which at most `bound` items wait. Must be called inside a Tokio runtime.
    pub fn start(store: &Store, batch: B, bound: usize) -> Self {
        let (sender, receiver) = mpsc::channel(bound.max(1));
        let operation = store.operation(batch.script());
        let runner = Runner {
            store: store.clone(),
            operation: operation.clone(),
            batch,
            line: Line::new(receiver),
        };
        tokio::spawn(runner.run());
        Self { sender, store: store.clone(), operation }
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
type Outcomes<B> = Result<Vec<Result<<B as Batch>::Outcome, Error>>, Error>;

/// The task of a lane.
struct Runner<B: Batch> {
    store: Store,
    operation: Arc<Operation>,
    batch: B,
    line: Line<B>,
}

impl<B: Batch> Runner<B> {
    async fn run(mut self) {
        let mut taken = Vec::with_capacity(B::MAX_ITEMS);
        let mut items = Vec::with_capacity(B::MAX_ITEMS);
        let mut flight = Flight::default();
        while self.line.take(&mut taken).await {
            let now = Instant::now();
            for Waiting { item, slot } in taken.drain(..) {
                if slot.answer.is_closed() {
                    // The caller went away before anything was sent.
                } else if slot.deadline <= now {
                    self.answer(slot, Err(Error::Overloaded));
                } else {
                    items.push(item);
                    flight.board(slot);
                }
            }
            if !items.is_empty() {
                let outcomes = match self.args(&items) {
                    Ok(args) => match self.call(args, &mut flight).await {
                        Ok(reply) => self.outcomes(reply, &items),
                        Err(error) => Err(error),
                    },
                    Err(error) => Err(error),
                };
                self.distribute(outcomes, &mut flight);
                items.clear();
                // Whoever is about to ask asks before the next call goes: a larger one costs less.
                tokio::task::yield_now().await;
            }
        }
    }

    /// The arguments. A panic in the batch's code fails this call, not the lane.
    fn args(&self, items: &[B::Item]) -> Result<Args, Error> {
        self.operation.batched(items.len());
        self.guarded("args", || self.batch.args(items))
    }

    /// One outcome for each item.
    fn outcomes(&self, reply: Value, items: &[B::Item]) -> Outcomes<B> {
        let outcomes = self.guarded("outcomes", || self.batch.outcomes(reply, items))??;
        if outcomes.len() == items.len() {
            Ok(outcomes)
        } else {
            Err(self.mistake(format!("{} outcomes for {} items", outcomes.len(), items.len())))
        }
    }

    /// Sends, and meanwhile answers those whose time is up.
    async fn call(&mut self, args: Args, flight: &mut Flight<B::Outcome>) -> Result<Value, Error> {
        let Self { store, operation, batch, line } = self;
        let begun = Instant::now();
        // The newest item's deadline; those before it in line are answered at their own.
        let last = flight.last_deadline().unwrap_or(begun);
        let call =
            store.call_by(batch.script(), operation, batch.keys(), args, batch.repeat(), last);
        let mut call = pin!(call);
        let mut next = flight.next_deadline();
        loop {
            let Some(look) = next else { return call.await };
            match timeout_at(look, call.as_mut()).await {
                Ok(reply) => return reply,
                Err(_) => {
                    let now = Instant::now();
                    let expired = Error::Unknown("no answer in time".to_owned());
                    for slot in flight.expired(now) {
                        store.ended(operation, Some(&expired), 1);
                        let _ = slot.answer.send(Err(expired.clone()));
                    }
                    for slot in line.expired(now) {
                        store.ended(operation, Some(&Error::Overloaded), 1);
                        let _ = slot.answer.send(Err(Error::Overloaded));
                    }
                    next = flight.next_deadline().into_iter().chain(line.next_deadline()).min();
                }
            }
        }
    }

    fn distribute(&self, outcomes: Outcomes<B>, flight: &mut Flight<B::Outcome>) {
        match outcomes {
            Ok(outcomes) => {
                for (slot, outcome) in flight.land().zip(outcomes) {
                    if let Some(slot) = slot {
                        self.answer(slot, outcome);
                    }
                }
            }
            Err(error) => {
                for slot in flight.land().flatten() {
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

    fn guarded<T>(&self, what: &str, code: impl FnOnce() -> T) -> Result<T, Error> {
        // What the code left half done goes with the call: a batch has no state of its own here.
        catch_unwind(AssertUnwindSafe(code)).map_err(|_| self.mistake(format!("{what} panicked")))
    }

    fn mistake(&self, detail: String) -> Error {
        Error::Reply { operation: self.batch.script().name, detail }
    }
}
