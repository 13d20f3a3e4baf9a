//! Random histories: calls that are decided at the store and answered late, readings that come
//! late, fail or miss something, places that end meanwhile. At no time may a place pass 100 ms
//! after it ended.

use std::cell::Cell;

use anteroom_core::queue::{Epoch, PlaceId};
use proptest::prelude::*;

use super::*;

const IDENTITIES: u64 = 3;
const EPOCH: Epoch = Epoch([1; 8]);
const START_US: u64 = 1_800_000_000_000_000;

#[derive(Clone, Copy, Debug)]
enum Step {
    Pass {
        ms: u64,
    },
    /// The gate asks the store for the present place of this identity, and is answered at once.
    Visit(u64),
    /// A reading that is answered at once.
    Reading,
    /// The gate is about to ask the store for the present place of this identity.
    Ask(u64),
    /// The store decides a call under way; the oldest is 0.
    Decide(usize),
    /// Its answer arrives.
    Answer(usize),
    /// The place ends before its time, and the identity gets another one.
    End(u64),
    Send,
    /// The reading is executed, and its answer arrives.
    Execute,
    Read,
    Fail,
    /// The store forgets its list.
    Forget,
    Rule(bool),
    /// The store's clock leaps, less than it would notice.
    Leap {
        ms: u64,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let identity = 0..IDENTITIES;
    prop_oneof![
        8 => (1u64..40).prop_map(|ms| Step::Pass { ms }),
        1 => (100u64..3_000).prop_map(|ms| Step::Pass { ms }),
        8 => identity.clone().prop_map(Step::Visit),
        8 => Just(Step::Reading),
        4 => identity.clone().prop_map(Step::Ask),
        4 => (0usize..3).prop_map(Step::Decide),
        4 => (0usize..3).prop_map(Step::Answer),
        2 => identity.prop_map(Step::End),
        3 => Just(Step::Send),
        3 => Just(Step::Execute),
        3 => Just(Step::Read),
        1 => Just(Step::Fail),
        1 => Just(Step::Forget),
        1 => Just(Step::Rule(false)),
        3 => Just(Step::Rule(true)),
        1 => (1u64..250).prop_map(|ms| Step::Leap { ms }),
    ]
}

/// A place at the store.
#[derive(Clone, Copy, Debug)]
struct Truth {
    of: PlaceRef,
    /// Its end in queue time.
    ends_us: u64,
    /// When it ended before that.
    ended: Option<Instant>,
}

/// A call under way; decided: how long the place lives.
struct Call {
    of: PlaceRef,
    basis: Basis,
    decided: Option<Option<Duration>>,
}

struct World {
    cache: ActiveCache,
    now: Instant,
    queue_time_us: u64,
    leapt: bool,
    places: Vec<Truth>,
    calls: Vec<Call>,
    list: Vec<(u64, PlaceRef)>,
    version: u64,
    forgotten: u64,
    rule: bool,
    /// When the reading under way was sent, from which version on, and the answer of Redis.
    reading: Option<(Instant, Option<u64>, Option<Revocations>)>,
}

impl World {
    fn new() -> Self {
        let mut world = Self {
            cache: ActiveCache::default(),
            now: Instant::now(),
            queue_time_us: START_US,
            leapt: false,
            places: Vec::new(),
            calls: Vec::new(),
            list: Vec::new(),
            version: START_US,
            forgotten: 0,
            rule: true,
            reading: None,
        };
        for identity in 0..IDENTITIES {
            world.gets_a_place(identity, 1);
        }
        world
    }

    fn gets_a_place(&mut self, identity: u64, ticket: u64) {
        let mut id = [0; 14];
        id[..8].copy_from_slice(&identity.to_be_bytes());
        let of = PlaceRef { epoch: EPOCH, id: PlaceId(id), ticket };
        // Some live long, some not.
        let lives = Duration::from_millis(if ticket.is_multiple_of(2) { 900 } else { 10_000 });
        self.places.push(Truth { of, ends_us: self.queue_time_us + micros(lives), ended: None });
    }

    fn place(&mut self, identity: u64) -> &mut Truth {
        let id = self.places[usize::try_from(identity).expect("small")].of.id;
        self.places.iter_mut().rfind(|place| place.of.id == id).expect("it always has one")
    }

