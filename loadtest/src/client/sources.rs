//! Local addresses that connections come from. Linux gives each of them its own local ports
//! (28 232 by default) for connections to one address.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd as _;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use ipnet::IpNet;
use nix::sys::socket::{setsockopt, sockopt::IpBindAddressNoPort};
use tokio::net::{TcpSocket, TcpStream};

/// Of one list.
const MOST: usize = 4_096;

/// Addresses that connections are spread over, in turn. An empty list leaves the choice to the
/// kernel.
#[derive(Debug, Default)]
pub struct Sources {
    addresses: Vec<IpAddr>,
    next: AtomicUsize,
}

impl Sources {
    /// Loopback addresses, for visitors who are many and near.
    pub fn loopback() -> Self {
        (1..=250).map(|last| IpAddr::from([127, 0, 1, last])).collect()
    }

    /// Reads addresses and networks, separated by commas: `127.0.1.0/24`, `10.0.0.5,10.0.0.6`. An
    /// empty text leaves the choice to the kernel.
    ///
    /// # Errors
    ///
    /// Which part is neither.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut addresses = Vec::new();
        for part in text.split(',').map(str::trim).filter(|_| !text.is_empty()) {
            let network = part.parse::<IpNet>();
            let network = network.or_else(|_| part.parse::<IpAddr>().map(IpNet::from));
            let network = network.map_err(|_| {
                format!("`{part}` is neither an address nor a network, such as 127.0.1.0/24")
            })?;
            addresses.extend(network.hosts().take(MOST));
        }
        Ok(addresses.into_iter().collect())
    }

    /// Whether the kernel chooses.
    pub fn is_empty(&self) -> bool {
        self.addresses.is_empty()
    }

    /// How many there are; 1 where the kernel chooses.
    pub fn count(&self) -> usize {
        self.addresses.len().max(1)
    }

    /// Connects from the next of them.
    pub(super) async fn connect(&self, to: SocketAddr) -> io::Result<TcpStream> {
        let Some(from) = self.next(to) else { return TcpStream::connect(to).await };
        bound(from, to)?.connect(to).await
    }

    fn next(&self, to: SocketAddr) -> Option<IpAddr> {
        let turn = self.next.fetch_add(1, Relaxed);
        let of_family = || self.addresses.iter().filter(|from| from.is_ipv4() == to.is_ipv4());
        let count = of_family().count();
        if count == self.addresses.len() {
            return self.addresses.get(turn.checked_rem(count)?).copied();
        }
        of_family().nth(turn.checked_rem(count)?).copied()
    }

    /// Whether connections to an address can come from each of them.
    ///
    /// # Errors
    ///
    /// Which cannot, and why.
    pub(super) fn check(&self, to: SocketAddr) -> Result<(), String> {
        let usable = self.addresses.iter().filter(|from| from.is_ipv4() == to.is_ipv4());
        let mut count = 0;
        for from in usable {
            count += 1;
            bound(*from, to)
                .map_err(|error| format!("{from} is no address of this machine: {error}"))?;
        }
        if count == 0 && !self.addresses.is_empty() {
            return Err(format!("none of them can connect to {to}: name addresses of its family"));
        }
        Ok(())
    }
}

/// A socket that is bound to an address. Its port is chosen when it connects, so connections to
/// different addresses can share one.
fn bound(from: IpAddr, to: SocketAddr) -> io::Result<TcpSocket> {
    let socket = if to.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    setsockopt(&socket.as_fd(), IpBindAddressNoPort, &true)?;
    socket.bind((from, 0).into())?;
    Ok(socket)
}

impl FromIterator<IpAddr> for Sources {
    fn from_iter<I: IntoIterator<Item = IpAddr>>(addresses: I) -> Self {
        Self { addresses: addresses.into_iter().take(MOST).collect(), next: AtomicUsize::new(0) }
    }
}

impl Clone for Sources {
    fn clone(&self) -> Self {
        self.addresses.iter().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_networks_are_read_and_used_in_turn() {
        let sources = Sources::parse("127.0.1.0/30, 127.0.9.9,::1").expect("addresses");
        let next = || sources.next(([127, 0, 0, 1], 80).into()).map(|it| it.to_string());
        let turns: Vec<_> = (0..4).filter_map(|_| next()).collect();
        assert_eq!(turns, ["127.0.1.1", "127.0.1.2", "127.0.9.9", "127.0.1.1"]);
        assert_eq!(Sources::default().next(([127, 0, 0, 1], 80).into()), None);
        for wrong in [",", "shop.test", "10.0.0.0/33", "10.0.0.1;10.0.0.2"] {
            let error = Sources::parse(wrong).expect_err(wrong);
            assert!(error.contains("neither an address nor a network"), "{error}");
        }
    }

    #[tokio::test]
    async fn an_address_of_another_machine_is_named() {
        let to = ([127, 0, 0, 1], 80).into();
        let error = Sources::parse("127.0.1.1,192.0.2.7").expect("addresses").check(to);
        assert!(error.is_err_and(|error| error.starts_with("192.0.2.7 is no address")));
        let error = Sources::parse("::1").expect("an address").check(to);
        assert!(error.is_err_and(|error| error.contains("none of them can connect")));
    }
}
