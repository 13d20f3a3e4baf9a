//! Bodies: what is taken has only known fields and values within their rules; what is refused is
//! refused in a few words.

use std::time::Duration;

use anteroom_admission::{
    AddStockBody, ApplyBody, AskedBody, BackendJoin, CheckBody, ChecksBody, Code, ForgetBody,
    FundsBody, JoinBody, OutcomeBody, Overrides, Problem, SettleBody, form_key, is_strong_key,
    parse_json,
};
use anteroom_core::breaker::{self, Kept};
use anteroom_core::pool::Asked;
use anteroom_core::queue::{Override, Rules};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The store's clock, in seconds since 1970.
const NOW: u64 = 1_800_000_000;
/// The message may quote the caller's own value, but not all of it.
const LONGEST_DETAIL: usize = 210;

/// The input is a body, tried as that of each call that takes one.
pub fn check(data: &[u8]) {
    parsed::<JoinBody>(data, &["assertion"]);
    parsed::<BackendJoin>(data, &["visitor_id"]);
    if let Some(overrides) = parsed::<Overrides>(data, &OVERRIDES) {
        overridden(&overrides, data);
    }
    parsed::<CheckBody>(data, &["key", "cost", "group", "id"]);
    parsed::<ChecksBody>(data, &["checks", "id"]);
    parsed::<ForgetBody>(data, &["key", "group"]);
    for kept in [Kept::InBuckets, Kept::InLog] {
        if let Some(outcome) = parsed::<OutcomeBody>(data, &OUTCOME) {
            reported(outcome, &breaker::Rules { kept, ..breaker::Rules::default() });
        }
    }
    parsed::<ApplyBody>(data, &["visitor_id"]);
    parsed::<AddStockBody>(data, &["add", "operation_id"]);
    parsed::<SettleBody>(data, &["amount"]);
    parsed::<FundsBody>(data, &["amount", "operation_id"]);
    if let Some(body) = parsed::<AskedBody>(data, &["amount", "option", "operation_id"]) {
        amount_of_a_pool(body);
    }
    if let Some(key) = form_key(data) {
        assert!(is_strong_key(key.as_bytes()));
    }
}

const OVERRIDES: [&str; 20] = [
    "state",
    "reason",
    "capacity",
    "batch",
    "interval_ms",
    "pace",
    "claim_ttl_ms",
    "session_ttl_ms",
    "session_max_ms",
    "unproven_ttl_ms",
    "idle_ttl_ms",
    "keep_ttl_ms",
    "first_poll_ttl_ms",
    "max_waiting",
    "places_per_address",
    "joins_at",
    "opens_at",
    "closes_at",
    "local_answers",
    "until",
];

const OUTCOME: [&str; 7] =
    ["success", "successes", "failures", "reporter", "latency_ms", "permit", "id"];

fn reported(outcome: OutcomeBody, rules: &breaker::Rules) {
    let outcome = match outcome.outcome(rules) {
        Ok(outcome) => outcome,
        Err(problem) => return refused(&problem, Code::INVALID_VALUE),
    };
    let all = u64::from(outcome.successes) + u64::from(outcome.failures);
    assert!((1..=u64::from(rules.most_outcomes())).contains(&all), "{outcome:?}");
    assert!(outcome.latency_ms.is_none_or(|latency_ms| latency_ms <= 3_600_000), "{outcome:?}");
    for name in [&outcome.reporter, &outcome.id].into_iter().flatten() {
        assert!((1..=128).contains(&name.len()) && name.trim() == name, "{outcome:?}");
    }
}

fn amount_of_a_pool(body: AskedBody) {
    match body.checked() {
        Ok((asked, operation_id)) => {
            assert!((1..=128).contains(&operation_id.len()) && operation_id.trim() == operation_id);
            match asked {
                Asked::Amount(amount) => {
                    assert!((1..1 << 53).contains(&amount.get()), "{amount:?}");
                }
                Asked::Option(name) => assert!((1..=40).contains(&name.as_str().len()), "{name:?}"),
            }
        }
        Err(problem) => refused(&problem, Code::INVALID_VALUE),
    }
}

fn parsed<T: DeserializeOwned>(body: &[u8], fields: &[&str]) -> Option<T> {
    match parse_json::<T>(body) {
        Ok(value) => {
            let object = object(body);
            for name in object.keys() {
                assert!(fields.contains(&name.as_str()), "{name} is not known");
            }
            Some(value)
        }
        Err(problem) => {
            refused(&problem, Code::INVALID_BODY);
            None
        }
    }
}

fn object(body: &[u8]) -> serde_json::Map<String, Value> {
    match serde_json::from_slice(body) {
        Ok(Value::Object(object)) => object,
        other => panic!("taken, although it is no JSON object: {other:?}"),
    }
}

fn refused(problem: &Problem, code: Code) {
    assert_eq!(problem.code(), code);
    let detail = problem.said().expect("says what is wrong");
    assert!(detail.len() <= LONGEST_DETAIL, "{} bytes: {detail}", detail.len());
}

fn overridden(overrides: &Overrides, body: &[u8]) {
    let rules = rules();
    let change = match overrides.check(NOW, &rules, &rules) {
        Ok(change) => change,
        Err(wrong) => return refused(&wrong.into(), Code::INVALID_VALUE),
    };
    assert!(change.until.is_none_or(|until| until > NOW), "{change:?}");
    let object = object(body);
    let named = object.keys().filter(|name| *name != "until").count();
    // A new state takes the old one's reason back.
    let with_reason = object.contains_key("state") && !object.contains_key("reason");
    assert_eq!(change.overrides.len(), named + usize::from(with_reason));
    for change in &change.overrides {
        assert!(within_rule(change), "{change:?}");
    }
}

/// The ranges of the configuration. An override that is taken back has no value to judge.
fn within_rule(change: &Override) -> bool {
    const DAY: u64 = 86_400;
    let whole = |value: &Option<u64>, most| value.is_none_or(|value| (1..=most).contains(&value));
    let span = |value: &Option<Duration>, least, most| {
        value.is_none_or(|value| {
            (Duration::from_secs(least)..=Duration::from_secs(most)).contains(&value)
        })
    };
    match change {
        Override::State(_) | Override::Pace(_) | Override::LocalAnswers(_) => true,
        Override::Reason(reason) => reason.as_ref().is_none_or(|reason| {
            (1..=200).contains(&reason.chars().count()) && !reason.contains(char::is_control)
        }),
        Override::Capacity(value) => whole(value, 1_000_000_000),
        Override::Batch(value) => whole(value, 1_000_000),
        Override::MaxWaiting(value) => whole(value, 10_000_000),
        Override::PlacesPerAddress(value) => value.is_none_or(|value| value <= 1_000_000),
        Override::Interval(value) => span(value, 1, 3_600),
        Override::ClaimTtl(value) => span(value, 5, 3_600),
        Override::SessionTtl(value) => span(value, 5, DAY),
        Override::UnprovenTtl(value) => span(value, 1, 3_600),
        Override::SessionMax(value) => span(value, 5, 7 * DAY),
        Override::IdleTtl(value) => span(value, 60, DAY),
        Override::KeepTtl(value) => span(value, 60, 7 * DAY),
        Override::FirstPollTtl(value) => span(value, 30, DAY),
        // Until 2255, so that microseconds stay exact in a double.
        Override::JoinsAt(at) | Override::OpensAt(at) | Override::ClosesAt(at) => {
            at.is_none_or(|at| at * 1_000_000 < 1 << 53)
        }
    }
}

fn rules() -> Rules {
    Rules { capacity: Some(5_000), batch: Some(2_200), ..Rules::default() }
}
