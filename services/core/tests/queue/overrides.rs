//! Ends of overrides on a clock that leaps, and rules that an older version does not know.

use std::time::Duration;

use anteroom_core::queue::{Overridden, Override, Queue, Rules, State, Status};

use super::line::{capacity, join, look, room, tick};
use super::support::{SECOND, START, TimedStore};

const HOUR: u64 = 3_600 * SECOND;
const DAY: u64 = 24 * HOUR;

fn paused() -> Override {
    Override::State(Some(State::Paused))
}

async fn state(queue: &Queue) -> State {
    queue.snapshot().await.expect("a snapshot").state
}

async fn overridden(queue: &Queue) -> Vec<Overridden> {
    queue.snapshot().await.expect("a snapshot").overridden
}

#[tokio::test]
async fn an_override_that_a_leap_of_the_clock_ended_is_in_force_again_when_the_clock_is_right() {
    let (world, queue) = room(capacity(1)).await;
    let end = START + HOUR;
    queue.override_rules(&[paused()], Some(end / SECOND)).await.expect("an override");
    queue.override_rules(&[Override::Capacity(Some(2))], None).await.expect("an override");
    let (_, place) = join(&queue, 1).await;
    assert_eq!(place.status(), Status::Waiting);
    for leap in [HOUR, HOUR + DAY - 1] {
        world.set_now(START + leap);
        assert_eq!(state(&queue).await, State::Open, "judged by the store's clock");
        world.set_now(START + SECOND);
        assert_eq!(tick(&queue).await, 0, "the tick notices that the clock is right again");
        assert_eq!(state(&queue).await, State::Paused);
    }
    world.set_now(end - 1);
    assert_eq!(state(&queue).await, State::Paused);
    world.set_now(end);
    assert_eq!(state(&queue).await, State::Open);
    assert_eq!(overridden(&queue).await.len(), 1, "the one without an end");

    // What ended a day ago is over for good.
    world.set_now(end + DAY);
    assert_eq!(state(&queue).await, State::Open);
    world.set_now(end - 1);
    assert_eq!(state(&queue).await, State::Open);
    let size: u64 = world.redis.run(&["HSTRLEN", "anteroom:v1:queue:{q}:meta", "over"]).await;
    assert!(size < 20, "{size} bytes for one override");
}

#[tokio::test]
async fn a_reason_may_be_any_text() {
    let (_world, queue) = room(capacity(1)).await;
    for reason in ["-", "0", "soon"] {
        let overrides = [Override::Reason(Some(reason.to_owned()))];
        queue.override_rules(&overrides, None).await.expect("an override");
        let snapshot = queue.snapshot().await.expect("a snapshot");
        assert_eq!(snapshot.reason.as_deref(), Some(reason));
    }
    queue.override_rules(&[Override::Reason(None)], None).await.expect("taken back");
    assert_eq!(queue.snapshot().await.expect("a snapshot").reason, None);
}

#[tokio::test]
async fn an_emptied_store_does_not_put_an_override_in_force_whose_end_has_passed() {
    let (world, scheduler) = room(capacity(1)).await;
    let admission = world.open("q", capacity(1));
    let until = Some(START / SECOND + 60);
    admission.override_rules(&[paused()], until).await.expect("an override");
    admission.override_rules(&[Override::Capacity(Some(2))], None).await.expect("an override");
    for (passed, expected) in [(30, State::Paused), (40, State::Open)] {
        world.pass(Duration::from_secs(passed));
        world.empty().await;
        assert_eq!(state(&admission).await, expected);
        let snapshot = scheduler.snapshot().await.expect("a snapshot");
        assert_eq!((snapshot.state, snapshot.rules.capacity), (expected, Some(2)));
    }
    let rule = Override::Capacity(Some(2));
    assert_eq!(overridden(&admission).await, [Overridden { rule, until: None }]);
}

