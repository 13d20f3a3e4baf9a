//! The session of the console: the signed proof that a browser has signed in with an API key.
//!
//! Its text is `acs1.` and base64url of key id, name of the API key, start, end, digest of the API
//! key, and HMAC-SHA-256. The module `signed` has the details.
//!
//! A session lasts 30 minutes, and can be renewed until 12 h after its start. It has a digest of
//! the API key, so it ends if the key is replaced under the same name.

use std::time::Duration;

use secrecy::SecretString;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use crate::signed::{Kind, Secrets};

/// How long a session lasts without a renewal.
const LASTS: Duration = Duration::from_secs(30 * 60);
/// How long it lasts with renewals.
const MOST: Duration = Duration::from_secs(12 * 60 * 60);

const DIGEST_LEN: usize = 16;
/// Start and end in seconds since 1970, then the digest.
const BODY_LEN: usize = 8 + 8 + DIGEST_LEN;

/// The first characters of every session.
pub const SESSION_PREFIX: &str = "acs1.";

const KIND: Kind = Kind::new(SESSION_PREFIX, b"anteroom console\0", BODY_LEN);

/// A session of a browser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// The name of the API key.
    key: String,
    /// A digest of the SHA-256 of the API key.
    digest: [u8; DIGEST_LEN],
    /// Times since 1970.
    started_at: Duration,
    ends_at: Duration,
}

impl Session {
    /// A new session of the API key with this name and SHA-256, at this time since 1970.
    pub fn begin(key: &str, sha256: &[u8; 32], now: Duration) -> Self {
        let now = Duration::from_secs(now.as_secs());
        Self { key: key.to_owned(), digest: kept_of(sha256), started_at: now, ends_at: now + LASTS }
    }

    /// The same session for another 30 minutes, or until its last end if that is sooner.
    #[must_use]
    pub fn renewed(self, now: Duration) -> Self {
        let now = Duration::from_secs(now.as_secs());
        Self { ends_at: (now + LASTS).min(self.started_at + MOST), ..self }
    }

    /// The name of the API key.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Whether it is of the API key with this SHA-256.
    pub fn is_of(&self, sha256: &[u8; 32]) -> bool {
        bool::from(self.digest.ct_eq(&kept_of(sha256)))
    }

    /// When it began, and when it ends. Of several sessions, the newest has the greatest times.
    pub fn times(&self) -> (Duration, Duration) {
        (self.started_at, self.ends_at)
    }

    /// How long it has left.
    pub fn left(&self, now: Duration) -> Duration {
        self.ends_at.saturating_sub(now)
    }
}

/// A digest of the SHA-256, so that a session shows no part of the digest in the configuration.
fn kept_of(sha256: &[u8; 32]) -> [u8; DIGEST_LEN] {
    let digest = Sha256::new().chain_update(b"anteroom console key\0").chain_update(sha256);
    let mut kept = [0; DIGEST_LEN];
    kept.copy_from_slice(&digest.finalize()[..DIGEST_LEN]);
    kept
}

/// The secrets that sign and verify sessions.
#[derive(Clone, Debug)]
pub struct SessionKeys(Secrets);

impl SessionKeys {
    /// Takes the secrets in order: the first signs, all verify. `None` when there is none.
    pub fn new(secrets: &[SecretString]) -> Option<Self> {
        Secrets::new(secrets).map(Self)
    }

    /// Signs a session.
    pub fn sign(&self, session: &Session) -> String {
        let [start, end] = [session.started_at, session.ends_at].map(|at| at.as_secs());
        let body: [&[u8]; 3] = [&start.to_be_bytes(), &end.to_be_bytes(), &session.digest];
        self.0.sign(&KIND, &session.key, &body)
    }

    /// The session of this text, at this time since 1970. `None` if it has ended, or if these
    /// secrets did not sign it.
    pub fn verify(&self, text: &str, now: Duration) -> Option<Session> {
        let session = self.0.open(&KIND, text, |name, body| {
            let (start, rest) = body.split_first_chunk()?;
            let (end, digest) = rest.split_first_chunk()?;
            Some(Session {
                key: std::str::from_utf8(name).ok()?.to_owned(),
                digest: digest.try_into().ok()?,
                started_at: Duration::from_secs(u64::from_be_bytes(*start)),
                ends_at: Duration::from_secs(u64::from_be_bytes(*end)),
            })
        });
        session.filter(|session| !session.left(now).is_zero())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::event::ApplicationKeys;

    const NOW: Duration = Duration::from_secs(1_800_000_000);
    const SHA256: [u8; 32] = [7; 32];

    fn secrets(letters: &str) -> Vec<SecretString> {
        letters.chars().map(|it| it.to_string().repeat(32).into()).collect()
    }

    fn keys(letters: &str) -> SessionKeys {
        SessionKeys::new(&secrets(letters)).expect("there is a secret")
    }

    fn minutes(minutes: u64) -> Duration {
        Duration::from_secs(60 * minutes)
    }

    #[test]
    fn it_lasts_half_an_hour_and_with_renewals_12() {
        let keys = keys("a");
        let verify = |session: &Session, now| keys.verify(&keys.sign(session), now);
        let session = Session::begin("ops", &SHA256, NOW);
        assert_eq!(verify(&session, NOW + minutes(29)), Some(session.clone()));
        assert_eq!(verify(&session, NOW + minutes(30)), None);

        let mut renewed = session;
        for at in (20..12 * 60).step_by(20) {
            renewed = verify(&renewed, NOW + minutes(at)).expect("still valid");
            renewed = renewed.renewed(NOW + minutes(at));
        }
        assert_eq!(renewed.left(NOW + minutes(12 * 60 - 1)), minutes(1));
        assert_eq!(verify(&renewed, NOW + minutes(12 * 60)), None, "renewals end too");
    }

    #[test]
    fn another_key_under_the_same_name_is_another_session_s() {
        let session = Session::begin("ops", &SHA256, NOW);
        assert!(session.is_of(&SHA256));
        assert!(!session.is_of(&[8; 32]));
    }

    proptest! {
        #[test]
        fn a_session_says_what_was_signed(key in "[a-z0-9-]{1,40}", now in 0..1_u64 << 40) {
            let now = Duration::from_secs(now);
            let session = Session::begin(&key, &SHA256, now);
            let text = keys("a").sign(&session);
            prop_assert_eq!(keys("ba").verify(&text, now), Some(session));
            prop_assert_eq!(keys("b").verify(&text, now), None);
        }

        #[test]
        fn a_changed_session_is_refused(at in 0usize..90, to in any::<u8>()) {
            let text = keys("a").sign(&Session::begin("ops", &SHA256, NOW));
            let mut bytes = text.clone().into_bytes();
            let at = at % bytes.len();
            prop_assume!(bytes[at] != to);
            bytes[at] = to;
            if let Ok(changed) = String::from_utf8(bytes) {
                prop_assert_eq!(keys("a").verify(&changed, NOW), None);
            }
        }

        #[test]
        fn no_text_is_a_session_unless_it_was_signed(text in "(acs1\\.)?[A-Za-z0-9_-]{0,200}") {
            prop_assert_eq!(keys("a").verify(&text, NOW), None);
        }
    }

    #[test]
    fn a_signed_text_of_another_kind_is_no_session() {
        let applications = ApplicationKeys::new(&secrets("a")).expect("there is a secret");
        // As long as the body of a session, so that only the signature decides.
        let text = applications.sign("ops", &"v".repeat(BODY_LEN));
        assert_eq!(keys("a").verify(&text.replacen("aat1.", "acs1.", 1), NOW), None);
    }
}
