//! Dead letters, all at once.

use std::cell::Cell;

use anteroom_core::event::{Failed, Retried};

use super::requests::{apply_many, claim, opened, sequences, stock};

/// What dies again while all are raised is not raised once more: the call would never end.
#[tokio::test]
async fn all_dead_letters_are_tried_again_each_once() {
    const DEAD: u64 = 250;
    let (_world, event) = opened(stock(DEAD + 1)).await;
    apply_many(&event, 0..DEAD + 1).await;
    let kill = async || {
        let claimed = claim(&event, 64).await;
        for work in &claimed.work {
            let failed = event.fail(claimed.fence, work.sequence, "refused", None).await;
            assert_eq!(failed, Ok(Failed::Dead));
        }
        claimed.work.len()
    };
    while kill().await > 0 {}
    let eighth = &event.dead(7, 1).await.expect("a look").letters[0].visitor_id;
    assert_eq!(event.give_up(eighth).await, Ok(true));
    let is_over = Cell::new(false);
    let all = async {
        let returned = event.retry_all_dead().await;
        is_over.set(true);
        returned
    };
    let dies = async {
        while !is_over.get() {
            kill().await;
        }
    };
    let (returned, ()) = tokio::join!(all, dies);
    assert_eq!(returned.expect("an answer").retried, DEAD);
    while kill().await > 0 {}
    assert_eq!(event.retry_all_dead().await, Ok(Retried { retried: DEAD, dead: 0 }));
    assert_eq!(event.retry_all_dead().await, Ok(Retried::default()));
    let first = claim(&event, 9).await;
    assert_eq!(sequences(&first), [1, 2, 3, 4, 5, 6, 7, 9, 10], "in their old order");
}
