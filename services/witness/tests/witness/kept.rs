//! Promise 5: the checker remembers what was acknowledged.

use anteroom_witness::{Call, Heard, Held, Rules, Shown};

use crate::story::{Story, active, gone, ready, rules, waiting};

fn one() -> Story {
    Story::default().joins(1, (0, 2), 1, waiting(9))
}

fn inside() -> Story {
    one().looks(1, (100, 102), 1, ready(5_000)).claims(1, (110, 112), 1, active(10_000))
}

#[test]
fn promise_05_a_whole_visit_is_no_violation() {
    let story = one()
        .looks(1, (50, 52), 1, waiting(9))
        .looks(1, (60, 62), 1, waiting(4))
        .looks(1, (100, 102), 1, ready(5_000))
        .claims(1, (110, 112), 1, active(10_000))
        .hears(1, Call::Renew, (900, 902), 1, active(10_000))
        .leaves(1, (1_000, 1_002), 1)
        .looks(1, (1_010, 1_012), 1, gone("completed"));
    story.is_clean();
}

#[test]
fn promise_05_a_lost_join_is_caught() {
    let story = one().looks(1, (100, 102), 1, gone("lost"));
    story.breaks(5, "ticket 1 ended (lost) as the waiting room reported", &[1, 2]);
    let rules = Rules { losses: vec![(50_000, 60_000)], ..rules() };
    story.is_clean_by(&rules);
    // What was shown again after the loss is not lost by it.
    let after = one().looks(1, (70, 72), 1, waiting(9)).looks(1, (100, 102), 1, gone("lost"));
    assert_eq!(after.check(&rules).len(), 1);
}

#[test]
fn promise_05_an_end_for_no_reason_is_caught() {
    let look = |story: Story, reason| story.looks(1, (200, 202), 1, gone(reason));
    look(inside(), "completed").breaks(5, "no call ended it", &[3, 4]);
    look(inside(), "evicted").breaks(5, "no call ended it", &[3, 4]);
    look(inside(), "unclaimed").breaks(5, "was claimed", &[3, 4]);
    look(inside(), "expired").breaks(5, "before its time was over", &[3, 4]);
    look(one(), "abandoned").breaks(5, "before its time was over", &[1, 2]);
    // A turn would have lapsed by then; a place in line is present for ten minutes after a look,
    // and for one after the join.
    let late = |story: Story, at| story.looks(1, (at, at + 2), 1, gone("abandoned"));
    let looked = || one().looks(1, (50, 52), 1, waiting(9));
    late(looked(), 7_000).breaks(5, "before its time was over", &[2, 3]);
    late(looked(), 599_000).breaks(5, "before its time was over", &[2, 3]);
    late(looked(), 601_000).is_clean();
    late(one(), 59_000).breaks(5, "before its time was over", &[1, 2]);
    late(one(), 61_000).is_clean();
    let left = || inside().leaves(1, (150, 900), 1).unanswered();
    look(left(), "completed").is_clean();
    // A place that is given up ends for no other reason.
    look(left(), "expired").breaks(5, "before its time was over", &[3, 5]);
}

