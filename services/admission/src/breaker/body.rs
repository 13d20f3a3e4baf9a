//! The body of a report, read and checked.

use anteroom_authorize::problem::Problem;
use anteroom_core::breaker::{MAX_LATENCY_MS, Outcome, PermitId, Rules};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::http::identifier::Identifier;
use crate::http::whole::whole_or_none;

/// The outcome of one call to the target (`success`), or of several (`successes`, `failures`).
#[derive(Debug, Default, Deserialize, ToSchema)]
#[schema(as = Outcome)]
#[serde(deny_unknown_fields)]
pub struct OutcomeBody {
    /// Whether the one call succeeded.
    success: Option<bool>,
    /// How many calls succeeded; 0 if you leave it out. Together with `failures` at least 1 and at
    /// most 1 000 000, or 100 with `store = "log"`.
    #[serde(default, deserialize_with = "whole_or_none")]
    #[schema(maximum = 1_000_000)]
    successes: Option<u64>,
    /// How many calls failed.
    #[serde(default, deserialize_with = "whole_or_none")]
    #[schema(maximum = 1_000_000)]
    failures: Option<u64>,
    /// The replica that reports, for `quorum`. All reports without a name count as one replica.
    reporter: Option<Identifier>,
    /// How long the call took in milliseconds, or each of the calls.
    #[serde(default, deserialize_with = "whole_or_none")]
    #[schema(maximum = 3_600_000)]
    latency_ms: Option<u64>,
    /// The permit of the call. While the target is half open, an outcome with a permit counts as a
    /// probe once, until the permit ends. An outcome without a permit counts as a probe only while
    /// no permit is outstanding.
    #[schema(pattern = "^[A-Za-z0-9_-]{22}$")]
    permit: Option<String>,
    /// The name of this report. A retry with the same name within one window counts once. Without
    /// it, a retry counts again.
    id: Option<Identifier>,
}

impl OutcomeBody {
    /// The outcome, under these rules.
    ///
    /// # Errors
    ///
    /// `invalid_value` with the field and its rule.
    pub fn outcome(self, rules: &Rules) -> Result<Outcome, Problem> {
        let (successes, failures) = match (self.success, self.successes, self.failures) {
            (Some(is_success), None, None) => (u64::from(is_success), u64::from(!is_success)),
            (None, successes, failures) if successes.is_some() || failures.is_some() => {
                (successes.unwrap_or(0), failures.unwrap_or(0))
            }
            _ => {
                let rule = "either success, or successes and failures must be given";
                return Err(Problem::invalid_value(rule));
            }
        };
        let most = rules.most_outcomes();
        let counts = Option::zip(u32::try_from(successes).ok(), u32::try_from(failures).ok());
        let counts = counts.filter(|(successes, failures)| {
            successes.checked_add(*failures).is_some_and(|all| (1..=most).contains(&all))
        });
        let (successes, failures) = counts.ok_or_else(|| too_many(rules))?;
        let reporter = self.reporter.map(|name| name.checked("reporter")).transpose()?;
        let id = self.id.map(|id| id.checked("id")).transpose()?;
        if self.latency_ms.is_some_and(|latency_ms| latency_ms > MAX_LATENCY_MS) {
            let rule = format!("latency_ms must be from 0 to {MAX_LATENCY_MS}");
            return Err(Problem::invalid_value(rule));
        }
        let permit = self.permit.as_deref().map(|permit| {
            let rule = "permit must be one that was given";
            PermitId::parse(permit).ok_or_else(|| Problem::invalid_value(rule))
        });
        Ok(Outcome {
            successes,
            failures,
            latency_ms: self.latency_ms,
            reporter,
            permit: permit.transpose()?,
            id,
        })
    }
}

/// A report of no outcomes, or of more than one call takes.
pub fn too_many(rules: &Rules) -> Problem {
    let most = rules.most_outcomes();
    Problem::invalid_value(format!("successes and failures together must be from 1 to {most}"))
}

#[cfg(test)]
mod tests {
    use anteroom_core::breaker::Kept;

    use super::*;
    use crate::http::extract::parse_json;

