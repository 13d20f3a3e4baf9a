//! What the checks of one process share.

use std::sync::Arc;

use anteroom_config::{AllowedOrigin, Config};
use anteroom_core::queue::TokenKeys;
use anteroom_core::store::Store;
use arc_swap::{ArcSwap, Guard};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ipnet::IpNet;
use rand::Rng as _;
use secrecy::SecretString;

use crate::callers::client_address::Forwarding;
use crate::callers::origin::Origins;

/// One process that answers checks.
pub struct Process {
    /// Redis.
    pub store: Store,
    /// Counts and logs forwarding headers that are not believed. `None` if the gateway sends one
    /// with each request and shows the peer apart from it.
    pub(crate) forwarding: Option<Forwarding>,
    settings: ArcSwap<Settings>,
}

/// The configuration in force, as far as no single queue has it.
pub struct Settings {
    /// The secrets that sign tokens.
    pub tokens: TokenKeys,
    /// Which pages may call from another origin.
    pub origins: Origins,
    pub(crate) trusted_proxies: Vec<IpNet>,
}

impl Process {
    /// A process with its first configuration. `secrets` sign tokens, at least one.
    pub fn new(
        store: Store,
        forwarding: Option<Forwarding>,
        config: &Config,
        secrets: &[SecretString],
    ) -> Self {
        let settings = ArcSwap::from_pointee(Settings::new(config, secrets));
        Self { store, forwarding, settings }
    }

    /// Puts another configuration in force.
    pub fn reload(&self, config: &Config, secrets: &[SecretString]) {
        self.settings.store(Arc::new(Settings::new(config, secrets)));
    }

    /// What is in force now. Not to be kept across a wait.
    pub fn settings(&self) -> Guard<Arc<Settings>> {
        self.settings.load()
    }
}

impl Settings {
    fn new(config: &Config, secrets: &[SecretString]) -> Self {
        let admission = &config.admission;
        let allowed = admission.allowed_origins.iter().map(AllowedOrigin::as_str);
        Self {
            tokens: TokenKeys::new(secrets).expect("one secret is given"),
            origins: Origins::new(allowed),
            trusted_proxies: admission.trusted_proxies.clone(),
        }
    }
}

/// The secrets that sign tokens: the configured ones, else this process's own.
pub fn secrets<'a>(config: &'a Config, own: &'a SecretString) -> &'a [SecretString] {
    match config.admission.token_secrets.as_slice() {
        [] => std::slice::from_ref(own),
        secrets => secrets,
    }
}

/// 256 random bits, as text: the secret of a process without configured ones.
pub fn random_secret() -> SecretString {
    URL_SAFE_NO_PAD.encode(rand::rng().random::<[u8; 32]>()).into()
}
