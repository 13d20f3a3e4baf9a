//! The bodies of the limits' calls.

use serde::Deserialize;
use utoipa::ToSchema;

use crate::http::extract::objects;
use crate::http::identifier::Identifier;
use crate::http::whole::whole;

/// A check of a limit.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckBody {
    /// Whose units to take: a user, an address, an API client.
    pub key: Identifier,
    /// The number of units to take, in digits: at most `limit`, and at most 100 with `algorithm =
    /// "log"`. 0 takes none, and checks whether one is left.
    #[serde(default = "one", deserialize_with = "whole")]
    #[schema(minimum = 0, maximum = 100_000_000, default = 1)]
    pub cost: u64,
    /// The group of the key; the key itself if you leave it out. Units are counted for each limit,
    /// group and key.
    pub group: Option<Identifier>,
    /// The name of this call, within its limit and group. A retry with the same name within one
    /// window returns the same answer and takes nothing. Without it, a retry takes units again.
    pub id: Option<Identifier>,
}

/// Several checks, all or none.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChecksBody {
    /// 1 to 16 checks, of different limits or keys, all of the same group.
    #[serde(deserialize_with = "objects")]
    #[schema(min_items = 1, max_items = 16)]
    pub checks: Vec<CheckOf>,
    /// The name of this call, within its group and limits. A retry with the same name within the
    /// longest of the windows returns the same answer and takes nothing. Without it, a retry takes
    /// units again.
    pub id: Option<Identifier>,
}

/// One of several checks.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckOf {
    /// The name of the limit.
    #[schema(pattern = "^[a-z0-9-]{1,40}$", example = "login")]
    pub limit: String,
    /// Whose units to take: a user, an address, an API client.
    pub key: Identifier,
    /// The number of units to take, in digits, at most `limit`. All limits of the call with
    /// `algorithm = "log"` together: at most 100. 0 takes none, and checks whether one is left.
    #[serde(default = "one", deserialize_with = "whole")]
    #[schema(minimum = 0, maximum = 100_000_000, default = 1)]
    pub cost: u64,
    /// The group of the key; the key itself if you leave it out. All checks of a call have the same
    /// group.
    pub group: Option<Identifier>,
}

/// The key to reset.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ForgetBody {
    /// The key.
    pub key: Identifier,
    /// The group of the key; the key itself if you leave it out.
    pub group: Option<Identifier>,
}

fn one() -> u64 {
    1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::extract::parse_json;

    #[test]
    fn each_check_is_an_object() {
        let body = br#"{"checks":[{"limit":"login","key":"a"}]}"#;
        let checks = parse_json::<ChecksBody>(body).ok().map(|body| body.checks);
        assert!(matches!(checks.as_deref(), Some([CheckOf { cost: 1, group: None, .. }])));
        for (body, expected) in [
            (r#"{"checks":[["login","a",1,null]]}"#, "checks[0]: invalid type: sequence"),
            (r#"{"checks":[{"limit":"login","key":5}]}"#, "checks[0].key: "),
            (r#"{"checks":[{"limit":"login","kye":"a"}]}"#, "unknown field `kye`"),
            (
                r#"{"checks":[{"limit":"login","key":"a","cost":1e-400}]}"#,
                "checks[0].cost: must be a",
            ),
            (r#"{"checks":{}}"#, "checks: invalid type: map"),
            (r#"{}"#, "missing field `checks`"),
        ] {
            let problem = parse_json::<ChecksBody>(body.as_bytes()).expect_err(body);
            let detail = problem.detail_text();
            assert!(detail.contains(expected), "{body}: {detail}");
        }
    }

    #[test]
    fn a_cost_is_a_whole_number_in_digits() {
        let read = |cost: &str| {
            parse_json::<CheckBody>(format!(r#"{{"key":"a","cost":{cost}}}"#).as_bytes())
        };
        assert_eq!(read("7").map(|body| body.cost).ok(), Some(7));
        for cost in ["1.0", "0.99999999999999999999", "1e-400", "1e2", "-1", "18446744073709551616"]
        {
            let problem = read(cost).expect_err(cost);
            let detail = problem.detail_text();
            assert!(detail.starts_with("cost: must be a whole number"), "{cost}: {detail}");
        }
    }
}
