//! Secrets come from the environment or from files, and are shown nowhere.

use std::path::Path;

use anteroom_config::{Config, Loader};
use secrecy::ExposeSecret;

pub const FIRST: &str = "first-secret-0123456789abcdef0123456789";
pub const SECOND: &str = "second-secret-0123456789abcdef012345678";
pub const THIRD: &str = "third-secret-0123456789abcdef0123456789";
const PASSWORD: &str = "hunter2-of-the-store";

pub fn file(content: &str) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    std::fs::write(file.path(), content).expect("written");
    file
}

pub fn with(variables: &[(&str, &str)]) -> Result<Config, String> {
    let loader = Loader::new(None).environment(variables.iter().copied());
    loader.load().map_err(|error| error.to_string())
}

pub fn path(path: &Path) -> &str {
    path.to_str().expect("temporary paths are text")
}

fn exposed(secrets: &[secrecy::SecretString]) -> Vec<&str> {
    secrets.iter().map(ExposeSecret::expose_secret).collect()
}

#[test]
fn come_from_the_environment() {
    let both = format!("{FIRST},{SECOND}");
    let config = with(&[
        ("ANTEROOM_ADMISSION__TOKEN_SECRETS", both.as_str()),
        ("ANTEROOM_ADMISSION__LISTEN", "0.0.0.0:8080"),
        ("ANTEROOM_STORE__PASSWORD", "007"),
    ])
    .expect("with secrets it may listen everywhere");
    assert_eq!(exposed(&config.admission.token_secrets), [FIRST, SECOND]);
    let password = config.store().password.expect("set");
    assert_eq!(password.expose_secret(), "007", "text, not the number 7");
}

#[test]
fn come_from_files() {
    let tokens = file(&format!("{FIRST}\r\n\n  {SECOND}  \n"));
    let identities = file(THIRD);
    let password = file(&format!("{PASSWORD}\n"));
    let config = with(&[
        ("ANTEROOM_ADMISSION__TOKEN_SECRETS_FILE", path(tokens.path())),
        ("ANTEROOM_ADMISSION__IDENTITY_SECRETS_FILE", path(identities.path())),
        ("ANTEROOM_STORE__PASSWORD_FILE", path(password.path())),
    ])
    .expect("valid");
    assert_eq!(exposed(&config.admission.token_secrets), [FIRST, SECOND]);
    assert_eq!(exposed(&config.admission.identity_secrets), [THIRD]);
    assert_eq!(config.store().password.expect("set").expose_secret(), PASSWORD);
}

#[test]
fn are_not_taken_from_a_toml_file() {
    for toml in [
        format!("[admission]\ntoken_secrets = [\"{FIRST}\"]"),
        format!("[admission]\nidentity_secrets = [\"{FIRST}\"]"),
        format!("[store]\npassword = \"{PASSWORD}\""),
        format!("[store]\nurl = \"redis://:{PASSWORD}@redis:6379\""),
        format!("[store]\nurl = \"unix:///run/redis.sock?pass={PASSWORD}\""),
        format!("[store]\nmode = \"cluster\"\nnodes = [\"redis://me:{PASSWORD}@redis:6379\"]"),
    ] {
        let file = file(&toml);
        let error = Loader::new(Some(file.path())).load().expect_err(&toml).to_string();
        let rule = "a secret must not stand in a TOML file; set it by the environment";
        assert!(error.contains(" = [hidden] (") && error.contains(rule), "{error}");
        assert!(!error.contains(FIRST) && !error.contains(PASSWORD), "{error}");
    }
    let empty = file("[admission]\ntoken_secrets = []");
    Loader::new(Some(empty.path())).load().expect("an empty list is no secret");
}

