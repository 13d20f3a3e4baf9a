//! What is refused before it costs a Redis command: too many new places for one address, too many
//! requests for one place.
//!
//! Each process counts for itself, so a whole deployment lets through up to its number of replicas
//! times as much. That is the price of counting without Redis, and it is enough against a flood;
//! promises that must be exact are kept in Redis.

mod first_places;
mod gcra;
mod joins_per_address;
mod per_address;
mod requests_per_place;

pub use first_places::FirstPlaces;
pub use gcra::Gcra;
pub use joins_per_address::JoinsPerAddress;
pub use per_address::{PerAddress, Unit, networks};
pub use requests_per_place::{RequestFor, RequestsPerPlace};
