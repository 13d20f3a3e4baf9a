//! One claim, worked off: what it holds is issued and finished, failed or given back, and renewed
//! meanwhile.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use anteroom_core::event::{Claimed, Failed, Finished, Work};
use rand::Rng as _;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use super::calls::Calls;
use super::method::Method;
use super::window::Slot;
use crate::backoff;
use crate::metrics::{EventMetrics, Outcome};
use crate::webhook::{Answer, Application, Webhook};

/// A lease is renewed so many times before it ends.
const RENEWALS: u32 = 3;

/// One application in hand.
struct InHand {
    work: Work,
    slot: Slot,
    /// Ends the call for it.
    call: Option<AbortHandle>,
}

/// A claim in hand.
pub struct Claim {
    calls: Calls,
    metrics: EventMetrics,
    fence: u64,
    lease: Duration,
    in_hand: HashMap<u64, InHand>,
}

impl Claim {
    /// What was claimed, each with its slot.
    pub fn new(calls: Calls, metrics: EventMetrics, claimed: Claimed, slots: Vec<Slot>) -> Self {
        let works = claimed.work.into_iter().zip(slots);
        let in_hand = works.map(|(work, slot)| (work.sequence, InHand { work, slot, call: None }));
        let (fence, lease) = (claimed.fence, claimed.lease);
        Self { calls, metrics, fence, lease, in_hand: in_hand.collect() }
    }

    /// Issues all of it by this method; gives it back without one.
    pub async fn run(mut self, method: Option<Method>) {
        match method {
            Some(Method::Finish) => {
                let all = self.sequences();
                self.finish(all).await;
            }
            Some(Method::Webhook(webhook)) => self.call_for_each(webhook).await,
            None => {}
        }
        let left = self.sequences();
        self.give_back(left).await;
    }

    fn sequences(&self) -> Vec<u64> {
        let mut sequences: Vec<u64> = self.in_hand.keys().copied().collect();
        sequences.sort_unstable();
        sequences
    }

    /// Calls the receiver for each, all at once, until each has come to something or there is no
    /// time left.
    async fn call_for_each(&mut self, webhook: Arc<Webhook>) {
        let mut calls = JoinSet::new();
        for (sequence, InHand { work, call, .. }) in &mut self.in_hand {
            let (webhook, work) = (webhook.clone(), work.clone());
            let (event, sequence) = (self.calls.event.name().to_owned(), *sequence);
            let metrics = self.metrics.clone();
            *call = Some(calls.spawn(async move {
                let visitor_id = &work.visitor_id;
                let application = Application { event: &event, visitor_id, sequence };
                let begun = Instant::now();
                let answer = webhook.issue(&application, work.attempt).await;
                metrics.called(answer.name(), begun.elapsed());
                (sequence, answer)
            }));
        }
        let every = self.lease / RENEWALS;
        let mut renewals = interval_at(Instant::now() + every, every);
        renewals.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let deadline = self.calls.deadline.clone();
        while !self.in_hand.is_empty() {
            tokio::select! {
                biased;
                () = deadline.cancelled() => return,
                ended = calls.join_next() => {
                    let Some(first) = ended else { return };
                    // Those that have ended by now share a call to the store.
                    let others = std::iter::from_fn(|| calls.try_join_next());
                    let answers = std::iter::once(first).chain(others);
                    self.report(answers.filter_map(Result::ok).collect()).await;
                }
                _ = renewals.tick() => self.renew().await,
            }
        }
    }

