//! Local addresses that connections come from. Linux gives each of them its own local ports
//! (28 232 by default) for connections to one address.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd as _;

use ipnet::IpNet;
use nix::sys::socket::{setsockopt, sockopt::IpBindAddressNoPort};
use tokio::net::{TcpSocket, TcpStream};

/// Of one list.
const MOST: usize = 4_096;

/// Addresses that connections are spread over, in turn. An empty list leaves the choice to the
/// kernel.
#[derive(Clone, Debug, Default)]
pub struct Sources(Vec<IpAddr>);

impl Sources {
    /// Loopback addresses, for visitors who are many and near.
    pub fn loopback() -> Self {
        Self((1..=250).map(|last| [127, 0, 1, last].into()).collect())
    }

    /// Reads addresses and networks, separated by commas: `127.0.1.0/24`, `10.0.0.5,10.0.0.6`. An
    /// empty text leaves the choice to the kernel.
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
        addresses.truncate(MOST);
        Ok(Self(addresses))
    }

    /// Whether the kernel chooses.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there are; 1 where the kernel chooses.
    pub fn count(&self) -> usize {
        self.0.len().max(1)
    }

    /// Connects from the one whose turn it is.
    pub(super) async fn connect(&self, to: SocketAddr, turn: usize) -> io::Result<TcpStream> {
        match self.of_turn(turn) {
            Some(from) => bound(from, to)?.connect(to).await,
            None => TcpStream::connect(to).await,
        }
    }

    fn of_turn(&self, turn: usize) -> Option<IpAddr> {
        self.0.get(turn.checked_rem(self.0.len())?).copied()
    }

    /// Those of the family of an address, if connections to it can come from each.
    pub(super) fn to(mut self, to: SocketAddr) -> Result<Self, String> {
        let is_named = !self.is_empty();
        self.0.retain(|from| from.is_ipv4() == to.is_ipv4());
        if is_named && self.is_empty() {
            return Err(format!("none of them can connect to {to}: name addresses of its family"));
        }
        for from in &self.0 {
            bound(*from, to)
                .map_err(|error| format!("{from} is no address of this machine: {error}"))?;
        }
        Ok(self)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_networks_are_read_and_used_in_turn() {
        let sources = Sources::parse("127.0.1.0/30, 127.0.9.9,::1").expect("addresses");
        let turns: Vec<_> = (0..4).filter_map(|turn| sources.of_turn(turn)).collect();
        let shown: Vec<_> = turns.iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["127.0.1.1", "127.0.1.2", "127.0.9.9", "::1"]);
        assert_eq!(sources.of_turn(4), Some(turns[0]));
        assert_eq!(Sources::default().of_turn(0), None);
        for wrong in [",", "shop.test", "10.0.0.0/33", "10.0.0.1;10.0.0.2"] {
            let error = Sources::parse(wrong).expect_err(wrong);
            assert!(error.contains("neither an address nor a network"), "{error}");
        }
    }

    #[tokio::test]
    async fn addresses_of_another_family_are_left_out_and_one_of_another_machine_is_named() {
        let to =
            |sources| Sources::parse(sources).expect("addresses").to(([127, 0, 0, 1], 80).into());
        assert_eq!(to("127.0.1.1,::1").expect("one").count(), 1);
        let error = to("127.0.1.1,192.0.2.7").expect_err("of another machine");
        assert!(error.starts_with("192.0.2.7 is no address"), "{error}");
        let error = to("::1").expect_err("of another family");
        assert!(error.contains("none of them can connect"), "{error}");
    }
}
