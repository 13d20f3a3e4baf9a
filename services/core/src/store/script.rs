//! The scripts, embedded at compile time.

use std::sync::OnceLock;

/// One operation: a Lua file with its shared parts in front.
///
/// Made by [`script!`](crate::script!) only, so that the name, the file and the parts agree.
#[derive(Debug)]
pub struct Script {
    /// Name of the operation everywhere: method, file, metric label, span.
    pub name: &'static str,
    /// The whole text that the store runs.
    pub source: &'static str,
    /// The shared parts, in order, as the header's `Uses:` line lists them.
    pub parts: &'static [&'static str],
    #[doc(hidden)]
    pub sha: OnceLock<String>,
}

impl Script {
    /// The SHA-1 by which the store knows the text, computed once.
    pub(super) fn sha(&self) -> &str {
        self.sha.get_or_init(|| redis::Script::new(self.source).get_hash().to_owned())
    }
}

/// Embeds `lua/{subsystem}/{operation}.lua` behind its shared parts `lua/{subsystem}/lib/*.lua`.
#[macro_export]
macro_rules! script {
    ($subsystem:literal, $operation:literal $(, $part:literal)* $(,)?) => {
        $crate::store::Script {
            name: concat!($subsystem, ".", $operation),
            source: concat!(
                $(include_str!(concat!(
                    env!("CARGO_MANIFEST_DIR"), "/../../lua/", $subsystem, "/lib/", $part, ".lua"
                )), "\n",)*
                include_str!(concat!(
                    env!("CARGO_MANIFEST_DIR"), "/../../lua/", $subsystem, "/", $operation, ".lua"
                )),
            ),
            parts: &[$($part),*],
            sha: std::sync::OnceLock::new(),
        }
    };
}
