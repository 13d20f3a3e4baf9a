//! The codes of limits.

use super::code::codes;

codes! {
    /// What a check may meet.
    LIMIT by Rule;
    /// No limit of this name is configured.
    UNKNOWN_LIMIT = NOT_FOUND, "unknown_limit", "There is no such limit",
        No, "Check the name, and `[limits.NAME]` in the configuration.";
    /// The checks of rate limits in one call belong to several groups.
    GROUPS_DIFFER = UNPROCESSABLE_ENTITY, "groups_differ",
        "All checks of a call must have the same group",
        No, "Send the same `group` with each check. Without `group` the key is the group, so \
            checks of 2 keys need the same `group`.";
}
