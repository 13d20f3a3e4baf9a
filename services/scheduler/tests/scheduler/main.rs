//! The real scheduler on a real Redis, seen from outside: by its signals, its metrics port, its
//! log, and what becomes of the places.

mod command_line;
mod events;
mod health;
mod many;
mod outage;
mod promotion;
mod reload;
mod support;
