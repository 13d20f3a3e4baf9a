//! The scripts of targets. `lua/README.md` says what stands under each key.

use crate::script;
use crate::store::Script;

const KEYS: &str = "meta buckets successes failures permits";

pub(super) static RECORD: Script = script!(
    "target" in "breaker", "record",
    keys: KEYS,
    lib: ["store", "forward", "repeated"],
    own: ["rules", "meta", "reporters", "buckets", "others", "log", "state"],
);
pub(super) static PERMIT: Script = script!(
    "target" in "breaker", "permit",
    keys: KEYS,
    lib: ["store", "forward"],
    own: ["rules", "meta", "reporters", "buckets", "others", "log", "state", "looks"],
);
pub(super) static SNAPSHOT: Script = script!(
    "target" in "breaker", "snapshot",
    keys: KEYS,
    lib: ["store", "forward"],
    own: ["rules", "meta", "reporters", "buckets", "others", "log", "state", "looks"],
);

/// Every script of targets, to be given to [`Store::open`](crate::store::Store::open).
pub static SCRIPTS: [&Script; 3] = [&RECORD, &PERMIT, &SNAPSHOT];