    fn apply(&mut self, step: Step) {
        match step {
            Step::Pass { ms } => {
                self.now += Duration::from_millis(ms);
                self.queue_time_us += ms * 1_000;
            }
            Step::Visit(identity) => {
                self.apply(Step::Ask(identity));
                let last = self.calls.len() - 1;
                self.apply(Step::Decide(last));
                self.apply(Step::Answer(last));
            }
            Step::Reading => {
                for step in [Step::Send, Step::Execute, Step::Read] {
                    self.apply(step);
                }
            }
            Step::Ask(identity) => {
                let of = self.place(identity).of;
                let basis = self.cache.basis_at(self.now);
                self.calls.push(Call { of, basis, decided: None });
            }
            Step::Decide(call) => {
                let queue_time_us = self.queue_time_us;
                let Some(call) = self.calls.get_mut(call) else { return };
                let place = self.places.iter().find(|place| place.of == call.of).expect("given");
                let left = place.ends_us.checked_sub(queue_time_us).filter(|left| *left > 0);
                let left = left.filter(|_| place.ended.is_none()).map(Duration::from_micros);
                call.decided.get_or_insert(left);
            }
            Step::Answer(call) => {
                if self.calls.get(call).is_none_or(|call| call.decided.is_none()) {
                    return;
                }
                let call = self.calls.remove(call);
                match call.decided.expect("decided") {
                    Some(left) => self.cache.note_at(call.of, left, call.basis, None, self.now),
                    None => self.cache.forget_at(call.of, self.now),
                }
            }
            Step::End(identity) => {
                let (now, noted) = (self.now, self.rule);
                let place = self.place(identity);
                place.ended = Some(now);
                let of = place.of;
                if noted {
                    self.version = self.queue_time_us.max(self.version + 1);
                    self.list.push((self.version, of));
                }
                self.gets_a_place(identity, of.ticket + 1);
            }
            Step::Send => {
                if self.reading.is_none() {
                    self.reading = Some((self.now, self.cache.version(), None));
                }
            }
            Step::Execute => {
                let since = self.reading.as_ref().and_then(|(_, since, _)| *since);
                let since = since.filter(|since| *since >= self.forgotten);
                let new = self.list.iter().filter(|(at, _)| since.is_some_and(|since| *at > since));
                let read = Revocations {
                    epoch: EPOCH,
                    queue_time_us: self.queue_time_us,
                    local_answers: self.rule,
                    version: self.version,
                    whole: since.is_some(),
                    ended: new.map(|(_, of)| (of.id, of.ticket)).collect(),
                };
                if let Some((_, _, reply @ None)) = &mut self.reading {
                    *reply = Some(read);
                    self.leapt = false;
                }
            }
            Step::Read => {
                if let Some((sent, _, Some(read))) = &self.reading {
                    self.cache.read_at(*sent, read, self.now);
                    self.reading = None;
                }
            }
            Step::Fail => {
                self.cache.lose_reading();
                self.reading = None;
            }
            Step::Forget => {
                self.list.clear();
                self.forgotten = self.version;
            }
            Step::Rule(on) => {
                if self.rule != on {
                    self.rule = on;
                    self.version = self.queue_time_us.max(self.version + 1);
                    self.forgotten = self.version;
                }
            }
            // The store notices more than one at a time, and withholds what ends by it.
            Step::Leap { ms } => {
                if !self.leapt {
                    self.queue_time_us += ms * 1_000;
                    self.leapt = true;
                }
            }
        }
    }

    /// How many pass, and how many of them although they have ended; none may that ended too long
    /// ago.
    fn check(&self) -> Result<(u64, u64), TestCaseError> {
        let (mut passed, mut after_the_end) = (0, 0);
        for place in &self.places {
            if self.cache.passes_at(place.of, || self.now).is_none() {
                continue;
            }
            prop_assert!(self.queue_time_us < place.ends_us, "{place:?} has ended by itself");
            passed += 1;
            if let Some(ended) = place.ended {
                let since = self.now - ended;
                prop_assert!(since < FRESH, "{place:?} ended {since:?} ago");
                after_the_end += 1;
            }
        }
        Ok((passed, after_the_end))
    }
}

#[test]
fn promise_01_random_histories_let_no_place_pass_100_ms_after_the_end() {
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases: 400,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let (passed, after_the_end) = (Cell::new(0), Cell::new(0));
    let result = runner.run(&proptest::collection::vec(step(), 1..150), |steps| {
        let mut world = World::new();
        for step in steps {
            world.apply(step);
            let seen = world.check()?;
            passed.set(passed.get() + seen.0);
            after_the_end.set(after_the_end.get() + seen.1);
        }
        Ok(())
    });
    if let Err(failure) = result {
        panic!("{failure}");
    }
    // The histories come near what they are to show.
    let (passed, after_the_end) = (passed.get(), after_the_end.get());
    assert!(
        passed > 2_000 && after_the_end > 100,
        "{passed} passed, {after_the_end} after the end"
    );
}
