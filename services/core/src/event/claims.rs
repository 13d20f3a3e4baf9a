//! What issuers do: claim applications under a lease, renew it, and say what came of each.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use super::reply::{Code, Texts, code};
use super::{Event, Issue, scripts};
use crate::store::{Error, Repeat, millis};

/// The most applications that one call claims, renews, finishes or gives back.
pub const MAX_CLAIM: usize = 64;

/// The longest cause of a failure that is kept, in bytes.
const MAX_CAUSE: usize = 200;

/// Names a claim among those of its handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClaimName(u64);

/// Applications that an issuer has claimed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claimed {
    /// Names the claim: only under it can its applications be renewed, finished, failed and given
    /// back. 0 when nothing was claimed since the event was created.
    pub fence: u64,
    /// How long they are this issuer's.
    pub lease: Duration,
    /// How they are to be issued.
    pub issue: Issue,
    /// The applications, in the order in which they were made.
    pub work: Vec<Work>,
    /// Time until another claim may give more, where `max_per_second` holds some back or one is to
    /// be tried again; `None` when nothing is known to come by itself.
    pub again_in: Option<Duration>,
    /// Further applications wait for which there are units: another claim gives more, now or after
    /// `again_in`.
    pub pending: bool,
}

/// One application to be issued.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work {
    /// The number of the application: 1, 2, 3 … in the order in which the store saw them.
    pub sequence: u64,
    /// Who applied.
    pub visitor_id: String,
    /// Which attempt this is, from 1.
    pub attempt: u32,
}

/// What finishing an application came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finished {
    /// It is issued, by this claim.
    Issued {
        /// Its code, when the event issues codes.
        code: Option<String>,
        /// How long after the visitor applied; `None` when it was finished by an earlier call.
        after: Option<Duration>,
    },
    /// The claim is not this issuer's any more. Nothing was done.
    LeaseLost,
    /// No code is left. Nothing was done, and the claim holds on.
    NoCodes,
}

/// What a failed attempt came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failed {
    /// It is tried again.
    Retried,
    /// It is a dead letter.
    Dead,
    /// The claim was not this issuer's any more. Nothing was done.
    LeaseLost,
}

impl Event {
    /// A name for a claim of this handle.
    pub fn name_claim(&self) -> ClaimName {
        ClaimName(self.0.claims.fetch_add(1, Relaxed))
    }

    /// Claims the next applications, at most so many and at most [`MAX_CLAIM`].
    pub async fn claim(&self, at_most: usize) -> Result<Claimed, Error> {
        self.claim_as(self.name_claim(), at_most).await
    }

    /// [`claim`](Self::claim) under a name. Until another claim of this handle, a repeat returns
    /// what this one claimed: nothing is lost with an answer.
    pub async fn claim_as(&self, name: ClaimName, at_most: usize) -> Result<Claimed, Error> {
        let script = &scripts::CLAIM;
        let mut keys = script.keys_of(self.name());
        script.push_digest_key(&mut keys, self.name(), b'i', &self.0.issuer);
        let args = self.entity().args().with(at_most.min(MAX_CLAIM)).with(name.0);
        let call = || self.entity().call_with(script, &keys, &args, Repeat::IfUnknown);
        let mut reply = self.entity().seeded(script, call).await?;
        let fence = reply.count()?;
        let lease = Duration::from_millis(reply.count()?);
        let again_in = reply.known()?.map(Duration::from_micros);
        let pending = reply.count()? == 1;
        let issue = reply.count()?;
        let issue = Issue::numbered(issue).ok_or_else(|| reply.error(format!("issue {issue}")))?;
        let mut work = Vec::new();
        while !reply.is_empty() {
            let (sequence, attempt) = (reply.count()?, reply.count()?);
            let attempt = u32::try_from(attempt).unwrap_or(u32::MAX);
            work.push(Work { sequence, attempt, visitor_id: reply.text()? });
        }
        Ok(Claimed { fence, lease, issue, work, again_in, pending })
    }

    /// Restarts the leases of these; for each whether it is still this issuer's. At most
    /// [`MAX_CLAIM`].
    pub async fn renew(&self, fence: u64, sequences: &[u64]) -> Result<Vec<bool>, Error> {
        if sequences.is_empty() {
            return Ok(Vec::new());
        }
        let mut args = self.entity().args().with(fence);
        for sequence in sequences {
            args.push(*sequence);
        }
        let mut reply = self.entity().ask(&scripts::RENEW, args, Repeat::IfUnknown).await?;
        sequences.iter().map(|_| Ok(reply.count()? == 1)).collect()
    }

    /// Records these as issued, each while its claim holds; what came of each, in their order. At
    /// most [`MAX_CLAIM`].
    pub async fn finish(&self, fence: u64, work: &[Work]) -> Result<Vec<Finished>, Error> {
        if work.is_empty() {
            return Ok(Vec::new());
        }
        let mut args = self.entity().args().with(fence);
        for Work { sequence, visitor_id, .. } in work {
            args.push(self.visitor(visitor_id).as_slice());
            args.extend_last(sequence.to_string().as_bytes());
        }
        let mut reply = self.entity().ask(&scripts::FINISH, args, Repeat::IfUnknown).await?;
        let mut texts = Texts::new(reply.bytes()?);
        let mut numbers = reply.numbers()?;
        let mut next = || {
            let code = Code::of(numbers.count()?, &numbers)?;
            let after = millis(numbers.integer()?);
            let length = numbers.count()?;
            let text = texts.next(length, &numbers)?;
            Ok(match code {
                Code::Ok => {
                    Finished::Issued { code: Some(text).filter(|it| !it.is_empty()), after }
                }
                Code::Lost => Finished::LeaseLost,
                Code::Lacking => Finished::NoCodes,
                other => return Err(numbers.error(format!("{other:?} of what is finished"))),
            })
        };
        let finished = work.iter().map(|_| next()).collect::<Result<_, _>>()?;
        numbers.end()?;
        Ok(finished)
    }

    /// An attempt failed, for this reason, of which 200 bytes are kept. It is tried again after
    /// `retry_in`, unless it was the last attempt; with `None` it is a dead letter at once.
    pub async fn fail(
        &self,
        fence: u64,
        sequence: u64,
        error: &str,
        retry_in: Option<Duration>,
    ) -> Result<Failed, Error> {
        let mut args = self.entity().args().with(fence).with(sequence);
        match retry_in {
            Some(time) => args.push(u64::try_from(time.as_micros()).unwrap_or(u64::MAX)),
            None => args.push(-1),
        };
        let cut = (0..=MAX_CAUSE.min(error.len())).rev().find(|at| error.is_char_boundary(*at));
        args.push(&error[..cut.unwrap_or_default()]);
        let mut reply = self.entity().ask(&scripts::FAIL, args, Repeat::IfUnknown).await?;
        Ok(match code(&mut reply)? {
            Code::Ok => Failed::Retried,
            Code::IsDead => Failed::Dead,
            _ => Failed::LeaseLost,
        })
    }

    /// Gives claims back, as an issuer does that ends: they are first in line again, in their old
    /// order, and no attempt is counted. How many were still this issuer's. At most [`MAX_CLAIM`].
    pub async fn give_back(&self, fence: u64, sequences: &[u64]) -> Result<u64, Error> {
        if sequences.is_empty() {
            return Ok(0);
        }
        let mut args = self.waking_args().with(fence);
        for sequence in sequences {
            args.push(*sequence);
        }
        let mut reply = self.entity().ask(&scripts::GIVE_BACK, args, Repeat::IfUnknown).await?;
        reply.count()
    }
}
