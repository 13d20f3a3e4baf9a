//! Which batch is in force: where it begins, between which bounds, and what goes before it.

use anteroom_core::queue::{Adaptive, Health, Override, Pace, RULES, StepReason};

use super::{AIM, Breaker, INTERVAL, TICK, batch, interval, line, tick};
use crate::line::{join, look, rate, room};
use crate::overrides::known_before;
use crate::support::TimedStore;

#[tokio::test]
async fn it_begins_with_the_batch_of_the_rules_between_its_bounds() {
    let world = TimedStore::new().await;
    for (name, of_the_rules, begins) in [("a", 40, 40), ("b", 5, 10), ("c", 500, 110)] {
        let queue = world.queue(name, rate(of_the_rules, INTERVAL, Pace::Even)).await;
        assert_eq!(queue.snapshot().await.expect("a snapshot").adaptive, None);
        assert_eq!(tick(&queue, &Breaker::new().health(AIM)).await, (0, None));
        let snapshot = queue.snapshot().await.expect("a snapshot");
        let adaptive = snapshot.adaptive.expect("it adapts");
        assert_eq!((adaptive.batch, adaptive.reason), (begins, StepReason::Start));
        assert_eq!((adaptive.min_batch, adaptive.max_batch), (10, 110));
        assert_eq!(snapshot.rules.batch, Some(of_the_rules), "the rule itself stays");
    }
}

#[tokio::test]
async fn bounds_that_are_changed_take_the_batch_along() {
    let (_world, queue) = room(rate(40, INTERVAL, Pace::Even)).await;
    let target = Breaker::new();
    for (min_batch, max_batch, then) in [(10, 110, 40), (60, 110, 60), (10, 30, 30), (1, 90, 30)] {
        let adaptive = Adaptive { min_batch, max_batch, ..AIM };
        assert_eq!(tick(&queue, &target.health(adaptive)).await.1, None, "it is no step");
        assert_eq!(batch(&queue).await, then);
    }
}

#[tokio::test]
async fn an_operator_s_batch_goes_before_it_and_what_happened_meanwhile_does_not_count() {
    let world = TimedStore::new().await;
    let queue = line(&world, "q", rate(50, INTERVAL, Pace::Even), 1_000).await;
    let mut target = Breaker::new();
    interval(&world, &queue, &mut target, (9, 0)).await;
    queue.override_rules(&[Override::Batch(Some(20))], None).await.expect("an override");
    let mut promoted = 0;
    for _ in 0..30 {
        world.pass(TICK);
        target.calls(0, 50);
        let (made, step) = tick(&queue, &target.health(AIM)).await;
        assert_eq!(step, None);
        promoted += made;
    }
    assert!((40..=60).contains(&promoted), "{promoted} in three intervals of 20");
    assert_eq!(batch(&queue).await, 50);
    queue.override_rules(&[Override::Batch(None)], None).await.expect("an override");
    assert_eq!(interval(&world, &queue, &mut target, (9, 0)).await, []);
    let raised = [StepReason::Raised];
    assert_eq!(interval(&world, &queue, &mut target, (9, 0)).await, raised);
}

/// The batch of the file, written by an operator, is another rule than the adaptive one before it.
#[tokio::test]
async fn estimates_follow_an_operator_s_batch_that_is_the_same_as_the_file_s() {
    let world = TimedStore::new().await;
    let queue = line(&world, "q", rate(100, INTERVAL, Pace::Even), 1_200).await;
    let target = Breaker::new();
    let health = target.health(Adaptive { max_batch: AIM.min_batch, ..AIM });
    for _ in 0..300 {
        world.pass(TICK);
        tick(&queue, &health).await;
    }
    let last = join(&queue, 1_200).await.0;
    let wait = async || look(&queue, last).await.eta().0.expect("a wait").as_secs();
    assert!((80..=100).contains(&wait().await), "some 900 places, ten a second");
    queue.override_rules(&[Override::Batch(Some(100))], None).await.expect("an override");
    world.pass(TICK);
    tick(&queue, &health).await;
    assert!((7..=11).contains(&wait().await), "a hundred a second");
}

/// An older version writes the rules in force without saying that the batch is overridden.
#[tokio::test]
async fn a_batch_that_was_overridden_by_an_older_version_goes_before_it_too() {
    let world = TimedStore::new().await;
    let queue = line(&world, "q", rate(50, INTERVAL, Pace::Even), 500).await;
    let target = Breaker::new();
    tick(&queue, &target.health(AIM)).await;
    queue.override_rules(&[Override::Batch(Some(20))], None).await.expect("an override");
    let names = RULES.iter().map(|rule| rule.name).collect::<Vec<_>>();
    known_before(&world, &names).await;
    world.pass(2 * INTERVAL);
    let mut promoted = 0;
    for _ in 0..10 {
        world.pass(TICK);
        promoted += tick(&queue, &target.health(AIM)).await.0;
    }
    assert!((18..=20).contains(&promoted), "{promoted} in an interval of 20");
}

#[tokio::test]
async fn without_its_bounds_the_batch_of_the_rules_is_in_force_again() {
    let world = TimedStore::new().await;
    let queue = line(&world, "q", rate(10, INTERVAL, Pace::Even), 500).await;
    let adaptive = Adaptive { min_batch: 100, ..AIM };
    tick(&queue, &Breaker::new().health(adaptive)).await;
    let nothing = Health::default();
    let mut made = Vec::new();
    for _ in 0..8 {
        let mut promoted = 0;
        for _ in 0..10 {
            world.pass(TICK);
            promoted += tick(&queue, &nothing).await.0;
        }
        made.push(promoted);
    }
    assert!(made[..5].iter().all(|promoted| (90..=100).contains(promoted)), "{made:?}");
    assert!(made[6..].iter().all(|promoted| *promoted <= 10), "{made:?}");
    assert_eq!(queue.snapshot().await.expect("a snapshot").adaptive, None);
}
