//! `[queues.NAME]`: the rules of one waiting room.

use std::time::Duration;

use anteroom_core::queue::{Pace, Rules};
use ipnet::IpNet;
use serde::Deserialize;
use url::Url;

use super::{
    Fault,
    admission::{Origin, web_address},
    moment::Moment,
    parse::{self, FromText, duration},
};

/// One queue, with the values of `[queues."*"]` where it says nothing.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct QueueConfig {
    /// Most places ready and active at any instant.
    #[serde(default, deserialize_with = "parse::some_whole::<_, _, 1, 1_000_000_000>")]
    pub capacity: Option<u64>,
    /// Most promotions in any interval.
    #[serde(default, deserialize_with = "parse::some_whole::<_, _, 1, 1_000_000>")]
    pub batch: Option<u64>,
    /// The interval of `batch`.
    #[serde(deserialize_with = "parse::span::<_, 1_000, 3_600_000>")]
    pub interval: Duration,
    /// How the batch is spread over the interval.
    #[serde(deserialize_with = "parse::parsed")]
    pub pace: Pace,
    /// How long a turn is held until it is claimed.
    #[serde(deserialize_with = "parse::span::<_, 5_000, 3_600_000>")]
    pub claim_ttl: Duration,
    /// How long an active place lives without renewal.
    #[serde(deserialize_with = "parse::span::<_, 5_000, 86_400_000>")]
    pub session_ttl: Duration,
    /// How long an active place lives at most.
    #[serde(deserialize_with = "parse::span::<_, 5_000, 604_800_000>")]
    pub session_max: Duration,
    /// Whether authorize renews the place.
    #[serde(deserialize_with = "parse::flag")]
    pub renew_on_authorize: bool,
    /// Whether admission answers for active places by itself.
    #[serde(deserialize_with = "parse::flag")]
    pub local_answers: bool,
    /// How long a waiting visitor may be unseen.
    #[serde(deserialize_with = "parse::span::<_, 60_000, 86_400_000>")]
    pub idle_ttl: Duration,
    /// How long one who is away keeps the ticket.
    #[serde(deserialize_with = "parse::span::<_, 60_000, 604_800_000>")]
    pub keep_ttl: Duration,
    /// How long a new place may go without its first poll.
    #[serde(deserialize_with = "parse::span::<_, 30_000, 86_400_000>")]
    pub first_poll_ttl: Duration,
    /// Most places waiting.
    #[serde(deserialize_with = "parse::whole::<_, _, 1, 10_000_000>")]
    pub max_waiting: u64,
    /// From when on joins are taken.
    #[serde(default, deserialize_with = "parse::some_parsed")]
    pub joins_at: Option<Moment>,
    /// From when on places are promoted.
    #[serde(default, deserialize_with = "parse::some_parsed")]
    pub opens_at: Option<Moment>,
    /// From when on the queue is closed.
    #[serde(default, deserialize_with = "parse::some_parsed")]
    pub closes_at: Option<Moment>,
    /// New joins per client address; `None` for no limit.
    #[serde(deserialize_with = "parse::parsed")]
    pub joins_per_address: Option<Rate>,
    /// Networks that `joins_per_address` does not count.
    #[serde(deserialize_with = "parse::list::<_, _, 256>")]
    pub exempt: Vec<IpNet>,
    /// Requests a second for one place; 0 for no limit.
    #[serde(deserialize_with = "parse::whole::<_, _, 0, 1_000>")]
    pub requests_per_place: u32,
    /// Where visitors reach admission, without a slash at the end of a path.
    #[serde(deserialize_with = "parse::parsed")]
    pub public_url: PublicUrl,
    /// Origins to which `return_to` may lead.
    #[serde(deserialize_with = "parse::list::<_, _, 256>")]
    pub return_to_origins: Vec<Origin>,
    /// Whether `return_to` keeps the query.
    #[serde(deserialize_with = "parse::flag")]
    pub return_query: bool,
    /// Whether authorize lets CORS preflights through.
    #[serde(deserialize_with = "parse::flag")]
    pub pass_preflight: bool,
    /// What authorize says while the store is down; [`QueueConfig::without_store`] tells it whole.
    #[serde(deserialize_with = "parse::parsed")]
    pub on_store_error: OnStoreError,
    /// How many pass from one address while it is `open`.
    #[serde(default, deserialize_with = "parse::some_parsed")]
    pub open_rate: Option<Rate>,
    /// For how long it may be `open`.
    #[serde(default, deserialize_with = "parse::some_span::<_, 1_000, 86_400_000>")]
    pub open_for: Option<Duration>,
    /// The title of the waiting page.
    #[serde(default, deserialize_with = "parse::some_text")]
    pub title: Option<String>,
}

impl QueueConfig {
    /// The rules that stand in the store.
    pub fn rules(&self) -> Rules {
        Rules {
            capacity: self.capacity,
            batch: self.batch,
            interval: self.interval,
            pace: self.pace,
            claim_ttl: self.claim_ttl,
            session_ttl: self.session_ttl,
            session_max: self.session_max,
            idle_ttl: self.idle_ttl,
            keep_ttl: self.keep_ttl,
            first_poll_ttl: self.first_poll_ttl,
            max_waiting: self.max_waiting,
            joins_at: self.joins_at.map(Moment::seconds),
            opens_at: self.opens_at.map(Moment::seconds),
            closes_at: self.closes_at.map(Moment::seconds),
            local_answers: self.local_answers,
        }
    }

