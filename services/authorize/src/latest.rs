//! The newest snapshot of an entity: for its GET, for gauges, and for what this process decides
//! between two readings.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anteroom_core::store::Error;
use anteroom_runtime::FRESH_FOR;
use arc_swap::ArcSwapOption;
use tokio::sync::Mutex;

/// A GET answers with a snapshot at most this old, while Redis is up.
const MAX_AGE: Duration = Duration::from_secs(1);

/// The newest snapshot of one entity, if there is any.
#[derive(Debug)]
pub struct Latest<S> {
    seen: ArcSwapOption<Seen<S>>,
    /// Held by the one caller that reads a newer snapshot, with the last failure and its time.
    reading: Mutex<Option<(Instant, Error)>>,
}

/// A snapshot, and when it was requested.
#[derive(Debug)]
pub struct Seen<S> {
    /// What Redis returned.
    pub snapshot: S,
    requested_at: Instant,
}

impl<S> Default for Latest<S> {
    fn default() -> Self {
        Self { seen: ArcSwapOption::empty(), reading: Mutex::default() }
    }
}

impl<S> Seen<S> {
    /// How old it is: at most this long ago Redis was in this state.
    pub fn age(&self) -> Duration {
        self.requested_at.elapsed()
    }
}

impl<S> Latest<S> {
    /// The newest snapshot, of any age.
    pub fn get(&self) -> Option<Arc<Seen<S>>> {
        self.seen.load_full()
    }

    /// A value of the newest snapshot, without a copy of it.
    pub fn map<T>(&self, read: impl FnOnce(&Seen<S>) -> T) -> Option<T> {
        self.seen.load().as_deref().map(read)
    }

    /// The newest snapshot, unless it is too old to show while Redis is down.
    pub fn fresh(&self) -> Option<Arc<Seen<S>>> {
        self.get().filter(|seen| seen.age() <= FRESH_FOR)
    }

    /// Takes a snapshot that was requested at this time, unless a newer one is there.
    pub fn set(&self, requested_at: Instant, snapshot: S) -> Arc<Seen<S>> {
        let newer = Arc::new(Seen { snapshot, requested_at });
        self.seen.rcu(|seen| match seen {
            Some(seen) if seen.requested_at > requested_at => Some(seen.clone()),
            _ => Some(newer.clone()),
        });
        newer
    }

    /// The newest snapshot if it is at most a second old, otherwise one that `read` gets from
    /// Redis and sets. Callers who need one at the same time share one call, and its failure.
    ///
    /// # Errors
    ///
    /// What `read` returns.
    pub async fn at_most_a_second_old(
        &self,
        read: impl AsyncFnOnce() -> Result<Arc<Seen<S>>, Error>,
    ) -> Result<Arc<Seen<S>>, Error> {
        let recent = || self.get().filter(|seen| seen.age() <= MAX_AGE);
        if let Some(seen) = recent() {
            return Ok(seen);
        }
        let came_at = Instant::now();
        let mut failed = self.reading.lock().await;
        if let Some(seen) = recent() {
            return Ok(seen);
        }
        if let Some((_, error)) = failed.as_ref().filter(|(at, _)| *at >= came_at) {
            return Err(error.clone());
        }
        let read = read().await;
        if let Err(error) = &read {
            *failed = Some((Instant::now(), error.clone()));
        }
        read
    }
}

#[cfg(test)]
mod tests {
    use futures_util::future::join_all;

    use super::*;

    const OLD: Duration = Duration::from_millis(1_001);

    fn ago(age: Duration) -> Instant {
        Instant::now().checked_sub(age).expect("the machine runs for longer than that")
    }

    #[tokio::test]
    async fn a_snapshot_is_read_again_when_it_is_older_than_a_second() {
        let latest = Latest::default();
        let read = async |n: u32| {
            latest.at_most_a_second_old(async || Ok(latest.set(Instant::now(), n))).await
        };
        assert_eq!(read(1).await.map(|seen| seen.snapshot), Ok(1));
        assert_eq!(read(2).await.map(|seen| seen.snapshot), Ok(1), "it is recent");
        let old = Latest::default();
        old.set(ago(OLD), 1);
        let seen = old.at_most_a_second_old(async || Ok(old.set(Instant::now(), 3))).await;
        assert_eq!(seen.map(|seen| seen.snapshot), Ok(3));
    }

    #[tokio::test]
    async fn callers_at_the_same_time_share_one_call_and_its_failure() {
        for answer in [Ok(7), Err(Error::Overloaded)] {
            let (latest, calls) = (Latest::default(), std::cell::Cell::new(0));
            let read = async || {
                calls.set(calls.get() + 1);
                tokio::task::yield_now().await;
                answer.clone().map(|n| latest.set(Instant::now(), n))
            };
            let answers = join_all((0..100).map(|_| latest.at_most_a_second_old(read))).await;
            for shared in answers {
                assert_eq!(shared.map(|seen| seen.snapshot), answer);
            }
            assert_eq!(calls.get(), 1);
            if answer.is_err() {
                let next = async || Ok(latest.set(Instant::now(), 8));
                let next = latest.at_most_a_second_old(next).await;
                assert_eq!(next.map(|seen| seen.snapshot), Ok(8), "a failure is not kept");
            }
        }
    }

    #[test]
    fn an_answer_that_was_overtaken_does_not_replace_a_newer_one() {
        let latest = Latest::default();
        latest.set(Instant::now(), 2);
        latest.set(ago(OLD), 1);
        assert_eq!(latest.map(|seen| seen.snapshot), Some(2));
        assert!(latest.map(|seen| seen.age() < OLD).expect("a snapshot"));
    }
}
