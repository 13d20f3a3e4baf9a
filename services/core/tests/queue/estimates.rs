//! Estimated waits, compared with the true ones: rooms in virtual time whose sessions end at
//! random, and the estimates in a line into which places have returned.

use std::collections::VecDeque;
use std::time::Duration;

use anteroom_core::queue::{Override, Pace, PlaceRef, Queue, Rules, State, Status};
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};

use super::line::{before, capacity, join, join_each, look, rate, room, tick};
use super::support::TimedStore;

/// How long visitors stay.
#[derive(Clone, Copy, PartialEq)]
enum Stay {
    /// All the same.
    Fixed,
    /// Each end is as likely at any moment.
    Random,
}

/// A room, and who comes to it.
#[derive(Clone)]
struct Scenario {
    rules: Rules,
    stay: Stay,
    stay_seconds: f64,
    /// From this second on they stay so long.
    then: Option<(u64, f64)>,
    /// Places in line, kept up by joins.
    line: usize,
    /// Of the places in line so many give up each second.
    give_up: f64,
    /// Looks are compared from this second …
    from: u64,
    /// … to this one,
    to: u64,
    /// so many seconds apart.
    every: u64,
}

fn scenario(rules: Rules, stay: Stay, stay_seconds: f64) -> Scenario {
    let line = 40;
    Scenario { rules, stay, stay_seconds, then: None, line, give_up: 0.0, from: 0, to: 0, every: 0 }
}

/// A visitor in line.
struct Waiting {
    of: PlaceRef,
    /// The estimate at each look: when, the median and the slow wait.
    estimates: Vec<(u64, Duration, Option<Duration>)>,
}

/// What came of the looks: how many got no estimate, and of each of the others the true wait and
/// the estimate.
#[derive(Default)]
struct Looks {
    unknown: usize,
    known: Vec<(f64, f64, Option<f64>)>,
}

impl Looks {
    fn unknown_share(&self) -> f64 {
        self.unknown as f64 / (self.unknown + self.known.len()) as f64
    }

    /// By how much half of the estimates were above the truth, in parts of it.
    fn median_error(&self) -> f64 {
        let mut errors: Vec<_> = self
            .known
            .iter()
            .map(|(truth, estimate, _)| (estimate - truth) / truth.max(1.0))
            .collect();
        errors.sort_by(f64::total_cmp);
        errors.get(errors.len() / 2).copied().unwrap_or(f64::NAN)
    }

    /// How many of those with a slow wait waited no longer.
    fn kept_share(&self) -> f64 {
        let slow: Vec<_> =
            self.known.iter().filter_map(|(truth, _, slow)| Some((*truth, (*slow)?))).collect();
        slow.iter().filter(|(truth, slow)| truth <= slow).count() as f64 / slow.len() as f64
    }

    #[track_caller]
    fn hold(&self, what: &str) {
        let (looks, unknown) = (self.unknown + self.known.len(), self.unknown_share());
        let (error, kept) = (self.median_error(), self.kept_share());
        eprintln!("{what}: {looks} looks, unknown {unknown:.3}, error {error:+.3}, p90 {kept:.3}");
        assert!(looks >= 200, "{what}: {looks} looks");
        assert!(unknown < 0.05, "{what}: {unknown:.2} got no estimate");
        assert!(
            error.abs() <= 0.2,
            "{what}: half of the estimates were {error:+.2} or more too much"
        );
        assert!(kept >= 0.85, "{what}: {kept:.2} waited no longer than the slow wait");
    }
}

/// These rules, by which no time is up.
fn patient(rules: Rules) -> Rules {
    let day = Duration::from_secs(86_400);
    Rules {
        claim_ttl: day,
        session_ttl: day,
        session_max: day,
        idle_ttl: day,
        keep_ttl: day,
        first_poll_ttl: day,
        ..rules
    }
}

