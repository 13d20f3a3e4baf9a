//! The scripts of the waiting room. `lua/README.md` says what stands under each key.

use crate::script;
use crate::store::Script;

/// For those that take the whole queue away, those that may create it, and those that name
/// every key.
const ALL_KEYS: &str = "meta waiting returned away ready active admitted held gone:{0-1} marks \
                        seen:{0-4} revoked joined_from per_address";

pub(super) static JOIN: Script = script!(
    "queue", "join",
    keys: ALL_KEYS,
    lib: ["store", "entity", "memory"],
    own: [
        "meta", "state", "withheld", "rules", "notes", "addresses", "per_address", "bury", "held",
        "log", "health", "pace", "presence", "seen", "outcomes", "shown", "waits"
    ],
);
pub(super) static PLACE: Script = script!(
    "queue", "place",
    keys: "meta waiting returned away held gone:{0-1} marks seen:{0-4}",
    lib: ["store", "entity"],
    own: [
        "meta", "state", "notes", "marks", "held", "presence", "seen", "outcomes",
        "shown", "waits", "visit"
    ],
);
pub(super) static CLAIM: Script = script!(
    "queue", "claim",
    keys: "meta waiting returned away ready active held gone:{0-1} marks seen:{0-4}",
    lib: ["store", "entity"],
    own: [
        "meta", "state", "notes", "marks", "held", "presence", "seen", "outcomes",
        "shown", "waits", "visit", "session"
    ],
);
pub(super) static AUTHORIZE: Script = script!(
    "queue", "authorize",
    keys: "meta waiting returned away ready active held gone:{0-1} marks seen:{0-4}",
    lib: ["store", "entity"],
    own: [
        "meta", "state", "notes", "marks", "held", "presence", "seen", "outcomes",
        "shown", "waits", "visit", "session"
    ],
);
pub(super) static RENEW: Script = script!(
    "queue", "renew",
    keys: "meta waiting returned away ready active held gone:{0-1} marks seen:{0-4} revoked",
    lib: ["store", "entity"],
    own: [
        "meta", "state", "withheld", "revoked", "notes", "marks", "held", "presence", "seen",
        "outcomes", "shown", "waits", "visit", "session"
    ],
);
pub(super) static LEAVE: Script = script!(
    "queue", "leave",
    keys: "meta waiting returned away ready active admitted held gone:{0-1} marks revoked \
           joined_from per_address",
    lib: ["store", "entity"],
    own: [
        "meta", "withheld", "revoked", "notes", "addresses", "bury", "marks", "held", "log",
        "outcomes", "visit"
    ],
);
pub(super) static PROMOTE: Script = script!(
    "queue", "promote",
    keys: ALL_KEYS,
    lib: ["store", "entity"],
    own: [
        "meta", "state", "withheld", "rules", "notes", "addresses", "bury", "marks", "join_times",
        "held", "log", "health", "pace", "slices", "presence", "absent", "outlook", "turns",
        "adaptive"
    ],
);
pub(super) static SWEEP: Script = script!(
    "queue", "sweep",
    keys: ALL_KEYS,
    lib: ["store", "entity"],
    own: [
        "meta", "withheld", "revoked", "notes", "addresses", "bury", "held", "log", "presence",
        "absent"
    ],
);
pub(super) static SNAPSHOT: Script = script!(
    "queue", "snapshot",
    keys: "meta waiting returned away ready active",
    lib: ["store", "entity", "told_rules"],
    own: ["meta", "state", "withheld", "rules", "health"],
);
pub(super) static REVOCATIONS: Script = script!(
    "queue", "revocations",
    keys: "meta revoked",
    lib: ["store", "entity"],
    own: ["meta"],
);
pub(super) static SEED_RULES: Script = script!(
    "queue", "seed_rules",
    keys: ALL_KEYS,
    lib: ["store", "entity", "rule_parts"],
    own: ["meta", "life", "withheld", "rules", "write_rules"],
);
pub(super) static APPLY_RULES: Script = script!(
    "queue", "apply_rules",
    keys: ALL_KEYS,
    lib: ["store", "entity", "rule_parts"],
    own: ["meta", "life", "withheld", "rules", "write_rules"],
);
pub(super) static OVERRIDE_RULES: Script = script!(
    "queue", "override_rules",
    keys: ALL_KEYS,
    lib: ["store", "entity", "rule_parts"],
    own: ["meta", "life", "withheld", "rules", "write_rules"],
);
pub(super) static EVICT: Script = script!(
    "queue", "evict",
    keys: "meta waiting returned away ready active admitted held gone:{0-1} revoked joined_from \
           per_address",
    lib: ["store", "entity"],
    own: ["meta", "withheld", "revoked", "notes", "addresses", "bury", "held", "log", "ticket"],
);
pub(super) static INSPECT: Script = script!(
    "queue", "inspect",
    keys: "meta waiting returned away admitted held gone:{0-1} marks",
    lib: ["store", "entity"],
    own: ["meta", "notes", "marks", "held", "ticket", "inspected"],
);
pub(super) static PLACES: Script = script!(
    "queue", "places",
    keys: "meta waiting returned away admitted held marks",
    lib: ["store", "entity"],
    own: ["meta", "marks", "join_times", "held", "inspected"],
);
pub(super) static RESET: Script = script!(
    "queue", "reset",
    keys: ALL_KEYS,
    lib: ["store", "entity"],
    own: ["meta", "life", "withheld"],
);
pub(super) static PURGE: Script = script!(
    "queue", "purge",
    keys: ALL_KEYS,
    lib: ["store"],
    own: [],
);

/// Every script of the waiting room, to be given to [`Store::open`](crate::store::Store::open).
pub static SCRIPTS: [&Script; 18] = [
    &JOIN,
    &PLACE,
    &CLAIM,
    &AUTHORIZE,
    &RENEW,
    &LEAVE,
    &PROMOTE,
    &SWEEP,
    &SNAPSHOT,
    &REVOCATIONS,
    &SEED_RULES,
    &APPLY_RULES,
    &OVERRIDE_RULES,
    &EVICT,
    &INSPECT,
    &PLACES,
    &RESET,
    &PURGE,
];
