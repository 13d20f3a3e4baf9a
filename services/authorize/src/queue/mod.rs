//! The queue as the process that answers for it knows it, its visitors, and the gateway check.

pub mod active_cache;
pub mod fail_open;
pub mod gate;
pub mod history;
pub mod latest;
pub mod line;
pub mod metrics;
pub mod refresh;
pub mod return_to;
pub mod revocations;
pub mod state;
pub mod streams;
pub mod visitor;
pub mod visits;

pub use state::QueueState;
