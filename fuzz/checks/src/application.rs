//! Promise 6 for applications to events: exactly what we signed is a token, and it says what was
//! signed.

use anteroom_core::event::ApplicationKeys;
use anteroom_core::identifier::is_identifier;

const EVENT: &str = "coupon";

/// The input is a text that somebody sends as a token; and, where it is a visitor_id, one for whom
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
    // One byte of it, changed by the input.
    if let [at, to, ..] = *visitor_id.as_bytes() {
        let mut changed = token.clone().into_bytes();
        let at = usize::from(at) % changed.len();
        changed[at] = to;
        if let Ok(changed) = String::from_utf8(changed)
            && changed != token
        {
            assert_eq!(keys.verify(EVENT, &changed), None, "changed at {at}");
        }
    }
}

fn keys(letter: char) -> ApplicationKeys {
    ApplicationKeys::new(&[letter.to_string().repeat(32).into()]).expect("there is a secret")
}
