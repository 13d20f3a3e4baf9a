//! A line that does not move, with visitors who poll at either version, at both, or not at all.

use std::time::{Duration, Instant};

use anteroom_testkit::{
    PATIENCE,
    witness::{Call, Caller, Record, Rules, Scene, Shown},
};
use tokio::time::sleep;

use crate::side_by_side::{NEW, OLD, SideBySide, Version};

/// One visitor has a session that lasts for the whole test.
const RULES: &str = "capacity = 1\nclaim_ttl = \"10m\"\nsession_ttl = \"10m\"\n\
    session_max = \"10m\"\nidle_ttl = \"60s\"\nkeep_ttl = \"60s\"\nfirst_poll_ttl = \"30s\"\n\
    joins_per_address = \"none\"\nplaces_per_address = 0\nrequests_per_place = 0\n";

fn rules() -> Rules {
    Rules {
        capacity: Some(1),
        claim_ttl: Duration::from_secs(600),
        session_ttl: Duration::from_secs(600),
        idle_ttl: Duration::from_secs(60),
        first_poll_ttl: Duration::from_secs(30),
        local_answers: true,
        ..Rules::default()
    }
}

/// What a busy machine may add.
const MARGIN: Duration = Duration::from_secs(15);
/// No answer is from a reading of the line that is older.
const FRESH: Duration = Duration::from_secs(2);
/// A visitor is inactive after `idle_ttl` and a slot.
const INACTIVE: Duration = Duration::from_secs(75);

const IN_LINE: u32 = 18;
const SILENT: u64 = 3;

/// Who polls where: a third at this version, a third at the previous one, the others in turn.
fn next_door(visitor: &Caller) -> u8 {
    match visitor.visitor % 3 {
        0 => NEW,
        1 => OLD,
        _ => 1 - visitor.door,
    }
}

struct Room {
    sides: SideBySide,
    /// Has the only session.
    holder: Caller,
    /// In the order of their tickets.
    line: Vec<Caller>,
}

impl Room {
    /// Each visitor polls once, and is in line. The holder passes at both versions.
    async fn round(&mut self) {
        for door in [OLD, NEW] {
            self.holder.door = door;
            let pass = self.holder.ask(Call::Authorize).await;
            assert!(matches!(pass.shown, Shown::Active { .. }), "{pass:?}");
        }
        for visitor in &mut self.line {
            visitor.door = next_door(visitor);
            let place = visitor.ask(Call::Place).await;
            assert!(matches!(place.shown, Shown::Waiting { .. }), "{}: {place:?}", visitor.visitor);
        }
        sleep(Duration::from_millis(200)).await;
    }

    /// How many of the polls of all visitors at this version are answered by Redis.
    async fn polls_at_redis(&mut self) -> u32 {
        let before = self.sides.polls_at_redis().await;
        for (visitor, rank) in self.line.iter_mut().zip(1..) {
            visitor.door = NEW;
            let place = visitor.ask(Call::Place).await;
            // Inactive visitors in front are not counted.
            assert_eq!(place.shown, Shown::Waiting { position: Some(rank) }, "{place:?}");
        }
        u32::try_from(self.sides.polls_at_redis().await - before).expect("a few")
    }

    /// Goes on until this version answers most polls from memory.
    async fn until_answers_are_local(&mut self) {
        let end = Instant::now() + 2 * PATIENCE;
        // Redis answers the first visitors in line.
        while self.polls_at_redis().await > IN_LINE / 2 {
            assert!(Instant::now() < end, "the polls need Redis");
            self.round().await;
        }
    }

    /// Redis answers each poll, for longer than this version takes to read the line.
    async fn answers_are_exact(&mut self) {
        let begin = Instant::now();
        while begin.elapsed() < FRESH {
            assert_eq!(self.polls_at_redis().await, IN_LINE);
            self.round().await;
        }
    }
}

/// Joins and polls once.
async fn comes(scene: &Scene, visitor: u32) -> Caller {
    let mut caller = Caller::new(scene, visitor);
    let is_waiting = |shown: &Shown| matches!(shown, Shown::Waiting { .. });
    caller.ask_until(Call::Join, is_waiting).await;
    caller.ask_until(Call::Place, is_waiting).await;
    caller
}

