//! `anteroom-envoy import`.

use std::process::{Command, Output};

use anteroom_testkit::binary;

/// In the form of envoyproxy/ratelimit.
const RATELIMIT: &str = r#"
domain: shop
descriptors:
  - key: path
    rate_limit: { unit: minute, requests_per_unit: 20 }
  - key: path
    value: /login
    rate_limit: { name: login, unit: second, requests_per_unit: 3, unit_multiplier: 10 }
    shadow_mode: true
  - key: path
    value: "/api/*"
    descriptors:
      - key: user
        rate_limit: { unit: hour, requests_per_unit: 100 }
  - key: unlimited
    rate_limit: { unlimited: true }
"#;

/// In the form of limitador.
const LIMITADOR: &str = r#"
- namespace: shop
  max_value: 10
  seconds: 60
  conditions:
    - "descriptors[0]['method'] == 'GET'"
  variables:
    - descriptors[0].user
- namespace: shop
  max_value: 5
  seconds: 60
  conditions: ["method == 'POST'"]
  variables: [user]
"#;

fn import(text: &str) -> Output {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("limits.yaml");
    std::fs::write(&file, text).unwrap();
    Command::new(binary("anteroom-envoy")).arg("import").arg(file).output().unwrap()
}

/// Refuses TOML that is no configuration.
fn check(toml: &[u8]) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("anteroom.toml");
    std::fs::write(&file, toml).unwrap();
    let mut command = Command::new(binary("anteroom-envoy"));
    let output = command.arg("--config").arg(file).arg("--check-config").output().unwrap();
    assert!(output.status.success(), "{output:?}\n{}", String::from_utf8_lossy(toml));
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn a_configuration_of_envoyproxy_is_mapped_with_the_most_specific_first() {
    let output = import(RATELIMIT);
    check(&output.stdout);
    let expected = r#"[limits.login]
algorithm = "counter"
limit = 3
window = "10s"
shadow = true

[[envoy.descriptors]]
domain = "shop"
entries = [{ key = "path", value = "/login" }]
limit = "login"

[limits.shop-path-user]
algorithm = "counter"
limit = 100
window = "3600s"

[[envoy.descriptors]]
domain = "shop"
entries = [{ key = "path", prefix = "/api/" }, { key = "user" }]
limit = "shop-path-user"

[limits.shop-path]
algorithm = "counter"
limit = 20
window = "60s"

[[envoy.descriptors]]
domain = "shop"
entries = [{ key = "path" }]
limit = "shop-path"

"#;
    assert_eq!(text(&output.stdout), expected);
    // `/api/…` alone has no limit there, and is any path here.
    let left_out = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{left_out}");
    assert_eq!(left_out.lines().count(), 1, "{left_out}");
    assert!(left_out.contains("path=/api/*: it has no limit there"), "{left_out}");
}

#[test]
fn limits_of_limitador_are_mapped() {
    let output = import(LIMITADOR);
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""));
    check(&output.stdout);
    let toml = text(&output.stdout);
    for entries in [
        r#"entries = [{ key = "method", value = "GET" }, { key = "user" }]"#,
        r#"entries = [{ key = "method", value = "POST" }, { key = "user" }]"#,
    ] {
        assert!(toml.contains(entries), "{toml}");
    }
    assert_eq!(toml.matches("algorithm = \"counter\"").count(), 2);
}

#[test]
fn what_cannot_be_mapped_is_listed_and_left_out() {
    let envoyproxy =
        |limit: &str| format!("domain: a\ndescriptors:\n  - key: k\n    rate_limit: {limit}\n");
    let limitador = |more: &str| format!("- namespace: a\n  max_value: 1\n{more}");
    for (file, why) in [
        (envoyproxy("{ unit: minute, requests_per_unit: 0 }"), "a limit of 0"),
        (
            envoyproxy("{ unit: day, requests_per_unit: 3 }")
                + "  - key: k\n    value: v\n    rate_limit: { unit: day, requests_per_unit: 0 }\n",
            "k=v: a limit of 0 refuses everything; the least limit is 1. Here another descriptor",
        ),
        (envoyproxy("{ unit: month, requests_per_unit: 1 }"), "the unit `month`"),
        (envoyproxy("{ unit: day, requests_per_unit: 1, unit_multiplier: 2 }"), "a window of"),
        (envoyproxy("{ unit: day, requests_per_unit: 1, replaces: [{ name: b }] }"), "`replaces`"),
        (
            envoyproxy("{ unit: day, requests_per_unit: 3 }")
                + "  - key: k\n    rate_limit: { unit: day, requests_per_unit: 4 }\n",
            "k (any value): it is there twice; only the first counts",
        ),
        (limitador("  seconds: 60\n"), "applies to every request"),
        (limitador("  seconds: 60\n  conditions: [\"a != 'b'\"]\n"), "`a != 'b'`"),
        (
            "- { namespace: a, max_value: 1, seconds: 1, variables: [user] }\n- { namespace: a, \
             max_value: 9, seconds: 60, variables: [user] }\n"
                .to_owned(),
            "limit 2: an earlier limit has the same entries",
        ),
        (limitador("  seconds: 90000\n  variables: [user]\n"), "a window of 90000 s"),
    ] {
        let output = import(&file);
        let left_out = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{file}: {left_out}");
        assert!(left_out.contains("left out: ") && left_out.contains(why), "{file}: {left_out}");
        let mapped = text(&output.stdout).matches("[limits.").count();
        let has_two = file.matches("unit: day, requests_per_unit: 3").count() == 1
            || why.starts_with("limit 2");
        assert_eq!(mapped, usize::from(has_two), "{file}");
    }
}

