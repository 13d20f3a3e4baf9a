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

/// The keys that the reference's table shows for a subsystem, in its order.
fn documented_keys(subsystem: &str) -> Vec<String> {
    let page = docs::read(docs::REDIS_KEYS).text;
    let start = format!("`anteroom:v1:{subsystem}:");
    let lines = page.lines().skip_while(|line| !line.contains(&start));
    let rows = lines.skip_while(|line| !line.starts_with("| key |")).skip(2);
    rows.map_while(|row| row.strip_prefix("| `")?.split('`').next().map(str::to_owned)).collect()
}

fn lua() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lua")
}
