//! Changes as operators see them.

use std::collections::BTreeMap;

use anteroom_authorize::durations::moment;
use anteroom_core::changes::{Change, ChangeValue, Changes};
use serde::Serialize;
use utoipa::ToSchema;

use crate::queue::overrides::field;
use crate::queue::views::admin::OverrideView;

/// A page of the log of changes.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Changes)]
pub struct ChangesView {
    /// Newest first.
    changes: Vec<ChangeView>,
    /// Send it as `before` to get the next page; null at the end of the log.
    #[schema(required = true, minimum = 1, maximum = 9_007_199_254_740_991_u64)]
    next: Option<u64>,
}

/// A call of an operator that changed something.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Change)]
pub struct ChangeView {
    /// The number of the change. Each later change of a queue, event or pool has a greater number.
    /// For a limit, this is true within a hash tag.
    #[schema(minimum = 1, maximum = 9_007_199_254_740_991_u64)]
    id: u64,
    /// When it was made, by the clock of Redis.
    #[schema(example = "2027-01-15T11:00:00Z")]
    at: String,
    /// The name of the operator's API key. While no keys are configured: (no keys configured).
    #[schema(example = "ops")]
    key: String,
    /// The operation: queue.override_rules, queue.reset, queue.evict, event.add_stock,
    /// event.retry_dead, event.give_up, pool.fund, pool.confirm or limit.forget. Later versions can
    /// add operations.
    #[schema(example = "queue.override_rules")]
    operation: String,
    /// The ticket that the call is about. Absent if it is about none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 9_007_199_254_740_991_u64)]
    ticket: Option<u64>,
    /// The reason that the operator gave for the state. A long one is cut, and ends with `…`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "a fault in the hall")]
    reason: Option<String>,
    /// The values of the changed fields before the change: counts, words, or overrides. If an
    /// override is only in `after`, the configured value was in force before. Absent if empty.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(required = false)]
    before: BTreeMap<String, ChangedField>,
    /// The values after the change. If an override is only in `before`, the configured value is in
    /// force since then. Absent if empty.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(required = false)]
    after: BTreeMap<String, ChangedField>,
}

/// The value of a field of a change.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub enum ChangedField {
    /// A count or an amount.
    Number(u64),
    /// True or false.
    Flag(bool),
    /// A word, such as a status.
    Text(String),
    /// An override in force.
    Override(OverrideView),
}

impl From<Changes> for ChangesView {
    fn from(found: Changes) -> Self {
        Self {
            changes: found.changes.into_iter().map(ChangeView::from).collect(),
            next: found.next,
        }
    }
}

impl From<Change> for ChangeView {
    fn from(change: Change) -> Self {
        let reason = change.reason().map(str::to_owned);
        let (mut before, mut after) = (fields(change.before), fields(change.after));
        for changed in &change.overrides {
            let name = field::name(changed.rule());
            for (side, overridden) in [(&mut before, &changed.before), (&mut after, &changed.after)]
            {
                let view = overridden.as_ref().and_then(OverrideView::of);
                side.extend(view.map(|view| (name.clone(), ChangedField::Override(view))));
            }
        }
        Self {
            id: change.id,
            at: moment(change.at_us / 1_000_000).unwrap_or_default(),
            key: change.key,
            operation: change.operation,
            ticket: change.ticket,
            reason,
            before,
            after,
        }
    }
}

fn fields(fields: Vec<(String, ChangeValue)>) -> BTreeMap<String, ChangedField> {
    let view = |value| match value {
        ChangeValue::Number(number) => ChangedField::Number(number),
        ChangeValue::Flag(flag) => ChangedField::Flag(flag),
        ChangeValue::Text(text) => ChangedField::Text(text),
    };
    fields.into_iter().map(|(name, value)| (name, view(value))).collect()
}
