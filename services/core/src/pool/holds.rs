//! What becomes of a hold.

use std::time::Duration;

use super::ledger::Movement;
use super::reply::{Answer, Attempt, Receipt};
use super::reserve::{HOLD_KEY, HoldId};
use super::{Pool, scripts};
use crate::rules::Amount;
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
    /// Its state.
    pub state: HoldState,
    /// What it reserved.
    pub amount: u64,
    /// How long it still lasts; zero when it is over.
    pub expires_in: Duration,
}

/// The state of a hold.
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
    pub async fn settle(&self, id: HoldId, amount: Amount) -> Result<Answer<Settled>, Error> {
        let args = self.entity().args().with(amount.get());
        let answer =
            self.retry_while_sweeping(|| self.of_hold(&scripts::SETTLE, id, &args)).await?;
        Ok(answer.map(|receipt| Settled { amount: receipt.amount, balance: receipt.balance }))
    }

    /// Lets a hold last for the rule's `hold_ttl` from now; how long that is.
    ///
    /// # Errors
    ///
    /// When the store gives no answer.
    pub async fn extend(&self, id: HoldId) -> Result<Answer<HoldView>, Error> {
        let args = self.entity().args();
        let answer =
            self.retry_while_sweeping(|| self.of_hold(&scripts::EXTEND, id, &args)).await?;
        Ok(answer.map(|receipt| HoldView {
            state: HoldState::Held,
            amount: receipt.amount,
            expires_in: Duration::from_micros(receipt.third),
        }))
    }

    /// Ends a hold, and pays nothing; one that has ended is not settled late any more.
    ///
    /// # Errors
    ///
    /// When the store gives no answer.
    pub async fn cancel(&self, id: HoldId) -> Result<Answer<()>, Error> {
        let args = self.entity().args();
        let answer =
            self.retry_while_sweeping(|| self.of_hold(&scripts::CANCEL, id, &args)).await?;
        Ok(answer.map(drop))
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
    ) -> Result<Attempt, Error> {
        let mut numbers = self.numbers_of(script, id, args).await?;
        let receipt = Receipt::read(&mut numbers)?;
        numbers.end()?;
        receipt.attempt(&numbers)
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
