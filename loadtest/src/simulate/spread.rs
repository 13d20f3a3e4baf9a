//! One figure of several runs: its median and its range.

use serde::{Serialize, Serializer};

/// The median of a figure, its lowest and its highest value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    #[serde(serialize_with = "whole")]
    pub median: f64,
    #[serde(serialize_with = "whole")]
    pub min: f64,
    #[serde(serialize_with = "whole")]
    pub max: f64,
}

impl Spread {
    /// Of the values that are numbers, at least one. Of an even number the lower one in the middle
    /// is the median, so that a run had it.
    pub fn of(values: impl Iterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<_> = values.filter(|value| !value.is_nan()).collect();
        values.sort_by(f64::total_cmp);
        let (min, max) = (*values.first()?, *values.last()?);
        Some(Self { median: values[(values.len() - 1) / 2], min, max })
    }
}

/// A count, without a decimal point.
fn whole<S: Serializer>(value: &f64, to: S) -> Result<S::Ok, S::Error> {
    if value.fract() == 0.0 { to.serialize_u64(*value as u64) } else { to.serialize_f64(*value) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_is_a_median_and_a_range() {
        let of = |values: &[f64]| Spread::of(values.iter().copied());
        assert_eq!(
            of(&[4.0, 9.0, 1.0, 7.0, 2.0]),
            Some(Spread { median: 4.0, min: 1.0, max: 9.0 })
        );
        assert_eq!(of(&[0.5, 0.25]), Some(Spread { median: 0.25, min: 0.25, max: 0.5 }));
        assert_eq!(of(&[f64::NAN]), None);
        let json = serde_json::to_string(&of(&[2.0, 0.5])).expect("JSON");
        assert_eq!(json, r#"{"median":0.5,"min":0.5,"max":2}"#);
    }
}
