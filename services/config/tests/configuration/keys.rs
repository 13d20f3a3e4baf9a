//! The defaults file is the documentation: it and the types name the same keys, and none goes.

use anteroom_core::pool::Rules as PoolRules;
use anteroom_core::rules::Amounts;
use std::collections::{BTreeMap, BTreeSet};

use anteroom_config::{DEFAULT_TOML, LimitWithoutStore, Loader, Rate, Service, WithoutStore};
use anteroom_core::breaker::Rules as BreakerRules;
use anteroom_core::limit::{Algorithm, Rule};
use anteroom_core::queue::{Pace, RULES, Rules};
use std::time::Duration;

use super::defaults::{self, Key};

/// Keys that files and environments out there use, by section. A new key need not be added here.
const PROMISED: [(&str, &str); 14] = [
    (
        "store",
        "url mode nodes sentinel_master username password password_file ca_file connect_timeout \
         command_timeout request_timeout",
    ),
    ("log", "format level"),
    ("keys.NAME", "digest role scopes"),
    (
        "admission",
        "listen service_listen metrics_listen token_secrets token_secrets_file identity_secrets \
         identity_secrets_file development trusted_proxies allowed_origins cookie_domain \
         secure_cookies \
         max_connections max_concurrent_requests first_byte_timeout header_timeout \
         request_timeout write_timeout drain_delay drain_timeout sse_max sse_per_address \
         lane_bound",
    ),
    ("scheduler", "metrics_listen tick sweep_tick snapshot_tick"),
    ("issuer", "metrics_listen concurrency drain_timeout"),
    (
        "envoy",
        "listen metrics_listen max_message_bytes request_timeout drain_delay drain_timeout \
         descriptors",
    ),
    (
        "queues.*",
        "capacity batch interval pace claim_ttl session_ttl session_max unproven_ttl \
         renew_on_authorize local_answers board idle_ttl keep_ttl first_poll_ttl max_waiting joins_at \
         opens_at closes_at joins_per_address places_per_address exempt requests_per_place \
         public_url return_to_origins return_query pass_preflight on_store_error open_rate open_for title health adaptive page",
    ),
    ("queues.*.page", "title message accent background logo_file support_url theme languages"),
    ("queues.*.adaptive", "min_batch max_batch success_target p95_target"),
    ("limits.*", "algorithm limit window shadow on_store_error"),
    ("targets.*", "window threshold min_samples store quorum open_for probes"),
    (
        "events.*",
        "stock over_apply opens_at ends_at issue lease max_attempts max_per_second kick_interval \
         keep_ttl url timeout secret_file allow_private",
    ),
    ("pools.*", "funds on_failover hold_ttl ledger_keep options"),
];

fn words(text: &str) -> BTreeSet<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

fn load(toml: &str) -> Result<anteroom_config::Config, String> {
    crate::load(toml, &[])
}

/// The keys of the defaults file, by section.
fn documented_keys() -> BTreeMap<String, BTreeSet<String>> {
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in defaults::keys() {
        if let Some((section, table)) = line.section.split_once(".*.") {
            found.entry(format!("{section}.*")).or_default().insert(table.to_owned());
        }
        assert!(found.entry(line.section).or_default().insert(line.key.clone()), "{}", line.key);
    }
    found
}

#[test]
fn every_promised_key_is_documented() {
    let documented = documented_keys();
    for (section, keys) in PROMISED {
        let gone: Vec<_> = words(keys).difference(&documented[section]).cloned().collect();
        assert_eq!(gone, [""; 0], "{section}");
    }
}

/// The comments are the reference of the keys: each has its own, in the form that
/// `docs/reference/configuration.md` is made of.
#[test]
fn every_key_has_a_comment_of_its_own() {
    for Key { section, key, is_example, comment, .. } in defaults::keys() {
        let key = format!("{section}.{key}");
        assert!(!comment.text.is_empty(), "{key} has no comment of its own");
        let is_unset = comment.unset.is_some() || is_example && comment.text.contains("Required");
        assert_eq!(is_example, is_unset, "{key}: what holds while it is unset?");
    }
    for line in DEFAULT_TOML.lines() {
        assert!(line.chars().count() <= 100 && !line.contains("(restart)"), "{line}");
    }
}

