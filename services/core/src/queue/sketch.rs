//! The line in outline, from which a process answers polls by itself.

use std::time::Duration;

use super::outlook::Outlook;
use super::place::{Epoch, Place, Standing, Ticket, Wait};
use super::{Queue, scripts};
use crate::store::{Error, Repeat};

/// A queue that gets a new epoch so often while it is read is not read.
const ATTEMPTS: usize = 3;

/// The parts of an outline are made within this time.
const APART: Duration = Duration::from_millis(100);

/// Which line the script reads.
const WAITING: u8 = 0;
const RETURNED: u8 = 1;

/// The line at one time.
pub struct Sketch {
    /// The epoch of its tickets.
    pub epoch: Epoch,
    /// When the slot was opened in which visitors are seen, in µs of queue time; `None` before the
    /// first poll. Another number would come again if Redis went back to older data.
    pub slot: Option<u64>,
    /// Whether the rule is in force.
    pub local_answers: bool,
    /// Whether a check-in period is under way.
    pub check_in: bool,
    waiting: Outline,
    returned: Outline,
    outlook: Option<Outlook>,
}

/// Places in the order of their tickets, all of them or some.
#[derive(Debug, Default)]
struct Outline {
    /// How many places there are.
    length: u64,
    /// How long ago it was so.
    age: Duration,
    /// Rank (0 = next) and ticket of some of them: the first, the last, and enough between.
    points: Vec<(u64, Ticket)>,
}

/// What one call of the script returns.
struct Part {
    /// With the part of the line that was requested in place of `waiting`.
    sketch: Sketch,
    has_returned: bool,
    /// The rank to go on from.
    next: Option<u64>,
}

impl Outline {
    /// How many have a smaller ticket, by interpolation.
    fn before(&self, ticket: Ticket) -> u64 {
        let next = self.points.partition_point(|(_, known)| *known < ticket);
        let Some(&(rank, known)) = self.points.get(next) else { return self.length };
        if known == ticket || next == 0 {
            return rank;
        }
        let (rank_before, known_before) = self.points[next - 1];
        let (ranks, tickets) = (rank - rank_before, known - known_before);
        let share = u128::from(ticket - known_before) * u128::from(ranks) / u128::from(tickets);
        // One place at least has a smaller ticket, and one a greater one.
        let at_most = rank.saturating_sub(1).max(rank_before + 1);
        let rank = rank_before + u64::try_from(share).unwrap_or(ranks);
        rank.clamp(rank_before + 1, at_most)
    }

    /// The first and the last ticket.
    fn ends(&self) -> Option<(Ticket, Ticket)> {
        Some((self.points.first()?.1, self.points.last()?.1))
    }
}

impl Sketch {
    /// How long before the reading the line was so: another process had it made.
    pub fn age(&self) -> Duration {
        self.waiting.age.max(self.returned.age)
    }

    /// The ticket at the head of the line.
    pub fn front(&self) -> Option<Ticket> {
        self.waiting.ends().map(|(first, _)| first)
    }

    /// A place that has been in line since its join, to 3 % of its position; `None` for a ticket
    /// before the head of the line or behind its end.
    pub fn place(&self, ticket: Ticket) -> Option<Place> {
        let (first, last) = self.waiting.ends()?;
        if !(first..=last).contains(&ticket) {
            return None;
        }
        let position = self.waiting.before(ticket) + 1;
        let wait = self.wait(position, ticket);
        Some(Place { ticket, standing: Standing::Waiting { position, wait } })
    }

    /// How long a place at this position waits.
    fn wait(&self, position: u64, ticket: Ticket) -> Wait {
        let turn = position + self.returned.before(ticket);
        let unknown = || Wait::Unknown { before: turn - 1 };
        self.outlook.as_ref().map_or_else(unknown, |outlook| outlook.wait(turn))
    }

    /// How many are in line, without those who returned.
    pub fn waiting(&self) -> u64 {
        self.waiting.length
    }

