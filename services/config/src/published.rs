//! Secrets that everyone can read, and placeholders: no service that others can reach starts with
//! one, unless `admission.development` says that it may.

use std::net::SocketAddr;

use secrecy::{ExposeSecret as _, SecretString};
use sha2::{Digest as _, Sha256};

use crate::{
    error::Fault, keys::Digest, parse::FromText as _, secrets, sections::Config, service::Service,
    store::Address,
};

/// The digest of each secret that a sample in this repository publishes; of a key it is the digest
/// in `[keys.NAME]`. A test makes this list from the samples.
const PUBLISHED: [&str; 5] = [
    "sha256:c8ee7b3024881d030ee44d965364301750f159a13b9a927e8431419baa55026e",
    "sha256:5ce86e65284e7a93213b6d1fd3488beb2fa4e9e0ead0d25a9425fe086c2bc888",
    "sha256:9cf54fe112811e6358f0f303bf79cb00f429572405e1e16803468e84029a0087",
    "sha256:6e7969c8ea0eb1d53db11f00b2399f4ae23586177acdd52ea2b0348085bd9894",
    "sha256:a6db176fd7b158a9f9aa40ef9788100d89119526ae82680733d7ad35b2ee36c8",
];

/// The remedy for a secret.
const MAKE_A_SECRET: &str = "make one with \"head -c 33 /dev/urandom | base64\"";

/// When they are accepted.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Accepted {
    /// For development, and while every port is a loopback address.
    #[default]
    OnLoopback,
    /// For development only.
    ForDevelopment,
    /// As it was decided at the start.
    AsAtStart(bool),
}

impl Accepted {
    /// For a process that runs with this configuration.
    pub(crate) fn at_start(self, running: &Config, service: Option<Service>) -> Self {
        Self::AsAtStart(self.allows(running, service))
    }

    fn allows(self, config: &Config, service: Option<Service>) -> bool {
        let development = config.admission.development;
        match self {
            Self::AsAtStart(allowed) => allowed,
            Self::ForDevelopment => development,
            Self::OnLoopback => {
                development || ports(config, service).iter().all(|port| port.ip().is_loopback())
            }
        }
    }
}

/// Where a service listens; all of them when none is named.
fn ports(config: &Config, service: Option<Service>) -> Vec<SocketAddr> {
    let is_meant = |of: &Service| service.is_none_or(|service| service == *of);
    let services: Vec<_> = Service::ALL.into_iter().filter(is_meant).collect();
    let mut ports: Vec<_> = services.iter().map(|of| config.metrics_listen(*of)).collect();
    if services.contains(&Service::Admission) {
        ports.extend([config.admission.listen, config.admission.service_listen]);
    }
    if services.contains(&Service::Envoy) {
        ports.push(config.envoy.listen);
    }
    ports
}

/// Refuses them, in what this service reads.
pub(crate) fn check(
    config: &Config,
    service: Option<Service>,
    accepted: Accepted,
) -> Result<(), Fault> {
    if accepted.allows(config, service) {
        return Ok(());
    }
    let reads = |other| service.is_none_or(|service| service == other);
    let store = &config.store;
    if let Some(password) = &store.password {
        let key = secrets::key_of(store.password_file.as_deref(), "store.password");
        refuse(&key, password.expose_secret())?;
    }
    let key = if store.nodes.is_empty() { "store.url" } else { "store.nodes" };
    let mut in_url = store.addresses().iter().filter_map(Address::password);
    in_url.try_for_each(|password| refuse(key, &password))?;
    if reads(Service::Admission) {
        for (name, key) in &config.keys {
            check_digest(&format!("keys.{name}.digest"), key.digest)?;
        }
    }
    if service.is_none_or(Service::signs_tokens) {
        let admission = &config.admission;
        let tokens = (&admission.token_secrets, admission.token_secrets_file.as_deref());
        refuse_all(tokens.0, &secrets::key_of(tokens.1, "admission.token_secrets"))?;
        let identities = (&admission.identity_secrets, admission.identity_secrets_file.as_deref());
        refuse_all(identities.0, &secrets::key_of(identities.1, "admission.identity_secrets"))?;
    }
    if reads(Service::Issuer) {
        for (name, event) in &config.events {
            refuse_all(&event.secrets, &format!("events.{name}.secret_file"))?;
        }
    }
    Ok(())
}

