//! The JSON Schema of the configuration file, for editors, generated from the defaults file.

use std::fs;

use anteroom_testkit::{docs, repository};
use serde_json::{Map, Value, json};

use super::defaults::{Comment, Entry, Key, Kind, Section, entries};

/// Every entry of the defaults file at its place in a tree of tables.
fn schema() -> Value {
    let mut root = table("The configuration of Anteroom.");
    for entry in entries() {
        match entry {
            Entry::Section(Section { name, comment }) => {
                let table = table(&comment.text);
                let (parent, last) = name.rsplit_once('.').unwrap_or(("", &name));
                let parent = table_at(&mut root, parent);
                if ["*", "NAME"].contains(&last) {
                    // The defaults of a kind need nothing, and neither does a table over them.
                    parent["patternProperties"]["^(\\*|[a-z0-9-]{1,40})$"] = table;
                } else {
                    parent["properties"][last] = table;
                }
            }
            Entry::Key(key) => {
                let table = table_at(&mut root, &key.section);
                table["properties"][&key.key] = of_key(&key);
            }
        }
    }
    root["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    root
}

fn table(text: &str) -> Value {
    json!({ "type": "object", "description": text, "additionalProperties": false })
}

/// The schema of the table with this name, made as far as it is not there.
fn table_at<'a>(root: &'a mut Value, section: &str) -> &'a mut Value {
    section.split('.').filter(|part| !part.is_empty()).fold(root, |table, part| {
        if ["*", "NAME"].contains(&part) {
            return &mut table["patternProperties"]["^(\\*|[a-z0-9-]{1,40})$"];
        }
        let table = &mut table["properties"][part];
        if table.is_null() {
            *table = self::table("One table for each name.");
        }
        table
    })
}

fn of_key(key: &Key) -> Value {
    let Comment { text, range, unset, .. } = &key.comment;
    let unset = unset.as_ref().map(|unset| format!("Unset: {unset}"));
    let facts = [Some(text), range.as_ref(), unset.as_ref()];
    let description = facts.into_iter().flatten().cloned().collect::<Vec<_>>().join("\n");
    let mut schema = match key.kind() {
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::Whole => with_bounds("integer", range.as_deref()),
        Kind::Decimal => with_bounds("number", range.as_deref()),
        Kind::Table => {
            // What its values are shows in the example.
            let of = if key.value.contains('"') { "string" } else { "integer" };
            json!({ "type": "object", "additionalProperties": { "type": of } })
        }
        Kind::List if key.key == "descriptors" => descriptors(),
        Kind::List => json!({ "type": ["array", "string"], "items": { "type": "string" } }),
        Kind::Duration | Kind::Date | Kind::Text => json!({ "type": "string" }),
    };
    if let Some(values) = range.as_ref().and_then(|range| range.strip_prefix("Values: ")) {
        schema["enum"] = values.trim_end_matches('.').split(", ").collect();
    }
    schema["description"] = description.into();
    if !key.is_example {
        let default: toml::Table = toml::from_str(&format!("it = {}", key.value)).expect("TOML");
        schema["default"] = serde_json::to_value(&default["it"]).expect("JSON");
    }
    schema
}

/// The only list of tables.
fn descriptors() -> Value {
    let text = json!({ "type": "string" });
    let entry = json!({
        "type": "object", "additionalProperties": false, "required": ["key"],
        "properties": { "key": text, "value": text, "prefix": text },
        "not": { "required": ["value", "prefix"] },
    });
    let descriptor = json!({
        "type": "object", "additionalProperties": false,
        "required": ["domain", "entries", "limit"],
        "properties": {
            "domain": text, "limit": text, "key": text, "group": text,
            "entries": { "type": "array", "minItems": 1, "items": entry },
        },
    });
    json!({ "type": "array", "items": descriptor })
}

