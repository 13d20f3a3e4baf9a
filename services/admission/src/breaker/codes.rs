//! What a target refuses.

use crate::problem::code::codes;

codes! {
    /// What the target itself refuses.
    TARGET by Rule;
    /// No target of that name is configured.
    UNKNOWN_TARGET = NOT_FOUND, "unknown_target", "There is no such target";
}