/// Plays a room in virtual time.
async fn play(world: &TimedStore, hall: &Scenario) -> Looks {
    const STEP: u64 = 2;
    let queue = world.queue("hall", patient(hall.rules.clone())).await;
    let mut random = StdRng::seed_from_u64(9);
    let mut stay = hall.stay_seconds;
    let mut ends_in = |stay: f64| match hall.stay {
        Stay::Fixed => stay,
        Stay::Random => -stay * (1.0 - random.random::<f64>()).ln(),
    };
    let mut choose = StdRng::seed_from_u64(13);
    let mut line: VecDeque<Waiting> = VecDeque::new();
    let mut inside: Vec<(f64, PlaceRef)> = Vec::new();
    let (mut visitors, mut second, mut promoted, mut watched) = (0, 0, 0, 0);
    let mut looks = Looks::default();
    while second < hall.to || watched > 0 {
        second += STEP;
        assert!(second < 2 * hall.to, "those with an estimate are promoted");
        let now = second as f64;
        world.pass(Duration::from_secs(STEP));
        if let Some((_, longer)) = hall.then.filter(|(at, longer)| second >= *at && stay != *longer)
        {
            stay = longer;
            if hall.stay == Stay::Random {
                // Who is inside is as likely to end at any moment, too, but by the new length.
                inside.iter_mut().for_each(|(end, _)| *end = now + ends_in(stay));
            }
        }
        let (over, rest) = inside.into_iter().partition(|(end, _)| *end <= now);
        inside = rest;
        let mut gone: Vec<_> = over.into_iter().map(|(_, of)| of).collect();
        line.retain(|waiting| {
            let stays = choose.random::<f64>() >= hall.give_up * STEP as f64;
            if !stays {
                gone.push(waiting.of);
                watched -= waiting.estimates.len();
            }
            stays
        });
        let leaves = gone.into_iter().map(|of| queue.leave(of));
        futures_util::future::try_join_all(leaves).await.expect("leaves");
        let joins = (line.len()..hall.line).map(|_| {
            visitors += 1;
            join(&queue, visitors)
        });
        for (of, place) in futures_util::future::join_all(joins).await {
            if place.status() == Status::Waiting {
                line.push_back(Waiting { of, estimates: Vec::new() });
            } else {
                queue.claim(of).await.expect("a claim");
                inside.push((now + ends_in(stay), of));
            }
        }
        let turns = usize::try_from(tick(&queue).await).expect("a number of places");
        promoted += turns;
        let next: Vec<_> = line.drain(..turns).collect();
        let claims = next.iter().map(|waiting| queue.claim(waiting.of));
        futures_util::future::try_join_all(claims).await.expect("claims");
        for Waiting { of, estimates } in next {
            inside.push((now + ends_in(stay), of));
            watched -= estimates.len();
            looks.known.extend(estimates.into_iter().map(|(at, eta, slow)| {
                ((second - at) as f64, eta.as_secs_f64(), slow.map(|slow| slow.as_secs_f64()))
            }));
        }
        let looks_now = (hall.from..hall.to).contains(&second) && second % hall.every < STEP;
        if looks_now && promoted >= 20 && !line.is_empty() {
            let at = choose.random_range(0..line.len());
            let place = look(&queue, line[at].of).await;
            match place.eta().0 {
                None => looks.unknown += 1,
                Some(eta) => {
                    line[at].estimates.push((second, eta, place.eta().1));
                    watched += 1;
                }
            }
        }
        if second % 20 < STEP {
            queue.sweep().await.expect("a sweep");
        }
    }
    looks
}

