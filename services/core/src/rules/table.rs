//! The macro that makes types of a table of rules, and how its fields hold values.

use std::time::Duration;

use super::{Amounts, Kind, Value};

/// A type that the values of a rule have in Rust.
pub trait Typed: Clone + Sized {
    /// The value, as one of this kind.
    fn value(self, kind: Kind) -> Value;
    /// The value in this type; `None` when it is of another kind.
    fn typed(value: Value) -> Option<Self>;
}

impl Typed for u64 {
    fn value(self, kind: Kind) -> Value {
        match kind {
            Kind::Moment => Value::Moment(self),
            Kind::Millionths { .. } => Value::Millionths(self),
            _ => Value::Whole(self),
        }
    }

    fn typed(value: Value) -> Option<Self> {
        let (Value::Whole(number) | Value::Millionths(number) | Value::Moment(number)) = value
        else {
            return None;
        };
        Some(number)
    }
}

/// The type of a field: [`Typed`], or an option of it where there may be no such rule.
pub trait Field: Sized {
    /// What it holds.
    type Held: Typed;
    /// What it holds, if anything.
    fn get(&self) -> Option<Self::Held>;
    /// A field that holds this; `None` when it must not be empty.
    fn from_typed(typed: Option<Self::Held>) -> Option<Self>;
}

impl<T: Typed> Field for Option<T> {
    type Held = T;

    fn get(&self) -> Option<T> {
        self.clone()
    }

    fn from_typed(typed: Option<T>) -> Option<Self> {
        Some(typed)
    }
}

/// The field that holds this value; `default` where it must hold one and there is none.
pub(crate) fn field<F: Field>(value: Option<Value>, default: F) -> F {
    F::from_typed(value.and_then(Typed::typed)).unwrap_or(default)
}

/// The value in its type; `None` when it is of another kind.
pub(crate) fn typed<T: Typed>(value: Option<Value>) -> Option<Option<T>> {
    value.map_or(Some(None), |value| T::typed(value).map(Some))
}

/// A type whose values are of one kind, which a field always holds.
macro_rules! typed {
    ($type:ty, $variant:ident) => {
        impl $crate::rules::Typed for $type {
            fn value(self, _: $crate::rules::Kind) -> $crate::rules::Value {
                $crate::rules::Value::$variant(self)
            }

            fn typed(value: $crate::rules::Value) -> Option<Self> {
                let $crate::rules::Value::$variant(value) = value else { return None };
                Some(value)
            }
        }

        always!($type);
    };
}

/// A type that a field always holds.
macro_rules! always {
    ($type:ty) => {
        impl $crate::rules::Field for $type {
            type Held = Self;

            fn get(&self) -> Option<Self> {
                Some(self.clone())
            }

            fn from_typed(typed: Option<Self>) -> Option<Self> {
                typed
            }
        }
    };
}

always!(u64);
typed!(Duration, Span);
typed!(bool, Flag);
typed!(String, Text);
typed!(Amounts, Amounts);

