//! Rate limits as the process that answers checks knows them.

mod check;
mod headers;
pub mod metrics;
mod recent;
pub mod state;

pub use check::{Verdict, check};
pub use headers::{LIMIT, Left, POLICY, policies, remaining};
pub use recent::Recent;
pub use state::LimitState;