/// Plays the room with both kinds of stays, steady from the beginning, and from a window after the
/// stays have become as long as each of `then`.
async fn hold_steady_and_changed(capacity_of: u64, stay_seconds: u64, then: &[u64], line: usize) {
    let world = TimedStore::new().await;
    // A window holds five minutes and 20 turns.
    let window = |stay: u64| 300.max(20 * stay / capacity_of + 1);
    for stay in [Stay::Random, Stay::Fixed] {
        let kind = if stay == Stay::Fixed { "fixed" } else { "random" };
        let steady =
            Scenario { line, ..scenario(capacity(capacity_of), stay, stay_seconds as f64) };
        // So long that there are windows enough, for the ends of few sessions scatter widely.
        let length = 10 * window(stay_seconds);
        let every = |length: u64| (length / 260).max(2);
        // Nothing is known before the first session has ended.
        let from = stay_seconds + 2;
        let looks = Scenario { from, to: from + length, every: every(length), ..steady.clone() };
        world.begin_again().await;
        let what = format!("capacity {capacity_of}, {kind} stays of {stay_seconds} s");
        play(&world, &looks).await.hold(&what);
        for &longer in then {
            let at = 2 * window(stay_seconds);
            // Who came before stays as it was, where stays are fixed.
            let from = at + stay_seconds + window(longer);
            let length = 10 * window(longer);
            let then = Some((at, longer as f64));
            let looks =
                Scenario { then, from, to: from + length, every: every(length), ..steady.clone() };
            world.begin_again().await;
            play(&world, &looks).await.hold(&format!("{what}, then of {longer} s"));
        }
    }
}

#[tokio::test]
async fn estimates_are_true_in_a_room_of_10() {
    hold_steady_and_changed(10, 180, &[360, 90], 40).await;
}

#[tokio::test]
async fn estimates_are_true_in_a_room_of_10_with_short_stays() {
    hold_steady_and_changed(10, 60, &[], 40).await;
}

#[tokio::test]
async fn estimates_are_true_in_a_room_of_20() {
    hold_steady_and_changed(20, 180, &[360, 90], 60).await;
}

#[tokio::test]
async fn estimates_are_true_in_a_room_of_1000() {
    hold_steady_and_changed(1_000, 300, &[600, 150], 400).await;
}

#[tokio::test]
async fn estimates_are_true_at_a_rate() {
    let world = TimedStore::new().await;
    for pace in [Pace::Even, Pace::Batch] {
        let rules = rate(400, Duration::from_secs(200), pace);
        let steady =
            Scenario { line: 900, to: 2_400, every: 8, ..scenario(rules, Stay::Fixed, 1.0) };
        world.begin_again().await;
        play(&world, &steady).await.hold(&format!("two a second, {pace:?}"));
    }
}

/// What turns took by a rule that is in force no more says nothing of the next ones.
#[tokio::test]
async fn estimates_follow_a_rule_that_changes() {
    let world = TimedStore::new().await;
    let queue = world.queue("hall", rate(1, Duration::from_secs(5), Pace::Even)).await;
    join_each(&queue, 0..40).await;
    // Twelve turns in a minute are counted.
    for _ in 0..600 {
        world.pass(Duration::from_millis(100));
        tick(&queue).await;
    }
    let last = join(&queue, 40).await.0;
    let slowly = look(&queue, last).await.eta().0.expect("a wait");
    assert!((100.0..200.0).contains(&slowly.as_secs_f64()), "{slowly:?}");
    let faster = [Override::Batch(Some(300)), Override::Interval(Some(Duration::from_secs(10)))];
    queue.override_rules(&faster, None).await.expect("an override");
    world.pass(Duration::from_millis(100));
    tick(&queue).await;
    join_each(&queue, 41..341).await;
    let last = join(&queue, 341).await.0;
    let fast = look(&queue, last).await.eta().0.expect("a wait");
    assert!((5.0..15.0).contains(&fast.as_secs_f64()), "300 places, 30 a second: {fast:?}");
    queue.override_rules(&[Override::Batch(Some(3))], None).await.expect("an override");
    world.pass(Duration::from_millis(100));
    let slow = look(&queue, last).await.eta().0.expect("a wait");
    assert!(slow.as_secs_f64() > 500.0, "300 places, one in 3.3 s: {slow:?}");
}

