//! Promise 6: exactly what a backend signed for this queue, and not too long ago, is an
//! assertion.

use anteroom_core::identifier::is_visitor_id;
use anteroom_core::queue::{
    ASSERTION_PREFIX, AssertionError, AssertionKeys, MAX_ASSERTION_SECONDS,
};

const QUEUE: &str = "concert";
/// The store's clock, in seconds since 1970; the seeds are signed for it.
const NOW: u64 = 1_800_000_000;

/// The input is a text that a client sends as an assertion; and two bytes of expiry with a
/// visitor_id that a backend signs, whatever it is.
pub fn check(data: &[u8]) {
    let keys = keys('a');
    if let Ok(text) = std::str::from_utf8(data)
        && let Ok(visitor_id) = keys.verify(QUEUE, text, NOW)
    {
        assert!(is_visitor_id(&visitor_id));
        // Only the padding is the backend's choice.
        let expiry = text.split('.').nth(2).and_then(|expiry| expiry.parse().ok());
        let expiry = expiry.expect("it has an expiry");
        assert!((NOW + 1..=NOW + MAX_ASSERTION_SECONDS).contains(&expiry), "{expiry}");
        let again = keys.sign(QUEUE, &visitor_id, expiry);
        assert_eq!(text.replace('=', ""), again.expect("there is a secret"));
    }
    if let Some((expiry, visitor_id)) = data.split_first_chunk()
        && let Ok(visitor_id) = std::str::from_utf8(visitor_id)
    {
        signed(&keys, visitor_id, NOW - 1_000 + u64::from(u16::from_le_bytes(*expiry)));
    }
}

fn signed(keys: &AssertionKeys, visitor_id: &str, expiry: u64) {
    let text = keys.sign(QUEUE, visitor_id, expiry).expect("there is a secret");
    let found = keys.verify(QUEUE, &text, NOW);
    let expected = if !is_visitor_id(visitor_id) {
        Err(AssertionError::Malformed)
    } else if expiry <= NOW {
        Err(AssertionError::Expired)
    } else if expiry > NOW + MAX_ASSERTION_SECONDS {
        Err(AssertionError::TooLong)
    } else {
        Ok(visitor_id.to_owned())
    };
    assert_eq!(found, expected);
    assert_eq!(keys.verify(QUEUE, &padded(&text), NOW), expected, "padded");
    if expected != Err(AssertionError::Malformed) {
        let forged = Err(AssertionError::Forged);
        assert_eq!(keys.verify("concerto", &text, NOW), forged, "another queue's");
        assert_eq!(self::keys('b').verify(QUEUE, &text, NOW), forged, "another secret's");
    }
}

/// As a language writes it that pads base64.
fn padded(text: &str) -> String {
    let pad = |part: &str| format!("{part}{}", "=".repeat(part.len().wrapping_neg() % 4));
    let parts: Vec<_> = text.trim_start_matches(ASSERTION_PREFIX).split('.').collect();
    let [visitor_id, expiry, tag] = parts[..] else { panic!("three parts: {text}") };
    format!("{ASSERTION_PREFIX}{}.{expiry}.{}", pad(visitor_id), pad(tag))
}

fn keys(letter: char) -> AssertionKeys {
    AssertionKeys::new(&[letter.to_string().repeat(32).into()])
}
