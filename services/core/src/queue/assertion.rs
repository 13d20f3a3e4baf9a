//! How a trusted backend vouches for a visitor.
//!
//! An assertion is a text that the backend makes and its visitor's browser carries to a join:
//!
//! ```text
//! ara1.{base64url(visitor_id)}.{expiry}.{base64url(tag)}
//! tag = HMAC-SHA-256(identity secret, "anteroom assertion\n{queue}\n{visitor_id}\n{expiry}")
//! ```
//!
//! `expiry` is in whole seconds since 1970, at most five minutes ahead (sign for two or three: the
//! two clocks differ a little); `visitor_id` obeys [`is_visitor_id`]; base64url is written with
//! or without padding. The secret is taken from the configuration byte for byte. It is
//! no JSON and no library is needed; in Python:
//!
//! ```python
//! b64 = lambda b: base64.urlsafe_b64encode(b).decode().rstrip("=")
//! def assertion(secret, queue, visitor_id, expiry):  # expiry = int(time.time()) + 120
//!     message = f"anteroom assertion\n{queue}\n{visitor_id}\n{expiry}".encode()
//!     tag = hmac.new(secret.encode(), message, hashlib.sha256).digest()
//!     return f"ara1.{b64(visitor_id.encode())}.{expiry}.{b64(tag)}"
//! ```
//!
//! Neither a queue's name nor a visitor_id holds a line feed, so the signed text can be read in one
//! way only. All secrets verify: append a new one everywhere, let the backends sign with it, then
//! remove the old one.

use base64::Engine as _;
use base64::alphabet::URL_SAFE;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use hmac::{Hmac, KeyInit as _, Mac as _};
use secrecy::{ExposeSecret as _, SecretString};
use sha2::Sha256;
use subtle::{Choice, ConstantTimeEq as _};

use crate::identifier::is_visitor_id;

/// What every assertion begins with.
pub const ASSERTION_PREFIX: &str = "ara1.";
/// How far ahead an assertion may end, in seconds.
pub const MAX_ASSERTION_SECONDS: u64 = 300;

const TAG_LEN: usize = 32;
/// The longest visitor_id and tag with padding, a generous expiry, and two dots.
const MAX_ASSERTION: usize = ASSERTION_PREFIX.len() + 172 + 1 + 20 + 1 + 44;

/// Some languages pad base64url and some do not; both mean the same bytes.
const BASE64URL: GeneralPurpose = GeneralPurpose::new(
    &URL_SAFE,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Why an assertion proves no identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AssertionError {
    /// It has not the form of one, or its visitor_id breaks the rule.
    #[error("the assertion has not the form ara1.visitor.expiry.tag")]
    Malformed,
    /// None of the identity secrets signed it for this queue.
    #[error("the assertion was not signed with an identity secret for this queue")]
    Forged,
    /// Its end has passed.
    #[error("the assertion has expired")]
    Expired,
    /// Its end lies too far ahead.
    #[error("the assertion ends more than {MAX_ASSERTION_SECONDS} s ahead")]
    TooLong,
}

/// The secrets that backends sign assertions with.
#[derive(Clone)]
pub struct AssertionKeys {
    secrets: Vec<Hmac<Sha256>>,
}

impl std::fmt::Debug for AssertionKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AssertionKeys").field("secrets", &self.secrets.len()).finish()
    }
}

impl AssertionKeys {
    /// Takes the secrets; all verify, the first signs. With none, every assertion is forged.
    pub fn new(secrets: &[SecretString]) -> Self {
        let mac = |secret: &SecretString| {
            Hmac::new_from_slice(secret.expose_secret().as_bytes())
                .expect("HMAC takes a key of any length")
        };
        Self { secrets: secrets.iter().map(mac).collect() }
    }

