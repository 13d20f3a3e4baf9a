//! The board as a client reads it: `GET /v1/queues/{queue}/board`, and when to call
//! `GET …/token` instead.
//!
//! This is the algorithm of the documentation and of the waiting page. All of them use the examples
//! of `docs/reference/board-vectors.json`.

use std::time::{Duration, Instant};

use rand::Rng;
use serde::Deserialize;

/// Clients that see the same change of the board call `GET …/token` within this time.
const SPREAD: Duration = Duration::from_secs(10);

/// A board.
#[derive(Debug, Deserialize)]
struct Board {
    #[serde(flatten)]
    head: Head,
    #[serde(flatten)]
    line: Line,
}

/// What a client remembers of a board until the next.
#[derive(Debug, Deserialize)]
struct Head {
    /// Changes when all places end.
    epoch: String,
    /// The time until the next board.
    next_in_ms: u64,
    /// Whether each client is to call `GET …/token`.
    check_in: bool,
    /// The longest time between two calls of `GET …/token`.
    heartbeat_ms: u64,
}

/// The line on a board.
#[derive(Debug, Deserialize)]
pub struct Line {
    front: Option<u64>,
    points: Points,
    pace: Pace,
}

/// Positions and tickets.
#[derive(Debug, Deserialize)]
#[serde(try_from = "PointsDifferences")]
struct Points {
    positions: Vec<i64>,
    tickets: Vec<i64>,
}

/// Positions and how long places there wait; without any, the waits are unknown.
#[derive(Debug, Deserialize)]
#[serde(from = "PaceDifferences")]
struct Pace {
    positions: Vec<i64>,
    etas_ms: Vec<i64>,
    etas_p90_ms: Vec<i64>,
}

#[derive(Deserialize)]
struct PointsDifferences {
    position: Vec<i64>,
    ticket: Vec<i64>,
}

#[derive(Deserialize)]
struct PaceDifferences {
    position: Vec<i64>,
    eta_ms: Vec<i64>,
    eta_p90_ms: Vec<i64>,
}

impl TryFrom<PointsDifferences> for Points {
    type Error = String;

    fn try_from(shown: PointsDifferences) -> Result<Self, String> {
        let (positions, tickets) = (sums(&shown.position), sums(&shown.ticket));
        let grows = |numbers: &[i64]| numbers.is_sorted_by(|one, next| one < next);
        if positions.len() != tickets.len() || !grows(&positions) || !grows(&tickets) {
            return Err("a point must be behind the point before".to_owned());
        }
        Ok(Self { positions, tickets })
    }
}

impl From<PaceDifferences> for Pace {
    fn from(shown: PaceDifferences) -> Self {
        let [positions, etas_ms, etas_p90_ms] =
            [&shown.position, &shown.eta_ms, &shown.eta_p90_ms].map(|numbers| sums(numbers));
        Self { positions, etas_ms, etas_p90_ms }
    }
}

/// Numbers of which each is shown as the difference to the one before.
fn sums(differences: &[i64]) -> Vec<i64> {
    let add = |sum: &mut i64, difference: &i64| {
        *sum = sum.saturating_add(*difference);
        Some(*sum)
    };
    differences.iter().scan(0, add).collect()
}

/// What a board shows of a ticket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// 1 is next. Up to 3 % off.
    pub position: u64,
    /// How long it waits; none if unknown.
    pub eta_ms: Option<u64>,
    /// The wait that 9 of 10 visitors do not exceed; none if unknown.
    pub eta_p90_ms: Option<u64>,
}

