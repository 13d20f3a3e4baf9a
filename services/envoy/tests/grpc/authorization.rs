//! The gateway check.

use anteroom_testkit::{PATIENCE, until};
use reqwest::Method;

use crate::room::{CALLER_WAITS, Check, Room};

const QUEUE: &str = "[queues.shop]\ncapacity = 1\npublic_url = \"https://shop.example\"\n";

#[tokio::test]
async fn promise_06_a_visitor_passes_with_an_active_place_only() {
    let room = Room::start(QUEUE).await;
    let without = room.check(Check::of("shop")).await;
    assert_eq!(
        (without.status(), without.header("x-anteroom-refusal")),
        (401, Some("token_missing"))
    );
    assert_eq!(without.body()["code"], "token_missing");
    assert_eq!(without.header("cache-control"), Some("no-store"));
    let named = room.check(Check::of("shop").header("x-request-id", "of-envoy")).await;
    assert_eq!((named.status(), named.header("x-request-id")), (401, Some("of-envoy")));
    let page = "https://shop.example/queues/shop?return_to=%2Fseats";
    assert_eq!(without.header("x-anteroom-room"), Some(page));
    assert_eq!(without.metadata("refusal").as_deref(), Some("token_missing"));
    assert_eq!(room.check(Check::of("shop").token("art1.forged")).await.status(), 401);

    let (first, second) = (room.join().await, room.join().await);
    assert_eq!(room.call(Method::POST, "token/claim", &first).await.status(), 200);
    let passed = room.check(Check::of("shop").token(&first)).await;
    assert_eq!(passed.status(), 200);
    assert_eq!(passed.header("x-anteroom-visitor"), Some("1"));
    assert_eq!(passed.header("x-anteroom-visitor-kind"), Some("anonymous"));
    assert_eq!(passed.metadata("visitor").as_deref(), Some("1"));
    assert!(passed.header("x-anteroom-place").is_some_and(|handle| handle.len() == 40));
    let waiting = room.check(Check::of("shop").token(&second)).await;
    assert_eq!(
        (waiting.status(), waiting.header("x-anteroom-refusal")),
        (403, Some("not_admitted"))
    );
    assert!(waiting.header("retry-after").is_some());

    assert_eq!(room.call(Method::DELETE, "token", &first).await.status(), 204);
    let finished = room.check(Check::of("shop").token(&first)).await;
    assert_eq!(
        (finished.status(), finished.header("x-anteroom-refusal")),
        (403, Some("place_gone"))
    );
    until("the next visitor is called", PATIENCE, async || {
        room.call(Method::POST, "token/claim", &second).await.status() == 200
    })
    .await;
    assert_eq!(room.check(Check::of("shop").token(&second)).await.status(), 200);
    let answers =
        |answer| format!("anteroom_gate_answers_total{{answer=\"{answer}\",queue=\"shop\"}}");
    assert_eq!(room.envoy.metric(&answers("admitted")).await, Some(2.0));
    assert_eq!(room.envoy.metric(&answers("refused")).await, Some(5.0));
    let times = "anteroom_envoy_request_seconds_count{answer=\"denied\",method=\"check\"}";
    assert_eq!(room.envoy.metric(times).await, Some(5.0));
}

#[tokio::test]
async fn the_route_decides_whether_a_visitor_joins_and_is_redirected() {
    let room = Room::start(QUEUE).await;
    let page = |words| Check::of("shop").gate(words).header("sec-fetch-mode", "navigate");
    let redirected = room.check(page("redirect")).await;
    assert_eq!(redirected.status(), 302);
    let location = "https://shop.example/queues/shop?return_to=%2Fseats";
    assert_eq!(redirected.header("location"), Some(location));
    // The line is empty, so a visitor who joins passes at once.
    let joined = room.check(page("join, redirect")).await;
    assert_eq!(joined.status(), 200);
    let cookie = joined.cookie().unwrap();
    assert!(cookie.starts_with("__Host-anteroom_shop=art1."), "{cookie}");
    let second = room.check(page("join,redirect")).await;
    assert_eq!(second.status(), 302);
    assert!(second.cookie().is_some(), "the only proof of the place");
    // A client sets headers, and no option.
    let client = Check::of("shop").header("x-anteroom-gate", "join,redirect");
    assert_eq!(room.check(client.header("sec-fetch-mode", "navigate")).await.status(), 401);
    assert_eq!(room.check(page("join").method("POST")).await.status(), 401);
    assert_eq!(room.check(page("join").method("not a method")).await.status(), 401);
}

#[tokio::test]
async fn a_check_without_a_known_queue_is_denied_and_logged() {
    let room = Room::start(QUEUE).await;
    for check in [Check::of("other"), Check::of("shop").without_extensions()] {
        let denied = room.check(check).await;
        let refusal = denied.header("x-anteroom-refusal");
        assert_eq!((denied.status(), refusal), (403, Some("unknown_queue")));
    }
    assert_eq!(room.envoy.logged("names no configured queue"), 1, "not a line for each");
}

