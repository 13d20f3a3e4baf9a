//! The one HTTP client of all commands: where requests go, the connections they go on, and what
//! can go wrong.

mod connection;
mod fault;
mod json;
mod sources;
mod target;

pub use connection::{Answer, Connection, EventBody, Outgoing};
pub use fault::Fault;
pub use sources::Sources;
pub use target::{Route, Target, address};
