//! Who a place belongs to: an identified visitor, or the holder of a secret key.

use sha2::{Digest as _, Sha256};

use super::place::PlaceId;

impl PlaceId {
    /// The place of a visitor whose identity a trusted backend signed.
    pub fn of_visitor(queue: &str, visitor_id: &str) -> Self {
        Self::digest(b'i', queue, visitor_id.as_bytes())
    }

    /// The place of the client that holds this Idempotency-Key, which is as secret as the token.
    pub fn of_key(queue: &str, idempotency_key: &[u8]) -> Self {
        Self::digest(b'a', queue, idempotency_key)
    }

    fn digest(kind: u8, queue: &str, name: &[u8]) -> Self {
        // Queue names hold no NUL, so `queue ‖ 0 ‖ name` can be read in one way only.
        let digest = Sha256::new()
            .chain_update([kind])
            .chain_update(queue)
            .chain_update([0])
            .chain_update(name)
            .finalize();
        let mut id = [0; 14];
        id.copy_from_slice(&digest[..14]);
        Self(id)
    }
}
