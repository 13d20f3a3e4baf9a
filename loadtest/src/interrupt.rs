//! Ctrl-C ends a run early, not without its report.

use tokio_util::sync::CancellationToken;

/// As a shell names a program that Ctrl-C ended.
const KILLED: i32 = 130;

/// Cancelled at the first Ctrl-C, SIGTERM or SIGHUP (a closed session); the second ends the program
/// at once.
///
/// Must be called inside a Tokio runtime.
pub fn watch() -> std::io::Result<CancellationToken> {
    use tokio::signal::unix::{SignalKind, signal};
    // Goose takes Ctrl-C for itself, unless it is taken already; what is registered last, here,
    // is what counts.
    let _ = ctrlc::set_handler(|| {});
    let (mut interrupt, mut terminate) =
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    // Under `nohup` SIGHUP, the lowest bit of a mask, is ignored.
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let is_odd = |mask: &str| mask.ends_with(['1', '3', '5', '7', '9', 'b', 'd', 'f']);
    let nohup = status.lines().any(|line| line.starts_with("SigIgn:") && is_odd(line));
    let mut hang_up = signal(SignalKind::hangup())?;
    let cancelled = CancellationToken::new();
    let cancel = cancelled.clone();
    tokio::spawn(async move {
        for _ in 0..2 {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                _ = hang_up.recv(), if !nohup => {}
            }
            if cancel.is_cancelled() {
                #[expect(clippy::exit, reason = "a second signal ends at once")]
                std::process::exit(KILLED);
            }
            crate::progress::say(
                "ending early; the report follows. Ctrl-C ends at once, without the report",
            );
            cancel.cancel();
        }
    });
    Ok(cancelled)
}
