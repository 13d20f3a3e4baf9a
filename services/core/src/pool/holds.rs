//! What becomes of a hold.

use std::time::Duration;

use super::ledger::Movement;
use super::reply::{Answer, Refusal, Told};
use super::reserve::{HOLD_KEY, HoldId};
use super::{Pool, scripts};
use crate::store::{Args, Error, Numbers, Repeat, Script};

/// A hold that was settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settled {
    /// What was paid.
    pub amount: u64,
    /// The balance now.
    pub balance: u64,
}

/// A hold as it is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HoldView {
    /// Where it stands.
    pub state: HoldState,
    /// What it reserved.
    pub amount: u64,
    /// How long it still lasts; zero when it is over.
    pub expires_in: Duration,
}

/// Where a hold stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HoldState {
    /// It reserves its amount.
    Held,
    /// So much of it was paid.
    Settled {
        /// The amount.
        amount: u64,
    },
    /// It was cancelled.
    Cancelled,
    /// It has ended.
    Expired,
}

impl HoldState {
    /// Its name in answers.
    pub fn name(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Settled { .. } => "settled",
            Self::Cancelled => "cancelled",
            Self::Expired => "expired",
        }
    }
}

impl Pool {
    /// Pays an amount of a hold, at most what it reserved, and frees the rest. One that has ended
    /// is paid while the balance covers it. Again with the same amount it changes nothing.
    ///
    /// # Errors
    ///
    /// When the store gives no answer.
    pub async fn settle(&self, id: HoldId, amount: u64) -> Result<Answer<Settled>, Error> {
        let args = self.entity().args().with(amount);
        let told = self.settled(|| self.of_hold(&scripts::SETTLE, id, &args)).await?;
        Ok(told.map(|told| Settled { amount: told.amount, balance: told.balance }))
    }

    /// Lets a hold last for the rule's `hold_ttl` from now; how long that is.
    ///
    /// # Errors
    ///
    /// When the store gives no answer.
    pub async fn extend(&self, id: HoldId) -> Result<Answer<HoldView>, Error> {
        let args = self.entity().args();
        let told = self.settled(|| self.of_hold(&scripts::EXTEND, id, &args)).await?;
        Ok(told.map(|told| HoldView {
            state: HoldState::Held,
            amount: told.amount,
            expires_in: Duration::from_micros(told.third),
        }))
    }

    /// Ends a hold, and pays nothing; one that is cancelled or has ended stays so.
    ///
    /// # Errors
    ///
    /// When the store gives no answer.
    pub async fn cancel(&self, id: HoldId) -> Result<Answer<()>, Error> {
        let args = self.entity().args();
        let told = self.settled(|| self.of_hold(&scripts::CANCEL, id, &args)).await?;
        Ok(told.map(drop))
    }

    /// A hold as it is now; `None` when there is none, or it ended more than a day ago.
    ///
    /// # Errors
    ///
    /// When the store gives no answer.
    pub async fn look(&self, id: HoldId) -> Result<Option<HoldView>, Error> {
        let args = self.entity().args();
        let mut numbers = self.numbers_of(&scripts::LOOK, id, &args).await?;
        if numbers.count()? != 0 {
            return Ok(None);
        }
        let (state, amount) = (numbers.count()?, numbers.count()?);
        let (left, settled) = (numbers.count()?, numbers.count()?);
        let state = match Movement::of(state, &numbers)? {
            Movement::Held => HoldState::Held,
            Movement::Settled => HoldState::Settled { amount: settled },
            Movement::Cancelled => HoldState::Cancelled,
            Movement::Expired => HoldState::Expired,
            other => return Err(numbers.error(format!("a hold that is {other:?}"))),
        };
        Ok(Some(HoldView { state, amount, expires_in: Duration::from_micros(left) }))
    }

    async fn of_hold(
        &self,
        script: &'static Script,
        id: HoldId,
        args: &Args,
    ) -> Result<Option<Answer<Told>>, Error> {
        let mut numbers = self.numbers_of(script, id, args).await?;
        let told = Told::read(&mut numbers)?;
        numbers.end()?;
        told.answer(&numbers)
    }

    async fn numbers_of(
        &self,
        script: &'static Script,
        id: HoldId,
        args: &Args,
    ) -> Result<Numbers, Error> {
        let mut keys = script.keys_of(self.name());
        script.push_digest_key(&mut keys, self.name(), HOLD_KEY, &id.0);
        let ask = || self.entity().call_with(script, &keys, args, Repeat::IfUnknown);
        self.entity().seeded(script, ask).await?.numbers()
    }
}

impl Refusal {
    /// The stable name, in answers and in metrics.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Mismatch => "operation_mismatch",
            Self::TooLarge => "amount_too_large",
            Self::Insufficient { .. } => "insufficient_balance",
            Self::Unconfirmed => "pool_unconfirmed",
            Self::NoOption => "option_unknown",
            Self::NoHold => "hold_unknown",
            Self::Settled { .. } => "hold_settled",
            Self::Cancelled => "hold_cancelled",
            Self::Expired => "hold_expired",
            Self::Exceeds { .. } => "amount_exceeds_hold",
        }
    }
}
