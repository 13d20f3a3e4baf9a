//! The headers of the scripts, read, and the calls that core really makes held against them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use anteroom_core::queue::{Override, Queue, SCRIPTS};
use anteroom_core::store::Script;
use anteroom_testkit::{PATIENCE, Redis};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::line::{capacity, join, tick, visitor};
use super::support::TimedStore;

/// The header of a script, and what stands behind it.
pub struct Header {
    pub purpose: String,
    pub uses: Vec<String>,
    pub keys: String,
    /// The names of the arguments that every call has.
    pub fixed: Vec<String>,
    /// What is repeated behind them: `(rule, value)*`, or nothing.
    pub repeated: String,
    pub reply: String,
    pub codes: BTreeSet<String>,
    pub body: String,
}

impl Header {
    pub fn of(script: &Script) -> Self {
        let file = format!("../../lua/{}.lua", script.name.replace('.', "/"));
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
        let text = std::fs::read_to_string(path).expect("the script's file");
        let (header, body): (Vec<_>, Vec<_>) = {
            let lines = text.lines().take_while(|line| line.starts_with("--"));
            let header: Vec<_> = lines.collect();
            (header.clone(), text.lines().skip(header.len()).collect())
        };
        // A field goes on in the lines that begin further in.
        let field = |start: &str| {
            let mut lines = header.iter().skip_while(|line| !line.starts_with(start));
            let first = lines.next().unwrap_or_else(|| panic!("{}: no {start:?}", script.name));
            let more = lines.take_while(|line| line.starts_with("--  ")).map(|line| &line[2..]);
            let first = first[start.len()..].trim().to_owned();
            (first.clone(), more.fold(first, |all, line| format!("{all} {}", line.trim())))
        };
        // The names stand in the first line, what they mean in the next.
        let names = field("-- ARGV: ").0;
        let (fixed, repeated) = names.split_once("(").map_or((&names[..], ""), |(fixed, _)| {
            (fixed.trim_end_matches([',', ' ']), &names[fixed.len()..])
        });
        Self {
            purpose: field(&format!("-- {}: ", script.name)).0,
            uses: field("-- Uses: ").1.split(' ').map(str::to_owned).collect(),
            keys: field("-- KEYS: ").1,
            fixed: fixed.split(", ").map(str::to_owned).collect(),
            repeated: repeated.to_owned(),
            reply: field("-- Reply: ").1,
            codes: field("-- Codes: ").1.split(' ').map(str::to_owned).collect(),
            body: body.join("\n"),
        }
    }

    /// Whether a call with these arguments is one that the header describes.
    fn describes(&self, args: &[Vec<u8>]) -> bool {
        let Some(rest) = args.get(self.fixed.len()..) else { return false };
        match self.repeated.as_str() {
            "" => rest.is_empty(),
            "(id)*" => !rest.is_empty() && rest.iter().all(|id| id.len() == 14),
            "(rule, value)*" => !rest.is_empty() && rest.len() % 2 == 0,
            "(epoch, how, tickets, (id)*)*" => !rest.is_empty() && are_runs(rest),
            other => panic!("{other}: what does this repeat?"),
        }
    }
}

/// Runs of an epoch, how, as many tickets as ids, and the ids.
fn are_runs(mut rest: &[Vec<u8>]) -> bool {
    while let [epoch, how, tickets, more @ ..] = rest {
        let ids = tickets.len() / 8;
        let is_run = epoch.len() == 8
            && ["0", "1", "2"].iter().any(|known| how == known.as_bytes())
            && ids > 0
            && tickets.len() % 8 == 0
            && more.len() >= ids
            && more[..ids].iter().all(|id| id.len() == 14);
        if !is_run {
            return false;
        }
        rest = &more[ids..];
    }
    rest.is_empty()
}

/// Lua without its comments.
pub fn code(text: &str) -> String {
    text.lines()
        .map(|line| line.split("--").next().unwrap_or_default())
        .collect::<Vec<_>>()
        .join("\n")
}

/// The names in Lua, and how often each stands there outside comments.
pub fn words(text: &str) -> BTreeMap<String, usize> {
    let mut words = BTreeMap::new();
    for word in code(text).split(|c: char| !c.is_alphanumeric() && c != '_') {
        *words.entry(word.to_owned()).or_default() += 1;
    }
    words
}

/// A call that Redis has seen: the hash of the script, its KEYS and its ARGV.
struct Evalsha {
    sha: String,
    keys: Vec<String>,
    args: Vec<Vec<u8>>,
}

