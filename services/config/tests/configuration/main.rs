//! The configuration: its keys and layers, what is refused and how, and secrets.

mod errors;
mod keys;
mod layers;
mod published;
mod secrets;
mod signing;
