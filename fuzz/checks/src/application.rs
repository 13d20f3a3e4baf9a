//! Promise 6 for applications to events: exactly what we signed is a token, and it says what was
//! signed.

use anteroom_core::event::ApplicationKeys;
use anteroom_core::identifier::is_identifier;

const EVENT: &str = "coupon";

/// The input is a text that a client sends as a token; and, where it is a visitor_id, one for whom
/// we sign.
pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let keys = keys('a');
    if let Some(visitor_id) = keys.verify(EVENT, text) {
        assert_eq!(keys.sign(EVENT, &visitor_id), text, "a token can be written in one way only");
    }
    if is_identifier(text) {
        signed(&keys, text);
    }
}

fn signed(keys: &ApplicationKeys, visitor_id: &str) {
    let token = keys.sign(EVENT, visitor_id);
    assert_eq!(keys.verify(EVENT, &token).as_deref(), Some(visitor_id));
    assert_eq!(keys.verify("coupons", &token), None, "another event's");
    assert_eq!(self::keys('b').verify(EVENT, &token), None, "another secret's");
    if let Some(changed) = crate::changed(&token, visitor_id.as_bytes()) {
        assert_eq!(keys.verify(EVENT, &changed), None, "{changed}");
    }
}

fn keys(letter: char) -> ApplicationKeys {
    ApplicationKeys::new(&[letter.to_string().repeat(32).into()]).expect("there is a secret")
}
