//! A store that has no memory left: what only looks goes on, what must write is refused whole.

use anteroom_core::breaker::{Kept, Outcome, Permission, PermitId, Rules, State};
use anteroom_core::store::Error;

use super::reports::{ask, look, quick, record};
use super::support::TimedStore;

#[tokio::test]
async fn reports_are_refused_whole_and_looks_go_on() {
    let world = TimedStore::new().await;
    for kept in [Kept::InBuckets, Kept::InLog] {
        let rules = Rules { kept, ..quick(3) };
        let target = world.target(&format!("{kept:?}").to_lowercase());
        record(&target, &rules, &Outcome::counted(1, 1)).await;
        let before = look(&target, &rules).await;
        world.fill(true).await;
        let named = Outcome { id: Some("a".to_owned()), ..Outcome::of(false) };
        for outcome in [&named, &Outcome::of(false), &Outcome::counted(0, 9)] {
            assert_eq!(target.record(&rules, outcome).await, Err(Error::Full), "{kept:?}");
        }
        assert_eq!(look(&target, &rules).await, before, "{kept:?}");
        assert_eq!(ask(&target, &rules).await, Permission::Free);
        world.fill(false).await;
        // The name was not used.
        assert_eq!(record(&target, &rules, &named).await.state, State::Open);
    }
}

/// What leaves the window is taken away by a call before it writes: that frees memory, and is no
/// way in.
#[tokio::test]
async fn no_report_comes_in_where_the_window_moves_on() {
    let world = TimedStore::new().await;
    for kept in [Kept::InBuckets, Kept::InLog] {
        let rules = Rules { kept, ..quick(3) };
        let target = world.target(&format!("{kept:?}").to_lowercase());
        world.fill(true).await;
        assert_eq!(target.record(&rules, &Outcome::of(true)).await, Err(Error::Full), "new");
        world.fill(false).await;
        for _ in 0..20 {
            record(&target, &rules, &Outcome::counted(1, 1)).await;
            world.pass(rules.window / 20);
        }
        let totals = look(&target, &rules).await.totals;
        world.fill(true).await;
        for _ in 0..30 {
            world.pass(rules.window / 20);
            let returned = target.record(&rules, &Outcome::counted(1, 1)).await;
            assert_eq!(returned, Err(Error::Full), "{kept:?}");
        }
        assert_eq!(look(&target, &rules).await.totals, totals, "{kept:?}");
        world.fill(false).await;
    }
}

/// What time brings frees memory, so it is found and written; a permit needs some.
#[tokio::test]
async fn an_open_target_becomes_half_open_and_closes() {
    let world = TimedStore::new().await;
    let (target, rules) = (world.target("t"), quick(1));
    record(&target, &rules, &Outcome::of(false)).await;
    world.fill(true).await;
    world.pass(rules.open_for);
    let half_open = look(&target, &rules).await;
    assert_eq!(half_open.state, State::HalfOpen);
    assert_eq!(look(&target, &rules).await.version, half_open.version, "it was written");
    assert_eq!(target.permit(&rules, PermitId([1; 16])).await, Err(Error::Full));
    world.pass(rules.window);
    assert_eq!(look(&target, &rules).await.state, State::Closed);
}
