//! Wall clocks that are wrong, and that leap: the pods' and the store's, faked in the processes
//! themselves.

mod local_answers;
mod pods;
mod store;

use anteroom_testkit::{Redis, Service};
use jiff::{Timestamp, fmt::rfc2822};

/// Ten minutes, longer than any turn, session or absence in these tests.
const WRONG: i64 = 600;

/// A time that a process returns now shows that its clock is off by so many seconds. What a busy
/// machine adds is far less than a minute.
fn is_off_by(shown: i64, seconds: i64) {
    let off = shown - Timestamp::now().as_second();
    assert!((off - seconds).abs() < 60, "the clock is off by {off} s, not {seconds} s");
}

/// The same for a service, whose answers have the time.
async fn service_is_off_by(service: &Service, seconds: i64) {
    let answer = reqwest::get(format!("{}/livez", service.url("metrics"))).await;
    let answer = answer.expect("the metrics port answers");
    let date = answer.headers()["date"].to_str().expect("a date");
    let shown = rfc2822::DateTimeParser::new().parse_timestamp(date).expect("a date");
    is_off_by(shown.as_second(), seconds);
}

/// The same for the store.
async fn store_is_off_by(redis: &Redis, seconds: i64) {
    let (shown, _) = redis.run::<(i64, i64)>(&["TIME"]).await;
    is_off_by(shown, seconds);
}

/// Lets the store's clock leap.
async fn leap(redis: &Redis, seconds: i64) {
    redis.clock().leaps_to(seconds);
    store_is_off_by(redis, seconds).await;
}
