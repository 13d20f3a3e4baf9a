//! `[queues.NAME]`: the rules of one waiting room.

use std::{collections::BTreeMap, net::SocketAddr, time::Duration};

use anteroom_core::queue::{RULES, Rules};
use anteroom_core::rules::{Rule, Value};
use ipnet::IpNet;
use serde::Deserialize;
use url::Url;

use crate::{
    adaptive::{self, AdaptiveConfig},
    breaker::BreakerConfig,
    durations,
    error::Fault,
    networks,
    origin::{Origin, is_loopback, web_address},
    page::{self, PageConfig},
    parse::{self, FromText},
    section::{self, Named},
    sections::Section,
};

/// One queue, with the values of `[queues."*"]` where it says nothing.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct QueueConfig {
    /// The rules that stand in the store: read by their table, not by serde.
    #[serde(skip)]
    pub rules: Rules,
    /// The target whose health promotion follows.
    #[serde(default, deserialize_with = "parse::some_text")]
    pub health: Option<String>,
    /// How the batch follows its outcomes.
    #[serde(default, deserialize_with = "adaptive::some")]
    pub adaptive: Option<AdaptiveConfig>,
    /// Whether authorize renews the place.
    #[serde(deserialize_with = "parse::flag")]
    pub renew_on_authorize: bool,
    /// New joins per client address; `None` for no limit.
    #[serde(deserialize_with = "parse::parsed")]
    pub joins_per_address: Option<Rate>,
    /// Networks that neither `joins_per_address` nor `places_per_address` counts.
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
    /// Whether the board is public.
    #[serde(deserialize_with = "parse::flag")]
    pub board: bool,
    /// Whether authorize lets CORS preflights through.
    #[serde(deserialize_with = "parse::flag")]
    pub pass_preflight: bool,
    /// What authorize answers while Redis is down; [`QueueConfig::without_store`] has it with its
    /// rate and time.
    #[serde(deserialize_with = "parse::parsed")]
    pub on_store_error: OnStoreError,
    /// How many pass from one address while it is `open`.
    #[serde(default, deserialize_with = "parse::some_parsed")]
    pub open_rate: Option<Rate>,
    /// For how long it may be `open`.
    #[serde(default, deserialize_with = "parse::span::<_, _, 1_000, 86_400_000>")]
    pub open_for: Option<Duration>,
    /// Another name of `page.title`; [`QueueConfig::title`] has both.
    #[serde(default, deserialize_with = "parse::some_text")]
    title: Option<String>,
    /// What the waiting page looks like.
    #[serde(default, deserialize_with = "page::some")]
    pub page: PageConfig,
}

impl QueueConfig {
    /// The title of the waiting page.
    pub fn title(&self) -> Option<&str> {
        self.page.title.as_deref().or(self.title.as_deref())
    }

    /// What to warn of when one client address can hold half of the slots or more by these rules,
    /// which are in force.
    pub fn crowding(&self, name: &str, rules: &Rules) -> Option<String> {
        let capacity = rules.capacity?;
        // The longest session is what keeps a slot; each process counts joins by itself.
        let by_joins = self.joins_per_address.map(|Rate { count, window }| {
            let count = u64::from(count);
            let later = u128::from(count) * rules.session_max.as_micros() / window.as_micros();
            count.saturating_add(u64::try_from(later).unwrap_or(u64::MAX))
        });
        let bounds = [rules.most_per_address(), by_joins, Some(capacity)];
        let most = bounds.into_iter().flatten().min()?;
        // Of 2 slots every visitor holds half.
        (capacity > 2 && most.saturating_mul(2) >= capacity).then(|| {
            format!(
                "queues.{name}: one client address can hold {most} of {capacity} slots. Set \
                 places_per_address to 1 or more, and less than half of capacity (docs/how-to/bots.md)"
            )
        })
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
}

impl Section for anteroom_core::queue::Queue {
    type Table = QueueConfig;
}

impl Named for QueueConfig {
    const RULES: &'static [Rule] = RULES;
    const REQUIRED: Option<&'static str> = Some("batch");

    fn with_rules(
        self,
        value: impl FnMut(&'static Rule) -> Result<Option<Value>, Fault>,
    ) -> Result<Self, Fault> {
        let mut rules = Rules::read(value)?;
        // A batch that adapts has a rule to begin with, and to go back to while no scheduler names
        // its bounds.
        rules.batch = rules.batch.or(self.adaptive.map(|adaptive| adaptive.min_batch));
        Ok(Self { rules, ..self })
    }

    fn check(&self) -> Result<(), Fault> {
        Fault::unless(
            self.rules.capacity.is_some() || self.rules.batch.is_some(),
            "capacity",
            "capacity or batch is required",
        )?;
        if let Some(adaptive) = &self.adaptive {
            adaptive.check()?;
        }
        section::refuse(self.rules.broken())?;
        // The default is no mistake beside a shorter claim_ttl: the scripts take the shortest.
        let Rules { unproven_ttl, claim_ttl, .. } = self.rules;
        Fault::unless(
            unproven_ttl <= claim_ttl || unproven_ttl == Rules::default().unproven_ttl,
            "unproven_ttl",
            "must be at most claim_ttl",
        )?;
        networks::check(&self.exempt, "exempt")?;
        let open = self.on_store_error == OnStoreError::Open;
        let rule = "is required while on_store_error is open";
        Fault::unless(!open || self.open_rate.is_some(), "open_rate", rule)?;
        Fault::unless(!open || self.open_for.is_some(), "open_for", rule)?;
        self.page.check(self.title.as_deref())
    }
}

/// Whether each queue that needs a target names one, and each that is named is declared.
pub(crate) fn check_targets(
    queues: &BTreeMap<String, QueueConfig>,
    targets: &BTreeMap<String, BreakerConfig>,
) -> Result<(), Fault> {
    queues.iter().try_for_each(|(name, queue)| {
        let is_declared = |target| targets.contains_key(target);
        let (good, rule) = match &queue.health {
            Some(target) => (is_declared(target), "must name a target of [targets.*]"),
            None => (queue.adaptive.is_none(), "is required with adaptive"),
        };
        Fault::unless(good, &format!("queues.{name}.health"), rule)
    })
}

/// What is allowed of queues behind a port that listens there, but not for production.
pub(crate) fn warning(
    queues: &BTreeMap<String, QueueConfig>,
    listen: SocketAddr,
) -> Option<String> {
    let (name, _) = queues.iter().find(|(_, queue)| is_loopback(queue.public_url.url()))?;
    (!listen.ip().is_loopback()).then(|| {
        format!(
            "queues.{name}.public_url is a loopback address: visitors on other machines cannot \
             reach the waiting page"
        )
    })
}

/// The value of `on_store_error`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnStoreError {
    /// Known visitors pass until their known end, others are held back.
    Hold,
    /// No visitor passes.
    Closed,
    /// Known visitors pass until their known end, others at a rate, for a time.
    Open,
}

/// What authorize says while the store is down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WithoutStore {
    /// Known visitors pass until their known end, others are held back.
    Hold,
    /// No visitor passes.
    Closed,
    /// Known visitors pass until their known end, others too.
    Open {
        /// How many from one address.
        rate: Rate,
        /// For how long.
        lasts: Duration,
    },
}

parse::words!(OnStoreError { "hold" => Hold, "closed" => Closed, "open" => Open, });

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
        let window = durations::read(window.trim())?;
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
