//! What limits refuse. That there are no units left is no refusal of the call, but its answer.

use crate::problem::code::codes;

codes! {
    /// What a check may meet.
    LIMIT by Rule;
    /// No limit of that name is configured.
    UNKNOWN_LIMIT = NOT_FOUND, "unknown_limit", "There is no such limit";
    /// The checks of one call are of several groups.
    GROUPS_DIFFER = UNPROCESSABLE_ENTITY, "groups_differ",
        "All checks of a call must have the same group";
}
