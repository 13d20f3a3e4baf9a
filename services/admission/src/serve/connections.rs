//! The open connections of a port, and which of them is evicted when there is no room for one more.
//!
//! A connection that waits for its client (no head or body comes, its answer is not taken, or it is
//! idle between two requests) may be evicted; one whose request is being answered, or that is sent
//! events, may not. So clients that are slow on purpose keep no others out: a new connection gets
//! the slot of the one that has waited longest.
//!
//! Looking for that one visits all connections, so one look notes every connection that waits,
//! sorted by how long. An entry stays valid until something comes on its connection, for all others
//! began to wait later. So one look serves many evictions, and a request costs nothing here.
//!
//! A new connection is spared for a moment, in which it can send its request. While all that could
//! be evicted are that young, the next ones wait in the system's backlog.

use std::cmp::Reverse;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use prometheus::IntCounter;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::activity::{Activity, Wait};

/// A connection this young is not evicted.
const GRACE: Duration = Duration::from_secs(1);
/// A look that found none to evict is not repeated for so long.
pub const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// Why there is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// Those that wait for their clients are young: soon one may be evicted.
    Soon,
    /// All are being served.
    Served,
}

/// The connections of one port.
#[derive(Debug)]
pub struct Connections {
    slots: Mutex<Slots>,
    evictions: IntCounter,
}

#[derive(Debug)]
struct Slots {
    open: Vec<Option<OpenConnection>>,
    free: Vec<usize>,
    /// The connections that waited at the last look, the longest at the end.
    waiting: Vec<(Wait, usize)>,
    /// When a look found none to evict, and why.
    in_vain: Option<(Instant, Full)>,
}

#[derive(Debug)]
struct OpenConnection {
    activity: Activity,
    task: AbortHandle,
}

/// Room for one connection, until it is dropped.
#[derive(Debug)]
pub struct ConnectionSlot {
    connections: Arc<Connections>,
    /// What it is doing.
    pub activity: Activity,
    at: usize,
}

impl Connections {
    /// Room for so many; evictions are counted.
    pub fn new(most: usize, evictions: IntCounter) -> Arc<Self> {
        let slots = Slots {
            open: Vec::new(),
            free: (0..most).rev().collect(),
            waiting: Vec::new(),
            in_vain: None,
        };
        Arc::new(Self { slots: Mutex::new(slots), evictions })
    }

    /// Room for one more, which may have been another's.
    pub fn enter(self: &Arc<Self>) -> Result<ConnectionSlot, Full> {
        let mut slots = self.lock();
        let at = match slots.free.pop() {
            Some(at) => at,
            None => slots.make_room().inspect(|_| self.evictions.inc())?,
        };
        if slots.open.len() <= at {
            slots.open.resize_with(at + 1, || None);
        }
        Ok(ConnectionSlot { connections: self.clone(), activity: Activity::new(), at })
    }

    fn lock(&self) -> MutexGuard<'_, Slots> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slots {
    /// Evicts the connection that has waited for its client longest.
    fn make_room(&mut self) -> Result<usize, Full> {
        if let Some(at) = self.evict_longest() {
            return Ok(at);
        }
        let now = Instant::now();
        if let Some((_, full)) = self.in_vain.filter(|(looked, _)| now < *looked + LOOK_AGAIN) {
            return Err(full);
        }
        let full = self.look(now);
        // Something may have come on all of them since.
        let found = self.evict_longest().ok_or(full);
        self.in_vain = found.err().map(|full| (now, full));
        found
    }

    /// Evicts the first of those that were noted and have not changed since.
    fn evict_longest(&mut self) -> Option<usize> {
        while let Some((wait, at)) = self.waiting.pop() {
            // A slot that was given to another connection since has another wait.
            let open = self.open[at].take_if(|open| open.activity.evict(wait));
            if let Some(open) = open {
                open.task.abort();
                return Some(at);
            }
        }
        None
    }

    /// Notes the connections that wait; the reason why there is no room if none does.
    fn look(&mut self, now: Instant) -> Full {
        let mut full = Full::Served;
        for (at, open) in self.open.iter().enumerate() {
            let Some(open) = open else { continue };
            let Some(wait) = open.activity.wait() else { continue };
            if now - open.activity.opened() < GRACE {
                full = Full::Soon;
            } else {
                self.waiting.push((wait, at));
            }
        }
        self.waiting.sort_unstable_by_key(|(wait, at)| Reverse((wait.since, *at)));
        if self.waiting.is_empty() { full } else { Full::Soon }
    }
}

