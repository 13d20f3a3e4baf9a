//! Defaults → file → environment.

use std::{path::Path, time::Duration};

use anteroom_config::{Config, OnStoreError, Rate, Service, StoreMode, WithoutStore};

fn load(toml: &str, variables: &[(&str, &str)]) -> Config {
    crate::load(toml, variables).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn the_environment_goes_over_the_file_over_the_defaults() {
    let toml = "[store]\nurl = \"redis://file:1\"\n[scheduler]\ntick = \"50ms\"\n";
    let config = load(toml, &[("ANTEROOM_STORE__URL", "redis://environment:2")]);
    assert_eq!(config.store().urls, ["redis://environment:2"]);
    assert_eq!(config.scheduler.tick, Duration::from_millis(50));
    assert_eq!(config.scheduler.sweep_tick, Duration::from_secs(1));
}

#[test]
fn the_environment_can_say_everything() {
    let config = load(
        "",
        &[
            ("ANTEROOM_QUEUES__NIGHT-SALE__BATCH", "1_000"),
            ("ANTEROOM_QUEUES__NIGHT-SALE__RETURN_QUERY", "true"),
            ("ANTEROOM_QUEUES__NIGHT-SALE__TITLE", "2027"),
            ("ANTEROOM_ADMISSION__TRUSTED_PROXIES", "10.1.2.3/8, 192.0.2.1 ,2001:db8::/32"),
            ("ANTEROOM_STORE__MODE", "cluster"),
            ("ANTEROOM_STORE__NODES", "redis://a:1,redis://b:2"),
            ("ANTEROOM_ADMISSION__COOKIE_DOMAIN", ""),
        ],
    );
    let queue = &config.queues["night-sale"];
    assert_eq!((queue.rules.batch, queue.return_query), (Some(1000), true));
    assert_eq!(queue.title(), Some("2027"));
    let proxies: Vec<String> =
        config.admission.trusted_proxies.iter().map(ToString::to_string).collect();
    assert_eq!(proxies, ["10.0.0.0/8", "192.0.2.1/32", "2001:db8::/32"]);
    assert_eq!(config.store().urls, ["redis://a:1", "redis://b:2"]);
    assert_eq!(config.store.mode, StoreMode::Cluster);
    assert_eq!(config.admission.cookie_domain, None, "an empty variable is not set");
}

/// Kubernetes puts variables for each Service into every pod; ours are named anteroom-….
#[test]
fn variables_of_kubernetes_are_ignored() {
    load(
        "",
        &[
            ("ANTEROOM_ADMISSION_PORT", "tcp://10.0.0.1:8080"),
            ("ANTEROOM_ADMISSION_SERVICE_HOST", "10.0.0.1"),
            ("ANTEROOM_ADMISSION_PORT_8080_TCP_ADDR", "10.0.0.1"),
            ("ANTEROOM_CONFIG", "/etc/anteroom.toml"),
            ("PATH", "/bin"),
        ],
    );
}

#[test]
fn every_queue_starts_from_the_star() {
    let config = load(
        "[queues.\"*\"]\nbatch = 100\nidle_ttl = \"2m\"\n[queues.a]\n[queues.b]\nbatch = 7\n",
        &[("ANTEROOM_QUEUES__A__IDLE_TTL", "3m")],
    );
    assert_eq!(config.queues.keys().collect::<Vec<_>>(), ["a", "b"]);
    let [a, b] = [&config.queues["a"], &config.queues["b"]];
    assert_eq!((a.rules.batch, b.rules.batch), (Some(100), Some(7)));
    assert_eq!(
        (a.rules.idle_ttl, b.rules.idle_ttl),
        (Duration::from_secs(180), Duration::from_secs(120))
    );
}

#[test]
fn one_address_that_can_hold_half_of_the_slots_is_warned_of() {
    let held = |queue: &str| {
        let config = load(&format!("[queues.a]\n{queue}"), &[]);
        let queue = &config.queues["a"];
        let warning = queue.crowding("a", &queue.rules)?;
        let (_, rest) = warning.split_once("can hold ").expect("a number");
        rest.split_once(" of").expect("a number").0.parse::<u64>().ok()
    };
    // A quarter of the capacity, at least 60.
    assert_eq!(held("capacity = 300"), None);
    assert_eq!(held("capacity = 121"), None);
    assert_eq!(held("capacity = 120"), Some(60));
    assert_eq!(held("capacity = 3"), Some(3));
    // No bound helps here.
    assert_eq!(held("capacity = 2"), None);
    assert_eq!(held("capacity = 120\nplaces_per_address = 59"), None);
    assert_eq!(held("capacity = 300\nplaces_per_address = 150"), Some(150));
    assert_eq!(held("capacity = 300\nplaces_per_address = 0"), Some(300));
    // Without a bound the joins of the longest session count.
    let joins = "places_per_address = 0\njoins_per_address = \"20/1m\"\nsession_max = \"5m\"";
    assert_eq!(held(&format!("capacity = 240\n{joins}")), Some(120));
    assert_eq!(held(&format!("capacity = 241\n{joins}")), None);
    assert_eq!(held("batch = 10"), None);
}

#[test]
fn networks_of_mapped_addresses_are_those_of_ipv4() {
    let text = "[admission]\ntrusted_proxies = [\"::ffff:10.0.0.0/104\", \"::ffff:192.0.2.1\", \
                \"::/3\", \"2001:db8::/32\"]\n";
    let config = load(text, &[]);
    let proxies = config.admission.trusted_proxies.iter().map(ToString::to_string);
    let expected = ["10.0.0.0/8", "192.0.2.1/32", "::/3", "2001:db8::/32"];
    assert_eq!(proxies.collect::<Vec<_>>(), expected);
}

#[test]
fn values_have_their_meaning() {
    let config = load(
        "[queues.a]\ncapacity = 1\njoins_per_address = \"none\"\n\
            places_per_address = 0\npublic_url = \"https://a.example/x/\"\n\
         joins_at = \"2027-01-15T20:00:00+09:00\"\nopens_at = \"2027-01-15T11:00:01Z\"\n\
         closes_at = 2027-01-15T08:00:00-03:30\n\
         on_store_error = \"open\"\nopen_rate = \"1_000/1s\"\nopen_for = \"1h 30m\"\n\
         return_to_origins = [\"https://A.example:443/\"]\n",
        &[],
    );
    let queue = &config.queues["a"];
    let rules = &queue.rules;
    let opening = 1_800_010_800;
    assert_eq!(rules.joins_at, Some(opening));
    assert_eq!(rules.opens_at, Some(opening + 1));
    assert_eq!(rules.closes_at, Some(opening + 1800));
    assert_eq!(queue.joins_per_address, None);
    assert_eq!(queue.public_url.as_str(), "https://a.example/x");
    assert_eq!(queue.on_store_error, OnStoreError::Open);
    let rate = Rate { count: 1000, window: Duration::from_secs(1) };
    let lasts = Duration::from_secs(5400);
    assert_eq!(queue.without_store(), WithoutStore::Open { rate, lasts });
    assert_eq!(queue.return_to_origins[0].as_str(), "https://a.example");
}

#[test]
fn warnings_are_for_the_service_that_they_concern() {
    let config = load("[queues.a]\nbatch = 1\n", &[]);
    assert_eq!(config.warnings(Service::Scheduler), Vec::<String>::new());
    let warnings = config.warnings(Service::Admission);
    assert!(warnings[0].starts_with("admission.token_secrets is empty"), "{warnings:?}");
    assert!(warnings[1].starts_with("no [keys.*] are declared"), "{warnings:?}");
    assert_eq!(warnings.len(), 2);
}

#[test]
fn what_needs_a_restart_is_named() {
    let running = load("", &[]);
    let queue = load("[queues.a]\nbatch = 1\n[admission]\nsse_max = 3\n", &[]);
    assert_eq!(queue.needs_restart(&running, Service::Admission), [""; 0]);
    let toml = "[store]\nurl = \"redis://b\"\n[admission]\nlisten = \"127.0.0.1:1\"\n\
                [scheduler]\nmetrics_listen = \"127.0.0.1:2\"\n";
    let moved = load(toml, &[("ANTEROOM_STORE__PASSWORD", "x")]);
    let admission = ["store", "admission.listen"];
    assert_eq!(moved.needs_restart(&running, Service::Admission), admission);
    let scheduler = ["store", "scheduler.metrics_listen"];
    assert_eq!(moved.needs_restart(&running, Service::Scheduler), scheduler);
}

#[test]
fn the_process_environment_is_read() {
    // Nothing of ours is set in a test run; this only shows that the way is open.
    Config::load(None::<&Path>).expect("the defaults are valid");
}
