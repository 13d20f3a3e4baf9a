//! The line as operators read it, page by page.

use std::time::Duration;

use anteroom_core::queue::{
    Epoch, GoneReason, Inspected, Inspection, Override, PlaceId, PlaceName, PlaceRef, Queue, Rules,
    Status, Visit,
};
use futures_util::future::join_all;

use super::line::{capacity, join, join_each, room, tick};
use super::support::{SECOND, START, TimedStore};

use Status::{Active, Away, Ready, Waiting};

/// Turns and sessions that last.
fn lasting(most: u64) -> Rules {
    let hours = Duration::from_secs(10 * 3_600);
    Rules { claim_ttl: hours, session_ttl: hours, session_max: hours, ..capacity(most) }
}

/// All pages behind each other, each of so many at most; how many calls that took.
async fn pages(
    queue: &Queue,
    state: Option<Status>,
    limit: u64,
) -> (Vec<(PlaceRef, Inspection)>, usize) {
    let (mut all, mut after, mut calls) = (Vec::new(), 0, 0);
    loop {
        let page = queue.places(state, after, limit).await.expect("a page");
        calls += 1;
        assert!(page.places.len() as u64 <= limit);
        all.extend(page.places);
        let Some(next) = page.next else { return (all, calls) };
        assert!(next > after, "{next} behind {after}");
        after = next;
    }
}

fn tickets(places: &[(PlaceRef, Inspection)]) -> Vec<u64> {
    places.iter().map(|(of, _)| of.ticket).collect()
}

/// Queue time is so far behind the store's clock in [`mixed`], and times are shown by the
/// latter.
const BEHIND: u64 = 5;

/// Three active, three ready, and 24 in line: of these 7, 10 and 11 are away, 8 and 9 have
/// returned.
async fn mixed(world: &TimedStore) -> (Queue, Vec<PlaceRef>) {
    let queue = world.queue("q", lasting(6)).await;
    let of = join_each(&queue, 0..30).await;
    // Ten seconds without a tick are five of queue time.
    world.pass(Duration::from_secs(9));
    join_all(of[..3].iter().map(|of| queue.claim(*of))).await;
    join_all(of[6..].iter().map(|of| queue.place(*of))).await;
    for _ in 0..60 {
        world.run(&queue, Duration::from_secs(15)).await;
        join_all(of[11..].iter().map(|of| queue.place(*of))).await;
    }
    for returns in [of[7], of[8]] {
        assert!(matches!(queue.place(returns).await, Ok(Visit::Here(_))));
    }
    (queue, of)
}

#[tokio::test]
async fn every_place_is_on_exactly_one_page_in_ticket_order() {
    let world = TimedStore::new().await;
    let (queue, of) = mixed(&world).await;
    let standing = |ticket| match ticket {
        1..=3 => Active,
        4..=6 => Ready,
        7 | 10 | 11 => Away,
        _ => Waiting,
    };
    for limit in [1, 4, 7, 29, 30, 31, 200] {
        let (all, calls) = pages(&queue, None, limit).await;
        assert_eq!(all.iter().map(|(of, _)| *of).collect::<Vec<_>>(), of, "pages of {limit}");
        assert_eq!(calls as u64, 30_u64.div_ceil(limit), "full pages of {limit}");
        for (of, place) in &all {
            assert_eq!(place.status, Inspected::Here(standing(of.ticket)), "{}", of.ticket);
            let joined = START / SECOND + BEHIND;
            assert_eq!(place.joined_at, Some(joined), "{}", of.ticket);
            assert_eq!(Ok(Some(place.clone())), queue.inspect(of.ticket).await);
            for name in [PlaceName::Handle(*of), PlaceName::Holder(of.id)] {
                let found = queue.find(name).await;
                assert_eq!(Ok(Some((of.ticket, place.clone()))), found, "{name:?}");
            }
            let since = match standing(of.ticket) {
                Active => Some(joined + 5),
                Away => None,
                Ready | Waiting => Some(joined),
            };
            assert_eq!(place.since, since, "{}", of.ticket);
            let ends = matches!(standing(of.ticket), Active | Ready);
            assert_eq!(place.expires_in.is_some(), ends, "{}", of.ticket);
        }
        for state in Status::ALL {
            let (some, _) = pages(&queue, Some(state), limit).await;
            let wanted: Vec<_> = (1..=30).filter(|ticket| standing(*ticket) == state).collect();
            assert_eq!(tickets(&some), wanted, "{state:?}, pages of {limit}");
        }
    }
    for (after, first) in
        [(0, Some(1)), (6, Some(7)), (29, Some(30)), (30, None), (u64::MAX >> 11, None)]
    {
        let page = queue.places(None, after, 1).await.expect("a page");
        assert_eq!(tickets(&page.places).first().copied(), first, "behind {after}");
    }
}

