//! Promise 6: exactly what we signed is a token, and it says what was signed.

use anteroom_core::queue::{
    Epoch, MAX_TICKET, MAX_VISITOR_ID, PlaceId, PlaceRef, Token, TokenKeys,
};

const QUEUE: &str = "concert";
const PLACE: usize = 8 + 14 + 8;

/// The input is a text that a client sends as a token or as a handle; and, where it is long enough,
/// a place with its visitor_id that we sign.
pub fn check(data: &[u8]) {
    let keys = keys('a');
    if let Ok(text) = std::str::from_utf8(data) {
        if let Some(token) = keys.verify(QUEUE, text) {
            assert_eq!(keys.sign(QUEUE, &token), text, "a token can be written in one way only");
        }
        if let Some(place) = PlaceRef::from_handle(text) {
            assert_eq!(place.to_handle(), text, "a handle can be written in one way only");
            assert!((1..=MAX_TICKET).contains(&place.ticket));
        }
    }
    if let Some((place, rest)) = data.split_first_chunk() {
        signed(&keys, &token(place, rest), rest);
    }
}

fn signed(keys: &TokenKeys, token: &Token, noise: &[u8]) {
    let text = keys.sign(QUEUE, token);
    assert_eq!(keys.verify(QUEUE, &text).as_ref(), Some(token));
    assert_eq!(keys.verify("concerto", &text), None, "another queue's");
    assert_eq!(self::keys('b').verify(QUEUE, &text), None, "another secret's");
    if let Some(changed) = crate::changed(&text, noise) {
        assert_eq!(keys.verify(QUEUE, &changed), None, "{changed}");
    }
}

fn token(place: &[u8; PLACE], rest: &[u8]) -> Token {
    let mut bytes = place.iter().copied();
    let mut take = |count| bytes.by_ref().take(count).collect::<Vec<_>>();
    let epoch = take(8).try_into().expect("eight of thirty bytes");
    let id = take(14).try_into().expect("fourteen of the rest");
    let ticket = u64::from_le_bytes(take(8).try_into().expect("the last eight"));
    let mut visitor_id = String::from_utf8_lossy(rest).into_owned();
    while visitor_id.len() > MAX_VISITOR_ID {
        visitor_id.pop();
    }
    Token {
        place: PlaceRef { epoch: Epoch(epoch), id: PlaceId(id), ticket: ticket % MAX_TICKET + 1 },
        visitor_id: Some(visitor_id).filter(|visitor_id| !visitor_id.is_empty()),
    }
}

fn keys(letter: char) -> TokenKeys {
    TokenKeys::new(&[letter.to_string().repeat(32).into()]).expect("there is a secret")
}