/// Declares an enum that is the type of a rule: its values have names in the configuration, and in
/// the store numbers.
macro_rules! choice {
    ($(#[doc = $doc:literal])+ $name:ident { $($values:tt)+ }) => {
        $crate::numbered::numbered! { $(#[doc = $doc])+ pub $name { $($values)+ } }

        impl $crate::rules::Typed for $name {
            fn value(self, _: $crate::rules::Kind) -> $crate::rules::Value {
                $crate::rules::Value::Choice(self.name(), self as usize - 1)
            }

            fn typed(value: $crate::rules::Value) -> Option<Self> {
                let $crate::rules::Value::Choice(_, at) = value else { return None };
                Self::ALL.get(at).copied()
            }
        }

        $crate::rules::always!($name);
    };
}

/// Declares the rules of a kind of entity: `file` are those that the configuration names. Where
/// operators override rules, `operator` are those that only they set.
///
/// Makes `Rules` (a field for each rule of the configuration), and the table `RULES`, in the order
/// of the scripts' list; where operators override them also `Override` (one rule and its value, or
/// `None` to take the override back).
macro_rules! rules {
    (operator { $($operator:tt)* } file { $($file:tt)* } $($relations:tt)*) => {
        $crate::rules::rule_table! {
            operator { $($operator)* } file { $($file)* } $($relations)*
        }
        $crate::rules::overrides! { operator { $($operator)* } file { $($file)* } }
    };
    (file { $($file:tt)* } $($relations:tt)*) => {
        $crate::rules::rule_table! { operator { } file { $($file)* } $($relations)* }
    };
}

/// The part of `rules!` that every kind of entity has.
macro_rules! rule_table {
    (
        operator { $(
            $(#[doc = $odoc:literal])+
            $oname:ident $ovariant:ident: $otype:ty, $okind:expr, $odefault:expr;
        )* }
        file { $(
            $(#[doc = $doc:literal])+
            $name:ident $variant:ident: $type:ty, $kind:expr, $default:expr;
        )+ }
        relations { $($one:ident $relation:tt $two:ident;)* }
    ) => {
        /// The rules, as the configuration declares them.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct Rules {
            $($(#[doc = $doc])+ pub $name: $type,)+
        }

        #[allow(non_camel_case_types, reason = "the names of the rules")]
        #[derive(Clone, Copy)]
        enum At { $($oname,)* $($name,)+ }

        /// Every rule.
        pub const RULES: &[$crate::rules::Rule] = &[
            $($crate::rules::rule!($oname, $okind, $otype, $odefault, false, concat!($($odoc, "\n"),+)),)*
            $($crate::rules::rule!($name, $kind, $type, $default, true, concat!($($doc, "\n"),+)),)+
        ];

        /// What must hold between them.
        pub const RELATIONS: &[$crate::rules::Relation] = &[
            $($crate::rules::Relation {
                rule: RULES[At::$one as usize],
                at_least: $crate::rules::at_least!($relation),
                other: RULES[At::$two as usize],
            },)*
        ];

        impl Default for Rules {
            fn default() -> Self {
                Self { $($name: $default,)+ }
            }
        }

        impl Rules {
            /// The rules whose values `value` gives for each rule of the configuration; where it
            /// gives none, the default.
            ///
            /// # Errors
            ///
            /// Those of `value`.
            pub fn read<E>(
                mut value: impl FnMut(&'static $crate::rules::Rule) -> Result<Option<$crate::rules::Value>, E>,
            ) -> Result<Self, E> {
                Ok(Self {
                    $($name: $crate::rules::field(value(&RULES[At::$name as usize])?, $default),)+
                })
            }

            /// The value of a rule; `None` where there is no such rule.
            pub fn value(&self, rule: &$crate::rules::Rule) -> Option<$crate::rules::Value> {
                match rule.name {
                    $(stringify!($name) => $crate::rules::Field::get(&self.$name).map(|value| $crate::rules::Typed::value(value, rule.kind)),)+
                    _ => (rule.default)(),
                }
            }

            /// The relations that do not hold.
            pub fn broken(&self) -> impl Iterator<Item = &'static $crate::rules::Relation> {
                RELATIONS.iter().filter(|relation| {
                    !relation.holds(self.value(&relation.rule), self.value(&relation.other))
                })
            }
        }

        impl $crate::rules::Stored for Rules {
            const RULES: &'static [$crate::rules::Rule] = RULES;

            fn value_of(&self, rule: &$crate::rules::Rule) -> Option<$crate::rules::Value> {
                self.value(rule)
            }
        }
    };
}

/// The part of `rules!` for what operators override.
macro_rules! overrides {
    (
        operator { $(
            $(#[doc = $odoc:literal])+
            $oname:ident $ovariant:ident: $otype:ty, $okind:expr, $odefault:expr;
        )+ }
        file { $(
            $(#[doc = $doc:literal])+
            $name:ident $variant:ident: $type:ty, $kind:expr, $default:expr;
        )+ }
    ) => {
        /// A rule that an operator overrides; without a value the override is taken back.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum Override {
            $($(#[doc = $odoc])+ $ovariant(Option<<$otype as $crate::rules::Field>::Held>),)+
            $($(#[doc = $doc])+ $variant(Option<<$type as $crate::rules::Field>::Held>),)+
        }

        impl Rules {
            /// Puts an override in force; one that is taken back leaves the value of `file`.
            pub fn apply(&mut self, change: &Override, file: &Self) {
                match change.clone() {
                    $(Override::$ovariant(_) => {})+
                    $(Override::$variant(None) => self.$name = file.$name.clone(),)+
                    $(Override::$variant(typed) => {
                        self.$name = $crate::rules::Field::from_typed(typed)
                            .unwrap_or_else(|| file.$name.clone());
                    })+
                }
            }
        }

        impl Override {
            /// The override of this rule; `None` when the value is of another kind, or the rule of
            /// another table.
            pub fn new(
                rule: &$crate::rules::Rule,
                value: Option<$crate::rules::Value>,
            ) -> Option<Self> {
                match rule.name {
                    $(stringify!($oname) => Some(Self::$ovariant($crate::rules::typed(value)?)),)+
                    $(stringify!($name) => Some(Self::$variant($crate::rules::typed(value)?)),)+
                    _ => None,
                }
            }

            /// Which rule it overrides.
            pub fn rule(&self) -> &'static $crate::rules::Rule {
                let at = match self {
                    $(Self::$ovariant(_) => At::$oname,)+
                    $(Self::$variant(_) => At::$name,)+
                };
                &RULES[at as usize]
            }

            /// The value that it sets; `None` takes the override back.
            pub fn value(&self) -> Option<$crate::rules::Value> {
                let kind = self.rule().kind;
                match self.clone() {
                    $(Self::$ovariant(value) => value.map(|value| $crate::rules::Typed::value(value, kind)),)+
                    $(Self::$variant(value) => value.map(|value| $crate::rules::Typed::value(value, kind)),)+
                }
            }
        }
    };
}

/// One entry of the table of `rules!`.
macro_rules! rule {
    ($name:ident, $kind:expr, $type:ty, $default:expr, $in_file:literal, $doc:expr) => {
        $crate::rules::Rule {
            name: stringify!($name),
            kind: $kind,
            default: || {
                let default: $type = $default;
                let typed = $crate::rules::Field::get(&default)?;
                Some($crate::rules::Typed::value(typed, $kind))
            },
            doc: $doc.trim_ascii(),
            in_file: $in_file,
        }
    };
}

/// Whether a relation of `rules!` is "at least".
macro_rules! at_least {
    (>=) => {
        true
    };
    (<=) => {
        false
    };
}

pub(crate) use {always, at_least, choice, overrides, rule, rule_table, rules};
