//! May a target be called? While it is half open, only a few calls at a time, of all callers.

use std::borrow::Cow;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rand::Rng as _;
use redis::Value;

use super::{Breaker, Rules, State, scripts};
use crate::store::{Args, Batch, Clock, Error, Lane, Reply, Script, Store};

/// The name of a permit: 16 random bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PermitId(pub [u8; 16]);

impl PermitId {
    /// A new one.
    pub fn random() -> Self {
        Self(rand::rng().random())
    }

    /// As callers see it: 22 characters of base64url.
    pub fn text(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.0)
    }

    /// Reads [`text`](Self::text) back.
    pub fn parse(text: &str) -> Option<Self> {
        URL_SAFE_NO_PAD.decode(text).ok()?.try_into().ok().map(Self)
    }
}

/// Whether a call may be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permission {
    /// The target is closed: every call may.
    Free,
    /// This one may, to find out whether the target has recovered; its outcome is to name the
    /// permit.
    Permit(PermitId),
    /// It may not.
    Refused {
        /// The state, open or half open.
        state: State,
        /// When to ask again: when the target is half open, a permit in use has ended, or the
        /// target closes because nothing was reported.
        retry_in: Duration,
    },
}

impl Breaker {
    /// Requests permission for a call. `permit` names the permit if it gets one: a new one for each
    /// call. A repeat under the same name gets the same permit.
    pub async fn permit(&self, rules: &Rules, permit: PermitId) -> Result<Permission, Error> {
        self.0.permit.submit((*rules, permit)).await
    }
}

pub(super) type PermitLane = Lane<Permits>;

/// Starts the lane of one target.
pub(super) fn start(store: &Store, target: &str, clock: &Clock, bound: usize) -> PermitLane {
    let keys = scripts::PERMIT.keys_of(target);
    Lane::start(store, Permits { keys, clock: clock.clone() }, bound)
}

/// Questions that share a call.
pub(super) struct Permits {
    keys: Args,
    clock: Clock,
}

impl Batch for Permits {
    type Item = (Rules, PermitId);
    type Outcome = Permission;
    const MAX_ITEMS: usize = 64;

    fn script(&self) -> &'static Script {
        &scripts::PERMIT
    }

    fn keys(&self, _items: &[Self::Item]) -> Cow<'_, Args> {
        Cow::Borrowed(&self.keys)
    }

    fn args(&self, items: &[Self::Item]) -> Args {
        let mut args = Args::with_capacity(2 + items.len(), 64 + 16 * items.len());
        self.clock.push_to(&mut args);
        if let Some((rules, _)) = items.last() {
            rules.push_to(&mut args);
        }
        for (_, permit) in items {
            args.push(permit.0.as_slice());
        }
        args
    }

    fn outcomes(
        &self,
        reply: Value,
        items: &[Self::Item],
    ) -> Result<Vec<Result<Permission, Error>>, Error> {
        let mut numbers = Reply::of(scripts::PERMIT.name, reply)?.numbers()?;
        let mut permission = |permit| {
            let (state, may) = (State::read(&mut numbers)?, numbers.count()? == 1);
            let retry_in = Duration::from_micros(numbers.count()?);
            Ok(Ok(match (state, may) {
                (State::Closed, _) => Permission::Free,
                (_, true) => Permission::Permit(permit),
                (state, false) => Permission::Refused { state, retry_in },
            }))
        };
        let permissions =
            items.iter().map(|(_, permit)| permission(*permit)).collect::<Result<_, _>>()?;
        numbers.end()?;
        Ok(permissions)
    }
}
