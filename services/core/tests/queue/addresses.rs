//! `places_per_address`: how many places one client address may hold.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

use anteroom_core::queue::{
    Join, JoinedFrom, Override, Pace, PlaceRef, Queue, Rules, Status, Visit,
};
use futures_util::future::join_all;

use super::line::{address, capacity, join, joined_from, look, rate, room, tick, visitor};
use super::support::TimedStore;

/// Rules with a capacity by which an address may hold so many places.
fn at_most(places: u64, of_capacity: u64) -> Rules {
    Rules { places_per_address: Some(places), ..capacity(of_capacity) }
}

async fn ask(queue: &Queue, n: u64, from: JoinedFrom) -> Join {
    queue.join_from(visitor(queue, n), from).await.expect("a join")
}

/// The n-th visitor joins from this address; nothing when the address holds too many places.
async fn joins(queue: &Queue, n: u64, from: JoinedFrom) -> Option<PlaceRef> {
    match ask(queue, n, from).await {
        Join::Created(of, _) | Join::Same(of, _) => Some(of),
        Join::AddressFull => None,
        other => panic!("no place: {other:?}"),
    }
}

/// New visitors of this address join until one is refused; how many got a place.
async fn fills(queue: &Queue, first: u64, from: JoinedFrom) -> u64 {
    for n in 0..1_000 {
        if joins(queue, first + n, from).await.is_none() {
            return n;
        }
    }
    1_000
}

fn key(name: &str) -> String {
    format!("anteroom:v1:queue:{{q}}:{name}")
}

#[tokio::test]
async fn an_address_holds_no_more_places_and_others_join() {
    let (_world, queue) = room(at_most(3, 2)).await;
    let [one, other] = [1, 2].map(|n| address(&queue, n));
    for n in 0..3 {
        joins(&queue, n, one).await.expect("a place");
    }
    let before = queue.snapshot().await.expect("a snapshot");
    assert_eq!(ask(&queue, 3, one).await, Join::AddressFull);
    let after = queue.snapshot().await.expect("a snapshot");
    assert_eq!((after.depth, after.last_ticket), (before.depth, before.last_ticket));
    // Who holds a place gets it again, and who comes from elsewhere a new one.
    assert!(matches!(ask(&queue, 0, one).await, Join::Same(..)));
    assert!(matches!(ask(&queue, 4, other).await, Join::Created(..)));
    // On behalf, or from an exempt network.
    join(&queue, 5).await;
    assert_eq!(
        joins(&queue, 3, other).await.expect("a place").ticket,
        6,
        "refused takes no ticket"
    );
}

#[tokio::test]
async fn a_place_that_has_ended_counts_no_more() {
    let world = TimedStore::new().await;
    let rules = Rules { first_poll_ttl: Duration::from_secs(30), ..at_most(3, 1) };
    let seconds = Duration::from_secs;
    for how in [
        "left",
        "gave up",
        "finished",
        "evicted",
        "unclaimed",
        "expired",
        "abandoned",
        "by its own",
        "reset",
    ] {
        let queue = world.queue(how.split(' ').next().expect("a word"), rules.clone()).await;
        let from = address(&queue, 1);
        let first = joins(&queue, 0, from).await.expect("a place");
        let second = joins(&queue, 1, from).await.expect("a place");
        joins(&queue, 2, from).await.expect("a place");
        assert_eq!(joins(&queue, 3, from).await, None, "{how}");
        let mut has_room = 1;
        match how {
            "left" => drop(queue.leave(second).await.expect("a leave")),
            "gave up" => drop(queue.leave(first).await.expect("a leave")),
            "finished" => {
                queue.claim(first).await.expect("a claim");
                queue.leave(first).await.expect("a leave");
            }
            "evicted" => assert!(queue.evict(second.ticket).await.expect("an eviction").is_some()),
            "unclaimed" => {
                world.run(&queue, seconds(60)).await;
            }
            "expired" => {
                assert!(matches!(queue.authorize_joined(first).await, Ok(Visit::Here(_))));
                world.run(&queue, seconds(11)).await;
            }
            "abandoned" => {
                // The first keeps its turn and polls on, the two in line do not.
                queue.claim(first).await.expect("a claim");
                for _ in 0..40 {
                    world.run(&queue, seconds(2)).await;
                    join(&queue, 9).await;
                }
                has_room = 2;
            }
            "by its own" => {
                // It has ended, and no sweep has seen it.
                for _ in 0..60 {
                    world.pass(seconds(1));
                    tick(&queue).await;
                }
                assert!(matches!(ask(&queue, 0, from).await, Join::Created(..)));
                queue.leave(second).await.expect("a leave");
            }
            _ => {
                queue.reset().await.expect("a reset");
                has_room = 3;
            }
        }
        assert_eq!(fills(&queue, 100, from).await, has_room, "{how}");
    }
}

