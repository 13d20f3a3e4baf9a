//! The contracts of the scripts: one operation has one name everywhere, and a header that holds.

use std::collections::BTreeSet;
use std::path::Path;

use anteroom_core::queue::SCRIPTS;

use super::world::World;

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lua/queue")
}

fn lua_files(folder: &Path) -> BTreeSet<String> {
    std::fs::read_dir(folder)
        .expect("the folder of the scripts")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|end| end == "lua"))
        .map(|path| path.file_stem().expect("a name").to_string_lossy().into_owned())
        .collect()
}

#[test]
fn every_operation_is_a_file_and_every_file_an_operation() {
    let operations: BTreeSet<_> =
        SCRIPTS.iter().map(|script| script.name["queue.".len()..].to_owned()).collect();
    assert_eq!(operations, lua_files(&folder()));
    let parts: BTreeSet<_> =
        SCRIPTS.iter().flat_map(|script| script.parts).map(|part| (*part).to_owned()).collect();
    assert_eq!(parts, lua_files(&folder().join("lib")));
}

#[test]
fn every_operation_is_a_method_and_stands_in_the_readme() {
    let readme = include_str!("../../../../lua/README.md");
    let source = ["visits", "ticks", "operate", "revocations"].map(|file| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("src/queue/{file}.rs"));
        std::fs::read_to_string(path).expect("the source of the operations")
    });
    for script in SCRIPTS {
        let operation = &script.name["queue.".len()..];
        let method = format!("pub async fn {operation}(");
        assert!(source.iter().any(|text| text.contains(&method)), "no method {operation}");
        assert!(
            readme.contains(&format!("`{}`", script.name)),
            "{} is not in lua/README.md",
            script.name
        );
    }
}

#[test]
fn every_header_states_purpose_uses_keys_argv_reply_and_codes() {
    for script in SCRIPTS {
        let file = folder().join(format!("{}.lua", &script.name["queue.".len()..]));
        let text = std::fs::read_to_string(file).expect("the script's file");
        let header: Vec<_> = text.lines().take_while(|line| line.starts_with("--")).collect();
        let line = |start: &str| {
            header
                .iter()
                .find_map(|line| line.strip_prefix(start))
                .unwrap_or_else(|| panic!("{}: the header has no line {start:?}", script.name))
        };
        assert!(!line(&format!("-- {}: ", script.name)).is_empty());
        assert_eq!(
            line("-- Uses: ").split(' ').collect::<Vec<_>>(),
            script.parts,
            "{}",
            script.name
        );
        assert_eq!(line("-- KEYS: "), "the queue's keys, in the order of lua/README.md");
        assert!(line("-- ARGV: ").starts_with("now (µs, empty: the store's clock)"));
        assert!(line("-- Reply: ").starts_with("OK"));
        // The body names every code of the header (or leaves it to a part), and no other.
        let codes: BTreeSet<_> = line("-- Codes: ").split(' ').collect();
        let body: String = text.lines().skip(header.len()).collect::<Vec<_>>().join("\n");
        for code in ["CREATED", "NOT_READY", "NOT_ACTIVE", "FULL", "CLOSED", "NO_RULES"] {
            let named =
                body.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == code);
            assert_eq!(named, codes.contains(code), "{}: {code}", script.name);
        }
    }
}

#[test]
fn no_script_writes_numbers_with_two_dots_or_refuses_with_an_error() {
    for script in SCRIPTS {
        for (number, line) in script.source.lines().enumerate() {
            let code = line.split("--").next().unwrap_or_default();
            assert!(!code.contains("error("), "{} line {number}: {line}", script.name);
            assert!(!code.contains("tostring("), "{} line {number}: {line}", script.name);
        }
    }
}

/// Where the store holds no rules for a queue, every operation but those for just that says so and writes nothing.
#[tokio::test]
async fn a_script_without_rules_writes_nothing() {
    let world = World::new().await;
    let mut connection = world.redis.connection().await;
    let needs_none = ["queue.apply_rules", "queue.purge"];
    for script in SCRIPTS.iter().filter(|script| !needs_none.contains(&script.name)) {
        let mut eval = redis::cmd("EVAL");
        eval.arg(script.source).arg(16);
        for n in 0..16 {
            eval.arg(format!("{{q}}:{n}"));
        }
        eval.arg(&["", "an epoch", "a place of 14", "7", "1"]);
        let reply: Vec<i64> = eval.query_async(&mut connection).await.expect("a reply");
        assert_eq!(reply, [7], "{}: NO_RULES", script.name);
    }
    let keys: Vec<String> = world.redis.run(&["KEYS", "*"]).await;
    assert_eq!(keys, Vec::<String>::new());
}
