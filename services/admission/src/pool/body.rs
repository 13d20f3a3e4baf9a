//! The bodies of the pools' calls, read and checked.

use anteroom_core::pool::AmountRequest;
use anteroom_core::rules::{Amount, MAX_AMOUNT, Name};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::http::identifier::Identifier;
use crate::http::whole::{whole, whole_or_none};
use crate::problem::{Code, Problem};

/// What is to be reserved or paid: an `amount`, or the most that an `option` pays.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AskedBody {
    /// Either this or `option`; null counts as absent.
    #[serde(default, deserialize_with = "whole_or_none")]
    pub amount: Option<u64>,
    /// The name of an option of the pool.
    pub option: Option<String>,
    /// The name of this call.
    pub operation_id: Identifier,
}

/// [`AskedBody`] as the API document tells it: one of two bodies.
#[derive(ToSchema)]
#[schema(as = Asked)]
#[serde(untagged)]
#[expect(dead_code, reason = "read by the derive alone")]
pub enum AskedDocument {
    Amount(AskedAmount),
    Option(AskedOption),
}

/// An amount is to be reserved or paid.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "read by the derive alone")]
pub struct AskedAmount {
    /// So many units, in digits: without a fraction or an exponent.
    #[schema(minimum = 1, maximum = 9_007_199_254_740_991_u64)]
    amount: u64,
    /// The name of this call, among the draws or the holds of its pool: a repeat within 24 h is
    /// told the first answer, and changes nothing.
    operation_id: Identifier,
}

/// The most that an option pays is to be reserved or paid.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "read by the derive alone")]
pub struct AskedOption {
    /// The name of an option of the pool.
    #[schema(pattern = "^[a-z0-9-]{1,40}$")]
    option: String,
    /// The name of this call, among the draws or the holds of its pool: a repeat within 24 h is
    /// told the first answer, and changes nothing.
    operation_id: Identifier,
}

impl AskedBody {
    /// What is asked for, and the name of the call.
    ///
    /// # Errors
    ///
    /// `invalid_value` with the field and its rule.
    pub fn checked(self) -> Result<(AmountRequest, String), Problem> {
        let operation_id = self.operation_id.checked("operation_id")?;
        let asked = match (self.amount, self.option) {
            (Some(given), None) => AmountRequest::Amount(amount(given, 1)?),
            (None, Some(option)) => {
                AmountRequest::Option(Name::new(option).ok_or_else(|| {
                    refused("option must be 1 to 40 characters of a-z, 0-9 and -")
                })?)
            }
            _ => return Err(refused("either amount or option must be given")),
        };
        Ok((asked, operation_id))
    }
}

/// What is to be paid of a hold.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SettleBody {
    /// So many units, in digits, at most what is held; 0 pays nothing.
    #[serde(deserialize_with = "whole")]
    #[schema(minimum = 0, maximum = 9_007_199_254_740_991_u64)]
    pub amount: u64,
}

/// What an operator puts in.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FundsBody {
    /// So many units, in digits.
    #[serde(deserialize_with = "whole")]
    #[schema(minimum = 1, maximum = 9_007_199_254_740_991_u64)]
    pub amount: u64,
    /// The name of this call: a repeat within 24 h is told the first answer, and puts nothing in.
    pub operation_id: Identifier,
}

/// An amount that is at least this.
///
/// # Errors
///
/// `invalid_value` with the rule.
pub fn amount(given: u64, least: u64) -> Result<Amount, Problem> {
    Amount::new(given)
        .filter(|amount| amount.get() >= least)
        .ok_or_else(|| refused(format!("amount must be from {least} to {MAX_AMOUNT}")))
}

fn refused(rule: impl Into<std::borrow::Cow<'static, str>>) -> Problem {
    Problem::new(Code::INVALID_VALUE).detail(rule)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::extract::parse_json;

    fn read(body: &str) -> Result<(AmountRequest, String), String> {
        let told = |problem: Problem| problem.said().unwrap_or_default().to_owned();
        parse_json::<AskedBody>(body.as_bytes()).map_err(told)?.checked().map_err(told)
    }

    #[test]
    fn an_amount_or_an_option_is_asked_for_under_a_name() {
        let asked = |asked| Ok((asked, "a".to_owned()));
        let units = |amount| AmountRequest::Amount(Amount::new(amount).expect("an amount"));
        let option = |name| AmountRequest::Option(Name::new(name).expect("a name"));
        assert_eq!(read(r#"{"amount":7,"operation_id":"a"}"#), asked(units(7)));
        let absent = r#"{"amount":null,"option":"large","operation_id":"a"}"#;
        assert_eq!(read(absent), asked(option("large")));
        let most = format!(r#"{{"amount":{MAX_AMOUNT},"operation_id":"a"}}"#);
        assert_eq!(read(&most), asked(units(MAX_AMOUNT)));
        let five_hundred = asked(option("five-hundred"));
        assert_eq!(read(r#"{"option":"five-hundred","operation_id":"a"}"#), five_hundred);
        for (body, said) in [
            (r#"{"operation_id":"a"}"#, "either amount or option"),
            (r#"{"amount":1,"option":"a","operation_id":"a"}"#, "either amount or option"),
            (r#"{"amount":0,"operation_id":"a"}"#, "amount must be from 1"),
            (r#"{"amount":9007199254740992,"operation_id":"a"}"#, "amount must be from 1"),
            (r#"{"amount":-1,"operation_id":"a"}"#, "amount: must be a whole number"),
            (r#"{"amount":1.5,"operation_id":"a"}"#, "amount: must be a whole number"),
            (r#"{"amount":1.0000000000000001,"operation_id":"a"}"#, "amount: must be a whole"),
            (r#"{"amount":1e3,"operation_id":"a"}"#, "amount: must be a whole number"),
            (r#"{"amount":99999999999999999999,"operation_id":"a"}"#, "amount: must be a whole"),
            (r#"{"amount":"1","operation_id":"a"}"#, "amount: invalid type"),
            (r#"{"option":"a=1,b","operation_id":"a"}"#, "option must be"),
            (r#"{"amount":1}"#, "missing field `operation_id`"),
            (r#"{"amount":1,"operation_id":""}"#, "operation_id must be 1 to 128 bytes"),
            (r#"{"ammount":1,"operation_id":"a"}"#, "unknown field `ammount`"),
        ] {
            let told = read(body).expect_err(body);
            assert!(told.contains(said), "{body}: {told}");
        }
    }
}