/// In a roll-out, an admission can have another file than the schedulers.
#[tokio::test]
async fn what_comes_back_after_an_override_is_what_the_schedulers_wrote() {
    let rules = Rules { opens_at: Some(START / SECOND), ..capacity(5) };
    let (world, _) = room(rules.clone()).await;
    let admission = world.open("q", capacity(77));
    let look = async || admission.snapshot().await.expect("a snapshot");
    assert_eq!(look().await.file, rules);
    let overrides = [
        Override::Capacity(Some(8)),
        Override::OpensAt(Some(START / SECOND + 9)),
        Override::ClosesAt(Some(START / SECOND + 9)),
        paused(),
        Override::Reason(Some("soon".to_owned())),
    ];
    admission.override_rules(&overrides, None).await.expect("an override");
    let snapshot = look().await;
    assert_eq!((snapshot.rules.capacity, snapshot.file), (Some(8), rules.clone()));
    let back = overrides.map(|it| Override::new(it.rule(), None).expect("a rule"));
    admission.override_rules(&back, None).await.expect("taken back");
    assert_eq!(look().await.rules, rules);
}

#[tokio::test]
async fn overrides_are_shown_with_value_and_end() {
    let (_world, queue) = room(capacity(1)).await;
    let until = Some(START / SECOND + 60);
    let closes = Override::ClosesAt(Some(START / SECOND + 10));
    let reason = Override::Reason(Some("왜".to_owned()));
    queue.override_rules(&[closes.clone(), reason.clone()], until).await.expect("an override");
    let session = Override::SessionTtl(Some(Duration::from_secs(7)));
    queue.override_rules(std::slice::from_ref(&session), None).await.expect("an override");
    let shown = |rule, until| Overridden { rule, until };
    let all = [shown(reason, until), shown(session, None), shown(closes, until)];
    assert_eq!(overridden(&queue).await, all);
    let back = [Override::SessionTtl(None), Override::Reason(None)];
    queue.override_rules(&back, None).await.expect("an override");
    assert_eq!(overridden(&queue).await, all[2..]);
}

/// Leaves of the rules in the store what a version wrote that knows none but these.
pub async fn known_before(world: &TimedStore, names: &[&str]) {
    let script = "local known = {} \
        for i, name in ipairs(ARGV) do known[name] = true end \
        for _, part in ipairs({ 'file', 'force' }) do \
          local rules = cmsgpack.unpack(redis.call('HGET', KEYS[1], part)) \
          for name in pairs(rules) do \
            if not known[name] and not name:find('_change') then rules[name] = nil end \
          end \
          if part == 'force' then rules.known = #ARGV end \
          redis.call('HSET', KEYS[1], part, cmsgpack.pack(rules)) \
        end";
    let key = "anteroom:v1:queue:{q}:meta";
    world.redis.run::<()>(&[&["EVAL", script, "1", key], names].concat()).await;
}

#[tokio::test]
async fn a_rule_that_an_older_version_did_not_know_has_its_default() {
    let rules = Rules { first_poll_ttl: Duration::from_secs(77), ..capacity(1) };
    let (world, queue) = room(rules.clone()).await;
    let (place, _) = join(&queue, 1).await;
    let (waiting, _) = join(&queue, 2).await;
    let before = ["state", "reason", "capacity", "batch", "interval", "claim_ttl", "keep_ttl"];
    // Calls that do not settle the rules first, and one that does.
    known_before(&world, &before).await;
    queue.claim(place).await.expect("a claim");
    queue.renew(place).await.expect("a renewal");
    let left = look(&queue, place).await.expires_in();
    assert_eq!(left, Some(Duration::from_secs(300)), "session_ttl by default");
    queue.sweep().await.expect("a sweep");
    known_before(&world, &before).await;
    assert_eq!(tick(&queue).await, 0);
    assert_eq!(look(&queue, waiting).await.position(), 1);
    known_before(&world, &before).await;
    let found = queue.snapshot().await.expect("a snapshot").rules;
    assert_eq!(found, Rules { first_poll_ttl: Duration::from_secs(60), ..rules.clone() });
    // The file of this version is written where it differs, and says it all.
    assert_eq!(queue.apply_rules(&rules).await, Ok(true));
    assert_eq!(queue.snapshot().await.expect("a snapshot").rules, rules);
}
