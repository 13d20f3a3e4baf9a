//! Dead letters: applications that could not be issued.

use super::reply::{Code, code};
use super::{Event, scripts};
use crate::store::{Error, Repeat, Reply, Script};

/// The most dead letters that one call shows.
pub const MAX_DEAD: u64 = 100;

/// An application that could not be issued.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetter {
    /// The number of the application.
    pub sequence: u64,
    /// Who applied.
    pub visitor_id: String,
    /// How many attempts failed.
    pub attempts: u64,
    /// When the last failed, in seconds since 1970 by the store's clock.
    pub died_at: u64,
    /// What went wrong with the last.
    pub error: String,
}

/// A part of the dead letters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetters {
    /// In the order of the applications.
    pub letters: Vec<DeadLetter>,
    /// The number behind which the list goes on; absent at its end.
    pub next: Option<u64>,
}

impl Event {
    /// The dead letters behind the application of this number: at most so many, [`MAX_DEAD`] or
    /// less.
    pub async fn dead(&self, after: u64, limit: u64) -> Result<DeadLetters, Error> {
        let limit = limit.clamp(1, MAX_DEAD);
        // One more tells whether the list goes on.
        let args = self.entity().args().with(after).with(limit + 1);
        let mut reply = self.entity().ask(&scripts::DEAD, args, Repeat::IfUnknown).await?;
        let mut letters = Vec::new();
        while !reply.is_empty() {
            letters.push(DeadLetter::read(&mut reply)?);
        }
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let goes_on = letters.len() > limit;
        letters.truncate(limit);
        let next = letters.last().filter(|_| goes_on).map(|letter| letter.sequence);
        Ok(DeadLetters { letters, next })
    }

    /// Has the dead letter of this visitor tried again, first in line in its old order, with all
    /// its attempts. False when it is none and was none just before.
    pub async fn retry_dead(&self, visitor_id: &str) -> Result<bool, Error> {
        self.settle_dead(&scripts::RETRY_DEAD, visitor_id).await
    }

    /// The dead letter of this visitor has failed for good: its unit is the next one's in line, or
    /// goes back to the stock. False when it is no dead letter, and did not fail before.
    pub async fn give_up(&self, visitor_id: &str) -> Result<bool, Error> {
        self.settle_dead(&scripts::GIVE_UP, visitor_id).await
    }

    async fn settle_dead(&self, script: &'static Script, visitor_id: &str) -> Result<bool, Error> {
        let args = self.waking_args().with(self.visitor(visitor_id).as_slice());
        let mut reply = self.entity().ask(script, args, Repeat::IfUnknown).await?;
        Ok(code(&mut reply)? == Code::Ok)
    }
}

impl DeadLetter {
    fn read(reply: &mut Reply) -> Result<Self, Error> {
        Ok(Self {
            sequence: reply.count()?,
            attempts: reply.count()?,
            died_at: reply.count()?,
            visitor_id: reply.text()?,
            error: reply.text()?,
        })
    }
}
