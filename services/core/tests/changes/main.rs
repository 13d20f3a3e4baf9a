//! The log of changes on a real Redis: random histories of a queue against a model of its log, and
//! the entries of every other kind.

mod history;
mod kinds;
mod sizes;
#[path = "../support/mod.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod support;

use anteroom_core::changes::{Change, ChangeValue, Changes};
use anteroom_core::store::Error;

/// All changes, read page by page.
async fn all(page: impl AsyncFn(Option<u64>) -> Result<Changes, Error>) -> Vec<Change> {
    let (mut all, mut before) = (Vec::new(), None);
    loop {
        let found = page(before).await.expect("a page");
        all.extend(found.changes);
        before = found.next;
        if before.is_none() {
            return all;
        }
    }
}

/// Fields with numbers, as an entry has them.
fn numbers<const N: usize>(fields: [(&str, u64); N]) -> Vec<(String, ChangeValue)> {
    fields.map(|(name, number)| (name.to_owned(), ChangeValue::Number(number))).to_vec()
}

/// A field that is so, or is not.
fn flag(name: &str, flag: bool) -> (String, ChangeValue) {
    (name.to_owned(), ChangeValue::Flag(flag))
}

fn is_newest_first(changes: &[Change]) -> bool {
    changes.is_sorted_by(|one, two| one.id > two.id)
}
