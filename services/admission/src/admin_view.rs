//! A queue, its line and a ticket as operators see them.

use std::collections::BTreeMap;
use std::time::Duration;

use anteroom_core::queue::{
    GoneReason, Inspected, Inspection, Overridden, Override, Pace, PlaceRef, Places, Rules,
    Snapshot, State, Ticket,
};
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::http::problem::millis;
use crate::queue_view::{QueueView, moment};

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
    /// The rules in force, overrides applied.
    rules: RulesView,
    /// The overrides in force, by the name that a change takes; what is not named here is as configured.
    overrides: BTreeMap<&'static str, OverrideView>,
}

/// An override in force.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Override)]
pub struct OverrideView {
    /// What the rule is set to.
    value: OverrideValue,
    /// Its end, by the store's clock; absent: until it is taken back.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "2027-01-15T12:00:00Z")]
    until: Option<String>,
}

/// The value of an override, as a change takes it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
enum OverrideValue {
    /// A count, or a time in milliseconds.
    Number(u64),
    /// On or off.
    Flag(bool),
    /// A name, a text or a moment.
    Text(String),
}

/// The rules of a queue, under the names that an override takes.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Rules)]
pub struct RulesView {
    /// Most places ready and active at any instant; null: no such rule.
    #[schema(required = true)]
    capacity: Option<u64>,
    /// Most promotions in any interval; null: no such rule.
    #[schema(required = true)]
    batch: Option<u64>,
    /// The interval of `batch`.
    interval_ms: u64,
    /// even or batch.
    pace: &'static str,
    /// How long a turn is held until it is claimed.
    claim_ttl_ms: u64,
    /// How long an active place lives without renewal.
    session_ttl_ms: u64,
    /// How long an active place lives at most.
    session_max_ms: u64,
    /// How long a waiting visitor may be unseen.
    idle_ttl_ms: u64,
    /// How long one who is away keeps the ticket.
    keep_ttl_ms: u64,
    /// How long a new place may go without its first poll.
    first_poll_ttl_ms: u64,
    /// Most places waiting.
    max_waiting: u64,
    /// Whether admission answers for active places by itself.
    local_answers: bool,
}

impl<'a> AdminView<'a> {
    /// What a snapshot says to an operator.
    pub fn new(queue: &'a str, snapshot: &'a Snapshot) -> Self {
        let overrides = snapshot.overridden.iter().filter_map(|Overridden { rule, until }| {
            let (name, value) = override_value(rule);
            Some((name, OverrideView { value: value?, until: until.and_then(moment) }))
        });
        Self {
            public: QueueView::new(queue, snapshot),
            away: snapshot.away,
            last_ticket: snapshot.last_ticket,
            rules: RulesView::new(&snapshot.rules),
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

impl RulesView {
    fn new(rules: &Rules) -> Self {
        Self {
            capacity: rules.capacity,
            batch: rules.batch,
            interval_ms: millis(rules.interval),
            pace: Pace::name(rules.pace),
            claim_ttl_ms: millis(rules.claim_ttl),
            session_ttl_ms: millis(rules.session_ttl),
            session_max_ms: millis(rules.session_max),
            idle_ttl_ms: millis(rules.idle_ttl),
            keep_ttl_ms: millis(rules.keep_ttl),
            first_poll_ttl_ms: millis(rules.first_poll_ttl),
            max_waiting: rules.max_waiting,
            local_answers: rules.local_answers,
        }
    }
}

/// The name of a rule here, where durations say their unit, and the value of its override.
fn override_value(rule: &Override) -> (&'static str, Option<OverrideValue>) {
    let number = |count: Option<u64>| count.map(OverrideValue::Number);
    let time = |time: Option<Duration>| time.map(millis).map(OverrideValue::Number);
    let text = |text: Option<&str>| text.map(str::to_owned).map(OverrideValue::Text);
    let at = |at: Option<u64>| at.and_then(moment).map(OverrideValue::Text);
    match rule {
        Override::State(state) => ("state", text(state.map(State::name))),
        Override::Reason(reason) => ("reason", text(reason.as_deref())),
        Override::Capacity(count) => ("capacity", number(*count)),
        Override::Batch(count) => ("batch", number(*count)),
        Override::Interval(span) => ("interval_ms", time(*span)),
        Override::Pace(pace) => ("pace", text(pace.map(Pace::name))),
        Override::ClaimTtl(span) => ("claim_ttl_ms", time(*span)),
        Override::SessionTtl(span) => ("session_ttl_ms", time(*span)),
        Override::SessionMax(span) => ("session_max_ms", time(*span)),
        Override::IdleTtl(span) => ("idle_ttl_ms", time(*span)),
        Override::KeepTtl(span) => ("keep_ttl_ms", time(*span)),
        Override::FirstPollTtl(span) => ("first_poll_ttl_ms", time(*span)),
        Override::MaxWaiting(count) => ("max_waiting", number(*count)),
        Override::JoinsAt(moment) => ("joins_at", at(*moment)),
        Override::OpensAt(moment) => ("opens_at", at(*moment)),
        Override::ClosesAt(moment) => ("closes_at", at(*moment)),
        Override::LocalAnswers(on) => ("local_answers", on.map(OverrideValue::Flag)),
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
    /// What the store says of a ticket.
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
