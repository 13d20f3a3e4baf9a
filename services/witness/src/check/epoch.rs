//! One life of the queue as long as the store loses nothing: promise 5 for the queue as a whole.

use crate::place::Place;

use super::Violation;

pub(super) fn check(places: &[Place]) -> Vec<Violation> {
    let mut alive =
        places.iter().filter_map(|place| Some((place.held.epoch, place.alive().next()?.0)));
    let Some((epoch, first)) = alive.next() else { return Vec::new() };
    let other = alive.find(|(other, _)| *other != epoch);
    let accuse = |(_, at)| Violation::new(5, "the queue was reset".to_owned(), [first, at]);
    other.map(accuse).into_iter().collect()
}
