//! The bodies of the pools' calls, read and checked.

use anteroom_authorize::problem::Problem;
use anteroom_core::pool::AmountRequest;
use anteroom_core::rules::{Amount, MAX_AMOUNT, Name};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::http::identifier::Identifier;
use crate::http::whole::{whole, whole_or_none};

/// What is to be reserved or paid: an `amount`, or the most that an `option` pays.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AmountOrOptionBody {
    /// Either this or `option`; null counts as absent.
    #[serde(default, deserialize_with = "whole_or_none")]
    pub amount: Option<u64>,
    /// The name of an option of the pool.
    pub option: Option<String>,
    /// The name of this call.
    pub operation_id: Identifier,
}

/// Either an amount, or an option that names the amount.
#[derive(ToSchema)]
#[schema(as = Asked)]
#[serde(untagged)]
#[expect(dead_code, reason = "read by the derive alone")]
pub enum AmountOrOption {
    Amount(AmountBody),
    Option(OptionBody),
}

/// Reserve or pay an amount.
#[derive(ToSchema)]
#[schema(as = AskedAmount)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "read by the derive alone")]
pub struct AmountBody {
    /// The amount in units: a whole number, in digits only.
    #[schema(minimum = 1, maximum = 9_007_199_254_740_991_u64)]
    amount: u64,
    /// The name of this call. Draws and holds of a pool have names of their own. A retry with the
    /// same name within 24 h returns the first answer and changes nothing.
    operation_id: Identifier,
}

/// Reserve or pay the maximum of an option.
#[derive(ToSchema)]
#[schema(as = AskedOption)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "read by the derive alone")]
pub struct OptionBody {
    /// The name of an option of the pool.
    #[schema(pattern = "^[a-z0-9-]{1,40}$")]
    option: String,
    /// The name of this call. Draws and holds of a pool have names of their own. A retry with the
    /// same name within 24 h returns the first answer and changes nothing.
    operation_id: Identifier,
}

impl AmountOrOptionBody {
    /// What is to be reserved or paid, and the name of the call.
    ///
    /// # Errors
    ///
    /// `invalid_value` with the field and its rule.
    pub fn checked(self) -> Result<(AmountRequest, String), Problem> {
        let operation_id = self.operation_id.checked("operation_id")?;
        let rule = "option must be 1 to 40 characters of a-z, 0-9 and -";
        let requested = match (self.amount, self.option) {
            (Some(given), None) => AmountRequest::Amount(amount(given, 1)?),
            (None, Some(option)) => AmountRequest::Option(
                Name::new(option).ok_or_else(|| Problem::invalid_value(rule))?,
            ),
            _ => return Err(Problem::invalid_value("either amount or option must be given")),
        };
        Ok((requested, operation_id))
    }
}

/// How much of a hold to pay.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SettleBody {
    /// The amount in units, in digits, at most what the hold reserves; 0 pays nothing.
    #[serde(deserialize_with = "whole")]
    #[schema(minimum = 0, maximum = 9_007_199_254_740_991_u64)]
    pub amount: u64,
}

/// A deposit.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FundsBody {
    /// The amount in units, in digits.
    #[serde(deserialize_with = "whole")]
    #[schema(minimum = 1, maximum = 9_007_199_254_740_991_u64)]
    pub amount: u64,
    /// The name of this call. A retry with the same name within 24 h returns the first answer and
    /// deposits nothing.
    pub operation_id: Identifier,
}

/// An amount that is at least this.
///
/// # Errors
///
/// `invalid_value` with the rule.
pub fn amount(given: u64, least: u64) -> Result<Amount, Problem> {
    let rule = || format!("amount must be from {least} to {MAX_AMOUNT}");
    let amount = Amount::new(given).filter(|amount| amount.get() >= least);
    amount.ok_or_else(|| Problem::invalid_value(rule()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::extract::parse_json;

    fn read(body: &str) -> Result<(AmountRequest, String), String> {
        let detail = |problem: Problem| problem.detail_text().to_owned();
        parse_json::<AmountOrOptionBody>(body.as_bytes()).map_err(detail)?.checked().map_err(detail)
    }

    #[test]
    fn an_amount_or_an_option_is_requested_under_a_name() {
        let requested = |what| Ok((what, "a".to_owned()));
        let units = |amount| AmountRequest::Amount(Amount::new(amount).expect("an amount"));
        let option = |name| AmountRequest::Option(Name::new(name).expect("a name"));
        assert_eq!(read(r#"{"amount":7,"operation_id":"a"}"#), requested(units(7)));
        let absent = r#"{"amount":null,"option":"large","operation_id":"a"}"#;
        assert_eq!(read(absent), requested(option("large")));
        let most = format!(r#"{{"amount":{MAX_AMOUNT},"operation_id":"a"}}"#);
        assert_eq!(read(&most), requested(units(MAX_AMOUNT)));
        let five_hundred = requested(option("five-hundred"));
        assert_eq!(read(r#"{"option":"five-hundred","operation_id":"a"}"#), five_hundred);
        for (body, expected) in [
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
            let detail = read(body).expect_err(body);
            assert!(detail.contains(expected), "{body}: {detail}");
        }
    }
}
