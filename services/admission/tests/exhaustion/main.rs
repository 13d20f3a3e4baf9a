//! An admission that others try to exhaust: of descriptors, of connections, of memory, of the
//! store's time. Real visitors come in all the while.

mod attack;
mod descriptors;
mod drain;
mod floods;
mod forged;
mod siege;
mod slow;
mod streams;
