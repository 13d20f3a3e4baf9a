//! Promise 9: the answers that applicants got, and injected violations.

use anteroom_witness::event::{Call, Line, Outcome, check, check_ended};

const STOCK: usize = 2;

#[derive(Clone, Default)]
struct Story(Vec<Line>);

impl Story {
    fn hears(
        mut self,
        who: u32,
        call: Call,
        times: (u64, u64),
        status: u16,
        outcome: Outcome,
    ) -> Self {
        let (sent, received) = times;
        self.0.push(Line { visitor: who, call, sent, received, status: Some(status), outcome });
        self
    }

    fn applies(self, who: u32, times: (u64, u64)) -> Self {
        self.hears(who, Call::Apply, times, 202, Outcome::Pending)
    }

    fn asks(self, who: u32, times: (u64, u64), outcome: Outcome) -> Self {
        let status = if outcome == Outcome::Unknown { 404 } else { 200 };
        self.hears(who, Call::Status, times, status, outcome)
    }

    #[track_caller]
    fn breaks(&self, what: &str, lines: &[usize]) {
        let found = check_ended(&self.0, STOCK);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].promise == 9 && found[0].what.contains(what), "{found:?}");
        let proof: Vec<_> = found[0].lines.iter().map(|line| line + 1).collect();
        assert_eq!(proof, lines, "{found:?}");
    }
}

fn issued(code: u64) -> Outcome {
    Outcome::Issued { code: Some(code) }
}

/// Three apply one after the other, and two of them get a unit.
fn sale() -> Story {
    Story::default()
        .applies(1, (0, 2))
        .applies(2, (3, 5))
        .applies(3, (6, 8))
        .asks(1, (20, 21), issued(11))
        .asks(2, (20, 21), issued(12))
        .asks(3, (20, 21), Outcome::SoldOut)
}

#[test]
fn promise_09_a_sale_to_the_last_unit_is_no_violation() {
    assert_eq!(check_ended(&sale().0, STOCK), []);
    // Refused at once, before and after; a repeat hears the same.
    let more = sale().hears(4, Call::Apply, (30, 31), 409, Outcome::SoldOut);
    let more = more.hears(4, Call::Apply, (32, 33), 409, Outcome::SoldOut);
    let more = more.hears(1, Call::Apply, (34, 35), 200, issued(11));
    assert_eq!(check_ended(&more.0, STOCK), []);
    // While it goes on no application need have ended.
    let early = Story::default().applies(1, (0, 2)).asks(1, (3, 4), Outcome::Pending);
    assert_eq!(check(&early.0, STOCK), []);
    assert_eq!(check_ended(&early.0, STOCK).len(), 1);
}

#[test]
fn promise_09_one_unit_too_many_is_caught() {
    let story = sale().applies(4, (7, 9)).asks(4, (22, 23), issued(13));
    let found = check(&story.0, STOCK);
    assert!(found.iter().any(|it| it.what.contains("3 were issued, the stock is 2")), "{found:?}");
}

#[test]
fn promise_09_one_code_for_two_is_caught() {
    let mut story = sale();
    story.0[4].outcome = issued(11);
    story.breaks("1 and 2 got the same code", &[4, 5]);
}

#[test]
fn promise_09_a_second_end_is_caught() {
    let found = check(&sale().asks(3, (30, 31), Outcome::Pending).0, STOCK);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].what, "3 got SoldOut, then Pending");
    sale().asks(1, (30, 31), issued(99)).breaks("then Issued", &[4, 7]);
    // What was under way together proves nothing.
    let together = Story::default().applies(1, (0, 2)).asks(1, (3, 9), issued(1));
    let together = together.asks(1, (4, 10), Outcome::Pending);
    assert_eq!(check(&together.0, STOCK), []);
}

#[test]
fn promise_09_a_lost_application_is_caught() {
    let story = sale().asks(1, (30, 31), Outcome::Unknown);
    let found = check(&story.0, STOCK);
    assert!(found.iter().any(|it| it.what == "the application of 1 is lost"), "{found:?}");
}

#[test]
fn promise_09_an_application_without_an_end_is_caught() {
    let mut story = sale();
    story.0[5].outcome = Outcome::Pending;
    story.breaks("the application of 3 never ended", &[6]);
}

#[test]
fn promise_09_units_that_are_left_are_caught() {
    let mut story = sale();
    story.0[4].outcome = Outcome::SoldOut;
    // The second went without, and so did the third, behind it.
    story.breaks("sold out, with 1 issued and 0 failed of 2", &[5]);
    // A dead letter keeps its unit.
    story.0[4].outcome = Outcome::Failed;
    assert_eq!(check_ended(&story.0, STOCK), []);
}

#[test]
fn promise_09_who_is_passed_over_is_caught() {
    let mut story = sale();
    (story.0[4].outcome, story.0[5].outcome) = (Outcome::SoldOut, issued(12));
    story.breaks("2 applied before 3 and got nothing", &[2, 5, 6]);
    // Side by side either may have been first.
    story.0[2].sent = 4;
    assert_eq!(check_ended(&story.0, STOCK), []);
}

#[test]
fn answers_are_read() {
    let read = |call, status, body: &str| Outcome::read(call, status, body.as_bytes(), |_| 7);
    let (apply, status) = (Call::Apply, Call::Status);
    assert_eq!(read(apply, 202, r#"{"status":"pending","position":3}"#), Outcome::Pending);
    assert_eq!(read(status, 200, r#"{"status":"issued","code":"A-1"}"#), issued(7));
    assert_eq!(read(status, 200, r#"{"status":"issued"}"#), Outcome::Issued { code: None });
    assert_eq!(read(status, 200, r#"{"status":"sold_out"}"#), Outcome::SoldOut);
    assert_eq!(read(apply, 409, r#"{"code":"sold_out"}"#), Outcome::SoldOut);
    assert_eq!(read(status, 200, r#"{"status":"failed"}"#), Outcome::Failed);
    assert_eq!(read(status, 404, "{}"), Outcome::Unknown);
    assert_eq!(read(apply, 503, r#"{"code":"store_unavailable"}"#), Outcome::Nothing);
    assert_eq!(read(apply, 200, "no JSON"), Outcome::Nothing);
}
