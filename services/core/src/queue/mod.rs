//! The waiting room: places, tickets, tokens, promotion.

mod place;
mod rules;

pub use place::{Epoch, GoneReason, Place, PlaceId, PlaceRef, Status, Ticket};
pub use rules::{Pace, Rules, State};
