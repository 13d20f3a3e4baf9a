use std::time::Duration;

use anteroom_config::Config;
use anteroom_core::queue::Pace;
use proptest::prelude::{Strategy as _, prop_assert, proptest};
use serde_json::json;

use super::*;

const NOW: u64 = 1_800_000_000;
const LATER: &str = "2027-01-15T17:00:01+09:00"; // one second after NOW

fn rules() -> Rules {
    Rules { capacity: Some(100), opens_at: Some(NOW), ..Rules::default() }
}

fn checked(body: serde_json::Value) -> Result<Change, Wrong> {
    let overrides: Overrides = serde_json::from_value(body).expect("a body");
    overrides.check(NOW, &rules(), &rules())
}

fn overrides(body: serde_json::Value) -> Vec<Override> {
    checked(body).expect("a change").overrides
}

fn refuses(body: serde_json::Value, expected: &str) {
    let wrong = checked(body.clone()).expect_err(&body.to_string());
    let detail = format!("{} {}", wrong.field, wrong.rule);
    assert!(detail.starts_with(expected), "{body}: {detail}");
}

#[test]
fn every_field_becomes_its_override() {
    let body = json!({
        "state": "paused", "reason": "잠시", "capacity": 5, "batch": 6, "interval_ms": 7_000,
        "pace": "batch", "claim_ttl_ms": 8_000, "session_ttl_ms": 9_000, "session_max_ms": 10_000,
        "unproven_ttl_ms": 1_000, "idle_ttl_ms": 70_000, "keep_ttl_ms": 80_000,
        "first_poll_ttl_ms": 30_000,
        "max_waiting": 11, "joins_at": "2027-01-15T08:00:00Z", "opens_at": "2027-01-15T08:00:01Z",
        "closes_at": "2027-01-15T08:00:02Z", "local_answers": true, "places_per_address": 0,
        "until": LATER,
    });
    let millis = |millis| Some(Duration::from_millis(millis));
    let change = checked(body).expect("a change");
    assert_eq!(change.until, Some(NOW + 1));
    assert_eq!(
        change.overrides,
        [
            Override::State(Some(State::Paused)),
            Override::Reason(Some("잠시".into())),
            Override::Capacity(Some(5)),
            Override::Batch(Some(6)),
            Override::Interval(millis(7_000)),
            Override::Pace(Some(Pace::Batch)),
            Override::ClaimTtl(millis(8_000)),
            Override::SessionTtl(millis(9_000)),
            Override::SessionMax(millis(10_000)),
            Override::UnprovenTtl(millis(1_000)),
            Override::IdleTtl(millis(70_000)),
            Override::KeepTtl(millis(80_000)),
            Override::FirstPollTtl(millis(30_000)),
            Override::MaxWaiting(Some(11)),
            Override::JoinsAt(Some(NOW)),
            Override::OpensAt(Some(NOW + 1)),
            Override::ClosesAt(Some(NOW + 2)),
            Override::LocalAnswers(Some(true)),
            Override::PlacesPerAddress(Some(0)),
        ]
    );
}

#[test]
fn null_takes_back_and_absent_keeps() {
    assert_eq!(overrides(json!({})), []);
    assert_eq!(
        overrides(json!({"capacity": null, "opens_at": null})),
        [Override::Capacity(None), Override::OpensAt(None)]
    );
    let change = checked(json!({"capacity": 5, "until": null})).expect("a change");
    assert_eq!(change.until, None);
}

#[test]
fn a_reason_goes_with_its_state() {
    let open = Override::State(Some(State::Open));
    assert_eq!(overrides(json!({"state": "open"})), [open, Override::Reason(None)]);
    assert_eq!(overrides(json!({"state": null})), [Override::State(None), Override::Reason(None)]);
    assert_eq!(
        overrides(json!({"state": null, "reason": "soon"})),
        [Override::State(None), Override::Reason(Some("soon".into()))]
    );
    assert_eq!(overrides(json!({"reason": null})), [Override::Reason(None)]);
    assert_eq!(overrides(json!({"reason": "-"})), [Override::Reason(Some("-".into()))]);
    assert_eq!(overrides(json!({"capacity": 5})), [Override::Capacity(Some(5))]);
}

