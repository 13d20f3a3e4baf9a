//! The kinds of things that Anteroom keeps in Redis, in one list.
//!
//! A kind is its own folders and one row of [`kinds!`](crate::kinds). Whatever is done for each
//! kind goes through that list: a crate writes a function that is generic over [`Kind`], and calls
//! it with [`for_each_kind!`](crate::for_each_kind). What it needs of a kind is a trait of its own,
//! implemented in that kind's folder.

use crate::store::Script;

/// A kind of thing, such as queues. Its handle is one by its row in the list.
pub trait Kind: Send + Sync + 'static {
    /// Its public name: in the configuration, the API, metrics, spans and keys.
    const NAME: &'static str;
    /// Its section of the configuration, in paths of the API and in the scopes of keys.
    const SECTION: &'static str;
    /// Its folder in `lua/`, and its module in the crates.
    const FOLDER: &'static str;

    /// Its scripts, to be given to [`Store::open`](crate::store::Store::open).
    fn scripts() -> &'static [&'static Script];
}

/// The list. Expands a macro once, with what comes in front, a `;`, and the row of each kind: its
/// module in the crates, which is also its folder in `lua/`, its handle, its public name, and its
/// section of the configuration.
///
/// ```
/// macro_rules! names {
///     (; $(($module:ident $handle:ident $name:ident $section:ident))+) => {
///         [$(stringify!($name)),+]
///     };
/// }
/// let names = anteroom_core::kinds!(names! {});
/// assert_eq!(names, ["queue", "event", "pool", "limit", "target"]);
/// ```
#[macro_export]
macro_rules! kinds {
    ($($callback:ident)::+ ! { $($front:tt)* }) => {
        $($callback)::+ ! {
            $($front)*;
            (queue Queue queue queues)
            (event Event event events)
            (pool Pool pool pools)
            (limit Limits limit limits)
            (breaker Breaker target targets)
        }
    };
}

macro_rules! implement_kinds {
    (; $(($module:ident $handle:ident $name:ident $section:ident))+) => {
        $(impl Kind for crate::$module::$handle {
            const NAME: &'static str = stringify!($name);
            const SECTION: &'static str = stringify!($section);
            const FOLDER: &'static str = stringify!($module);

            fn scripts() -> &'static [&'static Script] {
                &crate::$module::scripts::SCRIPTS
            }
        })+
    };
}

kinds!(implement_kinds! {});

/// Calls a function that is generic over [`Kind`] for each kind, in the order of the list:
///
/// ```
/// fn add<K: anteroom_core::Kind>(names: &mut Vec<&'static str>) {
///     names.push(K::NAME);
/// }
/// let mut names = Vec::new();
/// anteroom_core::for_each_kind!(add(&mut names));
/// assert_eq!(names.len(), 5);
/// ```
#[macro_export]
macro_rules! for_each_kind {
    (@ $function:ident $arguments:tt;
     $(($module:ident $handle:ident $name:ident $section:ident))+) => {
        $($function::<$crate::$module::$handle> $arguments;)+
    };
    ($function:ident $arguments:tt) => {
        $crate::kinds! { $crate::for_each_kind! { @ $function $arguments } }
    };
}
