//! Texts that prove what they say: a prefix and base64url of key id (4 bytes), name (a length byte,
//! then the name), body, and HMAC-SHA-256 over all that, cut to 16 bytes.
//!
//! The first secret signs and all verify: append a new one everywhere, then move it to the front.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use secrecy::{ExposeSecret as _, SecretString};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

const KEY_ID_LEN: usize = 4;
const TAG_LEN: usize = 16;
/// The length byte and the longest name.
const MAX_NAME: usize = 1 + 40;
/// Texts of all kinds fit into so many bytes when they are decoded, so decoding allocates nothing.
const MAX_BYTES: usize = 256;

/// A kind of such texts.
pub(crate) struct Kind {
    /// What each begins with.
    pub prefix: &'static str,
    /// What is signed in front, so that no text of one kind is one of another.
    pub domain: &'static [u8],
    /// The longest body in bytes.
    max_body: usize,
}

impl Kind {
    /// Does not compile for a longer body than [`MAX_BYTES`] has room for.
    pub const fn new(prefix: &'static str, domain: &'static [u8], max_body: usize) -> Self {
        let kind = Self { prefix, domain, max_body };
        assert!(kind.max_bytes() <= MAX_BYTES, "raise MAX_BYTES");
        kind
    }

    /// The longest text, decoded.
    const fn max_bytes(&self) -> usize {
        KEY_ID_LEN + MAX_NAME + self.max_body + TAG_LEN
    }
}

#[derive(Clone)]
struct Secret {
    id: [u8; KEY_ID_LEN],
    mac: Hmac<Sha256>,
}

/// The secrets that sign and verify.
#[derive(Clone)]
pub(crate) struct Secrets(Vec<Secret>);

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} secrets", self.0.len())
    }
}

impl Secrets {
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
        if secrets.is_empty() { None } else { Some(Self(secrets)) }
    }

    /// Signs a body, given in parts, under a name of at most 40 bytes.
    pub fn sign(&self, kind: &Kind, name: &str, body: &[&[u8]]) -> String {
        let secret = &self.0[0];
        let mut bytes = Vec::with_capacity(kind.max_bytes());
        bytes.extend_from_slice(&secret.id);
        bytes.push(u8::try_from(name.len()).expect("a name has at most 40 bytes"));
        bytes.extend_from_slice(name.as_bytes());
        body.iter().for_each(|part| bytes.extend_from_slice(part));
        let tag = secret.tag(kind, &bytes);
        bytes.extend_from_slice(&tag);
        let mut text = String::with_capacity(kind.prefix.len() + bytes.len() * 4 / 3 + 4);
        text.push_str(kind.prefix);
        URL_SAFE_NO_PAD.encode_string(&bytes, &mut text);
        text
    }

    /// What `read` makes of the body that was signed under this name. `None` for anything that
    /// these secrets did not sign.
    pub fn verify<T>(
        &self,
        kind: &Kind,
        name: &str,
        text: &str,
        read: impl FnOnce(&[u8]) -> Option<T>,
    ) -> Option<T> {
        self.open(kind, text, |of, body| if of == name.as_bytes() { read(body) } else { None })
    }

    /// Opens a text that carries its name: `read` gets the name and the body. `None` if these
    /// secrets did not sign the text.
    pub fn open<T>(
        &self,
        kind: &Kind,
        text: &str,
        read: impl FnOnce(&[u8], &[u8]) -> Option<T>,
    ) -> Option<T> {
        let text = text.strip_prefix(kind.prefix)?;
        let mut bytes = [0; MAX_BYTES];
        let length = URL_SAFE_NO_PAD.decode_slice(text, &mut bytes).ok()?;
        let (signed, tag) = bytes[..length].split_last_chunk::<TAG_LEN>()?;
        let (id, rest) = signed.split_first_chunk::<KEY_ID_LEN>()?;
        let secret = self.0.iter().find(|secret| secret.id == *id)?;
        if !bool::from(secret.tag(kind, signed).ct_eq(tag)) {
            return None;
        }
        let (length, rest) = rest.split_first()?;
        let (name, body) = rest.split_at_checked(usize::from(*length))?;
        read(name, body)
    }
}

impl Secrets {
    /// A digest of these parts under the secret that signs; no signature begins with its domain.
    pub fn digest(&self, domain: &[u8], parts: &[&[u8]]) -> [u8; TAG_LEN] {
        self.0[0].keyed(domain, parts)
    }
}

impl Secret {
    fn tag(&self, kind: &Kind, signed: &[u8]) -> [u8; TAG_LEN] {
        self.keyed(kind.domain, &[signed])
    }

    fn keyed(&self, domain: &[u8], parts: &[&[u8]]) -> [u8; TAG_LEN] {
        let mut mac = self.mac.clone();
        mac.update(domain);
        parts.iter().for_each(|part| mac.update(part));
        let mut tag = [0; TAG_LEN];
        tag.copy_from_slice(&mac.finalize().into_bytes()[..TAG_LEN]);
        tag
    }
}
