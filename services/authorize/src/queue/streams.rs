//! The open event streams of a queue: two a place, a third ends the oldest.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anteroom_core::queue::PlaceRef;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

const MOST_PER_PLACE: usize = 2;

/// Each open stream of one queue, by its place.
#[derive(Debug, Default)]
pub struct Streams(Mutex<HashMap<PlaceRef, Vec<StreamHandle>>>);

/// How to reach an open stream.
#[derive(Clone, Debug, Default)]
pub struct StreamHandle {
    /// Cancelled when the stream is to end, or has ended.
    pub end: CancellationToken,
    /// Notified when a call of this process has changed the place.
    pub changed: Arc<Notify>,
}

impl Streams {
    /// Adds a stream of a place; the oldest ends when there are too many.
    pub fn add(&self, of: PlaceRef, stream: StreamHandle) {
        let mut streams = self.lock();
        let of_place = streams.entry(of).or_default();
        of_place.push(stream);
        if of_place.len() > MOST_PER_PLACE {
            of_place.remove(0).end.cancel();
        }
    }

    /// Lets the streams of a place read it now.
    pub fn changed(&self, of: PlaceRef) {
        if let Some(of_place) = self.lock().get(&of) {
            of_place.iter().for_each(|stream| stream.changed.notify_one());
        }
    }

    /// Forgets the streams of a place that have ended.
    pub fn remove_ended(&self, of: PlaceRef) {
        let mut streams = self.lock();
        if let Some(of_place) = streams.get_mut(&of) {
            of_place.retain(|stream| !stream.end.is_cancelled());
            if of_place.is_empty() {
                streams.remove(&of);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<PlaceRef, Vec<StreamHandle>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use anteroom_core::queue::{Epoch, PlaceId};

    use super::*;

    const OF: PlaceRef = PlaceRef { epoch: Epoch([0; 8]), id: PlaceId([7; 14]), ticket: 1 };

    #[test]
    fn a_third_stream_ends_the_oldest() {
        let streams = Streams::default();
        let open: Vec<_> = (0..3).map(|_| StreamHandle::default()).collect();
        for stream in &open {
            streams.add(OF, stream.clone());
        }
        let ended: Vec<_> = open.iter().map(|stream| stream.end.is_cancelled()).collect();
        assert_eq!(ended, [true, false, false]);
    }

    #[test]
    fn nothing_stays_behind_an_ended_stream() {
        let streams = Streams::default();
        let (one, two) = (StreamHandle::default(), StreamHandle::default());
        streams.add(OF, one.clone());
        streams.add(OF, two.clone());
        one.end.cancel();
        streams.remove_ended(OF);
        assert_eq!(streams.lock()[&OF].len(), 1);
        two.end.cancel();
        streams.remove_ended(OF);
        assert!(streams.lock().is_empty());
    }
}
