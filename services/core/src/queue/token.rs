//! The signed proof of a place: `art1.` and base64url of
//! key id (4 bytes), queue (a length byte, then the name), place (epoch, id, ticket: 30 bytes),
//! visitor_id (0–128 bytes), HMAC-SHA-256 over all that, cut to 16 bytes (the module `signed`).

use secrecy::SecretString;

use super::place::PlaceRef;
use crate::signed::{Kind, Secrets};

/// What every token begins with.
pub const TOKEN_PREFIX: &str = "art1.";
const PLACE_LEN: usize = 30;
/// Longest visitor_id in bytes.
pub const MAX_VISITOR_ID: usize = crate::identifier::MAX_IDENTIFIER;

const KIND: Kind = Kind::new(TOKEN_PREFIX, b"anteroom token\0", PLACE_LEN + MAX_VISITOR_ID);

/// What a verified token says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// The place it proves.
    pub place: PlaceRef,
    /// The visitor it was given to, when a backend signed its identity.
    pub visitor_id: Option<String>,
}

/// The secrets that sign and verify tokens.
#[derive(Clone, Debug)]
pub struct TokenKeys(Secrets);

impl TokenKeys {
    /// Takes the secrets in order: the first signs, all verify. `None` when there is none.
    pub fn new(secrets: &[SecretString]) -> Option<Self> {
        Secrets::new(secrets).map(Self)
    }

    pub(super) fn secrets(&self) -> &Secrets {
        &self.0
    }

    /// Signs a token for a place in a queue.
    pub fn sign(&self, queue: &str, token: &Token) -> String {
        let visitor_id = token.visitor_id.as_deref().unwrap_or_default();
        self.0.sign(&KIND, queue, &[&token.place.to_bytes(), visitor_id.as_bytes()])
    }

    /// Verifies a token of this queue. `None` for anything that these secrets did not sign.
    pub fn verify(&self, queue: &str, text: &str) -> Option<Token> {
        self.0.verify(&KIND, queue, text, |body| {
            let (place, visitor_id) = body.split_at_checked(PLACE_LEN)?;
            let visitor_id = std::str::from_utf8(visitor_id).ok()?;
            Some(Token {
                place: PlaceRef::from_bytes(place)?,
                visitor_id: (!visitor_id.is_empty()).then(|| visitor_id.to_owned()),
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::queue::{Epoch, MAX_TICKET, PlaceId};

    fn secret(letter: char) -> SecretString {
        letter.to_string().repeat(32).into()
    }

    fn keys(letters: &str) -> TokenKeys {
        let secrets: Vec<_> = letters.chars().map(secret).collect();
        TokenKeys::new(&secrets).expect("there is a secret")
    }

    fn token(ticket: u64, visitor_id: Option<&str>) -> Token {
        let place = PlaceRef { epoch: Epoch([7; 8]), id: PlaceId([9; 14]), ticket };
        Token { place, visitor_id: visitor_id.map(str::to_owned) }
    }

    proptest! {
        #[test]
        fn promise_06_a_token_says_what_was_signed(
            ticket in 1..=MAX_TICKET,
            visitor_id in proptest::option::of("[^\\p{C}]{1,32}"),
        ) {
            let token = token(ticket, visitor_id.as_deref());
            let text = keys("a").sign("concert", &token);
            prop_assert_eq!(keys("a").verify("concert", &text), Some(token));
        }

        #[test]
        fn promise_06_a_changed_token_is_refused(at in 0usize..300, to in any::<u8>()) {
            let text = keys("a").sign("concert", &token(1 << 40, Some("ann")));
            let mut bytes = text.clone().into_bytes();
            let at = at % bytes.len();
            prop_assume!(bytes[at] != to);
            bytes[at] = to;
            if let Ok(changed) = String::from_utf8(bytes) {
                prop_assert_eq!(keys("a").verify("concert", &changed), None);
            }
        }

        #[test]
        fn promise_06_anything_else_is_refused(text in "(art1\\.)?.{0,400}") {
            prop_assert_eq!(keys("a").verify("concert", &text), None);
        }
    }

    #[test]
    fn the_longest_token_there_can_be_is_ours() {
        let (queue, visitor_id) = ("q".repeat(40), "v".repeat(MAX_VISITOR_ID));
        let token = token(MAX_TICKET, Some(&visitor_id));
        let text = keys("a").sign(&queue, &token);
        assert_eq!(keys("a").verify(&queue, &text), Some(token));
    }

    #[test]
    fn promise_06_cut_foreign_and_retired_tokens_are_refused() {
        let text = keys("a").sign("concert", &token(1, None));
        for end in 0..text.len() {
            assert_eq!(keys("a").verify("concert", &text[..end]), None, "cut to {end}");
        }
        assert_eq!(keys("a").verify("opera", &text), None, "another queue's");
        assert_eq!(keys("b").verify("concert", &text), None, "signed by a retired secret");
    }

    #[test]
    fn secrets_rotate_in_two_steps() {
        let old = keys("a").sign("concert", &token(1, None));
        let appended = keys("ab");
        assert!(appended.verify("concert", &old).is_some());
        let moved = keys("ba");
        assert!(moved.verify("concert", &old).is_some());
        let new = moved.sign("concert", &token(2, None));
        assert!(
            appended.verify("concert", &new).is_some(),
            "a service one step behind verifies it"
        );
        assert!(keys("a").verify("concert", &new).is_none());
    }

    #[test]
    fn debug_shows_no_secret() {
        assert_eq!(format!("{:?}", keys("a")), "TokenKeys(1 secrets)");
    }
}
