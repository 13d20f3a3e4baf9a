//! The contracts of the scripts: one operation has one name everywhere, and a header that holds.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anteroom_core::queue::SCRIPTS;
use anteroom_core::store::Script;

use super::headers::{Header, words};
use super::support::TimedStore;

const README: &str = include_str!("../../../../lua/README.md");

fn lua() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lua")
}

fn lua_files(folder: &str) -> BTreeSet<String> {
    std::fs::read_dir(lua().join(folder))
        .expect("a folder of scripts")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|end| end == "lua"))
        .map(|path| path.file_stem().expect("a name").to_string_lossy().into_owned())
        .collect()
}

fn operation(script: &Script) -> &'static str {
    &script.name["queue.".len()..]
}

/// The keys of the README's table, in its order.
fn keys_of_the_readme() -> Vec<&'static str> {
    let rows = README.lines().skip_while(|line| !line.starts_with("| key |")).skip(2);
    rows.map_while(|row| row.strip_prefix("| `")?.split('`').next()).collect()
}

#[test]
fn every_operation_is_a_file_and_every_file_an_operation() {
    let operations: BTreeSet<_> =
        SCRIPTS.iter().map(|script| operation(script).to_owned()).collect();
    assert_eq!(operations, lua_files("queue"));
    let parts: BTreeSet<_> = SCRIPTS
        .iter()
        .flat_map(|script| script.parts)
        .map(|(name, _)| (*name).to_owned())
        .collect();
    let shared = lua_files("lib").into_iter().map(|name| format!("lib/{name}"));
    assert_eq!(parts, lua_files("queue/lib").into_iter().chain(shared).collect());
}

#[test]
fn every_operation_is_a_method_and_stands_in_the_readme() {
    let source = ["visits", "ticks", "operate", "revocations"].map(|file| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("src/queue/{file}.rs"));
        std::fs::read_to_string(path).expect("the source of the operations")
    });
    for script in SCRIPTS {
        let method = format!("async fn {}(", operation(script));
        assert!(source.iter().any(|text| text.contains(&method)), "no {method}");
        assert!(README.contains(&format!("`{}`", script.name)), "{}: README", script.name);
    }
}

#[test]
fn every_header_states_purpose_uses_keys_argv_reply_and_codes() {
    for script in SCRIPTS {
        let header = Header::of(script);
        assert!(!header.purpose.is_empty(), "{}", script.name);
        let parts: Vec<_> = script.parts.iter().map(|(name, _)| *name).collect();
        assert_eq!(header.uses, parts, "{}", script.name);
        assert_eq!(header.keys, script.keys, "{}", script.name);
        assert_eq!(header.fixed.first().map(String::as_str), Some("now"), "{}", script.name);
        assert!(header.reply.starts_with("OK"), "{}", script.name);
        // The body names every code of the header (or leaves it to a part), and no other.
        let named = words(&header.body);
        for code in ["CREATED", "NOT_READY", "NOT_ACTIVE", "FULL", "CLOSED", "NO_RULES"] {
            let is_named = named.contains_key(code);
            assert_eq!(is_named, header.codes.contains(code), "{}: {code}", script.name);
        }
    }
}

/// What is sent is what is needed: a name that no key has would be nil, or another script's.
#[test]
fn a_script_takes_the_keys_that_it_and_its_parts_name_and_no_others() {
    let all = keys_of_the_readme();
    assert_eq!(all.first(), Some(&"meta"));
    for script in SCRIPTS {
        let named = words(script.source().split_once('\n').expect("the names of the keys").1);
        let taken: Vec<_> = script.keys.split(' ').collect();
        // Those that take whole queues away name none.
        let needed: Vec<_> = if script.source().contains("unpack(KEYS") {
            all.clone()
        } else {
            let name = |key: &str| key.split(':').next().unwrap_or_default().to_uppercase();
            all.iter().copied().filter(|key| used(&named, &name(key), &taken)).collect()
        };
        assert_eq!(taken, needed, "{}", script.name);
    }
}

/// Whether a name stands anywhere but in the line that gives it its key.
fn used(named: &std::collections::BTreeMap<String, usize>, name: &str, taken: &[&str]) -> bool {
    let is_taken = taken.iter().any(|key| key.split(':').next() == Some(&name.to_lowercase()));
    named.get(name).copied().unwrap_or(0) > usize::from(is_taken)
}

/// Each fixed argument is read by its number, and none behind them.
#[test]
fn a_script_reads_the_arguments_of_its_header_by_their_numbers() {
    for script in SCRIPTS {
        let header = Header::of(script);
        let code = super::headers::code(script.source());
        for number in 1..=12 {
            let is_read = code.contains(&format!("ARGV[{number}]"));
            // What a purge is told of the time it does not need.
            let is_spare = number == 1 && !words(&header.body).contains_key("read_clock");
            let is_fixed = number <= header.fixed.len();
            assert!(
                is_read == is_fixed || is_fixed && is_spare,
                "{}: ARGV[{number}] of {:?}",
                script.name,
                header.fixed
            );
        }
        assert_eq!(
            header.repeated.is_empty(),
            !code.contains("#ARGV") && !code.contains("ARGV[at]") && !code.contains("unpack(ARGV"),
            "{}",
            script.name
        );
    }
}

#[test]
fn no_script_writes_numbers_with_two_dots_or_refuses_with_an_error() {
    for script in SCRIPTS {
        for (number, line) in script.source().lines().enumerate() {
            let code = line.split("--").next().unwrap_or_default();
            assert!(!code.contains("error("), "{} line {number}: {line}", script.name);
            assert!(!code.contains("tostring("), "{} line {number}: {line}", script.name);
        }
    }
}

/// Where the store holds no rules for a queue, every operation but those for just that says so and
/// writes nothing.
#[tokio::test]
async fn a_script_without_rules_writes_nothing() {
    let world = TimedStore::new().await;
    let mut connection = world.redis.connection().await;
    let needs_none = ["queue.seed_rules", "queue.apply_rules", "queue.purge"];
    for script in SCRIPTS.iter().filter(|script| !needs_none.contains(&script.name)) {
        let keys = script.keys_of("q");
        let mut eval = redis::cmd("EVAL");
        eval.arg(script.source()).arg(keys.len());
        for key in keys.iter() {
            eval.arg(key);
        }
        eval.arg(&["", "an epoch", "0", "", "0", "", "1"]);
        let reply: Vec<i64> = eval.query_async(&mut connection).await.expect("a reply");
        assert_eq!(reply, [1], "{}: NO_RULES", script.name);
    }
    let keys: Vec<String> = world.redis.run(&["KEYS", "*"]).await;
    assert_eq!(keys, Vec::<String>::new());
}
