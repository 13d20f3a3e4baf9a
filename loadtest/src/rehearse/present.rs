//! The places that visitors hold. At the end of a run they are given up, so no virtual visitor
//! stays in the line.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use anteroom_witness::Token;
use parking_lot::Mutex;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::Stage;
use super::tab::Tab;
use crate::progress::{Progress, say};

/// Tabs that give places up at once.
const AT_ONCE: usize = 64;
/// A failed attempt is repeated after this time.
const RETRY: Duration = Duration::from_secs(1);
/// They end by then, done or not.
const WITHIN: Duration = Duration::from_secs(60);

/// The key of a join.
pub type Key = u128;

/// The places that no answer has ended: the number of the visitor, the key of its join, and the
/// token; none while no answer shows what came of the join.
pub type Present = Mutex<HashSet<(u32, Key, Option<Token>)>>;

/// Gives up all places that visitors may still hold. The run is over: no record and no figure
/// counts it.
pub async fn all_leave(stage: &Arc<Stage>) {
    let left = || stage.present.lock().len() as u64;
    let all = left();
    if all == 0 {
        return;
    }
    say(&format!("virtual visitors give up {all} places"));
    let progress = Progress::new("leaving", all);
    let leave = async {
        loop {
            let (places, mut tabs) = (stage.present.lock().clone(), JoinSet::new());
            for (visitor, key, token) in places {
                if tabs.len() == AT_ONCE {
                    tabs.join_next().await;
                }
                tabs.spawn(Tab::new(stage, visitor, visitor).with(key, token).gives_up());
                let done = all.saturating_sub(left());
                progress.at(done, || format!("{done} of {all}"));
            }
            tabs.join_all().await;
            if left() == 0 {
                return;
            }
            sleep(RETRY).await;
        }
    };
    if timeout(WITHIN, leave).await.is_err() {
        say(&format!("{} of them stay in the line until their time is over", left()));
    }
}