/// So that no operator waits for a change that does not come, or restarts for one that has.
#[test]
fn the_keys_that_take_effect_after_a_restart_are_marked() {
    const OTHER_VALUES: [&str; 10] = [
        "true",
        "false",
        "77",
        "77_777",
        "\"127.0.0.1:7001\"",
        "\"120ms\"",
        "\"20s\"",
        "\"200s\"",
        "\"text\"",
        "\"warn\"",
    ];
    let running = Loader::new(None).load().expect("valid");
    let mut marked = 0;
    for line in defaults::keys() {
        let service = match line.section.as_str() {
            "store" | "log" | "admission" => Service::Admission,
            "scheduler" => Service::Scheduler,
            "issuer" => Service::Issuer,
            "envoy" => Service::Envoy,
            // Entities and keys come and go while a service runs.
            _ => {
                assert!(!line.needs_restart, "{}.{}", line.section, line.key);
                continue;
            }
        };
        let key = format!("{}.{}", line.section, line.key);
        marked += usize::from(line.needs_restart);
        // These sections are compared as a whole.
        if ["store", "log"].contains(&line.section.as_str()) {
            assert!(line.needs_restart, "{key}");
            continue;
        }
        let is_of_its_kind = |value: &&&str| {
            let kind = |text: &str| text.bytes().next().map(|byte| byte.is_ascii_digit());
            kind(value) == kind(&line.value) && value.contains('"') == line.value.contains('"')
        };
        let needs_restart: Vec<bool> = OTHER_VALUES
            .iter()
            .filter(is_of_its_kind)
            .filter_map(|value| load(&format!("[{}]\n{} = {value}", line.section, line.key)).ok())
            .map(|config| !config.needs_restart(&running, service).is_empty())
            .collect();
        assert_eq!(needs_restart.contains(&true), line.needs_restart, "{key}: {needs_restart:?}");
    }
    assert!(marked > 20, "{marked}");
}

/// The refusal of an unknown key lists the fields of the type.
#[test]
fn the_types_know_exactly_the_documented_keys() {
    for (section, keys) in documented_keys() {
        let header = section.replace("NAME", "some").replace('*', "some");
        let error = load(&format!("[{header}]\nno_such_key = 1\n")).expect_err("unknown key");
        let (front, known) = error.split_once(": unknown key, expected ").expect("a list");
        assert!(front.starts_with(&format!("{header}.no_such_key (")), "{error}");
        // The keys are in back quotes, with any text between them.
        let known = known.split('`').skip(1).step_by(2).map(str::to_owned);
        assert_eq!(known.collect::<BTreeSet<_>>(), keys, "{section}");
    }
}

#[test]
fn unknown_sections_are_refused() {
    for section in ["stroe", "event"] {
        let error = load(&format!("[{section}]\nlimit = 5\n")).expect_err("unknown section");
        assert!(
            error.starts_with(section.split('.').next().expect("one"))
                && error.contains("): unknown key, expected one of `store`, "),
            "{error}"
        );
    }
}

#[test]
fn the_defaults_are_valid_and_declare_nothing() {
    let config = Loader::new(None).load().expect("valid");
    assert!(config.declares_nothing() && config.keys.is_empty());
    assert_eq!(config.store().urls, ["redis://127.0.0.1:6379"]);
    assert_eq!(config.store().request_timeout, Duration::from_secs(1));
    assert_eq!(config.admission.listen.to_string(), "127.0.0.1:8080");
    assert_eq!(config.admission.sse_max, 8000);
    assert_eq!(config.admission.sse_per_address, None);
}

#[test]
fn the_defaults_of_a_queue_are_those_of_the_table_of_its_rules() {
    let config = load("[queues.some]\nbatch = 7").expect("valid");
    // What a version without the rule has written means off.
    let rules = Rules { batch: Some(7), local_answers: true, ..Rules::default() };
    assert_eq!(config.queues["some"].rules, rules);
    for rule in RULES.iter().filter(|rule| rule.in_file) {
        let mut lines = defaults::keys().filter(|line| line.section == "queues.*");
        let line = lines.find(|line| line.key == rule.name).expect(rule.name);
        assert_eq!(line.is_example, (rule.default)().is_none(), "{}", rule.name);
    }
}

#[test]
fn a_batch_that_adapts_needs_no_other_rule_and_begins_at_its_least() {
    let adaptive = "[queues.some.adaptive]\nmin_batch = 20\nmax_batch = 90\nsuccess_target = 0.9\n";
    let load = |own: &str| {
        let toml = format!("[targets.shop]\n[queues.some]\nhealth = \"shop\"\n{own}{adaptive}");
        load(&toml).expect("valid").queues["some"].clone()
    };
    let queue = load("");
    assert_eq!((queue.rules.batch, queue.rules.capacity), (Some(20), None));
    let rules = queue.adaptive.expect("it adapts").rules(7);
    assert_eq!((rules.min_batch, rules.max_batch), (20, 90));
    assert_eq!((rules.success_target, rules.min_samples, rules.p95_target), (900_000, 7, None));
    assert_eq!(load("batch = 50\n").rules.batch, Some(50));
    assert_eq!(load("capacity = 5\n").rules.batch, Some(20));
}

