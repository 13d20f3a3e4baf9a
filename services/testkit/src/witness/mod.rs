//! The witness: what visitors were told, written down from outside, and a checker that runs over
//! it.
//!
//! It knows the promises and nothing of how they are kept. A request takes effect at some moment
//! between its sending and the reception of its answer, and one without an answer at any moment
//! after its sending, or never. From these spans alone the checker concludes what must have been
//! so; it accuses only where no history that keeps the promise could have given these answers.

mod answer;
mod caller;
mod check;
mod doors;
mod place;
mod record;
mod rules;
mod visitors;

pub use answer::{Heard, Token};
pub use caller::{Caller, Scene};
pub use check::{Busiest, Violation, busiest, check};
pub use doors::Doors;
pub use record::{Call, Held, Line, Record, Told};
pub use rules::Rules;
pub use visitors::{Crowd, Ended, Habit};
