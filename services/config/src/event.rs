//! `[events.NAME]`: the rules of one event, and the receiver of its webhook.

use std::{path::PathBuf, time::Duration};

use anteroom_core::event::{Issue, RULES, Rules};
use anteroom_core::rules::{Rule, Value as RuleValue};
use config::{Map, Value};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;

use crate::{
    endpoint::Endpoint,
    error::Fault,
    parse, secrets,
    section::{self, Named},
    sections::Section,
};

/// One event, with the values of `[events."*"]` where it says nothing.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct EventConfig {
    /// The rules that stand in the store: read by their table, not by serde.
    #[serde(skip)]
    pub rules: Rules,
    /// Where the webhook leads; [`EventConfig::endpoint`] has it understood.
    #[serde(default, deserialize_with = "parse::some_text")]
    pub url: Option<String>,
    /// How long a call of the webhook may take.
    #[serde(deserialize_with = "parse::span::<_, _, 100, 60_000>")]
    pub timeout: Duration,
    /// The file with the secrets that sign its calls.
    #[serde(default, deserialize_with = "parse::some_text")]
    pub secret_file: Option<PathBuf>,
    /// Whether it may lead into a private network.
    #[serde(deserialize_with = "parse::flag")]
    pub allow_private: bool,
    /// The secrets of `secret_file`.
    #[serde(skip)]
    pub secrets: Vec<SecretString>,
}

impl EventConfig {
    /// Where the webhook leads; absent where no call is made.
    pub fn endpoint(&self) -> Option<Endpoint> {
        // `check` has refused what cannot be understood.
        self.url.as_deref().and_then(|url| Endpoint::parse(url, self.allow_private).ok())
    }

    /// Whether the calls of the webhook are made in the same way.
    pub fn calls_the_same(&self, other: &Self) -> bool {
        let exposed = |config: &Self| {
            config.secrets.iter().map(|it| it.expose_secret().to_owned()).collect::<Vec<_>>()
        };
        (&self.url, self.timeout, self.allow_private)
            == (&other.url, other.timeout, other.allow_private)
            && exposed(self) == exposed(other)
    }

    /// Reads the secrets that sign; `key` is the event's.
    pub(crate) fn read_secrets(&mut self, key: &str) -> Result<(), Fault> {
        self.secrets.clear();
        secrets::read_signing(&mut self.secrets, self.secret_file.as_deref(), key)
    }
}

impl Section for anteroom_core::event::Event {
    type Table = EventConfig;
}

impl Named for EventConfig {
    const RULES: &'static [Rule] = RULES;

    fn with_rules(
        self,
        value: impl FnMut(&'static Rule) -> Result<Option<RuleValue>, Fault>,
    ) -> Result<Self, Fault> {
        Ok(Self { rules: Rules::read(value)?, ..self })
    }

    fn check(&self) -> Result<(), Fault> {
        section::refuse(self.rules.broken())?;
        if let Some(url) = &self.url {
            // An address may hold what is secret.
            Endpoint::parse(url, self.allow_private)
                .map_err(|error| Fault::new("url", error.to_string()).without_value())?;
        }
        let needs = self.rules.issue == Issue::Webhook;
        let rule = "is required while issue is webhook";
        Fault::unless(!needs || self.url.is_some(), "url", rule)?;
        Fault::unless(!needs || self.secret_file.is_some(), "secret_file", rule)
    }

    /// A receiver that is configured must be called: counting the units instead would lose them. An
    /// event that sets `issue` may inherit the keys of other ways from the defaults.
    fn check_own(&self, own: &Map<String, Value>) -> Result<(), Fault> {
        if self.rules.issue == Issue::Webhook {
            return Ok(());
        }
        let inherits = !own.contains_key("issue");
        let stray = [
            ("url", inherits && self.url.is_some()),
            ("secret_file", inherits && self.secret_file.is_some()),
            ("timeout", false),
            ("allow_private", false),
        ];
        match stray.into_iter().find(|(key, given)| *given || own.contains_key(*key)) {
            Some((key, _)) => {
                Err(Fault::new(key, "is for issue = \"webhook\" only").without_value())
            }
            None => Ok(()),
        }
    }
}
