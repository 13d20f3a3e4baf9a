//! The checker itself: a clean record passes, and each planted violation is caught.

mod cap;
mod kept;
mod live;
mod one_place;
mod order;
mod rate;
mod room;
mod simulated;
mod story;
