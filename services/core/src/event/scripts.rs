//! The scripts of events. `lua/README.md` says what stands under each key.

use crate::script;
use crate::store::Script;

pub(super) static SEED_RULES: Script = script!(
    "event", "seed_rules",
    keys: "meta applications line taken leases returned retry dead",
    lib: ["store", "entity", "rule_parts", "file_rules"],
    own: ["meta", "sums", "born"],
);
pub(super) static APPLY_RULES: Script = script!(
    "event", "apply_rules",
    keys: "meta applications line taken leases returned retry dead",
    lib: ["store", "entity", "rule_parts", "file_rules"],
    own: ["meta", "sums", "born"],
);
pub(super) static APPLY: Script = script!(
    "event", "apply",
    keys: "meta applications line taken returned retry dead",
    lib: ["store", "entity", "memory"],
    own: ["meta", "records", "applications", "wake"],
);
pub(super) static STATUS: Script = script!(
    "event", "status",
    keys: "meta applications returned retry dead",
    lib: ["store", "entity"],
    own: ["meta", "records", "applications"],
);
pub(super) static CLAIM: Script = script!(
    "event", "claim",
    keys: "meta line taken leases returned retry codes",
    lib: ["store", "entity", "forward"],
    own: ["meta", "taken", "units", "held"],
);
pub(super) static RENEW: Script = script!(
    "event", "renew",
    keys: "meta taken leases",
    lib: ["store", "entity"],
    own: ["meta", "taken", "held"],
);
pub(super) static FINISH: Script = script!(
    "event", "finish",
    keys: "meta applications line taken leases codes",
    lib: ["store", "entity"],
    own: ["meta", "records", "taken", "sums", "held"],
);
pub(super) static FAIL: Script = script!(
    "event", "fail",
    keys: "meta taken leases retry dead",
    lib: ["store", "entity"],
    own: ["meta", "taken", "attempts", "held"],
);
pub(super) static GIVE_BACK: Script = script!(
    "event", "give_back",
    keys: "meta taken leases returned",
    lib: ["store", "entity"],
    own: ["meta", "taken", "held", "wake"],
);
pub(super) static RECLAIM: Script = script!(
    "event", "reclaim",
    keys: "meta applications line taken leases returned retry dead codes known_codes",
    lib: ["store", "entity"],
    own: ["meta", "taken", "attempts", "held", "wake"],
);
pub(super) static KICK: Script = script!(
    "event", "kick",
    keys: "meta taken leases returned retry codes",
    lib: ["store", "entity"],
    own: ["meta", "units", "wake"],
);
pub(super) static SNAPSHOT: Script = script!(
    "event", "snapshot",
    keys: "meta leases returned retry dead codes",
    lib: ["store", "entity", "told_rules"],
    own: ["meta"],
);
pub(super) static ADD_STOCK: Script = script!(
    "event", "add_stock",
    keys: "meta applications",
    lib: ["store", "entity", "memory", "repeated"],
    own: ["meta", "sums", "wake"],
);
pub(super) static LOAD_CODES: Script = script!(
    "event", "load_codes",
    keys: "meta codes known_codes",
    lib: ["store", "entity", "memory"],
    own: ["meta", "wake"],
);
pub(super) static DEAD: Script = script!(
    "event", "dead",
    keys: "meta taken dead",
    lib: ["store", "entity"],
    own: ["meta", "taken"],
);
pub(super) static RETRY_DEAD: Script = script!(
    "event", "retry_dead",
    keys: "meta applications taken returned dead",
    lib: ["store", "entity"],
    own: ["meta", "records", "taken", "wake"],
);
pub(super) static GIVE_UP: Script = script!(
    "event", "give_up",
    keys: "meta applications taken dead",
    lib: ["store", "entity"],
    own: ["meta", "records", "sums", "wake"],
);

/// Every script of events, to be given to [`Store::open`](crate::store::Store::open).
pub static SCRIPTS: [&Script; 17] = [
    &SEED_RULES,
    &APPLY_RULES,
    &APPLY,
    &STATUS,
    &CLAIM,
    &RENEW,
    &FINISH,
    &FAIL,
    &GIVE_BACK,
    &RECLAIM,
    &KICK,
    &SNAPSHOT,
    &ADD_STOCK,
    &LOAD_CODES,
    &DEAD,
    &RETRY_DEAD,
    &GIVE_UP,
];
