//! Redis starts again with its volume: every visitor keeps the place.

use crate::{
    forward::Forward,
    place::{Place, TURN_WITHIN},
    progress::{Look, until},
    run::Run,
    table::Line,
    workloads::settled,
};

const REDIS: &str = "statefulset/redis";
/// So many places are looked at one by one; of all others the witness knows.
const PLACES: usize = 5;

/// Restarts it as a roll-out does.
pub async fn starts_again(run: &Run) -> anyhow::Result<()> {
    let mut places = Vec::new();
    let way = Forward::open(&run.kubectl, "service/admission", 8080).await?;
    for _ in 0..PLACES {
        places.push(Place::join(&way).await?);
    }
    for place in &places {
        place.take_turn(&way).await?;
    }
    let restarts = async {
        run.kubectl.run(&["rollout", "restart", REDIS]).await?;
        settled(&run.kubectl, REDIS).await?;
        let mut kept = 0;
        for place in &places {
            let (found, _) = until("an answer", TURN_WITHIN, async || {
                Ok(match place.look(&way).await {
                    Ok(found) => Look::Done(found),
                    Err(error) => Look::NotYet(format!("{error:#}")),
                })
            })
            .await?;
            kept += usize::from(found["status"] == "active" && found["ticket"] == place.ticket);
        }
        Ok(kept)
    };
    let (kept, took, seen) = run.under_load(restarts).await?;
    for place in &places {
        // Their time would run out anyway.
        let _ = place.leave(&way).await;
    }
    let says = format!("{kept} of {PLACES} places are there with their ticket");
    let held = kept == PLACES && seen.lost() == 0;
    run.add(Line::new("restart redis", says, Some(held)).took(took).under(seen));
    Ok(())
}
