//! What both services export, under which names, and that no caller can fill a label.

use std::collections::BTreeSet;

use anteroom_testkit::{PATIENCE, until};
use reqwest::Method;
use serde_json::json;

use crate::room::{ONE, Room};

pub const BATCHES: &str = "[queues.:name]\nbatch = 7\ninterval = \"20s\"\n";

/// Every series: the line without its value.
fn series(metrics: &str) -> BTreeSet<String> {
    let lines = metrics.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| Some(line.rsplit_once(' ')?.0.to_owned())).collect()
}

/// A busy machine may cost a call or two at the start.
fn success_ratio(metrics: &str, service: &str) -> Option<f64> {
    let name = format!("anteroom_success_ratio{{service=\"{service}\"}} ");
    metrics.lines().find_map(|line| line.strip_prefix(&name)?.parse().ok())
}

#[tokio::test]
async fn both_services_export_queue_depth_and_success_ratio() {
    let room = Room::shared(ONE).await;
    let first = room.join().await.token();
    room.join().await.is(201);
    room.join().await.is(201);
    room.authorize(&first).await.is(200);
    for (port, service) in [("metrics", "admission"), ("scheduler", "scheduler")] {
        until("the gauges show it", PATIENCE, async || {
            // Requests while the services started may have failed.
            room.get("/v1/queues/:name").send().await.is(200);
            let metrics = room.metrics(port).await;
            [
                "anteroom_queue_depth{queue=\":name\"} 2",
                "anteroom_queue_ready{queue=\":name\"} 0",
                "anteroom_queue_active{queue=\":name\"} 1",
                "anteroom_queue_away{queue=\":name\"} 0",
                "anteroom_queue_capacity{queue=\":name\"} 1",
            ]
            .iter()
            .all(|line| metrics.lines().any(|other| other == room.text(line)))
                && success_ratio(&metrics, service).is_some_and(|ratio| ratio > 0.5)
        })
        .await;
    }
}

#[tokio::test]
async fn each_metric_has_the_name_that_dashboards_know() {
    let room = Room::shared(ONE).await;
    let first = room.join().await.token();
    let second = room.join().await.token();
    room.authorize(&first).await.is(200);
    room.authorize(&second).await.is(403);
    room.get("/v1/queues/:name/token").token(&second).send().await.is(200);
    assert_eq!(
        room.count("anteroom_queue_looks_total{queue=\":name\"}").await,
        2,
        "the first is inside"
    );
    room.leave(&first).await.is(204);
    room.becomes(&second, "ready").await;
    let both = [
        "queue_promoted_total{queue=\":name\"",
        "queue_gone_total{queue=\":name\",reason=\"",
        "queue_wait_seconds_bucket{queue=\":name\"",
        "store_call_seconds_bucket{operation=\"queue.",
        "store_errors_total{kind=\"unknown\"",
        "operations_total{operation=\"queue.snapshot\",outcome=\"ok\"",
        "build_info{service=\"",
    ];
    let admission = [
        "queue_joined_total{queue=\":name\"",
        "http_request_seconds_bucket{method=\"POST\",port=\"public\",route=\"/v1/queues/{queue}/tokens\",\
         status=\"201\"",
        "operations_total{operation=\"queue.join\",outcome=\"ok\"",
        "store_batch_items_bucket{operation=\"queue.",
        "gate_answers_total{answer=\"admitted\",queue=\":name\"",
    ];
    let scheduler = [
        "promotion_lag_seconds",
        "tick_duration_seconds_bucket{",
        "tick_errors_total{",
        "queue_eta_error_ratio",
    ];
    for (port, own) in [("metrics", &admission[..]), ("scheduler", &scheduler)] {
        // The scheduler comes to it in its own time.
        until("a snapshot was read", PATIENCE, async || {
            room.metrics(port).await.contains("operation=\"queue.snapshot\"")
        })
        .await;
        let metrics = room.metrics(port).await;
        for name in both.iter().chain(own) {
            let name = room.text(&format!("\nanteroom_{name}"));
            assert!(metrics.contains(&name), "{port}: {name}\n{metrics}");
        }
        assert!(metrics.contains("\nprocess_resident_memory_bytes "), "{port}");
    }
    until("one promotion is counted somewhere", PATIENCE, async || {
        let (one, two) = (room.metrics("metrics").await, room.metrics("scheduler").await);
        let promoted = room.text("anteroom_queue_promoted_total{queue=\":name\"} 1");
        one.contains(&promoted) && two.contains(&promoted)
    })
    .await;
    // A process has no series of what it never does.
    for (port, operation) in [("metrics", "queue.promote"), ("scheduler", "queue.join")] {
        let metrics = room.metrics(port).await;
        assert!(!metrics.contains(&format!("operation=\"{operation}\"")), "{port}: {operation}");
    }
    let completed = "anteroom_queue_gone_total{queue=\":name\",reason=\"completed\"} 1";
    assert!(room.metrics("metrics").await.contains(&room.text(completed)));
}

