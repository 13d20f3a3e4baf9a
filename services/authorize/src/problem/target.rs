//! The codes of targets.

use super::code::codes;

codes! {
    /// What the target itself refuses.
    TARGET by Rule;
    /// No target of this name is configured.
    UNKNOWN_TARGET = NOT_FOUND, "unknown_target", "There is no such target",
        No, "Check the name, and `[targets.NAME]` in the configuration.";
}
