//! The signed proof of an application: `aat1.` and base64url of key id, event, visitor_id and
//! HMAC-SHA-256 (the module `signed` says how).

use secrecy::SecretString;

use crate::identifier::MAX_IDENTIFIER;
use crate::signed::{Kind, Secrets};

/// What every application token begins with.
pub const APPLICATION_TOKEN_PREFIX: &str = "aat1.";

const KIND: Kind = Kind::new(APPLICATION_TOKEN_PREFIX, b"anteroom application\0", MAX_IDENTIFIER);

/// The secrets that sign and verify application tokens.
#[derive(Clone, Debug)]
pub struct ApplicationKeys(Secrets);

impl ApplicationKeys {
    /// Takes the secrets in order: the first signs, all verify. `None` when there is none.
    pub fn new(secrets: &[SecretString]) -> Option<Self> {
        Secrets::new(secrets).map(Self)
    }

    /// Signs a token for the application of a visitor to an event.
    pub fn sign(&self, event: &str, visitor_id: &str) -> String {
        self.0.sign(&KIND, event, &[visitor_id.as_bytes()])
    }

    /// Whose application to this event the token proves. `None` for anything that these secrets did
    /// not sign.
    pub fn verify(&self, event: &str, text: &str) -> Option<String> {
        self.0.verify(&KIND, event, text, |body| String::from_utf8(body.to_vec()).ok())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::queue::TokenKeys;

    fn keys(letters: &str) -> ApplicationKeys {
        let secrets: Vec<_> = letters.chars().map(|it| it.to_string().repeat(32).into()).collect();
        ApplicationKeys::new(&secrets).expect("there is a secret")
    }

    proptest! {
        #[test]
        fn a_token_says_what_was_signed(visitor_id in "[^\\p{C}]{1,32}") {
            let text = keys("a").sign("coupon", &visitor_id);
            prop_assert_eq!(keys("ba").verify("coupon", &text), Some(visitor_id));
            prop_assert_eq!(keys("a").verify("ticket", &text), None);
            prop_assert_eq!(keys("b").verify("coupon", &text), None);
        }

        #[test]
        fn a_changed_token_is_refused(at in 0usize..60, to in any::<u8>()) {
            let text = keys("a").sign("coupon", "customer-4711");
            let mut bytes = text.clone().into_bytes();
            let at = at % bytes.len();
            prop_assume!(bytes[at] != to);
            bytes[at] = to;
            if let Ok(changed) = String::from_utf8(bytes) {
                prop_assert_eq!(keys("a").verify("coupon", &changed), None);
            }
        }
    }

    #[test]
    fn a_token_of_one_kind_is_none_of_another() {
        let secrets = [SecretString::from("a".repeat(32))];
        let places = TokenKeys::new(&secrets).expect("there is a secret");
        // As long as the body of a place's, so that only the signature decides.
        let text = keys("a").sign("coupon", &"v".repeat(30));
        let renamed = text.replacen("aat1.", "art1.", 1);
        assert_eq!(places.verify("coupon", &renamed), None);
        let longest = keys("a").sign(&"e".repeat(40), &"v".repeat(MAX_IDENTIFIER));
        assert!(keys("a").verify(&"e".repeat(40), &longest).is_some());
    }
}