fn refuse_all(secrets: &[SecretString], key: &str) -> Result<(), Fault> {
    secrets.iter().try_for_each(|secret| refuse(key, secret.expose_secret()))
}

fn refuse(key: &str, secret: &str) -> Result<(), Fault> {
    let rule = rule("a secret that Anteroom's repository publishes", MAKE_A_SECRET);
    Fault::unless(!is_published(Digest(Sha256::digest(secret).into())), key, rule)
}

fn check_digest(key: &str, digest: Digest) -> Result<(), Fault> {
    let what = if is_placeholder(digest) {
        "a placeholder, one digit repeated"
    } else if is_published(digest) {
        "the digest of a key that Anteroom's repository publishes"
    } else {
        return Ok(());
    };
    let remedy = "make a key with \"anteroom-admission new-key\" and set its digest";
    Err(Fault::new(key, rule(what, remedy)))
}

fn rule(what: &str, remedy: &str) -> String {
    format!("must not be {what}; {remedy}, or set admission.development = true on a test system")
}

fn is_published(digest: Digest) -> bool {
    PUBLISHED.iter().any(|text| Digest::from_text(text) == Some(digest))
}

/// One hexadecimal digit 64 times.
fn is_placeholder(Digest(bytes): Digest) -> bool {
    bytes.iter().all(|byte| *byte == bytes[0]) && bytes[0] >> 4 == bytes[0] & 15
}

#[cfg(test)]
mod tests {
    use std::{
        collections::BTreeSet,
        fs,
        path::{Path, PathBuf},
    };

    use super::*;

    /// Where samples are that a reader may copy.
    const SAMPLES: [&str; 7] =
        ["config", "deploy", "docs", "gateways", "k8s", "scripts", "README.md"];

    /// The files below a folder, or the file itself.
    fn files(path: &Path) -> Vec<PathBuf> {
        if !path.is_dir() {
            return vec![path.to_owned()];
        }
        let entries = fs::read_dir(path).expect("a folder").map(|entry| entry.expect("an entry"));
        entries.flat_map(|entry| files(&entry.path())).collect()
    }

    /// The digests of the lines of a file of secrets.
    fn of_secrets(text: &str) -> Vec<Digest> {
        text.lines().map(|line| Digest(Sha256::digest(line).into())).collect()
    }

    /// The digests of keys and of passwords that stand in a text.
    fn named(text: &str) -> Vec<Digest> {
        let keys = text.split("digest = \"").skip(1).filter_map(|rest| rest.split('"').next());
        let users = text.split(" #").skip(1).filter_map(|rest| rest.split(' ').next());
        let users = users.map(|digits| format!("sha256:{digits}"));
        let texts = keys.map(str::to_owned).chain(users);
        texts.filter_map(|text| Digest::from_text(&text)).collect()
    }

    #[test]
    fn every_secret_that_a_sample_publishes_is_in_the_list_and_no_other() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut found = BTreeSet::new();
        for file in SAMPLES.iter().flat_map(|folder| files(&root.join(folder))) {
            let Ok(text) = fs::read_to_string(&file) else { continue };
            let is_public = ["redis-username", "users.acl"].iter().any(|name| file.ends_with(name));
            let in_folder = file.parent().is_some_and(|folder| folder.ends_with("secrets"));
            if in_folder && !is_public {
                found.extend(of_secrets(&text).into_iter().map(|digest| digest.0));
            }
            found.extend(named(&text).into_iter().map(|digest| digest.0));
        }
        found.retain(|digest| !is_placeholder(Digest(*digest)));
        let list = PUBLISHED.map(|text| Digest::from_text(text).expect(text).0);
        assert_eq!(found, BTreeSet::from(list));
    }

    #[test]
    fn one_digit_repeated_is_a_placeholder() {
        for byte in [0x00, 0x11, 0xaa, 0xff] {
            assert!(is_placeholder(Digest([byte; 32])), "{byte:x}");
        }
        let mut almost = [0x11; 32];
        almost[31] = 0x12;
        for bytes in [[0x01; 32], [0xab; 32], almost] {
            assert!(!is_placeholder(Digest(bytes)), "{bytes:x?}");
        }
    }
}