#[tokio::test]
async fn a_place_is_found_by_its_own_names_only() {
    let (_world, queue) = room(lasting(2)).await;
    let of = join_each(&queue, 0..4).await;
    let [own, other] = [of[2], of[3]];
    let stranger = PlaceId([9; 14]);
    for nothing in [
        PlaceName::Ticket(5),
        PlaceName::Handle(PlaceRef { epoch: Epoch([7; 8]), ..own }),
        PlaceName::Handle(PlaceRef { id: other.id, ..own }),
        PlaceName::Handle(PlaceRef { ticket: 5, ..own }),
        PlaceName::Holder(stranger),
    ] {
        assert_eq!(queue.find(nothing).await, Ok(None), "{nothing:?}");
    }
    // An ended place keeps its handle and its ticket; its visitor holds none.
    queue.leave(own).await.expect("a leave");
    let gone = |found: Option<(u64, Inspection)>| found.map(|(ticket, it)| (ticket, it.status));
    let left = Some((own.ticket, Inspected::Gone(GoneReason::Left)));
    for name in [PlaceName::Ticket(own.ticket), PlaceName::Handle(own)] {
        assert_eq!(gone(queue.find(name).await.expect("a look")), left, "{name:?}");
    }
    assert_eq!(queue.find(PlaceName::Holder(own.id)).await, Ok(None));
    let wrong = PlaceName::Handle(PlaceRef { id: stranger, ..own });
    assert_eq!(queue.find(wrong).await, Ok(None), "the reason is another visitor's");
    // A handle of an earlier life names nothing of this one.
    queue.reset().await.expect("a reset");
    join_each(&queue, 0..4).await;
    assert_eq!(queue.find(PlaceName::Handle(other)).await, Ok(None));
    let found = queue.find(PlaceName::Holder(other.id)).await.expect("a look");
    assert_eq!(found.map(|(ticket, _)| ticket), Some(other.ticket));
}

#[tokio::test]
async fn who_stays_is_on_one_page_whatever_changes_between_them() {
    let world = TimedStore::new().await;
    let (queue, of) = mixed(&world).await;
    let first = queue.places(None, 0, 12).await.expect("a page");
    assert_eq!((tickets(&first.places), first.next), ((1..=12).collect(), Some(12)));
    // Behind and before the page a visitor leaves, is evicted, comes back, is promoted, and joins.
    for left in [of[1], of[13], of[29]] {
        queue.leave(left).await.expect("a leave");
    }
    for evicted in [5, 15] {
        assert_eq!(queue.evict(evicted).await.map(|it| it.is_some()), Ok(true));
    }
    queue.place(of[9]).await.expect("a look");
    assert_eq!(tick(&queue).await, 2);
    assert_eq!(join(&queue, 100).await.0.ticket, 31);
    let mut rest = Vec::new();
    let mut next = first.next;
    while let Some(after) = next {
        let page = queue.places(None, after, 5).await.expect("a page");
        rest.extend(tickets(&page.places));
        next = page.next;
    }
    assert_eq!(rest, [13].into_iter().chain(16..=29).chain([31]).collect::<Vec<_>>());
    // Another life has other places.
    queue.reset().await.expect("a reset");
    assert_eq!(pages(&queue, None, 10).await, (Vec::new(), 1));
}

