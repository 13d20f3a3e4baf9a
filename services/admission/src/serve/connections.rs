//! The open connections of a port, and which of them has to go when there is no room for one more.
//!
//! A connection that waits for its client (it says nothing, its head or its body does not come, it
//! takes no answer, it is idle between two requests) may be closed; one whose request is being answered,
//! or that is told events, may not. So clients that are slow on purpose hold out nobody: whoever comes
//! next takes the place of the one that has waited longest.
//!
//! When one has to go, all that wait are noted, longest first. Who has not been heard of since is still
//! the one that waits longest, for everybody else began to wait later; so one look at all connections
//! serves for as many as it found, and a request costs nothing here.
//!
//! A new connection is left alone for a moment, in which it can say what it wants. While all that could
//! go are that young, the next ones wait in the system's own line.

use std::cmp::Reverse;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use prometheus::IntCounter;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::idle::{Idle, Wait};

/// So long a connection is young.
const YOUTH: Duration = Duration::from_secs(1);
/// Where a look found nobody who may go, it holds for so long.
pub const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// Why there is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// Those that wait for their clients are young: soon one may go.
    Soon,
    /// All are being served.
    Served,
}

/// The connections of one port.
#[derive(Debug)]
pub struct Connections {
    ring: Mutex<Ring>,
    closed: IntCounter,
}

#[derive(Debug)]
struct Ring {
    places: Vec<Option<Open>>,
    free: Vec<usize>,
    /// Who waited at the last look, the longest at the end.
    waiting: Vec<(Wait, usize)>,
    /// When a look found nobody who may go, and why.
    in_vain: Option<(Instant, Full)>,
}

#[derive(Debug)]
struct Open {
    idle: Idle,
    task: AbortHandle,
}

/// A connection's place among the others, until it is dropped.
#[derive(Debug)]
pub struct Place {
    connections: Arc<Connections>,
    /// Whether it waits for its client.
    pub idle: Idle,
    at: usize,
}

impl Connections {
    /// Room for so many; those that have to go are counted in `closed`.
    pub fn new(most: usize, closed: IntCounter) -> Arc<Self> {
        let ring = Ring {
            places: Vec::new(),
            free: (0..most).rev().collect(),
            waiting: Vec::new(),
            in_vain: None,
        };
        Arc::new(Self { ring: Mutex::new(ring), closed })
    }

    /// A place for one more, which may have been another's.
    pub fn enter(self: &Arc<Self>) -> Result<Place, Full> {
        let mut ring = self.lock();
        let at = match ring.free.pop() {
            Some(at) => at,
            None => ring.make_room().inspect(|_| self.closed.inc())?,
        };
        if ring.places.len() <= at {
            ring.places.resize_with(at + 1, || None);
        }
        Ok(Place { connections: self.clone(), idle: Idle::new(), at })
    }

    fn lock(&self) -> MutexGuard<'_, Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ring {
    /// Closes the connection that has waited for its client longest.
    fn make_room(&mut self) -> Result<usize, Full> {
        if let Some(at) = self.close_longest() {
            return Ok(at);
        }
        let now = Instant::now();
        if let Some((_, full)) = self.in_vain.filter(|(looked, _)| now < *looked + LOOK_AGAIN) {
            return Err(full);
        }
        let full = self.look(now);
        // All of them may be heard of in this very moment.
        let found = self.close_longest().ok_or(full);
        self.in_vain = found.err().map(|full| (now, full));
        found
    }

    /// Closes the longest of those that were noted and have not been heard of since.
    fn close_longest(&mut self) -> Option<usize> {
        while let Some((wait, at)) = self.waiting.pop() {
            // The place may have become another's, who then began to wait later.
            let open = self.places[at].take_if(|open| open.idle.close(wait));
            if let Some(open) = open {
                open.task.abort();
                return Some(at);
            }
        }
        None
    }

    /// Notes who waits, and tells why there is no room if nobody does.
    fn look(&mut self, now: Instant) -> Full {
        let mut full = Full::Served;
        for (at, open) in self.places.iter().enumerate() {
            let Some(idle) = open.as_ref().map(|open| &open.idle) else { continue };
            let Some(wait) = idle.wait() else { continue };
            if now - idle.opened() < YOUTH {
                full = Full::Soon;
            } else {
                self.waiting.push((wait, at));
            }
        }
        self.waiting.sort_unstable_by_key(|(wait, at)| Reverse((wait.since, *at)));
        if self.waiting.is_empty() { full } else { Full::Soon }
    }
}

