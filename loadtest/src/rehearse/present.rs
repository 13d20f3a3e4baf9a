//! The places that visitors hold. At the end of a run they are given up, so no virtual visitor
//! stays in the line.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use anteroom_witness::Token;
use parking_lot::Mutex;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::Stage;
use super::tab::Tab;
use crate::progress::{Progress, say};

/// Tabs that give places up at once.
const AT_ONCE: usize = 64;
/// They end by then, done or not.
const WITHIN: Duration = Duration::from_secs(60);

/// The key of a join.
pub type Key = u128;

/// Who may have a place, by the key of its join: the number of the visitor, and its token if an
/// answer showed one.
pub type Present = Mutex<HashMap<Key, (u32, Option<Token>)>>;

/// Gives up all places that visitors may still hold. The run is over: no record and no figure
/// counts it.
pub async fn all_leave(stage: &Arc<Stage>) {
    let left = std::mem::take(&mut *stage.present.lock());
    let (all, mut done) = (left.len() as u64, 0);
    if all == 0 {
        return;
    }
    say(&format!("{all} virtual visitors give up their places"));
    let progress = Progress::new("leaving", all);
    let leave = async {
        let (mut left, mut tabs) = (left.into_iter(), JoinSet::new());
        while done < all {
            let free = AT_ONCE - tabs.len();
            for (key, (visitor, token)) in left.by_ref().take(free) {
                tabs.spawn(Tab::new(stage, visitor, visitor).with(key, token).gives_up());
            }
            tabs.join_next().await;
            done += 1;
            progress.at(done, || format!("{done} of {all}"));
        }
    };
    // Out of time, those that are left stay.
    let _ = timeout(WITHIN, leave).await;
    if done < all {
        say(&format!("{} of them stay in the line until their time is over", all - done));
    }
}
