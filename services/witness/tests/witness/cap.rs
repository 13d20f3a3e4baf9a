//! Promise 1: the checker counts only the places that are certainly inside.

use anteroom_witness::{Busiest, Call, Rules, busiest};

use crate::story::{Story, active, gone, ready, rules, waiting};

/// Two are inside from 12 ms on.
fn full() -> Story {
    Story::default().joins(1, (0, 2), 1, ready(5_000)).claims(1, (3, 5), 1, active(10_000)).joins(
        2,
        (10, 12),
        2,
        ready(5_000),
    )
}

#[test]
fn promise_01_a_full_room_is_no_violation() {
    full().is_clean();
    assert_eq!(busiest(&full().lines, &rules()), Busiest { inside: 2, promoted: 2 });
    full().joins(3, (20, 22), 3, waiting(1)).is_clean();
}

#[test]
fn promise_01_one_too_many_for_a_moment_is_caught() {
    let story = full().joins(3, (20, 22), 3, ready(5_000)).leaves(3, (23, 24), 3);
    story.breaks(1, "3 ready or active at 22000 µs, capacity 2", &[1, 2, 3, 4]);
}

#[test]
fn promise_01_a_slot_is_free_from_the_sending_of_a_leave() {
    full().leaves(1, (20, 25), 1).joins(3, (21, 22), 3, ready(5_000)).is_clean();
    // Answered or not: it may have had its effect.
    full().leaves(1, (20, 9_000), 1).unanswered().joins(3, (21, 22), 3, ready(5_000)).is_clean();
    // The third saw its turn before the leave was sent.
    let late = full().joins(3, (18, 19), 3, ready(5_000)).leaves(1, (20, 25), 1);
    late.breaks(1, "3 ready", &[1, 2, 3, 4]);
}

#[test]
fn promise_01_what_is_shown_after_a_leave_shows_that_it_had_no_effect_yet() {
    // The protected service may end the place from 20 ms on, and has not at 100 ms.
    let perhaps = full().claims(2, (13, 14), 2, active(10_000)).leaves(2, (20, 21), 2);
    let still = perhaps.unanswered().looks(2, (100, 102), 2, active(9_910));
    still.clone().joins(3, (105, 107), 3, ready(5_000)).is_clean();
    still.joins(3, (50, 52), 3, ready(5_000)).breaks(1, "3 ready", &[1, 2, 3, 4, 6, 7]);
    // The gate may say so from memory.
    let gate = full().leaves(1, (20, 21), 1).unanswered();
    let gate = gate.hears(1, Call::Authorize, (100, 102), 1, active(9_000));
    gate.joins(3, (50, 52), 3, ready(5_000)).is_clean();
}

#[test]
fn promise_01_a_slot_is_free_when_its_time_is_over() {
    // The second never claims: its turn ends 5 s after it was given, at 5 010 ms at the earliest.
    full().joins(3, (5_011, 5_013), 3, ready(5_000)).is_clean();
    full().joins(3, (5_000, 5_005), 3, ready(5_000)).breaks(1, "3 ready", &[1, 2, 3, 4]);
    // The first is active until 10 003 ms at the earliest; renewed, longer.
    let two_left = full().leaves(2, (20, 22), 2).joins(3, (23, 24), 3, ready(5_000));
    let two_left = two_left.claims(3, (25, 26), 3, active(10_000));
    two_left.clone().joins(4, (10_004, 10_006), 4, ready(5_000)).is_clean();
    let renewed = two_left.hears(1, Call::Renew, (9_000, 9_002), 1, active(10_000));
    renewed.joins(4, (10_004, 10_006), 4, ready(5_000)).breaks(1, "3 ready", &[1, 5, 6, 7, 8]);
}

#[test]
fn promise_01_a_turn_is_dated_back_by_what_is_used_up_of_it() {
    // No answer showed the third while it was inside but at its end, with 4 s used up.
    let story = full().leaves(1, (1_000, 1_002), 1).looks(3, (4_100, 4_102), 3, ready(1_000));
    story.breaks(1, "3 ready or active at 102000 µs", &[1, 2, 3, 5]);
}

#[test]
fn promise_01_a_claim_may_shorten_a_turn() {
    let rules = Rules { session_ttl: std::time::Duration::from_secs(1), ..rules() };
    // A claim of the second without an answer: the session of 1 s may be over at 1 015 ms.
    let story = full().claims(2, (11, 900), 2, active(1)).unanswered();
    let story = story.leaves(1, (800, 802), 1).joins(3, (803, 804), 3, ready(5_000));
    story.joins(4, (1_015, 1_017), 4, ready(5_000)).is_clean_by(&rules);
}

#[test]
fn promise_01_the_gate_shows_whole_seconds() {
    let story = Story::default().hears(1, Call::Authorize, (0, 1), 1, active(9_000)).hears(
        2,
        Call::Authorize,
        (0, 1),
        2,
        active(9_000),
    );
    story.clone().looks(3, (9_001, 9_003), 3, ready(5_000)).is_clean();
    story.looks(3, (8_990, 8_995), 3, ready(5_000)).breaks(1, "3 ready", &[1, 2, 3]);
}

#[test]
fn promise_01_what_the_store_lost_takes_no_slot() {
    let story = full().joins(3, (300, 302), 3, ready(5_000));
    story.check(&rules()).iter().for_each(|it| assert_eq!(it.promise, 1));
    let rules = Rules { losses: vec![(100_000, 200_000)], ..rules() };
    story.is_clean_by(&rules);
    // What is shown after the loss is not lost.
    let after =
        story.clone().looks(1, (310, 311), 1, active(9_700)).looks(2, (310, 311), 2, ready(4_700));
    let found = after.check(&rules);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].promise, &*found[0].lines), (1, &[3, 4, 5][..]));
    // The gate may still answer from memory.
    let held = story.clone().hears(1, Call::Authorize, (310, 311), 1, active(9_000));
    held.looks(2, (310, 311), 2, ready(4_700)).is_clean_by(&rules);
    // And an answer may show that a place was lost.
    let lost = story.looks(2, (320, 321), 2, gone("lost"));
    lost.is_clean_by(&rules);
}