#[test]
fn are_shown_in_no_error() {
    let short = "a-short-secret";
    let long_line = file(&format!("{FIRST}\n{short}\n"));
    let huge = file(&"x".repeat(70_000));
    let empty = file("\n");
    let words = format!("{FIRST} with words");
    let url = format!("redis://:{PASSWORD}@redis:6379/x");
    let wrong_socket = format!("unix://run/redis.sock?pass={PASSWORD}");
    for (variables, line) in [
        (
            vec![("ANTEROOM_ADMISSION__TOKEN_SECRETS", short)],
            "admission.token_secrets = [hidden] (ANTEROOM_ADMISSION__TOKEN_SECRETS): must be \
             secrets of at least 32 bytes each, without white space",
        ),
        (
            vec![("ANTEROOM_ADMISSION__IDENTITY_SECRETS", words.as_str())],
            "admission.identity_secrets = [hidden] (ANTEROOM_ADMISSION__IDENTITY_SECRETS): must be \
             secrets of at least 32 bytes each, without white space",
        ),
        (
            vec![("ANTEROOM_ADMISSION__TOKEN_SECRETS_FILE", path(long_line.path()))],
            "): line 2: must be secrets of at least 32 bytes each, without white space",
        ),
        (
            vec![("ANTEROOM_ADMISSION__TOKEN_SECRETS_FILE", path(huge.path()))],
            "): must name a file of at most 65536 bytes",
        ),
        (
            vec![("ANTEROOM_ADMISSION__TOKEN_SECRETS_FILE", path(empty.path()))],
            "): must name a file with 1 to 16 secrets, one a line",
        ),
        (
            vec![
                ("ANTEROOM_ADMISSION__TOKEN_SECRETS_FILE", path(long_line.path())),
                ("ANTEROOM_ADMISSION__TOKEN_SECRETS", FIRST),
            ],
            "admission.token_secrets = [hidden] (ANTEROOM_ADMISSION__TOKEN_SECRETS): must be empty \
             while admission.token_secrets_file is set",
        ),
        (
            vec![("ANTEROOM_STORE__PASS", PASSWORD)],
            "store.pass (ANTEROOM_STORE__PASS): unknown key, expected one of `url`",
        ),
        (
            vec![("ANTEROOM_STORE__PASSWORD__X", PASSWORD)],
            "store.password = [hidden]: must be a string that is not empty",
        ),
        (
            vec![
                ("ANTEROOM_STORE__PASSWORD", PASSWORD),
                ("ANTEROOM_STORE__PASSWORD_FILE", path(empty.path())),
            ],
            "store.password = [hidden] (ANTEROOM_STORE__PASSWORD): must be absent while \
             store.password_file is set",
        ),
        (
            vec![("ANTEROOM_STORE__URL", url.as_str())],
            "store.url = [hidden] (ANTEROOM_STORE__URL): must be an address",
        ),
        (
            vec![("ANTEROOM_STORE__URL", wrong_socket.as_str())],
            "store.url = [hidden] (ANTEROOM_STORE__URL): must be an address",
        ),
    ] {
        let error = with(&variables).expect_err(line);
        assert!(error.contains(line), "expected {line}\n   found {error}");
        for secret in [short, FIRST, PASSWORD, "xxxxxxxx"] {
            assert!(!error.contains(secret), "{error}");
        }
    }
}

/// A key that was pasted where its digest belongs, or anywhere else.
#[test]
fn a_pasted_key_is_shown_nowhere() {
    let key = "ark1.c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LXNlY3I";
    let bare = key.trim_start_matches("ark1.");
    let rule = "must be \"sha256:\" and 64 hexadecimal digits";
    for digest in
        [key.to_owned(), bare.to_owned(), format!("sha256:{key}"), format!("sha256:{bare}")]
    {
        let file = file(&format!("[keys.shop]\ndigest = \"{digest}\"\nrole = \"backend\"\n"));
        let error = Loader::new(Some(file.path())).load().expect_err(&digest).to_string();
        let line = format!("keys.shop.digest = [hidden] ({}): {rule}", file.path().display());
        assert_eq!(error, line);
        let variables = [
            ("ANTEROOM_KEYS__SHOP__DIGEST", digest.as_str()),
            ("ANTEROOM_KEYS__SHOP__ROLE", "backend"),
        ];
        let error = with(&variables).expect_err("no digest");
        assert_eq!(
            error,
            format!("keys.shop.digest = [hidden] (ANTEROOM_KEYS__SHOP__DIGEST): {rule}")
        );
    }
    for toml in [
        format!("[keys.shop]\ndigest = [\"{key}\"]\nrole = \"backend\""),
        format!("[keys.shop]\ndigest = [\"{bare}\"]\nrole = \"backend\""),
        format!("[keys]\nshop = \"{key}\""),
        format!("[keys]\nshop = \"{bare}\""),
        format!("[keys.{key}]\nrole = \"backend\""),
        format!("[keys.\"{key}\"]\ndigest = \"sha256:{}\"\nrole = \"backend\"", "0".repeat(64)),
        format!("[admission]\nlisten = \"{key}\""),
        format!("[store]\nurl = \"redis://{key}@\""),
    ] {
        let file = file(&toml);
        let error = Loader::new(Some(file.path())).load().expect_err(&toml).to_string();
        assert!(!error.contains(bare), "{error}");
    }
    // A digest is no secret, and its error must say which one is meant.
    let twice = format!("digest = \"sha256:{}\"\nrole = \"backend\"\n", "ab".repeat(32));
    let file = file(&format!("[keys.a]\n{twice}[keys.b]\n{twice}"));
    let error = Loader::new(Some(file.path())).load().expect_err("twice").to_string();
    assert!(error.contains("abab"), "{error}");
}

