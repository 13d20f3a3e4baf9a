//! The bodies of the limits' calls.

use anteroom_core::identifier::{MAX_IDENTIFIER, is_identifier};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::problem::{Code, Problem};

/// One check.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckBody {
    /// Whose units they are: 1 to 128 bytes of UTF-8 without control characters, and without white
    /// space at the ends. So are `group` and `id`.
    #[schema(
        min_length = 1,
        max_length = 128,
        pattern = r"^[^\u0000-\u0020\u007f-\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]([^\u0000-\u001f\u007f-\u009f]*[^\u0000-\u0020\u007f-\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000])?$",
        example = "customer-4711"
    )]
    pub key: String,
    /// How many units it takes, at most `limit`, and 100 of a `log`. 0 takes none, and asks whether
    /// there is one.
    #[serde(default = "one")]
    #[schema(minimum = 0, maximum = 100_000_000, default = 1)]
    pub cost: u64,
    /// The key unless set. Limit, group and key name what is counted.
    #[schema(
        min_length = 1,
        max_length = 128,
        pattern = r"^[^\u0000-\u0020\u007f-\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]([^\u0000-\u001f\u007f-\u009f]*[^\u0000-\u0020\u007f-\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000])?$",
        example = "customer-4711"
    )]
    pub group: Option<String>,
    /// The name of this call among those of its limit and group: a repeat within one window is told
    /// the same and takes nothing. Without it a call that is sent again counts again.
    #[schema(
        min_length = 1,
        max_length = 128,
        pattern = r"^[^\u0000-\u0020\u007f-\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]([^\u0000-\u001f\u007f-\u009f]*[^\u0000-\u0020\u007f-\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000])?$",
        example = "request-17"
    )]
    pub id: Option<String>,
}

/// Several checks, all or none.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChecksBody {
    /// 1 to 16, of different limits or keys, all of the same group.
    #[schema(min_items = 1, max_items = 16)]
    pub checks: Vec<CheckOf>,
    /// The name of this call among those of its group: a repeat within the longest of the windows
    /// is told the same and takes nothing. Without it a call that is sent again counts again.
    #[schema(
        min_length = 1,
        max_length = 128,
        pattern = r"^[^\u0000-\u0020\u007f-\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]([^\u0000-\u001f\u007f-\u009f]*[^\u0000-\u0020\u007f-\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000])?$",
        example = "request-17"
    )]
    pub id: Option<String>,
}

/// One of several checks.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckOf {
    /// The name of the limit.
    #[schema(pattern = "^[a-z0-9-]{1,40}$", example = "login")]
    pub limit: String,
    /// Whose units they are.
    #[schema(
        min_length = 1,
        max_length = 128,
        pattern = r"^[^\u0000-\u0020\u007f-\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]([^\u0000-\u001f\u007f-\u009f]*[^\u0000-\u0020\u007f-\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000])?$",
        example = "customer-4711"
    )]
    pub key: String,
    /// How many units it takes; 0 asks whether there is one.
    #[serde(default = "one")]
    #[schema(minimum = 0, maximum = 100_000_000, default = 1)]
    pub cost: u64,
    /// The key unless set. All checks of a call have the same.
    #[schema(
        min_length = 1,
        max_length = 128,
        pattern = r"^[^\u0000-\u0020\u007f-\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]([^\u0000-\u001f\u007f-\u009f]*[^\u0000-\u0020\u007f-\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000])?$",
        example = "customer-4711"
    )]
    pub group: Option<String>,
}

/// What an operator forgets.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ForgetBody {
    /// The key of the checks.
    #[schema(
        min_length = 1,
        max_length = 128,
        pattern = r"^[^\u0000-\u0020\u007f-\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]([^\u0000-\u001f\u007f-\u009f]*[^\u0000-\u0020\u007f-\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000])?$",
        example = "customer-4711"
    )]
    pub key: String,
    /// Their group; the key unless set.
    #[schema(
        min_length = 1,
        max_length = 128,
        pattern = r"^[^\u0000-\u0020\u007f-\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]([^\u0000-\u001f\u007f-\u009f]*[^\u0000-\u0020\u007f-\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000])?$",
        example = "customer-4711"
    )]
    pub group: Option<String>,
}

fn one() -> u64 {
    1
}

/// Refuses what is no identifier; `front` stands before the name of the field.
pub fn check_identifiers(front: &str, fields: &[(&str, Option<&str>)]) -> Result<(), Problem> {
    for (field, value) in fields {
        if value.is_some_and(|value| !is_identifier(value)) {
            return Err(Problem::new(Code::INVALID_VALUE).detail(format!(
                "{front}{field} must be 1 to {MAX_IDENTIFIER} bytes without control characters, \
                 and without white space at the ends"
            )));
        }
    }
    Ok(())
}