/// Where capacity makes turns rare it still does when it changes, and a batch that is no bound
/// says nothing: no turn comes until the room has emptied down to a lower one, and by the batch a
/// line would come at once.
#[tokio::test]
async fn estimates_in_a_full_room_follow_a_capacity_that_changes() {
    for batch in [Some(2_200), None] {
        let world = TimedStore::new().await;
        let queue = world.queue("hall", Rules { batch, ..patient(capacity(10)) }).await;
        let mut inside = VecDeque::new();
        let mut line = VecDeque::new();
        for n in 0..210 {
            let (of, place) = join(&queue, n).await;
            if place.status() == Status::Ready {
                queue.claim(of).await.expect("a claim");
                inside.push_back(of);
            } else {
                line.push_back(of);
            }
        }
        let wait = async |queue: &Queue, of: PlaceRef| {
            look(queue, of).await.eta().0.expect("a wait").as_secs_f64()
        };
        // One turn in six seconds, for five minutes.
        for second in 0..300 {
            world.pass(Duration::from_secs(1));
            if second % 6 == 0 {
                queue.leave(inside.pop_front().expect("a visitor")).await.expect("a leave");
            }
            for _ in 0..tick(&queue).await {
                let of = line.pop_front().expect("a place in line");
                queue.claim(of).await.expect("a claim");
                inside.push_back(of);
            }
        }
        let last = *line.back().expect("a place in line");
        let before = wait(&queue, last).await;
        assert!((850.0..1_000.0).contains(&before), "150 places, one in 6 s: {before}");
        let change = async |capacity| {
            let rules = [Override::Capacity(capacity)];
            queue.override_rules(&rules, None).await.expect("an override");
            for _ in 0..10 {
                world.pass(Duration::from_millis(100));
                assert_eq!(tick(&queue).await, 0, "the room is full");
            }
            wait(&queue, last).await
        };
        let half = change(Some(5)).await;
        assert!((1.9..2.1).contains(&(half / before)), "{half} after {before}");
        for capacity in [4, 5].into_iter().cycle().take(30) {
            let estimate = change(Some(capacity)).await;
            assert!(estimate > 0.9 * half, "capacity {capacity}: {estimate} after {half}");
        }
        let again = change(None).await;
        assert!((0.9..1.1).contains(&(again / before)), "{again} after {before}");
    }
}

#[tokio::test]
async fn estimates_know_who_gives_up() {
    let world = TimedStore::new().await;
    for (give_up, line) in [(0.001, 60), (0.003, 100)] {
        let steady = scenario(capacity(20), Stay::Random, 120.0);
        let looks = Scenario { line, give_up, from: 600, to: 6_600, every: 12, ..steady };
        world.begin_again().await;
        play(&world, &looks).await.hold(&format!("{give_up} of {line} give up each second"));
    }
}

#[tokio::test]
async fn estimates_are_known_where_the_line_often_runs_empty() {
    let world = TimedStore::new().await;
    let busy = scenario(capacity(10), Stay::Fixed, 60.0);
    let looks = play(&world, &Scenario { line: 3, to: 3_600, every: 12, ..busy }).await;
    assert!(looks.known.len() >= 200 && looks.unknown_share() < 0.05, "{}", looks.unknown_share());
}

/// These look, at once.
async fn heard(queue: &Queue, places: &[PlaceRef]) {
    futures_util::future::join_all(places.iter().map(|of| look(queue, *of))).await;
}

