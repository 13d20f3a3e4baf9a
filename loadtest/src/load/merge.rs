//! What several machines have shown of one load, together.

use std::collections::BTreeMap;
use std::time::Duration;

/// A part of what a load shows.
pub trait Merge {
    /// Adds that of another machine, which played at the same time.
    fn merge_with(&mut self, other: &Self);
}

impl Merge for u64 {
    fn merge_with(&mut self, other: &Self) {
        *self += other;
    }
}

impl Merge for Duration {
    fn merge_with(&mut self, other: &Self) {
        *self += *other;
    }
}

impl Merge for bool {
    fn merge_with(&mut self, other: &Self) {
        *self |= other;
    }
}

impl<K: Ord + Clone, V: Merge + Default> Merge for BTreeMap<K, V> {
    fn merge_with(&mut self, other: &Self) {
        for (key, value) in other {
            self.entry(key.clone()).or_default().merge_with(value);
        }
    }
}

impl<V: Merge, const N: usize> Merge for [V; N] {
    fn merge_with(&mut self, other: &Self) {
        self.iter_mut().zip(other).for_each(|(own, other)| own.merge_with(other));
    }
}

impl<V: Merge + Default> Merge for Vec<V> {
    fn merge_with(&mut self, other: &Self) {
        self.resize_with(self.len().max(other.len()), V::default);
        self.iter_mut().zip(other).for_each(|(own, other)| own.merge_with(other));
    }
}

/// Merges these fields of a type.
macro_rules! merges {
    ($type:ty { $($field:tt),* }) => {
        impl $crate::load::Merge for $type {
            fn merge_with(&mut self, other: &Self) {
                $($crate::load::Merge::merge_with(&mut self.$field, &other.$field);)*
            }
        }
    };
}
pub(crate) use merges;
