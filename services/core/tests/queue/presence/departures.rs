//! Which places have left the line, as a process reads it that answers polls by itself.

use anteroom_core::queue::Departed;

use super::{BusyQueue, join_many, long_session};

#[tokio::test]
async fn what_a_queue_of_before_has_left_behind_is_no_departure() {
    let held = BusyQueue::new(long_session()).await;
    let place = join_many(&held.queue, 0..1).await[0];
    let begin = held.queue.departures(None).await.expect("a reading").upto;
    let left_behind = ["ZADD", "anteroom:v1:queue:{q}:departures", "7", "99"];
    held.world.redis.run::<u64>(&left_behind).await;
    held.queue.leave(place).await.expect("a leave");
    let read = held.queue.departures(Some(begin)).await.expect("a reading");
    assert_eq!(read.tickets, Some(vec![place.ticket]));
}

/// Version 0.2.0 takes places out like this.
#[tokio::test]
async fn a_place_that_was_taken_out_without_a_name_shows_once() {
    let held = BusyQueue::new(long_session()).await;
    let places = join_many(&held.queue, 0..3).await;
    let read = async |since| held.queue.departures(Some(since)).await.expect("a reading");
    let begin = held.queue.departures(None).await.expect("a reading").upto;
    let ticket = places[0].ticket.to_string();
    let take_out = ["ZREMRANGEBYSCORE", "anteroom:v1:queue:{q}:waiting", &ticket, &ticket];
    assert_eq!(held.world.redis.run::<u64>(&take_out).await, 1);
    let then = read(begin).await;
    assert_eq!(then.tickets, None);
    assert!(begin.continues_in(&then.upto), "nothing else is in doubt");
    held.queue.leave(places[1]).await.expect("a leave");
    assert_eq!(read(then.upto).await.tickets, Some(vec![places[1].ticket]));
}

#[tokio::test]
async fn all_are_named_who_have_left_the_line() {
    let held = BusyQueue::new(long_session()).await;
    let places = join_many(&held.queue, 0..1_500).await;
    let read = async |since| held.queue.departures(since).await.expect("a reading");
    let begin = read(None).await;
    assert_eq!((begin.upto.count, begin.tickets), (0, None));
    assert!(begin.upto.server.is_some());
    held.queue.leave(places[3]).await.expect("a leave");
    held.queue.evict(places[7].ticket).await.expect("an eviction");
    let [left, evicted] = [places[3].ticket, places[7].ticket];
    let two = read(Some(begin.upto)).await;
    assert_eq!((two.upto.count, two.tickets), (2, Some(vec![left, evicted])));
    let one = Departed { count: 1, ..begin.upto };
    assert_eq!(read(Some(one)).await.tickets, Some(vec![evicted]));
    assert_eq!(read(Some(two.upto)).await.tickets, Some(vec![]));
    // Redis does not keep them for ever.
    let keys = "anteroom:v1:queue:{q}:departures";
    let forget = ["ZREMRANGEBYRANK", keys, "0", "0"];
    held.world.redis.run::<u64>(&forget).await;
    assert_eq!(read(Some(begin.upto)).await.tickets, None, "the first one is forgotten");
    assert_eq!(read(Some(one)).await.tickets, Some(vec![evicted]));
    // More than fit in one call.
    for of in &places[100..1_300] {
        held.queue.leave(*of).await.expect("a leave");
    }
    let all = read(Some(two.upto)).await;
    assert_eq!(read(Some(begin.upto)).await.tickets, None, "more than one call reads");
    let tickets: Vec<_> = places[100..1_300].iter().map(|of| of.ticket).collect();
    assert_eq!((all.upto.count, all.tickets), (1_202, Some(tickets)));
    // An end that is no departure from the line.
    held.queue.leave(held.first).await.expect("a leave");
    assert_eq!(read(Some(all.upto)).await.tickets, Some(vec![]));
    // Of a server with other data.
    for other in [
        Departed { count: all.upto.count + 1, ..all.upto },
        Departed { server: Some(1), ..all.upto },
        Departed { server: None, ..all.upto },
    ] {
        assert_eq!(read(Some(other)).await.tickets, None, "{other:?}");
    }
    // The server was a replica meanwhile.
    for of in [["127.0.0.1", "1"], ["NO", "ONE"]] {
        held.world.redis.run::<String>(&["REPLICAOF", of[0], of[1]]).await;
    }
    let again = read(Some(all.upto)).await;
    assert_eq!(again.tickets, None, "another one may have answered");
    assert!(!all.upto.continues_in(&again.upto));
    held.queue.reset().await.expect("a reset");
    assert_eq!(read(Some(again.upto)).await.tickets, None, "tickets of another epoch");
}
