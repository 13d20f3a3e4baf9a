//! Holds and draws, batched: those that arrive together share one run of the script.

use std::borrow::Cow;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use redis::Value;

use super::reply::{Answer, Attempt, Receipt};
use super::{Pool, scripts};
use crate::operation::Operation;
use crate::rules::{Amount, Name};
use crate::store::{Args, Batch, Clock, Error, Lane, Reply, Script, Store};

/// The name of a hold: 16 bytes, which follow from the pool and the name of the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HoldId(pub(super) [u8; 16]);

impl HoldId {
    /// As callers see it: 22 characters of base64url.
    pub fn text(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.0)
    }

    /// Reads [`text`](Self::text) back.
    pub fn parse(text: &str) -> Option<Self> {
        URL_SAFE_NO_PAD.decode(text).ok()?.try_into().ok().map(Self)
    }
}

/// How much a caller requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AmountRequest {
    /// So much, at least 1.
    Amount(Amount),
    /// The most that this option pays.
    Option(Name),
}

/// A hold that was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hold {
    /// Its name.
    pub id: HoldId,
    /// What it reserves.
    pub amount: u64,
    /// How long it still lasts; zero when it is over.
    pub expires_in: Duration,
    /// The balance after it.
    pub balance: u64,
}

/// A draw that was paid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drawn {
    /// What was paid.
    pub amount: u64,
    /// The balance after it.
    pub balance: u64,
}

impl Pool {
    /// Reserves an amount for the rule's `hold_ttl`. A repeat of `operation_id` is the same hold.
    ///
    /// # Errors
    ///
    /// When the store gives no answer.
    pub async fn hold(
        &self,
        request: &AmountRequest,
        operation_id: &str,
    ) -> Result<Answer<Hold>, Error> {
        let item = Item::new(b"hold", self.name(), request, operation_id);
        let answer = self.submit(&self.0.lanes.hold, &item).await?;
        Ok(answer.map(|receipt| Hold {
            id: HoldId(item.operation.id),
            amount: receipt.amount,
            expires_in: Duration::from_micros(receipt.third),
            balance: receipt.balance,
        }))
    }

    /// Pays an amount at once. A repeat of `operation_id` pays nothing more.
    ///
    /// # Errors
    ///
    /// When the store gives no answer.
    pub async fn draw(
        &self,
        request: &AmountRequest,
        operation_id: &str,
    ) -> Result<Answer<Drawn>, Error> {
        let item = Item::new(b"draw", self.name(), request, operation_id);
        let answer = self.submit(&self.0.lanes.draw, &item).await?;
        Ok(answer.map(|receipt| Drawn { amount: receipt.amount, balance: receipt.balance }))
    }

    async fn submit<const MOST: usize>(
        &self,
        lane: &Lane<Reservations<MOST>>,
        item: &Item,
    ) -> Result<Answer<Receipt>, Error> {
        let ask = || self.entity().seeded(lane.script(), || lane.submit(item.clone()));
        self.retry_while_sweeping(ask).await
    }
}

/// So many keep a call below a millisecond, with the 50 holds that it may take back, where memory
/// is slow, too. A hold writes more than a draw.
const MOST_HOLDS: usize = 16;
const MOST_DRAWS: usize = 32;

/// The lanes of one pool.
pub(super) struct Lanes {
    hold: Lane<Reservations<MOST_HOLDS>>,
    draw: Lane<Reservations<MOST_DRAWS>>,
}

impl Lanes {
    pub(super) fn start(store: &Store, pool: &str, clock: &Clock, bound: usize) -> Self {
        let holds = Reservations::new(&scripts::HOLD, HOLD_KEY, pool, clock);
        let draws = Reservations::new(&scripts::DRAW, CALL_KEY, pool, clock);
        Self { hold: Lane::start(store, holds, bound), draw: Lane::start(store, draws, bound) }
    }
}

/// What the key of a hold begins with, and that of any other call that has a name.
pub(super) const HOLD_KEY: u8 = b'h';
pub(super) const CALL_KEY: u8 = b'o';

/// A hold or a draw as the script takes it.
#[derive(Clone)]
struct Item {
    operation: Operation,
    request: AmountRequest,
    /// As the ledger shows it.
    name: String,
}

impl Item {
    fn new(kind: &[u8], pool: &str, request: &AmountRequest, operation_id: &str) -> Self {
        let (amount, option) = match request {
            AmountRequest::Amount(amount) => (amount.get(), ""),
            AmountRequest::Option(option) => (0, option.as_str()),
        };
        let payload = [&amount.to_be_bytes()[..], option.as_bytes()];
        let operation = Operation::new(&[kind, pool.as_bytes()], operation_id, &payload);
        Self { operation, request: request.clone(), name: operation_id.to_owned() }
    }
}

/// Those that share a call, at most `MOST`. `None`: the store holds no rules for the pool.
struct Reservations<const MOST: usize> {
    script: &'static Script,
    kind: u8,
    pool: String,
    keys: Args,
    clock: Clock,
}

impl<const MOST: usize> Reservations<MOST> {
    fn new(script: &'static Script, kind: u8, pool: &str, clock: &Clock) -> Self {
        let keys = script.keys_of(pool);
        Self { script, kind, pool: pool.to_owned(), keys, clock: clock.clone() }
    }
}

impl<const MOST: usize> Batch for Reservations<MOST> {
    type Item = Item;
    type Outcome = Option<Attempt>;
    const MAX_ITEMS: usize = MOST;

    fn script(&self) -> &'static Script {
        self.script
    }

    fn keys(&self, items: &[Item]) -> Cow<'_, Args> {
        let mut keys = self.keys.clone();
        for item in items {
            self.script.push_digest_key(&mut keys, &self.pool, self.kind, &item.operation.id);
        }
        Cow::Owned(keys)
    }

    fn args(&self, items: &[Item]) -> Args {
        let mut args = Args::with_capacity(1 + items.len(), 16 + 64 * items.len());
        self.clock.push_to(&mut args);
        for item in items {
            args.push(item.operation.fingerprint.as_slice());
            match &item.request {
                AmountRequest::Amount(amount) => {
                    args.extend_last(&amount.to_be_double());
                    args.extend_last(&[0]);
                }
                AmountRequest::Option(option) => {
                    args.extend_last(&[0; 8]);
                    args.extend_last(&[option.length()]);
                    args.extend_last(option.as_str().as_bytes());
                }
            }
            args.extend_last(item.name.as_bytes());
        }
        args
    }

    fn outcomes(
        &self,
        reply: Value,
        items: &[Item],
    ) -> Result<Vec<Result<Self::Outcome, Error>>, Error> {
        let Some(reply) = Reply::ruled(self.script.name, reply)? else {
            return Ok(items.iter().map(|_| Ok(None)).collect());
        };
        let mut numbers = reply.numbers()?;
        let mut attempt = || Ok(Ok(Some(Receipt::read(&mut numbers)?.attempt(&numbers)?)));
        let outcomes = items.iter().map(|_| attempt()).collect::<Result<_, _>>()?;
        numbers.end()?;
        Ok(outcomes)
    }
}