#[tokio::test]
async fn an_ipv6_64_is_one_address_and_a_48_holds_8_times_as_many() {
    let (_world, queue) = room(at_most(2, 1_000)).await;
    let from = |site: u16, subscriber: u16, host: u16| {
        let address = Ipv6Addr::new(0x2001, 0xdb8, site, subscriber, 0, 0, 0, host);
        joined_from(&queue, IpAddr::from(address))
    };
    assert_eq!(fills(&queue, 0, from(1, 0, 1)).await, 2);
    assert_eq!(joins(&queue, 10, from(1, 0, 2)).await, None);
    let mut held = 2;
    for subscriber in 1..20 {
        held += fills(&queue, 100 * u64::from(subscriber), from(1, subscriber, 1)).await;
    }
    assert_eq!(held, 16);
    assert_eq!(fills(&queue, 5_000, from(2, 0, 1)).await, 2, "another site");
}

#[tokio::test]
async fn without_a_number_it_is_a_quarter_of_the_capacity_in_force() {
    let world = TimedStore::new().await;
    for (name, rules, most) in [
        ("small", capacity(1), 60),
        ("large", capacity(404), 101),
        ("off", Rules { places_per_address: Some(0), ..capacity(1) }, 1_000),
        ("rate", rate(1, Duration::from_secs(60), Pace::Batch), 1_000),
    ] {
        let queue = world.queue(name, rules.clone()).await;
        assert_eq!(fills(&queue, 0, address(&queue, 1)).await, most, "{name}");
        assert_eq!(rules.most_per_address().unwrap_or(1_000), most, "{name}");
    }
    let queue = world.queue("overridden", capacity(404)).await;
    let from = address(&queue, 1);
    queue.override_rules(&[Override::Capacity(Some(280))], None).await.expect("an override");
    assert_eq!(fills(&queue, 0, from).await, 70, "it follows an override of the capacity");
    let none = [Override::PlacesPerAddress(Some(0))];
    queue.override_rules(&none, None).await.expect("an override");
    joins(&queue, 1_000, from).await.expect("off");
    let back = [Override::PlacesPerAddress(None), Override::Capacity(None)];
    queue.override_rules(&back, None).await.expect("an override");
    // The one that joined meanwhile counts for no address.
    assert_eq!(fills(&queue, 2_000, from).await, 31);
}

/// One client keeps all its tokens.
#[tokio::test]
async fn of_600_joins_of_one_address_75_hold_a_place() {
    let (_world, queue) = room(capacity(300)).await;
    let from = address(&queue, 1);
    let calls = (0..600).map(|n| queue.join_from(visitor(&queue, n), from));
    let returned = join_all(calls).await;
    let held = returned.iter().filter(|join| matches!(join, Ok(Join::Created(..)))).count();
    let refused = returned.iter().filter(|join| matches!(join, Ok(Join::AddressFull))).count();
    assert_eq!((held, refused), (75, 525));
    let honest = ask(&queue, 1_000, address(&queue, 2)).await;
    assert!(matches!(honest, Join::Created(_, place) if place.status() == Status::Ready));
}

