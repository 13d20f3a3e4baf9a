//! `--against FOLDER`: the own build beside another one's binaries.
//!
//! Three sides run at the same time, each with a Redis of its own and the same configuration and
//! visitors: the own build, the other one, and the own build a second time. They are loaded in
//! turn, in the reverse order of the round before. So the other build is always between the two own
//! ones, and their mean beside it cancels what the machine gains or loses during a round. The two
//! own builds beside each other are the A/A series: what equal programs differ by.
//!
//! Two processes of one program differ by 5 % and more for as long as they run, perhaps because
//! their memory is at different addresses. So all sides are restarted after every few rounds.

mod side;

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use self::side::{Call, ROWS, Side};
use crate::{
    meter::Window,
    progress::say,
    report::{Bound, Row, Section},
    sections::Sections,
    settings::Settings,
    stats::{interval_of_median, median},
};

/// Rounds of a row, where the command line names no number.
pub const ROUNDS: usize = 11;
/// Rounds between two starts of the sides.
const ROUNDS_PER_START: usize = 4;
/// Processor time a request may rise by 2 % over the fixed baseline.
const MOST: f64 = 1.02;

/// The windows of one round of a row: of the own build, the other one, and the own one again.
type Round = [Window; 3];

/// Measures join, place and authorize of both builds.
pub async fn run(settings: &Settings, other: &Path, sections: &Sections) -> anyhow::Result<()> {
    let own = own_folder()?;
    side::check(&own).context("the own build")?;
    side::check(other).with_context(|| format!("--against {}", other.display()))?;
    let mut rows: Vec<(&Call, Vec<Round>)> = Vec::new();
    rows.extend(ROWS.iter().filter(|row| settings.wants(row.name)).map(|row| (row, Vec::new())));
    let numbers: Vec<_> = (1..=settings.rounds).collect();
    for chunk in numbers.chunks(ROUNDS_PER_START) {
        let sides = start([&own, other, &own], settings.waiting).await?;
        for &round in chunk {
            for (call, rounds) in &mut rows {
                let next = measure(settings, &sides, call, round).await;
                let next = next.with_context(|| format!("row {}", call.name))?;
                say_round(call, round, settings.rounds, &next);
                rounds.push(next);
            }
            sections.put(section(settings, other, &rows));
        }
    }
    Ok(())
}

/// Starts the sides of these builds and fills their queues.
async fn start(builds: [&Path; 3], visitors: u64) -> anyhow::Result<[Side; 3]> {
    say("starting admission, scheduler and Redis of three sides, and filling their queues");
    let [own, other, twin] = builds;
    let mut sides = [Side::start(own).await?, Side::start(other).await?, Side::start(twin).await?];
    for side in &mut sides {
        side.fill(visitors).await?;
    }
    Ok(sides)
}

/// The folder in `ANTEROOM_BIN_DIR`, else the one of this program.
fn own_folder() -> anyhow::Result<PathBuf> {
    if let Some(folder) = std::env::var_os("ANTEROOM_BIN_DIR") {
        return Ok(folder.into());
    }
    let program = std::env::current_exe()?;
    Ok(program.parent().context("this program is in no folder")?.to_owned())
}

async fn measure(
    settings: &Settings,
    sides: &[Side; 3],
    call: &Call,
    round: usize,
) -> anyhow::Result<Round> {
    let mut order = [0, 1, 2];
    if round.is_multiple_of(2) {
        order.reverse();
    }
    let mut windows = Vec::new();
    for side in order {
        windows.push(sides[side].measure(settings, call, round).await?);
    }
    Ok(order.map(|side| windows[side]))
}

fn say_round(call: &Call, round: usize, rounds: usize, it: &Round) {
    let figures = FIGURES[..3].iter().map(|(name, value, _)| {
        let [own, other, twin] = it.each_ref().map(value);
        format!("{name} {:.3} ({:.3})", (own + twin) / 2.0 / other, own / twin)
    });
    let figures = figures.collect::<Vec<_>>().join(", ");
    say(&format!("round {round} of {rounds}: {:9} own ÷ other (A/A): {figures}", call.name));
}

/// What is compared of a window: name, value, and whether it has a budget.
type Figure = (&'static str, fn(&Window) -> f64, Option<Bound>);

const FIGURES: [Figure; 4] = [
    ("requests/s", |it| it.rate, None),
    ("admission µs", |it| it.server_us, Some(Bound::AtMost(MOST))),
    ("Redis µs", |it| it.store_us, Some(Bound::AtMost(MOST))),
    ("EVALSHA/request", |it| it.counted.evalsha / it.requests, None),
];

fn section(settings: &Settings, other: &Path, rows: &[(&Call, Vec<Round>)]) -> Section {
    let of = |call: &Call, rounds: &[Round], (name, value, bound): &Figure| {
        let each = |of: fn([f64; 3]) -> f64| {
            rounds.iter().map(|it| of(it.each_ref().map(value))).collect::<Vec<_>>()
        };
        let (own, other) = (each(|[own, _, twin]| (own + twin) / 2.0), each(|[_, it, _]| it));
        let ratios = each(|[own, other, twin]| (own + twin) / 2.0 / other);
        let equal = each(|[own, _, twin]| own / twin);
        let ((least, most), (equal_least, equal_most)) =
            (interval_of_median(&ratios), interval_of_median(&equal));
        Row::new(format!("{}: {name}", call.name))
            .figure("own", median(&own))
            .figure("other", median(&other))
            .within("ratio", median(&ratios), bound.filter(|_| call.is_bound))
            .figure("from", least)
            .figure("to", most)
            .figure("A/A", median(&equal))
            .figure("A/A from", equal_least)
            .figure("A/A to", equal_most)
    };
    let rows = rows
        .iter()
        .filter(|(_, rounds)| !rounds.is_empty())
        .flat_map(|(call, rounds)| FIGURES.iter().map(move |figure| of(call, rounds, figure)));
    Section {
        name: "against",
        title: "Beside another build".to_owned(),
        how: format!(
            "The other build: `{}`. {} rounds of {:?} for each side, {} connections, {} waiting and \
             as many active visitors. All are restarted after {ROUNDS_PER_START} rounds. Processor \
             time is a request's. `own` is the mean of two instances of the own build, one measured \
             before the other build and one after it. `ratio` is the median of own ÷ other over the \
             rounds. `from` and `to` are its interval by the sign test: at least 95 % from 6 rounds \
             on, of fewer rounds the least and the most. `A/A` is the same for the two own \
             instances.",
            other.display(),
            settings.rounds,
            settings.window,
            settings.connections,
            settings.waiting,
        ),
        rows: rows.collect(),
    }
}
