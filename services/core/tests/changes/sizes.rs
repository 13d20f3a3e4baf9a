//! The size of an entry: a reason is cut between two characters, all else is kept.

use std::collections::BTreeMap;
use std::time::Duration;

use anteroom_core::changes::Change;
use anteroom_core::queue::{Overridden, Override, Pace, Queue, Rules, State};

use super::support::{START, TimedStore};

const LOG: &str = "anteroom:v1:queue:{q}:changes";
/// The longest name of a key.
const KEY: &str = "a-name-of-forty-characters-and-no-more-x";

/// Every rule with one of its longest values, and this reason.
fn everything(less: u64, reason: &str) -> Vec<Override> {
    let span = |seconds: u64| Some(Duration::from_millis(seconds * 1_000 - less));
    let day = 86_400;
    vec![
        Override::State(Some(State::Paused)),
        Override::Reason(Some(reason.to_owned())),
        Override::Capacity(Some(1_000_000_000 - less)),
        Override::Batch(Some(1_000_000 - less)),
        Override::Interval(span(3_600)),
        Override::Pace(Some(if less.is_multiple_of(2) { Pace::Batch } else { Pace::Even })),
        Override::ClaimTtl(span(3_600)),
        Override::SessionTtl(span(day)),
        Override::SessionMax(span(7 * day)),
        Override::UnprovenTtl(span(3_600)),
        Override::IdleTtl(span(day)),
        Override::KeepTtl(span(7 * day)),
        Override::FirstPollTtl(span(day)),
        Override::MaxWaiting(Some(10_000_000 - less)),
        Override::JoinsAt(Some(9_007_199_254 - less)),
        Override::OpensAt(Some(9_007_199_254 - less)),
        Override::ClosesAt(Some(9_007_199_254 - less)),
        Override::LocalAnswers(Some(less.is_multiple_of(2))),
        Override::PlacesPerAddress(Some(1_000_000 - less)),
    ]
}

async fn queue() -> (TimedStore, Queue) {
    let world = TimedStore::new().await;
    let rules = Rules { capacity: Some(1), ..Rules::default() };
    let queue = Queue::open_with_clock(&world.store, "q", rules, 100, world.clock());
    queue.snapshot().await.expect("a snapshot");
    (world, queue.by(KEY))
}

/// The newest change, and the bytes of its entry.
async fn newest(world: &TimedStore, queue: &Queue) -> (Change, usize) {
    let changes = queue.changes(None, 1).await.expect("a look").changes;
    let members: Vec<Vec<u8>> = world.redis.run(&["ZRANGE", LOG, "-1", "-1"]).await;
    (changes[0].clone(), members[0].len())
}

fn reason(of: Option<&Overridden>) -> &str {
    let Some(Overridden { rule: Override::Reason(Some(reason)), .. }) = of else {
        panic!("no reason: {of:?}")
    };
    reason
}

#[tokio::test]
async fn a_change_of_every_rule_has_room_with_its_reason_cut() {
    for letter in ["x", "é", "잠", "🎟"] {
        let (world, queue) = queue().await;
        let text = letter.repeat(200);
        let until = Some(START / 1_000_000 + 1_000_000_000);
        queue.override_rules(&everything(1, &text), until).await.expect("an override");
        for change in everything(2, "another reason, of the shift before") {
            // Each override has an end of its own.
            let end = until.map(|until| until - u64::from(change.rule().name.as_bytes()[0]));
            queue.override_rules(&[change], end).await.expect("an override");
        }
        for (least, changes) in [(20, everything(3, &text)), (9, everything(4, "a short one"))] {
            queue.override_rules(&changes, until).await.expect("an override");
            let (change, bytes) = newest(&world, &queue).await;
            assert!((450..=512).contains(&bytes), "{bytes} bytes");
            assert_eq!(change.key, KEY);
            let changed: BTreeMap<_, _> =
                change.overrides.iter().map(|it| (it.rule().name, it)).collect();
            for expected in changes.iter().filter(|it| it.rule().name != "reason") {
                let name = expected.rule().name;
                let Some(changed) = changed.get(name) else {
                    assert_eq!(name, "state", "the only one that can stay the same");
                    continue;
                };
                let after = changed.after.as_ref().expect("an override");
                assert_eq!((&after.rule, after.until), (expected, until));
            }
            let reasons = changed["reason"];
            for side in [&reasons.before, &reasons.after] {
                let shown = reason(side.as_ref());
                let kept = shown.strip_suffix('…').unwrap_or(shown);
                let whole = [&text, "another reason, of the shift before", "a short one"];
                assert!(whole.iter().any(|whole| whole.starts_with(kept)), "{shown}");
                assert!(shown.len() >= least, "{shown}");
            }
        }
    }
}

#[tokio::test]
async fn a_reason_that_has_room_is_whole_and_a_longer_one_is_cut_once() {
    let (world, queue) = queue().await;
    let mut cut = Vec::new();
    for length in 1..=200 {
        let text = "잠".repeat(length);
        let changes = [Override::State(Some(State::Paused)), Override::Reason(Some(text.clone()))];
        queue.override_rules(&changes, None).await.expect("an override");
        let (change, bytes) = newest(&world, &queue).await;
        assert!(bytes <= 512, "{bytes} bytes");
        let shown = change.reason().expect("a reason");
        match shown.strip_suffix('…') {
            None => assert_eq!(shown, text),
            Some(kept) => {
                assert!(text.starts_with(kept) && bytes > 500, "{bytes}: {shown}");
                cut.push(length);
            }
        }
    }
    assert!(cut.len() > 50 && cut.is_sorted(), "{cut:?}");
}
