//! How a unit of an event is issued, by the rules in force and the configuration of this process.

use std::sync::Arc;

use anteroom_config::EventConfig;
use anteroom_core::event::Issue;

use crate::webhook::Webhook;

/// How a unit is issued.
#[derive(Clone, Debug)]
pub enum Method {
    /// By a call to Redis, which also hands out codes.
    Finish,
    /// By a webhook first.
    Webhook(Arc<Webhook>),
}

/// The method of one event. Its webhook is kept until its configuration changes.
#[derive(Debug, Default)]
pub struct Methods {
    webhook: Option<(EventConfig, Arc<Webhook>)>,
    /// The log shows that there is no method.
    reported: bool,
}

impl Methods {
    /// The method that these rules require. `None` if they require a webhook that this process does
    /// not have: other issuers may have it.
    pub fn find(&mut self, event: &str, issue: Issue, config: &EventConfig) -> Option<Method> {
        if issue != Issue::Webhook {
            self.reported = false;
            return Some(Method::Finish);
        }
        if let Some((of, webhook)) = &self.webhook
            && of.calls_the_same(config)
        {
            return Some(Method::Webhook(webhook.clone()));
        }
        let made = config
            .endpoint()
            .ok_or_else(|| "no `url` is configured on this issuer".to_owned())
            .and_then(|endpoint| {
                Webhook::new(endpoint, config.timeout, config.secrets.clone())
                    .map_err(|error| error.to_string())
            });
        match made {
            Ok(webhook) => {
                self.reported = false;
                let webhook = Arc::new(webhook);
                self.webhook = Some((config.clone(), webhook.clone()));
                Some(Method::Webhook(webhook))
            }
            Err(reason) => {
                if !std::mem::replace(&mut self.reported, true) {
                    tracing::error!(
                        event,
                        reason,
                        "the event needs a webhook, but this issuer cannot call it"
                    );
                }
                None
            }
        }
    }
}
