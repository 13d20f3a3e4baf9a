//! Whether the store's user may do all that the services do, found out at every connect: a script
//! that may not run one of its commands would fail in its middle, and one that may not run at all
//! for ever.

use redis::{RedisError, RedisResult, Value};

use super::{
    Constants, Script,
    client::Link,
    command::command,
    fault::{Fault, judge},
};

/// Says what of the scripts is refused.
static PERMISSIONS: Script = Script::new(
    "store.permissions",
    "",
    &[],
    include_str!("../../../../lua/store/permissions.lua"),
    Constants::shared,
);
/// Ours, like every key; it never holds anything.
const KEY: &str = "anteroom:v1:permissions";

/// What the user has no permission for, as an ACL rule writes it: `+zadd ~anteroom:* &anteroom:*`.
/// `None` when nothing is refused. A server that answers nothing else fails at once; after that,
/// any other failure is left to the next call.
pub(super) async fn missing(link: &Link) -> RedisResult<Option<String>> {
    let mut missing = Vec::new();
    let mut note = |rule: &str, outcome: &RedisResult<Value>| {
        let refused = outcome.as_ref().is_err_and(is_refusal);
        if refused {
            missing.push(rule.to_owned());
        }
        !refused
    };
    let alive = link.send_to_any(&command(&["PING"])).await;
    if note("+ping", &alive) {
        alive?;
    }
    let ways = [("eval", PERMISSIONS.source()), ("evalsha", PERMISSIONS.sha())];
    let mut keyed = None;
    for (way, script) in ways {
        let runs = link.send_to_any(&command(&[way, script, "0"])).await;
        if note(&format!("+{way}"), &runs) && keyed.is_none() {
            keyed = Some(link.send(&command(&[way, script, "1", KEY])).await);
        }
    }
    if let Some(keyed) = keyed
        && note("~anteroom:*", &keyed)
    {
        let refused =
            keyed.ok().and_then(|reply| redis::from_redis_value::<Vec<String>>(reply).ok());
        missing.extend(refused.into_iter().flatten());
    }
    Ok((!missing.is_empty()).then(|| missing.join(" ")))
}

/// Whether the user has no permission for what was sent.
pub(super) fn is_refusal(error: &RedisError) -> bool {
    matches!(judge(error, false), Fault::Forbidden(_))
}
