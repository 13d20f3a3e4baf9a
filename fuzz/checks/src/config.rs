//! A configuration is taken whole or refused with one line that names the key, and never shows a
//! secret.

use std::io::Write as _;

use anteroom_config::{Config, Loader, Service};
use anteroom_core::event::Issue;
use toml::de::{DeTable, DeValue};

/// The keys whose values are secrets.
const SECRETS: [(&str, &str); 3] =
    [("store", "password"), ("admission", "token_secrets"), ("admission", "identity_secrets")];

/// The input is a TOML file; its comments of the form `#!NAME=VALUE` are the environment.
pub fn check(data: &[u8]) {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(data).expect("written");
    let text = std::str::from_utf8(data).ok();
    let lines = text.unwrap_or_default().lines().filter_map(|line| line.strip_prefix("#!"));
    let variables: Vec<_> = lines.filter_map(|line| line.split_once('=')).collect();
    let loader = Loader::new(Some(file.path())).environment(variables.iter().copied());
    let name = file.path().display().to_string();
    match loader.load() {
        Ok(config) => good(&config, &loader),
        Err(error) => bad(&error.to_string(), &name, text, &variables),
    }
}

fn good(config: &Config, loader: &Loader) {
    let again = loader.load().expect("it was good");
    assert_eq!(format!("{config:?}"), format!("{again:?}"));
    for service in [Service::Admission, Service::Scheduler, Service::Issuer] {
        loader.clone().service(service).load().expect("a service asks for less, never for more");
        assert!(again.needs_restart(config, service).is_empty());
        config.warnings(service);
    }
    config.store();
    for (name, queue) in &config.queues {
        let rules = &queue.rules;
        assert!(rules.capacity.is_some() || rules.batch.is_some(), "{name}");
        assert!(rules.capacity != Some(0) && rules.batch != Some(0), "{name}");
        assert!(rules.session_ttl <= rules.session_max, "{name}");
        assert!(rules.first_poll_ttl <= rules.idle_ttl, "{name}");
        queue.without_store();
    }
    for (name, event) in &config.events {
        let webhook = event.rules.issue == Issue::Webhook;
        assert!(!webhook || event.endpoint().is_some() && event.secret_file.is_some(), "{name}");
    }
    for (name, limit) in &config.limits {
        assert!((1..=limit.algorithm.max_limit()).contains(&limit.limit), "{name}");
        let seconds = limit.window.as_secs();
        assert!((1..=86_400).contains(&seconds) && limit.window.subsec_nanos() == 0, "{name}");
    }
}

fn bad(line: &str, file: &str, text: Option<&str>, variables: &[(&str, &str)]) {
    assert!(!line.contains(char::is_control), "one line that a terminal can show: {line:?}");
    let Some((text, document)) = text.and_then(|text| Some((text, DeTable::parse(text).ok()?)))
    else {
        assert!(line.starts_with(file), "names the file: {line}");
        return;
    };
    let document = document.into_inner();
    let sections =
        ["store", "log", "keys", "admission", "scheduler", "queues", "limits", "targets"];
    let in_file = document.keys().map(|key| key.as_ref().as_ref());
    let given = variables.iter().filter_map(|(name, _)| {
        Some((*name, name.get("ANTEROOM_".len()..)?.split("__").next()?.to_ascii_lowercase()))
    });
    let mut names: Vec<_> = sections.into_iter().chain(in_file).map(str::to_owned).collect();
    names.extend(given.flat_map(|(variable, section)| [variable.to_owned(), section]));
    let named = names.iter().map(|name| shown(name)).any(|name| {
        // A key without a letter is shown as an empty one.
        line.starts_with(if name.is_empty() { "\"\"" } else { &name })
    });
    assert!(named, "names a key: {line}");
    for secret in secrets(&document, variables) {
        // Unless it is elsewhere too, where it is none.
        let alone = text.matches(secret.as_str()).count() == 1;
        assert!(secret.len() < 8 || !alone || !line.contains(&secret), "shows {secret}: {line}");
    }
}

/// A key as an error shows it.
fn shown(key: &str) -> String {
    let shown = |char: char| {
        if char.is_control() { char.escape_default().to_string() } else { char.to_string() }
    };
    key.split_whitespace().collect::<Vec<_>>().join(" ").chars().map(shown).collect()
}

/// The values of the keys of secrets, in the file and in the environment.
fn secrets(document: &DeTable<'_>, variables: &[(&str, &str)]) -> Vec<String> {
    let in_file = SECRETS.iter().flat_map(|(section, key)| {
        match document.get(*section).map(|value| value.as_ref()) {
            Some(DeValue::Table(table)) => table.get(*key).map(|value| texts(value.as_ref())),
            _ => None,
        }
    });
    let is_secret = |name: &str| {
        SECRETS
            .iter()
            .any(|(section, key)| name.eq_ignore_ascii_case(&format!("ANTEROOM_{section}__{key}")))
    };
    let given = variables.iter().filter(|(name, _)| is_secret(name));
    // Several may stand in one variable.
    let given = given.flat_map(|(_, value)| value.split(',').map(|text| text.trim().to_owned()));
    in_file.flatten().chain(given).collect()
}

fn texts(value: &DeValue<'_>) -> Vec<String> {
    match value {
        DeValue::String(text) => vec![text.clone().into_owned()],
        DeValue::Array(values) => values.iter().flat_map(|value| texts(value.as_ref())).collect(),
        _ => Vec::new(),
    }
}