    /// Reports the receiver's answers to Redis.
    async fn report(&mut self, answers: Vec<(u64, Answer)>) {
        let mut issued = Vec::new();
        for (sequence, answer) in answers {
            // Not in hand any more: the claim was lost while the call was under way.
            let Some(InHand { slot, work, .. }) = self.in_hand.get(&sequence) else { continue };
            match answer {
                Answer::Issued => {
                    slot.succeeded();
                    issued.push(sequence);
                }
                Answer::Refused { is_its_own, error } => {
                    if is_its_own {
                        slot.succeeded();
                    } else {
                        slot.refused();
                    }
                    self.fail(sequence, &error, None).await;
                }
                Answer::Failed { error, retry_after, .. } => {
                    slot.failed();
                    let share = rand::rng().random_range(0.0..=1.0);
                    let pause = backoff::pause(work.attempt, share, retry_after);
                    self.fail(sequence, &error, Some(pause)).await;
                }
            }
        }
        self.finish(issued).await;
    }

    async fn finish(&mut self, sequences: Vec<u64>) {
        if sequences.is_empty() {
            return;
        }
        let found = sequences.iter().filter_map(|sequence| self.in_hand.get(sequence));
        let works: Vec<Work> = found.map(|it| it.work.clone()).collect();
        let calls = self.calls.clone();
        let (event, fence) = (&calls.event, self.fence);
        let ask = || event.finish(fence, &works);
        // Without an answer the claim is left to its lease: it may be finished, or not.
        let Some(finished) = calls.retry("event.finish", ask).await else {
            sequences.iter().for_each(|sequence| drop(self.in_hand.remove(sequence)));
            return;
        };
        let (mut issued, mut lost) = (0, 0);
        for (sequence, finished) in sequences.iter().zip(finished) {
            match finished {
                Finished::Issued { after, .. } => {
                    after.into_iter().for_each(|after| self.metrics.issued(after));
                    issued += 1;
                }
                Finished::LeaseLost => lost += 1,
                // It stays in hand, and is given back.
                Finished::NoCodes => continue,
            }
            self.in_hand.remove(sequence);
        }
        self.ended(Outcome::Issued, issued);
        self.ended(Outcome::LeaseLost, lost);
    }

    async fn fail(&mut self, sequence: u64, error: &str, retry_in: Option<Duration>) {
        let calls = self.calls.clone();
        let (event, fence) = (&calls.event, self.fence);
        let ask = || event.fail(fence, sequence, error, retry_in);
        let failed = calls.retry("event.fail", ask).await;
        self.in_hand.remove(&sequence);
        match failed {
            Some(Failed::Retried) => self.ended(Outcome::Retried, 1),
            Some(Failed::Dead) => {
                let event = event.name();
                tracing::warn!(event, sequence, error, "an application is a dead letter");
                self.ended(Outcome::Dead, 1);
            }
            Some(Failed::LeaseLost) => self.ended(Outcome::LeaseLost, 1),
            None => {}
        }
    }

    /// Renews the lease. What is lost belongs to another issuer: its call is ended.
    async fn renew(&mut self) {
        let (sequences, event) = (self.sequences(), self.calls.event.clone());
        let result = event.renew(self.fence, &sequences).await;
        self.calls.note("event.renew", &result);
        // Another renewal comes before the lease ends.
        let Ok(renewed) = result else { return };
        for (sequence, is_ours) in sequences.into_iter().zip(renewed) {
            if !is_ours && let Some(lost) = self.in_hand.remove(&sequence) {
                lost.call.into_iter().for_each(|call| call.abort());
                self.ended(Outcome::LeaseLost, 1);
            }
        }
    }

    async fn give_back(&mut self, sequences: Vec<u64>) {
        if sequences.is_empty() {
            return;
        }
        let calls = self.calls.clone();
        let (event, fence) = (&calls.event, self.fence);
        let ask = || event.give_back(fence, &sequences);
        if let Some(given_back) = calls.retry("event.give_back", ask).await {
            self.metrics.ended(Outcome::GivenBack, usize::try_from(given_back).unwrap_or(0));
        }
    }

    /// Counts attempts that came to something. One that is to be tried again has failed, wherever
    /// the reason lies.
    fn ended(&self, outcome: Outcome, count: usize) {
        self.metrics.ended(outcome, count);
        let ok = outcome != Outcome::Retried;
        (0..count).for_each(|_| self.calls.shared.operations.record(ok));
    }
}
