//! Values of labels.

/// Declares an enumeration of the values of a label, with all of them in their order and the name
/// of each.
macro_rules! label_values {
    (
        $(#[$doc:meta])* $type:ident {
            $($(#[$value_doc:meta])* $value:ident = $name:literal,)+
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $type {
            $($(#[$value_doc])* $value,)+
        }

        impl $type {
            /// All of them, in the order of the variants.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$value),+];

            /// The value of the label.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$value => $name,)+
                }
            }
        }
    };
}
pub(crate) use label_values;

#[cfg(test)]
pub mod tests {
    use prometheus::IntCounter;

    /// Counts each value of a label once, and expects 1 in its own counter.
    pub fn each_is_counted_apart<L>(
        all: impl IntoIterator<Item = L>,
        count: impl Fn(&L),
        counter: impl Fn(&L) -> IntCounter,
    ) {
        for value in all {
            count(&value);
            assert_eq!(counter(&value).get(), 1);
        }
    }
}
