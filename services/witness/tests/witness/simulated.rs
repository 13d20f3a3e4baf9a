//! Random records of a simulated room: slow and lost requests, effects long after the caller gave
//! up, queue time that pauses. The honest room is never accused, and each planted fault is
//! found.

use std::{cmp::Reverse, collections::BinaryHeap, time::Duration};

use anteroom_witness::{Call, Held, Line, Rules, Shown, busiest, check};
use rand::{Rng as _, SeedableRng as _, rngs::StdRng};

use crate::{
    room::{BATCH, CAPACITY, INTERVAL, PlantedFault, SimulatedRoom, TTL},
    story::{gone, reports},
};

const VISITORS: usize = 80;
const PATIENCE: u64 = 1_500_000;
const END: u64 = 90_000_000;

fn rules(local_answers: bool) -> Rules {
    Rules {
        local_answers,
        capacity: Some(CAPACITY),
        batch: Some(BATCH),
        interval: Duration::from_micros(INTERVAL),
        claim_ttl: Duration::from_micros(TTL),
        session_ttl: Duration::from_micros(TTL),
        ..Rules::default()
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Tick,
    /// A visitor decides what to do next.
    Decides(usize),
    /// A request has its effect.
    Effect(usize),
    /// An answer is there, or given up.
    Heard(usize),
}

/// A visitor, as far as it knows.
#[derive(Clone)]
struct Visitor {
    held: Option<Held>,
    shown: Shown,
    /// The best position so far of the place that it holds.
    position: Option<u64>,
    /// Requests under way.
    waits_for: usize,
}

struct Request {
    line: Line,
    outcome: Option<(u16, u64, Shown)>,
}

/// A record of 90 s, in order of reception.
fn play(fault: PlantedFault, local_answers: bool, seed: u64) -> Vec<Line> {
    let mut random = StdRng::seed_from_u64(seed);
    let mut room = SimulatedRoom::new(fault, local_answers);
    let new = Visitor { held: None, shown: Shown::Nothing, position: None, waits_for: 0 };
    let mut visitors = vec![new; VISITORS];
    let (mut requests, mut record) = (Vec::<Request>::new(), Vec::new());
    let mut events = BinaryHeap::from([Reverse((0, Event::Tick))]);
    for visitor in 0..VISITORS {
        events.push(Reverse((random.random_range(0..20_000_000), Event::Decides(visitor))));
    }
    while let Some(Reverse((now, event))) = events.pop() {
        match event {
            _ if now > END => break,
            Event::Tick => {
                room.promote(now);
                // Now and then no scheduler runs for a while.
                let stalls = random.random_bool(0.01);
                let pause = random.random_range(90_000..110_000)
                    + if stalls { random.random_range(0..15_000_000) } else { 0 };
                events.push(Reverse((now + pause, Event::Tick)));
            }
            Event::Decides(visitor) => {
                let calls = next_calls(&visitors[visitor], &mut random);
                visitors[visitor].waits_for = calls.len();
                for call in calls {
                    let (there, back) = (latency(&mut random), latency(&mut random));
                    let answered = there + back < PATIENCE;
                    let took = if answered { there + back } else { PATIENCE };
                    let Visitor { held, position, .. } = visitors[visitor];
                    let number = requests.len();
                    let line = line(visitor, call, now, took, held);
                    let position = position.filter(|_| call == Call::Place);
                    requests.push(Request { line: Line { position, ..line }, outcome: None });
                    // Some that are given up never have an effect.
                    if answered || random.random_bool(0.7) {
                        events.push(Reverse((now + there, Event::Effect(number))));
                    }
                    events.push(Reverse((now + took, Event::Heard(number))));
                }
            }
            Event::Effect(number) => {
                let line = &requests[number].line;
                let ticket = line.holds.map_or(0, |held| held.ticket);
                let of = (ticket, line.position);
                requests[number].outcome = Some(room.ask(now, line.visitor, line.call, of));
            }
            Event::Heard(number) => {
                let request = &mut requests[number];
                let answered = request.line.received - request.line.sent < PATIENCE;
                if let Some((status, ticket, shown)) = request.outcome.clone().filter(|_| answered)
                {
                    let held = Held { epoch: 1, ticket };
                    request.line.status = Some(status);
                    (request.line.ticket, request.line.shown) = (Some(ticket), shown);
                    request.line.given = (request.line.call == Call::Join).then_some(held);
                }
                let (line, number) = (request.line.clone(), request.line.visitor as usize);
                record.push(line.clone());
                let visitor = &mut visitors[number];
                if line.given.is_some_and(|given| visitor.held != Some(given)) {
                    (visitor.held, visitor.position) = (line.given, None);
                }
                if let (Shown::Waiting { position }, true) =
                    (&line.shown, line.place() == visitor.held)
                {
                    visitor.position = [visitor.position, *position].into_iter().flatten().min();
                }
                visitor.shown = line.shown;
                visitor.waits_for -= 1;
                if visitor.waits_for == 0 && !random.random_bool(0.01) {
                    let pause = random.random_range(10_000..600_000);
                    events.push(Reverse((now + pause, Event::Decides(number))));
                }
            }
        }
    }
    // What is under way at the end is in the record too.
    record.extend(requests.into_iter().map(|it| it.line).filter(|line| line.received > END));
    record
}

/// What a visitor does next, with a second tab now and then.
fn next_calls(visitor: &Visitor, random: &mut StdRng) -> Vec<Call> {
    let mut calls = match &visitor.shown {
        _ if visitor.held.is_none() => vec![Call::Join],
        Shown::Ready { .. } if random.random_bool(0.7) => vec![Call::Claim],
        Shown::Active { .. } if random.random_bool(0.2) => vec![Call::Leave],
        Shown::Gone { .. } if random.random_bool(0.5) => vec![Call::Join],
        _ if random.random_bool(0.02) => vec![Call::Leave],
        _ => vec![Call::Place],
    };
    if random.random_bool(0.1) {
        calls.push(Call::Join);
    }
    calls
}

/// Mostly a few milliseconds, sometimes seconds.
fn latency(random: &mut StdRng) -> u64 {
    let slow = random.random_bool(0.03);
    random.random_range(200..if slow { 8_000_000 } else { 8_000 })
}

fn line(visitor: usize, call: Call, sent: u64, took: u64, held: Option<Held>) -> Line {
    let visitor = u32::try_from(visitor).expect("a few");
    Line {
        visitor,
        identity: visitor,
        call,
        door: 0,
        sent,
        received: sent + took,
        holds: held.filter(|_| call != Call::Join),
        position: None,
        status: None,
        code: String::new(),
        ticket: None,
        shown: Shown::Nothing,
        given: None,
        token: None,
    }
}

#[test]
fn an_honest_room_is_never_accused() {
    for local_answers in [false, true] {
        let (rules, mut most) = (rules(local_answers), (0, 0));
        for seed in 0..20 {
            let record = play(PlantedFault::None, local_answers, seed);
            let found = check(&record, &rules);
            assert!(found.is_empty(), "seed {seed}: {}", reports(&found, &record));
            let busiest = busiest(&record, &rules);
            most = (most.0.max(busiest.inside), most.1.max(busiest.promoted));
            assert!(record.iter().any(|line| line.shown == gone("left")), "visits come to an end");
        }
        assert_eq!(most, (CAPACITY, BATCH), "the limits are reached");
    }
}

#[test]
fn each_planted_fault_is_found() {
    let faults = [
        (PlantedFault::OneTooMany, 1),
        (PlantedFault::OneTooFast, 2),
        (PlantedFault::OutOfOrder, 3),
        (PlantedFault::TwoPlaces, 4),
        (PlantedFault::LosesJoins, 5),
        (PlantedFault::FalseHope, 5),
        (PlantedFault::ShortTurns, 5),
        (PlantedFault::IgnoresSentPositions, 5),
    ];
    for (fault, promise) in faults {
        for local_answers in [false, true] {
            if fault == PlantedFault::IgnoresSentPositions && !local_answers {
                continue;
            }
            let found = (0..10).filter(|seed| {
                let record = play(fault, local_answers, *seed);
                let found = check(&record, &rules(local_answers));
                found.iter().any(|violation| violation.promise == promise)
            });
            let found = found.count();
            assert!(found >= 2, "{fault:?} was found in {found} of 10 runs");
        }
    }
}
