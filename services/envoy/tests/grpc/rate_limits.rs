//! Rate limits.

use std::time::{Duration, Instant};

use envoy_types::pb::envoy::extensions::common::ratelimit::v3::RateLimitDescriptor;
use envoy_types::pb::envoy::extensions::common::ratelimit::v3::rate_limit_descriptor::Entry;
use envoy_types::pb::envoy::service::ratelimit::v3::rate_limit_response::Code;
use envoy_types::pb::envoy::service::ratelimit::v3::{RateLimitRequest, RateLimitResponse};
use envoy_types::pb::google::protobuf::UInt64Value;
use serde_json::json;

use crate::room::{CALLER_WAITS, Room};

const LIMITS: &str = r#"
[limits.login]
limit = 3
window = "60s"

[limits.api]
limit = 5
window = "1h"

[limits.log]
algorithm = "log"
limit = 500
window = "60s"

[limits.open]
limit = 1
on_store_error = "open"

[limits.closed]
limit = 1
on_store_error = "closed"

[limits.shadow]
limit = 1
shadow = true

[[envoy.descriptors]]
domain = "shop"
entries = [{ key = "path", value = "/login" }, { key = "remote_address" }]
limit = "login"
key = "remote_address"

[[envoy.descriptors]]
domain = "shop"
entries = [{ key = "path", prefix = "/api/" }, { key = "remote_address" }]
limit = "api"
key = "remote_address"

[[envoy.descriptors]]
domain = "shop"
entries = [{ key = "log" }]
limit = "log"

[[envoy.descriptors]]
domain = "shop"
entries = [{ key = "open" }]
limit = "open"

[[envoy.descriptors]]
domain = "shop"
entries = [{ key = "closed" }]
limit = "closed"

[[envoy.descriptors]]
domain = "shop"
entries = [{ key = "shadow" }]
limit = "shadow"

[[envoy.descriptors]]
domain = "shop"
entries = [{ key = "tenant" }, { key = "path" }]
limit = "api"
group = "tenant"

[[envoy.descriptors]]
domain = "shop"
entries = [{ key = "tenant" }, { key = "user" }]
limit = "login"
key = "user"
group = "tenant"
"#;

const OK: i32 = Code::Ok as i32;
const OVER_LIMIT: i32 = Code::OverLimit as i32;

fn descriptor(pairs: &[(&str, &str)]) -> RateLimitDescriptor {
    let entry =
        |(key, value): &(&str, &str)| Entry { key: (*key).to_owned(), value: (*value).to_owned() };
    RateLimitDescriptor { entries: pairs.iter().map(entry).collect(), ..Default::default() }
}

fn login(address: &str) -> RateLimitDescriptor {
    descriptor(&[("path", "/login"), ("remote_address", address)])
}

fn api(address: &str) -> RateLimitDescriptor {
    descriptor(&[("path", "/api/seats"), ("remote_address", address)])
}

async fn ask(room: &Room, cost: u32, descriptors: Vec<RateLimitDescriptor>) -> RateLimitResponse {
    let request = request(cost, descriptors);
    room.rate_limits().should_rate_limit(request).await.unwrap().into_inner()
}

fn request(cost: u32, descriptors: Vec<RateLimitDescriptor>) -> RateLimitRequest {
    RateLimitRequest { domain: "shop".to_owned(), descriptors, hits_addend: cost }
}

fn codes(answer: &RateLimitResponse) -> (i32, Vec<i32>) {
    (answer.overall_code, answer.statuses.iter().map(|status| status.code).collect())
}

fn header<'a>(answer: &'a RateLimitResponse, name: &str) -> Option<&'a str> {
    let headers = answer.response_headers_to_add.iter();
    headers.filter(|header| header.key == name).map(|header| &*header.value).next()
}

/// What admission says of the same counter.
async fn remaining(room: &Room, limit: &str, key: &str) -> u64 {
    let url = format!("{}/v1/limits/{limit}/check", room.anteroom.url("service"));
    let body = json!({ "key": key, "cost": 0 });
    let answer = reqwest::Client::new().post(url).json(&body).send().await.unwrap();
    answer.json::<serde_json::Value>().await.unwrap()["remaining"].as_u64().unwrap()
}