#[test]
fn bypass_needs_an_end_and_an_end_lies_ahead() {
    refuses(json!({"state": "bypass"}), "until is required");
    assert!(checked(json!({"state": "bypass", "until": LATER})).is_ok());
    for past in ["2027-01-15T08:00:00Z", "2020-01-01T00:00:00Z"] {
        refuses(json!({"capacity": 5, "until": past}), "until must be in the future");
    }
    refuses(json!({"until": LATER}), "until is the end of the overrides in the same call");
    refuses(json!({"capacity": 5, "until": "tomorrow"}), "until must be a moment");
}

#[test]
fn a_wrong_value_is_refused_with_its_field_and_its_rule() {
    for (body, expected) in [
        (json!({"state": "Open"}), "state must be one of open, paused, closed, bypass"),
        (json!({"pace": ""}), "pace must be one of even, batch"),
        (json!({"reason": ""}), "reason must be 1 to 200 characters"),
        (json!({"reason": "a\nb"}), "reason must be 1 to 200 characters"),
        (json!({"reason": "x".repeat(201)}), "reason must be 1 to 200 characters"),
        (json!({"capacity": 0}), "capacity must be a whole number from 1 to 1000000000"),
        (json!({"capacity": -1}), "capacity must be a whole number"),
        (json!({"capacity": 1.5}), "capacity must be a whole number"),
        (json!({"capacity": 1e300}), "capacity must be a whole number"),
        (json!({"capacity": u64::MAX}), "capacity must be a whole number"),
        (json!({"opens_at": 5.to_string()}), "opens_at must be a moment"),
    ] {
        refuses(body, expected);
    }
    for number in ["9.0", "1e3", "1.99999999999999999999"] {
        let body = serde_json::from_str(&format!(r#"{{"capacity": {number}}}"#)).expect("JSON");
        refuses(body, "capacity must be a whole number");
    }
}

#[test]
fn an_unknown_field_and_a_wrong_type_are_no_body_at_all() {
    for body in [json!({"capasity": 5}), json!({"capacity": "5"}), json!({"until": 5})] {
        assert!(serde_json::from_value::<Overrides>(body).is_err());
    }
}

#[test]
fn rules_must_agree_with_each_other() {
    for (body, expected) in [
        (
            json!({"session_ttl_ms": 1_800_001}),
            "session_ttl_ms must be at most session_max_ms, which is 1800000",
        ),
        (
            json!({"session_max_ms": 299_999}),
            "session_max_ms must be at least session_ttl_ms, which is 300000",
        ),
        (json!({"first_poll_ttl_ms": 600_001}), "first_poll_ttl_ms must be at most idle_ttl_ms"),
        (
            json!({"idle_ttl_ms": 60_000, "first_poll_ttl_ms": 60_001}),
            "first_poll_ttl_ms must be at most",
        ),
        (json!({"joins_at": LATER}), "joins_at must not be after opens_at"),
        (json!({"closes_at": "2027-01-15T07:59:59Z"}), "closes_at must not be before opens_at"),
        (
            json!({"opens_at": LATER, "joins_at": "2027-01-15T08:00:02Z"}),
            "opens_at must not be before",
        ),
    ] {
        refuses(body, expected);
    }
    assert!(checked(json!({"session_ttl_ms": 3_600_000, "session_max_ms": 3_600_000})).is_ok());
    assert!(checked(json!({"joins_at": LATER, "opens_at": LATER})).is_ok());
}

#[test]
fn an_old_disagreement_stops_no_other_change() {
    let mut odd = rules();
    odd.session_max = Duration::from_secs(5);
    odd.idle_ttl = Duration::from_secs(30);
    odd.closes_at = Some(1);
    let pause: Overrides = serde_json::from_value(json!({"state": "paused"})).expect("a body");
    assert!(pause.check(NOW, &odd, &rules()).is_ok());
    // Taking back what disagreed leads to the file's rules, which agree.
    let back = json!({"session_max_ms": null, "idle_ttl_ms": null, "closes_at": null});
    let back: Overrides = serde_json::from_value(back).expect("a body");
    assert!(back.check(NOW, &odd, &rules()).is_ok());
}

/// Every rule of the table can be overridden, and nothing else; the document says within which
/// range.
#[test]
fn the_document_names_the_rules_of_the_table() {
    let RefOr::T(Schema::Object(body)) = Overrides::schema() else { panic!("no object") };
    let mut names: Vec<_> = RULES.iter().map(field::name).chain([UNTIL.to_owned()]).collect();
    names.sort();
    let mut documented: Vec<_> = body.properties.keys().cloned().collect();
    documented.sort();
    assert_eq!(documented, names);
    let capacity = serde_json::to_value(&body.properties["capacity"]).expect("JSON");
    assert_eq!((&capacity["minimum"], &capacity["maximum"]), (&json!(1), &json!(1_000_000_000)));
}

/// The same limits stand in the configuration: what one takes the other takes.
#[test]
fn the_ranges_are_those_of_the_configuration() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("queue.toml");
    let configured = |field: &str, value: u64| {
        let (key, value) = match field.strip_suffix("_ms") {
            Some(key) => (key, format!("\"{value}ms\"")),
            None => (field, value.to_string()),
        };
        // What must agree with the field is put where it cannot be in the way.
        let others = [
            ("capacity", "1"),
            ("claim_ttl", "\"1h\""),
            ("idle_ttl", "\"24h\""),
            ("session_ttl", "\"5s\""),
            ("session_max", "\"7d\""),
            ("first_poll_ttl", "\"30s\""),
        ];
        let others = others.iter().filter(|(other, _)| *other != key);
        let others: String = others.map(|(key, value)| format!("{key} = {value}\n")).collect();
        std::fs::write(&file, format!("[queues.x]\n{others}{key} = {value}\n")).expect("written");
        Config::load(Some(&file)).is_ok()
    };
    let mut loose = rules();
    loose.idle_ttl = Duration::from_secs(86_400);
    loose.session_ttl = Duration::from_secs(5);
    loose.session_max = Duration::from_secs(7 * 86_400);
    loose.first_poll_ttl = Duration::from_secs(30);
    let overridden = |field: &str, value: u64| {
        let overrides: Overrides = serde_json::from_value(json!({ field: value })).expect("a body");
        overrides.check(NOW, &loose, &loose).is_ok()
    };
    for (field, least, most) in [
        ("capacity", 1, 1_000_000_000),
        ("batch", 1, 1_000_000),
        ("interval_ms", 1_000, 3_600_000),
        ("claim_ttl_ms", 5_000, 3_600_000),
        ("session_ttl_ms", 5_000, 86_400_000),
        ("session_max_ms", 5_000, 604_800_000),
        ("unproven_ttl_ms", 1_000, 3_600_000),
        ("idle_ttl_ms", 60_000, 86_400_000),
        ("keep_ttl_ms", 60_000, 604_800_000),
        ("first_poll_ttl_ms", 30_000, 86_400_000),
        ("max_waiting", 1, 10_000_000),
    ] {
        for (value, good) in [(least - 1, false), (least, true), (most, true), (most + 1, false)] {
            assert_eq!(configured(field, value), good, "configuration: {field} = {value}");
            assert_eq!(overridden(field, value), good, "override: {field} = {value}");
        }
    }
}

proptest! {
    #[test]
    fn any_body_is_survived(fields in proptest::collection::hash_map(
        "state|reason|capacity|interval_ms|pace|joins_at|until|idle_ttl_ms",
        proptest::prop_oneof![
            proptest::prelude::any::<f64>().prop_map(|n| json!(n)),
            proptest::prelude::any::<i64>().prop_map(|n| json!(n)),
            "\\PC{0,30}".prop_map(|text| json!(text)),
            proptest::prelude::Just(json!(null)),
        ],
        0..6,
    )) {
        if let Ok(overrides) = serde_json::from_value::<Overrides>(json!(fields))
            && let Ok(change) = overrides.check(NOW, &rules(), &rules())
        {
            prop_assert!(change.until.is_none_or(|until| until > NOW));
        }
    }
}
