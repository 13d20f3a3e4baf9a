//! The calls that core really makes, held against the headers of their scripts.

use std::collections::{BTreeMap, BTreeSet};

use anteroom_core::scripts;
use anteroom_core::store::{Config, Script, Store};
use anteroom_testkit::{PATIENCE, Redis};

use super::header::Header;
use super::monitor::Monitor;
use super::{SUBSYSTEMS, Subsystem};

/// The hash tag of a key, which all keys of a call share.
fn hash_tag(key: &str) -> Option<&str> {
    Some(key.split_once('{')?.1.split_once('}')?.0)
}

#[tokio::test]
async fn every_call_is_as_its_header_says() {
    let redis = Redis::start().await;
    let config = Config::new(redis.socket_url());
    let registry = prometheus::Registry::new();
    let store = Store::open(&config, &scripts(), &registry).expect("an address");
    assert!(store.wait_up(PATIENCE).await, "the store is up");
    let shas: BTreeMap<String, &Script> = scripts()
        .into_iter()
        .map(|script| (redis::Script::new(script.source()).get_hash().to_owned(), script))
        .collect();
    let monitor = Monitor::start(&redis).await;
    for subsystem in SUBSYSTEMS {
        (subsystem.call_everything)(&store).await;
    }
    let mut called = BTreeSet::new();
    for call in monitor.stop().await {
        let script = shas.get(&call.sha).expect("a script of ours");
        let tag = call.keys.first().and_then(|key| hash_tag(key)).expect("a hash tag");
        let keys = script.keys_of(tag);
        let keys: Vec<_> = keys.iter().map(String::from_utf8_lossy).collect();
        assert_eq!(call.keys, keys, "{}", script.name);
        let (header, sizes) = (Header::of(script), call.args.iter().map(Vec::len));
        let sizes: Vec<_> = sizes.collect();
        let is_described = header.describes(Subsystem::of(script), &call.args);
        assert!(is_described, "{}: arguments of {sizes:?} bytes", script.name);
        called.insert(script.name);
    }
    assert_eq!(called, scripts().iter().map(|script| script.name).collect());
}
