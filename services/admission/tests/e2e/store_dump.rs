//! What the store holds, and which commands reach it.

use std::{cell::RefCell, collections::BTreeSet};

use anteroom_testkit::{PATIENCE, Redis, until};

const DUMP: &str = include_str!("dump.lua");

/// Every member of every key, as lines in a fixed order. A type that the script does not know
/// fails.
pub async fn dump(redis: &Redis) -> Vec<Vec<u8>> {
    redis.run(&["EVAL", DUMP, "0"]).await
}

/// The lines of the one dump that are not in the other, readable. Outlines of the line are kept
/// while it is read, whatever is requested.
pub fn difference(before: &[Vec<u8>], after: &[Vec<u8>]) -> Vec<String> {
    let (before, after): (BTreeSet<_>, BTreeSet<_>) =
        (before.iter().collect(), after.iter().collect());
    let changed = before.symmetric_difference(&after);
    let changed = changed.map(|line| line.escape_ascii().to_string());
    changed.filter(|line| !line.contains(":outlines hash ")).collect()
}

/// One entry of the store's own log of commands: number, time, duration, words, client, its name.
type Entry = (u64, u64, u64, Vec<Vec<u8>>, String, String);

/// A store that notes every command it is given.
pub async fn noting() -> Redis {
    let settings = Redis::builder().arg("--slowlog-log-slower-than", "0");
    settings.arg("--slowlog-max-len", "100000").start().await
}

/// The commands since the last look, of a store that notes them: the name, and which script.
pub async fn noted(redis: &Redis) -> Vec<String> {
    let entries: Vec<Entry> = redis.run(&["SLOWLOG", "GET", "-1"]).await;
    let _: String = redis.run(&["SLOWLOG", "RESET"]).await;
    let text = |word: &Vec<u8>| String::from_utf8_lossy(word).to_uppercase();
    let command = |words: &Vec<Vec<u8>>| match text(&words[0]).as_str() {
        name @ ("EVALSHA" | "EVAL") => format!("{name} {}", text(&words[1])),
        name => name.to_owned(),
    };
    // What this client itself says to the server.
    let own = |name: &String| ["SLOWLOG", "CLIENT", "HELLO", "INFO", "SELECT"].contains(&&**name);
    entries.iter().rev().map(|entry| command(&entry.3)).filter(|name| !own(name)).collect()
}

/// What runs without any request: probes of the store, and snapshots of the queues.
pub async fn idle(redis: &Redis) -> BTreeSet<String> {
    noted(redis).await;
    let seen = RefCell::new(Vec::new());
    until("snapshots while idle", PATIENCE, async || {
        let noted = noted(redis).await;
        let mut seen = seen.borrow_mut();
        seen.extend(noted);
        let count = |start: &str| seen.iter().filter(|name| name.starts_with(start)).count();
        count("EVALSHA") >= 3 && count("PING") >= 1
    })
    .await;
    seen.into_inner().into_iter().collect()
}
