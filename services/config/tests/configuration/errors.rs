//! Every bad value is refused with one line that names the key, the value and the rule.

use std::process::Command;

use anteroom_config::{Loader, Service};

use crate::load;

/// The rule of a pool's options.
const OPTIONS: &str = "must be a table of at most 100 names of a-z, 0-9 and -, each with a whole \
    number from 1 to 9_007_199_254_740_991";

/// Loads this TOML and these variables; the error, with the path of the file as `FILE`.
fn refused(toml: &str, variables: &[(&str, &str)]) -> String {
    let error = load(toml, variables).expect_err(toml);
    assert!(!error.contains('\n'), "one line: {error}");
    error
}

#[test]
fn numbers_have_their_rule() {
    let rule = "must be a whole number from 1 to 1_000_000";
    for (given, shown) in [
        ("0", "0"),
        ("-1", "-1"),
        ("1_000_001", "1000001"),
        ("9223372036854775807", "9223372036854775807"),
        ("1.5", "1.5"),
        ("nan", "NaN"),
        ("inf", "inf"),
        ("1e300", "1e300"),
        ("1e999", "inf"),
        ("99999999999999999999", "1e20"),
        ("-99999999999999999999", "-1e20"),
        ("true", "true"),
        ("\"many\"", "\"many\""),
        ("\"-3\"", "\"-3\""),
    ] {
        let line = refused(&format!("[queues.concert]\nbatch = {given}\n"), &[]);
        assert_eq!(line, format!("queues.concert.batch = {shown} (FILE): {rule}"));
    }
}

/// Only the environment has nothing but text.
#[test]
fn a_value_of_the_file_has_its_type() {
    let whole = "must be a whole number from 1 to 1_000_000, without quotes";
    let duration = "must be a duration such as \"10s\", from 1s to 1h in whole milliseconds";
    for (key, given, rule) in [
        ("batch", "\"5\"", whole),
        ("batch", "\"1_000\"", whole),
        ("return_query", "\"true\"", "must be true or false, without quotes"),
        ("return_query", "\"yes\"", "must be true or false"),
        ("return_query", "0", "must be true or false"),
        ("exempt", "10", "must be a list of strings"),
        ("interval", "5", duration),
        ("interval", "true", duration),
        ("pace", "1", "must be one of even, batch"),
        ("title", "2027", "must be a string that is not empty"),
    ] {
        let line = refused(&format!("[queues.concert]\n{key} = {given}\n"), &[]);
        assert_eq!(line, format!("queues.concert.{key} = {given} (FILE): {rule}"));
    }
}

/// A share is a decimal number, in TOML and in the environment.
#[test]
fn shares_have_their_rule() {
    let rule = "must be a number above 0 and at most 1, of at most six decimals";
    for (given, shown, hint) in [
        ("0", "0", ""),
        ("0.0", "0.0", ""),
        ("2", "2", ""),
        ("-0.5", "-0.5", ""),
        ("1.000001", "1.000001", ""),
        ("0.0000001", "1e-7", ""),
        ("0.1234567", "0.1234567", ""),
        ("nan", "NaN", ""),
        ("inf", "inf", ""),
        ("true", "true", ""),
        ("\"half\"", "\"half\"", ""),
        ("\"0.5\"", "\"0.5\"", ", without quotes"),
    ] {
        let line = refused(&format!("[targets.shop]\nthreshold = {given}\n"), &[]);
        assert_eq!(line, format!("targets.shop.threshold = {shown} (FILE): {rule}{hint}"));
    }
    let variable = "ANTEROOM_TARGETS__SHOP__THRESHOLD";
    for (given, millionths) in [
        ("0.5", 500_000),
        ("1", 1_000_000),
        ("0.000001", 1),
        ("0.333333", 333_333),
        (".9", 900_000),
    ] {
        let loader = Loader::new(None).environment([(variable, given)]);
        let config = loader.load().expect("valid");
        assert_eq!(config.targets["shop"].threshold, millionths, "{given}");
    }
    let line = refused("", &[(variable, "1.5")]);
    assert_eq!(line, format!("targets.shop.threshold = 1.5 ({variable}): {rule}"));
}

/// A descriptor of Envoy, and the limit that it may name.
fn descriptor(keys: &str) -> String {
    format!("[limits.login]\nlimit = 5\n[[envoy.descriptors]]\n{keys}")
}

