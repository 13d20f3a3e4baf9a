//! The calls that core really makes, held against the headers of their scripts.

use std::collections::{BTreeMap, BTreeSet};

use anteroom_core::scripts;
use anteroom_core::store::{Config, Script};
use anteroom_testkit::Redis;

use super::header::{Header, describes, has_keys, header_of};
use super::monitor::Monitor;
use super::support::open;
use super::{DocumentedKey, SUBSYSTEMS, Subsystem, Ttl, documented_batch, documented_keys};

#[tokio::test]
async fn every_call_is_as_its_header_says() {
    let redis = Redis::start().await;
    let store = open(Config::new(redis.socket_url())).await;
    let shas: BTreeMap<String, &Script> = scripts()
        .into_iter()
        .map(|script| (redis::Script::new(script.source()).get_hash().to_owned(), script))
        .collect();
    let monitor = Monitor::start(&redis).await;
    for subsystem in SUBSYSTEMS {
        (subsystem.call_everything)(&store).await;
    }
    let mut called = BTreeMap::new();
    for call in monitor.stop().await {
        let script = shas.get(&call.sha).expect("a script of ours");
        let header = header_of(script);
        assert!(has_keys(&header, script, &call.keys), "{}: {:?}", script.name, call.keys);
        let sizes: Vec<_> = call.args.iter().map(Vec::len).collect();
        let is_described = describes(&header, Subsystem::of(script), &call.args);
        assert!(is_described, "{}: arguments of {sizes:?} bytes", script.name);
        let items = items(&header, &call.args);
        called.entry(script.name).and_modify(|most| *most = items.max(*most)).or_insert(items);
    }
    let names: BTreeSet<_> = scripts().iter().map(|script| script.name).collect();
    assert_eq!(called.keys().copied().collect::<BTreeSet<_>>(), names);
    let batches = called.keys().filter_map(|name| Some((*name, documented_batch(name)?)));
    let batches: BTreeMap<_, _> = batches.collect();
    assert!(batches.len() > 10, "{batches:?}");
    for (name, documented) in batches {
        assert_eq!(called[name], documented, "{name}: most items of a call");
    }
}

/// Each key with its TTL in milliseconds; the bytes of a digest are shown as `?`.
const TTLS: &str = "local ttls = {}
for _, key in ipairs(redis.call('KEYS', ARGV[1])) do
  ttls[#ttls + 1] = { (key:gsub('[^%w%p]', '?')), redis.call('PTTL', key) }
end
return ttls";

/// The items of a batched call.
fn items(header: &Header, args: &[Vec<u8>]) -> usize {
    let rest = args.get(header.args.len()..).unwrap_or_default();
    let in_runs = header.repeated_args.contains("(id)*)*");
    rest.iter().filter(|arg| !in_runs || arg.len() == 14).count()
}

/// The reference's times, held against the keys that all operations together leave.
#[tokio::test]
async fn every_key_has_the_ttl_of_the_reference() {
    let redis = Redis::start().await;
    let store = open(Config::new(redis.socket_url())).await;
    for subsystem in SUBSYSTEMS {
        (subsystem.call_everything)(&store).await;
        let documented = documented_keys(subsystem.name);
        let mut seen = BTreeSet::new();
        let all = format!("anteroom:v1:{}:*", subsystem.name);
        for (key, ttl) in redis.run::<Vec<(String, i64)>>(&["EVAL", TTLS, "0", &all]).await {
            let (_, name) = key.split_once("}:").unwrap_or_else(|| panic!("{key}: no hash tag"));
            let with_digest = |it: &&DocumentedKey| {
                it.name.split_once('<').is_some_and(|(front, _)| name.starts_with(front))
            };
            let exact = documented.iter().find(|it| it.name == name);
            let found = exact.or_else(|| documented.iter().find(with_digest));
            let found = found.unwrap_or_else(|| panic!("{key} is not in the reference"));
            let allowed = match found.ttl {
                Ttl::None => -1..=-1,
                Ttl::Fixed(ttl) => ttl - 60_000..=ttl,
                Ttl::Varies => 1..=i64::MAX,
            };
            assert!(allowed.contains(&ttl), "{key} has {ttl} ms, the reference {allowed:?}");
            seen.insert(&found.name);
        }
        let fixed = documented.iter().filter(|it| matches!(it.ttl, Ttl::Fixed(_)));
        let unseen: Vec<_> = fixed.map(|it| &it.name).filter(|name| !seen.contains(name)).collect();
        assert_eq!(unseen, [""; 0], "{}", subsystem.name);
    }
}
