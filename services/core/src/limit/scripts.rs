//! The scripts of limits. `lua/README.md` says what stands under each key.

use crate::script;
use crate::store::Script;

pub(super) static CHECK: Script = script!(
    "limit", "check",
    keys: "",
    lib: ["store", "forward", "repeated"],
    own: ["codes", "kept", "log", "counter", "gcra"],
);
pub(super) static FORGET: Script = script!(
    "limit", "forget",
    keys: "",
    lib: ["store"],
    own: [],
);

/// Every script of limits, to be given to [`Store::open`](crate::store::Store::open).
pub static SCRIPTS: [&Script; 2] = [&CHECK, &FORGET];
