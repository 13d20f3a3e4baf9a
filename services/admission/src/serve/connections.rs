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
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use prometheus::IntCounter;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::activity::{Activity, ConnectionState};

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
    most: usize,
    open: Mutex<OpenConnections>,
    evictions: IntCounter,
}

#[derive(Debug, Default)]
struct OpenConnections {
    by_id: HashMap<u64, OpenConnection>,
    next_id: u64,
    /// The connections that waited at the last look, the longest at the end.
    waiting: Vec<(ConnectionState, u64)>,
    /// When a look found none to evict, and why.
    in_vain: Option<(Instant, Full)>,
}

#[derive(Debug)]
struct OpenConnection {
    opened: Instant,
    activity: Activity,
    task: AbortHandle,
}

impl Connections {
    /// Room for so many; evictions are counted.
    pub fn new(most: usize, evictions: IntCounter) -> Arc<Self> {
        Arc::new(Self { most, open: Mutex::default(), evictions })
    }

    /// Makes room for one more, if need be by an eviction.
    pub fn make_room(&self) -> Result<(), Full> {
        let mut open = self.lock();
        if open.by_id.len() >= self.most {
            open.evict()?;
            self.evictions.inc();
        }
        Ok(())
    }

    /// Serves one more connection in a task of its own, which an eviction ends.
    pub fn open(
        self: &Arc<Self>,
        activity: Activity,
        serving: impl Future<Output = ()> + Send + 'static,
    ) {
        // Locked until it is there: the task cannot end before.
        let mut open = self.lock();
        let id = open.next_id;
        open.next_id += 1;
        let end = End { connections: self.clone(), id };
        let task = tokio::spawn(async move {
            let _end = end;
            serving.await;
        });
        let task = task.abort_handle();
        open.by_id.insert(id, OpenConnection { opened: Instant::now(), activity, task });
    }

    fn lock(&self) -> MutexGuard<'_, OpenConnections> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OpenConnections {
    /// Evicts the connection that has waited for its client longest.
    fn evict(&mut self) -> Result<(), Full> {
        if self.evict_longest() {
            return Ok(());
        }
        let now = Instant::now();
        if let Some((_, full)) = self.in_vain.filter(|(looked, _)| now < *looked + LOOK_AGAIN) {
            return Err(full);
        }
        let full = self.look(now);
        // Something may have come on all of them since.
        let found = self.evict_longest().then_some(()).ok_or(full);
        self.in_vain = found.err().map(|full| (now, full));
        found
    }

    /// Evicts the first of those noted that have not changed since; false if none is left.
    fn evict_longest(&mut self) -> bool {
        while let Some((seen, id)) = self.waiting.pop() {
            let waits = self.by_id.get(&id).is_some_and(|open| open.activity.evict(seen));
            if waits && let Some(evicted) = self.by_id.remove(&id) {
                evicted.task.abort();
                return true;
            }
        }
        false
    }

    /// Notes the connections that wait; the reason why there is no room if none does.
    fn look(&mut self, now: Instant) -> Full {
        let mut full = Full::Served;
        for (id, open) in &self.by_id {
            let state = open.activity.state();
            if state.waits_since().is_none() {
                continue;
            }
            if now - open.opened < GRACE {
                full = Full::Soon;
            } else {
                self.waiting.push((state, *id));
            }
        }
        self.waiting.sort_unstable_by_key(|(state, id)| Reverse((state.waits_since(), *id)));
        if self.waiting.is_empty() { full } else { Full::Soon }
    }
}

/// Leaves room when the task of a connection ends.
struct End {
    connections: Arc<Connections>,
    id: u64,
}

impl Drop for End {
    fn drop(&mut self) {
        // An evicted one is out already.
        self.connections.lock().by_id.remove(&self.id);
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

    /// Sends its number when it is dropped.
    struct Number(u32, UnboundedSender<u32>);

    impl Drop for Number {
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
            self.connections.make_room()?;
            let (activity, number) = (Activity::new(), Number(number, self.ends.clone()));
            self.connections.open(activity.clone(), async move {
                let _number = number;
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
        // A request in between restarts the wait.
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
            numbered.connections.make_room().expect("room");
            numbered.connections.open(Activity::new(), async {});
            while !numbered.connections.lock().by_id.is_empty() {
                tokio::task::yield_now().await;
            }
        }
        assert_eq!(numbered.connections.evictions.get(), 0);
    }
}