impl Evalsha {
    /// A line of MONITOR, when it is a call of a script from outside.
    fn read(line: &str) -> Option<Self> {
        let (_, command) = line.split_once("] ")?;
        let words = quoted(command);
        if !words.first()?.eq_ignore_ascii_case(b"EVALSHA") {
            return None;
        }
        let text = |word: &[u8]| String::from_utf8(word.to_vec()).expect("a text");
        let count: usize = text(&words[2]).parse().expect("the number of keys");
        let (keys, args) = words[3..].split_at(count);
        let keys = keys.iter().map(|key| text(key)).collect();
        Some(Self { sha: text(&words[1]), keys, args: args.to_vec() })
    }
}

/// The words of a line of MONITOR, which are quoted as in C.
fn quoted(line: &str) -> Vec<Vec<u8>> {
    let (mut words, mut bytes) = (Vec::new(), line.bytes());
    while bytes.by_ref().any(|byte| byte == b'"') {
        let mut word = Vec::new();
        while let Some(byte) = bytes.next().filter(|byte| *byte != b'"') {
            word.push(match byte {
                b'\\' => match bytes.next().expect("an escape") {
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'a' => 7,
                    b'b' => 8,
                    b'x' => {
                        let digits = [bytes.next(), bytes.next()].map(|digit| digit.expect("hex"));
                        let digits = std::str::from_utf8(&digits).expect("hex").to_owned();
                        u8::from_str_radix(&digits, 16).expect("hex")
                    }
                    other => other,
                },
                byte => byte,
            });
        }
        words.push(word);
    }
    words
}

/// Everything that Redis is asked from now on, as lines.
async fn monitor(redis: &Redis) -> BufReader<TcpStream> {
    let stream = TcpStream::connect(("127.0.0.1", redis.port())).await.expect("Redis answers");
    let mut lines = BufReader::new(stream);
    lines.get_mut().write_all(b"MONITOR\r\n").await.expect("sent");
    let mut answer = String::new();
    lines.read_line(&mut answer).await.expect("an answer");
    assert_eq!(answer, "+OK\r\n");
    lines
}

/// Every operation at least once, those of visitors alone and together.
async fn call_everything(world: &TimedStore) {
    let seeded = world.open("q", capacity(1));
    join(&seeded, 0).await;
    let queue = world.queue("q", capacity(2)).await;
    let (first, _) = join(&queue, 1).await;
    let ids = (0..20).map(|n| visitor(&queue, n));
    futures_util::future::join_all(ids.map(|id| queue.join(id))).await;
    let looks = (0..20).map(|_| queue.place(first));
    futures_util::future::join_all(looks).await;
    queue.claim(first).await.expect("a claim");
    let (plain, renewing) = (queue.authorize(first, false), queue.authorize(first, true));
    let both = tokio::join!(plain, renewing, queue.authorize_joined(first));
    both.0.and(both.1).and(both.2).expect("a pass");
    queue.renew(first).await.expect("a renewal");
    queue.leave(first).await.expect("a leave");
    tick(&queue).await;
    queue.sweep().await.expect("a sweep");
    let overrides = [Override::Capacity(Some(3)), Override::Reason(None)];
    queue.override_rules(&overrides, Some(2_000_000_000)).await.expect("an override");
    queue.snapshot().await.expect("a snapshot");
    queue.revocations(None).await.expect("a reading");
    queue.revocations(Some(7)).await.expect("a reading");
    queue.inspect(1).await.expect("a look");
    queue.places(None, 0, 10).await.expect("a look");
    queue.evict(2).await.expect("an eviction");
    queue.reset().await.expect("a reset");
    Queue::purge(&world.store, "q").await.expect("a purge");
}

#[tokio::test]
async fn every_call_has_the_keys_and_the_arguments_of_its_header() {
    let world = TimedStore::new().await;
    let shas: BTreeMap<String, &Script> = SCRIPTS
        .iter()
        .map(|script| (redis::Script::new(script.source()).get_hash().to_owned(), *script))
        .collect();
    let mut lines = monitor(&world.redis).await;
    world.pass(Duration::from_secs(1));
    call_everything(&world).await;
    let last = "the last of it";
    world.redis.run::<String>(&["ECHO", last]).await;
    let (mut line, mut called) = (String::new(), BTreeSet::new());
    loop {
        line.clear();
        let read = timeout(PATIENCE, lines.read_line(&mut line)).await;
        read.expect("a line in time").expect("a line");
        if line.contains(last) {
            break;
        }
        let Some(seen) = Evalsha::read(&line) else { continue };
        let script = shas.get(&seen.sha).expect("a script of ours");
        let (header, keys) = (Header::of(script), script.keys_of("q"));
        let keys: Vec<_> = keys.iter().map(String::from_utf8_lossy).collect();
        assert_eq!(seen.keys, keys, "{}", script.name);
        let sizes: Vec<_> = seen.args.iter().map(Vec::len).collect();
        assert!(header.describes(&seen.args), "{}: arguments of {sizes:?} bytes", script.name);
        called.insert(script.name);
    }
    assert_eq!(called, SCRIPTS.iter().map(|script| script.name).collect());
}
