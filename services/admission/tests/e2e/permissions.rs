//! The services as a user of the store that may do no more than `docs/how-to/redis.md` says, and
//! less.

use anteroom_testkit::{PATIENCE, PERMISSIONS, Process, Redis, Service, binary, until};
use reqwest::Method;
use serde_json::json;

use crate::local_places::redis_items;
use crate::room::Room;

const QUEUES: &str = "[queues.concert]\ncapacity = 1\nlocal_answers = true\n";
const ANN: [(&str, &str); 2] =
    [("ANTEROOM_STORE__USERNAME", "ann"), ("ANTEROOM_STORE__PASSWORD", "pass")];
const TOKEN: &str = "/v1/queues/concert/token";
const ADMIN: &str = "/v1/admin/queues/concert";
const REFUSED: &str = "Redis refuses this service";

async fn room_of(rules: &[String]) -> Room {
    room_with(rules, QUEUES).await
}

async fn room_with(rules: &[String], queues: &str) -> Room {
    let redis = Redis::start().await;
    redis.user("ann", rules).await;
    Room::start_on(redis, queues, &ANN).await
}

/// The series of a family that are not 0.
fn not_zero<'a>(metrics: &'a str, family: &str) -> Vec<&'a str> {
    let of_family = metrics.lines().filter(|line| line.starts_with(family));
    of_family.filter(|line| !line.ends_with(" 0")).collect()
}

#[tokio::test]
async fn the_whole_journey_needs_no_more_than_is_documented() {
    let room = room_of(&PERMISSIONS).await;
    let (first, second) = (room.join().await.token(), room.join().await.token());
    let ask =
        |method, path: &str, token: &str| room.call("public", method, path).token(token).send();
    // A queue that was just created withholds its slots for a moment, with local_answers.
    room.becomes(&first, "ready").await;
    ask(Method::POST, &format!("{TOKEN}/claim"), &first).await.is(200);
    ask(Method::POST, &format!("{TOKEN}/renew"), &first).await.is(200);
    assert_eq!(ask(Method::GET, TOKEN, &second).await.is(200).json()["status"], "waiting");
    until("the gate answers by itself", PATIENCE, async || {
        room.authorize(&first).await.is(200);
        let series = "anteroom_gate_answers_total{answer=\"local\",queue=\"concert\"}";
        room.count(series).await > 0
    })
    .await;
    ask(Method::DELETE, TOKEN, &first).await.is(204);
    room.becomes(&second, "ready").await;
    let passed = room.authorize(&second).await;
    let place = format!("/v1/queues/concert/places/{}", passed.is(200).header("x-anteroom-place"));

    let operate = |method, path: &str| room.call("service", method, path);
    operate(Method::POST, &format!("{place}/renew")).send().await.is(200);
    let more = json!({ "capacity": 2, "until": "2199-01-01T00:00:00Z" });
    operate(Method::PATCH, ADMIN).json(more).send().await.is(200);
    let joined = json!({ "visitor_id": "ana" });
    let third = operate(Method::POST, "/v1/queues/concert/tokens").json(joined).send().await;
    let third = third.is(201).token();
    operate(Method::GET, &format!("{ADMIN}/places/3")).send().await.is(200);
    operate(Method::DELETE, &format!("{ADMIN}/places/3")).send().await.is(204);
    ask(Method::GET, TOKEN, &third).await.refuses(410, "place_gone");
    operate(Method::DELETE, &place).send().await.is(204);
    operate(Method::GET, ADMIN).send().await.is(200);
    operate(Method::POST, &format!("{ADMIN}/reset")).send().await.is(202);
    ask(Method::GET, TOKEN, &second).await.refuses(410, "place_gone");
    room.get("/v1/queues/concert").send().await.is(200);
    for port in ["metrics", "scheduler"] {
        let metrics = room.metrics(port).await;
        for family in [
            "anteroom_store_errors_total{kind=\"forbidden\"",
            "anteroom_store_errors_total{kind=\"reply\"",
        ] {
            assert!(metrics.contains(family), "{port}: {family}");
            assert_eq!(not_zero(&metrics, family), Vec::<&str>::new(), "{port}");
        }
    }
}