#[tokio::test]
async fn what_has_ended_is_passed_over_before_it_is_swept() {
    let (world, queue) = room(capacity(3)).await;
    let of = join_each(&queue, 0..3).await;
    for _ in 0..20 {
        world.pass(Duration::from_secs(4));
        tick(&queue).await;
    }
    let gone = queue.inspect(1).await.expect("a look").expect("it was given");
    assert_eq!(gone.status, Inspected::Gone(GoneReason::Unclaimed));
    let found = queue.find(PlaceName::Handle(of[0])).await;
    assert_eq!(
        (found, queue.find(PlaceName::Holder(of[0].id)).await),
        (Ok(Some((1, gone))), Ok(None))
    );
    let (all, calls) = pages(&queue, None, 1).await;
    assert_eq!((tickets(&all), calls), (Vec::new(), 3), "empty pages lead on");
    join(&queue, 3).await;
    for state in [None, Some(Ready)] {
        assert_eq!(tickets(&pages(&queue, state, 2).await.0), [4]);
    }

    // So is who was away for too long.
    let world = TimedStore::new().await;
    let (queue, _) = mixed(&world).await;
    assert_eq!(tickets(&pages(&queue, Some(Away), 2).await.0), [7, 10, 11]);
    let short = [Override::KeepTtl(Some(Duration::from_secs(10)))];
    queue.override_rules(&short, None).await.expect("an override");
    assert_eq!(pages(&queue, Some(Away), 2).await.0, []);
    let gone = queue.inspect(7).await.expect("a look").expect("it was given");
    assert_eq!(gone.status, Inspected::Gone(GoneReason::Abandoned));
}

/// Ready and active places stand in one set: a call looks at 200 of them and says where it stopped.
#[tokio::test]
async fn promise_13_a_call_looks_at_200_places_however_few_it_finds() {
    let (_world, queue) = room(lasting(1_000)).await;
    let joins = join_all((0..450).map(|n| join(&queue, n))).await;
    join_all(joins.iter().take(448).map(|(of, _)| queue.claim(*of))).await;
    let mut after = 0;
    for (found, next) in
        [(vec![], Some(200)), (vec![], Some(400)), (vec![449], Some(449)), (vec![450], None)]
    {
        let page = queue.places(Some(Ready), after, 1).await.expect("a page");
        assert_eq!((tickets(&page.places), page.next), (found, next), "behind {after}");
        after = page.next.unwrap_or(after);
    }
    let page = queue.places(None, 0, 5_000).await.expect("a page");
    assert_eq!((page.places.len(), page.next), (200, Some(200)), "no page has more than 200");
}

#[tokio::test]
async fn a_join_time_is_that_of_the_ticket_s_own_second() {
    let (world, queue) = room(lasting(1_000)).await;
    for n in 0..200 {
        join(&queue, n).await;
        world.run(&queue, Duration::from_secs(1)).await;
    }
    let all_right = async |limit: u64, count: usize| {
        let (all, _) = pages(&queue, None, limit).await;
        assert_eq!(all.len(), count);
        for (of, place) in all {
            let joined = START / SECOND + of.ticket - 1;
            assert_eq!(place.joined_at, Some(joined), "{} on a page of {limit}", of.ticket);
        }
    };
    for limit in [7, 200] {
        all_right(limit, 200).await;
    }
    // Far apart there are more samples between the tickets than a call reads, and it looks up no
    // more than 40 others.
    for ticket in (2..=200).step_by(2) {
        assert_eq!(queue.evict(ticket).await.map(|it| it.is_some()), Ok(true));
    }
    for limit in [1, 7, 100, 200] {
        all_right(limit, 100).await;
    }
    let page = queue.places(None, 0, 100).await.expect("a page");
    assert_eq!((page.places.len(), page.next), (90, Some(179)));
}

#[tokio::test]
async fn a_full_store_and_one_that_takes_no_writes_show_the_line() {
    let world = TimedStore::new().await;
    let (queue, _) = mixed(&world).await;
    let before = pages(&queue, None, 7).await;
    world.fill(true).await;
    assert_eq!(pages(&queue, None, 7).await, before);
    world.fill(false).await;
    // A replica whose primary is away: any write is refused.
    world.redis.run::<()>(&["REPLICAOF", "127.0.0.1", "1"]).await;
    let mut connection = world.redis.connection().await;
    let written = redis::cmd("SET").arg(&["a", "1"]).query_async::<()>(&mut connection).await;
    assert!(written.is_err(), "it takes no writes");
    assert_eq!(pages(&queue, None, 7).await, before);
}
