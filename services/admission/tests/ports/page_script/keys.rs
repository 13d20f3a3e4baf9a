//! The Idempotency-Key, which makes repeated joins one place.

use serde_json::{Value, json};

use super::{KEPT, SECOND, play, played, waiting};

/// The Idempotency-Keys of its joins.
fn keys(played: &Value) -> Vec<&str> {
    let requests = played["requests"].as_array().expect("a list").iter();
    let joins = requests.filter(|it| it[1] == "POST" && it[2].as_str().is_some_and(is_join));
    joins.map(|it| it[3].as_str().expect("a key")).collect()
}

fn is_join(address: &str) -> bool {
    address.ends_with("/tokens")
}

#[test]
fn promise_04_a_cookie_that_is_pushed_out_costs_no_place() {
    // The page joins, and 10 s later its cookie is lost: it joins with the same key. So does the
    // page after a reload, and another tab.
    let answers = json!([
        { "path": "/tokens", "status": 201, "body": waiting(None) },
        { "path": "/token", "status": 200, "body": waiting(None) },
        { "path": "/token", "from": 10.0 * SECOND, "status": 401, "body": { "code": "token_missing" } },
    ]);
    let first = played("none", 20.0 * SECOND, &answers);
    let key = first["kept"][KEPT].as_str().expect("a key that is kept");
    assert!(keys(&first).len() >= 2 && key.len() >= 32, "{first}");
    assert!(keys(&first).iter().all(|sent| *sent == key), "{first}");
    let reloaded = play(&json!({
        "status": "none", "until": SECOND, "answers": answers, "kept": { KEPT: key },
    }));
    assert_eq!(keys(&reloaded), [key]);
}

#[test]
fn a_place_that_has_ended_takes_its_key_with_it() {
    let place = json!({
        "status": "active", "position": 0, "eta_ms": null, "poll_after_ms": 60_000, "expires_in_ms": 60_000,
    });
    let scene = |status: &str, gone: Value, others: Value, presses: Value| {
        let answers = json!([
            { "path": "/tokens", "status": 201, "body": waiting(None) },
            { "path": "/token", "status": 200, "body": place },
            gone,
            { "path": "/token", "from": 80.0 * SECOND, "status": 200, "body": waiting(None) },
        ]);
        play(&json!({
            "status": status, "returnTo": "", "until": 90.0 * SECOND,
            "answers": answers, "presses": presses, "kept": { KEPT: "the-old-key" }, "others": others,
        }))
    };
    let gone = |reason: &str| {
        let body = json!({ "code": "place_gone", "reason": reason });
        json!({ "path": "/token", "from": 50.0 * SECOND, "status": 410, "body": body })
    };
    let again = json!([{ "at": 80.0 * SECOND, "button": "join" }]);
    for reason in ["completed", "left", "expired", "unclaimed", "evicted", "ended"] {
        let ended = scene("active", gone(reason), json!([]), json!([]));
        assert_eq!(ended["kept"], json!({}), "{reason}");
        let joined = scene("active", gone(reason), json!([]), again.clone());
        assert_eq!(keys(&joined).len(), 1, "{reason}: {joined}");
        assert_ne!(keys(&joined)[0], "the-old-key", "{reason}");
        assert_eq!(joined["kept"][KEPT], keys(&joined)[0], "{reason}");
    }
    // The visitor finished, or the page already knew it at its start.
    let left = json!({ "path": "/token", "from": 50.0 * SECOND, "status": 204 });
    let finish = json!([{ "at": 55.0 * SECOND, "button": "finish" }]);
    assert_eq!(scene("active", left, json!([]), finish)["kept"], json!({}));
    assert_eq!(scene("gone", gone("ended"), json!([]), json!([]))["kept"], json!({}));
    // Another tab has joined already: its key is not of the place that ended.
    let newer = json!({ KEPT: "the-key-of-another-tab" });
    let others = json!([{ "at": 40.0 * SECOND, "kept": newer }]);
    assert_eq!(scene("active", gone("expired"), others.clone(), json!([]))["kept"], newer);
    let joined = scene("active", gone("expired"), others, again);
    assert_eq!(keys(&joined), ["the-key-of-another-tab"], "one place for both tabs");
    // A lost place is joined again by all tabs, and the same key gives them one.
    let lost = scene("active", gone("lost"), json!([]), json!([]));
    assert!(keys(&lost).iter().all(|key| *key == "the-old-key"), "{lost}");
    assert!(!keys(&lost).is_empty());
}