#[tokio::test]
async fn those_who_came_back_count_in_estimates_but_in_no_position() {
    let minute = Duration::from_secs(60);
    // Two a second.
    let rules = Rules {
        idle_ttl: minute,
        first_poll_ttl: minute,
        claim_ttl: 10 * minute,
        ..rate(200, Duration::from_secs(100), Pace::Even)
    };
    let (world, queue) = room(rules).await;
    let paused = [Override::State(Some(State::Paused))];
    queue.override_rules(&paused, None).await.expect("an override");
    let places = join_each(&queue, 0..180).await;
    heard(&queue, &places).await;
    let (sleepers, others) = places.split_at(120);
    for _ in 0..15 {
        world.run(&queue, Duration::from_secs(10)).await;
        heard(&queue, others).await;
    }
    assert_eq!(queue.snapshot().await.expect("a snapshot").away, 120);
    assert_eq!(before(&look(&queue, others[0]).await), Some(0), "who is away is not in front");
    heard(&queue, sleepers).await;
    for (n, of) in (0..).zip(sleepers) {
        let place = look(&queue, *of).await;
        assert_eq!(
            (place.position(), before(&place)),
            (1, Some(n)),
            "none of the others is in front"
        );
    }
    for (n, of) in (0..).zip(others) {
        let place = look(&queue, *of).await;
        assert_eq!((place.position(), before(&place)), (n + 1, Some(120 + n)));
    }
    let (new, place) = join(&queue, 1_000).await;
    assert_eq!((place.position(), before(&place)), (61, Some(180)));
    // Together in one call they get the same.
    let (again, last) = tokio::join!(look(&queue, new), look(&queue, sleepers[119]));
    assert_eq!((before(&again), before(&last)), (Some(180), Some(119)));

    queue.override_rules(&[Override::State(None)], None).await.expect("an override");
    let joined = look(&queue, new).await;
    let returned = look(&queue, sleepers[79]).await;
    assert_eq!((before(&joined), joined.eta().0), (None, Some(Duration::from_millis(90_500))));
    assert_eq!((returned.position(), returned.eta().0), (1, Some(Duration::from_secs(40))));
    let (mut waited, mut waited_back) = (0, None);
    while look(&queue, new).await.status() == Status::Waiting {
        heard(&queue, &places).await;
        world.run(&queue, Duration::from_secs(1)).await;
        waited += 1;
        if waited_back.is_none() && look(&queue, sleepers[79]).await.status() == Status::Ready {
            waited_back = Some(waited);
        }
        assert!(waited < 200, "it is promoted");
    }
    assert!((85..=95).contains(&waited), "estimate 90.5 s, waited {waited}");
    assert!((37..=43).contains(&waited_back.unwrap_or(0)), "estimate 40 s, waited {waited_back:?}");
}

#[tokio::test]
async fn no_estimate_is_shorter_than_what_is_left_of_a_roll_call() {
    let (world, queue) = room(rate(100, Duration::from_secs(10), Pace::Even)).await;
    let paused = [Override::State(Some(State::Paused))];
    queue.override_rules(&paused, None).await.expect("an override");
    join_each(&queue, 0..20).await;
    world.pass(Duration::from_secs(3_600));
    assert_eq!(tick(&queue).await, 0, "queue time has leapt");
    let (of, _) = join(&queue, 20).await;
    queue.override_rules(&[Override::State(None)], None).await.expect("an override");
    let place = look(&queue, of).await;
    assert_eq!((place.position(), place.eta().0), (21, Some(Duration::from_secs(60))));
    world.run(&queue, Duration::from_secs(4)).await;
    assert_eq!(look(&queue, of).await.eta().0, Some(Duration::from_secs(56)));
}

/// Most of a line close their tabs at once: no estimate expects more of the same, neither when they
/// are skipped nor when their places end.
#[tokio::test]
async fn estimates_do_not_take_one_departure_for_a_habit() {
    let rules = Rules {
        idle_ttl: Duration::from_secs(60),
        first_poll_ttl: Duration::from_secs(60),
        keep_ttl: Duration::from_secs(900),
        ..rate(1, Duration::from_secs(10), Pace::Batch)
    };
    let (world, queue) = room(rules).await;
    let places = join_each(&queue, 0..600).await;
    heard(&queue, &places).await;
    let stays: Vec<_> = places.iter().copied().skip(2).step_by(4).collect();
    let last = *stays.last().expect("some");
    let (mut looks, mut served) = (0, 0);
    for step in 1..=90 {
        heard(&queue, &stays[served..]).await;
        world.run(&queue, Duration::from_secs(15)).await;
        while look(&queue, stays[served]).await.status() != Status::Waiting {
            queue.claim(stays[served]).await.expect("a claim");
            served += 1;
        }
        let ahead = stays.len() - served;
        let place = look(&queue, last).await;
        // Once all the others have been skipped.
        if step >= 16 {
            let (estimate, truth) =
                (place.eta().0.expect("known").as_secs_f64(), 10.0 * ahead as f64);
            assert!(
                (0.75..=1.25).contains(&(estimate / truth)),
                "after {} s: estimate {estimate}, truth {truth}",
                15 * step
            );
            looks += 1;
        }
    }
    assert!(looks > 70, "{looks}");
}
