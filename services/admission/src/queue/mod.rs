//! What this process keeps of a queue between requests.

pub mod codes;
pub mod known;
pub mod latest;
pub mod outage;
pub mod return_to;
pub mod streams;
