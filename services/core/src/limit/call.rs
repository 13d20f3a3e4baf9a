//! Requests to limits: checks that are decided together.

use std::iter::once;

use super::rule::{Algorithm, MAX_LOG_COST, Rule};
use crate::operation::{Operation, digest};

/// The most checks that a call may have.
pub const MAX_CHECKS: usize = 16;
/// The hash tags over which keys are spread.
pub(super) const SHARDS: usize = 16;

/// One check.
#[derive(Clone, Copy, Debug)]
pub struct Check<'a> {
    /// The name of the limit.
    pub limit: &'a str,
    /// Its rule.
    pub rule: Rule,
    /// Whose units they are.
    pub key: &'a str,
    /// Which keys are checked together: they lie on one node of a cluster. The key unless set.
    /// Limit, group and key name the counter.
    pub group: Option<&'a str>,
    /// How many units; 0 asks whether there is one, and takes none.
    pub cost: u64,
}

impl Check<'_> {
    fn group(&self) -> &str {
        self.group.unwrap_or(self.key)
    }
}

/// Checks that are decided together, ready to be sent.
#[derive(Debug)]
pub struct Call {
    pub(super) shard: u8,
    pub(super) name: Option<Operation>,
    pub(super) checks: Vec<CounterCheck>,
}

/// One of them: a counter, and what is taken from it.
#[derive(Clone, Copy, Debug)]
pub(super) struct CounterCheck {
    pub(super) id: [u8; 16],
    pub(super) rule: Rule,
    pub(super) cost: u32,
}

/// Why checks cannot be a call. The places count from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallError {
    /// There is none, or there are more than [`MAX_CHECKS`].
    Count,
    /// This check asks for more units than can ever be allowed, or than are left of those that all
    /// logs of a call may take together.
    Cost {
        /// Which check.
        at: usize,
        /// The most that it may ask for.
        most: u64,
    },
    /// This check has another group than the first.
    GroupsDiffer {
        /// Which check.
        at: usize,
    },
    /// The same counter is named twice.
    Twice {
        /// Which check, …
        at: usize,
        /// … and which before.
        first: usize,
    },
}

impl Call {
    /// One check. `id` is its name among the checks of its limit and group, by which a repeat is
    /// known.
    ///
    /// # Errors
    ///
    /// [`CallError::Cost`].
    pub fn one(check: &Check<'_>, id: Option<&str>) -> Result<Self, CallError> {
        let scope = [&b"check"[..], check.limit.as_bytes(), check.group().as_bytes()];
        Self::of(std::slice::from_ref(check), id, &scope)
    }

    /// Several, all or none. `id` is the call's name among those of its group and limits.
    ///
    /// # Errors
    ///
    /// What is wrong with the checks; see [`CallError`].
    pub fn several(checks: &[Check<'_>], id: Option<&str>) -> Result<Self, CallError> {
        let Some(first) = checks.first().filter(|_| checks.len() <= MAX_CHECKS) else {
            return Err(CallError::Count);
        };
        // Who checks other limits of the same group may have the same names.
        let mut limits: Vec<_> = checks.iter().map(|check| check.limit.as_bytes()).collect();
        limits.sort_unstable();
        let scope = [&[&b"checks"[..], first.group().as_bytes()], &limits[..]].concat();
        Self::of(checks, id, &scope)
    }

    /// Its only check, if it has no name: the answer depends on nothing but the counter.
    pub(super) fn only_check(&self) -> Option<CounterCheck> {
        match self.checks[..] {
            [check] if self.name.is_none() => Some(check),
            _ => None,
        }
    }

    fn of(checks: &[Check<'_>], id: Option<&str>, scope: &[&[u8]]) -> Result<Self, CallError> {
        let mut requested: Vec<CounterCheck> = Vec::with_capacity(checks.len());
        let mut log_units = 0;
        for (at, check) in checks.iter().enumerate() {
            let mut most = check.rule.max_cost();
            if check.rule.algorithm == Algorithm::Log {
                most = most.min(MAX_LOG_COST - log_units);
                log_units += check.cost.min(most);
            }
            let cost = u32::try_from(check.cost).ok().filter(|_| check.cost <= most);
            let cost = cost.ok_or(CallError::Cost { at, most })?;
            if check.group() != checks[0].group() {
                return Err(CallError::GroupsDiffer { at });
            }
            let id = counter_id(check.limit, check.group(), check.key);
            if let Some(first) = requested.iter().position(|other| other.id == id) {
                return Err(CallError::Twice { at, first });
            }
            requested.push(CounterCheck { id, rule: check.rule, cost });
        }
        let name = id.map(|id| {
            let costs: Vec<_> = requested.iter().map(|check| check.cost.to_be_bytes()).collect();
            let payload: Vec<&[u8]> = requested
                .iter()
                .zip(&costs)
                .flat_map(|(check, cost)| [check.id.as_slice(), cost.as_slice()])
                .collect();
            Operation::new(scope, id, &payload)
        });
        Ok(Self { shard: shard_of(checks[0].group()), name, checks: requested })
    }
}

/// The shard of a group: the first four bits of its digest.
pub(super) fn shard_of(group: &str) -> u8 {
    let [first] = digest::<1>(once(group.as_bytes()));
    first >> 4
}

/// The hash tag of a shard.
pub(super) fn tag(shard: u8) -> &'static str {
    let shard = usize::from(shard) % SHARDS;
    &"0123456789abcdef"[shard..=shard]
}

/// The part of a counter's keys that names it.
pub(super) fn counter_id(limit: &str, group: &str, key: &str) -> [u8; 16] {
    digest([limit, group, key].into_iter().map(str::as_bytes))
}