#[tokio::test]
async fn promise_07_a_limit_is_reached_exactly_and_agrees_with_the_api() {
    let room = Room::start(LIMITS).await;
    for left in [2, 1, 0] {
        let answer = ask(&room, 0, vec![login("203.0.113.7")]).await;
        assert_eq!(codes(&answer), (OK, vec![OK]));
        let status = &answer.statuses[0];
        assert_eq!(status.limit_remaining, left);
        assert_eq!(u64::from(left), remaining(&room, "login", "203.0.113.7").await);
        let limit = status.current_limit.as_ref().unwrap();
        assert_eq!((limit.name.as_str(), limit.requests_per_unit, limit.unit), ("login", 3, 2));
        assert!(status.duration_until_reset.as_ref().unwrap().seconds <= 60);
        assert_eq!(header(&answer, "ratelimit-policy"), Some("\"login\";q=3;w=60"));
        let rest = header(&answer, "ratelimit").unwrap();
        assert!(rest.starts_with(&format!("\"login\";r={left};t=")), "{rest}");
        assert_eq!(header(&answer, "retry-after"), None);
    }
    let refused = ask(&room, 0, vec![login("203.0.113.7")]).await;
    assert_eq!(codes(&refused), (OVER_LIMIT, vec![OVER_LIMIT]));
    assert!(header(&refused, "retry-after").is_some());
    assert_eq!(codes(&ask(&room, 0, vec![login("203.0.113.8")]).await).0, OK, "another key");
    let checks =
        |outcome| format!("anteroom_limit_checks_total{{limit=\"login\",outcome=\"{outcome}\"}}");
    assert_eq!(room.envoy.metric(&checks("allowed")).await, Some(4.0));
    assert_eq!(room.envoy.metric(&checks("refused")).await, Some(1.0));
}

#[tokio::test]
async fn descriptors_of_one_group_are_checked_all_or_none() {
    let room = Room::start(LIMITS).await;
    let both = || vec![login("203.0.113.7"), api("203.0.113.7")];
    for _ in 0..3 {
        assert_eq!(codes(&ask(&room, 0, both()).await), (OK, vec![OK, OK]));
    }
    // The first is used up, so the second takes nothing.
    assert_eq!(codes(&ask(&room, 0, both()).await), (OVER_LIMIT, vec![OVER_LIMIT, OK]));
    assert_eq!(remaining(&room, "api", "203.0.113.7").await, 2);
    // Of other groups the earlier stay counted, and the later are not checked.
    let groups = vec![api("203.0.113.7"), login("203.0.113.7"), api("203.0.113.9")];
    let answer = ask(&room, 0, groups).await;
    assert_eq!(answer.overall_code, OVER_LIMIT);
    assert_eq!(remaining(&room, "api", "203.0.113.7").await, 2, "one group with the second");
    let apart = vec![api("203.0.113.8"), login("203.0.113.7"), api("203.0.113.9")];
    assert_eq!(codes(&ask(&room, 0, apart).await), (OVER_LIMIT, vec![OK, OVER_LIMIT, OK]));
    assert_eq!(remaining(&room, "api", "203.0.113.8").await, 4);
    assert_eq!(remaining(&room, "api", "203.0.113.9").await, 5);
    // Two paths of one tenant are two counters of one group.
    let tenant = |path| descriptor(&[("tenant", "acme"), ("path", path)]);
    assert_eq!(codes(&ask(&room, 5, vec![tenant("/a")]).await).0, OK);
    let more = ask(&room, 0, vec![tenant("/b"), tenant("/a")]).await;
    assert_eq!(codes(&more), (OVER_LIMIT, vec![OK, OVER_LIMIT]));
    assert_eq!(more.statuses[0].limit_remaining, 5, "all or none");
}

#[tokio::test]
async fn the_cost_is_that_of_the_descriptor_or_of_the_request() {
    let room = Room::start(LIMITS).await;
    assert_eq!(codes(&ask(&room, 4, vec![api("203.0.113.7")]).await).0, OK);
    let own = |value| RateLimitDescriptor {
        hits_addend: Some(UInt64Value { value }),
        ..api("203.0.113.7")
    };
    assert_eq!(codes(&ask(&room, 4, vec![own(0)]).await).0, OK);
    assert_eq!(remaining(&room, "api", "203.0.113.7").await, 1);
    for (cost, descriptor) in [(6, api("203.0.113.9")), (1, own(u64::MAX))] {
        assert_eq!(codes(&ask(&room, cost, vec![descriptor]).await).0, OVER_LIMIT);
    }
    assert_eq!(remaining(&room, "api", "203.0.113.9").await, 5, "nothing is taken");
    let log = |key| vec![descriptor(&[("log", key)])];
    assert_eq!(codes(&ask(&room, 100, log("a")).await).0, OK);
    assert_eq!(codes(&ask(&room, 101, log("a")).await).0, OVER_LIMIT);
    // One counter named twice costs twice.
    let twice = ask(&room, 0, vec![api("203.0.113.5"), api("203.0.113.5")]).await;
    assert_eq!(codes(&twice), (OK, vec![OK, OK]));
    assert_eq!(remaining(&room, "api", "203.0.113.5").await, 3);
    // A limit in shadow refuses nothing, and frees no other limit of the call.
    let shadow = |value| descriptor(&[("shadow", value)]);
    let dear = ask(&room, 9, vec![shadow("x"), shadow("y")]).await;
    assert_eq!(codes(&dear), (OK, vec![OK, OK]));
}