    /// The visitor whose identity `text` proves in this queue, at `now` in seconds since 1970.
    ///
    /// # Errors
    ///
    /// An unsigned assertion is [`AssertionError::Forged`] whatever its expiry: more is
    /// returned only for what a backend signed.
    pub fn verify(&self, queue: &str, text: &str, now: u64) -> Result<String, AssertionError> {
        let (visitor_id, expiry, tag) = read(text).ok_or(AssertionError::Malformed)?;
        // Every secret is tried, so that the time does not show which of them signed.
        let signed = self.secrets.iter().fold(Choice::from(0), |signed, secret| {
            signed | tag_of(secret, queue, &visitor_id, expiry).ct_eq(&tag)
        });
        if !bool::from(signed) {
            return Err(AssertionError::Forged);
        }
        let expiry: u64 = expiry.parse().map_err(|_| AssertionError::TooLong)?;
        if expiry <= now {
            return Err(AssertionError::Expired);
        }
        if expiry - now > MAX_ASSERTION_SECONDS {
            return Err(AssertionError::TooLong);
        }
        Ok(visitor_id)
    }

    /// What a backend does: vouches for a visitor until `expiry`, in seconds since 1970.
    /// `None` without a secret.
    pub fn sign(&self, queue: &str, visitor_id: &str, expiry: u64) -> Option<String> {
        let tag = tag_of(self.secrets.first()?, queue, visitor_id, &expiry.to_string());
        let encode = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        Some(format!(
            "{ASSERTION_PREFIX}{}.{expiry}.{}",
            encode(visitor_id.as_bytes()),
            encode(&tag)
        ))
    }
}

/// Takes an assertion apart: visitor_id, expiry as it was written, tag.
fn read(text: &str) -> Option<(String, &str, [u8; TAG_LEN])> {
    if text.len() > MAX_ASSERTION {
        return None;
    }
    let (visitor_id, rest) = text.strip_prefix(ASSERTION_PREFIX)?.split_once('.')?;
    let (expiry, tag) = rest.split_once('.')?;
    let visitor_id = String::from_utf8(BASE64URL.decode(visitor_id).ok()?).ok()?;
    let tag = BASE64URL.decode(tag).ok()?.try_into().ok()?;
    let digits = !expiry.is_empty() && expiry.bytes().all(|byte| byte.is_ascii_digit());
    (digits && is_visitor_id(&visitor_id)).then_some((visitor_id, expiry, tag))
}

