//! Batching: what arrives while a call is in flight shares the next one.
//!
//! A lane has one call in flight. No timer holds a request back: a lone one goes at once. The
//! lane is bounded, and beyond the bound it refuses at once. Every item is answered by its
//! deadline, with one timer for the whole lane.

use std::{
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    sync::Arc,
};

use redis::Value;
use tokio::{
    sync::{mpsc, oneshot},
    time::{Instant, timeout_at},
};

use super::{Args, Error, Repeat, Script, Store, metrics::Operation};

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
            line: Line { receiver, drained: VecDeque::new() },
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

/// An item that waits for its call.
struct Waiting<B: Batch> {
    item: B::Item,
    slot: Slot<B::Outcome>,
}

/// Where an answer goes, and by when.
struct Slot<O> {
    deadline: Instant,
    answer: oneshot::Sender<Result<O, Error>>,
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
                    flight.slots.push(Some(slot));
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
                flight = flight.landed();
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
                for (slot, outcome) in flight.slots.iter_mut().zip(outcomes) {
                    if let Some(slot) = slot.take() {
                        self.answer(slot, outcome);
                    }
                }
            }
            Err(error) => {
                for slot in flight.slots.iter_mut().filter_map(Option::take) {
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

/// Those who wait for a call, oldest first.
struct Line<B: Batch> {
    receiver: mpsc::Receiver<Waiting<B>>,
    /// Taken out of the channel while a call was slow, to see whose time is up.
    drained: VecDeque<Waiting<B>>,
}

impl<B: Batch> Line<B> {
    /// Takes the next call's worth, waiting for the first; false when the lane is to end.
    async fn take(&mut self, taken: &mut Vec<Waiting<B>>) -> bool {
        let most = B::MAX_ITEMS.max(1);
        if self.drained.is_empty() {
            return self.receiver.recv_many(taken, most).await > 0;
        }
        taken.extend(self.drained.drain(..most.min(self.drained.len())));
        while taken.len() < most
            && let Ok(waiting) = self.receiver.try_recv()
        {
            taken.push(waiting);
        }
        true
    }

    /// Those whose time was up before they were sent.
    fn expired(&mut self, now: Instant) -> impl Iterator<Item = Slot<B::Outcome>> {
        // Who comes later has a later deadline than the call in flight: one look is enough.
        while self.drained.len() < self.receiver.max_capacity()
            && let Ok(waiting) = self.receiver.try_recv()
        {
            self.drained.push_back(waiting);
        }
        let late = self.drained.iter().take_while(|w| w.slot.deadline <= now).count();
        self.drained.drain(..late).map(|waiting| waiting.slot)
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.drained.front().map(|waiting| waiting.slot.deadline)
    }
}

/// Those whose call is under way, oldest first; `None` once answered.
struct Flight<O> {
    slots: Vec<Option<Slot<O>>>,
    /// So many at the front were answered because their time was up.
    late: usize,
}

impl<O> Default for Flight<O> {
    fn default() -> Self {
        Self { slots: Vec::new(), late: 0 }
    }
}

impl<O> Flight<O> {
    fn next_deadline(&self) -> Option<Instant> {
        self.slots.get(self.late).and_then(Option::as_ref).map(|slot| slot.deadline)
    }

    fn last_deadline(&self) -> Option<Instant> {
        self.slots.last().and_then(Option::as_ref).map(|slot| slot.deadline)
    }

    /// Those whose time is up; the effect of their call is unknown.
    fn expired(&mut self, now: Instant) -> impl Iterator<Item = Slot<O>> {
        std::iter::from_fn(move || {
            let slot = self.slots.get_mut(self.late)?;
            if slot.as_ref().is_some_and(|slot| slot.deadline > now) {
                return None;
            }
            self.late += 1;
            slot.take()
        })
    }

    /// Empty again, with the room kept.
    fn landed(mut self) -> Self {
        self.slots.clear();
        self.late = 0;
        self
    }
}
