//! One visitor, from its arrival to the end of its visit.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use anteroom_witness::{Call, Heard, Shown};
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use tokio::time::sleep;

use super::Stage;
use super::counts::End;
use super::in_line::{Waited, Way};
use super::mix::Habit;
use super::tab::Tab;

/// A visitor.
pub struct Visitor {
    pub(super) stage: Arc<Stage>,
    pub(super) number: u32,
    pub(super) habit: Habit,
    pub(super) random: StdRng,
    pub(super) tab: Tab,
    /// Open besides, in some.
    pub(super) others: Option<Box<[Tab; 4]>>,
    /// How it follows the line.
    pub(super) way: Way,
    /// How many tricks it has tried.
    pub(super) tricks: usize,
    /// Whether the one thing has happened that happens once by its habit.
    pub(super) done_once: bool,
}

impl Visitor {
    /// The visitor of a number; the seed decides all that is its own.
    pub fn new(stage: &Arc<Stage>, number: u32, habit: Habit, seed: u64) -> Self {
        let (random, tab) = (StdRng::seed_from_u64(seed), Tab::new(stage, number, number));
        let (stage, way) = (Arc::clone(stage), stage.args.polls.into());
        let (others, tricks, done_once) = (None, 0, false);
        Self { stage, number, habit, random, tab, others, way, tricks, done_once }
    }

    /// Goes through the waiting room; without one, straight to the service.
    pub async fn visits(mut self) {
        self.stage.counts().came += 1;
        let end = if self.stage.with_room { self.whole().await } else { self.inside().await };
        let mut counts = self.stage.counts();
        *counts.ended.entry(self.habit).or_default().entry(end).or_default() += 1;
    }

    /// From the join to the end, and again from the start where the place is over.
    async fn whole(&mut self) -> End {
        let (mut next, mut joined, mut by_event) = (Call::Join, None, None);
        loop {
            if next == Call::Join {
                joined = Some(self.stage.elapsed());
            }
            let heard = match by_event.take() {
                Some(heard) => Some(heard),
                None => self.until_answered(next).await,
            };
            let Some(heard) = heard else { return End::Refused };
            self.notes_its_turn(&heard.shown, &mut joined);
            next = match heard.shown {
                Shown::Nothing => Call::Place,
                Shown::Waiting { .. } => {
                    match self.in_line(&heard).await {
                        Waited::End(end) => return end,
                        Waited::Look => {}
                        Waited::Heard(heard) => by_event = Some(heard),
                    }
                    Call::Place
                }
                Shown::Ready { .. } if self.habit == Habit::NoShow => return End::NoShow,
                Shown::Ready { .. } if self.habit == Habit::Late && !self.done_once => {
                    self.done_once = true;
                    let over = self.stage.claim_ttl() + Duration::from_secs(1);
                    self.away(over, 1.0..1.2).await;
                    Call::Place
                }
                Shown::Ready { .. } if self.random.random_bool(0.5) => Call::Claim,
                Shown::Ready { .. } => Call::Authorize,
                Shown::Active { .. } => return self.admitted().await,
                Shown::Gone { .. } => Call::Join,
            };
        }
    }

    /// If its turn has come, takes down when: now, less what is used up of `claim_ttl`, where that
    /// is known.
    fn notes_its_turn(&self, state: &Shown, joined: &mut Option<Duration>) {
        let used = match state {
            Shown::Ready { left_ms } => {
                self.stage.claim_ttl().saturating_sub(Duration::from_millis(*left_ms))
            }
            Shown::Active { .. } => Duration::ZERO,
            _ => return,
        };
        let Some(joined) = joined.take() else { return };
        let promoted = self.stage.elapsed().saturating_sub(used);
        let mut counts = self.stage.counts();
        counts.waits.note(promoted.saturating_sub(joined));
        if self.stage.args.follow {
            counts.promoted_ms.push(promoted.as_millis());
        }
    }

    /// Does what it came for, and leaves.
    async fn admitted(&mut self) -> End {
        self.others = None;
        let end = self.inside().await;
        if self.habit == Habit::DropsOut {
            return End::DroppedOut;
        }
        // What the service may have ended the witness counts on until it is seen.
        if self.stage.site.target.is_some() {
            Box::pin(self.tab.ask(Call::Place)).await;
        }
        // Answered or not: a visitor who closes the page sends it once.
        Box::pin(self.tab.ask(Call::Leave)).await;
        end
    }

    /// Asks until an answer says something of the place; nothing when it is refused for good.
    ///
    /// It asks again as the waiting page does: 1 s later, then twice as long each time up to 20 s,
    /// each half to one and a half of it, and not before the answer says.
    pub(super) async fn until_answered(&mut self, call: Call) -> Option<Heard> {
        let mut own_ms = 1_000;
        loop {
            let heard = Box::pin(self.tab.ask(call)).await;
            if let Some(400 | 401 | 404 | 405) = heard.status {
                return None;
            }
            // A pass is an answer, also one without a place.
            let passes = call == Call::Authorize && heard.status == Some(200);
            if passes || heard.shown != Shown::Nothing {
                return Some(heard);
            }
            let own = Duration::from_millis(own_ms).mul_f64(self.random.random_range(0.5..1.5));
            own_ms = 20_000.min(2 * own_ms);
            let after = Duration::from_millis(heard.poll_after_ms.unwrap_or(0));
            sleep(own.max(after.mul_f64(self.random.random_range(1.0..1.5)))).await;
        }
    }

    /// Not there for about so long: the connection is gone.
    pub(super) async fn away(&mut self, time: Duration, about: Range<f64>) {
        self.tab.connection.close();
        sleep(time.mul_f64(self.random.random_range(about))).await;
    }
}