/// The `log` limits of a call share 100 units.
#[tokio::test]
async fn a_log_in_shadow_takes_no_units_from_one_that_refuses() {
    let of = |name: &str, shadow: bool| {
        format!(
            "[limits.{name}]\nalgorithm = \"log\"\nlimit = 100\nwindow = \"1m\"\nshadow = {shadow}\n\
             [[envoy.descriptors]]\ndomain = \"shop\"\nentries = [{{ key = \"{name}\" }}]\n\
             limit = \"{name}\"\n"
        )
    };
    let room = Room::start(&[of("watched", true), of("log", false)].concat()).await;
    let both = || vec![descriptor(&[("watched", "x")]), descriptor(&[("log", "x")])];
    assert_eq!(codes(&ask(&room, 60, both()).await), (OK, vec![OK, OK]));
    assert_eq!(remaining(&room, "log", "x").await, 40);
    assert_eq!(codes(&ask(&room, 60, both()).await).0, OVER_LIMIT);
}

/// A group that is the same as the key is the group of a descriptor without one.
#[tokio::test]
async fn promise_07_one_counter_that_two_descriptors_name_in_two_ways_counts_twice() {
    let room = Room::start(LIMITS).await;
    let named = || {
        let in_group = descriptor(&[("tenant", "203.0.113.7"), ("user", "203.0.113.7")]);
        vec![login("203.0.113.7"), in_group]
    };
    assert_eq!(codes(&ask(&room, 0, named()).await), (OK, vec![OK, OK]));
    assert_eq!(remaining(&room, "login", "203.0.113.7").await, 1);
    let refused = ask(&room, 0, named()).await;
    assert_eq!(codes(&refused), (OVER_LIMIT, vec![OVER_LIMIT, OVER_LIMIT]));
}

/// However many groups there are, one call lasts as long as one.
#[tokio::test]
async fn the_time_is_for_the_whole_request() {
    let room = Room::start(&format!("[envoy]\nrequest_timeout = \"500ms\"\n{LIMITS}")).await;
    assert_eq!(codes(&ask(&room, 0, vec![api("203.0.113.1")]).await).0, OK);
    room.anteroom.deployment.redis.freeze();
    let groups = (0..40).map(|at| descriptor(&[("open", &at.to_string())])).collect();
    let began = Instant::now();
    assert_eq!(codes(&ask(&room, 0, groups).await).0, OK, "as on_store_error says");
    assert!(began.elapsed() < Duration::from_secs(10), "40 groups at 500 ms are 20 s");
}

/// A caller that stops waiting sooner gets a decision, too.
#[tokio::test]
async fn a_callers_deadline_ends_in_a_decision() {
    let room = Room::start(&format!("[envoy]\nrequest_timeout = \"30s\"\n{LIMITS}")).await;
    room.anteroom.deployment.redis.freeze();
    let mut request = tonic::Request::new(request(0, vec![descriptor(&[("open", "x")])]));
    request.set_timeout(CALLER_WAITS);
    let answer = room.rate_limits().should_rate_limit(request).await.unwrap();
    assert_eq!(codes(&answer.into_inner()).0, OK, "as on_store_error says");
}

#[tokio::test]
async fn a_descriptor_without_a_limit_is_allowed_and_counted() {
    let room = Room::start(LIMITS).await;
    let answer = ask(&room, 0, vec![descriptor(&[("other", "x")]), login("203.0.113.7")]).await;
    assert_eq!(codes(&answer), (OK, vec![OK, OK]));
    assert_eq!(answer.statuses[0].current_limit, None);
    assert_eq!(codes(&ask(&room, 0, Vec::new()).await), (OK, vec![]));
    let unmatched = room.envoy.metric("anteroom_envoy_unmatched_descriptors_total").await;
    assert_eq!(unmatched, Some(1.0));
}

#[tokio::test]
async fn redis_down_follows_on_store_error_of_the_limit() {
    let mut room = Room::start(LIMITS).await;
    let of = |name| vec![descriptor(&[(name, "x")])];
    room.anteroom.deployment.redis.kill();
    room.envoy.until_metric("anteroom_store_up", |up| up == Some(0.0)).await;
    assert_eq!(codes(&ask(&room, 0, of("open")).await), (OK, vec![OK]));
    let closed = ask(&room, 0, of("closed")).await;
    assert_eq!(codes(&closed), (OVER_LIMIT, vec![OVER_LIMIT]));
    assert!(header(&closed, "retry-after").is_some());
    assert_eq!(header(&closed, "ratelimit"), None, "unknown");
}
