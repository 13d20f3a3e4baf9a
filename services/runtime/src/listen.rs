//! The sockets that all ports listen on.

use std::{io, net::SocketAddr};

use tokio::net::{TcpListener, TcpSocket};

/// Connections that may wait to be accepted, where the system allows as many
/// (`net.core.somaxconn`). Past it the kernel drops handshakes: the client tries again after a
/// second, then three.
const BACKLOG: u32 = 4_096;

/// Listens on an address.
///
/// # Errors
///
/// When the system refuses, such as for an address that is taken.
pub fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // The connections of the process before may still be closing.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}