/// A password in an address is not shown, whatever the form of the address.
#[test]
fn a_password_in_an_address_of_any_form_is_shown_nowhere() {
    for address in [
        format!("me:{PASSWORD}@redis:6379"),
        format!(":{PASSWORD}@redis"),
        format!("{PASSWORD}@redis:6379"),
        format!("redis:{PASSWORD}@redis:6379"),
        format!("redis:/me:{PASSWORD}@redis:6379"),
        format!("redis//me:{PASSWORD}@redis:6379"),
        format!("http://me:{PASSWORD}@redis:6379"),
        format!("redis:6379?password={PASSWORD}"),
        format!("redis:6379 -a {PASSWORD}"),
        format!("/run/redis.sock?PASS={PASSWORD}"),
    ] {
        for (variables, line) in [
            (vec![("ANTEROOM_STORE__URL", address.as_str())], "store.url = [hidden] ("),
            (
                vec![
                    ("ANTEROOM_STORE__MODE", "cluster"),
                    ("ANTEROOM_STORE__NODES", address.as_str()),
                ],
                "store.nodes = [hidden] (",
            ),
            (
                vec![
                    ("ANTEROOM_QUEUES__A__BATCH", "1"),
                    ("ANTEROOM_QUEUES__A__PUBLIC_URL", address.as_str()),
                ],
                "queues.a.public_url = [hidden] (",
            ),
        ] {
            let error = with(&variables).expect_err(&address);
            assert!(error.starts_with(line), "{error}");
            assert!(!error.contains(PASSWORD), "{error}");
        }
    }
    // A readable address is shown without the part that may be a password.
    for (url, shown) in [
        (format!("redis://me:{PASSWORD}@redis:6379"), "redis://me:***@redis:6379"),
        (format!("redis://{PASSWORD}@redis:6379"), "redis://***@redis:6379"),
        (format!("redis://redis:6379/0?password={PASSWORD}"), "redis://redis:6379/0"),
        (format!("unix:///run/redis.sock?pass={PASSWORD}"), "unix:///run/redis.sock"),
    ] {
        let variables =
            [("ANTEROOM_STORE__URL", url.as_str()), ("ANTEROOM_STORE__CA_FILE", "/x.pem")];
        let error = with(&variables).expect_err(&url);
        assert!(error.starts_with(&format!("store.url = \"{shown}\" (")), "{error}");
        assert_eq!(with(&variables[..1]).expect("valid").store.url.to_string(), shown);
    }
    for plain in ["localhost:6379", "redis", "redis:6379/0", "[::1]:6379"] {
        let error = with(&[("ANTEROOM_STORE__URL", plain)]).expect_err(plain);
        assert!(error.starts_with(&format!("store.url = \"{plain}\" (")), "{error}");
    }
}

#[test]
fn a_broken_file_does_not_quote_its_lines() {
    let file = file(&format!("[store]\npassword = \"{PASSWORD}\n"));
    let error = Loader::new(Some(file.path())).load().expect_err("not TOML").to_string();
    assert!(error.contains(": line 2: not valid TOML"), "{error}");
    assert!(!error.contains(PASSWORD), "{error}");
}

#[test]
fn are_not_printed() {
    let url = format!("redis://me:{PASSWORD}@redis:6379/0");
    let config = with(&[
        ("ANTEROOM_ADMISSION__TOKEN_SECRETS", FIRST),
        ("ANTEROOM_ADMISSION__IDENTITY_SECRETS", SECOND),
        ("ANTEROOM_STORE__URL", &url),
        ("ANTEROOM_STORE__PASSWORD", PASSWORD),
    ])
    .expect("valid");
    let loader = Loader::new(None).environment([("ANTEROOM_STORE__PASSWORD", PASSWORD)]);
    let printed = format!("{config:?} {config:#?} {} {loader:?}", config.store.url);
    for secret in [FIRST, SECOND, PASSWORD] {
        assert!(!printed.contains(secret), "{printed}");
    }
    assert!(printed.contains("redis://me:***@redis:6379/0"), "{printed}");
    assert_eq!(config.store().urls, [url], "the store itself gets it whole");
}
