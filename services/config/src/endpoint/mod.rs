//! Where a webhook may lead: an address that was understood and checked, and the rule for what its
//! name leads to.

mod address;

use std::net::IpAddr;

use address::{Reach, reach};
use url::{Host, Url};

/// An address of a webhook that is refused: the rule that it breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    /// It cannot be understood.
    #[error("must be an address such as \"https://shop.example/issue\"")]
    Unreadable,
    /// It would go over the wire in the clear.
    #[error("must begin with https:// (http:// only to this machine)")]
    Plain,
    /// A password would stand in the file.
    #[error("must hold no user and no password")]
    Credentials,
    /// It leads to a network of one's own.
    #[error("must not lead to a private address unless allow_private is true")]
    Private,
    /// It leads to where no receiver is.
    #[error("must not lead to a link-local, metadata, multicast or reserved address")]
    Reserved,
}

/// Where a webhook leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The whole address.
    pub url: Url,
    /// Which addresses its host may stand for.
    pub guard: Guard,
}

impl Endpoint {
    /// Understands and checks an address. A name is looked up, and what it leads to is checked, at
    /// each connection.
    ///
    /// # Errors
    ///
    /// The rule that is broken.
    pub fn parse(url: &str, allow_private: bool) -> Result<Self, EndpointError> {
        let url = Url::parse(url).map_err(|_| EndpointError::Unreadable)?;
        let literal = match url.host() {
            Some(Host::Ipv4(address)) => Some(IpAddr::V4(address)),
            Some(Host::Ipv6(address)) => Some(IpAddr::V6(address)),
            Some(Host::Domain(_)) => None,
            None => return Err(EndpointError::Unreadable),
        };
        let names_this_machine = url.host_str() == Some("localhost");
        let on_this_machine = literal.map_or(names_this_machine, |address| address.is_loopback());
        match url.scheme() {
            "https" => {}
            "http" if on_this_machine => {}
            "http" => return Err(EndpointError::Plain),
            _ => return Err(EndpointError::Unreadable),
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(EndpointError::Credentials);
        }
        let guard = if on_this_machine {
            Guard::ThisMachine
        } else if allow_private {
            Guard::PrivateToo
        } else {
            Guard::PublicOnly
        };
        if let Some(address) = literal {
            guard.check(address)?;
        }
        Ok(Self { url, guard })
    }
}

/// Which addresses may be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    /// Loopback ones, as the address says itself.
    ThisMachine,
    /// Public ones, and those of networks of one's own.
    PrivateToo,
    /// Public ones.
    PublicOnly,
}

impl Guard {
    /// Whether a connection to this address may be made.
    ///
    /// # Errors
    ///
    /// The rule that is broken.
    pub fn check(self, address: IpAddr) -> Result<(), EndpointError> {
        match (self, reach(address)) {
            (Self::ThisMachine, _) if address.is_loopback() => Ok(()),
            (Self::ThisMachine, _) | (_, Reach::Never) => Err(EndpointError::Reserved),
            (Self::PublicOnly, Reach::Private) => Err(EndpointError::Private),
            (Self::PrivateToo, Reach::Private) | (_, Reach::Public) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leads_nowhere_good_is_refused_before_any_connection() {
        use EndpointError::{Credentials, Plain, Private, Reserved, Unreadable};
        for (url, error) in [
            ("", Unreadable),
            ("shop.example", Unreadable),
            ("ftp://shop.example", Unreadable),
            ("http://shop.example/issue", Plain),
            ("http://10.0.0.1/", Plain),
            ("http://localhost.shop.example/", Plain),
            ("https://ann:secret@shop.example/", Credentials),
            ("https://ann@shop.example/", Credentials),
            ("https://10.0.0.1/", Private),
            ("https://0xa000001/", Private),
            ("https://167772161/", Private),
            ("https://[fd12::1]/", Private),
            ("https://[::ffff:10.0.0.1]/", Private),
            ("https://169.254.169.254/latest/", Reserved),
            ("https://[::ffff:169.254.169.254]/", Reserved),
            ("https://0.0.0.0/", Reserved),
            ("https://[ff02::1]/", Reserved),
        ] {
            assert_eq!(Endpoint::parse(url, false).err(), Some(error), "{url}");
        }
        for url in ["https://169.254.169.254/", "https://[fd00:ec2::254]/", "https://0.0.0.0/"] {
            assert_eq!(Endpoint::parse(url, true).err(), Some(Reserved), "{url}");
        }
    }

    #[test]
    fn what_may_be_reached_is_understood() {
        for (url, guard) in [
            ("https://shop.example:8443/issue?a=1", Guard::PublicOnly),
            ("https://1.1.1.1/", Guard::PublicOnly),
            ("http://127.0.0.1:8080/", Guard::ThisMachine),
            ("https://[::1]/", Guard::ThisMachine),
            ("http://localhost:8080/", Guard::ThisMachine),
        ] {
            assert_eq!(Endpoint::parse(url, false).expect(url).guard, guard, "{url}");
        }
        let private = Endpoint::parse("https://10.0.0.1/", true).expect("it is allowed");
        assert_eq!(private.guard, Guard::PrivateToo);
    }
}
