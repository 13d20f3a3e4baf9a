//! Crowds that visit while a test goes on, and the record by which the witness judges what they
//! answered.

mod caller;
mod doors;
mod record;
mod visitors;

pub use anteroom_witness::{Busiest, Call, Held, Line, Rules, Shown, Violation, event, pool};
pub use caller::{Caller, Scene};
pub use doors::Doors;
pub use record::Record;
pub use visitors::{Crowd, Ended, Habit};