    /// Positions and their tickets: from these [`Sketch::place`] follows.
    pub fn points(&self) -> impl Iterator<Item = (u64, Ticket)> {
        self.waiting.points.iter().map(|(rank, ticket)| (rank + 1, *ticket))
    }

    /// How long places wait at the first position, at the last one, and between them at positions
    /// that grow by half. Nothing if it is unknown.
    pub fn waits(&self) -> impl Iterator<Item = (u64, Wait)> {
        let last = self.waiting.length;
        let mut next = if self.outlook.is_some() { 1 } else { u64::MAX };
        let chosen = self.points().filter(move |(position, _)| {
            let is_chosen = *position >= next || (*position == last && next < u64::MAX);
            if is_chosen {
                next = position + position.div_ceil(2);
            }
            is_chosen
        });
        chosen.map(|(position, ticket)| (position, self.wait(position, ticket)))
    }

    /// The ticket at this position, or one at most 3 % before it.
    pub fn ticket_at(&self, position: u64) -> Option<Ticket> {
        let behind = self.waiting.points.partition_point(|(rank, _)| *rank < position);
        self.waiting.points.get(behind.checked_sub(1)?).map(|(_, ticket)| *ticket)
    }
}

impl Queue {
    /// The line in outline. `heard`: visitors have polled and were answered without Redis since the
    /// last call. `oldest`: it may be one that was made for another process so long ago.
    pub async fn sketch(&self, heard: bool, oldest: Duration) -> Result<Sketch, Error> {
        let mut heard = heard;
        for _ in 0..ATTEMPTS {
            if let Some(sketch) = self.sketch_of_one_epoch(heard, oldest).await? {
                return Ok(sketch);
            }
            heard = false;
        }
        let detail = "the epoch changes all the time".to_owned();
        Err(Error::Reply { operation: scripts::SKETCH.name, detail })
    }

    /// `None` when the queue got a new epoch meanwhile.
    async fn sketch_of_one_epoch(
        &self,
        heard: bool,
        oldest: Duration,
    ) -> Result<Option<Sketch>, Error> {
        let Part { mut sketch, has_returned, next } = self.part(heard, WAITING, 0, oldest).await?;
        // If the first part is new, old ones do not fit it.
        let oldest = oldest.min(sketch.age() + APART);
        let waiting = self.rest(sketch.epoch, WAITING, sketch.waiting, next, oldest).await?;
        let Some(waiting) = waiting else { return Ok(None) };
        sketch.waiting = waiting;
        let from = has_returned.then_some(0);
        let none = Outline::default();
        let returned = self.rest(sketch.epoch, RETURNED, none, from, oldest).await?;
        Ok(returned.map(|returned| Sketch { returned, ..sketch }))
    }

    /// Reads the rest of an outline from a rank on; `None` when the queue has another epoch.
    async fn rest(
        &self,
        epoch: Epoch,
        line: u8,
        mut outline: Outline,
        mut from: Option<u64>,
        oldest: Duration,
    ) -> Result<Option<Outline>, Error> {
        while let Some(rank) = from {
            let Part { sketch, next, .. } = self.part(false, line, rank, oldest).await?;
            if sketch.epoch != epoch {
                return Ok(None);
            }
            outline.length = sketch.waiting.length;
            outline.age = outline.age.max(sketch.waiting.age);
            let last = outline.points.last().copied();
            let is_behind = |(rank, ticket): &(u64, Ticket)| {
                last.is_none_or(|last| *rank > last.0 && *ticket > last.1)
            };
            outline.points.extend(sketch.waiting.points.into_iter().filter(is_behind));
            from = next;
        }
        Ok(Some(outline))
    }

