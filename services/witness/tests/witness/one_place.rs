//! Promise 4: the checker knows every place of an identity, and whose an answer is.

use crate::story::{Story, active, gone, ready, waiting};

#[test]
fn promise_04_the_same_place_again_is_no_violation() {
    let story = Story::default()
        .joins(1, (0, 2), 1, waiting(1))
        .joins(1, (1, 3), 1, waiting(1))
        .joins(1, (100, 103), 1, ready(5_000))
        .claims(1, (110, 111), 1, active(10_000))
        .joins(1, (200, 203), 1, active(9_910));
    story.is_clean();
}

#[test]
fn promise_04_two_tickets_of_one_identity_are_caught() {
    let story =
        Story::default().joins(1, (0, 2), 1, waiting(1)).joins(1, (100, 103), 2, waiting(2));
    story.breaks(4, "identity 1 has the tickets 1 and 2 at once", &[1, 2]);
}

#[test]
fn promise_04_who_is_gone_gets_a_new_place() {
    let first = Story::default().joins(1, (0, 2), 1, waiting(1));
    let left = first.clone().leaves(1, (50, 51), 1).joins(1, (60, 62), 2, waiting(1));
    left.is_clean();
    let perhaps = first.clone().leaves(1, (50, 900), 1).unanswered();
    perhaps.joins(1, (901, 902), 2, waiting(1)).is_clean();
    // Its turn may have come right after the answer, and lapsed 5 s later.
    first.clone().joins(1, (5_001, 5_003), 2, waiting(1)).is_clean();
    let still = first.looks(1, (200, 202), 1, waiting(1)).joins(1, (5_001, 5_003), 2, waiting(1));
    still.breaks(4, "at once", &[1, 3]);
}

#[test]
fn promise_04_a_ticket_is_given_once() {
    let story = Story::default().joins(1, (0, 2), 1, waiting(1)).joins(2, (10, 12), 1, waiting(1));
    story.breaks(4, "identities 1 and 2 both have ticket 1", &[1, 2]);
}

#[test]
fn promise_04_a_place_has_one_token() {
    let mut story =
        Story::default().joins(1, (0, 2), 1, waiting(1)).joins(1, (10, 12), 1, waiting(1));
    story.is_clean();
    story.last().token = Some(99);
    story.breaks(4, "ticket 1 has two tokens", &[1, 2]);
}

#[test]
fn promise_04_an_answer_for_another_is_caught() {
    let mut story =
        Story::default().joins(1, (0, 2), 1, waiting(1)).looks(1, (10, 12), 1, waiting(1));
    story.last().ticket = Some(2);
    story.breaks(4, "an answer for ticket 1 is about another", &[2]);
}

#[test]
fn promise_04_what_ended_too_soon_is_reported_once() {
    let story =
        Story::default().joins(1, (0, 2), 1, waiting(1)).looks(1, (10, 12), 1, gone("ended"));
    story.joins(1, (20, 22), 2, waiting(1)).breaks(5, "before its time was over", &[1, 2]);
}
