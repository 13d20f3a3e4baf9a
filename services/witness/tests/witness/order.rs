//! Promise 3: the checker knows who came first, and whose turn came first.

use anteroom_witness::{Call, Rules, Shown};

use crate::story::{Story, gone, ready, rules, waiting};

fn line_of_three() -> Story {
    Story::default().joins(1, (0, 2), 1, waiting(1)).joins(2, (3, 5), 2, waiting(2)).joins(
        3,
        (6, 8),
        3,
        waiting(3),
    )
}

#[test]
fn promise_03_turns_in_order_are_no_violation() {
    let story = line_of_three()
        .looks(1, (100, 102), 1, ready(5_000))
        .looks(3, (103, 104), 3, waiting(2))
        .looks(2, (105, 106), 2, ready(5_000))
        .leaves(1, (110, 111), 1)
        .looks(3, (120, 121), 3, ready(5_000));
    story.is_clean();
}

#[test]
fn promise_03_one_who_is_overtaken_is_caught() {
    let story = line_of_three().looks(3, (100, 102), 3, ready(5_000));
    story.clone().looks(1, (90, 200), 1, waiting(1)).is_clean();
    story.looks(1, (103, 105), 1, waiting(1)).breaks(3, "ticket 1 waits after 3", &[4, 5]);
}

#[test]
fn promise_03_with_local_answers_a_poll_shows_the_line_of_up_to_2_s_before() {
    let local = Rules { local_answers: true, ..rules() };
    let overtaken = |call, sent, rules: &Rules| {
        let story = line_of_three().looks(3, (100, 102), 3, ready(5_000));
        story.hears(1, call, (sent, sent + 2), 1, waiting(1)).check(rules).len()
    };
    assert_eq!(overtaken(Call::Place, 103, &rules()), 1);
    assert_eq!(overtaken(Call::Place, 2_102, &local), 0);
    assert_eq!(overtaken(Call::Place, 2_103, &local), 1);
    // Redis itself answers these.
    assert_eq!(overtaken(Call::Authorize, 103, &local), 1);
    assert_eq!(overtaken(Call::Claim, 103, &local), 1);
}

#[test]
fn promise_03_a_join_may_not_pass_those_who_wait() {
    let story = line_of_three().joins(4, (100, 102), 4, ready(5_000));
    story.looks(2, (103, 105), 2, waiting(1)).breaks(3, "ticket 2 waits after 4", &[4, 5]);
}

#[test]
fn promise_03_one_who_was_away_may_be_overtaken() {
    let overtaken = |rules: &Rules, heard: u64| {
        let story = line_of_three().looks(1, (heard, heard + 2), 1, waiting(1));
        let story = story.looks(3, (99_000, 99_002), 3, waiting(3));
        let story = story.looks(3, (100_000, 100_002), 3, ready(5_000));
        story.looks(1, (100_010, 100_012), 1, waiting(1)).check(rules)
    };
    let rules = Rules { idle_ttl: std::time::Duration::from_secs(60), ..rules() };
    assert!(overtaken(&rules, 39_990).is_empty());
    assert_eq!(overtaken(&rules, 60_000).len(), 1);
    // A new place that was never looked at counts as present for first_poll_ttl only.
    let unseen = |after: u64| {
        let story = Story::default().joins(1, (0, 2), 1, waiting(1));
        let story = story.joins(2, (after, after + 2), 2, ready(5_000));
        story.looks(1, (after + 10, after + 12), 1, waiting(1)).check(&rules)
    };
    assert_eq!(unseen(59_900).len(), 1);
    assert!(unseen(60_100).is_empty());
}

#[test]
fn promise_03_a_ticket_out_of_the_order_of_the_joins_is_caught() {
    let story = Story::default().joins(1, (0, 2), 2, waiting(2)).joins(2, (3, 5), 1, waiting(1));
    story.breaks(3, "ticket 2 was given before the join of 1", &[1, 2]);
    // Joins under way together may come in any order.
    let together = Story::default().joins(1, (0, 4), 2, waiting(2)).joins(2, (3, 5), 1, waiting(1));
    together.is_clean();
    // A repeat gets the place of the first sending, which was not answered.
    let mut repeated = Story::default().joins(2, (0, 900), 1, waiting(1)).unanswered();
    repeated = repeated.joins(1, (100, 102), 2, waiting(2)).joins(2, (901, 903), 1, waiting(1));
    repeated.last().status = Some(200);
    repeated.is_clean();
    // One that is older than the record may be of any time.
    let mut older =
        Story::default().joins(1, (0, 2), 2, waiting(2)).joins(2, (3, 5), 1, waiting(1));
    older.last().status = Some(200);
    older.is_clean();
}

#[test]
fn promise_03_the_gate_shows_it_too() {
    let story = line_of_three().looks(3, (100, 102), 3, ready(5_000));
    let refused = Shown::Waiting { position: None };
    let story = story.hears(2, Call::Authorize, (103, 104), 2, refused);
    story.breaks(3, "ticket 2 waits after 3", &[4, 5]);
    // A place that is gone may be overtaken by all.
    let left = line_of_three().leaves(1, (50, 51), 1).looks(2, (100, 102), 2, ready(5_000));
    left.looks(1, (103, 104), 1, gone("left")).is_clean();
}
