//! The scripts of pools. `lua/README.md` says what stands under each key.

use crate::script;
use crate::store::Script;

pub(super) static SEED_RULES: Script = script!(
    "pool", "seed_rules",
    keys: "meta holds ledger",
    lib: ["store", "entity", "rule_parts", "file_rules"],
    own: ["rules", "sums", "clock", "primary", "opening", "born"],
);
pub(super) static APPLY_RULES: Script = script!(
    "pool", "apply_rules",
    keys: "meta holds ledger",
    lib: ["store", "entity", "rule_parts", "file_rules"],
    own: ["rules", "sums", "clock", "primary", "opening", "born"],
);
pub(super) static FUND: Script = script!(
    "pool", "fund",
    keys: "meta ledger",
    lib: ["store", "entity", "memory", "repeated"],
    own: ["rules", "sums", "clock", "primary"],
);
pub(super) static HOLD: Script = script!(
    "pool", "hold",
    keys: "meta holds ledger",
    lib: ["store", "entity", "memory"],
    own: ["rules", "sums", "clock", "holds", "primary", "asked"],
);
pub(super) static DRAW: Script = script!(
    "pool", "draw",
    keys: "meta holds ledger",
    lib: ["store", "entity", "memory", "repeated"],
    own: ["rules", "sums", "clock", "holds", "primary", "asked"],
);
pub(super) static SETTLE: Script = script!(
    "pool", "settle",
    keys: "meta holds ledger",
    lib: ["store", "entity"],
    own: ["rules", "sums", "clock", "holds", "primary"],
);
pub(super) static CANCEL: Script = script!(
    "pool", "cancel",
    keys: "meta holds ledger",
    lib: ["store", "entity"],
    own: ["rules", "sums", "clock", "holds", "primary"],
);
pub(super) static EXTEND: Script = script!(
    "pool", "extend",
    keys: "meta holds ledger",
    lib: ["store", "entity"],
    own: ["rules", "sums", "clock", "holds", "primary"],
);
pub(super) static LOOK: Script = script!(
    "pool", "look",
    keys: "meta holds ledger",
    lib: ["store", "entity"],
    own: ["rules", "sums", "clock", "holds"],
);
pub(super) static SNAPSHOT: Script = script!(
    "pool", "snapshot",
    keys: "meta holds ledger",
    lib: ["store", "entity", "told_rules"],
    own: ["rules", "sums", "clock", "holds", "primary"],
);
pub(super) static SWEEP: Script = script!(
    "pool", "sweep",
    keys: "meta holds ledger",
    lib: ["store", "entity"],
    own: ["rules", "sums", "clock", "holds", "primary", "opening"],
);
pub(super) static CONFIRM: Script = script!(
    "pool", "confirm",
    keys: "meta ledger",
    lib: ["store", "entity"],
    own: ["rules", "sums", "clock", "primary"],
);
pub(super) static LEDGER: Script = script!(
    "pool", "ledger",
    keys: "meta ledger",
    lib: ["store", "entity"],
    own: ["rules", "sums", "opening"],
);
pub(super) static AUDIT: Script = script!(
    "pool", "audit",
    keys: "meta ledger",
    lib: ["store", "entity"],
    own: ["rules", "sums", "opening"],
);

/// Every script of pools, to be given to [`Store::open`](crate::store::Store::open).
pub static SCRIPTS: [&Script; 14] = [
    &SEED_RULES,
    &APPLY_RULES,
    &FUND,
    &HOLD,
    &DRAW,
    &SETTLE,
    &CANCEL,
    &EXTEND,
    &LOOK,
    &SNAPSHOT,
    &SWEEP,
    &CONFIRM,
    &LEDGER,
    &AUDIT,
];
