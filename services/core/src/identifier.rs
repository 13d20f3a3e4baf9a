//! The rule for identifiers from callers.

/// The longest identifier in bytes.
pub const MAX_IDENTIFIER: usize = 128;

/// Whether a text may name a visitor: an [identifier](is_identifier) that can stand in a path,
/// where a client leaves out `.`, and `..` leads a step up.
pub fn is_visitor_id(text: &str) -> bool {
    is_identifier(text) && text != "." && text != ".."
}

/// Whether a text is 1 to 128 bytes of UTF-8 without control characters, and without white space at
/// either end, which HTTP would take away on the way to the protected service.
pub fn is_identifier(text: &str) -> bool {
    (1..=MAX_IDENTIFIER).contains(&text.len())
        && !text.chars().any(char::is_control)
        && text.trim() == text
}