#[tokio::test]
async fn joins_that_share_a_call_are_counted_one_by_one() {
    let (_world, queue) = room(at_most(4, 2)).await;
    let [one, other] = [1, 2].map(|n| address(&queue, n));
    // Each third is a repeat, and every address comes in turn.
    let whom: Vec<_> = (0..60).map(|n| (n - n % 3 / 2, [one, other][n as usize % 2])).collect();
    let returned = join_all(whom.iter().map(|(n, from)| ask(&queue, *n, *from))).await;
    let mut held = BTreeMap::new();
    for ((n, from), join) in whom.into_iter().zip(returned) {
        let places: &mut Vec<u64> = held.entry(from == one).or_default();
        match join {
            Join::Created(..) => places.push(n),
            Join::Same(..) => {}
            Join::AddressFull => assert!(places.len() == 4, "{n} was refused too early"),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(held.values().map(Vec::len).collect::<Vec<_>>(), [4, 4]);
}

/// A caller that does not count the first place of an address stays within the bound.
#[tokio::test]
async fn a_first_place_that_was_not_counted_is_taken_off_the_bound() {
    let world = TimedStore::new().await;
    for (most, counted) in [(8, 7), (2, 1), (1, 1)] {
        let queue = world.queue(&format!("q{most}"), at_most(most, 1)).await;
        let from = address(&queue, 1).after_first();
        join(&queue, 0).await;
        assert_eq!(fills(&queue, 1, from).await, counted);
    }
}

/// An older version's scripts end places without this part.
#[tokio::test]
async fn places_that_ended_unseen_count_until_no_older_one_is_held() {
    let (world, queue) = room(at_most(3, 1)).await;
    let from = address(&queue, 1);
    let (oldest, _) = join(&queue, 0).await;
    let unseen = [1, 2].map(|n| (n, visitor(&queue, n)));
    for (n, id) in unseen {
        joins(&queue, n, from).await.expect("a place");
        let waiting = key("waiting").into_bytes();
        let mut connection = world.redis.connection().await;
        let removed: i64 = redis::cmd("ZREM")
            .arg(waiting)
            .arg(id.0.as_slice())
            .query_async(&mut connection)
            .await
            .expect("a reply");
        assert_eq!(removed, 1);
    }
    joins(&queue, 3, from).await.expect("a place");
    queue.sweep().await.expect("a sweep");
    assert_eq!(joins(&queue, 4, from).await, None);
    queue.leave(oldest).await.expect("a leave");
    queue.sweep().await.expect("a sweep");
    assert_eq!(fills(&queue, 5, from).await, 2, "one of three is held");
}

#[tokio::test]
async fn the_last_524_288_tickets_count() {
    const RING: u64 = 1 << 19;
    let (world, queue) = room(at_most(3, 1)).await;
    let [one, other] = [1, 2].map(|n| address(&queue, n));
    // Tickets 1 and 2 are given to one address, then most of a lap to none.
    let kept = [joins(&queue, 0, one).await, joins(&queue, 1, one).await].map(Option::unwrap);
    let skip = (RING - 2).to_string();
    world.redis.run::<i64>(&["HSET", &key("meta"), "ticket", &skip]).await;
    // In one call, over the end of the ring.
    let joined = join_all((10..16).map(|n| ask(&queue, n, [one, other][n as usize % 2]))).await;
    let created = joined.iter().filter(|join| matches!(join, Join::Created(..))).count();
    // Of `one` the third place; then its first two count no more, which the next call sees.
    assert_eq!(created, 4);
    assert_eq!(look(&queue, kept[1]).await.status(), Status::Waiting);
    assert_eq!(fills(&queue, 20, one).await, 2);
    assert_eq!(fills(&queue, 30, other).await, 0);
    let size: u64 = world.redis.run(&["STRLEN", &key("joined_from")]).await;
    assert_eq!(size, 4 * RING);
}

/// A version that does not know the keys resets the queue, or Redis loses `meta`.
#[tokio::test]
async fn counts_of_another_life_are_dropped() {
    for field in ["ticket", "counted_upto"] {
        let (world, queue) = room(at_most(3, 1)).await;
        let from = address(&queue, 1);
        assert_eq!(fills(&queue, 0, from).await, 3);
        for set in ["waiting", "ready", "admitted"] {
            world.redis.run::<i64>(&["DEL", &key(set)]).await;
        }
        world.redis.run::<i64>(&["HDEL", &key("meta"), field]).await;
        queue.sweep().await.expect("a sweep");
        tick(&queue).await;
        assert_eq!(fills(&queue, 10, from).await, 3, "{field}");
    }
}

/// Redis loses one of the two keys of the counts.
#[tokio::test]
async fn a_lost_key_of_the_counts_neither_refuses_an_address_for_ever_nor_counts_twice() {
    for lost in ["joined_from", "per_address"] {
        let (world, queue) = room(at_most(3, 1)).await;
        let from = address(&queue, 1);
        let older = [0, 1, 2].map(|n| joins(&queue, n, from));
        let older = join_all(older).await;
        assert_eq!(joins(&queue, 3, from).await, None);
        world.redis.run::<i64>(&["DEL", &key(lost)]).await;
        assert_eq!(fills(&queue, 10, from).await, 3, "{lost}: it counts from 0");
        for of in older {
            queue.leave(of.expect("a place")).await.expect("a leave");
        }
        assert_eq!(fills(&queue, 20, from).await, 0, "{lost}: the older ones do not count");
    }
}

/// 4 bytes a ticket, and a short field for each number of an address.
#[tokio::test]
async fn what_is_kept_is_bounded_and_empty_when_no_place_is_held() {
    let (world, queue) = room(at_most(3, 1)).await;
    let joins = (0..2_000).map(|n| ask(&queue, n, address(&queue, n)));
    let created: Vec<_> = join_all(joins)
        .await
        .into_iter()
        .map(|join| match join {
            Join::Created(of, _) => of,
            other => panic!("{other:?}"),
        })
        .collect();
    let size: u64 = world.redis.run(&["STRLEN", &key("joined_from")]).await;
    assert_eq!(size, 4 * 2_001);
    let fields: u64 = world.redis.run(&["HLEN", &key("per_address")]).await;
    assert!((1_900..=2_001).contains(&fields), "{fields}");
    join_all(created.into_iter().map(|of| queue.leave(of))).await;
    let fields: u64 = world.redis.run(&["HLEN", &key("per_address")]).await;
    assert_eq!(fields, 1, "what makes it a table");
}
