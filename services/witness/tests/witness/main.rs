//! The checker itself: a clean record passes, and each planted violation is caught.

mod cap;
mod event;
mod kept;
mod live;
mod one_place;
mod order;
mod pool;
mod rate;
mod room;
mod simulated;
mod story;
