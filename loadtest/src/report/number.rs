//! How many digits a report shows: 4 significant ones, and all before the decimal point. A load
//! test repeats no more than that.

use serde_json::Value;

/// With no more digits than a report shows.
pub fn rounded(value: f64) -> f64 {
    if value.abs() >= 1e3 {
        return value.round();
    }
    // What was formatted from a number is one; -0 becomes 0.
    format!("{value:.3e}").parse().unwrap_or(value) + 0.0
}

/// The same as a text, thousands apart.
pub fn number(value: f64) -> String {
    let mut text = rounded(value).to_string();
    let first = usize::from(text.starts_with('-'));
    let end = text.find('.').unwrap_or(text.len());
    for at in (first + 1..end).rev().filter(|at| (end - at).is_multiple_of(3)) {
        text.insert(at, '\u{202f}');
    }
    text
}

/// A result whose decimal numbers are [`rounded`]; whole numbers stay.
pub fn rounded_json(value: Value) -> Value {
    match value {
        Value::Number(number) if number.is_f64() => number.as_f64().map(rounded).into(),
        Value::Array(values) => values.into_iter().map(rounded_json).collect(),
        Value::Object(fields) => {
            fields.into_iter().map(|(name, value)| (name, rounded_json(value))).collect()
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_are_short() {
        for (value, shown) in [
            (0.0, "0"),
            (-0.0, "0"),
            (0.300_000_000_000_000_04, "0.3"),
            (0.017_416_764, "0.01742"),
            (-199.956_1, "-200"),
            (203.042_17, "203"),
            (42.987_6, "42.99"),
            (1_500.0, "1\u{202f}500"),
            (-123_456.7, "-123\u{202f}457"),
            (2_000_000.5, "2\u{202f}000\u{202f}001"),
        ] {
            assert_eq!(number(value), shown);
        }
    }

    #[test]
    fn a_result_keeps_its_whole_numbers() {
        let seed = 12_345_678_901_234_567_890_u64;
        let result =
            json!({ "seed": seed, "runs": [203.042_17, { "p95_ms": 12_345.678 }], "a": "b" });
        let short = json!({ "seed": seed, "runs": [203.0, { "p95_ms": 12_346.0 }], "a": "b" });
        assert_eq!(rounded_json(result), short);
    }
}
