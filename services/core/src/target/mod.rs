//! Success-rate windows: a downstream whose calls succeed or fail.

mod state;

pub use state::{LATENCY_BOUNDS_MS, State, Totals};
