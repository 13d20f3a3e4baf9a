//! Logs: JSON on standard output, one object a line; text on a terminal.

use std::{
    io::{IsTerminal, Write, stdout},
    net::SocketAddr,
};

use anteroom_config::{ConfigError, LogConfig, LogFormat};
use tracing::Dispatch;
use tracing_subscriber::{EnvFilter, util::SubscriberInitExt as _};

use crate::one_line::OneLine;

/// A port of a service, as logs name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortName {
    /// Visitors and gateways.
    Public,
    /// Backends and operators.
    Service,
    /// Metrics and probes.
    Metrics,
    /// Envoy.
    Grpc,
}

impl PortName {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Service => "service",
            Self::Metrics => "metrics",
            Self::Grpc => "grpc",
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
    // An error means that there is a log already, which is then the one that was wanted.
    let _ = log(filter, json, stdout().is_terminal(), stdout).try_init().is_ok();
    // A panic in a task would otherwise stand on standard error only, in a form of its own.
    std::panic::set_hook(Box::new(|panic| {
        let backtrace = std::backtrace::Backtrace::capture();
        tracing::error!(%panic, %backtrace, "panicked");
    }));
}

/// A log that writes each event as one line.
fn log<W: Write + 'static>(
    filter: EnvFilter,
    json: bool,
    colours: bool,
    to: impl Fn() -> W + Send + Sync + 'static,
) -> Dispatch {
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(move || OneLine(to()));
    if json {
        log.json().flatten_event(true).with_span_list(false).into()
    } else {
        log.with_ansi(colours).into()
    }
}

/// The target of the lines that an audit needs: who changed what.
pub const AUDIT: &str = "audit";

/// `RUST_LOG` takes precedence over the configuration, as usual. Audit lines are written in any
/// case.
fn filter(rust_log: Option<String>, config: &LogConfig) -> Result<EnvFilter, ConfigError> {
    let (name, directives) = match rust_log.filter(|value| !value.is_empty()) {
        Some(value) => ("RUST_LOG", value),
        None => ("log.level", config.level.as_str().to_owned()),
    };
    let filter = EnvFilter::try_new(&directives).map_err(|error| {
        ConfigError::new(format!("{name} = {directives:?}: must be log directives: {error}"))
    })?;
    let audit = format!("{AUDIT}=info").parse();
    Ok(filter.add_directive(audit.expect("a target and a level are a directive")))
}

#[cfg(test)]
mod tests {
    use anteroom_config::Loader;
    use anteroom_testkit::Log;

    use super::*;

    /// Python's `splitlines`, and editors, break a line at each of these.
    #[test]
    fn no_value_breaks_a_line() {
        let value = "a\u{2028}b\u{2029}c\u{85}d\u{2027}é";
        let breaks = ['\n', '\u{85}', '\u{2028}', '\u{2029}'];
        for json in [true, false] {
            let lines = Log::default();
            let to = lines.clone();
            let log = log(EnvFilter::new("info"), json, false, move || to.clone());
            tracing::dispatcher::with_default(&log, || {
                tracing::info!(value, shown = %value, "{value}");
            });
            let text = lines.text();
            let line = text.strip_suffix('\n').expect("a whole line");
            assert!(!line.contains(breaks), "{line:?}");
            assert!(line.contains("a\\u2028b\\u2029c\\u") && line.contains("d\u{2027}é"), "{line}");
            if json {
                let read: serde_json::Value = serde_json::from_str(line).expect("JSON");
                for field in ["message", "value", "shown"] {
                    assert_eq!(read[field], value, "{field}");
                }
            }
        }
    }

    #[test]
    fn rust_log_goes_first_and_is_checked() {
        let log = Loader::new(None).load().expect("the defaults are valid").log;
        let filtered = |value: &str| filter(Some(value.to_owned()), &log).map(|it| it.to_string());
        assert_eq!(filtered("debug").as_deref(), Ok("audit=info,debug"));
        assert_eq!(filtered("").as_deref(), Ok("audit=info,info"));
        assert_eq!(filter(None, &log).map(|it| it.to_string()).as_deref(), Ok("audit=info,info"));
        let error = filtered("a=b=c").expect_err("no level").to_string();
        assert!(error.starts_with("RUST_LOG = \"a=b=c\": must be log directives"), "{error}");
    }
}