#[test]
fn every_rule_has_its_line() {
    let queue = "[queues.concert]\nbatch = 10\n";
    let span = |from: &str, to: &str| {
        format!("must be a duration such as \"10s\", from {from} to {to} in whole milliseconds")
    };
    let all = "must not hold all addresses of IPv4 or IPv6 together, as /0 would; list only the \
        networks that you need";
    let table: Vec<(String, String)> = vec![
        // Queues.
        ("\"\" = 1".into(), "\"\" (FILE): unknown key, expected one of `store`, `log`, `keys`, `admission`, `scheduler`, `issuer`, `envoy`, `queues`, `events`, `pools`, `limits`, `targets`".into()),
        ("[queues.\"a\\u001bb\"]\nbatch = 1".into(), "queues.a\\u{1b}b (FILE): the name must be 1 to 40 characters of a-z, 0-9 and -".into()),
        (format!("{queue}capacity = 1_000_000_001"), "queues.concert.capacity = 1000000001 (FILE): must be a whole number from 1 to 1_000_000_000".into()),
        ("[queues.concert]\npace = \"even\"".into(), "queues.concert.capacity: capacity or batch is required".into()),
        ("[queues.Concert]\nbatch = 1".into(), "queues.Concert (FILE): the name must be 1 to 40 characters of a-z, 0-9 and -".into()),
        (format!("[queues.{}]\nbatch = 1", "a".repeat(41)), format!("queues.{} (FILE): the name must be 1 to 40 characters of a-z, 0-9 and -", "a".repeat(41))),
        ("[queues.\"a b\"]\nbatch = 1".into(), "queues.a b (FILE): the name must be 1 to 40 characters of a-z, 0-9 and -".into()),
        (format!("{queue}interval = \"999ms\""), format!("queues.concert.interval = \"999ms\" (FILE): {}", span("1s", "1h"))),
        (format!("{queue}interval = 10"), format!("queues.concert.interval = 10 (FILE): {}", span("1s", "1h"))),
        (format!("{queue}interval = \"10\""), format!("queues.concert.interval = \"10\" (FILE): {}", span("1s", "1h"))),
        (format!("{queue}interval = \"-10s\""), format!("queues.concert.interval = \"-10s\" (FILE): {}", span("1s", "1h"))),
        (format!("{queue}interval = \"1s 1us\""), format!("queues.concert.interval = \"1s 1us\" (FILE): {}", span("1s", "1h"))),
        (format!("{queue}interval = \"99999999999999999999y\""), format!("queues.concert.interval = \"99999999999999999999y\" (FILE): {}", span("1s", "1h"))),
        (format!("{queue}health = \"shop\""), "queues.concert.health = \"shop\" (FILE): must name a target of [targets.*]".into()),
        (format!("{queue}[queues.concert.adaptive]\nmin_batch = 1\nmax_batch = 2\nsuccess_target = 1"), "queues.concert.health: is required with adaptive".into()),
        (format!("[targets.shop]\n{queue}health = \"shop\"\n[queues.concert.adaptive]\nmin_batch = 3\nmax_batch = 2\nsuccess_target = 1"), "queues.concert.adaptive.max_batch = 2 (FILE): must be at least min_batch".into()),
        (format!("[targets.shop]\n{queue}health = \"shop\"\n[queues.concert.adaptive]\nmin_batch = 3\nmax_batch = 2"), "queues.concert.adaptive.success_target: is required".into()),
        (format!("[targets.shop]\n{queue}health = \"shop\"\n[queues.concert.adaptive]\nsuccess_target = 0"), "queues.concert.adaptive.success_target = 0 (FILE): must be a number above 0 and at most 1, of at most six decimals".into()),
        (format!("[targets.shop]\n{queue}health = \"shop\"\n[queues.concert.adaptive]\np95_target = \"11s\""), format!("queues.concert.adaptive.p95_target = \"11s\" (FILE): {}", span("1ms", "10s"))),
        (format!("{queue}adaptive = 7"), "queues.concert.adaptive = 7 (FILE): must be a table".into()),
        (format!("{queue}pace = \"fast\""), "queues.concert.pace = \"fast\" (FILE): must be one of even, batch".into()),
        (format!("{queue}claim_ttl = \"4s\""), format!("queues.concert.claim_ttl = \"4s\" (FILE): {}", span("5s", "1h"))),
        (format!("{queue}session_ttl = \"25h\""), format!("queues.concert.session_ttl = \"25h\" (FILE): {}", span("5s", "1day"))),
        (format!("{queue}session_max = \"4m\""), "queues.concert.session_max = \"4m\" (FILE): must be at least session_ttl".into()),
        (format!("{queue}session_ttl = \"1h\""), "queues.concert.session_max = \"30m\": must be at least session_ttl".into()),
        (format!("{queue}unproven_ttl = \"500ms\""), format!("queues.concert.unproven_ttl = \"500ms\" (FILE): {}", span("1s", "1h"))),
        (format!("{queue}claim_ttl = \"5s\"\nunproven_ttl = \"6s\""), "queues.concert.unproven_ttl = \"6s\" (FILE): must be at most claim_ttl".into()),
        (format!("{queue}places_per_address = 1_000_001"), "queues.concert.places_per_address = 1000001 (FILE): must be a whole number from 0 to 1_000_000".into()),
        (format!("{queue}idle_ttl = \"59s\""), format!("queues.concert.idle_ttl = \"59s\" (FILE): {}", span("1m", "1day"))),
        (format!("{queue}keep_ttl = \"8d\""), format!("queues.concert.keep_ttl = \"8d\" (FILE): {}", span("1m", "7days"))),
        (format!("{queue}first_poll_ttl = \"11m\""), "queues.concert.first_poll_ttl = \"11m\" (FILE): must be at most idle_ttl".into()),
        (format!("{queue}max_waiting = 0"), "queues.concert.max_waiting = 0 (FILE): must be a whole number from 1 to 10_000_000".into()),
        (format!("{queue}opens_at = \"tomorrow\""), "queues.concert.opens_at = \"tomorrow\" (FILE): must be a moment from 1970 to 2255 as RFC 3339 writes it, such as \"2027-01-15T20:00:00+09:00\"".into()),
        (format!("{queue}opens_at = \"2027-01-15T20:00:00Z\"\ncloses_at = \"2027-01-15T20:00:00+09:00\""), "queues.concert.closes_at = \"2027-01-15T20:00:00+09:00\" (FILE): must not be before opens_at".into()),
        (format!("{queue}joins_per_address = \"many\""), "queues.concert.joins_per_address = \"many\" (FILE): must be COUNT/WINDOW such as \"600/1m\": 1 to 1_000_000 in 1s to 1h; or \"none\"".into()),
        (format!("{queue}joins_per_address = \"0/1m\""), "queues.concert.joins_per_address = \"0/1m\" (FILE): must be COUNT/WINDOW such as \"600/1m\": 1 to 1_000_000 in 1s to 1h; or \"none\"".into()),
        (format!("{queue}exempt = [\"10.0.0.0/8\", \"10.0.0.0/33\"]"), "queues.concert.exempt[1] = \"10.0.0.0/33\" (FILE): must be a network such as \"10.0.0.0/8\", or an address; not all addresses (/0)".into()),
        (format!("{queue}exempt = [\"0.0.0.0/0\"]"), "queues.concert.exempt[0] = \"0.0.0.0/0\" (FILE): must be a network such as \"10.0.0.0/8\", or an address; not all addresses (/0)".into()),
        ("[admission]\ntrusted_proxies = [\"10.0.0.0/8\", \"::/0\"]".into(), "admission.trusted_proxies[1] = \"::/0\" (FILE): must be a network such as \"10.0.0.0/8\", or an address; not all addresses (/0)".into()),
        ("[admission]\ntrusted_proxies = [\"203.0.113.9/0\"]".into(), "admission.trusted_proxies[0] = \"203.0.113.9/0\" (FILE): must be a network such as \"10.0.0.0/8\", or an address; not all addresses (/0)".into()),
        ("[admission]\ntrusted_proxies = [\"::ffff:0.0.0.0/96\"]".into(), "admission.trusted_proxies[0] = \"::ffff:0.0.0.0/96\" (FILE): must be a network such as \"10.0.0.0/8\", or an address; not all addresses (/0)".into()),
        (format!("{queue}requests_per_place = 1001"), "queues.concert.requests_per_place = 1001 (FILE): must be a whole number from 0 to 1_000".into()),
        (format!("{queue}public_url = \"shop.example\""), "queues.concert.public_url = \"shop.example\" (FILE): must be an http or https address such as \"https://shop.example\", without credentials, query or fragment".into()),
        (format!("{queue}public_url = \"https://me:pw@shop.example\""), "queues.concert.public_url = [hidden] (FILE): must be an http or https address such as \"https://shop.example\", without credentials, query or fragment".into()),
        (format!("{queue}return_to_origins = [\"https://shop.example/x\"]"), "queues.concert.return_to_origins[0] = \"https://shop.example/x\" (FILE): must be origins such as \"https://shop.example\": scheme, host and port, and nothing more".into()),
        (format!("{queue}return_query = 1"), "queues.concert.return_query = 1 (FILE): must be true or false".into()),
        (format!("{queue}on_store_error = \"pass\""), "queues.concert.on_store_error = \"pass\" (FILE): must be one of hold, closed, open".into()),
        (format!("{queue}on_store_error = \"open\"\nopen_for = \"5m\""), "queues.concert.open_rate: is required while on_store_error is open".into()),
        (format!("{queue}on_store_error = \"open\"\nopen_rate = \"5/1s\""), "queues.concert.open_for: is required while on_store_error is open".into()),
        (format!("{queue}title = \"a\\u0007b\""), "queues.concert.title = \"a\\u{7}b\" (FILE): must be 1 to 200 characters without control characters".into()),
        (format!("{queue}title = \"\""), "queues.concert.title = \"\" (FILE): must be a string that is not empty".into()),
        (format!("{queue}[queues.concert.page]\naccent = \"blue\""), "queues.concert.page.accent = \"blue\" (FILE): must be a colour such as \"#2457d6\"".into()),
        (format!("{queue}[queues.concert.page]\naccent = \"#12345g\""), "queues.concert.page.accent = \"#12345g\" (FILE): must be a colour such as \"#2457d6\"".into()),
        (format!("{queue}[queues.concert.page]\nbackground = \"#fff\""), "queues.concert.page.background = \"#fff\" (FILE): must be a colour such as \"#f4f6f9\", or the path of a picture".into()),
        (format!("{queue}[queues.concert.page]\ntheme = \"night\""), "queues.concert.page.theme = \"night\" (FILE): must be one of auto, light, dark".into()),
        (format!("{queue}[queues.concert.page]\nlanguages = [\"en\", \"xx\"]"), "queues.concert.page.languages[1] = \"xx\" (FILE): must be languages of the page: en, ko, ja, zh-Hans, zh-Hant, es, fr, de, pt-BR, vi, ar".into()),
        (format!("{queue}[queues.concert.page]\nsupport_url = \"javascript:alert(1)\""), "queues.concert.page.support_url = \"javascript:alert(1)\" (FILE): must be an http, https or mailto address".into()),
        (format!("{queue}[queues.concert.page]\nlogo_file = \"/nowhere/logo.svg\""), "queues.concert.page.logo_file = \"/nowhere/logo.svg\" (FILE): cannot be read: No such file or directory (os error 2)".into()),
        (format!("{queue}[queues.concert.page]\nlogo_file = \"/dev/null\""), "queues.concert.page.logo_file = \"/dev/null\" (FILE): must be an SVG, or a PNG of at most 4096 × 4096 pixels, of at most 32 KiB".into()),
        (format!("{queue}[queues.concert.page]\nmessage = {{ xx = \"hello\" }}"), "queues.concert.page.message.xx = \"hello\" (FILE): unknown language, expected one of en, ko, ja, zh-Hans, zh-Hant, es, fr, de, pt-BR, vi, ar".into()),
        (format!("{queue}[queues.concert.page]\nmessage = {{ en = \"\" }}"), "queues.concert.page.message.en = \"\" (FILE): must be 1 to 1000 characters without control characters but line breaks".into()),
        (format!("{queue}[queues.concert.page]\nbackground = \"tomato\""), "queues.concert.page.background = \"tomato\" (FILE): is no colour, and as a file cannot be read: No such file or directory (os error 2)".into()),
        (format!("{queue}[queues.concert.page]\nlanguages = [\"en\"]\nmessage = {{ ko = \"a\" }}"), "queues.concert.page.message.ko = \"a\" (FILE): the page does not have this language: add it to `languages`".into()),
        (format!("{queue}[queues.concert.page]\ncolour = \"#2457d6\""), "queues.concert.page.colour (FILE): unknown key, expected one of `title`, `message`, `accent`, `background`, `logo_file`, `support_url`, `theme`, `languages`".into()),
        (format!("{queue}title = \"a\"\n[queues.concert.page]\ntitle = \"a\""), "queues.concert.page.title = \"a\" (FILE): must be unset while `title` of the queue itself is set: both are the title of the page".into()),
        (format!("{queue}page = 7"), "queues.concert.page = 7 (FILE): must be a table".into()),
        ("queues = 3".into(), "queues = 3 (FILE): must be a table".into()),
        ("[queues]\nconcert = 3".into(), "queues.concert = 3 (FILE): must be a table".into()),
        ("[queues.\"*\"]\nidle_ttl = \"1s\"".into(), format!("queues.*.idle_ttl = \"1s\" (FILE): {}", span("1m", "1day"))),
        ("[queues.\"*\"]\nsession_ttl = \"1h\"".into(), "queues.*.session_max = \"30m\": must be at least session_ttl".into()),
        // Limits.
        ("[limits.login]\nwindow = \"1m\"".into(), "limits.login.limit: is required".into()),
        ("[limits.login]\nlimit = 0".into(), "limits.login.limit = 0 (FILE): must be a whole number from 1 to 100_000_000".into()),
        ("[limits.login]\nlimit = 10_001".into(), "limits.login.limit = 10001 (FILE): must be at most 10_000 while algorithm is log".into()),
        ("[targets.shop]\nstore = \"log\"\nmin_samples = 100_001".into(), "targets.shop.min_samples = 100001 (FILE): must be at most 100_000 with store = \"log\"".into()),
        ("[events.coupon]\nstock = 0".into(), "events.coupon.stock = 0 (FILE): must be a whole number from 1 to 9_007_199_254_740_991".into()),
        ("[events.coupon]\nover_apply = 0.5".into(), "events.coupon.over_apply = 0.5 (FILE): must be a number from 1 to 1000, of at most six decimals".into()),
        ("[events.coupon]\nover_apply = \"2\"".into(), "events.coupon.over_apply = \"2\" (FILE): must be a number from 1 to 1000, of at most six decimals, without quotes".into()),
        ("[events.coupon]\nissue = \"mail\"".into(), "events.coupon.issue = \"mail\" (FILE): must be one of count, codes, webhook".into()),
        ("[events.coupon]\nissue = \"webhook\"".into(), "events.coupon.url: is required while issue is webhook".into()),
        ("[events.coupon]\nlease = \"999ms\"".into(), format!("events.coupon.lease = \"999ms\" (FILE): {}", span("1s", "1h"))),
        ("[events.coupon]\nmax_per_second = 1_000_001".into(), "events.coupon.max_per_second = 1000001 (FILE): must be a whole number from 0 to 1_000_000".into()),
        ("[events.coupon]\nopens_at = \"2027-01-02T00:00:00Z\"\nends_at = \"2027-01-01T00:00:00Z\"".into(), "events.coupon.ends_at = \"2027-01-01T00:00:00Z\" (FILE): must not be before opens_at".into()),
        ("[pools.shop]\nfunds = 0".into(), format!("pools.shop.funds = 0 (FILE): {}", "must be a whole number from 1 to 9_007_199_254_740_991")),
        ("[pools.shop]\nfunds = 9007199254740992".into(), format!("pools.shop.funds = 9007199254740992 (FILE): {}", "must be a whole number from 1 to 9_007_199_254_740_991")),
        ("[pools.shop]\non_failover = \"stop\"".into(), "pools.shop.on_failover = \"stop\" (FILE): must be one of continue, hold".into()),
        ("[pools.shop]\nhold_ttl = \"999ms\"".into(), format!("pools.shop.hold_ttl = \"999ms\" (FILE): {}", span("1s", "1day"))),
        ("[pools.shop]\nledger_keep = \"1m\"".into(), format!("pools.shop.ledger_keep = \"1m\" (FILE): {}", span("1h", "3650days"))),
        ("[pools.shop]\noptions = { a = 0 }".into(), format!("pools.shop.options (FILE): {OPTIONS}; \"a\" is none")),
        ("[pools.shop]\noptions = { b = 1, A = 1 }".into(), format!("pools.shop.options (FILE): {OPTIONS}; \"A\" is none")),
        ("[pools.shop]\noptions = { a = \"1\" }".into(), format!("pools.shop.options (FILE): {OPTIONS}; \"a\" is none")),
        ("[pools.shop]\noptions = 7".into(), format!("pools.shop.options = 7 (FILE): {OPTIONS}")),
        ("[pools.shop]\noptions = \"a=1,b\"".into(), format!("pools.shop.options = \"a=1,b\" (FILE): {OPTIONS}")),
        ("[pools.shop]\nbalance = 1".into(), "pools.shop.balance (FILE): unknown key, expected one of `funds`, `hold_ttl`, `on_failover`, `ledger_keep`, `options`".into()),
        ("[targets.\"*\"]\nstore = \"log\"\nmin_samples = 100_001".into(), "targets.*.min_samples = 100001 (FILE): must be at most 100_000 with store = \"log\"".into()),
        ("[limits.\"*\"]\nlimit = 10_001".into(), "limits.*.limit = 10001 (FILE): must be at most 10_000 while algorithm is log".into()),
        ("[limits.login]\nlimit = 100_000_001\nalgorithm = \"gcra\"".into(), "limits.login.limit = 100000001 (FILE): must be a whole number from 1 to 100_000_000".into()),
        ("[limits.login]\nlimit = 5\nalgorithm = \"leaky\"".into(), "limits.login.algorithm = \"leaky\" (FILE): must be one of log, counter, gcra".into()),
        ("[limits.login]\nlimit = 5\nwindow = \"999ms\"".into(), "limits.login.window = \"999ms\" (FILE): must be a duration such as \"10s\", from 1s to 1day in whole seconds".into()),
        ("[limits.login]\nlimit = 5\nwindow = \"1500ms\"".into(), "limits.login.window = \"1500ms\" (FILE): must be a duration such as \"10s\", from 1s to 1day in whole seconds".into()),
        ("[limits.login]\nlimit = 5\nwindow = 60".into(), "limits.login.window = 60 (FILE): must be a duration such as \"10s\", from 1s to 1day in whole seconds".into()),
        ("[limits.login]\nlimit = 5\nshadow = 1".into(), "limits.login.shadow = 1 (FILE): must be true or false".into()),
        ("[limits.login]\nlimit = 5\non_store_error = \"hold\"".into(), "limits.login.on_store_error = \"hold\" (FILE): must be one of closed, open".into()),
        ("[limits.Login]\nlimit = 5".into(), "limits.Login (FILE): the name must be 1 to 40 characters of a-z, 0-9 and -".into()),
        ("[limits.login]\nlimit = 5\nburst = 2".into(), "limits.login.burst (FILE): unknown key, expected one of `algorithm`, `limit`, `window`, `shadow`, `on_store_error`".into()),
        // Events.
        ("[events.coupon]\nissue = \"webhook\"\nurl = \"https://shop.example\"".into(), "events.coupon.secret_file: is required while issue is webhook".into()),
        ("[events.coupon]\nurl = \"http://shop.example\"".into(), "events.coupon.url (FILE): must begin with https:// (http:// only to this machine)".into()),
        ("[events.coupon]\nurl = \"https://10.0.0.1/\"".into(), "events.coupon.url (FILE): must not lead to a private address unless allow_private is true".into()),
        ("[events.coupon]\nurl = \"https://169.254.169.254/\"\nallow_private = true".into(), "events.coupon.url (FILE): must not lead to a link-local, metadata, multicast or reserved address".into()),
        ("[events.coupon]\nurl = \"https://ann:pass@shop.example\"".into(), "events.coupon.url (FILE): must hold no user and no password".into()),
        ("[events.coupon]\nurl = \"https://shop.example\"".into(), "events.coupon.url (FILE): is for issue = \"webhook\" only".into()),
        ("[events.coupon]\nissue = \"codes\"\nsecret_file = \"/no/secret\"".into(), "events.coupon.secret_file (FILE): is for issue = \"webhook\" only".into()),
        ("[events.coupon]\ntimeout = \"1s\"".into(), "events.coupon.timeout (FILE): is for issue = \"webhook\" only".into()),
        ("[events.coupon]\nallow_private = true".into(), "events.coupon.allow_private (FILE): is for issue = \"webhook\" only".into()),
        ("[events.\"*\"]\nurl = \"https://shop.example\"\n[events.coupon]".into(), "events.coupon.url (FILE, [events.\"*\"]): is for issue = \"webhook\" only".into()),
        ("[events.coupon]\nissue = \"webhook\"\nurl = \"https://shop.example\"\nsecret_file = \"/no/secret\"".into(), "events.coupon.secret_file = \"/no/secret\" (FILE): cannot be read: No such file or directory (os error 2)".into()),
        ("[envoy]\nlisten = \"127.0.0.1:9093\"".into(), "envoy.metrics_listen = \"127.0.0.1:9093\": must be another port than envoy.listen".into()),
        ("[envoy]\nmax_message_bytes = 4_095".into(), "envoy.max_message_bytes = 4095 (FILE): must be a whole number from 4_096 to 4_194_304".into()),
        (descriptor("domain = \"\"\nentries = [{ key = \"path\" }]\nlimit = \"login\""), "envoy.descriptors[0].domain = \"\" (FILE): must be a string that is not empty".into()),
        (descriptor("domain = \"shop\"\nentries = []\nlimit = \"login\""), "envoy.descriptors[0].entries = [] (FILE): must name at least one entry".into()),
        (descriptor("domain = \"shop\"\nentries = [{ key = \"\" }]\nlimit = \"login\""), "envoy.descriptors[0].entries[0].key = \"\" (FILE): must be a string that is not empty".into()),
        (descriptor("domain = \"shop\"\nentries = [{ key = \"path\", value = \"/a\", prefix = \"/\" }]\nlimit = \"login\""), "envoy.descriptors[0].entries[0] (FILE): must have a value or a prefix, not both".into()),
        (descriptor("domain = \"shop\"\nentries = [{ key = \"path\" }]\nlimit = \"log-in\""), "envoy.descriptors[0].limit = \"log-in\" (FILE): must be the name of a configured limit: add [limits.NAME], or correct the name".into()),
        (descriptor("domain = \"shop\"\nentries = [{ key = \"path\" }]\nlimit = \"login\"\nkey = \"user\""), "envoy.descriptors[0].key = \"user\" (FILE): must be the key of one of the entries".into()),
        (descriptor("domain = \"shop\"\nentries = [{ key = \"path\" }]\nlimit = \"login\"\ngroup = \"user\""), "envoy.descriptors[0].group = \"user\" (FILE): must be the key of one of the entries".into()),
        (descriptor("domain = \"shop\"\nentries = [{ key = \"path\" }]\nlimits = \"login\""), "envoy.descriptors[0].limits (FILE): unknown key, expected one of `domain`, `entries`, `limit`, `key`, `group`".into()),
        (descriptor("entries = [{ key = \"path\" }]\nlimit = \"login\""), "envoy.descriptors[0].domain: is required".into()),
        (descriptor("domain = \"shop\"\nentries = [{ value = \"a\" }]\nlimit = \"login\""), "envoy.descriptors[0].entries[0].key: is required".into()),
        (descriptor("domain = \"shop\"\nentries = [\"path\"]\nlimit = \"login\""), "envoy.descriptors[0].entries[0] = \"path\" (FILE): must be a table".into()),
        (descriptor("domain = \"shop\"\nentries = [{ key = \"path\", value = 1.50 }]\nlimit = \"login\""), "envoy.descriptors[0].entries[0].value = 1.5 (FILE): must be a string that is not empty".into()),
        (format!("{0}[[envoy.descriptors]]\n{keys}", descriptor("domain = \"shop\"\nentries = [{ key = \"path\", prefix = \"/a\" }]\nlimit = \"login\"\n"), keys = "domain = \"shop\"\nentries = [{ key = \"path\", value = \"/ab\" }]\nlimit = \"login\""), "envoy.descriptors[1] (FILE): can never match: descriptors[0] matches first".into()),
        ("[envoy.descriptors]\ndomain = \"shop\"".into(), "envoy.descriptors (FILE): must be a list of tables: write [[envoy.descriptors]]".into()),
        ("[issuer]\nconcurrency = 0".into(), "issuer.concurrency = 0 (FILE): must be a whole number from 1 to 10_000".into()),
        // The store.
        ("[store]\nurl = \"http://redis\"".into(), "store.url = \"http://redis\" (FILE): must be an address such as \"redis://HOST:6379\", \"rediss://HOST:6379/0\" or \"unix:///run/redis.sock\"".into()),
        ("[store]\nurl = \"rediss://redis/#insecure\"".into(), "store.url = \"rediss://redis/#insecure\" (FILE): must be an address such as \"redis://HOST:6379\", \"rediss://HOST:6379/0\" or \"unix:///run/redis.sock\"".into()),
        ("[store]\nmode = \"one\"".into(), "store.mode = \"one\" (FILE): must be one of single, sentinel, cluster".into()),
        ("[store]\nmode = \"sentinel\"".into(), "store.sentinel_master: is required in sentinel mode".into()),
        ("[store]\nsentinel_master = \"x\"".into(), "store.sentinel_master = \"x\" (FILE): is for sentinel mode only".into()),
        ("[store]\nnodes = [\"redis://a\"]".into(), "store.nodes = [\"redis://a\"] (FILE): must be empty while store.mode is single".into()),
        ("[store]\nmode = \"cluster\"\nurl = \"unix:///x\"".into(), "store.url = \"unix:///x\" (FILE): must be redis:// or rediss:// in sentinel and cluster mode".into()),
        ("[store]\nca_file = \"/x.pem\"".into(), "store.url = \"redis://127.0.0.1:6379\": must be rediss:// while store.ca_file is set".into()),
        ("[store]\nurl = \"rediss://a\"\nca_file = \"/no/x.pem\"".into(), "store.ca_file = \"/no/x.pem\" (FILE): cannot be read: No such file or directory (os error 2)".into()),
        ("[store]\nrequest_timeout = \"100ms\"".into(), "store.request_timeout = \"100ms\" (FILE): must be at least store.command_timeout".into()),
        ("store = 3".into(), "store = 3 (FILE): must be a table".into()),
        ("[store]\nurl = [\"redis://a\"]".into(), "store.url = [\"redis://a\"] (FILE): must be an address such as \"redis://HOST:6379\", \"rediss://HOST:6379/0\" or \"unix:///run/redis.sock\"".into()),
        // Logs.
        ("[log]\nformat = \"xml\"".into(), "log.format = \"xml\" (FILE): must be one of auto, json, text".into()),
        ("[log]\nlevel = \"a=b=c\"".into(), "log.level = \"a=b=c\" (FILE): must be log directives such as \"info\" or \"info,anteroom_core=debug\"".into()),
        // Keys.
        ("[keys.shop]\nrole = \"backend\"".into(), "keys.shop.digest: is required".into()),
        ("[keys.shop]\ndigest = \"sha256:12\"\nrole = \"backend\"".into(), "keys.shop.digest = [hidden] (FILE): must be \"sha256:\" and 64 hexadecimal digits".into()),
        (format!("[keys.shop]\ndigest = \"sha256:{0}\"\nrole = \"root\"", "0".repeat(64)), "keys.shop.role = \"root\" (FILE): must be one of backend, operator, viewer".into()),
        (format!("[keys.shop]\ndigest = \"sha256:{0}\"\nrole = \"backend\"\nscopes = [\"pools\"]", "0".repeat(64)), "keys.shop.scopes[0] = \"pools\" (FILE): must be SECTION:NAME such as \"pools:reward\", SECTION being one of queues, events, pools, limits, targets".into()),
        (format!("[keys.Shop]\ndigest = \"sha256:{0}\"\nrole = \"backend\"", "0".repeat(64)), "keys.Shop (FILE): the name must be 1 to 40 characters of a-z, 0-9 and -".into()),
        (format!("[keys.a]\ndigest = \"sha256:{0}\"\nrole = \"backend\"\n[keys.b]\ndigest = \"sha256:{0}\"\nrole = \"backend\"", "0".repeat(64)), format!("keys.b.digest = \"sha256:{}\" (FILE): must be another digest than that of keys.a", "0".repeat(64))),
        // Admission and scheduler.
        ("[admission]\nlisten = \"8080\"".into(), "admission.listen = \"8080\" (FILE): must be an address with a port, such as \"127.0.0.1:8080\" or \"[::]:8080\"".into()),
        ("[admission]\nlisten = \"127.0.0.1:8081\"".into(), "admission.service_listen = \"127.0.0.1:8081\": must be another port than admission.listen".into()),
        ("[admission]\nmax_connections = 0".into(), "admission.max_connections = 0 (FILE): must be a whole number from 1 to 1_000_000".into()),
        ("[admission]\nallowed_origins = [\"*\"]".into(), "admission.allowed_origins[0] = \"*\" (FILE): must be origins such as \"https://shop.example\": scheme, host and port, and nothing more. Name each host: \"*\" matches none. Use https://; http:// is for localhost and loopback addresses only".into()),
        ("[admission]\nallowed_origins = [\"https://*.shop.example\"]".into(), "admission.allowed_origins[0] = \"https://*.shop.example\" (FILE): must be origins such as \"https://shop.example\": scheme, host and port, and nothing more. Name each host: \"*\" matches none. Use https://; http:// is for localhost and loopback addresses only".into()),
        ("[admission]\nallowed_origins = [\"http://shop.example\"]".into(), "admission.allowed_origins[0] = \"http://shop.example\" (FILE): must be origins such as \"https://shop.example\": scheme, host and port, and nothing more. Name each host: \"*\" matches none. Use https://; http:// is for localhost and loopback addresses only".into()),
        ("[admission]\nallowed_origins = [\"http://10.0.0.1:8080\"]".into(), "admission.allowed_origins[0] = \"http://10.0.0.1:8080\" (FILE): must be origins such as \"https://shop.example\": scheme, host and port, and nothing more. Name each host: \"*\" matches none. Use https://; http:// is for localhost and loopback addresses only".into()),
        ("[admission]\ncookie_domain = \".shop.example\"".into(), "admission.cookie_domain = \".shop.example\" (FILE): must be a domain in lower case such as \"shop.example\", without a dot in front".into()),
        ("[admission]\ncookie_domain = \"192.0.2.1\"".into(), "admission.cookie_domain = \"192.0.2.1\" (FILE): must not be an IP address: browsers refuse the cookie. Leave the key out, and the cookie goes to the host that set it".into()),
        ("[admission]\ncookie_domain = \"co.uk\"".into(), "admission.cookie_domain = \"co.uk\" (FILE): must not be a public suffix, which strangers share: browsers refuse the cookie. Use your own domain below it".into()),
        ("[admission]\ntrusted_proxies = [\"0.0.0.0/1\", \"128.0.0.0/1\"]".into(), format!("admission.trusted_proxies = [\"0.0.0.0/1\", \"128.0.0.0/1\"] (FILE): {all}")),
        (format!("{queue}exempt = [\"8000::/1\", \"::/1\"]"), format!("queues.concert.exempt = [\"8000::/1\", \"::/1\"] (FILE): {all}")),
        ("[admission]\ndevelopment = \"yes\"".into(), "admission.development = \"yes\" (FILE): must be true or false".into()),
        ("[admission]\nsecure_cookies = false\nlisten = \"0.0.0.0:8080\"".into(), "admission.secure_cookies = false (FILE): may be false only while admission.listen is a loopback address".into()),
        ("[admission]\nlisten = \"0.0.0.0:8080\"".into(), "admission.listen = \"0.0.0.0:8080\" (FILE): must be a loopback address while there are no admission.token_secrets".into()),
        ("[admission]\nservice_listen = \"0.0.0.0:8081\"".into(), "admission.service_listen = \"0.0.0.0:8081\" (FILE): must be a loopback address while no [keys.*] are declared".into()),
        ("[scheduler]\ntick = \"9ms\"".into(), format!("scheduler.tick = \"9ms\" (FILE): {}", span("10ms", "150ms"))),
        ("[scheduler]\ntick = \"151ms\"".into(), format!("scheduler.tick = \"151ms\" (FILE): {}", span("10ms", "150ms"))),
        // The file as a whole.
        ("[store]\nurl = \"redis://a\"\nurl = \"redis://b\"".into(), "FILE: line 3: not valid TOML: duplicate key url".into()),
        ("[store".into(), "FILE: line 1: not valid TOML: unclosed table, expected `]`".into()),
    ];
    let mut wrong = String::new();
    for (toml, line) in table {
        let found = refused(&toml, &[]);
        if found != line {
            wrong += &format!("expected {line}\n   found {found}\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn the_environment_is_named_as_the_origin() {
    for (variable, value, line) in [
        (
            "ANTEROOM_SCHEDULER__TICK",
            "2s",
            "scheduler.tick = \"2s\" (ANTEROOM_SCHEDULER__TICK): must be a duration",
        ),
        (
            "ANTEROOM_QUEUES__CONCERT__BATCH",
            "none",
            "queues.concert.batch = \"none\" (ANTEROOM_QUEUES__CONCERT__BATCH): must be a whole number",
        ),
        (
            "ANTEROOM_ADMISSION__TRUSTED_PROXIES",
            "10.0.0.0/8,x",
            "admission.trusted_proxies = \"10.0.0.0/8,x\" (ANTEROOM_ADMISSION__TRUSTED_PROXIES): must be a network",
        ),
        (
            "ANTEROOM_QUEUES__CONCERT__CAPACITY",
            "0_0",
            "queues.concert.capacity = 0 (ANTEROOM_QUEUES__CONCERT__CAPACITY): must be a whole number",
        ),
        (
            "ANTEROOM_QUEUES__CONCERT__RETURN_QUERY",
            "yes",
            "queues.concert.return_query = \"yes\" (ANTEROOM_QUEUES__CONCERT__RETURN_QUERY): must be true or false",
        ),
        (
            "ANTEROOM_STORE__URI",
            "redis://a",
            "store.uri (ANTEROOM_STORE__URI): unknown key, expected one of `url`",
        ),
        (
            "ANTEROOM_QUEUE__CONCERT__CAPACITY",
            "5",
            "ANTEROOM_QUEUE__CONCERT__CAPACITY: there is no section \"queue\": write ANTEROOM_QUEUES__CONCERT__CAPACITY",
        ),
        (
            "anteroom_queue__concert__capacity",
            "5",
            "anteroom_queue__concert__capacity: there is no section \"queue\": write ANTEROOM_QUEUES__CONCERT__CAPACITY",
        ),
        (
            "ANTEROOM_ADMISION__LISTEN",
            "x",
            "ANTEROOM_ADMISION__LISTEN: there is no section \"admision\": write ANTEROOM_ADMISSION__LISTEN",
        ),
        (
            "ANTEROOM_STROE__PASSWORD",
            "hunter2",
            "ANTEROOM_STROE__PASSWORD: there is no section \"stroe\": write ANTEROOM_STORE__PASSWORD",
        ),
        (
            "ANTEROOM_METRICS__LISTEN",
            "x",
            "ANTEROOM_METRICS__LISTEN: there is no section \"metrics\", only store, log, keys, admission, scheduler, issuer, envoy, queues, limits, targets, events, pools",
        ),
        (
            "ANTEROOM_FOO__BAR",
            "1",
            "ANTEROOM_FOO__BAR: there is no section \"foo\", only store, log, keys, admission, scheduler, issuer, envoy, queues, limits, targets, events, pools",
        ),
        ("ANTEROOM_STORE__URL__X", "1", "store.url"),
        ("ANTEROOM___STORE", "1", "ANTEROOM___STORE: must be ANTEROOM_<SECTION>__<KEY>"),
        (
            "ANTEROOM_STORE_URL",
            "redis://a",
            "ANTEROOM_STORE_URL: is not read; write ANTEROOM_STORE__URL",
        ),
        (
            "anteroom_store_password",
            "x",
            "anteroom_store_password: is not read; write ANTEROOM_STORE__PASSWORD",
        ),
        ("ANTEROOM_A__B__C__D", "1", "ANTEROOM_A__B__C__D: must be ANTEROOM_<SECTION>__<KEY>"),
        ("ANTEROOM_STORE__U.RL", "1", "ANTEROOM_STORE__U.RL: must be ANTEROOM_<SECTION>__<KEY>"),
    ] {
        let found = refused("", &[(variable, value)]);
        assert!(found.starts_with(line), "expected {line}\n   found {found}");
    }
}

#[test]
fn a_pipe_is_no_file() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let pipe = directory.path().join("logo.svg");
    let made = Command::new("mkfifo").arg(&pipe).status().expect("mkfifo");
    assert!(made.success());
    let rule = "cannot be read: it is a pipe, and must be a file";
    let error = Loader::new(Some(&pipe)).load().expect_err("a pipe").to_string();
    assert_eq!(error, format!("{}: {rule}", pipe.display()));
    let pipe = pipe.display();
    let toml =
        format!("[queues.concert]\nbatch = 10\n[queues.concert.page]\nlogo_file = \"{pipe}\"");
    let key = format!("queues.concert.page.logo_file = \"{pipe}\" (FILE)");
    assert_eq!(refused(&toml, &[]), format!("{key}: {rule}"));
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let missing = std::path::Path::new("/no/such/anteroom.toml");
    let error = Loader::new(Some(missing)).load().expect_err("no file").to_string();
    let rule = "cannot be read: No such file or directory (os error 2)";
    assert_eq!(error, format!("/no/such/anteroom.toml: {rule}"));
    let directory = tempfile::tempdir().expect("a temporary directory");
    let error = Loader::new(Some(directory.path())).load().expect_err("a directory").to_string();
    assert!(error.ends_with("cannot be read: Is a directory (os error 21)"), "{error}");
}

#[test]
fn a_scheduler_needs_no_secrets_of_admission() {
    let toml = "[admission]\nlisten = \"0.0.0.0:8080\"\nservice_listen = \"0.0.0.0:8081\"\n\
                token_secrets_file = \"/no/such/file\"\n";
    assert!(refused(toml, &[]).starts_with("admission.token_secrets_file = \"/no/such/file\""));
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    std::fs::write(file.path(), toml).expect("written");
    let loader = Loader::new(Some(file.path()));
    loader.clone().service(Service::Scheduler).load().expect("not its business");
    loader.service(Service::Admission).load().expect_err("its business");
}
