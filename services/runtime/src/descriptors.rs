//! How many connections the descriptors of this process allow.
//!
//! Each connection is a file descriptor. With more connections than descriptors, accepting would
//! fail, and so would new connections to the store and to the metrics port. So at the start the
//! soft limit is raised to the hard one, which needs no privilege, and what the process does not
//! need itself bounds the connections.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// For the store, the metrics port, files, and connections that are just being closed.
const OWN: u64 = 256;

/// What one port may hold open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Connections that are served.
    pub connections: usize,
    /// Connections that are being refused.
    pub refusals: usize,
}

/// The share of each of so many ports, of at most `max_connections`; says so when that is more than
/// fits.
pub fn share(ports: u64, max_connections: usize) -> Share {
    let limit = raised().unwrap_or(u64::MAX);
    let share = of(limit, ports, max_connections);
    if share.connections < max_connections {
        tracing::warn!(
            limit,
            connections = share.connections,
            max_connections,
            "the limit on open files is too low for admission.max_connections"
        );
    }
    share
}

/// The limit on open files, after raising it; absent if it is unknown.
fn raised() -> Option<u64> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).ok()?;
    let raised = soft < hard && setrlimit(Resource::RLIMIT_NOFILE, hard, hard).is_ok();
    Some(if raised { hard } else { soft })
}

fn of(limit: u64, ports: u64, max_connections: usize) -> Share {
    let port = (limit - OWN.min(limit / 4)) / ports;
    let port = usize::try_from(port).unwrap_or(usize::MAX);
    let refusals = (port / 8).clamp(1, 256);
    Share { connections: max_connections.min(port - refusals.min(port - 1)), refusals }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_and_refusals_fit_into_the_limit() {
        for limit in [8, 64, 256, 1_024, 4_096, 20_000, 1_048_576, u64::MAX] {
            for max_connections in [1, 100, 10_000, 1_000_000] {
                let share = of(limit, 2, max_connections);
                assert!((1..=max_connections).contains(&share.connections), "{limit} {share:?}");
                let all = 2 * (share.connections + share.refusals) as u64;
                assert!(all < limit, "{limit} {share:?}");
            }
        }
        assert_eq!(of(1_048_576, 2, 10_000), Share { connections: 10_000, refusals: 256 });
        assert_eq!(of(256, 2, 10_000), Share { connections: 84, refusals: 12 });
    }
}
