//! A queue, its line and a ticket as operators see them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use anteroom_core::breaker;
use anteroom_core::queue::{
    AdaptiveBatch, GoneReason, Inspected, Inspection, Overridden, PlaceRef, Places, RULES, Rules,
    Snapshot, Ticket,
};
use anteroom_core::rules::{Kind, Rule};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{Object, Schema};
use utoipa::{PartialSchema, ToSchema};

use crate::durations::{millis, moment};
use crate::queue::overrides::field;
use crate::queue::views::queue::QueueView;

/// A queue as operators see it.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AdminQueue)]
pub struct AdminView<'a> {
    /// What anybody may see.
    #[serde(flatten)]
    public: QueueView<'a>,
    /// Places waiting but not seen for `idle_ttl`: passed over.
    away: u64,
    /// The last ticket given; 0 when there is none.
    #[schema(maximum = 9_007_199_254_740_991_u64)]
    last_ticket: Ticket,
    /// The state of the target that the queue follows; absent while schedulers follow none, or
    /// cannot read it.
    #[serde(skip_serializing_if = "Option::is_none")]
    health: Option<HealthView>,
    /// The part of the pace that the health of the target leaves: 0 while it is open or half open,
    /// then 0.25, 0.5 and 0.75 on the way back, else 1; absent as `health` is.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0, maximum = 1, example = 0.5)]
    health_pace: Option<f64>,
    /// The batch that follows the outcomes of the target; absent without such rules.
    #[serde(skip_serializing_if = "Option::is_none")]
    adaptive: Option<AdaptiveView>,
    /// The rules in force, overrides applied.
    rules: RulesView,
    /// The overrides in force, by the name that a change takes; what is not named here is as
    /// configured.
    overrides: BTreeMap<String, OverrideView>,
}

/// The state of a target.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = Health)]
pub enum HealthView {
    /// It is healthy; for three times its `open_for` after a fallback a part of the pace is in
    /// force (`health_pace`).
    Closed,
    /// Nobody is promoted.
    Open,
    /// A few places are promoted, to find out.
    HalfOpen,
}

/// An adaptive batch. An override of `batch` goes before it.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Adaptive)]
pub struct AdaptiveView {
    /// The batch.
    batch: u64,
    /// The least that it may become.
    min_batch: u64,
    /// The most.
    max_batch: u64,
    /// Why it took its last step: start (there was none), raised, highest (it would have been
    /// raised), unused (the aim was held, the batch not used up), cut_success or cut_p95 (which aim
    /// was missed).
    #[schema(example = "raised")]
    reason: &'static str,
}

/// An override in force.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Override)]
pub struct OverrideView {
    /// What the rule is set to.
    value: field::OverrideValue,
    /// Its end, by the store's clock; absent: until it is taken back.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "2027-01-15T12:00:00Z")]
    until: Option<String>,
}

/// The rules of a queue, under the names that an override takes. Its moments stand in its public
/// state.
#[derive(Debug)]
pub struct RulesView(Rules);

impl<'a> AdminView<'a> {
    /// A snapshot for an operator.
    pub fn new(queue: &'a str, snapshot: &'a Snapshot) -> Self {
        let overrides = snapshot.overridden.iter().filter_map(|Overridden { rule, until }| {
            let value = rule.value().and_then(field::shown)?;
            Some((field::name(rule.rule()), OverrideView { value, until: until.and_then(moment) }))
        });
        Self {
            public: QueueView::new(queue, snapshot, Duration::ZERO),
            away: snapshot.away,
            last_ticket: snapshot.last_ticket,
            health: snapshot.health.map(HealthView::from),
            health_pace: snapshot.health_pace,
            adaptive: snapshot.adaptive.map(AdaptiveView::from),
            rules: RulesView(snapshot.rules.clone()),
            overrides: overrides.collect(),
        }
    }

    /// What an override can change, for the audit log.
    pub fn rules(&self) -> Value {
        let public = &self.public;
        json!({
            "state": public.state, "reason": public.reason, "joins_at": public.joins_at,
            "opens_at": public.opens_at, "closes_at": public.closes_at, "rules": self.rules,
            "overrides": self.overrides,
        })
    }
}