/// What the file shows behind a `#` is valid too, apart from secrets and their files.
#[test]
fn the_shown_values_are_valid() {
    let mut toml = String::from(
        "[targets.reservations]\n[limits.login]\nlimit = 5\n[store]\nmode = \"sentinel\"\n",
    );
    let mut section = "store".to_owned();
    for line in defaults::keys().filter(|line| line.is_example) {
        // A webhook is none without its secret.
        let needs_secret = line.section == "events.*" && line.key == "url";
        // Only one of its two names can be set.
        let is_other_name = line.section == "queues.*" && line.key == "title";
        if line.key == "password" || line.key.ends_with("_file") || needs_secret || is_other_name {
            continue;
        }
        if line.section != section {
            section = line.section;
            toml += &format!("[{}]\n", section.replace('*', "concert").to_lowercase());
        }
        toml += &format!("{} = {}\n", line.key, line.value);
    }
    let config = load(&toml).unwrap_or_else(|error| panic!("{error}\n{toml}"));
    assert_eq!(config.queues["concert"].rules.capacity, Some(5000));
    assert_eq!(config.keys["name"].scopes, []);
}

/// The sample of the specification, without the sections that come later.
#[test]
fn the_specifications_sample_is_valid() {
    let digest = "ab".repeat(32);
    let config = load(&format!(
        r#"
        [store]
        url = "redis://127.0.0.1:6379"
        [keys.shop]
        digest = "sha256:{digest}"
        role = "backend"
        scopes = ["pools:reward"]
        [admission]
        listen = "127.0.0.1:8080"
        service_listen = "127.0.0.1:8081"
        metrics_listen = "127.0.0.1:9090"
        token_secrets = []
        identity_secrets = []
        trusted_proxies = []
        [scheduler]
        metrics_listen = "127.0.0.1:9091"
        tick = "100ms"
        [queues.concert]
        capacity = 5000
        batch = 2200
        interval = "10s"
        pace = "even"
        claim_ttl = "60s"
        session_ttl = "5m"
        session_max = "30m"
        unproven_ttl = "10s"
        renew_on_authorize = true
        local_answers = true
        idle_ttl = "10m"
        keep_ttl = "30m"
        first_poll_ttl = "60s"
        max_waiting = 1_000_000
        joins_per_address = "600/1m"
        requests_per_place = 50
        public_url = "http://127.0.0.1:8080"
        return_to_origins = []
        on_store_error = "hold"
        [limits.login]
        on_store_error = "closed"
        algorithm = "log"
        limit = 5
        window = "1m"
        shadow = false
        [targets.reservations]
        window = "5m"
        threshold = 0.5
        min_samples = 20
        store = "buckets"
        quorum = 2
        open_for = "10s"
        probes = 5
        [pools.reward]
        funds = 10_000_000
        on_failover = "continue"
        hold_ttl = "60s"
        options = {{ hundred = 1_000_000, two-hundred = 5_000_000, five-hundred = 20_000_000 }}
        "#
    ))
    .expect("valid");
    let queue = &config.queues["concert"];
    let rules = &queue.rules;
    assert_eq!((rules.capacity, rules.batch), (Some(5000), Some(2200)));
    assert_eq!((rules.interval, rules.pace), (Duration::from_secs(10), Pace::Even));
    assert_eq!(rules.max_waiting, 1_000_000);
    let rate = Rate { count: 600, window: Duration::from_secs(60) };
    assert_eq!(queue.joins_per_address, Some(rate));
    assert_eq!(queue.without_store(), WithoutStore::Hold);
    assert_eq!(queue.public_url.as_str(), "http://127.0.0.1:8080");
    assert_eq!(config.keys["shop"].digest.0, [0xab; 32]);
    let login = config.limits["login"];
    let (algorithm, window) = (Algorithm::Log, Duration::from_secs(60));
    assert_eq!(login.rule(), Rule { algorithm, limit: 5, window, shadow: false });
    assert_eq!(login.on_store_error, LimitWithoutStore::Closed);
    let short = load("[limits.login]\nlimit = 5").expect("valid");
    assert_eq!(short.limits["login"], login);
    // A queue that says nothing but its batch is the same: the sample is the defaults.
    let short = load("[queues.concert]\nbatch = 2200\ncapacity = 5000").expect("valid");
    assert_eq!(short.queues["concert"], *queue);
    let short = load("[targets.reservations]").expect("valid");
    assert_eq!(short.targets, config.targets);
    assert_eq!(config.targets["reservations"].rules(), BreakerRules::default());
    let reward = &config.pools["reward"].rules;
    assert_eq!(reward.options.get("two-hundred"), Some(5_000_000));
    let short = load("[pools.reward]").expect("valid");
    let nothing = PoolRules { funds: None, options: Amounts::default(), ..reward.clone() };
    assert_eq!(short.pools["reward"].rules, nothing);
    assert_eq!(nothing, PoolRules::default());
}
