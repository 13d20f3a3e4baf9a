//! An address of the store, and what may be shown of one.

use std::fmt;

use redis::IntoConnectionInfo as _;
use url::Url;

/// An address of the store. Printing it hides the password, and what may be one.
#[derive(Clone, PartialEq, Eq)]
pub struct Address(Url);

impl Address {
    /// What a text must be, as the rest of a sentence "KEY …".
    pub const RULE: &str = "must be an address such as \"redis://HOST:6379\", \
        \"rediss://HOST:6379/0\" or \"unix:///run/redis.sock\"";

    /// Reads an address; nothing when the text is none.
    pub fn parse(text: &str) -> Option<Self> {
        let url = Url::parse(text).ok()?;
        let has_host = url.host_str().is_some_and(|host| !host.is_empty());
        let database = url.path().trim_start_matches('/');
        let good = match url.scheme() {
            "redis" | "rediss" => {
                has_host && (database.is_empty() || database.parse::<u16>().is_ok())
            }
            "unix" => !has_host && url.path().len() > 1,
            _ => false,
        };
        // A fragment is the client's `#insecure`, which would switch the checks of TLS off.
        (good && url.fragment().is_none()).then_some(Self(url))
    }

    /// The whole address, with the password if it has one.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Whether the address has a password.
    pub fn has_password(&self) -> bool {
        self.0.password().is_some()
            || self.0.query_pairs().any(|(name, _)| name.starts_with("pass"))
    }

    /// The password, as the client sends it: of `redis://` before the host, of `unix://` in the
    /// query, both percent-decoded.
    pub fn password(&self) -> Option<String> {
        let info = self.as_str().into_connection_info().ok()?;
        info.redis_settings().password().map(str::to_owned)
    }

    /// `rediss://`
    pub(super) fn is_tls(&self) -> bool {
        self.0.scheme() == "rediss"
    }

    /// `unix://`
    pub(super) fn is_socket(&self) -> bool {
        self.0.scheme() == "unix"
    }
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        let mut shown = self.0.clone();
        // These fail only for addresses without a host, which have no user.
        if self.0.password().is_some() {
            let _ = shown.set_password(Some("***"));
        } else if !self.0.username().is_empty() {
            // Alone it is a password as often as not: "redis://PASSWORD@HOST".
            let _ = shown.set_username("***");
        }
        shown.set_query(None);
        formatter.write_str(shown.as_str())
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "\"{self}\"")
    }
}

/// A text that is, or was meant as, an address, as far as it may be shown: nothing where it may
/// hold a password at an unknown position, because it cannot be read as an address.
pub fn redacted(text: &str) -> Option<String> {
    if text.contains("://")
        && let Some(address) = Address::parse(text)
    {
        return Some(address.to_string());
    }
    let lower = text.to_ascii_lowercase();
    let named = lower.contains("pass") && lower.contains([':', '?', '=', '/']);
    let may_hold_one = text.contains('@') || named || text.contains(" -a ");
    (!may_hold_one).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_never_shows() {
        for (url, shown) in [
            ("redis://h:1/2", Some("redis://h:1/2")),
            ("redis://:secret@h:1", Some("redis://:***@h:1")),
            ("redis://secret@h:1", Some("redis://***@h:1")),
            ("rediss://ann:se@cr:et@h:1/?protocol=resp3", Some("rediss://ann:***@h:1/")),
            ("unix:///run/r.sock?pass=secret", Some("unix:///run/r.sock")),
            ("http://:secret@h", None),
            ("unix://run/r.sock?pass=secret", None),
            ("redis:6379 -a secret", None),
            ("nonsense", Some("nonsense")),
        ] {
            assert_eq!(redacted(url).as_deref(), shown, "{url}");
        }
    }

    #[test]
    fn only_addresses_of_a_store_are_read() {
        for good in ["redis://h", "rediss://h:1/15", "redis://[::1]:6379", "unix:///run/r.sock"] {
            assert_eq!(Address::parse(good).expect(good).as_str(), good);
        }
        for bad in ["", "h:6379", "http://h", "redis://", "redis://h/x", "redis://h/70000"] {
            assert_eq!(Address::parse(bad), None, "{bad}");
        }
        assert_eq!(Address::parse("unix://run/r.sock"), None, "a host where the path begins");
        assert_eq!(Address::parse("rediss://h/#insecure"), None, "it checks no certificate");
    }
}