/// The other programs read a value as text, whatever it looks like.
/// limitador counts a request in each limit whose entries it has.
#[test]
fn limits_that_count_the_same_request_are_listed() {
    let limit = |conditions: &str| {
        format!(
            "- {{ namespace: shop, max_value: 3, seconds: 60, conditions: [{conditions}], \
             variables: [user] }}\n"
        )
    };
    let output = import(&[limit("\"method == 'GET'\""), limit("")].concat());
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let stderr = text(&output.stderr);
    let says = "counts differently: limit 2: a request can also have the entries of an earlier limit (method=GET, user (any value))";
    assert!(stderr.contains(says), "{stderr}");
    assert_eq!(text(&output.stdout).matches("[[envoy.descriptors]]").count(), 2);
    check(&output.stdout);
}

#[test]
fn a_descriptor_without_an_equivalent_says_whether_another_one_matches_all_of_it() {
    let tree = |value: &str| {
        format!(
            "domain: shop\ndescriptors:\n  - key: path\n    {value}\n    rate_limit: {{ unit: second, \
             requests_per_unit: 5 }}\n  - key: path\n    rate_limit: {{ unit: second, \
             requests_per_unit: 5, replaces: [{{ name: x }}] }}\n"
        )
    };
    let output = import(&tree("value: /login"));
    let stderr = text(&output.stderr);
    assert!(stderr.contains("Anteroom has nothing like `replaces`"), "{stderr}");
    assert!(stderr.contains("Here another descriptor matches a part of it"), "{stderr}");
    let output = import(&tree("detailed_metric: true"));
    let stderr = text(&output.stderr);
    assert!(stderr.contains("Here another descriptor matches it"), "{stderr}");
}

#[test]
fn a_value_stays_as_it_is_written() {
    for value in ["NO", "y", "on", "007", "1.10", ".5", "1e3", "0x10", "1_000", "+5", "~x"] {
        let file = format!(
            "domain: d\ndescriptors:\n  - key: {value}\n    value: {value}\n    rate_limit: {{ unit: \
             day, requests_per_unit: 1 }}\n---\n"
        );
        let output = import(&file);
        assert_eq!(output.status.code(), Some(0), "{file}: {}", text(&output.stderr));
        let entry = format!("entries = [{{ key = \"{value}\", value = \"{value}\" }}]");
        assert!(text(&output.stdout).contains(&entry), "{}", text(&output.stdout));
    }
}

/// The defaults, and what is imported behind them, are one file.
#[test]
fn what_is_imported_can_be_appended_to_the_defaults() {
    let defaults = Command::new(binary("anteroom-envoy")).arg("--print-defaults").output();
    let mut file = defaults.unwrap().stdout;
    file.extend(import(LIMITADOR).stdout);
    check(&file);
}

#[test]
fn another_file_is_refused() {
    for (file, why) in [
        ("a: 1", "not a configuration of envoyproxy/ratelimit: "),
        ("domain: d\ndescriptor: []", "unknown field `descriptor`"),
        ("domain: d\ndescriptors: []", "it has no limits"),
        ("[]", "it has no limits"),
        ("text", "neither a configuration of envoyproxy/ratelimit"),
        ("[1]", "not a limits file of limitador: "),
        ("a: [", "not valid YAML: "),
        ("domain: d\n---\ndomain: e", "split it, and import each part"),
    ] {
        let output = import(file);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(65), "{file}: {error}");
        assert!(error.contains(why) && error.lines().count() == 1, "{file}: {error}");
    }
    let missing = Command::new(binary("anteroom-envoy")).args(["import", "/no/such"]).output();
    assert_eq!(missing.unwrap().status.code(), Some(66));
}
