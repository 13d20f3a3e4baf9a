//! The choke point on a server that works: replies, scripts, addresses, credentials, metrics.

use anteroom_core::store::{Args, Config, Error, Repeat, Store, Warning};
use anteroom_testkit::{Log, PATIENCE, Redis, RedisBuilder, until, until_some};
use prometheus::Registry;
use redis::Value;

use crate::support::{
    ECHO, FAIL, LIST, SCRIPTS, add, echo, fresh, keys, open, open_in, opened, patient,
};

#[tokio::test]
async fn the_first_call_brings_the_script_and_each_later_one_is_one_evalsha() {
    let (redis, store) = fresh().await;
    for (text, evals) in [("hello", 1), ("again", 0)] {
        redis.forget_calls().await;
        assert_eq!(echo(&store, text).await, Ok(text.into()));
        assert_eq!((redis.evalsha_calls().await, redis.calls("eval").await), (1, evals));
    }
    let server: String = redis.run(&["INFO", "memory"]).await;
    // The own one, and that which looks for missing permissions.
    assert!(server.contains("number_of_cached_scripts:2\r\n"), "only scripts in use: {server}");
}

#[tokio::test]
async fn arguments_arrive_byte_by_byte() {
    let (_redis, store) = fresh().await;
    let bytes: Vec<u8> = (0..=255).collect();
    let args = Args::new().with(bytes.as_slice());
    let reply = store.call(&ECHO, &keys("x"), &args, Repeat::Never).await;
    assert_eq!(reply, Ok(Value::BulkString(bytes)));
}

#[tokio::test]
async fn forgotten_scripts_are_taught_again() {
    let (redis, store) = fresh().await;
    redis.forget_calls().await;
    for round in 1..=3 {
        redis.script_flush().await;
        // The second call of each round finds the script by its hash.
        for call in 1..=2 {
            let id = format!("{round}.{call}");
            let (total, runs) = add(&store, "t", &id, 1, Repeat::Never).await.unwrap();
            assert_eq!((total, runs), (2 * (round - 1) + call, 2 * (round - 1) + call));
        }
        assert_eq!(redis.calls("eval").await, u64::try_from(round).unwrap());
    }
}

#[tokio::test]
async fn scripts_may_vanish_while_many_calls_run() {
    let (redis, store) = fresh().await;
    let callers: Vec<_> = (0..8)
        .map(|caller| {
            let store = store.clone();
            tokio::spawn(async move {
                for call in 0..50 {
                    add(&store, "t", &format!("{caller}.{call}"), 1, Repeat::Never).await?;
                }
                Ok::<(), Error>(())
            })
        })
        .collect();
    for _ in 0..20 {
        redis.script_flush().await;
    }
    for caller in callers {
        caller.await.unwrap().unwrap();
    }
    assert_eq!(add(&store, "t", "last", 1, Repeat::Never).await, Ok((401, 401)));
}

#[tokio::test]
async fn a_failing_script_is_a_reply_error_and_harms_no_other() {
    let (redis, store) = fresh().await;
    redis.forget_calls().await;
    let failed = store.call(&FAIL, &keys("x"), &Args::new(), Repeat::IfUnknown).await;
    assert!(matches!(failed, Err(Error::Reply { operation: "test.fail", .. })), "{failed:?}");
    assert_eq!(redis.evalsha_calls().await, 1, "a mistake is not repeated");
    assert!(store.is_up());
    assert_eq!(echo(&store, "still here").await, Ok("still here".into()));
}

#[tokio::test]
async fn full_memory_is_reported() {
    let (redis, store) = fresh().await;
    redis.run::<Value>(&["CONFIG", "SET", "maxmemory", "1"]).await;
    let refused = add(&store, "t", "1", 1, Repeat::Never).await;
    assert_eq!(refused, Err(Error::Full));
    redis.run::<Value>(&["CONFIG", "SET", "maxmemory", "0"]).await;
    assert_eq!(add(&store, "t", "1", 1, Repeat::Never).await, Ok((1, 1)));
}

#[tokio::test]
async fn the_unix_socket_works() {
    let redis = Redis::start().await;
    let store = opened(&patient(redis.socket_url())).await;
    assert_eq!(echo(&store, "by socket").await, Ok("by socket".into()));
}

#[tokio::test]
async fn tls_works_with_an_authority_of_ones_own_only() {
    if !RedisBuilder::knows_tls().await {
        eprintln!("skipped: this server program was built without TLS");
        return;
    }
    let redis = Redis::builder().tls().start().await;
    let mut config = patient(redis.tls_url());
    config.ca_file = Some(redis.ca_file());
    let store = opened(&config).await;
    assert_eq!(echo(&store, "secret").await, Ok("secret".into()));

    config.ca_file = None;
    let untrusting = open(&config);
    let why = refusal(&untrusting, "certificate").await;
    assert!(!untrusting.is_up(), "{why}");
}

#[tokio::test]
async fn a_wrong_password_is_unavailable_with_the_reason_in_the_log() {
    let redis = Redis::builder().password("right-horse").start().await;
    let (log, _guard) = Log::of_thread();
    let mut config = patient(format!("redis://:wrong-mule@127.0.0.1:{}", redis.port()));
    let store = open(&config);
    refusal(&store, "WRONGPASS").await;
    let logged = log.text();
    let lines = logged.lines().filter(|line| line.contains("WARN")).count();
    assert!(logged.contains("Redis cannot be reached"), "{logged}");
    assert!(logged.contains("WRONGPASS"), "{logged}");
    assert!(!logged.contains("wrong-mule"), "{logged}");

    // Logged once, not at each attempt.
    until("more attempts", PATIENCE, || async { failed_attempts(&redis).await > 3 }).await;
    assert_eq!(log.text().lines().filter(|line| line.contains("WARN")).count(), lines);

    config.password = Some("right-horse".to_owned().into());
    let store = opened(&config).await;
    assert_eq!(echo(&store, "in").await, Ok("in".into()));
    assert!(!log.text().contains("right-horse"), "{}", log.text());
}

