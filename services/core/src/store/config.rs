//! Where the store is and how long it may take.

use std::{path::PathBuf, time::Duration};

use secrecy::SecretString;

/// How the addresses of the store are to be understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mode {
    /// One server, or one address that always leads to the primary.
    Single,
    /// The addresses are Sentinels; they are asked for the primary of this name.
    Sentinel {
        /// The name under which the Sentinels watch the primary.
        master: String,
    },
    /// The addresses are nodes of a Redis Cluster.
    Cluster,
}

/// The address of the store, its credentials and its time budgets.
#[derive(Clone, Debug)]
pub struct Config {
    /// `redis://`, `rediss://` or `unix://` addresses; more than one only for Sentinel and Cluster.
    pub urls: Vec<String>,
    /// What the addresses are.
    pub mode: Mode,
    /// ACL user; overrides the one in the address. With Sentinel it is the primary's user, and the
    /// one in the address is the Sentinels' own.
    pub username: Option<String>,
    /// Password; overrides the one in the address, as `username` does.
    pub password: Option<SecretString>,
    /// PEM file with the authorities to trust for `rediss://` instead of the public ones. Read
    /// again at every connect, so a rotated file needs no restart.
    pub ca_file: Option<PathBuf>,
    /// How long one attempt to connect may take.
    pub connect_timeout: Duration,
    /// How long one command may take before its effect counts as unknown.
    pub command_timeout: Duration,
    /// How long one operation may take, with its repeat.
    pub request_timeout: Duration,
}

impl Config {
    /// One server at `url`, without credentials of its own, with the default budgets: 1 s to
    /// connect, 250 ms for a command, 1 s for a request.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            urls: vec![url.into()],
            mode: Mode::Single,
            username: None,
            password: None,
            ca_file: None,
            connect_timeout: Duration::from_secs(1),
            command_timeout: Duration::from_millis(250),
            request_timeout: Duration::from_secs(1),
        }
    }

    /// Checks what can be checked without the addresses being understood.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        for (key, value) in [
            ("store.connect_timeout", self.connect_timeout),
            ("store.command_timeout", self.command_timeout),
            ("store.request_timeout", self.request_timeout),
        ] {
            if value.is_zero() {
                return Err(ConfigError::new(key, "0s", "must be longer than nothing"));
            }
        }
        if self.request_timeout < self.command_timeout {
            return Err(ConfigError::new(
                "store.request_timeout",
                &format!("{:?}", self.request_timeout),
                "must be at least store.command_timeout",
            ));
        }
        if let Some(path) = &self.ca_file
            && let Err(error) = std::fs::read(path)
        {
            return Err(ConfigError::new(
                "store.ca_file",
                &path.display().to_string(),
                &format!("must be a readable file ({error})"),
            ));
        }
        match (&self.mode, self.urls.len()) {
            (_, 0) => Err(ConfigError::new("store.url", "", "must name an address")),
            (Mode::Single, 2..) => Err(ConfigError::new(
                "store.url",
                &format!("{} addresses", self.urls.len()),
                "must be one address unless store.mode is sentinel or cluster",
            )),
            (Mode::Sentinel { master }, _) if master.is_empty() => {
                Err(ConfigError::new("store.mode", "sentinel", "needs the name of the primary"))
            }
            _ => Ok(()),
        }
    }
}

/// A configuration of the store that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key} = {value:?}: {rule}")]
pub struct ConfigError {
    /// The key in the configuration, such as `store.url`.
    pub key: &'static str,
    /// The offending value; a password in an address is blotted out.
    pub value: String,
    /// The rule that the value breaks.
    pub rule: String,
}

impl ConfigError {
    pub(super) fn new(key: &'static str, value: &str, rule: &str) -> Self {
        Self { key, value: redacted(value), rule: rule.to_owned() }
    }
}

/// The address without its password and query, fit for a log.
pub(super) fn redacted(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let rest = rest.split(['?', '#']).next().unwrap_or(rest);
    // The last '@': a password may hold one.
    match rest.rsplit_once('@') {
        Some((user, host)) => {
            let user = user.split(':').next().unwrap_or_default();
            format!("{scheme}://{user}:***@{host}")
        }
        None => format!("{scheme}://{rest}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_never_shows() {
        for (url, shown) in [
            ("redis://h:1/2", "redis://h:1/2"),
            ("redis://:secret@h:1", "redis://:***@h:1"),
            ("rediss://ann:se@cr:et@h:1/?protocol=resp3", "rediss://ann:***@h:1/"),
            ("unix:///run/r.sock?pass=secret", "unix:///run/r.sock"),
            ("nonsense", "nonsense"),
        ] {
            assert_eq!(redacted(url), shown);
        }
    }

    #[test]
    fn a_bad_configuration_names_key_value_and_rule() {
        let bad = |change: fn(&mut Config)| {
            let mut config = Config::new("redis://localhost");
            change(&mut config);
            config.check().expect_err("refused").to_string()
        };
        assert_eq!(
            bad(|c| c.command_timeout = Duration::ZERO),
            "store.command_timeout = \"0s\": must be longer than nothing"
        );
        assert_eq!(
            bad(|c| c.request_timeout = Duration::from_millis(9)),
            "store.request_timeout = \"9ms\": must be at least store.command_timeout"
        );
        assert_eq!(bad(|c| c.urls.clear()), "store.url = \"\": must name an address");
        assert_eq!(
            bad(|c| c.urls.push("redis://other".into())),
            "store.url = \"2 addresses\": \
             must be one address unless store.mode is sentinel or cluster"
        );
        assert!(bad(|c| c.ca_file = Some("/nowhere.pem".into())).contains("/nowhere.pem"));
        assert!(bad(|c| c.mode = Mode::Sentinel { master: String::new() }).contains("name"));
    }
}
