//! The store's clock leaps under visitors who wait, are ready and are active: no visitor expires,
//! and the line goes on at once.

use std::time::Duration;

use anteroom_testkit::{
    Clock, Deployment, PATIENCE, Redis, RedisBuilder, Service, until,
    witness::{Call, Caller, Doors, Record, Scene, Shown},
};
use tokio::sync::SemaphorePermit;

use super::{WRONG, leap, store_is_off_by};
use crate::{HEAVY, machine};

/// Every time is shorter than a leap, and longer than the test.
const QUEUE: &str = "[queues.hall]\ncapacity = 6\nbatch = 20\ninterval = \"2s\"\n\
    claim_ttl = \"8m\"\nsession_ttl = \"8m\"\nidle_ttl = \"8m\"\nkeep_ttl = \"8m\"\njoins_per_address = \"none\"\n\
        places_per_address = 0\nrequests_per_place = 0\n";
const TTL_MS: u64 = 480_000;
/// So much of a visitor's time a leap takes at most, in microseconds.
const STEP: u64 = 5_000_000;
/// What rounding to milliseconds hides.
const ROUNDING: u64 = 1_000;
/// So soon the next turn is given after the leap, or after the store's return.
const SOON: Duration = Duration::from_secs(2);

/// The answer is about the place.
fn is_known(shown: &Shown) -> bool {
    *shown != Shown::Nothing
}

/// A visitor inside, and the end of its time (µs of the record's clock).
struct Inside {
    caller: Caller,
    until: u64,
}

/// Three are active, three are ready, and the others wait.
struct Hall {
    site: Deployment,
    admission: Service,
    scheduler: Service,
    record: Record,
    active: Vec<Inside>,
    ready: Vec<Inside>,
    waiting: Vec<Caller>,
    _alone: SemaphorePermit<'static>,
}

impl Hall {
    async fn open(redis: RedisBuilder, local_answers: bool) -> Self {
        let alone = machine(HEAVY).await;
        let redis = redis.clock(Clock::off_by(0)).start().await;
        let queue = format!("{QUEUE}local_answers = {local_answers}\n");
        let site = Deployment::new(redis, &queue, &[]);
        let (admission, scheduler) = (site.admission().await, site.scheduler().await);
        let scene = Scene::new(Doors::new([admission.url("public")]), "hall");
        let mut hall = Self {
            site,
            admission,
            scheduler,
            record: scene.record.clone(),
            active: Vec::new(),
            ready: Vec::new(),
            waiting: Vec::new(),
            _alone: alone,
        };
        for visitor in 1..=30 {
            let mut caller = Caller::new(&scene, visitor);
            caller.ask_until(Call::Join, is_known).await;
            hall.waiting.push(caller);
        }
        for inside in 0..6 {
            hall.head_is_ready().await;
            if inside < 3 {
                hall.first_ready_claims().await;
            }
        }
        hall.no_visitor_expires().await;
        hall
    }

    async fn head_is_ready(&mut self) {
        let mut caller = self.waiting.remove(0);
        let waits = |shown: &Shown| matches!(shown, Shown::Waiting { .. } | Shown::Nothing);
        let shown = caller.ask_until(Call::Place, |shown| !waits(shown)).await;
        assert!(matches!(shown, Shown::Ready { .. }), "it stood in line: {shown:?}");
        self.ready.push(Inside { caller, until: 0 });
    }

    async fn first_ready_claims(&mut self) {
        let mut inside = self.ready.remove(0);
        let shown = inside.caller.ask_until(Call::Claim, is_known).await;
        assert!(matches!(shown, Shown::Active { .. }), "it had its turn: {shown:?}");
        self.active.push(Inside { until: 0, ..inside });
    }

    /// Two leave, and the first two of the line get their slots: one might be left of a slice from
    /// before. No other visitor moves. Returns how long after `since` the second turn was
    /// given.
    async fn goes_on(&mut self, since: u64) -> Duration {
        for mut leaves in self.active.drain(..2) {
            leaves.caller.ask_until(Call::Leave, |shown| matches!(shown, Shown::Gone { .. })).await;
        }
        for _ in 0..2 {
            self.head_is_ready().await;
        }
        let took = Duration::from_micros(self.record.now() - since);
        for _ in 0..2 {
            self.first_ready_claims().await;
        }
        self.no_visitor_expires().await;
        took
    }

