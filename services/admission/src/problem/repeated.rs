//! What a call that its caller has named may meet.

use super::code::codes;

codes! {
    /// What any call with an id may answer.
    REPEATED by Rule;
    /// An earlier call with the same id had another payload.
    OPERATION_MISMATCH = CONFLICT, "operation_mismatch", "The id was used for another call";
}
