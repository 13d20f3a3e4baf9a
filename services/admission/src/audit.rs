//! The audit log: who changed what.
//!
//! Each call of an operator that reached its operation writes one line with the target `audit`: the
//! name of the key (never the key), the operation, the queue, and what it found and left. A call
//! that failed on the way to the store is written too, for its effect may be unknown.

use anteroom_runtime::AUDIT;
use serde_json::Value;

use crate::keys::Caller;

/// What an operator did.
#[derive(Debug)]
pub struct Entry<'a> {
    /// Who.
    pub caller: &'a Caller,
    /// The name of the operation, such as `queue.evict`.
    pub operation: &'static str,
    /// The queue it was done to.
    pub queue: &'a str,
    /// The ticket it was done to, if it was one.
    pub ticket: Option<u64>,
    /// What stood there before; null when nobody could say.
    pub before: Value,
}

impl Entry<'_> {
    /// Writes the line: done, and this stands there now.
    pub fn done(&self, after: &Value) {
        self.write("done", after);
    }

    /// Writes the line for an operation that gave no answer: `error` is the kind of the failure.
    pub fn failed(&self, error: &'static str) {
        self.write(error, &Value::Null);
    }

    fn write(&self, outcome: &'static str, after: &Value) {
        let (key, operation, queue, ticket) =
            (self.caller.name(), self.operation, self.queue, self.ticket);
        let before = &self.before;
        tracing::info!(
            target: AUDIT,
            key, operation, queue, ticket, outcome, %before, %after,
            "operator call"
        );
    }
}
