//! The kinds of things that Anteroom keeps in Redis, in one list.
//!
//! A kind is its own folders and one line of [`kinds!`](crate::kinds). Whatever is done for each
//! kind goes through that list: a crate writes a function that is generic over [`Kind`], and calls
//! it with [`for_each_kind!`](crate::for_each_kind). What it needs of a kind is a trait of its own,
//! implemented in that kind's folder.

use crate::store::Script;

/// A kind of thing, such as queues. Its handle implements this.
pub trait Kind: Send + Sync + 'static {
    /// Its public name: in the configuration, the API, metrics, spans and keys.
    const NAME: &'static str;
    /// Its section of the configuration, in paths of the API and in the scopes of keys.
    const SECTION: &'static str;
    /// Its folder in `lua/`, and its module in the crates.
    const FOLDER: &'static str = Self::NAME;

    /// Its scripts, to be given to [`Store::open`](crate::store::Store::open).
    fn scripts() -> &'static [&'static Script];
}

/// The list. Expands a macro once, with what is to stand in front, a `;`, and for each kind
/// `(module Handle)`:
///
/// ```
/// macro_rules! names {
///     ($($separator:literal)?; $(($module:ident $handle:ident))+) => {
///         [$(<anteroom_core::$module::$handle as anteroom_core::Kind>::NAME),+]
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
            (queue Queue)
            (event Event)
            (pool Pool)
            (limit Limits)
            (breaker Breaker)
        }
    };
}

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
    (@ $function:ident $arguments:tt; $(($module:ident $handle:ident))+) => {
        $($function::<$crate::$module::$handle> $arguments;)+
    };
    ($function:ident $arguments:tt) => {
        $crate::kinds! { $crate::for_each_kind! { @ $function $arguments } }
    };
}
