//! The fields of log lines about an entity: its name is in a field of its kind.

/// Writes a log line about the entity of this kind and name, with more fields and a message.
macro_rules! log_entity {
    ($level:ident, $kind:expr, $name:expr, $($more:tt)+) => {{
        let (kind, name): (&str, &str) = ($kind, $name);
        anteroom_core::kinds!(crate::log::with_fields! { $level kind name [$($more)+] });
    }};
}

macro_rules! with_fields {
    ($level:ident $kind:ident $name:ident [$($more:tt)+]; $(($module:ident $handle:ident $public:ident $section:ident))+) => {
        tracing::$level!(
            $($module = ($kind == stringify!($public)).then_some($name),)+
            $($more)+
        )
    };
}

pub(crate) use {log_entity, with_fields};
