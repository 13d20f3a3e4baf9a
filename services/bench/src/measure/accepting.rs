//! What backends request of events and pools, beside our own authorize: each call writes, and is
//! remembered for a day and more.

use super::beside::{Call, Rounds};
use crate::{meter::over, progress::say, report::Section, sections::Sections, settings::Settings};

/// The name for `--only`.
pub const NAME: &str = "accepting";
/// Nothing is refused during the run, and nothing issued.
const SECTIONS: &str = "[events.coupon]\nstock = 1_000_000_000\n\
                        [pools.draws]\nfunds = 1_000_000_000_000\n\
                        [pools.holds]\nfunds = 1_000_000_000_000\n";

const fn call(
    (name, operation, expect): (&'static str, &'static str, u16),
    path: &'static str,
    json: &'static str,
) -> Call {
    Call { name, operation, path, json, numbers: None, expect, least_of_authorize: None }
}

const VISITOR: &str = r#"{"visitor_id":""#;
const AMOUNT: &str = r#"{"amount":7,"operation_id":""#;
const CALLS: [Call; 3] = [
    call(("apply", "event.apply", 202), "/v1/events/coupon/applications", VISITOR),
    call(("draw", "pool.draw", 201), "/v1/pools/draws/draws", AMOUNT),
    call(("hold", "pool.hold", 201), "/v1/pools/holds/holds", AMOUNT),
];

/// Measures all rows, round after round.
pub async fn run(settings: &Settings, sections: &Sections) -> anyhow::Result<()> {
    let mut rounds = Rounds::start(settings, SECTIONS, &CALLS).await?;
    for round in 1..=settings.rounds {
        rounds.calls(round).await?;
        for (call, window, _) in rounds.last() {
            say(&format!("round {round}: {:5} {:7.0}/s", call.name, window.rate));
        }
        rounds.authorize().await?;
        sections.put(Section {
            name: NAME,
            title: "Applications, draws and holds beside authorize".to_owned(),
            how: format!(
                "{} connections, {} rounds of {:?} each; each call is a new one and none is refused. \
                 One pool of draws, one of holds, whose holds end after a minute and are swept. `of \
                 authorize` compares requests per second with the mean of authorize before and after \
                 the round, `CPU` the processor time of all that took part.",
                settings.connections, settings.rounds, settings.window
            ),
            rows: rounds.rows(|row, _, windows| {
                row.figure("server µs", over(windows, |it| it.server_us))
                    .figure("Redis µs", over(windows, |it| it.store_us))
            }),
        });
    }
    Ok(())
}
