//! Objectives as they are read and compared.

use std::time::Duration;

use anteroom_loadtest::client::Fault;
use anteroom_loadtest::load::Tally;
use anteroom_loadtest::size::objective::Objective;

#[test]
fn what_is_read_is_shown_again() {
    let all = "p95<200ms p99.9<=1s500ms average<50ms max<2s errors<1% 503<0.1% 5xx<=0%";
    for text in all.split(' ') {
        assert_eq!(text.parse::<Objective>().expect(text).to_string(), text);
    }
    assert_eq!("errors<0.01".parse::<Objective>(), "errors<1%".parse());
}

#[test]
fn a_mistake_names_the_rule() {
    for (text, rule) in [
        ("p95", "an objective is FIGURE<LIMIT"),
        ("p95>200ms", "an objective is FIGURE<LIMIT"),
        ("p100<1s", "is none of"),
        ("median<1s", "is none of"),
        ("6xx<1%", "is none of"),
        ("99<1%", "is none of"),
        ("p95<1%", "takes a time"),
        ("p95<200", "takes a time"),
        ("errors<200ms", "takes a share"),
        ("errors<101%", "takes a share"),
        ("errors<0%", "no value is below 0"),
    ] {
        let error = text.parse::<Objective>().expect_err(text);
        assert!(error.contains(rule), "{text}: {error}");
    }
}

#[test]
fn figures_are_compared_with_their_limits() {
    let mut answers = Tally { requests: 100, ..Tally::default() };
    for millis in 1..=100 {
        answers.latency.note(Duration::from_millis(millis));
        *answers.statuses.entry(if millis > 98 { 503 } else { 200 }).or_default() += 1;
    }
    answers.faults.insert(Fault::Status, 3);
    let met = "p50<60ms p95<97ms average<52ms max<102ms errors<=3% 503<=2% 4xx<=0% 404<=0%";
    let missed = "p50<40ms p95<94ms average<50ms max<99ms errors<3% 503<2% 5xx<=1%";
    for (objectives, held) in [(met, true), (missed, false)] {
        for objective in objectives.split(' ') {
            let objective: Objective = objective.parse().expect(objective);
            let judged = objective.judge(&answers);
            assert_eq!(judged.held, held, "{objective}: {judged:?}");
            assert!(!objective.judge(&Tally::default()).held, "without a measurement");
        }
    }
    let refused = Tally { requests: 1, ..Tally::default() };
    assert!(!"p95<1s".parse::<Objective>().expect("one").judge(&refused).held);
}
