//! The end of a listener without a lost request.
//!
//! Between the last accept and the close of the listener the kernel may complete a handshake for a
//! connection that is never accepted: the client sends its request, is reset, and cannot know
//! whether the request had an effect. So new handshakes are dropped first. Their clients repeat the
//! SYN a second later, when the listener is closed, and are refused before they have sent anything;
//! every gateway then asks another instance.

#[cfg(target_os = "linux")]
use socket2::{SockFilter, SockRef};
use tokio::net::TcpListener;

/// Classic BPF over a TCP header, whose 14th byte holds the flags: what begins a handshake (SYN) is
/// dropped, all else passes.
#[cfg(target_os = "linux")]
fn drops_handshakes() -> [SockFilter; 4] {
    const LOAD_BYTE: u16 = 0x30;
    const JUMP_IF_SET: u16 = 0x45;
    const RETURN: u16 = 0x06;
    const FLAGS: u32 = 13;
    const SYN: u32 = 0x02;
    [
        SockFilter::new(LOAD_BYTE, 0, 0, FLAGS),
        SockFilter::new(JUMP_IF_SET, 0, 1, SYN),
        SockFilter::new(RETURN, 0, 0, 0),
        SockFilter::new(RETURN, 0, 0, u32::MAX),
    ]
}

/// From now on no handshake begins; those that have begun go on. Where the system does not offer
/// this, a client may be cut off in the moment between.
#[cfg(target_os = "linux")]
pub fn stop_handshakes(listener: &TcpListener) {
    if let Err(error) = SockRef::from(listener).attach_filter(&drops_handshakes()) {
        tracing::debug!(%error, "handshakes cannot be stopped before the listener");
    }
}

/// Other systems have no such filter.
#[cfg(not(target_os = "linux"))]
pub fn stop_handshakes(_: &TcpListener) {}
