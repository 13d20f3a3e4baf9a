//! What a script's text must keep to: its header, its keys, its arguments, and what no script does.

use std::collections::{BTreeMap, BTreeSet};

use anteroom_core::scripts;

use super::documented_keys;
use super::header::header_of;

/// Lua without its comments.
fn code(text: &str) -> String {
    text.lines()
        .map(|line| line.split("--").next().unwrap_or_default())
        .collect::<Vec<_>>()
        .join("\n")
}

/// The names in Lua, and how often each is there outside comments.
fn words(text: &str) -> BTreeMap<String, usize> {
    let mut words = BTreeMap::new();
    for word in code(text).split(|c: char| !c.is_alphanumeric() && c != '_') {
        *words.entry(word.to_owned()).or_default() += 1;
    }
    words
}

/// The body of a script names every code of its header, and no other, unless a part answers with
/// it.
#[test]
fn every_header_lists_the_codes_that_its_script_answers_with() {
    for script in scripts() {
        let listed = header_of(script).codes;
        let constants = (script.constants)();
        let codes = constants.code_names();
        let is_known = |code: &String| codes.contains(&code.as_str());
        assert!(listed.iter().all(is_known), "{}: {listed:?}", script.name);
        let parts: String = script.parts.iter().map(|(_, part)| *part).collect();
        let (in_body, in_parts) = (words(script.text), words(&parts));
        for code in codes.iter().filter(|code| !in_parts.contains_key(**code)) {
            let is_listed = listed.iter().any(|listed| listed == code);
            assert_eq!(in_body.contains_key(*code), is_listed, "{}: {code}", script.name);
        }
    }
}

/// The names in capitals that lines like `local A, B = …` of a text define, at any depth if so.
fn defined(text: &str, at_any_depth: bool) -> Vec<&str> {
    let lines = text.lines().map(|line| if at_any_depth { line.trim_start() } else { line });
    let names = lines.filter_map(|line| line.strip_prefix("local "));
    let names = names.filter(|line| !line.starts_with("function "));
    let names = names.flat_map(|line| line.split(" = ").next().unwrap_or_default().split(", "));
    names.filter(|name| is_in_capitals(name)).collect()
}

fn is_in_capitals(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_uppercase())
        && !name.contains(|c: char| !c.is_ascii_uppercase() && !c.is_ascii_digit() && c != '_')
}

/// Core writes the value of a constant in place of its name, in all parts of a script: of a name
/// that two of them define, or a table in Rust too, both would have the value of the last.
#[test]
fn a_name_in_capitals_is_defined_once_in_a_script() {
    for script in scripts() {
        let constants = (script.constants)();
        let mut all: BTreeSet<_> = constants.names().collect();
        let parts = script.parts.iter().map(|(_, part)| *part);
        for name in parts.chain([script.text]).flat_map(|text| defined(text, false)) {
            assert!(all.insert(name), "{}: {name}", script.name);
        }
        for key in script.keys.to_uppercase().split_whitespace() {
            let key = key.split(':').next().unwrap_or_default();
            assert!(!all.contains(key), "{}: {key} is a key", script.name);
        }
    }
}

/// Every other name in capitals is nil, and Redis ends a script that names it.
#[test]
fn every_name_in_capitals_is_known() {
    for script in scripts() {
        let code = code(script.source());
        let texts = code.split(['\'', '"']).step_by(2).collect::<Vec<_>>().join("''");
        let defined = defined(&code, true);
        // Names of Redis itself follow `redis.`.
        let texts = texts.replace("redis.", "redis_");
        for name in words(&texts).into_keys().filter(|name| is_in_capitals(name)) {
            let is_known = defined.contains(&name.as_str());
            assert!(is_known, "{}: {name} is no constant of Lua or Rust", script.name);
        }
    }
}

/// What is sent is what is needed: a name that no key has would be nil, or another script's.
#[test]
fn a_script_takes_the_keys_that_it_and_its_parts_name_and_no_others() {
    for script in scripts() {
        let all = documented_keys(script.name.split('.').next().unwrap_or_default());
        assert!(!all.is_empty(), "{}: its keys are documented", script.name);
        let parts = script.parts.iter().map(|(_, text)| *text);
        let named = words(&parts.chain([script.text]).collect::<String>());
        let taken: Vec<_> = script.keys.split_whitespace().collect();
        // Those that take all away name none.
        let takes_all = script.source().contains("unpack(KEYS");
        // A call brings those that have a name of their own.
        let all = all.iter().map(|key| key.name.as_str()).filter(|name| !name.contains('<'));
        let needed: Vec<_> = all.filter(|key| takes_all || is_used(&named, key)).collect();
        assert_eq!(taken, needed, "{}", script.name);
    }
}

fn is_used(named: &BTreeMap<String, usize>, key: &str) -> bool {
    named.contains_key(&key.split(':').next().unwrap_or_default().to_uppercase())
}

/// Each fixed argument is read by its number, and none behind them.
#[test]
fn a_script_reads_the_arguments_of_its_header_by_their_numbers() {
    for script in scripts() {
        let header = header_of(script);
        let code = code(script.source());
        let numbers = code.split("ARGV[").skip(1);
        let numbers = numbers.filter_map(|rest| rest.split(']').next()?.parse::<usize>().ok());
        let read: BTreeSet<_> = numbers.collect();
        let fixed: BTreeSet<_> = (1..=header.args.len()).collect();
        assert_eq!(read, fixed, "{}: {:?}", script.name, header.args);
        assert_eq!(
            header.repeated_args.is_empty(),
            !code.contains("#ARGV") && !code.contains("ARGV[at]") && !code.contains("unpack(ARGV"),
            "{}",
            script.name
        );
    }
}

#[test]
fn no_script_writes_numbers_with_two_dots_or_refuses_with_an_error() {
    for script in scripts() {
        for (number, line) in code(script.source()).lines().enumerate() {
            assert!(!line.contains("error("), "{} line {number}: {line}", script.name);
            assert!(!line.contains("tostring("), "{} line {number}: {line}", script.name);
        }
    }
}
