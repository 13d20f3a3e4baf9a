//! The pools' part: every operation called, and what its arguments repeat.

use anteroom_core::Kind as _;
use anteroom_core::pool::{AmountRequest, Answer, LedgerFrom, Pool, Rules};
use anteroom_core::rules::{Amount, Amounts, Name};
use anteroom_core::store::Store;
use futures_util::future::join_all;

use super::{MANY, Subsystem};

pub const SUBSYSTEM: Subsystem = Subsystem {
    name: Pool::NAME,
    folder: Pool::FOLDER,
    repeated: &[
        ("(request)*", |items| items.iter().all(|item| item.len() >= 16)),
        ("(rule, value)*", |pairs| pairs.len() % 2 == 0),
    ],
    call_everything: |store| Box::pin(call_everything(store)),
};

fn units(amount: u64) -> Amount {
    Amount::new(amount).expect("an amount")
}

async fn call_everything(store: &Store) {
    let options = Amounts::new([("small".to_owned(), 1)]).expect("amounts");
    let rules = Rules { funds: Some(1_000_000), options, ..Rules::default() };
    let pool = Pool::open(store, "p", rules.clone(), 1_000);
    let request = |n: u64| match n % 2 {
        0 => AmountRequest::Amount(units(1 + n)),
        _ => AmountRequest::Option(Name::new("small").expect("a name")),
    };
    let draws = (0..MANY).map(|n| (request(n), n.to_string())).collect::<Vec<_>>();
    join_all(draws.iter().map(|(request, id)| pool.draw(request, id))).await;
    let holds = join_all(draws.iter().map(|(request, id)| pool.hold(request, id))).await;
    let mut ids = holds.into_iter().map(|hold| match hold.expect("an answer") {
        Answer::Done(hold) => hold.id,
        other => panic!("no hold: {other:?}"),
    });
    let mut next = || ids.next().expect("a hold");
    let (one, two) = (next(), next());
    pool.look(one).await.expect("a look");
    pool.extend(one).await.expect("an extension");
    pool.settle(one, units(1)).await.expect("a settlement");
    pool.cancel(two).await.expect("a cancellation");
    let pool = pool.by("ops");
    pool.fund(units(7), "f").await.expect("funds");
    pool.apply_rules(&rules).await.expect("the rules are written");
    pool.sweep().await.expect("a tick");
    pool.snapshot().await.expect("a snapshot");
    pool.confirm().await.expect("a confirmation");
    for from in [LedgerFrom::After(0), LedgerFrom::Before(3)] {
        pool.ledger(from, 10).await.expect("a look");
    }
    pool.changes(None, 1).await.expect("a look");
    pool.audit().await.expect("an audit");
}
