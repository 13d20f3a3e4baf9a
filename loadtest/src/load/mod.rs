//! Visitors who walk a scenario against a service, and what that shows.
//!
//! There are two models. In the *closed* one ([`closed`], Goose) a fixed number of users come again
//! as soon as they are done, so a slow service slows its load down. In the *open* one ([`open`])
//! visitors arrive at a rate, whatever the service does, and a latency counts from the moment at
//! which the request was to be sent. Both write the same record.

pub mod closed;
mod figures;
mod follow;
mod merge;
pub mod open;
mod record;
mod sample;
mod walk;

pub use figures::{Durations, Figures, Millis, Packed, Percentiles, Tally, share};
pub use follow::{Cohorts, FEW, SecondHalf};
pub use merge::Merge;
pub(crate) use merge::merges;
pub use record::{Measurement, Recorder};
pub use sample::{Sample, Second, Seconds};
