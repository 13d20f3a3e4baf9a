//! What a call may meet that its caller has named.

use super::code::codes;

codes! {
    /// What a call with an id may answer.
    REPEATED by Rule;
    /// Another call has this id.
    OPERATION_MISMATCH = CONFLICT, "operation_mismatch", "The id was used for another call";
}
