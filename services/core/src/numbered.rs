//! Enums whose values have names in Rust and in the API, and numbers in the scripts.

/// Declares such an enum. The numbers are 1, 2, 3 … in the order of the values.
macro_rules! numbered {
    (
        $(#[doc = $doc:literal])+
        $visibility:vis $name:ident {
            $(#[doc = $first_doc:literal])+ $first:ident = $first_text:literal,
            $($(#[doc = $each:literal])+ $value:ident = $text:literal,)*
        }
    ) => {
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        $visibility enum $name {
            $(#[doc = $first_doc])+ $first = 1,
            $($(#[doc = $each])+ $value,)*
        }

        #[allow(dead_code, reason = "not every enum needs all of it")]
        impl $name {
            /// Every one, in the order of the numbers that the scripts use (1 is the first).
            pub const ALL: [Self; Self::NAMES.len()] = [Self::$first, $(Self::$value,)*];
            /// Their names, in the same order.
            pub const NAMES: &'static [&'static str] = &[$first_text, $($text,)*];

            /// The one of this number.
            pub(crate) fn numbered(number: u64) -> Option<Self> {
                Self::ALL.get(usize::try_from(number).ok()?.checked_sub(1)?).copied()
            }

            /// The name in the configuration and the API.
            pub fn name(self) -> &'static str {
                Self::NAMES[self as usize - 1]
            }
        }
    };
}
pub(crate) use numbered;
