//! What the server is, and what about it endangers promises.

use super::{
    Error, Store,
    command::{command, text},
    permissions,
};

/// The oldest version that has every command the scripts use.
const OLDEST: (u32, u32) = (6, 2);

/// What the server says about itself. Of a cluster: the worst of its primaries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerReport {
    /// `redis` or `valkey`.
    pub server: String,
    /// Its own version; Valkey's, not the Redis version it claims to be compatible with.
    pub version: String,
    /// What happens when memory is full; `None` if the server does not show it.
    pub maxmemory_policy: Option<String>,
    /// Whether every write is appended to a file; `None` if the server does not show it.
    pub append_only: Option<bool>,
}

/// A setting of the server that endangers a promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Warning {
    /// Older than 6.2: scripts may fail.
    VersionTooOld,
    /// Full memory evicts keys: places, stock and money may vanish.
    Eviction,
    /// Without an append-only file a restart loses places, stock and money.
    NotPersistent,
}

impl Warning {
    /// The stable name, for logs.
    pub fn name(self) -> &'static str {
        match self {
            Self::VersionTooOld => "version_too_old",
            Self::Eviction => "eviction",
            Self::NotPersistent => "not_persistent",
        }
    }
}

impl std::fmt::Display for Warning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::VersionTooOld => "Redis is older than 6.2: this version is not supported",
            Self::Eviction => {
                "maxmemory-policy is not noeviction: Redis deletes places when its memory is full"
            }
            Self::NotPersistent => {
                "appendonly is off: a restart of Redis loses acknowledged changes"
            }
        })
    }
}

impl ServerReport {
    /// What to warn about.
    pub fn warnings(&self) -> Vec<Warning> {
        let mut warnings = Vec::new();
        if self.server == "redis" && numbers(&self.version) < OLDEST {
            warnings.push(Warning::VersionTooOld);
        }
        if self.maxmemory_policy.as_deref().is_some_and(|policy| policy != "noeviction") {
            warnings.push(Warning::Eviction);
        }
        if self.append_only == Some(false) {
            warnings.push(Warning::NotPersistent);
        }
        warnings
    }

    /// Reads the answer to INFO. Every Valkey has what Redis 6.2 has, since it forked from 7.2.
    fn read(info: &str) -> Self {
        let field = |name: &str| {
            info.lines().find_map(|line| {
                line.trim_end().strip_prefix(name).and_then(|rest| rest.strip_prefix(':'))
            })
        };
        let valkey = field("valkey_version");
        let named = field("server_name").unwrap_or("redis");
        Self {
            server: if valkey.is_some() { "valkey" } else { named }.to_owned(),
            version: valkey.or_else(|| field("redis_version")).unwrap_or_default().to_owned(),
            maxmemory_policy: field("maxmemory_policy").map(str::to_owned),
            append_only: field("aof_enabled").map(|on| on == "1"),
        }
    }

    /// The worse of both in every respect.
    fn or_worse(mut self, other: Self) -> Self {
        if numbers(&other.version) < numbers(&self.version) {
            self.version = other.version;
            self.server = other.server;
        }
        if self.maxmemory_policy.as_deref() == Some("noeviction") {
            self.maxmemory_policy = other.maxmemory_policy;
        }
        if self.append_only == Some(true) {
            self.append_only = other.append_only;
        }
        self
    }
}

impl Store {
    /// Asks the server what it is. The answer is for a warning at the start; nothing depends on it.
    pub async fn check_server(&self) -> Result<ServerReport, Error> {
        let live = self.live()?;
        let info = command(&["INFO"]);
        let sent = live.link.send_to_all(&info);
        let replies = tokio::time::timeout(self.config().request_timeout, sent)
            .await
            .map_err(|_| Error::Unavailable("INFO got no answer in time".to_owned()))?
            .map_err(|error| match permissions::is_refusal(&error) {
                true => Error::Forbidden(error.to_string()),
                false => Error::Unavailable(error.to_string()),
            })?;
        replies
            .iter()
            .map(|reply| ServerReport::read(&text(reply)))
            .reduce(ServerReport::or_worse)
            .ok_or_else(|| Error::Unavailable("no primary answered INFO".to_owned()))
    }
}

/// Major and minor.
fn numbers(version: &str) -> (u32, u32) {
    let mut parts = version.split('.').map(|part| part.parse().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valkey_counts_by_its_own_version() {
        let report = ServerReport::read(
            "# Server\r\nredis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:8.0.1\r\n\
             maxmemory_policy:noeviction\r\naof_enabled:1\r\n",
        );
        assert_eq!((report.server.as_str(), report.version.as_str()), ("valkey", "8.0.1"));
        assert_eq!(report.warnings(), []);
    }

    #[test]
    fn each_danger_is_named() {
        let bad = "redis_version:6.0.16\r\nmaxmemory_policy:allkeys-lru\r\naof_enabled:0\r\n";
        let good = "redis_version:10.0.0\r\nmaxmemory_policy:noeviction\r\naof_enabled:1\r\n";
        let report = ServerReport::read(good).or_worse(ServerReport::read(bad));
        assert_eq!(
            report.warnings().into_iter().map(Warning::name).collect::<Vec<_>>(),
            ["version_too_old", "eviction", "not_persistent"]
        );
        assert_eq!(ServerReport::read(good).warnings(), []);
        assert_eq!(ServerReport::read("redis_version:6.2.0").warnings(), []);
    }
}
