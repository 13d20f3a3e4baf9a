//! What a failed command means: was it executed, and is it any use to send it again?

use redis::{ErrorKind, RedisError, ServerErrorKind};

/// How a command failed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// The node does not know the script; nothing was executed.
    NoScript,
    /// The slot is moving or has moved: nothing was executed, and this node has to be called.
    Redirect {
        /// Its host.
        host: String,
        /// Its port.
        port: u16,
    },
    /// Nothing was executed, and the same command may do in a moment.
    Again(String),
    /// Nothing was executed, and this connection is of no more use.
    Wrong(String),
    /// Nothing was executed, and it is no use to send the command again soon.
    Refused(String),
    /// Nothing was executed: the store has no memory left for it.
    Full,
    /// Nothing was executed: the user has no permission, until an operator grants it.
    Forbidden(String),
    /// The connection broke; the command may have been executed.
    Broken(String),
    /// The script failed, or the command makes no sense: a mistake in the program.
    Mistake(String),
}

/// Judges an error by its code, and by its text only where an old server puts the code there.
pub(super) fn judge(error: &RedisError, cluster: bool) -> Fault {
    let text = || error.to_string();
    match error.kind() {
        ErrorKind::Server(kind) => match kind {
            ServerErrorKind::NoScript => Fault::NoScript,
            ServerErrorKind::ReadOnly | ServerErrorKind::BusyLoading if !cluster => {
                Fault::Wrong(text())
            }
            ServerErrorKind::Moved if !cluster => {
                Fault::Refused("the server is part of a cluster; set store.mode".into())
            }
            // The client looks up the topology by itself, but may ask a node that is behind.
            ServerErrorKind::Ask | ServerErrorKind::Moved => {
                match error.redirect_node().and_then(|(node, _)| parse(node)) {
                    Some((host, port)) => Fault::Redirect { host, port },
                    None => Fault::Again(text()),
                }
            }
            // A cluster's client looks up the new topology by itself when it hears these.
            ServerErrorKind::TryAgain
            | ServerErrorKind::ClusterDown
            | ServerErrorKind::MasterDown
            | ServerErrorKind::ReadOnly
            | ServerErrorKind::BusyLoading => Fault::Again(text()),
            ServerErrorKind::NoPerm => Fault::Forbidden(text()),
            // The script stopped in its middle. A new connection finds out what is missing.
            _ if is_forbidden_inside(error) => Fault::Broken(text()),
            _ => match code_inside(error) {
                Some("READONLY") if cluster => Fault::Again(text()),
                Some("READONLY") => Fault::Wrong(text()),
                Some("OOM") => Fault::Full,
                Some("MISCONF" | "NOREPLICAS") => Fault::Refused(text()),
                _ => Fault::Mistake(text()),
            },
        },
        ErrorKind::Extension => match error.code() {
            Some("BUSY") => Fault::Again(text()),
            // Judged before the script's first write, and a script checks before it writes.
            Some("OOM") => Fault::Full,
            Some("MISCONF" | "NOREPLICAS") => Fault::Refused(text()),
            Some("NOAUTH") => Fault::Wrong(text()),
            // Redis 6.2 returns it to a script without a code.
            _ if is_forbidden_inside(error) => Fault::Broken(text()),
            _ => Fault::Mistake(text()),
        },
        // No node was found for the slot: the topology is being looked up.
        ErrorKind::ClusterConnectionNotFound => Fault::Again(text()),
        ErrorKind::AuthenticationFailed => Fault::Wrong(text()),
        // The stream of replies cannot be read any further.
        ErrorKind::Parse | ErrorKind::Io => Fault::Broken(text()),
        _ => Fault::Mistake(text()),
    }
}

/// A script ran a command that the store's user may not run: Redis up to 7.0 says it in the first
/// way, later ones in the second.
fn is_forbidden_inside(error: &RedisError) -> bool {
    let detail = error.detail().unwrap_or_default();
    ["The user executing the script can't", "ACL failure in script"]
        .iter()
        .any(|message| detail.contains(message))
}

