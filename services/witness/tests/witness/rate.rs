//! Promise 2: the checker counts what was certainly promoted within one interval, and nothing else.

use anteroom_witness::Rules;

use crate::story::{Story, active, ready, rules, waiting};

/// Only the rate counts: three in a second.
fn by_rate() -> Rules {
    Rules { capacity: None, ..rules() }
}

/// Three promotions at 0, 100 and 200 ms, all claimed.
fn three() -> Story {
    (1..=3).fold(Story::default(), |story, n| {
        let at = 100 * (n - 1);
        let who = u32::try_from(n).expect("a few");
        story.joins(who, (at, at + 2), n, ready(5_000)).claims(
            who,
            (at + 3, at + 4),
            n,
            active(9_000),
        )
    })
}

#[track_caller]
fn breaks(story: &Story, lines: &[usize]) {
    let found = story.check(&by_rate());
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].promise == 2 && found[0].what.starts_with("4 promoted"), "{found:?}");
    let proof: Vec<_> = found[0].lines.iter().map(|line| line + 1).collect();
    assert_eq!(proof, lines, "{found:?}");
}

#[test]
fn promise_02_a_full_interval_is_no_violation() {
    three().is_clean_by(&by_rate());
    // At 1 001 ms the first is a second old.
    three().joins(4, (1_001, 1_003), 4, ready(5_000)).is_clean_by(&by_rate());
}

#[test]
fn promise_02_one_too_many_in_an_interval_is_caught() {
    breaks(&three().joins(4, (990, 992), 4, ready(5_000)), &[1, 3, 5, 7]);
}

#[test]
fn promise_02_the_interval_may_begin_anywhere() {
    let second = three().joins(4, (1_010, 1_012), 4, ready(5_000));
    second.is_clean_by(&by_rate());
    breaks(&second.joins(5, (1_090, 1_092), 5, ready(5_000)), &[3, 5, 7, 8]);
}

#[test]
fn promise_02_a_promotion_is_dated_by_its_look() {
    // It waited at 700 ms and was ready at 1 300 ms: promoted between, which proves nothing …
    let between = three().joins(4, (300, 302), 4, waiting(1)).looks(4, (700, 702), 4, waiting(1));
    between.clone().looks(4, (1_300, 1_302), 4, ready(4_700)).is_clean_by(&by_rate());
    // … unless its turn has run for so long.
    breaks(&between.looks(4, (1_300, 1_302), 4, ready(4_600)), &[1, 3, 5, 9]);
}

#[test]
fn promise_02_what_was_given_back_is_given_again() {
    let unclaimed = Story::default()
        .joins(1, (0, 2), 1, ready(5_000))
        .joins(2, (1, 3), 2, ready(5_000))
        .joins(3, (2, 4), 3, ready(5_000));
    let given_up = unclaimed.clone().leaves(2, (500, 510), 2);
    given_up.joins(4, (501, 503), 4, ready(5_000)).is_clean_by(&by_rate());
    let unanswered = unclaimed.clone().leaves(2, (500, 510), 2).unanswered();
    unanswered.joins(4, (501, 503), 4, ready(5_000)).is_clean_by(&by_rate());
    // A turn that was not given up holds its share, claimed or not.
    breaks(&unclaimed.joins(4, (501, 503), 4, ready(5_000)), &[1, 2, 3, 4]);
    // One that was claimed holds it when it is finished, too.
    breaks(&three().leaves(1, (300, 301), 1).joins(4, (501, 503), 4, ready(5_000)), &[1, 3, 5, 8]);
}

#[test]
fn promise_02_what_is_older_than_the_record_may_be_of_any_time() {
    let older = three().joins(4, (300, 302), 4, active(9_000));
    breaks(&older, &[1, 3, 5, 7]);
    let mut story = older;
    story.last().status = Some(200);
    story.is_clean_by(&by_rate());
    // A turn says itself when it began.
    let mut ready = three().joins(4, (990, 992), 4, ready(4_990));
    ready.last().status = Some(200);
    breaks(&ready, &[1, 3, 5, 7]);
}

#[test]
fn promise_02_with_the_rules_that_were_changed_only_what_both_forbid_is_accused() {
    let four = three().joins(4, (990, 992), 4, ready(5_000));
    let found = |other: Rules| four.check(&by_rate().or(&other)).len();
    assert_eq!(found(Rules { batch: Some(2), ..by_rate() }), 1);
    assert_eq!(found(Rules { batch: Some(4), ..by_rate() }), 0);
    assert_eq!(found(Rules { batch: None, ..by_rate() }), 0);
    assert_eq!(found(Rules { claim_ttl: std::time::Duration::from_secs(1), ..by_rate() }), 0);
    let three_inside = three().check(&rules().or(&Rules { capacity: Some(1), ..rules() }));
    assert_eq!(three_inside[0].promise, 1);
    assert!(three().check(&rules().or(&Rules { capacity: Some(3), ..rules() })).is_empty());
}

#[test]
fn promise_02_queue_time_may_stand_still() {
    // No scheduler ran from 100 ms to 60 s: the turns of before have used up little of their time,
    // and their promotions lie far apart in time but are never taken to lie closer than they may.
    let story = three().joins(4, (60_000, 60_002), 4, ready(5_000));
    story.looks(4, (61_000, 61_002), 4, ready(4_900)).is_clean_by(&by_rate());
}
