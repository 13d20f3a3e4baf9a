//! The bodies of the limits' calls.

use serde::Deserialize;
use utoipa::ToSchema;

use crate::http::extract::objects;
use crate::http::identifier::Identifier;
use crate::http::whole::whole;

/// One check.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckBody {
    /// Whose units they are.
    pub key: Identifier,
    /// How many units it takes, in digits, at most `limit`, and 100 of a `log`. 0 takes none, and
    /// asks whether there is one.
    #[serde(default = "one", deserialize_with = "whole")]
    #[schema(minimum = 0, maximum = 100_000_000, default = 1)]
    pub cost: u64,
    /// The key unless set. Limit, group and key name what is counted.
    pub group: Option<Identifier>,
    /// The name of this call among those of its limit and group: a repeat within one window is told
    /// the same and takes nothing. Without it a call that is sent again counts again.
    pub id: Option<Identifier>,
}

/// Several checks, all or none.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChecksBody {
    /// 1 to 16, of different limits or keys, all of the same group.
    #[serde(deserialize_with = "objects")]
    #[schema(min_items = 1, max_items = 16)]
    pub checks: Vec<CheckOf>,
    /// The name of this call among those of its group and limits: a repeat within the longest of
    /// the windows is told the same and takes nothing. Without it a call that is sent again counts
    /// again.
    pub id: Option<Identifier>,
}

/// One of several checks.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckOf {
    /// The name of the limit.
    #[schema(pattern = "^[a-z0-9-]{1,40}$", example = "login")]
    pub limit: String,
    /// Whose units they are.
    pub key: Identifier,
    /// How many units it takes, in digits, at most `limit`; those of all `log` limits of the call
    /// are at most 100. 0 takes none, and asks whether there is one.
    #[serde(default = "one", deserialize_with = "whole")]
    #[schema(minimum = 0, maximum = 100_000_000, default = 1)]
    pub cost: u64,
    /// The key unless set. All checks of a call have the same.
    pub group: Option<Identifier>,
}

/// What an operator forgets.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ForgetBody {
    /// The key of the checks.
    pub key: Identifier,
    /// Their group; the key unless set.
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