impl ConnectionSlot {
    /// Serves the connection in a task of its own, which an eviction ends.
    pub fn serve(self, serving: impl Future<Output = ()> + Send + 'static) {
        let (connections, activity, at) =
            (self.connections.clone(), self.activity.clone(), self.at);
        // Held until it stands there: the task cannot leave its slot before.
        let mut slots = connections.lock();
        let task = tokio::spawn(async move {
            let _slot = self;
            serving.await;
        });
        slots.open[at] = Some(OpenConnection { activity, task: task.abort_handle() });
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let mut slots = self.connections.lock();
        // The slot of an evicted one is another's already.
        if !self.activity.is_evicted() {
            slots.open[self.at] = None;
            slots.free.push(self.at);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
    use tokio::time::advance;

    use super::*;

    /// Connections, and the numbers of those that have ended.
    struct Numbered {
        connections: Arc<Connections>,
        ends: UnboundedSender<u32>,
        ended: UnboundedReceiver<u32>,
    }

    /// Says its number when it is dropped.
    struct End(u32, UnboundedSender<u32>);

    impl Drop for End {
        fn drop(&mut self) {
            let _ = self.1.send(self.0);
        }
    }

    impl Numbered {
        fn new(most: usize) -> Self {
            let (ends, ended) = unbounded_channel();
            let evictions = IntCounter::new("evictions", "evictions").expect("a name");
            Self { connections: Connections::new(most, evictions), ends, ended }
        }

        /// Opens a connection of this number, not young any more.
        fn open(&self, number: u32) -> Result<Activity, Full> {
            let slot = self.connections.enter()?;
            let (activity, end) = (slot.activity.clone(), End(number, self.ends.clone()));
            slot.serve(async move {
                let _end = end;
                pending::<()>().await;
            });
            Ok(activity)
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_one_that_waits_longest_is_evicted() {
        let mut numbered = Numbered::new(3);
        let first = numbered.open(0).expect("room");
        let second = numbered.open(1).expect("room");
        advance(GRACE).await;
        numbered.open(2).expect("room");
        advance(GRACE).await;
        numbered.open(3).expect("room");
        assert_eq!(numbered.ended.recv().await, Some(0));
        assert!(!first.received(), "nothing is done for it any more");
        // A request in between makes the wait begin anew.
        advance(GRACE / 2).await;
        assert!(second.received());
        second.answered();
        advance(GRACE).await;
        numbered.open(4).expect("room");
        assert_eq!(numbered.ended.recv().await, Some(2));
        numbered.open(5).expect("room");
        assert_eq!(numbered.ended.recv().await, Some(3));
        assert_eq!(numbered.connections.evictions.get(), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn who_is_served_stays_and_then_there_is_no_room() {
        let mut numbered = Numbered::new(2);
        let [one, two] = [0, 1].map(|number| numbered.open(number).expect("room"));
        advance(GRACE).await;
        assert!(one.received() && two.received());
        assert_eq!(numbered.open(2).map(drop), Err(Full::Served));
        two.answered();
        assert_eq!(numbered.open(2).map(drop), Err(Full::Served), "as the last look said");
        advance(LOOK_AGAIN).await;
        numbered.open(3).expect("room");
        assert_eq!(numbered.ended.recv().await, Some(1));
        one.answered();
        assert!(one.received(), "it is there still");
    }

    #[tokio::test(start_paused = true)]
    async fn the_only_one_that_may_be_evicted_is_found_among_thousands() {
        const MANY: u32 = 3_000;
        let mut numbered = Numbered::new(MANY as usize);
        let served: Vec<_> = (0..MANY).map(|number| numbered.open(number).expect("room")).collect();
        advance(GRACE).await;
        assert!(served.iter().all(Activity::received));
        served[2_500].answered();
        numbered.open(MANY).expect("room");
        assert_eq!(numbered.ended.recv().await, Some(2_500));
    }

    #[tokio::test(start_paused = true)]
    async fn one_look_at_all_serves_for_many() {
        const MANY: u32 = 1_000;
        let mut numbered = Numbered::new(MANY as usize);
        let open: Vec<_> = (0..MANY).map(|number| numbered.open(number).expect("room")).collect();
        advance(GRACE).await;
        numbered.open(MANY).expect("room");
        assert_eq!(numbered.connections.lock().waiting.len(), MANY as usize - 1);
        // Those that have had a request since are skipped, without another look.
        let again = numbered.ended.recv().await.expect("an end");
        for activity in &open[..900] {
            activity.received();
            activity.answered();
        }
        numbered.open(MANY + 1).expect("room");
        let next = numbered.ended.recv().await.expect("an end");
        assert!(again < MANY && (900..MANY).contains(&next), "{again} {next}");
        assert!(numbered.connections.lock().waiting.len() < MANY as usize - 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_new_connection_is_spared_for_a_moment() {
        let numbered = Numbered::new(1);
        numbered.open(0).expect("room");
        assert_eq!(numbered.open(1).map(drop), Err(Full::Soon));
        advance(GRACE).await;
        numbered.open(1).expect("room");
        assert_eq!(numbered.connections.evictions.get(), 1);
    }

    #[tokio::test]
    async fn a_slot_that_was_left_is_free() {
        let numbered = Numbered::new(1);
        for _ in 0..3 {
            numbered.connections.enter().expect("room").serve(async {});
            while numbered.connections.lock().free.is_empty() {
                tokio::task::yield_now().await;
            }
        }
        drop(numbered.connections.enter().expect("room"));
        numbered.connections.enter().expect("it was not used");
        assert_eq!(numbered.connections.evictions.get(), 0);
    }
}
