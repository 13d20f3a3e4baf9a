//! How a receiver knows that a request comes from here, and came just now.
//!
//! ```text
//! x-anteroom-signature: t=1795381200,v1=018f1b6cae4457c6…
//! ```
//!
//! `t` is the time of sending in seconds since 1970, and `v1` the HMAC-SHA-256, in hexadecimal, of
//! `t`, a point and the body, under a secret that both sides have. While a secret is being replaced
//! there is one `v1` for each, and any that fits will do. A receiver compares in constant time,
//! refuses a `t` that is more than [`REPLAY_WINDOW`] away from its own clock, and knows a request
//! that is younger by its `Idempotency-Key`.

use std::time::Duration;

use hmac::{Hmac, KeyInit as _, Mac as _};
use secrecy::{ExposeSecret as _, SecretString};
use sha2::Sha256;

/// The name of the header.
pub const HEADER: &str = "x-anteroom-signature";
/// How old a request may be that a receiver still believes.
pub const REPLAY_WINDOW: Duration = Duration::from_secs(300);

/// The value of the header; `None` without a secret.
pub fn sign(secrets: &[SecretString], seconds: u64, body: &[u8]) -> Option<String> {
    let mut value = format!("t={seconds}");
    for secret in secrets {
        let mut mac = Hmac::<Sha256>::new_from_slice(secret.expose_secret().as_bytes())
            .expect("HMAC takes a key of any length");
        mac.update(format!("{seconds}.").as_bytes());
        mac.update(body);
        value.push_str(",v1=");
        for byte in mac.finalize().into_bytes() {
            value.push_str(&format!("{byte:02x}"));
        }
    }
    (!secrets.is_empty()).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The digests are those of `printf '1795381200.{}' | openssl dgst -sha256 -hmac one`.
    #[test]
    fn time_and_body_are_signed_under_each_secret() {
        const ONE: &str = "018f1b6cae4457c60eac21ff3dc7b557507774aeb29722fb56cf139ec8edfa9f";
        const TWO: &str = "ddf623d1bf36016e012faf908d8eb2e90e497a13a19bbdd7bdf7434ea9b805e0";
        let [first, second] = ["one", "two"].map(SecretString::from);
        assert_eq!(
            sign(std::slice::from_ref(&first), 1_795_381_200, b"{}"),
            Some(format!("t=1795381200,v1={ONE}"))
        );
        let both = format!("t=1795381200,v1={ONE},v1={TWO}");
        assert_eq!(sign(&[first, second], 1_795_381_200, b"{}"), Some(both));
        assert_eq!(sign(&[], 1_795_381_200, b"{}"), None);
    }
}