    /// Everyone is where they were, and has lost at most a step since they last looked.
    async fn no_visitor_expires(&mut self) {
        for inside in self.active.iter_mut().chain(&mut self.ready) {
            inside.looks(&self.record).await;
        }
        for inside in &mut self.active {
            let shown = inside.caller.ask_until(Call::Authorize, is_known).await;
            assert!(matches!(shown, Shown::Active { .. }), "it passes at the gate: {shown:?}");
        }
        for (ahead, caller) in (0..).zip(&mut self.waiting) {
            let shown = caller.ask_until(Call::Place, is_known).await;
            assert_eq!(
                shown,
                Shown::Waiting { position: Some(ahead + 1) },
                "the line is as it was"
            );
        }
        assert_eq!((self.active.len(), self.ready.len()), (3, 3));
    }

    /// No service had to be restarted.
    fn ends_well(mut self) {
        for service in [&mut self.admission, &mut self.scheduler] {
            assert!(service.process.try_exit().is_none(), "{}", service.process.stdout());
        }
    }
}

impl Inside {
    async fn looks(&mut self, record: &Record) {
        let sent = record.now();
        let shown = self.caller.ask_until(Call::Place, is_known).await;
        let received = record.now();
        let (Shown::Active { left_ms } | Shown::Ready { left_ms }) = shown else {
            panic!("visitor {} was inside, and is {shown:?}", self.caller.visitor)
        };
        assert!(left_ms <= TTL_MS, "visitor {} gained time: {left_ms} ms", self.caller.visitor);
        let at_most = received + 1_000 * left_ms;
        assert!(
            at_most + STEP + ROUNDING >= self.until,
            "visitor {} lost more than a step: {at_most} µs, was {} µs",
            self.caller.visitor,
            self.until,
        );
        self.until = sent + 1_000 * left_ms;
    }
}

/// Whether turns were given soon, at least three times. A busy machine adds to some of them what it
/// likes, and hardly to all: one that was soon is waited for, and not for ever.
fn were_soon(took: &[Duration]) -> bool {
    let soon = took.iter().any(|took| *took < SOON);
    assert!(soon || took.len() < 5, "no turn within {SOON:?}: {took:?}");
    soon && took.len() >= 3
}

/// Ten minutes ahead and back, again and again.
async fn leaps_expire_no_visitor(local_answers: bool) {
    let mut hall = Hall::open(Redis::builder(), local_answers).await;
    let (mut ahead, mut back) = (Vec::new(), Vec::new());
    while !(were_soon(&ahead) && were_soon(&back)) {
        for (seconds, took) in [(WRONG, &mut ahead), (0, &mut back)] {
            leap(&hall.site.redis, seconds).await;
            let leapt = hall.record.now();
            took.push(hall.goes_on(leapt).await);
        }
    }
    hall.ends_well();
}

#[tokio::test]
async fn promise_12_leaps_of_the_stores_clock_expire_no_visitor_and_the_line_goes_on() {
    leaps_expire_no_visitor(false).await;
}

#[tokio::test]
async fn promise_12_leaps_of_the_stores_clock_expire_no_visitor_with_local_answers() {
    leaps_expire_no_visitor(true).await;
}

#[tokio::test]
async fn promise_05_a_store_away_for_twenty_minutes_expires_no_visitor_and_the_line_goes_on() {
    let mut hall = Hall::open(Redis::builder().durable(), false).await;
    let (mut took, mut seconds) = (Vec::new(), 0);
    while !were_soon(&took) {
        hall.site.redis.kill();
        until("the store is missed", PATIENCE, async || {
            hall.waiting[0].clone().ask(Call::Place).await.status == Some(503)
        })
        .await;
        // Twenty minutes in a moment: by its own clock the store was away for as long.
        seconds += 2 * WRONG;
        hall.site.redis.clock().leaps_to(seconds);
        hall.site.redis.restart().await;
        store_is_off_by(&hall.site.redis, seconds).await;
        let back = hall.record.now();
        took.push(hall.goes_on(back).await);
    }
    hall.ends_well();
}
