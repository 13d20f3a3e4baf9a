//! Published secrets and placeholders: no service that others can reach starts with one.

use anteroom_config::{Config, Loader, Service};

const TOKENS: (&str, &str) =
    ("ANTEROOM_ADMISSION__TOKEN_SECRETS", "development-only-token-secret-0123456789");
const IDENTITIES: (&str, &str) =
    ("ANTEROOM_ADMISSION__IDENTITY_SECRETS", "development-only-identity-secret-0123456789");
const PASSWORD: (&str, &str) =
    ("ANTEROOM_STORE__PASSWORD", "development-only-password-of-the-store");
/// The sample shop's key of the development overlay.
const SHOP: &str = "c8ee7b3024881d030ee44d965364301750f159a13b9a927e8431419baa55026e";

/// One listener each that others can reach.
const REACHABLE: [(Service, &str); 5] = [
    (Service::Admission, "ANTEROOM_ADMISSION__LISTEN"),
    (Service::Admission, "ANTEROOM_ADMISSION__SERVICE_LISTEN"),
    (Service::Admission, "ANTEROOM_ADMISSION__METRICS_LISTEN"),
    (Service::Scheduler, "ANTEROOM_SCHEDULER__METRICS_LISTEN"),
    (Service::Issuer, "ANTEROOM_ISSUER__METRICS_LISTEN"),
];

fn key(digest: &str) -> (&'static str, String) {
    ("ANTEROOM_KEYS__SHOP__DIGEST", format!("sha256:{digest}"))
}

/// The variables beside a key and a token secret that are good.
fn loader<'a>(variables: impl IntoIterator<Item = (&'a str, &'a str)>) -> Loader {
    let good = [
        ("ANTEROOM_KEYS__SHOP__DIGEST", format!("sha256:{}", "ab".repeat(32))),
        ("ANTEROOM_KEYS__SHOP__ROLE", "backend".to_owned()),
        ("ANTEROOM_ADMISSION__TOKEN_SECRETS", "good-secret-0123456789abcdef-0123".to_owned()),
    ];
    let given = variables.into_iter().map(|(name, value)| (name, value.to_owned()));
    Loader::new(None).environment(good).environment(given)
}

fn load(loader: &Loader, service: Service) -> Result<Config, String> {
    loader.clone().service(service).load().map_err(|error| error.to_string())
}

#[test]
fn a_service_that_others_can_reach_refuses_them() {
    let [placeholder, published] = [&"1".repeat(64), SHOP].map(key);
    let publishes = "that Anteroom's repository publishes; make";
    let url = ("ANTEROOM_STORE__URL", "redis://:development-only-password-of-the-store@redis");
    let encoded =
        ("ANTEROOM_STORE__URL", "redis://:development%2Donly-password-of-the-store@redis");
    let socket =
        ("ANTEROOM_STORE__URL", "unix:///run/redis?pass=development-only-password-of-the-store");
    let cases = [
        (TOKENS, "admission.token_secrets = [hidden] (", "a secret", vec![Service::Admission]),
        (
            IDENTITIES,
            "admission.identity_secrets = [hidden] (",
            "a secret",
            vec![Service::Admission],
        ),
        (
            (published.0, &published.1),
            &format!("keys.shop.digest = \"sha256:{SHOP}\" ("),
            "the digest of a key",
            vec![Service::Admission],
        ),
        (PASSWORD, "store.password = [hidden] (", "a secret", REACHABLE.map(|it| it.0).into()),
        (url, "store.url = ", "a secret", REACHABLE.map(|it| it.0).into()),
        (encoded, "store.url = ", "a secret", REACHABLE.map(|it| it.0).into()),
        (socket, "store.url = ", "a secret", REACHABLE.map(|it| it.0).into()),
    ];
    for (service, listener) in REACHABLE {
        let reachable = (listener, "0.0.0.0:0");
        for (secret, front, what, concerned) in &cases {
            let loaded = load(&loader([reachable, *secret]), service);
            if !concerned.contains(&service) {
                loaded.expect("the service does not read it");
                continue;
            }
            let line = loaded.expect_err(listener);
            let remedy = "or set admission.development = true on a test system";
            assert!(line.starts_with(front) && line.ends_with(remedy), "{line}");
            assert!(line.contains(&format!("must not be {what} {publishes}")), "{line}");
            assert!(!line.contains("development-only"), "{line}");
        }
        let loaded = load(&loader([reachable, (placeholder.0, &placeholder.1)]), service);
        match service {
            Service::Admission => {
                let line = loaded.expect_err(listener);
                let digits = "1".repeat(64);
                assert!(line.starts_with(&format!("keys.shop.digest = \"sha256:{digits}\" (")));
                assert!(line.contains("must not be a placeholder"), "{line}");
            }
            _ => drop(loaded.expect("it reads no keys")),
        }
    }
}

#[test]
fn files_of_secrets_are_named() {
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    std::fs::write(file.path(), format!("good-secret-0123456789abcdef-4567\n{}\n", TOKENS.1))
        .expect("written");
    let path = file.path().to_str().expect("text");
    let named = ("ANTEROOM_ADMISSION__IDENTITY_SECRETS_FILE", path);
    let loaded =
        load(&loader([("ANTEROOM_ADMISSION__LISTEN", "[::]:0"), named]), Service::Admission);
    let line = loaded.expect_err("the second line");
    assert!(line.starts_with(&format!("admission.identity_secrets_file = \"{path}\" (")), "{line}");
}

#[test]
fn loopback_and_development_are_spared_and_a_check_spares_development_only() {
    let everywhere = ("ANTEROOM_ADMISSION__LISTEN", "0.0.0.0:0");
    let development = ("ANTEROOM_ADMISSION__DEVELOPMENT", "true");
    let (placeholder, digest) = key(&"0".repeat(64));
    for secret in [TOKENS, IDENTITIES, PASSWORD, (placeholder, digest.as_str())] {
        let config = load(&loader([secret]), Service::Admission).expect("on loopback");
        assert!(!config.admission.development);
        let config = load(&loader([secret, everywhere, development]), Service::Admission);
        let warnings = config.expect("for development").warnings(Service::Admission);
        let has_warned = warnings.iter().any(|it| it.starts_with("admission.development is true"));
        assert!(has_warned, "{warnings:?}");

        let check = |loader: Loader| load(&loader.for_any_machine(), Service::Admission);
        check(loader([secret])).expect_err("for any machine");
        check(loader([secret, development])).expect("for development");
    }
}
