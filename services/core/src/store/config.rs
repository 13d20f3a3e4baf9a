//! Where the store is and how long it may take.

use std::{fs::File, path::PathBuf, time::Duration};

use secrecy::SecretString;

use super::{Address, address::redacted};

/// How the addresses of the store are to be understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mode {
    /// One server, or one address that always leads to the primary.
    Single,
    /// The addresses are Sentinels; they return the primary of this name.
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

    /// Checks all that can be checked without connecting, and gives the addresses as they are
    /// understood.
    ///
    /// # Errors
    ///
    /// The first rule that is broken, with its key in the configuration.
    pub fn check(&self) -> Result<Vec<Address>, ConfigError> {
        let broken = |key, value: &str, rule: &str| Err(ConfigError::new(key, value, rule));
        for (key, value) in [
            ("store.connect_timeout", self.connect_timeout),
            ("store.command_timeout", self.command_timeout),
            ("store.request_timeout", self.request_timeout),
        ] {
            if value.is_zero() {
                return broken(key, "0s", "must be longer than nothing");
            }
        }
        if self.request_timeout < self.command_timeout {
            let value = format!("{:?}", self.request_timeout);
            return broken(
                "store.request_timeout",
                &value,
                "must be at least store.command_timeout",
            );
        }
        match (&self.mode, self.urls.len()) {
            (_, 0) => return broken("store.url", "", "must name an address"),
            (Mode::Single, count @ 2..) => {
                let rule = "must be one address unless store.mode is sentinel or cluster";
                return broken("store.url", &format!("{count} addresses"), rule);
            }
            (Mode::Sentinel { master }, _) if master.is_empty() => {
                return broken("store.mode", "sentinel", "needs the name of the primary");
            }
            _ => {}
        }
        let addresses = self.urls.iter().map(|url| self.address(url)).collect::<Result<_, _>>()?;
        if let Some(path) = &self.ca_file
            && let Err(error) = File::open(path)
        {
            let value = path.display().to_string();
            return broken("store.ca_file", &value, &format!("cannot be read: {error}"));
        }
        Ok(addresses)
    }

    /// One address, under the rules of the mode and of `ca_file`.
    fn address(&self, url: &str) -> Result<Address, ConfigError> {
        let refused = |rule| ConfigError::new("store.url", url, rule);
        let address = Address::parse(url).ok_or_else(|| refused(Address::RULE))?;
        if address.is_socket() && self.mode != Mode::Single {
            return Err(refused("must be redis:// or rediss:// in sentinel and cluster mode"));
        }
        if !address.is_tls() && self.ca_file.is_some() {
            return Err(refused("must be rediss:// while store.ca_file is set"));
        }
        Ok(address)
    }
}

/// A configuration of the store that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key} = {value:?}: {rule}")]
pub struct ConfigError {
    /// The key in the configuration, such as `store.url`.
    pub key: &'static str,
    /// The offending value, without a password.
    pub value: String,
    /// The rule that the value breaks.
    pub rule: String,
}

impl ConfigError {
    pub(super) fn new(key: &'static str, value: &str, rule: &str) -> Self {
        let value = redacted(value).unwrap_or_else(|| "[hidden]".to_owned());
        Self { key, value, rule: rule.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            "store.url = \"2 addresses\": must be one address unless store.mode is sentinel or \
             cluster"
        );
        assert_eq!(
            bad(|c| c.ca_file = Some("/nowhere.pem".into())),
            "store.url = \"redis://localhost\": must be rediss:// while store.ca_file is set"
        );
        let unreadable = |c: &mut Config| {
            c.urls = vec!["rediss://localhost".into()];
            c.ca_file = Some("/nowhere.pem".into());
        };
        let line = "store.ca_file = \"/nowhere.pem\": cannot be read: ";
        assert!(bad(unreadable).starts_with(line));
        let in_cluster = |c: &mut Config| {
            c.urls.push("unix:///run/redis.sock".into());
            c.mode = Mode::Cluster;
        };
        assert!(bad(in_cluster).starts_with("store.url = \"unix:///run/redis.sock\": must be "));
        let line = "store.url = \"[hidden]\": must be an address such as ";
        assert!(bad(|c| c.urls = vec!["http://:hush@localhost".into()]).starts_with(line));
        assert!(bad(|c| c.mode = Mode::Sentinel { master: String::new() }).contains("name"));
    }
}
