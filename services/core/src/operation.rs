//! The name that a caller gives to a call that adds, so that a repeat of it changes nothing.

use sha2::{Digest as _, Sha256};

/// A call that has a name: the name and what the call asks for, both as digests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Operation {
    /// Part of the key of the name.
    pub(crate) id: [u8; 16],
    /// Of what the call asks for: distinguishes a repeat from another call under the same name.
    pub(crate) fingerprint: [u8; 8],
}

impl Operation {
    /// The call `id`, one of those that share a `scope`, which asks for `payload`.
    pub(crate) fn new(scope: &[&[u8]], id: &str, payload: &[&[u8]]) -> Self {
        let id = digest(scope.iter().copied().chain([id.as_bytes()]));
        Self { id, fingerprint: digest(payload.iter().copied()) }
    }
}

/// The first bytes of a digest over texts, each with its length, so that it can be read in one way
/// only.
pub(crate) fn digest<'a, const N: usize>(texts: impl Iterator<Item = &'a [u8]>) -> [u8; N] {
    let mut digest = Sha256::new();
    for text in texts {
        digest.update((text.len() as u64).to_be_bytes());
        digest.update(text);
    }
    let mut first = [0; N];
    first.copy_from_slice(&digest.finalize()[..N]);
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_do_not_run_into_each_other() {
        let of = |texts: &[&str]| digest::<16>(texts.iter().map(|text| text.as_bytes()));
        assert_ne!(of(&["ab", "c"]), of(&["a", "bc"]));
        assert_ne!(of(&["a"]), of(&["a", ""]));
        let one = Operation::new(&[b"login", b"key"], "17", &[b"1"]);
        assert_eq!(one, Operation::new(&[b"login", b"key"], "17", &[b"1"]));
        let other = Operation::new(&[b"login", b"key"], "17", &[b"2"]);
        assert_eq!(one.id, other.id);
        assert_ne!(one.fingerprint, other.fingerprint);
    }
}
