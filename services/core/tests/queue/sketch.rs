//! The line in outline: more places than one call reads.

use anteroom_core::queue::PlaceRef;
use futures_util::future::join_all;

use super::line::{capacity, join_each, look, room};

/// Points of two calls.
const PLACES: u64 = 6_000;

#[tokio::test]
async fn every_position_of_a_long_line_is_at_most_3_percent_off() {
    let (_world, queue) = room(capacity(1)).await;
    let places = join_each(&queue, 0..PLACES).await;
    // The first has its turn. Visitors leave, from a part of the line nearly all.
    let leaves = |of: &&PlaceRef| match of.ticket {
        1_000..2_000 => !of.ticket.is_multiple_of(50),
        ticket => ticket % 7 == 3,
    };
    let (left, mut line): (Vec<PlaceRef>, Vec<PlaceRef>) = places[1..].iter().partition(leaves);
    join_all(left.iter().map(|of| queue.leave(*of))).await;
    let sketch = queue.sketch(true).await.expect("a sketch");
    assert_eq!(sketch.front(), line.first().map(|of| of.ticket));
    for (rank, of) in line.iter().enumerate() {
        let shown = sketch.place(of.ticket).expect("in line").position();
        let position = rank as u64 + 1;
        let off = position.abs_diff(shown);
        assert!(off * 100 <= 3 * position, "{of:?}: {shown} instead of {position}");
        assert!(off == 0 || rank >= 64, "{of:?}: the front is exact");
    }
    let last = line.pop().expect("the last");
    assert_eq!(sketch.place(last.ticket).map(|it| it.position()), Some(line.len() as u64 + 1));
    assert_eq!(look(&queue, last).await.position(), line.len() as u64 + 1);
    assert_eq!(sketch.place(last.ticket + 1), None);
}
