//! The configuration: its keys and layers, what is refused and how, secrets, and reloads.

mod errors;
mod keys;
mod layers;
mod published;
mod reload;
mod secrets;
mod signing;
