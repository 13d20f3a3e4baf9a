//! Dead letters: applications that could not be issued.

use std::time::Instant;

use super::reply::{Code, code};
use super::{Event, scripts};
use crate::store::{Error, Repeat, Reply};

/// The most dead letters that one call shows, or has tried again.
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

/// What became of dead letters that were to be tried again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retried {
    /// How many of them are tried again, or were before.
    pub retried: u64,
    /// How many dead letters the event has now.
    pub dead: u64,
}

impl Event {
    /// The dead letters behind the application of this number: at most so many, [`MAX_DEAD`] or
    /// less.
    pub async fn dead(&self, after: u64, limit: u64) -> Result<DeadLetters, Error> {
        let limit = limit.clamp(1, MAX_DEAD);
        // One more shows whether the list goes on.
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

    /// Has the dead letters of these visitors, at most [`MAX_DEAD`], tried again, first in line in
    /// their old order, with all their attempts.
    pub async fn retry_dead(&self, visitor_ids: &[&str]) -> Result<Retried, Error> {
        let mut args = self.waking_args();
        self.operator().push_to(&mut args);
        for visitor_id in visitor_ids {
            args.push(self.visitor(visitor_id).as_slice());
        }
        let mut reply = self.entity().ask(&scripts::RETRY_DEAD, args, Repeat::IfUnknown).await?;
        Ok(Retried { retried: reply.count()?, dead: reply.count()? })
    }

    /// Has all dead letters tried again, part by part as long as a request may take. One that dies
    /// meanwhile stays dead: each is passed once.
    pub async fn retry_all_dead(&self) -> Result<Retried, Error> {
        let begun = Instant::now();
        let (mut all, mut after) = (Retried::default(), 0);
        loop {
            let found = self.dead(after, MAX_DEAD).await?;
            let ids: Vec<_> = found.letters.iter().map(|it| it.visitor_id.as_str()).collect();
            if ids.is_empty() {
                return Ok(all);
            }
            let part = self.retry_dead(&ids).await?;
            all = Retried { retried: all.retried + part.retried, dead: part.dead };
            match found.next {
                Some(next) if begun.elapsed() < self.entity().request_timeout() => after = next,
                _ => return Ok(all),
            }
        }
    }

    /// The dead letter of this visitor has failed for good: its unit is the next one's in line, or
    /// goes back to the stock. False when it is no dead letter, and did not fail before.
    pub async fn give_up(&self, visitor_id: &str) -> Result<bool, Error> {
        let mut args = self.waking_args().with(self.visitor(visitor_id).as_slice());
        self.operator().push_to(&mut args);
        let mut reply = self.entity().ask(&scripts::GIVE_UP, args, Repeat::IfUnknown).await?;
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
