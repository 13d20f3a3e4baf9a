//! The places that visitors hold. At the end of a run they are given up, so no virtual visitor stays
//! in the line.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use tokio::{task::JoinSet, time::Instant};

use crate::{
    progress::{Progress, say},
    rehearse::{Stage, tab::Tab},
};

/// Tabs that give places up at once.
const AT_ONCE: usize = 64;
/// They end by then, done or not.
const WITHIN: Duration = Duration::from_secs(60);

/// The key of a join.
pub type Key = u128;

/// Who may have a place, by the key of its join: the number of the visitor, and its token if an
/// answer showed one.
#[derive(Default)]
pub struct Present(Mutex<HashMap<Key, (u32, Option<String>)>>);

impl Present {
    /// A join is about to be sent.
    pub fn may_join(&self, key: Key, visitor: u32) {
        self.lock().entry(key).or_insert((visitor, None));
    }

    /// It was answered with this token.
    pub fn joins(&self, key: Key, visitor: u32, token: &str) {
        self.lock().insert(key, (visitor, Some(token.to_owned())));
    }

    /// The place has ended.
    pub fn leaves(&self, key: Key) {
        self.lock().remove(&key);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, (u32, Option<String>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Gives up all places that visitors may still hold.
pub async fn all_leave(stage: &Arc<Stage>) {
    let left: Vec<_> = stage.present.lock().drain().collect();
    let (all, done) = (left.len(), Arc::new(AtomicU64::new(0)));
    if all == 0 {
        return;
    }
    say(&format!("{all} virtual visitors give up their places"));
    let progress = Progress::new("leaving", all as u64);
    let queue = Arc::new(Mutex::new(left));
    let mut tabs = JoinSet::new();
    for _ in 0..AT_ONCE.min(all) {
        let (stage, queue, done) = (Arc::clone(stage), Arc::clone(&queue), Arc::clone(&done));
        tabs.spawn(async move {
            let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).pop();
            while let Some((key, (visitor, token))) = next() {
                Tab::of_key(&stage, visitor, key).gives_up(token).await;
                done.fetch_add(1, Relaxed);
            }
        });
    }
    let (end, mut ticks) = (Instant::now() + WITHIN, tokio::time::interval(Duration::from_secs(1)));
    while !tabs.is_empty() && Instant::now() < end {
        tokio::select! {
            _ = tabs.join_next() => {}
            _ = ticks.tick() => {}
        }
        let done = done.load(Relaxed);
        progress.at(done, || format!("{done} of {all}"));
    }
    let stayed = all as u64 - done.load(Relaxed);
    if stayed > 0 {
        say(&format!("{stayed} of them stay in the line until their time is over"));
    }
}
