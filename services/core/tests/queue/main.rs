//! The waiting room on a real Redis: random histories against the reference model, and the promises
//! one by one.

mod adaptive;
mod addresses;
mod estimates;
mod full_store;
mod health;
mod histories;
mod line;
mod lives;
mod local_answers;
mod notes;
mod overrides;
mod pace;
mod places;
mod presence;
mod promises;
mod revisions;
mod scripts;
mod servers;
mod sessions;
mod sketch;
#[path = "../support/mod.rs"]
mod support;
mod table;
mod together;
mod waits;