impl Line {
    /// Where a ticket is in line; `None` before the first ticket and behind the last.
    pub fn at(&self, ticket: u64) -> Option<Standing> {
        let (points, pace) = (&self.points, &self.pace);
        let found = Found::among(&points.tickets, ticket)?;
        // Between two points one place at least is in front.
        let least = i128::from(*points.positions.get(found.before)?) + found.beyond.min(1);
        let position = u64::try_from(found.value(&points.positions)?.max(least)).ok()?;
        let wait = |waits: &[i64]| {
            let wait = Found::among(&pace.positions, position)?.value(waits)?;
            u64::try_from(wait).ok()
        };
        let (eta_ms, eta_p90_ms) = (wait(&pace.etas_ms), wait(&pace.etas_p90_ms));
        Some(Standing { position, eta_ms, eta_p90_ms })
    }
}

/// Where a number is among growing ones: so far beyond one of them, with such a step to the next.
struct Found {
    before: usize,
    beyond: i128,
    step: i128,
}

impl Found {
    fn among(points: &[i64], number: u64) -> Option<Self> {
        let next = points.partition_point(|point| i128::from(*point) <= i128::from(number));
        let before = next.checked_sub(1)?;
        let (number, at) = (i128::from(number), i128::from(points[before]));
        let (beyond, step) = (number - at, points.get(next).map(|next| i128::from(*next) - at));
        Some(Self { before, beyond, step: step.or((beyond == 0).then_some(1))? })
    }

    /// The value there, by interpolation.
    fn value(&self, values: &[i64]) -> Option<i128> {
        let value = i128::from(*values.get(self.before)?);
        if self.beyond == 0 {
            return Some(value);
        }
        let rise = i128::from(*values.get(self.before + 1)?) - value;
        Some(value + (rise * self.beyond).div_euclid(self.step))
    }
}

/// An answer that shows a *place* in line.
#[derive(Clone, Copy, Debug)]
pub struct PlaceShown {
    /// Its ticket.
    pub ticket: u64,
    /// When to look again.
    pub poll_after: Duration,
    /// While the head of the line has a smaller ticket, the board is enough.
    pub board_until_ticket: Option<u64>,
}

/// How a visitor in line follows it with the board.
#[derive(Debug)]
pub struct Reader {
    place: PlaceShown,
    shown_at: Instant,
    /// The part of the heartbeat time after which this visitor calls `GET …/token`.
    part: f64,
    last: Option<Head>,
    /// The queue has no board.
    is_off: bool,
}

/// What a visitor does after it has read the board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// It waits: its position and wait are these. It reads the board again later.
    Board(Standing),
    /// It calls `GET …/token` at a random moment within this time.
    Place(Duration),
}

impl Reader {
    /// The first answer that shows the place.
    pub fn new(place: PlaceShown, now: Instant, random: &mut impl Rng) -> Self {
        let part = random.random_range(0.8..1.0);
        Self { place, shown_at: now, part, last: None, is_off: false }
    }

    /// An answer shows the place.
    pub fn place(self, place: PlaceShown, now: Instant, random: &mut impl Rng) -> Self {
        Self { last: self.last, is_off: self.is_off, ..Self::new(place, now, random) }
    }

    /// The time until the next look.
    pub fn pause(&self) -> Duration {
        let next = self.last.as_ref().map_or(0, |last| last.next_in_ms);
        self.place.poll_after.max(Duration::from_millis(next))
    }

    /// Whether the next look is at the board; else it is `GET …/token`.
    pub fn is_next(&self, now: Instant) -> bool {
        let is_due = self.last.as_ref().is_some_and(|last| self.is_due(last, now));
        !self.is_off && !is_due && self.place.board_until_ticket.is_some()
    }

    /// Whether it is time for the heartbeat.
    fn is_due(&self, head: &Head, now: Instant) -> bool {
        let heartbeat = Duration::from_millis(head.heartbeat_ms).mul_f64(self.part);
        now.duration_since(self.shown_at) >= heartbeat
    }

    /// Reads the answer to a look at the board; there may be no answer.
    pub fn read(&mut self, status: Option<u16>, body: &[u8], now: Instant) -> Next {
        // For this visitor, for good.
        self.is_off |= status == Some(404);
        let board = || serde_json::from_slice::<Board>(body).ok();
        let Some(board) = status.filter(|status| *status == 200).and_then(|_| board()) else {
            return Next::Place(Duration::ZERO);
        };
        let next = self.next(&board, now);
        self.last = Some(board.head);
        next
    }

