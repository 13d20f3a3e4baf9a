//! What can go wrong on the way to the store.

/// A call to the store that brought no answer. A refusal by a script is an answer, not an error.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Nothing was executed: the store is down, or refused before it ran anything.
    #[error("Redis is unavailable: {0}")]
    Unavailable(String),
    /// Nothing was executed: the store's user has no permission for what the services do.
    #[error("Redis refuses permission: {0}")]
    Forbidden(String),
    /// Nothing was done: the store has no memory left for what this needs.
    #[error("Redis has no memory left")]
    Full,
    /// The call may or may not have been executed: it timed out, or the link broke.
    #[error("the effect of the call is unknown: {0}")]
    Unknown(String),
    /// Too many calls of this kind wait already; nothing was sent.
    #[error("too many calls wait for Redis")]
    Overloaded,
    /// The store answered, but not in the form that the script's header promises.
    #[error("unexpected reply from {operation}: {detail}")]
    Reply {
        /// The operation, such as `queue.join`.
        operation: &'static str,
        /// What was unexpected.
        detail: String,
    },
}

/// The store's user has no permission for what the services do: no use to begin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the Redis user has no permission for {0} (docs/how-to/redis.md lists what it needs)")]
pub struct Refused(pub String);

impl Error {
    /// The stable name of the kind, used in metrics.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Unavailable(_) => "unavailable",
            Self::Forbidden(_) => "forbidden",
            Self::Full => "full",
            Self::Unknown(_) => "unknown",
            Self::Overloaded => "overloaded",
            Self::Reply { .. } => "reply",
        }
    }
}