    fn read(body: &str, rules: &Rules) -> Result<Outcome, (&'static str, String)> {
        let refusal = |problem: Problem| (problem.code().name(), problem.detail_text().to_owned());
        let body = parse_json::<OutcomeBody>(body.as_bytes()).map_err(refusal)?;
        body.outcome(rules).map_err(refusal)
    }

    #[test]
    fn both_forms_are_read() {
        let rules = Rules::default();
        assert_eq!(read(r#"{"success": true}"#, &rules), Ok(Outcome::of(true)));
        assert_eq!(read(r#"{"success": false}"#, &rules), Ok(Outcome::of(false)));
        let counted = r#"{"successes": 7, "failures": 3}"#;
        assert_eq!(read(counted, &rules), Ok(Outcome::counted(7, 3)));
        assert_eq!(read(r#"{"failures": 1000000}"#, &rules), Ok(Outcome::counted(0, 1_000_000)));
        let nulls = r#"{"successes": 325, "failures": null, "latency_ms": 42}"#;
        let expected = Outcome { latency_ms: Some(42), ..Outcome::counted(325, 0) };
        assert_eq!(read(nulls, &rules), Ok(expected));
        let permit = PermitId([7; 16]);
        let body = format!(
            r#"{{"success": true, "reporter": "a", "latency_ms": 0, "permit": "{}", "id": "é"}}"#,
            permit.text()
        );
        let outcome = read(&body, &rules).expect("an outcome");
        assert_eq!((outcome.permit, outcome.latency_ms), (Some(permit), Some(0)));
    }

    #[test]
    fn what_breaks_a_rule_is_refused_with_the_field_and_the_rule() {
        let buckets = Rules::default();
        let log = Rules { kept: Kept::InLog, ..buckets };
        let long = format!(r#"{{"success": true, "id": "{}"}}"#, "x".repeat(129));
        for (rules, body, code, rule) in [
            (&buckets, "{}", "invalid_value", "either success, or"),
            (&buckets, r#"{"success":true,"failures":1}"#, "invalid_value", "either success, or"),
            (&buckets, r#"{"successes":0,"failures":0}"#, "invalid_value", "from 1 to 1000000"),
            (&buckets, r#"{"successes":1000000,"failures":1}"#, "invalid_value", "1 to 1000000"),
            (&buckets, r#"{"failures":18446744073709551615}"#, "invalid_value", "1 to 1000000"),
            (&log, r#"{"successes":100,"failures":1}"#, "invalid_value", "from 1 to 100"),
            (&buckets, r#"{"success":true,"reporter":""}"#, "invalid_value", "reporter must be"),
            (&buckets, r#"{"success":true,"reporter":" a"}"#, "invalid_value", "reporter must be"),
            (&buckets, long.as_str(), "invalid_value", "id must be 1 to 128 bytes"),
            (&buckets, r#"{"success":true,"latency_ms":3600001}"#, "invalid_value", "latency_ms"),
            (&buckets, r#"{"success":true,"permit":"abc"}"#, "invalid_value", "permit must be"),
            (&buckets, r#"{"success":1}"#, "invalid_body", "success: invalid type"),
            (&buckets, r#"{"successes":-1}"#, "invalid_body", "successes: must be a whole number"),
            (&buckets, r#"{"failures":1.5}"#, "invalid_body", "failures: must be a whole number"),
            (&buckets, r#"{"failures":1e-400}"#, "invalid_body", "failures: must be a whole"),
            (
                &buckets,
                r#"{"successes":0.99999999999999999999}"#,
                "invalid_body",
                "successes: must",
            ),
            (&buckets, r#"{"latency_ms":42.0}"#, "invalid_body", "latency_ms: must be a whole"),
            (&buckets, r#"{"latency_ms":"1"}"#, "invalid_body", "latency_ms: invalid type"),
            (&buckets, r#"{"sucess":true}"#, "invalid_body", "`sucess`"),
        ] {
            let (name, detail) = read(body, rules).expect_err(body);
            assert!(name == code && detail.contains(rule), "{body}: {name}, {detail}");
        }
    }
}
