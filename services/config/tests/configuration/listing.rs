//! The listing of the configuration in force.

use anteroom_config::{Loader, Service};

use super::secrets::{FIRST, SECOND, THIRD, file, path};

/// The listing of this file and these variables, with the path of the file as `FILE`.
fn listing(toml: &str, variables: &[(&str, &str)]) -> String {
    let file = file(toml);
    let loader = Loader::new(Some(file.path())).environment(variables.iter().copied());
    let listing = loader.list().unwrap_or_else(|error| panic!("{error}"));
    listing.replace(path(file.path()), "FILE")
}

/// The line of a key, with one space for all that are next to each other.
fn line(listing: &str, table: &str, key: &str) -> Option<String> {
    let (_, table) = listing.split_once(&format!("\n[{table}]\n"))?;
    let lines = table.lines().take_while(|line| !line.is_empty());
    let mut lines = lines.filter(|line| line.starts_with(&format!("{key} = ")));
    Some(lines.next()?.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[test]
fn each_value_has_its_origin() {
    let toml = r#"
        [queues."*"]
        batch = 9
        pace = "batch"
        health = "t"
        [queues."*".adaptive]
        min_batch = 1
        max_batch = 4
        success_target = 0.5
        p95_target = "100ms"
        [targets.t]
        [queues.a]
        exempt = ["10.0.0.0/8"]
        [queues.a.adaptive]
        min_batch = 2
        max_batch = 3
        success_target = 0.5
        [pools.p]
        options = { large = 20, small = 1 }
    "#;
    let listing =
        listing(toml, &[("ANTEROOM_QUEUES__A__BATCH", "7"), ("ANTEROOM_QUEUES__B__PACE", "even")]);
    for (table, key, expected) in [
        ("store", "url", "\"redis://127.0.0.1:6379\" # default"),
        ("store", "nodes", "[] # default"),
        ("queues.a", "batch", "7 # ANTEROOM_QUEUES__A__BATCH"),
        ("queues.a", "pace", "\"batch\" # FILE, [queues.\"*\"]"),
        ("queues.a", "interval", "\"10s\" # default"),
        ("queues.a", "exempt", "[\"10.0.0.0/8\"] # FILE"),
        ("queues.a.adaptive", "min_batch", "2 # FILE"),
        ("queues.b", "batch", "9 # FILE, [queues.\"*\"]"),
        ("queues.b", "pace", "\"even\" # ANTEROOM_QUEUES__B__PACE"),
        ("queues.b.adaptive", "max_batch", "4 # FILE, [queues.\"*\"]"),
        ("pools.p", "options", "{ large = 20, small = 1 } # FILE"),
    ] {
        let found =
            line(&listing, table, key).unwrap_or_else(|| panic!("{table}.{key}: {listing}"));
        assert_eq!(found, format!("{key} = {expected}"));
    }
    for (table, key) in [("queues.a", "title"), ("queues.a.adaptive", "p95_target")] {
        assert_eq!(line(&listing, table, key), None, "{table}.{key} is unset: {listing}");
    }
}

/// What is listed is the configuration: read again, it is the same.
#[test]
fn the_listing_is_a_configuration_file() {
    let toml =
        "[queues.a]\ncapacity = 5_000\ntitle = '\"a\" \\ é'\n[targets.t]\nthreshold = 0.25\n";
    let listed = listing(toml, &[]);
    let again = listing(&listed, &[]);
    let values = |listing: &str| {
        let lines = listing.lines().map(|line| line.rsplit_once(" # ").map_or(line, |(it, _)| it));
        lines.map(|line| line.trim_end().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(values(&again), values(&listed));
}

#[test]
fn no_secret_shows() {
    let (tokens, webhook) = (file(FIRST), file(THIRD));
    let toml = format!(
        "[store]\nurl = \"redis://ann@h:1\"\n[admission]\ntoken_secrets_file = {:?}\n[events.e]\n\
         issue = \"webhook\"\nurl = \"https://shop.example/issue?key=hunter3\"\nsecret_file = {:?}\n",
        tokens.path(),
        webhook.path(),
    );
    let listing = listing(
        &toml,
        &[
            ("ANTEROOM_ADMISSION__IDENTITY_SECRETS", SECOND),
            ("ANTEROOM_STORE__URL", "redis://ann:hunter2@h:1"),
        ],
    );
    for secret in [FIRST, SECOND, THIRD, "hunter2", "hunter3"] {
        assert!(!listing.contains(secret), "{secret}: {listing}");
    }
    let shown = |table, key| line(&listing, table, key).expect("listed");
    assert_eq!(shown("store", "url"), "url = \"redis://ann:***@h:1\" # ANTEROOM_STORE__URL");
    assert_eq!(
        shown("admission", "identity_secrets"),
        "identity_secrets = \"[hidden]\" # ANTEROOM_ADMISSION__IDENTITY_SECRETS"
    );
}

/// A scheduler does not read the file, so it cannot know that it is none.
#[test]
fn a_secret_in_the_place_of_its_file_does_not_show() {
    let variable = ("ANTEROOM_ADMISSION__TOKEN_SECRETS_FILE", FIRST);
    let loader = Loader::new(None).environment([variable]).service(Service::Scheduler);
    let listing = loader.list().expect("a listing");
    assert!(listing.contains("token_secrets_file = \"[hidden]\""), "{listing}");
    let error = crate::load("", &[variable]).expect_err("no file");
    assert!(error.starts_with("admission.token_secrets_file = [hidden] ("), "{error}");
}
