//! The signed proof of a place: `art1.` and base64url of
//! key id (4 bytes), queue (a length byte, then the name), place (epoch, id, ticket: 30 bytes),
//! visitor_id (0–128 bytes), HMAC-SHA-256 over all that, cut to 16 bytes.
//!
//! The first secret signs and all verify: append a new one everywhere, then move it to the front.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use secrecy::{ExposeSecret as _, SecretString};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use super::place::PlaceRef;

/// What every token begins with.
pub const TOKEN_PREFIX: &str = "art1.";
const KEY_ID_LEN: usize = 4;
const PLACE_LEN: usize = 30;
const TAG_LEN: usize = 16;
/// Longest visitor_id in bytes.
pub const MAX_VISITOR_ID: usize = crate::identifier::MAX_IDENTIFIER;
/// The length byte and the longest name.
const MAX_QUEUE: usize = 1 + 40;
const MAX_TOKEN: usize = TOKEN_PREFIX.len()
    + (KEY_ID_LEN + MAX_QUEUE + PLACE_LEN + MAX_VISITOR_ID + TAG_LEN) * 4 / 3
    + 4;

/// What a verified token says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// The place it proves.
    pub place: PlaceRef,
    /// The visitor it was given to, when a backend vouched for one.
    pub visitor_id: Option<String>,
}

#[derive(Clone)]
struct Secret {
    id: [u8; KEY_ID_LEN],
    mac: Hmac<Sha256>,
}

/// The secrets that sign and verify tokens.
#[derive(Clone)]
pub struct TokenKeys {
    secrets: Vec<Secret>,
}

impl std::fmt::Debug for TokenKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TokenKeys").field("secrets", &self.secrets.len()).finish()
    }
}

impl TokenKeys {
    /// Takes the secrets in order: the first signs, all verify. `None` when there is none.
    pub fn new(secrets: &[SecretString]) -> Option<Self> {
        let secrets: Vec<_> = secrets
            .iter()
            .map(|secret| {
                let secret = secret.expose_secret().as_bytes();
                let digest = Sha256::new()
                    .chain_update(b"anteroom token key id")
                    .chain_update(secret)
                    .finalize();
                let mut id = [0; KEY_ID_LEN];
                id.copy_from_slice(&digest[..KEY_ID_LEN]);
                let mac = Hmac::new_from_slice(secret).expect("HMAC takes a key of any length");
                Secret { id, mac }
            })
            .collect();
        if secrets.is_empty() { None } else { Some(Self { secrets }) }
    }

    /// Signs a token for a place in a queue.
    pub fn sign(&self, queue: &str, token: &Token) -> String {
        let secret = &self.secrets[0];
        let mut bytes = Vec::with_capacity(KEY_ID_LEN + PLACE_LEN + TAG_LEN + 64);
        bytes.extend_from_slice(&secret.id);
        bytes.push(u8::try_from(queue.len()).expect("a queue's name has at most 40 bytes"));
        bytes.extend_from_slice(queue.as_bytes());
        bytes.extend_from_slice(&token.place.to_bytes());
        bytes.extend_from_slice(token.visitor_id.as_deref().unwrap_or_default().as_bytes());
        let tag = secret.tag(&bytes);
        bytes.extend_from_slice(&tag);
        let mut text = String::with_capacity(TOKEN_PREFIX.len() + bytes.len() * 4 / 3 + 4);
        text.push_str(TOKEN_PREFIX);
        URL_SAFE_NO_PAD.encode_string(&bytes, &mut text);
        text
    }

    /// Verifies a token of this queue. `None` for anything that these secrets did not sign.
    pub fn verify(&self, queue: &str, text: &str) -> Option<Token> {
        if text.len() > MAX_TOKEN {
            return None;
        }
        let bytes = URL_SAFE_NO_PAD.decode(text.strip_prefix(TOKEN_PREFIX)?).ok()?;
        if bytes.len() < KEY_ID_LEN + 1 + PLACE_LEN + TAG_LEN {
            return None;
        }
        let (signed, tag) = bytes.split_at(bytes.len() - TAG_LEN);
        let secret = self.secrets.iter().find(|secret| secret.id == signed[..KEY_ID_LEN])?;
        if !bool::from(secret.tag(signed).ct_eq(tag)) {
            return None;
        }
        let (length, rest) = signed[KEY_ID_LEN..].split_first()?;
        let (of_queue, rest) = rest.split_at_checked(usize::from(*length))?;
        if of_queue != queue.as_bytes() {
            return None;
        }
        let (place, visitor_id) = rest.split_at_checked(PLACE_LEN)?;
        let visitor_id = std::str::from_utf8(visitor_id).ok()?;
        Some(Token {
            place: PlaceRef::from_bytes(place)?,
            visitor_id: (!visitor_id.is_empty()).then(|| visitor_id.to_owned()),
        })
    }
}

impl Secret {
    fn tag(&self, signed: &[u8]) -> [u8; TAG_LEN] {
        let mut mac = self.mac.clone();
        mac.update(b"anteroom token\0");
        mac.update(signed);
        let mut tag = [0; TAG_LEN];
        tag.copy_from_slice(&mac.finalize().into_bytes()[..TAG_LEN]);
        tag
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
        assert_eq!(format!("{:?}", keys("a")), "TokenKeys { secrets: 1 }");
    }
}
