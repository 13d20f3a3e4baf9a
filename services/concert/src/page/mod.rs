//! The shop as people see it: pages that work without a script and with the keyboard alone. They
//! have the design of Anteroom's waiting page.
//!
//! One file a page: [`mod@schedule`], [`mod@seats`] with its picture [`hall`],
//! [`mod@reservation`] and [`notice`]. [`layout`] is what all have in common.

mod hall;
mod layout;
mod notice;
mod reservation;
mod schedule;
mod seats;
mod when;

pub use self::notice::{goodbye, not_admitted, problem};
pub use self::reservation::reservation;
pub use self::schedule::schedule;
pub use self::seats::seats;
