//! The contracts of the scripts of every subsystem: one operation has one name everywhere, and a
//! header that holds, also for the calls that a Redis really sees.

mod breaker;
mod calls;
mod event;
mod header;
mod limit;
mod monitor;
mod names;
mod pool;
mod queue;
#[path = "../support/mod.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod support;
mod text;

use std::path::{Path, PathBuf};
use std::pin::Pin;

use anteroom_core::store::{Script, Store};
use anteroom_testkit::docs;

/// What these tests need to know of a subsystem.
struct Subsystem {
    /// The first part of its operations' names and keys.
    name: &'static str,
    /// Its folder, in `lua/` and in core.
    folder: &'static str,
    /// What its headers say is repeated behind the fixed arguments, and whether some are that.
    repeated: &'static [(&'static str, AreThat)],
    /// Calls every operation at least once, those that are batched alone and together.
    call_everything: fn(&Store) -> Pin<Box<dyn Future<Output = ()> + '_>>,
}

/// More calls at a time than a batch takes.
const MANY: u64 = 150;

/// Whether the arguments behind the fixed ones are what a header says.
type AreThat = fn(&[Vec<u8>]) -> bool;

macro_rules! subsystems {
    (; $(($module:ident $handle:ident $name:ident $section:ident))+) => {
        &[$($module::SUBSYSTEM),+]
    };
}

/// One for each kind.
const SUBSYSTEMS: &[Subsystem] = anteroom_core::kinds!(subsystems! {});

impl Subsystem {
    fn of(script: &Script) -> &'static Self {
        let name = script.name.split('.').next().unwrap_or_default();
        let mut all = SUBSYSTEMS.iter();
        all.find(|it| it.name == name).unwrap_or_else(|| panic!("{}: no such one", script.name))
    }
}

/// A key as the reference's table shows it.
struct DocumentedKey {
    name: String,
    ttl: Ttl,
}

/// What the reference says about the TTL of a key.
#[derive(PartialEq)]
enum Ttl {
    /// It has none.
    None,
    /// Always the same, in ms.
    Fixed(i64),
    /// It follows from a rule, such as a window.
    Varies,
}

impl Ttl {
    fn read(cell: &str) -> Self {
        let minutes = match cell.split_once(' ') {
            _ if cell == "none" => return Self::None,
            Some((number, "min")) => number.parse().ok(),
            Some((number, "h")) => number.parse::<i64>().ok().map(|hours| hours * 60),
            _ => None,
        };
        minutes.map_or(Self::Varies, |minutes| Self::Fixed(minutes * 60_000))
    }
}

/// The keys that the reference's table shows for a subsystem, in its order.
fn documented_keys(subsystem: &str) -> Vec<DocumentedKey> {
    let page = docs::read(docs::REDIS_KEYS).text;
    let start = format!("`anteroom:v1:{subsystem}:");
    let lines = page.lines().skip_while(|line| !line.contains(&start));
    let mut rows = lines.skip_while(|line| !line.starts_with("| key |"));
    let cells = |row: &str| row.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
    let head = cells(rows.next().unwrap_or_default());
    let ttl = head.iter().position(|cell| cell == "TTL");
    let rows = rows.skip(1).take_while(|row| row.starts_with("| `")).map(cells);
    rows.map(|row| DocumentedKey {
        name: row[1].trim_matches('`').to_owned(),
        ttl: ttl.map_or(Ttl::None, |column| Ttl::read(&row[column])),
    })
    .collect()
}

/// The most items of a call by the reference, if the operation is batched.
fn documented_batch(operation: &str) -> Option<usize> {
    let page = docs::read(docs::REDIS_KEYS).text;
    let start = format!("| `{operation}` |");
    let row = page.lines().find(|line| line.starts_with(&start))?;
    let (_, most) = row.split_once("| batched, ≤ ")?;
    most.split(' ').next()?.parse().ok()
}

fn lua() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lua")
}
