//! Identifiers in bodies: texts that callers made up, under one rule.

use std::fmt::Display;

use anteroom_authorize::problem::Problem;
use anteroom_core::identifier::{MAX_IDENTIFIER, is_identifier, is_visitor_id};
use serde::Deserialize;
use utoipa::ToSchema;

/// 1 to 128 bytes of UTF-8 without control characters, and without white space at the ends.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(transparent)]
#[schema(
    min_length = 1,
    max_length = 128,
    pattern = r"^[^\u0000-\u0020\u007f-\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]([^\u0000-\u001f\u007f-\u009f]*[^\u0000-\u0020\u007f-\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000])?$",
    example = "customer-4711"
)]
pub struct Identifier(String);

impl Identifier {
    /// The text. `field` is what a refusal calls it.
    ///
    /// # Errors
    ///
    /// `invalid_value` when it breaks the rule.
    pub fn checked(self, field: impl Display) -> Result<String, Problem> {
        if is_identifier(&self.0) {
            return Ok(self.0);
        }
        Err(Problem::invalid_value(format!(
            "{field} must be 1 to {MAX_IDENTIFIER} bytes without control characters, and without \
             white space at the ends"
        )))
    }

    /// The text as a `visitor_id`, which is part of paths too.
    ///
    /// # Errors
    ///
    /// `invalid_value` when it breaks the rule.
    pub fn visitor_id(self) -> Result<String, Problem> {
        let text = self.checked("visitor_id")?;
        if is_visitor_id(&text) {
            return Ok(text);
        }
        Err(Problem::invalid_value("visitor_id must not be . or .."))
    }
}
