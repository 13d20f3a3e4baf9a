//! The scripts of the waiting room. `lua/README.md` lists the keys that they share.

use crate::script;
use crate::store::Script;

pub(super) static JOIN: Script = script!(
    "queue", "join", "meta", "state", "revoked", "rules", "line", "seen", "eta", "pace", "visit"
);
pub(super) static PLACE: Script =
    script!("queue", "place", "meta", "state", "line", "seen", "eta", "visit");
pub(super) static CLAIM: Script =
    script!("queue", "claim", "meta", "state", "line", "seen", "eta", "session", "visit");
pub(super) static AUTHORIZE: Script =
    script!("queue", "authorize", "meta", "state", "line", "seen", "eta", "session", "visit");
pub(super) static RENEW: Script = script!(
    "queue", "renew", "meta", "state", "revoked", "line", "seen", "eta", "session", "visit"
);
pub(super) static LEAVE: Script =
    script!("queue", "leave", "meta", "revoked", "line", "seen", "eta", "pace", "visit");
pub(super) static PROMOTE: Script = script!(
    "queue", "promote", "meta", "state", "revoked", "rules", "line", "marks", "seen", "absent",
    "pace", "rates"
);
pub(super) static SWEEP: Script =
    script!("queue", "sweep", "meta", "revoked", "line", "seen", "absent", "pace");
pub(super) static SNAPSHOT: Script =
    script!("queue", "snapshot", "meta", "state", "revoked", "rules");
pub(super) static REVOCATIONS: Script = script!("queue", "revocations", "meta");
pub(super) static APPLY_RULES: Script = script!("queue", "apply_rules", "meta", "revoked", "rules");
pub(super) static EVICT: Script =
    script!("queue", "evict", "meta", "revoked", "line", "pace", "ticket");
pub(super) static INSPECT: Script = script!("queue", "inspect", "meta", "line", "ticket");
pub(super) static PLACES: Script = script!("queue", "places", "meta", "line", "marks", "ticket");
pub(super) static RESET: Script = script!("queue", "reset", "meta", "revoked");
pub(super) static PURGE: Script = script!("queue", "purge", "meta");

/// Every script of the waiting room, to be given to [`Store::open`](crate::store::Store::open).
pub static SCRIPTS: [&Script; 16] = [
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
    &APPLY_RULES,
    &EVICT,
    &INSPECT,
    &PLACES,
    &RESET,
    &PURGE,
];
