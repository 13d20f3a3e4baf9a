//! Secrets that sign: one for each purpose, and made by a machine.

use anteroom_config::{Loader, Service};

use crate::secrets::{FIRST, SECOND, THIRD, file, path, with};

/// Else each backend that signs identities could make tokens.
#[test]
fn one_secret_never_signs_tokens_and_identities() {
    let rule = "must not hold a secret of admission.token_secrets";
    let both = format!("{FIRST},{SECOND}");
    let tokens = ("ANTEROOM_ADMISSION__TOKEN_SECRETS", both.as_str());
    let line = with(&[tokens, ("ANTEROOM_ADMISSION__IDENTITY_SECRETS", SECOND)]);
    let line = line.expect_err("one secret for both");
    let named = "admission.identity_secrets = [hidden] (ANTEROOM_ADMISSION__IDENTITY_SECRETS): ";
    assert!(line.starts_with(&format!("{named}{rule}")), "{line}");

    let identities = file(&format!("{THIRD}\n{SECOND}\n"));
    let named = ("ANTEROOM_ADMISSION__IDENTITY_SECRETS_FILE", path(identities.path()));
    let line = with(&[tokens, named]).expect_err("one secret for both");
    assert!(line.starts_with("admission.identity_secrets_file = "), "{line}");
    assert!(line.contains(rule) && !line.contains(SECOND), "{line}");
    with(&[("ANTEROOM_ADMISSION__TOKEN_SECRETS", FIRST), named]).expect("one for each");
}

#[test]
fn a_secret_of_few_different_bytes_is_warned_of() {
    let fifteen = "abcdefghijklmno".repeat(3);
    let sixteen = "abcdefghijklmnop".repeat(2);
    let tokens = format!("{FIRST},{fifteen},{sixteen}");
    let warnings = |identities: &str| {
        let config = with(&[
            ("ANTEROOM_ADMISSION__TOKEN_SECRETS", tokens.as_str()),
            ("ANTEROOM_ADMISSION__IDENTITY_SECRETS", identities),
        ]);
        let mut warnings = config.expect("valid").warnings(Service::Admission);
        warnings.retain(|warning| warning.contains("different bytes"));
        warnings
    };
    let found = warnings(SECOND);
    let rule = "has fewer than 16 different bytes and can be guessed";
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].starts_with(&format!("admission.token_secrets: secret 2 {rule}")),
        "{found:?}"
    );
    assert!(!found[0].contains(&fifteen));
    let found = warnings(&"0".repeat(32));
    assert!(found[1].starts_with(&format!("admission.identity_secrets: secret 1 {rule}")));

    let signing = file(&fifteen);
    let event = file(&format!(
        "[events.coupon]\nissue = \"webhook\"\nurl = \"https://shop.example/\"\n\
         secret_file = {:?}\n",
        path(signing.path())
    ));
    let config = Loader::new(Some(event.path())).load().expect("valid");
    let found = config.warnings(Service::Issuer);
    assert!(
        found[0].starts_with(&format!("events.coupon.secret_file: secret 1 {rule}")),
        "{found:?}"
    );
}