impl From<breaker::State> for HealthView {
    fn from(state: breaker::State) -> Self {
        match state {
            breaker::State::Closed => Self::Closed,
            breaker::State::Open => Self::Open,
            breaker::State::HalfOpen => Self::HalfOpen,
        }
    }
}

impl From<AdaptiveBatch> for AdaptiveView {
    fn from(AdaptiveBatch { batch, min_batch, max_batch, reason }: AdaptiveBatch) -> Self {
        Self { batch, min_batch, max_batch, reason: reason.name() }
    }
}

/// The rules that stand in it.
fn in_view() -> impl Iterator<Item = &'static Rule> {
    RULES.iter().filter(|rule| rule.in_file && rule.kind != Kind::Moment)
}

impl Serialize for RulesView {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(
            in_view().map(|rule| (field::name(rule), self.0.value(rule).and_then(field::shown))),
        )
    }
}

impl ToSchema for RulesView {
    fn name() -> Cow<'static, str> {
        "Rules".into()
    }
}

impl PartialSchema for RulesView {
    fn schema() -> RefOr<Schema> {
        let rules = Object::builder()
            .description(Some("The rules of a queue, under the names that an override takes."));
        in_view()
            .fold(rules, |object, rule| {
                let name = field::name(rule);
                let schema = match (rule.default)() {
                    Some(_) => field::schema(rule, false),
                    None => {
                        let description = field::description(rule) + " Null: no such rule.";
                        field::schema(rule, true).description(Some(description))
                    }
                };
                object.property(&name, schema).required(name)
            })
            .into()
    }
}

/// A ticket as operators see it.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Ticket)]
pub struct TicketView {
    /// Its number.
    #[schema(minimum = 1, maximum = 9_007_199_254_740_991_u64)]
    ticket: Ticket,
    /// waiting, away, ready, active or gone.
    #[schema(example = "waiting")]
    status: &'static str,
    /// Why it is gone: completed, left, unclaimed, expired, abandoned, evicted, lost or ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    /// When it joined; absent when that is forgotten.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "2027-01-15T10:30:00Z")]
    joined_at: Option<String>,
    /// Since when it stands there; absent when unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "2027-01-15T11:00:00Z")]
    since: Option<String>,
    /// Milliseconds until the turn or the session ends; absent unless ready or active.
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_in_ms: Option<u64>,
}

impl TicketView {
    /// A ticket as Redis has it.
    pub fn new(ticket: Ticket, found: &Inspection) -> Self {
        let (status, reason) = match found.status {
            Inspected::Here(standing) => (standing.name(), None),
            Inspected::Gone(reason) => ("gone", Some(reason)),
        };
        Self {
            ticket,
            status,
            reason: reason.map(GoneReason::name),
            joined_at: found.joined_at.and_then(moment),
            since: found.since.and_then(moment),
            expires_in_ms: found.expires_in.map(|left: Duration| millis(left)),
        }
    }

    /// The same as JSON, for the audit log.
    pub fn to_json(&self) -> Value {
        // Strings and numbers only: this cannot fail.
        serde_json::to_value(self).unwrap_or_default()
    }
}

/// A part of the line as operators see it.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Places)]
pub struct PlacesView {
    /// Who holds a place, in ticket order.
    places: Vec<ListedPlace>,
    /// The `after` of the next part; null: this was the end of the line.
    #[schema(required = true, minimum = 1, maximum = 9_007_199_254_740_991_u64)]
    next: Option<Ticket>,
}

/// One place of it.
#[derive(Debug, Serialize, ToSchema)]
pub struct ListedPlace {
    #[serde(flatten)]
    ticket: TicketView,
    /// Its handle, the `x-anteroom-place` of authorize: no token.
    #[schema(pattern = "^[A-Za-z0-9_-]{40}$")]
    place: String,
}

impl From<Places> for PlacesView {
    fn from(found: Places) -> Self {
        let listed = |(of, place): (PlaceRef, Inspection)| ListedPlace {
            ticket: TicketView::new(of.ticket, &place),
            place: of.to_handle(),
        };
        Self { places: found.places.into_iter().map(listed).collect(), next: found.next }
    }
}