/// Redis 6.2 wraps an error that a command raised in a script: `ERR Error running script (call to
/// f_…): @user_script:1: @user_script: 1: -READONLY You can't write …`.
fn code_inside(error: &RedisError) -> Option<&str> {
    let wrapped = error.detail()?.strip_prefix("Error running script")?;
    wrapped.split_once(": -")?.1.split(' ').next()
}

/// `host:port`; the host may be an IPv6 address.
fn parse(node: &str) -> Option<(String, u16)> {
    let (host, port) = node.rsplit_once(':')?;
    Some((host.to_owned(), port.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(reply: &str, cluster: bool) -> Fault {
        let value = redis::parse_redis_value(reply.as_bytes()).expect("a reply");
        judge(&value.extract_error().expect_err("an error"), cluster)
    }

    #[test]
    fn what_was_not_executed_is_never_unknown() {
        for (reply, single, cluster) in [
            ("-MOVED 1 h:7\r\n", "Refused", "Redirect"),
            ("-TRYAGAIN x\r\n", "Again", "Again"),
            ("-CLUSTERDOWN x\r\n", "Again", "Again"),
            ("-MASTERDOWN x\r\n", "Again", "Again"),
            ("-BUSY x\r\n", "Again", "Again"),
            ("-READONLY x\r\n", "Wrong", "Again"),
            ("-LOADING x\r\n", "Wrong", "Again"),
            ("-NOAUTH x\r\n", "Wrong", "Wrong"),
            ("-NOPERM x\r\n", "Forbidden", "Forbidden"),
            ("-OOM x\r\n", "Full", "Full"),
            ("-MISCONF x\r\n", "Refused", "Refused"),
            ("-NOREPLICAS x\r\n", "Refused", "Refused"),
            ("-CROSSSLOT x\r\n", "Mistake", "Mistake"),
            ("-WRONGTYPE x\r\n", "Mistake", "Mistake"),
            ("-ERR x\r\n", "Mistake", "Mistake"),
            (
                "-ERR The user executing the script can't run this command or subcommand \
                 script: f1b, on @user_script:76.\r\n",
                "Broken",
                "Broken",
            ),
            (
                "-ERR ACL failure in script: User ann has no permissions to run the 'zadd' \
                 command script: f1b, on @user_script:76.\r\n",
                "Broken",
                "Broken",
            ),
            (
                "-@user_script: 133: The user executing the script can't run this command or \
                 subcommand\r\n",
                "Broken",
                "Broken",
            ),
            (
                "-ERR Error running script (call to f_1b): @user_script:9: @user_script: 9: \
                 -READONLY You can't write against a read only replica. \r\n",
                "Wrong",
                "Again",
            ),
            (
                "-ERR Error running script (call to f_1b): @user_script:9: @user_script: 9: \
                 -OOM command not allowed when used memory > 'maxmemory'. \r\n",
                "Full",
                "Full",
            ),
        ] {
            for (cluster, expected) in [(false, single), (true, cluster)] {
                let fault = format!("{:?}", judged(reply, cluster));
                assert!(fault.starts_with(expected), "{reply:?} on cluster={cluster}: {fault}");
            }
        }
        assert_eq!(judged("-NOSCRIPT x\r\n", false), Fault::NoScript);
        for reply in ["-ASK 3 ::1:7000\r\n", "-MOVED 3 ::1:7000\r\n"] {
            let redirect = Fault::Redirect { host: "::1".into(), port: 7000 };
            assert_eq!(judged(reply, true), redirect);
        }
    }

    #[test]
    fn a_broken_link_may_have_executed() {
        let error = RedisError::from(std::io::Error::from(std::io::ErrorKind::ConnectionReset));
        assert!(matches!(judge(&error, false), Fault::Broken(_)));
    }
}
