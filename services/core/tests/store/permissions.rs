//! What the store's user must be allowed, and what is logged when it is not.

use std::collections::BTreeSet;

use anteroom_core::{
    scripts,
    store::{Config, Error, Repeat},
};
use anteroom_testkit::{Log, PATIENCE, PERMISSIONS, Redis, until};
use tokio::time::timeout;

use crate::support::{add, echo, open, opened, patient};

const PROBE: &str = include_str!("../../../../lua/store/permissions.lua");

fn as_user(redis: &Redis) -> Config {
    let password = Some("pass".to_owned().into());
    Config { username: Some("ann".into()), password, ..patient(redis.url()) }
}

/// The rules that are documented, without these and with those.
fn rules(without: &str, with: &[&str]) -> Vec<String> {
    let kept = PERMISSIONS.iter().filter(|rule| *rule != without).cloned();
    kept.chain(with.iter().map(|rule| (*rule).to_owned())).collect()
}

/// The names that follow these words, up to a quote.
fn named(source: &str, words: &str) -> BTreeSet<String> {
    let parts = source.split(words).skip(1);
    parts.filter_map(|rest| Some(rest.split_once('\'')?.0.to_lowercase())).collect()
}

#[test]
fn the_documented_commands_are_those_of_the_scripts_and_of_the_client() {
    let scripts: BTreeSet<_> =
        scripts().iter().flat_map(|script| named(script.source(), "call('")).collect();
    // Scripts do without INFO where it is refused.
    let scripts: BTreeSet<_> = scripts.into_iter().filter(|command| command != "info").collect();
    assert_eq!(named(PROBE, "may('"), scripts, "lua/store/permissions.lua and the scripts");
    let client = ["ping", "info", "subscribe", "eval", "evalsha"].map(str::to_owned);
    let needed: BTreeSet<_> = scripts.into_iter().chain(client).collect();
    let documented = PERMISSIONS.iter().filter_map(|rule| rule.strip_prefix('+'));
    assert_eq!(documented.map(str::to_owned).collect::<BTreeSet<_>>(), needed);
    let others: Vec<_> = PERMISSIONS.iter().filter(|rule| !rule.starts_with('+')).collect();
    assert_eq!(others, ["~anteroom:*", "&anteroom:*", "-@all"]);
}

#[tokio::test]
async fn each_permission_that_is_missing_is_named_at_once() {
    let redis = Redis::start().await;
    let spared = ["-@all", "+info", "+subscribe"];
    let needed = PERMISSIONS.iter().filter(|rule| !spared.contains(&rule.as_str()));
    for missing in needed {
        redis.user("ann", &rules(missing, &[])).await;
        let (log, _guard) = Log::of_thread();
        let store = open(&as_user(&redis));
        let refused = timeout(PATIENCE, store.refused_at_start()).await;
        assert_eq!(&refused.unwrap_or_else(|_| panic!("{missing} is not missed")).0, missing);
        assert!(!store.is_up());
        assert_eq!(echo(&store, "x").await, Err(Error::Forbidden(missing.clone())));
        let lines = log.text().lines().filter(|line| line.contains("WARN")).count();
        assert_eq!(lines, 1, "{}", log.text());
    }
    let keys: Vec<String> = redis.run(&["KEYS", "*"]).await;
    assert_eq!(keys, Vec::<String>::new(), "the questions leave nothing behind");
}

#[tokio::test]
async fn all_that_is_missing_is_in_one_line() {
    let redis = Redis::start().await;
    redis.user("ann", &rules("", &["-zadd", "-evalsha", "-hset", "-info"])).await;
    let store = open(&as_user(&redis));
    let refused = timeout(PATIENCE, store.refused_at_start()).await.unwrap();
    assert!(refused.to_string().contains("no permission for +evalsha +zadd +hset ("), "{refused}");
    redis.user("ann", &rules("~anteroom:*", &["~other:*"])).await;
    let store = open(&as_user(&redis));
    assert_eq!(timeout(PATIENCE, store.refused_at_start()).await.unwrap().0, "~anteroom:*");
}

#[tokio::test]
async fn without_info_all_goes_on() {
    let redis = Redis::start().await;
    redis.user("ann", &rules("+info", &["~test:*", "+hincrby", "+hsetnx"])).await;
    let store = opened(&as_user(&redis)).await;
    assert_eq!(add(&store, "t", "1", 1, Repeat::Never).await, Ok((1, 1)));
    let unchecked = store.check_server().await;
    assert!(matches!(unchecked, Err(Error::Forbidden(_))), "{unchecked:?}");
}

#[tokio::test]
async fn a_full_store_is_not_one_that_refuses() {
    let redis = Redis::builder().arg("--maxmemory", "1").start().await;
    redis.user("ann", &PERMISSIONS).await;
    opened(&as_user(&redis)).await;
}

#[tokio::test]
async fn a_permission_that_is_taken_away_is_named_once_and_found_again() {
    let redis = Redis::start().await;
    let own = ["~test:*", "+hincrby", "+hsetnx"];
    for lost in ["-evalsha", "-hget"] {
        redis.user("ann", &rules("", &own)).await;
        let (log, _guard) = Log::of_thread();
        let store = opened(&as_user(&redis)).await;
        redis.run::<()>(&["ACL", "SETUSER", "ann", lost]).await;
        let rule = lost.replace('-', "+");
        until("the loss is known", PATIENCE, async || {
            add(&store, lost, "1", 1, Repeat::Never).await == Err(Error::Forbidden(rule.clone()))
        })
        .await;
        let logged = |words: &str| log.text().lines().filter(|it| it.contains(words)).count();
        assert_eq!(logged("Redis refuses this service"), 1, "{}", log.text());
        assert!(log.text().contains(&format!("no permission for {rule}")), "{}", log.text());
        // A service that has begun waits.
        assert!(timeout(std::time::Duration::ZERO, store.refused_at_start()).await.is_err());
        redis.run::<()>(&["ACL", "SETUSER", "ann", &rule]).await;
        until("it goes on", PATIENCE, async || echo(&store, "x").await == Ok("x".into())).await;
        assert_eq!(logged("Redis refuses this service"), 1, "{}", log.text());
    }
}
