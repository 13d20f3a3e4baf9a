//! Runs the examples of `gateways/` with the real programs: for the tests beside this library, and
//! for the benchmark.

pub mod gateway;
pub mod program;
pub mod tls;
pub mod wiring;

pub use gateway::Gateway;
pub use program::{Program, Run, Sign};
pub use wiring::{Plan, Wiring};
