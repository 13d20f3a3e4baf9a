//! Rate limits as the process that answers checks knows them.

pub mod metrics;
pub mod state;

pub use state::LimitState;
