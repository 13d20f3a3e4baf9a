//! The store fails in every way that a single server can.

mod away;
mod durability;
mod forgets;
mod seen;
