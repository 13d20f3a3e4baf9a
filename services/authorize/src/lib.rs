//! What Anteroom decides about a visitor at a gateway, and about a check of a rate limit, whatever
//! the protocol of the question. The HTTP API and the gRPC service answer with it.
//!
//! A check goes through these parts:
//!
//! - [`callers`]: whose request it is, as far as the request itself shows,
//! - [`defences`]: what is refused before it costs a Redis command,
//! - [`queue`]: the visitor with its token, the decision of the gateway check, what this process
//!   remembers of a queue,
//! - [`problem`]: the codes of refusals.

pub mod callers;
pub mod defences;
pub mod durations;
pub mod latest;
pub mod limit;
mod metrics;
pub mod problem;
pub mod process;
pub mod queue;
pub mod snapshots;

pub use problem::{Code, Problem};
pub use process::Process;
