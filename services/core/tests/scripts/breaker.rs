//! The targets' part: every operation called, and what its arguments repeat.

use anteroom_core::Kind as _;
use anteroom_core::breaker::{Breaker, Kept, Outcome, PermitId, Rules};
use anteroom_core::store::Store;
use futures_util::future::join_all;

use super::{MANY, Subsystem};

pub const SUBSYSTEM: Subsystem = Subsystem {
    name: Breaker::NAME,
    folder: Breaker::FOLDER,
    repeated: &[
        ("(outcome)*", |outcomes| outcomes.iter().all(|it| [17, 25, 33, 41].contains(&it.len()))),
        ("(permit)*", |permits| permits.iter().all(|permit| permit.len() == 16)),
    ],
    call_everything: |store| Box::pin(call_everything(store)),
};

async fn call_everything(store: &Store) {
    let target = Breaker::open(store, "t", 1_000);
    let (buckets, permit) = (Rules { min_samples: 1, ..Rules::default() }, PermitId::random());
    target.record(&buckets, &Outcome::counted(0, 9)).await.expect("recorded");
    let one = |n: u64| Outcome {
        latency_ms: (!n.is_multiple_of(3)).then_some(n),
        reporter: (!n.is_multiple_of(2)).then(|| format!("reporter {n}")),
        permit: (!n.is_multiple_of(5)).then_some(permit),
        id: (!n.is_multiple_of(4)).then(|| format!("id {n}")),
        ..Outcome::of(!n.is_multiple_of(7))
    };
    join_all((0..MANY).map(async |n| target.record(&buckets, &one(n)).await.is_ok())).await;
    join_all((0..MANY).map(async |_| target.record(&buckets, &Outcome::of(true)).await.is_ok()))
        .await;
    join_all((0..MANY).map(async |_| target.permit(&buckets, permit).await.is_ok())).await;
    target.snapshot(&buckets).await.expect("a look");
    let log = Rules { kept: Kept::InLog, ..buckets };
    join_all((0..MANY).map(async |n| target.record(&log, &one(n)).await.is_ok())).await;
    target.record(&log, &Outcome::counted(7, 9)).await.expect("recorded");
    target.snapshot(&log).await.expect("a look");
}