    /// One call.
    async fn part(
        &self,
        heard: bool,
        line: u8,
        from: u64,
        oldest: Duration,
    ) -> Result<Part, Error> {
        let args = self.entity().args().with(u8::from(heard)).with(line).with(from);
        let args = args.with(u64::try_from(oldest.as_micros()).unwrap_or(u64::MAX));
        let mut reply = self.entity().ask(&scripts::SKETCH, args, Repeat::Never).await?;
        let epoch = Epoch(reply.exactly()?);
        let mut numbers = reply.packed()?;
        let slot = Some(numbers.count()?).filter(|slot| *slot > 0);
        let local_answers = numbers.count()? == 1;
        let check_in = numbers.count()? > 0;
        let has_returned = numbers.count()? > 0;
        let age = Duration::from_micros(numbers.count()?);
        let length = numbers.count()?;
        let next = Some(numbers.count()?).filter(|rank| *rank > 0);
        let count = numbers.len() / 2;
        let mut points = Vec::with_capacity(count);
        for _ in 0..count {
            points.push((numbers.count()?, numbers.count()?));
        }
        numbers.end()?;
        let sketch = Sketch {
            epoch,
            slot,
            local_answers,
            check_in,
            waiting: Outline { length, age, points },
            returned: Outline::default(),
            outlook: Outlook::read(&mut reply)?,
        };
        Ok(Part { sketch, has_returned, next })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The points of a line as the script chooses them.
    fn outline(tickets: &[Ticket]) -> Outline {
        let length = tickets.len() as u64;
        let (mut ranks, mut rank) = ((0..length.min(64)).collect::<Vec<_>>(), 64);
        while rank < length {
            let step = rank * 3 / 100 + 1;
            let equal_steps = (0..8).map(|n| rank + n * step).take_while(|rank| *rank < length - 1);
            ranks.extend(equal_steps);
            rank += 8 * step;
        }
        ranks.extend((length > 64).then(|| length - 1));
        Outline {
            length,
            age: Duration::ZERO,
            points: ranks.iter().map(|rank| (*rank, tickets[*rank as usize])).collect(),
        }
    }

    proptest! {
        /// Visitors leave anywhere in the line, with every probability.
        #[test]
        fn a_position_is_at_most_3_percent_off(
            gaps in proptest::collection::vec(prop_oneof![9 => Just(1u64), 1 => 2..300u64], 1..3_000)
        ) {
            let tickets: Vec<_> = gaps.iter().scan(0, |ticket, gap| {
                *ticket += gap;
                Some(*ticket)
            }).collect();
            let outline = outline(&tickets);
            for (rank, ticket) in tickets.iter().enumerate() {
                let (true_rank, shown) = (rank as u64, outline.before(*ticket));
                let off = true_rank.abs_diff(shown);
                prop_assert!(off * 100 <= 3 * (true_rank + 1), "{true_rank} is {shown}");
            }
        }
    }

    #[test]
    fn tickets_outside_of_the_line_have_no_place() {
        let sketch = |tickets: &[Ticket]| Sketch {
            epoch: Epoch([7; 8]),
            slot: None,
            local_answers: true,
            check_in: false,
            waiting: outline(tickets),
            returned: Outline::default(),
            outlook: None,
        };
        let place = |tickets: &[Ticket], ticket| sketch(tickets).place(ticket);
        assert_eq!(place(&[], 1), None);
        assert_eq!(place(&[3, 5, 9], 2), None);
        assert_eq!(place(&[3, 5, 9], 10), None);
        assert_eq!(place(&[3, 5, 9], 9).map(|place| place.position()), Some(3));
        assert_eq!(place(&[3], 3).map(|place| place.position()), Some(1));
    }

    #[test]
    fn the_returned_come_before_all_later_tickets() {
        let sketch = Sketch {
            epoch: Epoch([7; 8]),
            slot: Some(1),
            local_answers: true,
            check_in: false,
            waiting: outline(&[10, 20, 30]),
            returned: outline(&[5, 15, 25]),
            outlook: None,
        };
        let waits = |ticket| sketch.place(ticket).map(|place| place.standing);
        let expected =
            |position, before| Some(Standing::Waiting { position, wait: Wait::Unknown { before } });
        assert_eq!(waits(10), expected(1, 1));
        assert_eq!(waits(20), expected(2, 3));
        assert_eq!(waits(30), expected(3, 5));
    }
}
