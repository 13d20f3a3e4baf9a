use anteroom_core::queue::{Epoch, PlaceId};

use super::*;

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
const EPOCH: Epoch = Epoch([1; 8]);
/// Queue time of the first reading.
const START_US: u64 = 1_800_000_000_000_000;

fn place(number: u64) -> PlaceRef {
    let mut id = [0; 14];
    id[..8].copy_from_slice(&number.to_le_bytes());
    id[13] = number.to_le_bytes()[0];
    PlaceRef { epoch: EPOCH, id: PlaceId(id), ticket: number + 1 }
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A table and a store whose queue time goes as fast as this process's clock.
struct Fixture {
    cache: ActiveCache,
    start: Instant,
    version: u64,
}

impl Fixture {
    /// One reading was good.
    fn new() -> Self {
        let world =
            Self { cache: ActiveCache::default(), start: Instant::now(), version: START_US };
        world.reads(Duration::ZERO, &[]);
        world
    }

    /// The reading of this time.
    fn reading(&self, at: Duration, ended: &[PlaceRef]) -> Revocations {
        Revocations {
            epoch: EPOCH,
            queue_time_us: START_US + micros(at),
            local_answers: true,
            version: self.version,
            whole: self.cache.version().is_some(),
            ended: ended.iter().map(|place| (place.id, place.ticket)).collect(),
        }
    }

    fn reads(&self, at: Duration, ended: &[PlaceRef]) {
        self.cache.read_at(self.start + at, &self.reading(at, ended), self.start + at);
    }

    fn basis(&self, at: Duration) -> Basis {
        self.cache.basis_at(self.start + at)
    }

    /// A call at this time, which Redis answers at once.
    fn asks(&self, place: PlaceRef, at: Duration, expires_in: Duration, ttl: Option<Duration>) {
        self.cache.note_at(place, expires_in, self.basis(at), ttl, self.start + at);
    }

    fn passes(&self, place: PlaceRef, at: Duration) -> Option<Duration> {
        self.cache.passes_at(place, || self.start + at)
    }
}

#[test]
fn a_place_passes_while_the_last_reading_was_sent_less_than_100_ms_ago() {
    let world = Fixture::new();
    world.asks(place(1), ms(10), MINUTE, None);
    assert_eq!(world.passes(place(1), ms(60)), Some(MINUTE - ms(60)), "counted from the reading");
    assert!(world.passes(place(1), ms(99)).is_some());
    assert_eq!(world.passes(place(1), ms(100)), None);
    world.reads(ms(90), &[]);
    assert!(world.passes(place(1), ms(189)).is_some());
    assert_eq!(world.passes(place(1), ms(190)), None);
    assert_eq!(world.passes(place(2), ms(100)), None);
    assert_eq!(world.passes(PlaceRef { ticket: 9, ..place(1) }, ms(100)), None);
    assert_eq!(world.passes(PlaceRef { epoch: Epoch([2; 8]), ..place(1) }, ms(100)), None);
    world.cache.forget(PlaceRef { ticket: 9, ..place(1) });
    assert!(world.passes(place(1), ms(100)).is_some(), "it was another place");
    world.cache.forget(place(1));
    assert_eq!(world.passes(place(1), ms(100)), None);
}

/// It is known before the snapshot of the next second shows it.
#[test]
fn promise_06_a_reading_of_another_epoch_ends_all_places() {
    let world = Fixture::new();
    world.asks(place(1), ms(10), MINUTE, None);
    assert!(world.cache.left(place(1)).is_some());
    let reset = Revocations { epoch: Epoch([2; 8]), ..world.reading(ms(50), &[]) };
    world.cache.read_at(world.start + ms(50), &reset, world.start + ms(60));
    assert_eq!(world.cache.left(place(1)), None);
}

#[test]
fn promise_06_a_ticket_that_ended_is_forgotten() {
    let world = Fixture::new();
    for number in 0..200 {
        world.asks(place(number), ms(10), MINUTE, None);
    }
    world.cache.forget_ticket(place(7).ticket);
    let left: Vec<_> = (0..200).filter(|it| world.cache.left(place(*it)).is_none()).collect();
    assert_eq!(left, [7]);
}

#[test]
fn promise_06_a_late_answer_does_not_bring_back_a_place_that_ended() {
    let cache = ActiveCache::default();
    let before = cache.basis();
    cache.note(place(1), MINUTE, before, None);
    // The visitor leaves while another call about the place is on its way.
    cache.forget(place(1));
    cache.note(place(1), MINUTE, before, None);
    assert_eq!(cache.left(place(1)), None);
    // A call that was sent later knows better: Redis may have gone back to an earlier state.
    cache.note(place(1), MINUTE, cache.basis_at(Instant::now() + ms(1)), None);
    assert!(cache.left(place(1)).is_some());
}

#[test]
fn who_ended_before_the_time_passes_no_more() {
    let world = Fixture::new();
    for number in 1..4 {
        world.asks(place(number), ms(10), MINUTE, None);
    }
    world.reads(ms(50), &[place(1), PlaceRef { ticket: 1, ..place(2) }]);
    assert_eq!(world.passes(place(1), ms(60)), None);
    assert!(
        world.passes(place(2), ms(60)).is_some(),
        "an earlier place of the same identity ended"
    );
    assert!(world.passes(place(3), ms(60)).is_some());
}

#[test]
fn an_answer_that_was_overtaken_by_the_reading_is_not_noted() {
    let world = Fixture::new();
    let (early, earlier_place) = (world.basis(ms(10)), PlaceRef { ticket: 1, ..place(1) });
    world.reads(ms(50), &[place(1)]);
    for place in [place(1), earlier_place] {
        world.cache.note_at(place, MINUTE, early, None, world.start + ms(60));
        assert_eq!(world.passes(place, ms(60)), None);
        assert_eq!(world.cache.left(place), None, "nor does it hold while the store is away");
    }
    // A call that was sent after the reading knows better, and so does one for a later place.
    world.asks(place(1), ms(60), MINUTE, None);
    assert!(world.passes(place(1), ms(60)).is_some());
    let later_place = PlaceRef { ticket: 9, ..place(1) };
    world.cache.note_at(later_place, MINUTE, early, None, world.start + ms(60));
    assert!(world.passes(later_place, ms(60)).is_some());
}

#[test]
fn who_ended_is_remembered_for_longer_than_an_answer_may_take() {
    let world = Fixture::new();
    let early = world.basis(ms(10));
    world.reads(ms(50), &[place(1)]);
    // Others end in the meantime, and the table is cleaned.
    for at in (100..3_000).step_by(50) {
        let mut other = place(1_000 + at);
        other.id.0[13] = place(1).id.0[13];
        world.reads(ms(at), &[other]);
    }
    world.cache.note_at(place(1), MINUTE, early, None, world.start + LATE);
    assert_eq!(world.passes(place(1), ms(2_960)), None);
    world.cache.note_at(place(2), MINUTE, early, None, world.start + LATE + ms(20));
    assert_eq!(
        world.passes(place(2), ms(2_960)),
        None,
        "an answer that took longer is not built on"
    );
    assert!(world.cache.left(place(2)).is_some());
    for at in (3_000..10_000).step_by(50) {
        let mut other = place(1_000 + at);
        other.id.0[13] = place(1).id.0[13];
        world.reads(ms(at), &[other]);
    }
    let (_, ended) = world.cache.shard(place(1)).len();
    assert!(ended <= 122, "forgotten after five or six seconds: {ended}");
}

#[test]
fn after_a_gap_between_readings_every_place_needs_redis_again() {
    type Tamper = fn(&mut Revocations);
    let gaps: [(&str, Tamper); 6] = [
        ("more ended than it names", |read| read.whole = false),
        ("a new life of the queue", |read| read.epoch = Epoch([2; 8])),
        ("the list of another store", |read| read.version -= 1),
        ("the clock of another store", |read| read.queue_time_us -= 60_000),
        ("the rule was off", |read| read.local_answers = false),
        ("a reading failed", |_| {}),
    ];
    for (gap, makes) in gaps {
        let world = Fixture::new();
        world.asks(place(1), ms(10), MINUTE, None);
        let early = world.basis(ms(20));
        let mut read = world.reading(ms(50), &[]);
        makes(&mut read);
        if gap == "a reading failed" {
            world.cache.lose_reading();
            assert_eq!(world.passes(place(1), ms(60)), None, "{gap}");
            assert!(!world.basis(ms(60)).is_local(), "{gap}");
            read.whole = false;
        }
        world.cache.read_at(world.start + ms(50), &read, world.start + ms(50));
        world.cache.note_at(place(2), MINUTE, early, None, world.start + ms(60));
        for number in [1, 2] {
            assert_eq!(world.passes(place(number), ms(60)), None, "{gap}");
        }
        if read.local_answers {
            world.asks(place(1), ms(60), MINUTE, None);
            assert!(world.passes(place(1), ms(60)).is_some(), "{gap}");
        } else {
            assert!(!world.basis(ms(60)).is_local(), "{gap}");
            assert_eq!(world.cache.version(), None, "{gap}");
        }
    }
}

#[test]
fn nothing_is_built_on_an_old_reading_or_on_none() {
    let world = Fixture::new();
    world.asks(place(1), ms(100), MINUTE, None);
    world.reads(ms(150), &[]);
    assert_eq!(world.passes(place(1), ms(160)), None);
    world.cache.lose_reading();
    world.asks(place(1), ms(160), MINUTE, None);
    world.reads(ms(170), &[]);
    assert_eq!(world.passes(place(1), ms(180)), None);
    world.asks(place(1), ms(180), MINUTE, None);
    assert!(world.passes(place(1), ms(180)).is_some());
}

#[test]
fn redis_decides_again_from_half_a_second_before_the_end() {
    let world = Fixture::new();
    world.asks(place(1), ms(10), SECOND, None);
    world.reads(ms(400), &[]);
    assert_eq!(world.passes(place(1), ms(499)), Some(ms(501)));
    assert_eq!(world.passes(place(1), ms(500)), None);
    // Queue time leapt: the next reading shows it, and the end is as near as Redis returned.
    world.asks(place(2), ms(410), MINUTE, None);
    let mut read = world.reading(ms(500), &[]);
    read.queue_time_us += 59_500_000;
    world.cache.read_at(world.start + ms(500), &read, world.start + ms(500));
    assert_eq!(world.passes(place(2), ms(510)), None);
    world.asks(place(3), ms(520), ms(300), None);
    assert_eq!(world.passes(place(3), ms(520)), None);
}

#[test]
fn redis_decides_when_the_renewal_is_due() {
    let ttl = Some(SECOND * 100);
    for (expires_in, due) in [
        (SECOND * 100, SECOND * 25), // claimed or renewed just now
        (SECOND * 80, SECOND * 5),
        (SECOND * 75, SECOND * 25), // the store has renewed it as far as session_max lets it
        (SECOND * 30, SECOND * 25),
        (SECOND * 20, ms(19_500)),
    ] {
        let world = Fixture::new();
        world.asks(place(1), Duration::ZERO, expires_in, ttl);
        world.reads(due - ms(50), &[]);
        assert!(world.passes(place(1), due - ms(1)).is_some(), "{expires_in:?}");
        assert_eq!(world.passes(place(1), due), None, "{expires_in:?}");
        world.asks(place(2), due, expires_in, None);
        world.reads(due + ms(10), &[]);
        assert_eq!(world.passes(place(2), due + ms(20)).is_some(), expires_in > SECOND);
    }
}

#[test]
fn a_place_is_known_until_its_end_and_only_as_itself_while_the_store_is_away() {
    let cache = ActiveCache::default();
    let note = |expires_in| cache.note(place(1), expires_in, cache.basis(), None);
    note(MINUTE);
    assert!(cache.left(place(1)).is_some_and(|left| left <= MINUTE));
    assert_eq!(cache.left(PlaceRef { ticket: 99, ..place(1) }), None);
    assert_eq!(cache.left(PlaceRef { epoch: Epoch([2; 8]), ..place(1) }), None);
    assert_eq!(cache.left(place(2)), None);
    assert_eq!(cache.passes(place(1)), None, "there is no reading at all");
    note(Duration::ZERO);
    assert_eq!(cache.left(place(1)), None);
    note(Duration::MAX);
    cache.forget(place(1));
    assert_eq!(cache.left(place(1)), None);
    note(MINUTE);
    cache.clear();
    assert_eq!(cache.left(place(1)), None);
}

#[test]
fn the_table_is_bounded_and_makes_room_for_the_living() {
    let world = Fixture::new();
    let in_one_shard = |number: u64| {
        let mut place = place(number);
        place.id.0[13] = 0;
        place
    };
    let most = shard::MOST as u64;
    for number in 0..=most {
        world.asks(in_one_shard(number), Duration::ZERO, SECOND, None);
    }
    assert_eq!(world.cache.shard(in_one_shard(0)).len().0, shard::MOST);
    assert_eq!(world.cache.left(in_one_shard(most)), None, "there is no room among the living");
    world.asks(in_one_shard(most), SECOND * 2, MINUTE, None);
    assert!(world.cache.left(in_one_shard(most)).is_some(), "the ended ones made room");
}

#[tokio::test]
async fn a_request_wakes_the_reader() {
    let cache = ActiveCache::default();
    assert!(!cache.in_use().was_noted());
    let waits = tokio::time::timeout(ms(20), cache.in_use().until_noted());
    assert!(waits.await.is_err(), "no request needs it");
    let (needed, basis) =
        tokio::join!(tokio::time::timeout(MINUTE, cache.in_use().until_noted()), async {
            cache.basis()
        });
    assert!(needed.is_ok() && !basis.is_local());
    assert!(cache.in_use().was_noted() && !cache.in_use().was_noted());
}