#[tokio::test]
async fn the_service_gets_no_token_and_no_header_of_a_client() {
    let room = Room::start(QUEUE).await;
    let token = room.join().await;
    assert_eq!(room.call(Method::POST, "token/claim", &token).await.status(), 200);
    let check = Check::of("shop")
        .token(&token)
        .header("cookie", &format!("a=b; __Host-anteroom_shop={token}; c=d"))
        .header("x-anteroom-visitor", "evil")
        .header("x-anteroom-room", "evil")
        .header("x-original-url", "/other")
        .header("authorization", "Basic own");
    let passed = room.check(check).await;
    assert_eq!(passed.status(), 200);
    assert_eq!(passed.header("x-anteroom-visitor"), Some("1"));
    assert_eq!(passed.header("cookie"), Some("a=b; c=d"));
    assert_eq!(passed.removed(), ["x-anteroom-room", "x-anteroom-token", "x-original-url"]);
    // A value is what is between the white space, which HTTP/2 does not take away.
    let padded = Check::of("shop").header("authorization", &format!("\tBearer {token} "));
    assert_eq!(room.check(padded).await.removed(), ["authorization"]);
    let by_cookie = Check::of("shop").header("cookie", &format!("__Host-anteroom_shop={token}"));
    assert_eq!(room.check(by_cookie).await.removed(), ["cookie"]);
}

#[tokio::test]
async fn redis_down_follows_on_store_error() {
    let rules = [("hold", [200, 403]), ("closed", [403, 403]), ("open", [200, 200])];
    let queue = |(rule, _): &(&str, _)| {
        let name = if *rule == "hold" { "shop".to_owned() } else { (*rule).to_owned() };
        let more = if *rule == "open" { "open_rate = \"9/1s\"\nopen_for = \"60s\"\n" } else { "" };
        format!("[queues.{name}]\ncapacity = 9\non_store_error = \"{rule}\"\n{more}")
    };
    let mut room = Room::start(&rules.iter().map(queue).collect::<String>()).await;
    let names = ["shop", "closed", "open"];
    let mut tokens = Vec::new();
    for name in names {
        let token = room.anteroom.admission.join(name).await;
        let url = format!("{}/v1/queues/{name}/token/claim", room.anteroom.url("public"));
        let claim = reqwest::Client::new().post(url).header("x-anteroom-token", &token);
        assert_eq!(claim.send().await.unwrap().status(), 200);
        assert_eq!(room.check(Check::of(name).token(&token)).await.status(), 200);
        tokens.push(token);
    }
    room.anteroom.deployment.redis.kill();
    room.envoy.until_metric("anteroom_store_up", |up| up == Some(0.0)).await;
    for ((name, token), (rule, [known, unknown])) in names.into_iter().zip(&tokens).zip(rules) {
        assert_eq!(room.check(Check::of(name).token(token)).await.status(), known, "{rule}");
        // Without a token, a visitor of `hold` or `closed` needs no Redis to be refused.
        let stranger = room.check(Check::of(name)).await.status();
        assert_eq!(stranger, if unknown == 200 { 200 } else { 401 }, "{rule}");
    }
}

/// The time for a call ends before that for Redis.
#[tokio::test]
async fn a_redis_that_is_too_slow_follows_on_store_error() {
    let room = Room::start("[queues.shop]\ncapacity = 1\non_store_error = \"hold\"\n").await;
    let (known, waits) = (room.join().await, room.join().await);
    assert_eq!(room.call(Method::POST, "token/claim", &known).await.status(), 200);
    assert_eq!(room.check(Check::of("shop").token(&known)).await.status(), 200);
    room.anteroom.deployment.redis.freeze();
    assert_eq!(room.check(Check::of("shop").token(&known)).await.status(), 200);
    let refused = room.check(Check::of("shop").token(&waits)).await;
    let refusal = refused.header("x-anteroom-refusal");
    assert_eq!((refused.status(), refusal), (403, Some("store_unavailable")));
}

/// A caller that stops waiting sooner gets a decision, too.
#[tokio::test]
async fn a_callers_deadline_ends_in_a_decision() {
    let room = Room::start(&format!("{QUEUE}[envoy]\nrequest_timeout = \"30s\"\n")).await;
    let waits = room.join().await;
    room.anteroom.deployment.redis.freeze();
    let refused = room.check(Check::of("shop").token(&waits).caller_waits(CALLER_WAITS)).await;
    let refusal = refused.header("x-anteroom-refusal");
    assert_eq!((refused.status(), refusal), (403, Some("store_unavailable")));
}

/// A crowd is no outage.
#[tokio::test]
async fn a_short_time_for_calls_opens_no_queue_while_redis_is_up() {
    let open = "[queues.shop]\ncapacity = 1\non_store_error = \"open\"\nopen_rate = \
                \"1000/1s\"\nopen_for = \"60s\"\n";
    let tight = "[envoy]\nrequest_timeout = \"10ms\"\n";
    let room = Room::start(&format!("{open}{tight}")).await;
    let (_inside, waits) = (room.join().await, room.join().await);
    room.anteroom.deployment.redis.freeze();
    let late = room.check(Check::of("shop").token(&waits)).await;
    assert_eq!(
        (late.status(), late.header("x-anteroom-refusal")),
        (403, Some("store_unavailable"))
    );
}

/// A raised limit on messages lets more headers in than a map of headers takes.
#[tokio::test]
async fn too_many_headers_are_an_answer_and_no_error() {
    let room = Room::start(&format!("{QUEUE}[envoy]\nmax_message_bytes = 4_194_304\n")).await;
    let many = (0..30_000).fold(Check::of("shop"), |check, at| check.header(&format!("h{at}"), ""));
    assert_eq!(room.check(many).await.status(), 401);
}

#[tokio::test]
async fn the_configuration_is_reloaded() {
    let room = Room::start(QUEUE).await;
    assert_eq!(room.check(Check::of("later")).await.status(), 403);
    room.anteroom.deployment.write(&format!("{QUEUE}[queues.later]\ncapacity = 1\n"));
    until("the new queue is known", PATIENCE, async || {
        room.check(Check::of("later")).await.status() == 401
    })
    .await;
}