fn ticket(visitor: &Caller) -> u64 {
    visitor.token.as_ref().expect("a token").place.ticket
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn promise_05_visitors_who_poll_at_either_version_stay_in_line() {
    let Some((sides, old)) = SideBySide::open("desk", RULES).await else { return };
    let scene = sides.scene();
    let mut holder = Caller::new(&scene, 0);
    holder.ask_until(Call::Join, |shown| matches!(shown, Shown::Ready { .. })).await;
    holder.ask_until(Call::Claim, |shown| matches!(shown, Shown::Active { .. })).await;
    let mut line = Vec::new();
    for visitor in 1..=IN_LINE {
        line.push(comes(&scene, visitor).await);
    }

    // The rule of the previous release is in force.
    let mut room = Room { sides, holder, line };
    room.answers_are_exact().await;

    // A scheduler of this version starts beside the other one.
    let new = room.sides.scheduler(Version::New).await;
    room.until_answers_are_local().await;
    // Ends that one version learns from the other are in another record.
    let aside = Scene { record: Record::new(), ..scene.clone() };
    let mut leaving = Vec::new();
    for visitor in 2_000..2_003 {
        leaving.push(comes(&aside, visitor).await);
    }
    let mut silent = Vec::new();
    for visitor in 3_000..3_000 + SILENT as u32 {
        silent.push(comes(&scene, visitor).await);
    }
    let silent_since = Instant::now();
    ends_of_the_previous_release_show(&mut room, leaving).await;

    // All that time both schedulers look for visitors who are silent.
    loop {
        room.round().await;
        let queue = room.sides.queue().await;
        let (away, depth) = (queue["away"].as_u64(), queue["depth"].as_u64());
        assert!(away <= Some(SILENT) && depth >= Some(u64::from(IN_LINE)), "{queue}");
        if away == Some(SILENT) {
            break;
        }
        assert!(silent_since.elapsed() < INACTIVE + PATIENCE, "{queue}");
    }
    assert_eq!(room.sides.returned().await, 0, "no other visitor was inactive");

    // The roll-back.
    new.end().await;
    old.end().await;
    let old = room.sides.scheduler(Version::Old).await;
    let since = Instant::now();
    while since.elapsed() < FRESH {
        room.round().await;
    }
    room.answers_are_exact().await;
    room.holder.ask(Call::Leave).await;
    for door in [OLD, NEW] {
        room.line[0].door = door;
        room.line[0].ask_until(Call::Place, |shown| matches!(shown, Shown::Ready { .. })).await;
    }
    scene.record.hold_to(&rules());
    old.end().await;
    room.sides.end().await;
}

/// Two visitors leave and one is evicted through the previous release, while this version answers
/// them from memory.
async fn ends_of_the_previous_release_show(room: &mut Room, mut leaving: Vec<Caller>) {
    // Their polls are answered from memory.
    let end = Instant::now() + 2 * PATIENCE;
    loop {
        let before = room.sides.polls_at_redis().await;
        for visitor in &mut leaving {
            visitor.door = NEW;
            visitor.ask(Call::Place).await;
        }
        if room.sides.polls_at_redis().await == before {
            break;
        }
        assert!(Instant::now() < end, "the polls need Redis");
        room.round().await;
    }
    for visitor in &mut leaving[..2] {
        visitor.door = OLD;
        assert_eq!(visitor.ask(Call::Leave).await.status, Some(204));
    }
    room.sides.evict(OLD, ticket(&leaving[2])).await;
    let ended = Instant::now();
    let mut reasons = ["left", "left", "evicted"].iter();
    for visitor in &mut leaving {
        let reason = reasons.next().expect("one for each");
        visitor.door = OLD;
        let gone = Shown::Gone { reason: (*reason).to_owned() };
        assert_eq!(visitor.ask(Call::Place).await.shown, gone, "by the version that ended it");
        visitor.door = NEW;
        loop {
            let place = visitor.ask(Call::Place).await;
            if place.shown == gone {
                assert_eq!((place.status, &*place.code), (Some(410), "place_gone"));
                break;
            }
            assert!(matches!(place.shown, Shown::Waiting { .. }), "{place:?}");
            assert!(ended.elapsed() < FRESH + MARGIN, "{place:?}");
            room.round().await;
        }
    }
}