#[test]
fn promise_05_a_token_that_is_denied_is_a_place_that_is_lost() {
    let answers = |call, status, body: &str| {
        let heard = Heard::answer(call, status, |_| None, body.as_bytes());
        let mut story = one().looks(1, (100, 102), 1, Shown::Nothing);
        let line = story.last();
        (line.call, line.status) = (call, heard.status);
        (line.shown, line.ticket) = (heard.shown, heard.ticket);
        story
    };
    let invalid = r#"{"code":"token_invalid"}"#;
    answers(Call::Place, 401, invalid).breaks(5, "ended (token_invalid) before", &[1, 2]);
    answers(Call::Authorize, 401, invalid).breaks(5, "ended (token_invalid) before", &[1, 2]);
    answers(Call::Place, 404, "").breaks(5, "ended (status 404) before", &[1, 2]);
    // A request without a token, or too fast, or too soon, loses nothing.
    let mut without = answers(Call::Place, 401, r#"{"code":"token_missing"}"#);
    without.last().holds = None;
    without.is_clean();
    answers(Call::Join, 401, r#"{"code":"assertion_invalid"}"#).is_clean();
    answers(Call::Place, 429, r#"{"code":"slow_down"}"#).is_clean();
    answers(Call::Place, 503, r#"{"code":"store_unavailable"}"#).is_clean();
    // What was to stand no longer is not missed.
    let mut late = answers(Call::Place, 401, invalid);
    (late.last().sent, late.last().received) = (9_000_000, 9_002_000);
    late.is_clean();
}

#[test]
fn promise_05_a_turn_is_held_as_long_as_was_shown() {
    let turn = one().looks(1, (100, 102), 1, ready(5_000));
    turn.clone().looks(1, (5_090, 5_095), 1, gone("unclaimed")).breaks(
        5,
        "before its time",
        &[2, 3],
    );
    turn.looks(1, (5_100, 5_103), 1, gone("unclaimed")).is_clean();
    inside().looks(1, (10_110, 10_113), 1, gone("expired")).is_clean();
}

#[test]
fn promise_05_a_position_only_improves() {
    let worse = one().looks(1, (50, 52), 1, waiting(4)).looks(1, (60, 62), 1, waiting(5));
    worse.breaks(5, "ticket 1 goes backwards", &[2, 3]);
    // Answers that were under way together may cross.
    one().looks(1, (50, 62), 1, waiting(4)).looks(1, (51, 60), 1, waiting(5)).is_clean();
    let gate = one().looks(1, (50, 52), 1, waiting(4));
    gate.hears(1, Call::Authorize, (60, 61), 1, Shown::Waiting { position: None }).is_clean();
}

fn local_answers() -> Rules {
    Rules { local_answers: true, ..rules() }
}

#[test]
fn promise_05_no_position_is_worse_than_the_one_that_the_client_sent() {
    for rules in [rules(), local_answers()] {
        let looks = |at, position| one().looks(1, (at, at + 2), 1, waiting(position));
        let worse = looks(50, 4).looks(1, (60, 62), 1, waiting(5)).sends(4);
        worse.breaks_by(&rules, 5, "ticket 1 goes backwards: position 5 after 4", &[2, 3]);
        // Whatever other requests were under way.
        let worse = looks(50, 4).looks(1, (51, 53), 1, waiting(5)).sends(4);
        worse.breaks_by(&rules, 5, "ticket 1 goes backwards: position 5 after 4", &[2, 3]);
        // A client can know its position from the board alone.
        let worse = one().looks(1, (60, 62), 1, waiting(5)).sends(3);
        worse.breaks_by(&rules, 5, "ticket 1 goes backwards: position 5 after 3", &[2]);
        looks(50, 4).looks(1, (60, 62), 1, waiting(4)).sends(4).is_clean_by(&rules);
    }
    // Its join of the same key has another ticket: the position was that of the place before.
    let mut again = one().leaves(1, (50, 52), 1).joins(1, (60, 62), 2, waiting(9)).sends(4);
    again.last().holds = Some(Held { epoch: 7, ticket: 1 });
    again.is_clean();
}

#[test]
fn promise_05_with_local_answers_positions_are_3_percent_off() {
    // Shown 3 % too small, and then 3 % too great, by a line that was read up to 2 s ago.
    let story = |before, at, now| {
        let story = Story::default().joins(1, (0, 2), 1, waiting(before));
        story.looks(1, (at, at + 2), 1, waiting(now))
    };
    for (before, at, now) in [(970, 2_002, 1_030), (970, 2_001, 5_000), (17, 9_000, 18)] {
        story(before, at, now).is_clean_by(&local_answers());
        let proof = format!("goes backwards: position {now} after {before}");
        story(before, at, now).breaks(5, &proof, &[1, 2]);
    }
    for (before, at, now) in [(970, 2_002, 1_031), (16, 2_002, 17), (1, 9_000, 2)] {
        story(before, at, now).breaks_by(&local_answers(), 5, "goes backwards", &[1, 2]);
    }
}

#[test]
fn promise_05_with_local_answers_a_turn_shows_2_s_later_at_the_latest() {
    let turn = |sent| {
        let story = one().looks(1, (50, 52), 1, ready(5_000));
        story.looks(1, (sent, sent + 2), 1, waiting(1))
    };
    turn(2_051).is_clean_by(&local_answers());
    turn(2_052).breaks_by(&local_answers(), 5, "ticket 1 goes backwards", &[2, 3]);
    turn(52).breaks(5, "ticket 1 goes backwards", &[2, 3]);
}

#[test]
fn promise_05_a_position_that_the_client_sent_says_nothing_to_its_other_tabs() {
    let first = |position| Story::default().joins(1, (0, 2), 1, waiting(position));
    let tabs_of = |position| {
        // The board showed it.
        let story = first(position).looks(1, (50, 52), 1, waiting(950)).sends(950);
        story.looks(1, (60, 62), 1, waiting(980))
    };
    tabs_of(1_000).is_clean();
    tabs_of(979).breaks(5, "goes backwards: position 980 after 979", &[1, 3]);
    // The room counted this one itself.
    let counted = first(1_000).looks(1, (50, 52), 1, waiting(940)).sends(950);
    counted.looks(1, (60, 62), 1, waiting(980)).breaks(5, "position 980 after 940", &[2, 3]);
}

#[test]
fn promise_05_no_place_falls_back() {
    inside().looks(1, (200, 202), 1, waiting(1)).breaks(5, "backwards", &[3, 4]);
    inside().looks(1, (200, 202), 1, ready(4_900)).breaks(5, "backwards", &[3, 4]);
    let gate = Shown::Waiting { position: None };
    inside().hears(1, Call::Authorize, (200, 202), 1, gate).breaks(5, "backwards", &[3, 4]);
    inside().looks(1, (200, 202), 1, active(7_000)).breaks(5, "backwards", &[3, 4]);
    inside().looks(1, (200, 202), 1, active(9_910)).is_clean();
    // Queue time stood still: the session is later over, never sooner.
    inside().looks(1, (5_000, 5_002), 1, active(9_000)).is_clean();
}

#[test]
fn promise_05_the_gate_may_answer_from_memory() {
    let held = |story: Story| story.hears(1, Call::Authorize, (200, 202), 1, active(1_000));
    held(inside()).is_clean();
    held(inside().leaves(1, (150, 160), 1)).is_clean();
}

#[test]
fn promise_05_a_ticket_that_was_lost_may_be_given_again() {
    let rules = Rules { losses: vec![(50_000, 60_000)], ..rules() };
    let mut story = one().looks(1, (70, 72), 1, gone("lost")).joins(1, (80, 82), 1, waiting(9));
    story.last().status = Some(201);
    story.is_clean_by(&rules);
    let lost = story.looks(1, (90, 92), 1, gone("lost"));
    assert_eq!(lost.check(&rules).len(), 1);
}

#[test]
fn promise_05_what_is_gone_stays_gone() {
    let story = one().leaves(1, (50, 52), 1).looks(1, (60, 62), 1, waiting(4));
    story.breaks(5, "backwards", &[2, 3]);
}

#[test]
fn promise_05_a_new_life_of_the_queue_is_caught() {
    let mut story = one().joins(2, (10, 12), 2, waiting(10));
    story.last().given.as_mut().expect("a join").epoch = 8;
    story.breaks(5, "the queue was reset", &[1, 2]);
    story.is_clean_by(&Rules { losses: vec![(4_000, 8_000)], ..rules() });
}
