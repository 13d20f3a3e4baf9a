//! Bodies: what is taken has only known fields and values within their rules; what is refused is
//! refused in a few words.

use std::time::Duration;

use anteroom_admission::{
    AddStockBody, AmountOrOptionBody, ApplyBody, BackendJoin, CheckBody, ChecksBody, ForgetBody,
    FundsBody, JoinBody, OutcomeBody, Overrides, SettleBody, form_key, is_strong_key, parse_json,
};
use anteroom_authorize::{Code, Problem};
use anteroom_core::breaker::{self, Kept};
use anteroom_core::pool::AmountRequest;
use anteroom_core::queue::{Override, RULES, Rules};
use anteroom_core::rules::{Kind, Rule, Value as RuleValue};
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
    let fields = overrides();
    let fields: Vec<_> = fields.iter().map(String::as_str).collect();
    if let Some(overrides) = parsed::<Overrides>(data, &fields) {
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
    let fields = ["amount", "option", "operation_id"];
    if let Some(requested) = parsed::<AmountOrOptionBody>(data, &fields) {
        requested_of_a_pool(requested);
    }
    if let Some(key) = form_key(data) {
        assert!(is_strong_key(key.as_bytes()));
    }
}

/// The fields of an override: the rules of a queue, times in milliseconds, and the end.
fn overrides() -> Vec<String> {
    let field = |rule: &Rule| match rule.kind {
        Kind::Span { .. } => format!("{}_ms", rule.name),
        _ => rule.name.to_owned(),
    };
    RULES.iter().map(field).chain(["until".to_owned()]).collect()
}

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

fn requested_of_a_pool(body: AmountOrOptionBody) {
    match body.checked() {
        Ok((requested, operation_id)) => {
            assert!((1..=128).contains(&operation_id.len()) && operation_id.trim() == operation_id);
            match requested {
                AmountRequest::Amount(amount) => {
                    assert!((1..1 << 53).contains(&amount.get()), "{amount:?}");
                }
                AmountRequest::Option(name) => {
                    assert!((1..=40).contains(&name.as_str().len()), "{name:?}");
                }
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
    let detail = problem.detail_text();
    assert!((1..=LONGEST_DETAIL).contains(&detail.len()), "{} bytes: {detail}", detail.len());
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
    let mut changed = rules.clone();
    for change in &change.overrides {
        changed.apply(change, &rules);
        if let Override::Reason(Some(reason)) = change {
            assert!((1..=200).contains(&reason.chars().count()), "{reason}");
            assert!(!reason.contains(char::is_control), "{reason}");
        }
    }
    for rule in RULES {
        let value = changed.value(rule);
        assert!(value.is_none_or(|value| within(rule.kind, &value)), "{change:?}");
    }
}

/// Whether a value is in the range of its rule.
fn within(kind: Kind, value: &RuleValue) -> bool {
    match (kind, value) {
        (Kind::Whole { least, most }, RuleValue::Whole(value)) => (least..=most).contains(value),
        (Kind::Span { least, most }, RuleValue::Span(value)) => {
            (Duration::from_millis(least)..=Duration::from_millis(most)).contains(value)
        }
        // Until 2255, so that microseconds stay exact in a double.
        (Kind::Moment, RuleValue::Moment(at)) => at * 1_000_000 < 1 << 53,
        (Kind::Choice(_), RuleValue::Choice(..)) | (Kind::Flag, RuleValue::Flag(_)) => true,
        _ => false,
    }
}

fn rules() -> Rules {
    Rules { capacity: Some(5_000), batch: Some(2_200), ..Rules::default() }
}
