//! What a script's text must keep to: its header, its keys, its arguments, and what no script does.

use std::collections::{BTreeMap, BTreeSet};

use anteroom_core::scripts;
use anteroom_core::store::Script;

use super::header::header_of;
use super::keys_of_the_readme;

/// Lua without its comments.
fn code(text: &str) -> String {
    text.lines()
        .map(|line| line.split("--").next().unwrap_or_default())
        .collect::<Vec<_>>()
        .join("\n")
}

/// The names in Lua, and how often each stands there outside comments.
fn words(text: &str) -> BTreeMap<String, usize> {
    let mut words = BTreeMap::new();
    for word in code(text).split(|c: char| !c.is_alphanumeric() && c != '_') {
        *words.entry(word.to_owned()).or_default() += 1;
    }
    words
}

/// The codes that the parts of a script give names, and the parts without the lines that do.
fn codes(script: &Script) -> (BTreeSet<String>, String) {
    let (mut names, mut rest) = (BTreeSet::new(), String::new());
    for (_, part) in script.parts {
        let mut lines = part.lines();
        while let Some(line) = lines.next() {
            if line.starts_with("-- codes:") {
                let line = lines.next().expect("the codes");
                let listed = line["local ".len()..].split(" = ").next().unwrap_or_default();
                names.extend(listed.split(", ").map(str::to_owned));
            } else {
                rest += line;
                rest.push('\n');
            }
        }
    }
    (names, rest)
}

/// The body of a script names every code of its header, and no other, unless a part answers with
/// it.
#[test]
fn every_header_lists_the_codes_that_its_script_answers_with() {
    for script in scripts() {
        let listed: BTreeSet<_> = header_of(script).codes.into_iter().collect();
        let (codes, parts) = codes(script);
        let (in_body, in_parts) = (words(script.text), words(&parts));
        assert!(listed.is_subset(&codes), "{}", script.name);
        for code in codes.iter().filter(|code| !in_parts.contains_key(*code)) {
            let is_named = in_body.contains_key(code);
            assert_eq!(is_named, listed.contains(code), "{}: {code}", script.name);
        }
    }
}

/// Core writes the value of a constant in place of its name, in all parts of a script: a name that
/// two of them define would have the value of the last in both.
#[test]
fn a_name_in_capitals_is_defined_once_in_a_script() {
    let is_in_capitals = |name: &&str| {
        name.starts_with(|c: char| c.is_ascii_uppercase())
            && !name.contains(|c: char| c.is_ascii_lowercase())
    };
    for script in scripts() {
        let mut defined = BTreeSet::new();
        let parts = script.parts.iter().map(|(_, part)| *part);
        for line in parts.chain([script.text]).flat_map(str::lines) {
            let names = line.strip_prefix("local ").and_then(|line| line.split_once(" = "));
            let names = names.map_or("", |(names, _)| names).split(", ");
            for name in names.filter(is_in_capitals) {
                assert!(defined.insert(name), "{}: {name}", script.name);
            }
        }
    }
}

/// What is sent is what is needed: a name that no key has would be nil, or another script's.
#[test]
fn a_script_takes_the_keys_that_it_and_its_parts_name_and_no_others() {
    for script in scripts() {
        let all = keys_of_the_readme(script.name.split('.').next().unwrap_or_default());
        assert!(!all.is_empty(), "{}: the keys stand in the README", script.name);
        let parts = script.parts.iter().map(|(_, text)| *text);
        let named = words(&parts.chain([script.text]).collect::<String>());
        let taken: Vec<_> = script.keys.split_whitespace().collect();
        // Those that take all away name none.
        let needed: Vec<_> = if script.source().contains("unpack(KEYS") {
            all.clone()
        } else {
            all.iter().copied().filter(|key| is_used(&named, key)).collect()
        };
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
