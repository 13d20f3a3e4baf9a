//! Logs: JSON on standard output, one object a line; text on a terminal.

use std::{
    io::{IsTerminal, stdout},
    net::SocketAddr,
};

use tracing_subscriber::EnvFilter;

use crate::config::{ConfigError, LogConfig, LogFormat};

/// A port of a service, as logs name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortName {
    /// Visitors and gateways.
    Public,
    /// Backends and operators.
    Service,
    /// Metrics and probes.
    Metrics,
}

impl PortName {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Service => "service",
            Self::Metrics => "metrics",
        }
    }
}

/// Logs the address at which a port really listens: the message `listening` with the fields `port`
/// and `address`. Tests and tools read this line, so its form is stable.
pub fn write_listening(port: PortName, address: SocketAddr) {
    tracing::info!(port = port.name(), address = %address, "listening");
}

/// What this process logs: by `RUST_LOG`, else by its configuration.
pub(crate) fn filter_of_process(config: &LogConfig) -> Result<EnvFilter, ConfigError> {
    filter(std::env::var("RUST_LOG").ok(), config)
}

/// Starts the log of this process; later calls change nothing.
pub(crate) fn start(filter: EnvFilter, config: &LogConfig) {
    let json = match config.format {
        LogFormat::Json => true,
        LogFormat::Text => false,
        LogFormat::Auto => !stdout().is_terminal(),
    };
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(stdout);
    // An error means that there is a log already, which is then the one that was wanted.
    let _ = if json {
        log.json().flatten_event(true).with_span_list(false).try_init().is_ok()
    } else {
        log.with_ansi(stdout().is_terminal()).try_init().is_ok()
    };
    // A panic in a task would otherwise stand on standard error only, in a form of its own.
    std::panic::set_hook(Box::new(|panic| {
        let backtrace = std::backtrace::Backtrace::capture();
        tracing::error!(%panic, %backtrace, "panicked");
    }));
}

/// The target of the lines that an audit needs: who changed what.
pub const AUDIT: &str = "audit";

/// `RUST_LOG` goes before the configuration, as everybody expects. Audit lines are written whatever
/// either says.
fn filter(rust_log: Option<String>, config: &LogConfig) -> Result<EnvFilter, ConfigError> {
    let (name, directives) = match rust_log.filter(|value| !value.is_empty()) {
        Some(value) => ("RUST_LOG", value),
        None => ("log.level", config.level.0.clone()),
    };
    let filter = EnvFilter::try_new(&directives).map_err(|error| {
        ConfigError::new(format!("{name} = {directives:?}: must be log directives: {error}"))
    })?;
    let audit = format!("{AUDIT}=info").parse();
    Ok(filter.add_directive(audit.expect("a target and a level are a directive")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Loader;

    #[test]
    fn rust_log_goes_first_and_is_checked() {
        let log = Loader::new(None).load().expect("the defaults are valid").log;
        let said = |value: &str| filter(Some(value.to_owned()), &log).map(|it| it.to_string());
        assert_eq!(said("debug").as_deref(), Ok("audit=info,debug"));
        assert_eq!(said("").as_deref(), Ok("audit=info,info"));
        assert_eq!(filter(None, &log).map(|it| it.to_string()).as_deref(), Ok("audit=info,info"));
        let error = said("a=b=c").expect_err("no level").to_string();
        assert!(error.starts_with("RUST_LOG = \"a=b=c\": must be log directives"), "{error}");
    }
}
