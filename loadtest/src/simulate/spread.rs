//! One figure of several runs: its median and its range.

use serde::Serialize;

/// The median of a figure, its lowest and its highest value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread<T> {
    pub median: T,
    pub min: T,
    pub max: T,
}

impl<T: Copy + PartialOrd> Spread<T> {
    /// Of at least one value; of an even number the lower one in the middle is the median, so that
    /// a run had it.
    pub fn of(values: impl IntoIterator<Item = T>) -> Option<Self> {
        let mut values: Vec<_> = values.into_iter().collect();
        values.sort_by(|one, other| one.partial_cmp(other).unwrap_or(std::cmp::Ordering::Equal));
        let (min, max) = (*values.first()?, *values.last()?);
        Some(Self { median: values[(values.len() - 1) / 2], min, max })
    }

    /// The same of what follows from each value.
    pub fn map<U>(self, of: impl Fn(T) -> U) -> Spread<U> {
        Spread { median: of(self.median), min: of(self.min), max: of(self.max) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_is_a_median_and_a_range() {
        assert_eq!(Spread::of([4, 9, 1, 7, 2]), Some(Spread { median: 4, min: 1, max: 9 }));
        assert_eq!(Spread::of([0.5, 0.25]), Some(Spread { median: 0.25, min: 0.25, max: 0.5 }));
        assert_eq!(Spread::<u64>::of([]), None);
    }
}