#[tokio::test]
async fn the_state_and_the_rules_in_force_are_shown() {
    let room = Room::shared(BATCHES).await;
    let becomes = async |lines: &[&str]| {
        for port in ["metrics", "scheduler"] {
            until("the gauges show it", PATIENCE, async || {
                let metrics = room.metrics(port).await;
                lines.iter().all(|line| metrics.lines().any(|other| other == room.text(line)))
            })
            .await;
        }
    };
    becomes(&[
        "anteroom_queue_state{queue=\":name\",state=\"open\"} 1",
        "anteroom_queue_state{queue=\":name\",state=\"paused\"} 0",
        "anteroom_queue_state{queue=\":name\",state=\"closed\"} 0",
        "anteroom_queue_state{queue=\":name\",state=\"bypass\"} 0",
        "anteroom_queue_batch{queue=\":name\"} 7",
        "anteroom_queue_interval_seconds{queue=\":name\"} 20",
    ])
    .await;
    let patch = room.call("service", Method::PATCH, "/v1/admin/queues/:name");
    let rules = serde_json::json!({ "state": "paused", "batch": 3, "interval_ms": 1_500 });
    patch.json(rules).send().await.is(200);
    becomes(&[
        "anteroom_queue_state{queue=\":name\",state=\"open\"} 0",
        "anteroom_queue_state{queue=\":name\",state=\"paused\"} 1",
        "anteroom_queue_batch{queue=\":name\"} 3",
        "anteroom_queue_interval_seconds{queue=\":name\"} 1.5",
    ])
    .await;
}

/// The joins of a queue that got no place for one reason.
async fn refused(room: &Room, queue: &str, reason: &str) -> u64 {
    let labels = format!("{{queue=\"{queue}\",reason=\"{reason}\"}}");
    room.count(&format!("anteroom_queue_joins_refused_total{labels}")).await
}

#[tokio::test]
async fn joins_that_got_no_place_are_counted_by_reason() {
    const REASONS: [&str; 5] =
        ["line_full", "redis_full", "closed", "address_places", "address_rate"];
    let queues = "[queues.:name]\ncapacity = 1\n\
                  [queues.line]\ncapacity = 1\nmax_waiting = 1\n\
                  [queues.shut]\ncapacity = 9\n\
                  [queues.places]\ncapacity = 9\nplaces_per_address = 1\n\
                  [queues.rate]\ncapacity = 9\njoins_per_address = \"1/1h\"\n";
    let room = Room::start(queues).await;
    let join =
        async |queue: &str| room.post(&format!("/v1/queues/{queue}/tokens")).send().await.status;
    let gate = async |queue: &str| {
        let path = format!("/v1/queues/{queue}/authorize?join=1");
        room.get(&path).send().await.status
    };
    let form = async |queue: &str| {
        let form = "application/x-www-form-urlencoded";
        let page = room.post(&format!("/queues/{queue}")).browser();
        page.body(form, "step=join").send().await.status
    };
    let backend = async |queue: &str| {
        room.post_json(&format!("/v1/queues/{queue}/tokens"), json!({ "visitor_id": "a visitor" }))
            .await
            .status
    };
    for queue in ["concert", "line", "shut", "places", "rate"] {
        for reason in REASONS {
            assert_eq!(refused(&room, queue, reason).await, 0, "{queue}: {reason}");
        }
    }
    room.patch_json("/v1/admin/queues/shut", json!({ "state": "closed" })).await.is(200);
    assert_eq!([join("line").await, join("line").await], [201, 201]);
    assert_eq!([join("places").await, join("rate").await], [201, 201]);
    let memory = async |bytes: &str| {
        let redis = &room.anteroom.deployment.redis;
        redis.run::<()>(&["CONFIG", "SET", "maxmemory", bytes]).await;
    };
    for (queue, reason, status, by_backend) in [
        ("line", "line_full", 503, 503),
        ("shut", "closed", 503, 503),
        // A backend's join counts for no address.
        ("places", "address_places", 429, 201),
        ("rate", "address_rate", 429, 201),
        ("concert", "redis_full", 503, 503),
    ] {
        if reason == "redis_full" {
            memory("1").await;
        }
        assert_eq!(join(queue).await, status, "{queue}");
        assert_eq!(gate(queue).await, 403, "{queue}");
        assert_eq!(form(queue).await, status, "{queue}");
        assert_eq!(backend(queue).await, by_backend, "{queue}");
        let expected = if by_backend == 201 { 3 } else { 4 };
        for other in REASONS {
            let expected = if other == reason { expected } else { 0 };
            assert_eq!(refused(&room, queue, other).await, expected, "{queue}: {other}");
        }
    }
    memory("0").await;
}

#[tokio::test]
async fn nothing_that_a_caller_sends_makes_a_series() {
    let room = Room::start(ONE).await;
    let strange = async |name: &str| {
        for path in [
            format!("/{name}"),
            format!("/v1/queues/{name}"),
            format!("/v1/queues/{name}/token"),
            format!("/v1/queues/:name/{name}"),
            format!("/queues/{name}"),
            format!("/v1/queues/{name}/authorize/{name}"),
            format!("/v1/queues/:name/authorize/{name}?{name}={name}"),
        ] {
            for method in ["GET", "POST", "BREW"] {
                let method = Method::from_bytes(method.as_bytes()).expect("a method");
                let call = room.call("public", method.clone(), &path).token(name);
                call.header("x-request-id", name).header("host", name).send().await;
                room.call("service", method, &path).key(name).send().await;
            }
        }
    };
    strange("first-strange-name").await;
    let before = series(&room.metrics("metrics").await);
    for number in 0..5 {
        strange(&format!("strange-name-{number}")).await;
    }
    let after = series(&room.metrics("metrics").await);
    let new: Vec<_> = after.difference(&before).collect();
    assert!(new.is_empty(), "{new:?}");
    assert!(after.iter().all(|line| !line.contains("strange-name") && !line.contains("BREW")));
    assert!(after.len() < 3_000, "{} series", after.len());
    let unmatched = "http_request_seconds_count{method=\"other\",port=\"service\",route=\"unmatched\",status=\"404\"}";
    assert!(after.iter().any(|line| line.contains(unmatched)));
}