#[tokio::test]
async fn without_info_the_board_is_there_and_redis_answers_each_poll() {
    let rules: Vec<_> = PERMISSIONS.iter().filter(|rule| *rule != "+info").cloned().collect();
    let room = room_of(&rules).await;
    let mut last = String::new();
    for _ in 0..5 {
        last = room.join().await.token();
    }
    let admission = &room.anteroom.admission;
    room.get("/v1/queues/concert/board").send().await.is(200);
    for _ in 0..5 {
        let before = redis_items(admission).await;
        let place = room.call("public", Method::GET, TOKEN).token(&last).send().await;
        assert_eq!(place.is(200).json()["status"], "waiting");
        assert_eq!(redis_items(admission).await, before + 1);
    }
    let errors = room.metrics("metrics").await;
    assert_eq!(not_zero(&errors, "anteroom_store_errors_total"), Vec::<&str>::new());
}

#[tokio::test]
async fn a_service_that_may_not_do_its_work_ends_at_the_start_and_says_why() {
    let redis = Redis::start().await;
    let rules =
        PERMISSIONS.iter().map(|rule| if rule == "~anteroom:*" { "~other:*" } else { rule });
    redis.user("ann", &rules.map(str::to_owned).collect::<Vec<_>>()).await;
    redis.run::<()>(&["ACL", "SETUSER", "ann", "-zadd", "-evalsha"]).await;
    let directory = tempfile::tempdir().expect("a folder");
    let file = directory.path().join("anteroom.toml").display().to_string();
    std::fs::write(&file, QUEUES).expect("a file");
    let url = redis.url();
    let mut env = vec![
        ("ANTEROOM_STORE__URL", &*url),
        ("ANTEROOM_ADMISSION__LISTEN", "127.0.0.1:0"),
        ("ANTEROOM_ADMISSION__SERVICE_LISTEN", "127.0.0.1:0"),
        ("ANTEROOM_ADMISSION__METRICS_LISTEN", "127.0.0.1:0"),
        ("ANTEROOM_SCHEDULER__METRICS_LISTEN", "127.0.0.1:0"),
        ("ANTEROOM_LOG__FORMAT", "json"),
    ];
    env.extend(ANN);
    for name in ["anteroom-admission", "anteroom-scheduler"] {
        let mut service = Process::spawn(binary(name), ["--config", &file], &env);
        let status = service.exit(PATIENCE).await;
        let log = service.stdout();
        assert_eq!(status.code(), Some(77), "{name}: {log}");
        let errors: Vec<_> = log.lines().filter(|line| line.contains("\"ERROR\"")).collect();
        let missing = "no permission for +evalsha ~anteroom:*";
        assert!(matches!(errors[..], [line] if line.contains(missing)), "{name}: {log}");
    }
}

#[tokio::test]
async fn a_permission_that_is_taken_away_is_named_in_log_and_metric() {
    for command in ["evalsha", "zadd"] {
        takes_away(command).await;
    }
}

/// A command of the services, or one that only scripts run.
async fn takes_away(command: &str) {
    let room = room_with(&PERMISSIONS, &format!("{QUEUES}claim_ttl = \"5s\"\n")).await;
    let both = [&room.anteroom.admission, &room.anteroom.scheduler];
    for service in both {
        // One that still looks for its store would end instead.
        service.until_ready().await;
    }
    // Two for one slot: when the turn of one is over, the scheduler has the other to promote.
    room.join().await.is(201);
    room.join().await.is(201);
    let acl = async |rule: &str| {
        room.anteroom.deployment.redis.run::<()>(&["ACL", "SETUSER", "ann", rule]).await;
    };
    acl(&format!("-{command}")).await;
    // In the moment until it is found out, too, there is no other word.
    for _ in 0..5 {
        let refused = room.join().await;
        assert!(matches!(refused.status, 503 | 504), "{}: {}", refused.status, refused.json());
    }
    for service in both {
        let forbidden = "anteroom_store_errors_total{kind=\"forbidden\"}";
        service.until_metric(forbidden, |it| it > Some(0.0)).await;
    }
    let named = |service: &Service| {
        let log = service.process.stdout();
        let lines = log.lines().filter(|line| line.contains(REFUSED)).map(str::to_owned);
        lines.collect::<Vec<_>>()
    };
    until("both say so", PATIENCE, async || both.iter().all(|it| !named(it).is_empty())).await;
    room.join().await.refuses(503, "store_unavailable");
    acl(&format!("+{command}")).await;
    until("joins are taken again", PATIENCE, async || room.join().await.status == 201).await;
    for service in both {
        let lines = named(service);
        assert!(
            matches!(&lines[..], [line] if line.contains(&format!("no permission for +{command}"))),
            "{lines:?}"
        );
    }
}
