//! The link between the services and the store breaks in every way, under visitors who all ask at
//! once.

mod breaks;
mod changes;
mod own_answers;
mod promises;
