//! Promise 1 from the outside, with local answers: visitors who may pass are never more than the
//! capacity.
//!
//! Places are active at one admission, which gets checks as fast as can be, and end at another. A
//! place could pass from the answer to its first 200 until the sending of its last one, for sure;
//! so many of these spans may overlap as there are slots.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anteroom_testkit::{PATIENCE, Process, until};
use reqwest::Method;

use crate::room::{PATIENT, Room};

const CAPACITY: usize = 3;
const VISITORS: usize = 36;
/// How long a visitor stays, so that the other admission knows the place.
const STAY: Duration = Duration::from_millis(150);
/// How long after its end a visitor goes on trying.
const STUBBORN: Duration = Duration::from_millis(600);
const LIST: &str = "anteroom:v1:queue:{concert}:revoked";

/// When a visitor could pass for sure.
#[derive(Clone, Copy, Debug)]
struct Span {
    from: Instant,
    to: Instant,
}

/// How many spans overlap at most.
fn most_at_once(spans: &[Span]) -> usize {
    let during = |at: Instant| spans.iter().filter(|span| span.from <= at && at < span.to).count();
    spans.iter().map(|span| during(span.from)).max().unwrap_or(0)
}

#[test]
fn the_overlap_is_counted() {
    let start = Instant::now();
    let span = |from: u64, to: u64| {
        let at = |ms| start + Duration::from_millis(ms);
        Span { from: at(from), to: at(to) }
    };
    assert_eq!(most_at_once(&[]), 0);
    assert_eq!(most_at_once(&[span(0, 10), span(10, 20), span(20, 30)]), 1);
    assert_eq!(most_at_once(&[span(0, 10), span(9, 20), span(20, 30)]), 2);
    assert_eq!(most_at_once(&[span(0, 100), span(10, 90), span(20, 30), span(40, 50)]), 3);
}

/// What was seen of a run.
struct Seen {
    spans: Vec<Span>,
    /// Visitors that passed after the answer that their place is gone.
    after_the_end: usize,
    /// Local answers of the second admission.
    local: f64,
}

/// What makes a run harder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trouble {
    None,
    /// The second admission is frozen again and again, for longer than a reading is valid.
    Frozen,
    /// The entries are taken away by which the store withholds a slot, and the second admission
    /// learns of its end.
    Sabotage,
}

/// Everything that the visitors of a run share.
struct Handover {
    room: Room,
    second: String,
    /// Visitors that have left.
    left: AtomicUsize,
    after_the_end: AtomicUsize,
    trouble: Trouble,
}

impl Handover {
    async fn gate(&self, base: &str, token: &str) -> (Instant, bool, Instant) {
        let sent = Instant::now();
        let call = self.room.call_at(base, Method::GET, "/v1/queues/:name/authorize");
        let passed = call.token(token).send().await.status == 200;
        (sent, passed, Instant::now())
    }

    /// The n-th visitor in line comes, stays and leaves at the first admission, while the second
    /// gets gateway checks for it.
    async fn visit(self: Arc<Self>, number: usize, token: String) -> Span {
        let first = self.room.url("public");
        let end = Instant::now() + 3 * PATIENCE;
        let from = loop {
            assert!(Instant::now() < end, "visitor {number} never passes");
            // Visitors far back poll seldom, so that those at the front can poll often.
            let near = number < self.left.load(Ordering::Relaxed) + 2 * CAPACITY;
            tokio::time::sleep(Duration::from_millis(if near { 1 } else { 100 })).await;
            if let (_, true, received) = self.gate(&first, &token).await {
                break received;
            }
        };
        let last = Arc::new(Mutex::new(from));
        let asking = tokio::spawn(self.clone().ask_on(token.clone(), last.clone()));
        tokio::time::sleep(STAY).await;
        // A busy machine may answer 504: leaving is safe to retry.
        until("the visitor leaves", PATIENCE, async || {
            let leave = self.room.call_at(&first, Method::DELETE, "/v1/queues/:name/token");
            leave.token(&token).send().await.status == 204
        })
        .await;
        let gone = Instant::now();
        if self.trouble == Trouble::Sabotage {
            let _: u64 = self.room.anteroom.deployment.redis.run(&["DEL", LIST]).await;
        }
        self.left.fetch_add(1, Ordering::Relaxed);
        tokio::time::sleep(STUBBORN).await;
        asking.abort();
        let to = *last.lock().unwrap_or_else(PoisonError::into_inner);
        self.after_the_end.fetch_add(usize::from(to > gone), Ordering::Relaxed);
        Span { from, to }
    }

    /// Asks the second admission without a pause, and notes when a question was sent that let it
    /// pass.
    async fn ask_on(self: Arc<Self>, token: String, last: Arc<Mutex<Instant>>) {
        loop {
            if let (sent, true, _) = self.gate(&self.second, &token).await {
                let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
                *last = sent.max(*last);
            }
        }
    }
}

async fn run(trouble: Trouble) -> Seen {
    let queue = format!(
        "[queues.:name]\ncapacity = {CAPACITY}\nlocal_answers = true\nrequests_per_place = 0\n\
         joins_per_address = \"none\"\nplaces_per_address = 0\n"
    );
    let env = [&[("ANTEROOM_SCHEDULER__TICK", "10ms")][..], &PATIENT].concat();
    let room = Room::start_with(&queue, &env).await;
    let second = room.anteroom.deployment.admission().await;
    let mut tokens = Vec::new();
    for _ in 0..VISITORS {
        tokens.push(room.join().await.is(201).token());
    }
    let (left, after_the_end) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let url = second.url("public");
    let run = Arc::new(Handover { room, second: url, left, after_the_end, trouble });
    let mut visits = tokio::task::JoinSet::new();
    for (number, token) in tokens.into_iter().enumerate() {
        visits.spawn(run.clone().visit(number, token));
    }
    let freezing = async {
        if trouble == Trouble::Frozen {
            freeze_again_and_again(&second.process).await;
        }
        std::future::pending::<()>().await;
    };
    let spans = tokio::select! {
        spans = visits.join_all() => spans,
        () = freezing => unreachable!("it never ends"),
    };
    second.process.thaw();
    let local = "anteroom_gate_answers_total{answer=\"local\"}";
    let local = second.metric(local).await.unwrap_or(0.0);
    let after_the_end = run.after_the_end.load(Ordering::Relaxed);
    Seen { spans, after_the_end, local }
}

async fn freeze_again_and_again(process: &Process) {
    loop {
        process.freeze();
        tokio::time::sleep(Duration::from_millis(250)).await;
        process.thaw();
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn promise_01_never_more_than_the_capacity_may_pass_with_local_answers() {
    let seen = run(Trouble::None).await;
    assert_eq!(seen.spans.len(), VISITORS);
    assert!(seen.local > 0.0, "the second admission never answered by itself");
    assert!(seen.after_the_end > 0, "no visitor passed on what was known: nothing is shown");
    assert!(most_at_once(&seen.spans) <= CAPACITY, "{:?}", seen.spans);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn promise_01_a_frozen_gate_lets_no_visitor_pass_on_what_it_knew() {
    let seen = run(Trouble::Frozen).await;
    assert_eq!(seen.spans.len(), VISITORS);
    assert!(seen.local > 0.0, "the second admission never answered by itself");
    assert!(most_at_once(&seen.spans) <= CAPACITY, "{:?}", seen.spans);
}

/// The same run would find a slot that is given away too soon.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slot_that_is_given_away_too_soon_is_seen() {
    let seen = run(Trouble::Sabotage).await;
    assert!(most_at_once(&seen.spans) > CAPACITY, "{:?}", seen.spans);
}