impl Place {
    /// Serves the connection in a task of its own, which is ended when it has to go.
    pub fn serve(self, serving: impl Future<Output = ()> + Send + 'static) {
        let (connections, idle, at) = (self.connections.clone(), self.idle.clone(), self.at);
        // The task cannot leave its place before it stands in the ring.
        let mut ring = connections.lock();
        let task = tokio::spawn(async move {
            let _place = self;
            serving.await;
        });
        ring.places[at] = Some(Open { idle, task: task.abort_handle() });
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut ring = self.connections.lock();
        // Whoever had to go has left the place to another.
        if !self.idle.is_closed() {
            ring.places[self.at] = None;
            ring.free.push(self.at);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
    use tokio::time::advance;

    use super::*;

    /// A full ring, and the numbers of the connections that have ended.
    struct House {
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

    impl House {
        fn new(most: usize) -> Self {
            let (ends, ended) = unbounded_channel();
            let closed = IntCounter::new("closed", "closed").expect("a name");
            Self { connections: Connections::new(most, closed), ends, ended }
        }

        /// Opens a connection of this number, not young any more.
        fn open(&self, number: u32) -> Result<Idle, Full> {
            let place = self.connections.enter()?;
            let (idle, end) = (place.idle.clone(), End(number, self.ends.clone()));
            place.serve(async move {
                let _end = end;
                pending::<()>().await;
            });
            Ok(idle)
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_one_that_waits_longest_goes() {
        let mut house = House::new(3);
        let first = house.open(0).expect("room");
        let second = house.open(1).expect("room");
        advance(YOUTH).await;
        house.open(2).expect("room");
        advance(YOUTH).await;
        house.open(3).expect("room");
        assert_eq!(house.ended.recv().await, Some(0));
        assert!(!first.over(), "nothing is done for it any more");
        // Who was heard of meanwhile waits since then.
        advance(YOUTH / 2).await;
        assert!(second.over());
        second.begin();
        advance(YOUTH).await;
        house.open(4).expect("room");
        assert_eq!(house.ended.recv().await, Some(2));
        house.open(5).expect("room");
        assert_eq!(house.ended.recv().await, Some(3));
        assert_eq!(house.connections.closed.get(), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn who_is_served_stays_and_a_full_house_has_no_room() {
        let mut house = House::new(2);
        let [one, two] = [0, 1].map(|number| house.open(number).expect("room"));
        advance(YOUTH).await;
        assert!(one.over() && two.over());
        assert_eq!(house.open(2).map(drop), Err(Full::Served));
        two.begin();
        assert_eq!(house.open(2).map(drop), Err(Full::Served), "as the last look said");
        advance(LOOK_AGAIN).await;
        house.open(3).expect("room");
        assert_eq!(house.ended.recv().await, Some(1));
        one.begin();
        assert!(one.over(), "it is there still");
    }

    #[tokio::test(start_paused = true)]
    async fn the_only_one_that_may_go_is_found_among_thousands() {
        const MANY: u32 = 3_000;
        let mut house = House::new(MANY as usize);
        let served: Vec<_> = (0..MANY).map(|number| house.open(number).expect("room")).collect();
        advance(YOUTH).await;
        assert!(served.iter().all(Idle::over));
        served[2_500].begin();
        house.open(MANY).expect("room");
        assert_eq!(house.ended.recv().await, Some(2_500));
    }

    #[tokio::test(start_paused = true)]
    async fn one_look_at_all_serves_for_many() {
        const MANY: u32 = 1_000;
        let mut house = House::new(MANY as usize);
        let open: Vec<_> = (0..MANY).map(|number| house.open(number).expect("room")).collect();
        advance(YOUTH).await;
        house.open(MANY).expect("room");
        assert_eq!(house.connections.lock().waiting.len(), MANY as usize - 1);
        // Who was heard of meanwhile is passed over, without another look.
        let again = house.ended.recv().await.expect("an end");
        for idle in &open[..900] {
            idle.over();
            idle.begin();
        }
        house.open(MANY + 1).expect("room");
        let next = house.ended.recv().await.expect("an end");
        assert!(again < MANY && (900..MANY).contains(&next), "{again} {next}");
        assert!(house.connections.lock().waiting.len() < MANY as usize - 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_new_connection_is_left_alone_for_a_moment() {
        let house = House::new(1);
        house.open(0).expect("room");
        assert_eq!(house.open(1).map(drop), Err(Full::Soon));
        advance(YOUTH).await;
        house.open(1).expect("room");
        assert_eq!(house.connections.closed.get(), 1);
    }

    #[tokio::test]
    async fn a_place_that_was_left_is_free() {
        let house = House::new(1);
        for _ in 0..3 {
            house.connections.enter().expect("room").serve(async {});
            while house.connections.lock().free.is_empty() {
                tokio::task::yield_now().await;
            }
        }
        drop(house.connections.enter().expect("room"));
        house.connections.enter().expect("it was not used");
        assert_eq!(house.connections.closed.get(), 0);
    }
}