    /// What authorize says while the store is down.
    pub fn without_store(&self) -> WithoutStore {
        match (self.on_store_error, self.open_rate, self.open_for) {
            (OnStoreError::Hold, _, _) => WithoutStore::Hold,
            (OnStoreError::Open, Some(rate), Some(lasts)) => WithoutStore::Open { rate, lasts },
            // `check` refuses `open` without its rate and its end; closed is the safe side.
            (OnStoreError::Closed | OnStoreError::Open, _, _) => WithoutStore::Closed,
        }
    }

    /// The rules between the keys of one queue; the keys in the fault are without the section.
    pub(super) fn check(&self) -> Result<(), Fault> {
        Fault::unless(
            self.capacity.is_some() || self.batch.is_some(),
            "capacity",
            "capacity or batch is required",
        )?;
        Fault::unless(
            self.session_max >= self.session_ttl,
            "session_max",
            "must be at least session_ttl",
        )?;
        Fault::unless(
            self.first_poll_ttl <= self.idle_ttl,
            "first_poll_ttl",
            "must be at most idle_ttl",
        )?;
        let ordered = |first: Option<Moment>, then: Option<Moment>| {
            first.zip(then).is_none_or(|(first, then)| first <= then)
        };
        let rule = "must not be before joins_at";
        Fault::unless(ordered(self.joins_at, self.opens_at), "opens_at", rule)?;
        Fault::unless(ordered(self.joins_at, self.closes_at), "closes_at", rule)?;
        let rule = "must not be before opens_at";
        Fault::unless(ordered(self.opens_at, self.closes_at), "closes_at", rule)?;
        let open = self.on_store_error == OnStoreError::Open;
        let rule = "is required while on_store_error is open";
        Fault::unless(!open || self.open_rate.is_some(), "open_rate", rule)?;
        Fault::unless(!open || self.open_for.is_some(), "open_for", rule)?;
        let title = self.title.as_deref().unwrap_or("-");
        Fault::unless(
            title.chars().count() <= 200 && !title.contains(char::is_control),
            "title",
            "must be 1 to 200 characters without control characters",
        )
    }
}

/// The value of `on_store_error`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnStoreError {
    /// Known visitors pass until their known end, others are held back.
    Hold,
    /// Nobody passes.
    Closed,
    /// Known visitors pass until their known end, others at a rate, for a time.
    Open,
}

/// What authorize says while the store is down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WithoutStore {
    /// Known visitors pass until their known end, others are held back.
    Hold,
    /// Nobody passes.
    Closed,
    /// Known visitors pass until their known end, others too.
    Open {
        /// How many from one address.
        rate: Rate,
        /// For how long.
        lasts: Duration,
    },
}

impl FromText for OnStoreError {
    const RULE: &'static str = "must be one of hold, closed, open";

    fn from_text(text: &str) -> Option<Self> {
        match text {
            "hold" => Some(Self::Hold),
            "closed" => Some(Self::Closed),
            "open" => Some(Self::Open),
            _ => None,
        }
    }
}

impl FromText for Pace {
    const RULE: &'static str = "must be one of even, batch";

    fn from_text(text: &str) -> Option<Self> {
        match text {
            "even" => Some(Self::Even),
            "batch" => Some(Self::Batch),
            _ => None,
        }
    }
}

/// A number of things in a window of time, written as `600/1m`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// How many, 1 to 1 000 000.
    pub count: u32,
    /// In which time, 1 s to 1 h.
    pub window: Duration,
}

impl FromText for Rate {
    const RULE: &'static str =
        "must be COUNT/WINDOW such as \"600/1m\": 1 to 1_000_000 in 1s to 1h";

    fn from_text(text: &str) -> Option<Self> {
        let (count, window) = text.split_once('/')?;
        let count = count.trim().replace('_', "").parse().ok()?;
        let window = duration(window.trim())?;
        let good = (1..=1_000_000).contains(&count)
            && (Duration::from_secs(1)..=Duration::from_secs(3600)).contains(&window);
        good.then_some(Self { count, window })
    }
}

impl FromText for Option<Rate> {
    const RULE: &'static str =
        "must be COUNT/WINDOW such as \"600/1m\": 1 to 1_000_000 in 1s to 1h; or \"none\"";

    fn from_text(text: &str) -> Option<Self> {
        if text == "none" { Some(None) } else { Rate::from_text(text).map(Some) }
    }
}

/// The address under which visitors reach admission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicUrl(Url);

impl PublicUrl {
    /// The address as text, never with a slash at its end, so that a path can be put behind it.
    pub fn as_str(&self) -> &str {
        self.0.as_str().trim_end_matches('/')
    }

    /// The address in its parts.
    pub fn url(&self) -> &Url {
        &self.0
    }
}

impl FromText for PublicUrl {
    const RULE: &'static str = "must be an http or https address such as \
        \"https://shop.example\", without credentials, query or fragment";

    fn from_text(text: &str) -> Option<Self> {
        web_address(text).map(Self)
    }
}