    fn next(&self, board: &Board, now: Instant) -> Next {
        let (head, last) = (&board.head, self.last.as_ref());
        let is_other_epoch = last.is_some_and(|last| last.epoch != head.epoch);
        let must_check_in = head.check_in && last.is_none_or(|last| !last.check_in);
        // Many see that at once. Their requests are spread, whatever else the board shows.
        if is_other_epoch || must_check_in {
            return Next::Place(SPREAD);
        }
        let is_due = self.is_due(head, now);
        let (front, until) = (board.line.front, self.place.board_until_ticket);
        let is_far = front.zip(until).is_some_and(|(front, until)| front < until);
        let standing = board.line.at(self.place.ticket).filter(|_| is_far && !is_due);
        standing.map_or(Next::Place(Duration::ZERO), Next::Board)
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng as _;
    use rand::rngs::StdRng;
    use serde_json::{Value, json};

    use super::*;

    const VECTORS: &str = include_str!("../../../docs/reference/board-vectors.json");

    #[derive(Deserialize)]
    struct Vector {
        name: String,
        board: Line,
        tickets: Vec<Expected>,
    }

    #[derive(Deserialize)]
    struct Expected {
        ticket: u64,
        position: Option<u64>,
        eta_ms: Option<u64>,
        eta_p90_ms: Option<u64>,
    }

    #[test]
    fn positions_and_waits_are_those_of_the_examples() {
        let vectors: Vec<Vector> = serde_json::from_str(VECTORS).expect("examples");
        let mut tickets = 0;
        for Vector { name, board, tickets: expected } in &vectors {
            for Expected { ticket, position, eta_ms, eta_p90_ms } in expected {
                let (eta_ms, eta_p90_ms) = (*eta_ms, *eta_p90_ms);
                let expected = position.map(|position| Standing { position, eta_ms, eta_p90_ms });
                assert_eq!(board.at(*ticket), expected, "{name}: {ticket}");
                tickets += 1;
            }
        }
        assert!(vectors.len() > 9 && tickets > 80, "{tickets} tickets");
    }

    /// 100 in line, the first of which has ticket 10.
    fn board() -> Value {
        json!({
            "queue": "hall", "epoch": "one", "as_of": 1, "next_in_ms": 1_000,
            "queue_state": "open", "check_in": false, "heartbeat_ms": 20_000, "front": 10,
            "points": { "position": [1, 99], "ticket": [10, 99] },
            "pace": { "position": [1, 99], "eta_ms": [1_000, 99_000], "eta_p90_ms": [] },
        })
    }

    fn with(field: &str, value: Value) -> Value {
        let mut board = board();
        board[field] = value;
        board
    }

    const PLACE: PlaceShown =
        PlaceShown { ticket: 59, poll_after: Duration::from_secs(3), board_until_ticket: Some(20) };

    fn reader(place: PlaceShown, now: Instant) -> Reader {
        Reader::new(place, now, &mut StdRng::seed_from_u64(1))
    }

    const AT_ONCE: Next = Next::Place(Duration::ZERO);
    const AT_50: Next =
        Next::Board(Standing { position: 50, eta_ms: Some(50_000), eta_p90_ms: None });

    #[test]
    fn far_from_the_head_the_board_is_enough() {
        let now = Instant::now();
        let reads =
            |place, status, body: String| reader(place, now).read(status, body.as_bytes(), now);
        let shows = |board: Value| reads(PLACE, Some(200), board.to_string());
        assert_eq!(shows(board()), AT_50);
        assert_eq!(shows(with("front", 19.into())), AT_50);
        let no_one = json!({ "position": [], "ticket": [] });
        let unsorted = json!({ "position": [1, 99], "ticket": [10, 0] });
        for (field, value) in [
            ("front", 20.into()),
            ("front", 21.into()),
            ("front", Value::Null),
            ("points", no_one),
            ("points", unsorted),
            ("points", Value::Null),
            // It has passed the ticket, or is not there yet.
            ("points", json!({ "position": [1, 99], "ticket": [60, 99] })),
            ("points", json!({ "position": [1, 40], "ticket": [10, 48] })),
            ("heartbeat_ms", 0.into()),
        ] {
            assert_eq!(shows(with(field, value.clone())), AT_ONCE, "{field}: {value}");
        }
        for status in [None, Some(304), Some(404), Some(503)] {
            assert_eq!(reads(PLACE, status, board().to_string()), AT_ONCE, "{status:?}");
        }
        assert_eq!(reads(PLACE, Some(200), "<html>".to_owned()), AT_ONCE);
        let near = PlaceShown { board_until_ticket: None, ..PLACE };
        assert_eq!(reads(near, Some(200), board().to_string()), AT_ONCE);
    }

    #[test]
    fn near_the_head_without_a_board_and_for_heartbeats_the_place_is_polled() {
        let (now, mut random) = (Instant::now(), StdRng::seed_from_u64(1));
        // As after the join.
        let near = PlaceShown { board_until_ticket: None, ..PLACE };
        let joined = reader(near, now);
        assert!(!joined.is_next(now));
        let mut reader = joined.place(PLACE, now, &mut random);
        assert!(reader.is_next(now) && reader.pause() == PLACE.poll_after);
        reader.read(Some(200), board().to_string().as_bytes(), now);
        let due = now + Duration::from_secs(20);
        assert!(reader.is_next(now) && !reader.is_next(due));
        let mut reader = reader.place(PLACE, due, &mut random);
        reader.read(Some(503), b"", due);
        assert!(reader.is_next(due));
        reader.read(Some(404), b"", due);
        assert!(!reader.is_next(due));
        assert!(!reader.place(PLACE, due, &mut random).is_next(due));
    }

    #[test]
    fn heartbeats_are_due_after_most_of_their_time() {
        let now = Instant::now();
        for seed in 0..20 {
            let mut reader = Reader::new(PLACE, now, &mut StdRng::seed_from_u64(seed));
            let mut reads = |after_ms| {
                let then = now + Duration::from_millis(after_ms);
                reader.read(Some(200), board().to_string().as_bytes(), then)
            };
            assert_eq!(reads(15_999), AT_50);
            let first = (16_000..=20_000).find(|after_ms| reads(*after_ms) == AT_ONCE);
            assert!(first.is_some(), "seed {seed}");
        }
    }

    #[test]
    fn what_all_clients_see_at_once_spreads_their_polls() {
        let now = Instant::now();
        let spread = Next::Place(SPREAD);
        let mut reader = reader(PLACE, now);
        let mut reads = |board: Value| reader.read(Some(200), board.to_string().as_bytes(), now);
        let check_in = || with("check_in", true.into());
        assert_eq!(reads(check_in()), spread, "also on the first board");
        assert_eq!(reads(check_in()), AT_50, "once");
        assert_eq!(reads(board()), AT_50);
        assert_eq!(reads(check_in()), spread);
        assert_eq!(reads(board()), AT_50);
        // A reset: no visitor is in line, which all see too.
        let mut empty = with("epoch", "two".into());
        empty["front"] = Value::Null;
        assert_eq!(reads(empty.clone()), spread);
        assert_eq!(reads(empty), AT_ONCE);
    }

    #[test]
    fn no_board_is_read_sooner_than_the_next_one_comes() {
        let now = Instant::now();
        let mut reader = reader(PLACE, now);
        reader.read(Some(200), with("next_in_ms", 5_000.into()).to_string().as_bytes(), now);
        assert_eq!(reader.pause(), Duration::from_secs(5));
    }
}
