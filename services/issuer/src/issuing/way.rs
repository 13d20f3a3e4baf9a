//! What it takes to issue a unit of an event, by the rules in force and the own configuration.

use anteroom_core::event::Issue;
use anteroom_runtime::config::EventConfig;

use crate::webhook::Webhook;

/// What it takes.
#[derive(Clone, Debug)]
pub enum Way {
    /// To say so to the store, which gives out codes in the same step.
    Finish,
    /// A call first.
    Webhook(Webhook),
}

/// The way of one event, kept as long as its configuration stays the same.
#[derive(Debug, Default)]
pub struct Ways {
    webhook: Option<(EventConfig, Webhook)>,
    /// It was told that the rules in force ask for what is not configured here.
    told: bool,
}

impl Ways {
    /// How to issue by these rules; `None` where the rules in force ask for a webhook and this
    /// configuration has none, or TLS cannot be set up: then others may issue, but not this one.
    pub fn way(&mut self, event: &str, issue: Issue, config: &EventConfig) -> Option<Way> {
        if issue != Issue::Webhook {
            self.told = false;
            return Some(Way::Finish);
        }
        if let Some((of, webhook)) = &self.webhook
            && of.calls_the_same(config)
        {
            return Some(Way::Webhook(webhook.clone()));
        }
        let made = config
            .endpoint()
            .ok_or_else(|| "no url is configured here".to_owned())
            .and_then(|endpoint| {
                Webhook::new(endpoint, config.timeout, config.secrets.clone())
                    .map_err(|error| error.to_string())
            });
        match made {
            Ok(webhook) => {
                self.told = false;
                self.webhook = Some((config.clone(), webhook.clone()));
                Some(Way::Webhook(webhook))
            }
            Err(reason) => {
                if !std::mem::replace(&mut self.told, true) {
                    tracing::error!(event, reason, "the rules in force ask for a webhook");
                }
                None
            }
        }
    }
}
