//! The witness: the answers that visitors got, recorded from outside, and a checker of the record.
//!
//! It knows the promises and nothing of how they are kept. A request takes effect at some moment
//! between its sending and the reception of its answer, and one without an answer at any moment
//! after its sending, or never. From these spans alone the checker concludes what must have been
//! so; it accuses only where no history that keeps the promise could have given these answers.
//!
//! Visitors write a [`Record`], which [`check()`] holds to the promises of the queue;
//! applicants to an event and callers of a pool have records of their own, with the checkers of
//! [`event`] and [`pool`]. Each takes time n log n in the number of its lines.

mod answer;
mod check;
pub mod event;
mod line;
mod place;
pub mod pool;
mod record;
mod rules;

pub use answer::{Heard, Token};
pub use check::{Busiest, Violation, busiest, check};
pub use line::{Call, Held, Line, Shown};
pub use record::{Record, Request, write_lines};
pub use rules::Rules;
