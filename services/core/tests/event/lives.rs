//! An event whose keys the store has lost in part.

use anteroom_core::event::{Application, Apply, Event, Rules};

use super::requests::{apply, apply_many, claim, finish, opened, sequences, status, stock};
use super::support::{SECOND, START, TimedStore};

/// The store loses the meta hash, or its epoch alone.
pub async fn lose_meta(world: &TimedStore, whole: bool) {
    let meta = key("meta");
    let command: &[&str] = if whole { &["DEL", &meta] } else { &["HDEL", &meta, "epoch"] };
    world.redis.run::<i64>(command).await;
}

fn key(name: &str) -> String {
    format!("anteroom:v1:event:{{coupon}}:{name}")
}

/// Stock, issued, pending and claimed, sold out.
async fn sums(event: &Event) -> (u64, u64, [u64; 2], u64) {
    let it = event.snapshot().await.expect("a look");
    (it.stock, it.issued, [it.pending, it.claimed], it.sold_out)
}

#[tokio::test]
async fn promise_09_an_event_whose_meta_hash_is_lost_goes_on_with_its_applications() {
    for whole in [true, false] {
        let (world, event) = opened(Rules { over_apply: 2_000_000, ..stock(2) }).await;
        event.add_stock("more", 2).await.expect("stock");
        apply_many(&event, 0..6).await;
        assert_eq!(finish(&event, &claim(&event, 2).await).await, 2);
        let in_hand = claim(&event, 1).await;
        lose_meta(&world, whole).await;
        let issued = Application::Issued { issued_at: START / SECOND, code: None };
        assert_eq!(event.apply("v0").await, Ok(Apply::Same(issued)), "it gets no other");
        assert_eq!(sums(&event).await, (4, 2, [3, 1], 0));
        assert_eq!(status(&event, "v3").await, Application::Pending { position: 1 });
        assert_eq!(apply(&event, "v6").await, Application::Pending { position: 4 });
        assert_eq!(finish(&event, &in_hand).await, 1, "its claim holds");
        let last = claim(&event, 9).await;
        assert_eq!(sequences(&last), [4], "the last unit is for who comes next");
        assert_eq!(finish(&event, &last).await, 1);
        assert_eq!(sums(&event).await, (4, 4, [0, 0], 3));
        // A second loss: who was sold out stays so.
        lose_meta(&world, whole).await;
        for visitor in ["v4", "v5", "v6"] {
            assert_eq!(status(&event, visitor).await, Application::SoldOut);
        }
        assert_eq!(event.apply("eve").await, Ok(Apply::SoldOut));
        assert_eq!(sums(&event).await, (4, 4, [0, 0], 3));
    }
}

/// Whatever else is lost, no unit is issued beyond the stock, and no visitor whom Redis still knows
/// gets a second one.
#[tokio::test]
async fn promise_09_an_event_that_has_lost_more_issues_no_unit_twice() {
    for lost in ["line", "taken", "leases", "returned"] {
        let (world, event) = opened(stock(6)).await;
        apply_many(&event, 0..6).await;
        assert_eq!(finish(&event, &claim(&event, 2).await).await, 2);
        let in_hand = claim(&event, 2).await;
        event.give_back(in_hand.fence, &[3]).await.expect("an answer");
        lose_meta(&world, true).await;
        world.redis.run::<i64>(&["DEL", &key(lost)]).await;
        let mut units = 2 + finish(&event, &in_hand).await;
        while let claimed = claim(&event, 9).await
            && !claimed.work.is_empty()
        {
            units += finish(&event, &claimed).await;
        }
        assert!(units <= 6, "{lost}: {units}");
        let (_, issued, waiting, _) = sums(&event).await;
        assert_eq!((issued, waiting), (6, [0, 0]), "{lost}: no application stays open");
        for n in 0..6 {
            let place = status(&event, &format!("v{n}")).await;
            let ended = matches!(place, Application::Issued { .. } | Application::SoldOut);
            assert!(ended && (n > 1 || place != Application::SoldOut), "{lost}: v{n}: {place:?}");
        }
        assert_eq!(event.apply("eve").await, Ok(Apply::SoldOut), "{lost}");
    }
}

/// Without the records of its visitors it is a new event.
#[tokio::test]
async fn an_event_that_has_lost_its_applications_too_is_a_new_one() {
    let (world, event) = opened(stock(3)).await;
    apply_many(&event, 0..3).await;
    assert_eq!(finish(&event, &claim(&event, 2).await).await, 2);
    lose_meta(&world, true).await;
    world.redis.run::<i64>(&["DEL", &key("applications")]).await;
    assert_eq!(sums(&event).await, (3, 0, [0, 0], 0));
    assert_eq!(apply(&event, "v0").await, Application::Pending { position: 1 });
    assert_eq!(sequences(&claim(&event, 9).await), [1]);
}
