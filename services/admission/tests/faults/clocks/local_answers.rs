//! A leap ends sessions at once, and a gate with local answers does not know of it yet.

use anteroom_testkit::{
    Clock, Deployment, PATIENT, Redis,
    witness::{Call, Caller, Doors, Scene, Shown},
};

use super::{WRONG, leap};
use crate::{LIGHT, machine};

/// A session is shorter than what a leap takes of it.
const QUEUE: &str = "[queues.desk]\ncapacity = 1\nclaim_ttl = \"1m\"\nsession_ttl = \"5s\"\n\
    renew_on_authorize = false\nlocal_answers = true\n\
    joins_per_address = \"none\"\nplaces_per_address = 0\nrequests_per_place = 0\n";
const LEAPS: u32 = 20;

#[tokio::test]
async fn promise_01_no_visitor_passes_once_the_slot_that_a_leap_freed_is_given_away() {
    let _shared = machine(LIGHT).await;
    let redis = Redis::builder().clock(Clock::off_by(0)).start().await;
    let site = Deployment::new(redis, QUEUE, &PATIENT);
    let (admission, _scheduler) = (site.admission().await, site.scheduler().await);
    let scene = Scene::new(Doors::new([admission.url("public")]), "desk");
    let record = scene.record.clone();
    let by_itself = async || {
        let answers = "anteroom_gate_answers_total{answer=\"local\"}";
        admission.metric(answers).await.unwrap_or(0.0)
    };
    let is_active = |shown: &Shown| matches!(shown, Shown::Active { .. });
    let mut holder = Caller::new(&scene, 0);
    holder.ask_until(Call::Join, |shown| matches!(shown, Shown::Ready { .. })).await;
    let mut ended_by_leaps = 0;
    for visitor in 1..=LEAPS {
        let mut next = Caller::new(&scene, visitor);
        next.ask_until(Call::Join, |shown| *shown != Shown::Nothing).await;
        holder.ask_until(Call::Claim, is_active).await;
        // Some ticks later, and at any moment between two of them.
        let least = rand::random_range(4_400..4_700);
        let is_older =
            |shown: &Shown| !matches!(shown, Shown::Active { left_ms } if *left_ms > least);
        holder.ask_until(Call::Place, is_older).await;
        let before = by_itself().await;
        let mut passes = true;
        while passes && by_itself().await == before {
            passes = is_active(&holder.ask(Call::Authorize).await.shown);
        }
        // On a machine that stood still for the whole session there is nothing left to end.
        ended_by_leaps += u32::from(passes);
        let gate = async {
            let mut last_pass = 0;
            loop {
                let sent = record.now();
                if !is_active(&holder.ask(Call::Authorize).await.shown) {
                    return last_pass;
                }
                last_pass = sent;
            }
        };
        let line = async {
            leap(&site.redis, i64::from(visitor) * WRONG).await;
            while !matches!(next.ask(Call::Place).await.shown, Shown::Ready { .. }) {}
            record.now()
        };
        let (last_pass, given_away) = tokio::join!(gate, line);
        assert!(
            last_pass < given_away,
            "visitor {} was let pass by a request sent {} µs after the next one's turn was shown",
            holder.visitor,
            last_pass - given_away,
        );
        holder = next;
    }
    assert!(ended_by_leaps > LEAPS / 2, "only {ended_by_leaps} sessions were ended by a leap");
}