async fn failed_attempts(redis: &Redis) -> u64 {
    let stats: String = redis.run(&["INFO", "errorstats"]).await;
    stats
        .lines()
        .find_map(|line| line.strip_prefix("errorstat_WRONGPASS:count=")?.trim_end().parse().ok())
        .unwrap_or(0)
}

#[tokio::test]
async fn argv_is_never_logged() {
    let redis = Redis::start().await;
    let (log, _guard) = Log::of_thread();
    let store = opened(&patient(redis.url())).await;
    let args = Args::new().with("canary-9137");
    store.call(&LIST, &keys("x"), &args, Repeat::Never).await.unwrap();
    let args = Args::new().with("canary-9137");
    let _ = store.call(&FAIL, &keys("x"), &args, Repeat::Never).await;
    let logged = log.text();
    assert!(logged.contains("test.list"), "{logged}");
    assert!(!logged.contains("canary-9137"), "{logged}");
}

#[tokio::test]
async fn calls_are_measured() {
    let redis = Redis::start().await;
    let registry = Registry::new();
    let store = open_in(&registry, &patient(redis.url()));
    assert!(store.wait_up(PATIENCE).await);
    add(&store, "t", "1", 1, Repeat::Never).await.unwrap();
    let _ = store.call(&FAIL, &keys("x"), &Args::new(), Repeat::Never).await;
    let text = prometheus::TextEncoder::new().encode_to_string(&registry.gather()).unwrap();
    for line in [
        "anteroom_store_call_seconds_count{operation=\"test.add\"} 1",
        "anteroom_store_call_seconds_count{operation=\"test.fail\"} 1",
        "anteroom_operations_total{operation=\"test.add\",outcome=\"ok\"} 1",
        "anteroom_operations_total{operation=\"test.fail\",outcome=\"reply\"} 1",
        "anteroom_store_errors_total{kind=\"reply\"} 1",
        "anteroom_store_errors_total{kind=\"unknown\"} 0",
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
}

#[tokio::test]
async fn an_operation_has_series_from_its_first_use_on() {
    let redis = Redis::start().await;
    let registry = Registry::new();
    let store = open_in(&registry, &patient(redis.url()));
    assert!(store.wait_up(PATIENCE).await);
    let series = || prometheus::TextEncoder::new().encode_to_string(&registry.gather()).unwrap();
    assert!(!series().contains("operation="), "{}", series());
    add(&store, "t", "1", 1, Repeat::Never).await.unwrap();
    let used = series();
    assert!(
        used.contains("anteroom_operations_total{operation=\"test.add\",outcome=\"unknown\"} 0")
    );
    assert!(!used.contains("test.echo"), "{used}");
    assert!(!used.contains("anteroom_store_batch_items"), "nothing was batched: {used}");
}

#[tokio::test]
async fn the_server_is_checked() {
    let redis = Redis::builder().arg("--maxmemory-policy", "allkeys-lru").start().await;
    let store = opened(&patient(redis.url())).await;
    let report = store.check_server().await.unwrap();
    assert!(!report.version.is_empty());
    assert_eq!(report.warnings(), [Warning::Eviction, Warning::NotPersistent]);

    let redis = Redis::builder().durable().start().await;
    let store = opened(&patient(redis.url())).await;
    assert_eq!(store.check_server().await.unwrap().warnings(), []);
}

#[tokio::test]
async fn an_address_that_makes_no_sense_is_refused_by_name() {
    for url in ["http://localhost", "nonsense", "rediss://localhost/#insecure"] {
        let error = Store::open(&Config::new(url), &SCRIPTS, &Registry::new()).unwrap_err();
        assert_eq!(error.key, "store.url");
        assert!(error.to_string().contains("must be an address such as"), "{error}");
    }
    let secret = Config::new("http://:hush@localhost");
    let error = Store::open(&secret, &SCRIPTS, &Registry::new()).unwrap_err();
    assert!(!error.to_string().contains("hush"), "{error}");
}

/// Waits until calls are refused for a reason with these words, and returns it.
async fn refusal(store: &Store, words: &str) -> String {
    until_some(&format!("refused for {words:?}"), PATIENCE, || async {
        match echo(store, "x").await {
            Err(Error::Unavailable(why)) => why.contains(words).then_some(why),
            other => panic!("{other:?}"),
        }
    })
    .await
}

#[tokio::test]
async fn the_last_handle_closes_the_connection() {
    let (redis, store) = fresh().await;
    let by_tcp = || async {
        redis
            .run::<String>(&["CLIENT", "LIST"])
            .await
            .lines()
            .filter(|l| !l.contains(".sock:"))
            .count()
    };
    assert_eq!(by_tcp().await, 1);
    let second = store.clone();
    drop(store);
    assert_eq!(add(&second, "t", "1", 1, Repeat::Never).await, Ok((1, 1)));
    drop(second);
    until("the connection closes", PATIENCE, || async { by_tcp().await == 0 }).await;
}