fn tag_of(secret: &Hmac<Sha256>, queue: &str, visitor_id: &str, expiry: &str) -> [u8; TAG_LEN] {
    let mut mac = secret.clone();
    for part in ["anteroom assertion\n", queue, "\n", visitor_id, "\n", expiry] {
        mac.update(part.as_bytes());
    }
    mac.finalize().into_bytes().into()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

    use super::*;
    use crate::queue::MAX_VISITOR_ID;

    const NOW: u64 = 1_795_000_000;

    fn keys(secrets: &[&str]) -> AssertionKeys {
        AssertionKeys::new(&secrets.iter().map(|&s| SecretString::from(s)).collect::<Vec<_>>())
    }

    fn signed(keys: &AssertionKeys, visitor_id: &str, expiry: u64) -> String {
        keys.sign("shop", visitor_id, expiry).expect("there is a secret")
    }

    #[test]
    fn a_backend_in_another_language_writes_the_same_text() {
        // Made with the five lines of Python in the documentation of this module.
        let text = "ara1.YW5h.1795000120.8bjb4_3rh812NmiO6_0rndY93ceJSDSIi1FRvoHXq7M";
        let keys = keys(&["0123456789abcdef0123456789abcdef"]);
        assert_eq!(signed(&keys, "ana", 1_795_000_120), text);
        assert_eq!(keys.verify("shop", text, NOW), Ok("ana".into()));
        assert_eq!(keys.verify("shop", &format!("{text}="), NOW), Ok("ana".into()), "padded");
    }

    #[test]
    fn every_secret_verifies_and_the_first_signs() {
        let (old, both, new) = (keys(&["old"]), keys(&["new", "old"]), keys(&["new"]));
        for signer in [&old, &both, &new] {
            assert_eq!(both.verify("shop", &signed(signer, "v", NOW + 60), NOW), Ok("v".into()));
        }
        assert_eq!(new.verify("shop", &signed(&both, "v", NOW + 60), NOW), Ok("v".into()));
        let retired = new.verify("shop", &signed(&old, "v", NOW + 60), NOW);
        assert_eq!(retired, Err(AssertionError::Forged));
        assert_eq!(keys(&[]).sign("shop", "v", NOW), None);
        let none = keys(&[]).verify("shop", &signed(&old, "v", NOW + 60), NOW);
        assert_eq!(none, Err(AssertionError::Forged));
    }

    #[test]
    fn the_end_is_judged_to_the_second() {
        let keys = keys(&["secret"]);
        let verify = |expiry| keys.verify("shop", &signed(&keys, "v", expiry), NOW);
        assert_eq!(verify(NOW), Err(AssertionError::Expired));
        assert!(verify(NOW + 1).is_ok());
        assert!(verify(NOW + MAX_ASSERTION_SECONDS).is_ok());
        assert_eq!(verify(NOW + MAX_ASSERTION_SECONDS + 1), Err(AssertionError::TooLong));
        assert_eq!(verify(u64::MAX), Err(AssertionError::TooLong));
    }

    #[test]
    fn an_assertion_holds_for_one_queue_one_visitor_and_one_end() {
        let keys = keys(&["secret"]);
        let text = signed(&keys, "ana", NOW + 60);
        assert_eq!(keys.verify("other", &text, NOW), Err(AssertionError::Forged));
        for (from, to) in [("YW5h", "Ym9i"), (&(NOW + 60).to_string(), &(NOW + 61).to_string())] {
            let changed = text.replace(from, to);
            assert_ne!(changed, text);
            assert_eq!(keys.verify("shop", &changed, NOW), Err(AssertionError::Forged));
        }
    }

    #[test]
    fn what_has_another_form_is_malformed() {
        let keys = keys(&["secret"]);
        let good = signed(&keys, "ana", NOW + 60);
        let tag = good.rsplit('.').next().expect("a tag");
        let (long, line) = ("x".repeat(MAX_VISITOR_ID + 1), "a\nb");
        for bad in [
            "",
            "ara1.",
            "ara1.YW5h",
            "ara2.YW5h.1.AA",
            &good[..good.len() - 2],
            &format!("{good}.more"),
            &format!("ara1.YW5h.+5.{tag}"),
            &format!("ara1.YW5h..{tag}"),
            &format!("ara1..5.{tag}"),
            &format!("ara1.____.5.{tag}"),
            &signed(&keys, "", NOW + 60),
            &signed(&keys, &long, NOW + 60),
            &signed(&keys, line, NOW + 60),
        ] {
            assert_eq!(keys.verify("shop", bad, NOW), Err(AssertionError::Malformed), "{bad}");
        }
    }

    #[test]
    fn debug_shows_no_secret() {
        assert_eq!(format!("{:?}", keys(&["secret"])), "AssertionKeys { secrets: 1 }");
    }

    proptest! {
        #[test]
        fn what_is_signed_verifies(visitor_id in "\\PC{1,32}", ahead in 1..=MAX_ASSERTION_SECONDS) {
            proptest::prop_assume!(is_visitor_id(&visitor_id));
            let keys = keys(&["secret"]);
            let text = signed(&keys, &visitor_id, NOW + ahead);
            prop_assert_eq!(keys.verify("shop", &text, NOW), Ok(visitor_id));
        }

        #[test]
        fn nothing_else_verifies(text in any::<String>(), tail in "[A-Za-z0-9_.=-]{0,80}") {
            let keys = keys(&["secret"]);
            prop_assert!(keys.verify("shop", &text, NOW).is_err());
            let made = format!("ara1.{tail}");
            prop_assert!(keys.verify("shop", &made, NOW).is_err());
        }
    }
}
