//! This version beside the previous release on one Redis, as in a roll-out and in a roll-back.
//!
//! `ANTEROOM_PREVIOUS_BIN_DIR` is the folder with the programs of the previous release, which
//! `scripts/previous.sh` builds and prints. Without it the tests are skipped.

mod crowd;
mod line;
mod side_by_side;
