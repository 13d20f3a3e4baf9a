//! The calls that core really makes, held against the headers of their scripts.

use std::collections::{BTreeMap, BTreeSet};

use anteroom_core::scripts;
use anteroom_core::store::{Config, Script, Store};
use anteroom_testkit::{PATIENCE, Redis};

use super::header::{describes, has_keys, header_of};
use super::monitor::Monitor;
use super::{SUBSYSTEMS, Subsystem};

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
        let header = header_of(script);
        assert!(has_keys(&header, script, &call.keys), "{}: {:?}", script.name, call.keys);
        let sizes: Vec<_> = call.args.iter().map(Vec::len).collect();
        let is_described = describes(&header, Subsystem::of(script), &call.args);
        assert!(is_described, "{}: arguments of {sizes:?} bytes", script.name);
        called.insert(script.name);
    }
    assert_eq!(called, scripts().iter().map(|script| script.name).collect());
}
