//! A queue, its line and a ticket as operators see them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use anteroom_authorize::durations::{millis, moment};
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

use crate::queue::overrides::field;
use crate::queue::views::queue::QueueView;

/// A queue as operators see it.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AdminQueue)]
pub struct AdminView<'a> {
    /// The public part.
    #[serde(flatten)]
    public: QueueView<'a>,
    /// Inactive places: waiting, but without a poll for `idle_ttl`. They are skipped.
    away: u64,
    /// The last ticket; 0 if there is none.
    #[schema(maximum = 9_007_199_254_740_991_u64)]
    last_ticket: Ticket,
    /// The state of the target (circuit breaker) that the queue follows. Absent if it follows none,
    /// or if schedulers cannot read it.
    #[serde(skip_serializing_if = "Option::is_none")]
    health: Option<HealthView>,
    /// The share of the normal admission rate that the target allows: 0 while it is open or half
    /// open, then 0.25, 0.5 and 0.75 during recovery, then 1. Absent when `health` is.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0, maximum = 1, example = 0.5)]
    health_pace: Option<f64>,
    /// The batch that adapts to the outcomes of the target. Absent if no such rules are configured.
    #[serde(skip_serializing_if = "Option::is_none")]
    adaptive: Option<AdaptiveView>,
    /// The rules in force, including overrides.
    rules: RulesView,
    /// The overrides in force, by field name. Fields that are not listed are as configured.
    overrides: BTreeMap<String, OverrideView>,
}

/// The state of a target.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = Health)]
pub enum HealthView {
    /// Healthy. For three times `open_for` after a fallback, visitors are admitted at a reduced
    /// rate (`health_pace`).
    Closed,
    /// Unhealthy: no visitor is admitted.
    Open,
    /// A few visitors are admitted to test the service.
    HalfOpen,
}

/// An adaptive batch. An override of `batch` takes precedence.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Adaptive)]
pub struct AdaptiveView {
    /// The present batch.
    batch: u64,
    /// Its minimum.
    min_batch: u64,
    /// Its maximum.
    max_batch: u64,
    /// The reason for its last step: start (no step yet), raised, highest (already at the maximum),
    /// unused (goals met, but the batch was not used up), cut_success or cut_p95 (the goal that was
    /// missed).
    #[schema(example = "raised")]
    reason: &'static str,
}

/// An override in force.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Override)]
pub struct OverrideView {
    /// The value.
    value: field::OverrideValue,
    /// The value without the override, as Redis has it: of the configuration file that a scheduler
    /// wrote last, else the default. It comes into force when the override ends. Absent if there is
    /// no such value. The log of changes never has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    configured: Option<field::OverrideValue>,
    /// The end of the override, by the clock of Redis. Absent if it has no end.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "2027-01-15T12:00:00Z")]
    until: Option<String>,
}

/// The rules of a queue, by the field names of an override. Its opening times are in the public
/// state.
#[derive(Debug)]
pub struct RulesView(Rules);

impl<'a> AdminView<'a> {
    /// A snapshot for an operator that was just read.
    pub fn new(queue: &'a str, snapshot: &'a Snapshot) -> Self {
        Self::aged(queue, snapshot, Duration::ZERO)
    }

    /// A snapshot of this age.
    pub fn aged(queue: &'a str, snapshot: &'a Snapshot, age: Duration) -> Self {
        let overrides = snapshot.overridden.iter().filter_map(|overridden| {
            let rule = overridden.rule.rule();
            let configured = snapshot.file.value(rule).filter(|_| rule.in_file);
            let configured = configured.and_then(field::shown);
            let view = OverrideView { configured, ..OverrideView::of(overridden)? };
            Some((field::name(rule), view))
        });
        Self {
            public: QueueView::new(queue, snapshot, age),
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

impl OverrideView {
    /// An override; `None` if RFC 3339 cannot express its end.
    pub fn of(Overridden { rule, until }: &Overridden) -> Option<Self> {
        let value = rule.value().and_then(field::shown)?;
        Some(Self { value, configured: None, until: until.and_then(moment) })
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
            .description(Some("The rules of a queue, by the field names of an override."));
        in_view()
            .fold(rules, |object, rule| {
                let name = field::name(rule);
                let schema = match (rule.default)() {
                    Some(_) => field::schema(rule, false),
                    None => {
                        let description = field::description(rule) + " Null: no limit.";
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
    /// The number of the ticket.
    #[schema(minimum = 1, maximum = 9_007_199_254_740_991_u64)]
    ticket: Ticket,
    /// waiting, away, ready, active or gone.
    #[schema(example = "waiting")]
    status: &'static str,
    /// Why the place has ended: completed, left, unclaimed, expired, abandoned, evicted, lost or
    /// ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    /// When the visitor joined; absent if this is no longer known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "2027-01-15T10:30:00Z")]
    joined_at: Option<String>,
    /// When the place got this status; absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "2027-01-15T11:00:00Z")]
    since: Option<String>,
    /// Milliseconds until the turn or the session ends; absent if the place is not ready or active.
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

/// A page of the line as operators see it.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Places)]
pub struct PlacesView {
    /// Places in ticket order.
    places: Vec<ListedPlace>,
    /// Send it as `after` to get the next page; null at the end of the line.
    #[schema(required = true, minimum = 1, maximum = 9_007_199_254_740_991_u64)]
    next: Option<Ticket>,
}

/// A place of the list.
#[derive(Debug, Serialize, ToSchema)]
pub struct ListedPlace {
    #[serde(flatten)]
    ticket: TicketView,
    /// The place handle, as in the `x-anteroom-place` header of authorize; not a token.
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