/// A number, with the bounds that are numbers too: `1 to 1 000`, `above 0, at most 1`.
fn with_bounds(of_type: &str, range: Option<&str>) -> Value {
    let mut schema = Map::from_iter([("type".to_owned(), of_type.into())]);
    let range = range.and_then(|range| range.strip_prefix("Range: ")).unwrap_or_default();
    let number = |text: &str| {
        let digits = text.split(',').next().unwrap_or_default().replace(' ', "");
        digits.trim_end_matches('.').parse::<u64>().ok()
    };
    let (least, most) = match range.strip_prefix("above ") {
        Some(range) => (("exclusiveMinimum", range), range.split_once("at most ")),
        None => {
            (("minimum", range.split(" to ").next().unwrap_or_default()), range.split_once(" to "))
        }
    };
    schema.extend(number(least.1).map(|bound| (least.0.to_owned(), bound.into())));
    let most = most.and_then(|(_, most)| number(most));
    schema.extend(most.map(|bound| ("maximum".to_owned(), bound.into())));
    schema.into()
}

#[test]
fn the_schema_of_the_configuration_is_generated() {
    let text = serde_json::to_string_pretty(&schema()).expect("JSON");
    docs::is_generated(docs::CONFIGURATION_SCHEMA, &(text + "\n"));
}

fn is_valid(toml: &str) -> Result<(), String> {
    let table: toml::Table = toml::from_str(toml).map_err(|error| error.to_string())?;
    let file = serde_json::to_value(table).expect("JSON");
    let validator = jsonschema::validator_for(&schema()).expect("a schema");
    validator.validate(&file).map_err(|error| format!("{}: {error}", error.instance_path()))
}

#[test]
fn every_file_of_the_repository_is_valid() {
    let mut found = 0;
    for (path, text) in repository::files(".toml") {
        if path.ends_with("anteroom.toml") || path.ends_with("demo.toml") {
            is_valid(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            found += 1;
        }
    }
    assert!(found >= 5, "{found}");
    let defaults = root_file("services/config/default.toml");
    is_valid(&defaults).expect("the defaults");
    // The examples of keys without a default.
    let examples = defaults.lines().map(|line| match line.strip_prefix('#') {
        Some(rest) if rest.starts_with(|it: char| it == '[' || it.is_ascii_lowercase()) => rest,
        _ => line,
    });
    let examples = examples.collect::<Vec<_>>().join("\n").replace("[keys.NAME]", "[keys.shop]");
    is_valid(&examples).expect("the examples");
}

fn root_file(path: &str) -> String {
    fs::read_to_string(repository::root().join(path)).expect(path)
}

#[test]
fn what_the_services_refuse_is_invalid() {
    for (toml, place) in [
        ("[queue.concert]", ""),
        ("[queues.Concert]", "/queues"),
        ("[queues.concert]\nbach = 1", "/queues/concert"),
        ("[queues.concert]\nbatch = \"5\"", "/queues/concert/batch"),
        ("[queues.concert]\nbatch = 0", "/queues/concert/batch"),
        ("[queues.concert]\nbatch = 1_000_001", "/queues/concert/batch"),
        ("[queues.concert]\ninterval = 10", "/queues/concert/interval"),
        ("[queues.concert]\npace = \"odd\"", "/queues/concert/pace"),
        ("[queues.concert]\nexempt = [10]", "/queues/concert/exempt/0"),
        ("[queues.concert]\nreturn_query = \"true\"", "/queues/concert/return_query"),
        ("[queues.a.adaptive]\nmin = 1", "/queues/a/adaptive"),
        ("[queues.a.adaptive]\nsuccess_target = 0", "/queues/a/adaptive/success_target"),
        ("[events.e]\nover_apply = 0.5", "/events/e/over_apply"),
        ("[keys.shop]\nrole = \"root\"", "/keys/shop/role"),
        ("[pools.p]\noptions = { small = \"1\" }", "/pools/p/options/small"),
        ("[[envoy.descriptors]]\ndomain = \"a\"", "/envoy/descriptors/0"),
        (
            "[[envoy.descriptors]]\ndomain = \"a\"\nlimit = \"b\"\nentries = []",
            "/envoy/descriptors/0/entries",
        ),
    ] {
        let error = is_valid(toml).expect_err(toml);
        assert!(error.starts_with(&format!("{place}: ")), "{toml}: {error}");
    }
}
