//! The shop: seats of a schedule, each free, reserved for a while, or sold for good.
//!
//! A decision is one write transaction: it takes the write lock before it looks, and the table's
//! own UNIQUE constraints have the last word. An answer is given only after the commit has reached
//! the disk.

mod database;

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use rusqlite::{Connection, ErrorCode, OptionalExtension as _, Row, TransactionBehavior};
use serde::Serialize;

use self::database::BUSY_TIMEOUT;
pub use self::database::{Database, Schedule};

/// One concert of the schedule.
#[derive(Clone, Debug, Serialize)]
pub struct Show {
    /// 1, 2, 3 …
    pub id: i64,
    pub title: String,
    /// Local date and time, for people.
    pub starts_at: String,
}

/// A concert and what is left of it.
#[derive(Debug, Serialize)]
pub struct Offer {
    #[serde(flatten)]
    pub show: Show,
    pub seats: i64,
    pub free: i64,
}

/// What a seat can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SeatState {
    Free,
    Reserved,
    Sold,
}

/// One seat of one show.
#[derive(Debug, Serialize)]
pub struct Seat {
    /// Of this seat in this show, across all shows.
    pub id: i64,
    pub row: String,
    pub number: i64,
    pub state: SeatState,
}

impl Seat {
    /// Whether it can be reserved.
    pub fn is_free(&self) -> bool {
        self.state == SeatState::Free
    }
}

/// What a reservation can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ReservationState {
    Reserved,
    Sold,
    Lapsed,
}

/// A seat that a visitor has, or had.
#[derive(Debug, Serialize)]
pub struct Reservation {
    /// 128 random bits: all who know it may pay.
    #[serde(rename = "reservation")]
    pub id: String,
    pub state: ReservationState,
    /// Of an unpaid one: until it lapses.
    #[serde(rename = "expires_in_ms", skip_serializing_if = "Option::is_none")]
    pub expires_in: Option<Millis>,
    /// Of a paid one, for its receipt: milliseconds since 1970.
    #[serde(skip)]
    pub paid_at: Option<i64>,
    pub show: Show,
    pub seat: SeatName,
}

/// Which seat of its show.
#[derive(Debug, Serialize)]
pub struct SeatName {
    pub id: i64,
    pub row: String,
    pub number: i64,
}

/// A span that answers have in milliseconds.
#[derive(Clone, Copy, Debug)]
pub struct Millis(pub Duration);

impl Serialize for Millis {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u128(self.0.as_millis())
    }
}

/// Why the shop did not do it; nothing has changed then.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    #[error("there is no such show")]
    UnknownShow,
    #[error("this show has no such seat")]
    UnknownSeat,
    #[error("another visitor has the seat")]
    SeatTaken,
    #[error("this visit has reserved another seat")]
    AlreadyReserved,
    #[error("there is no such reservation, or it lapsed and its seat was taken since")]
    UnknownReservation,
    #[error("the time to pay was over")]
    Lapsed,
    /// Another program has locked the file for longer than [`database::BUSY_TIMEOUT`].
    #[error("the database is locked")]
    Busy,
    #[error("the disk is full")]
    DiskFull,
    #[error(transparent)]
    Database(rusqlite::Error),
}

impl From<rusqlite::Error> for Refusal {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy,
            Some(ErrorCode::DiskFull) => Self::DiskFull,
            _ => Self::Database(error),
        }
    }
}

/// One connection to the shop's file.
pub struct Shop {
    connection: Connection,
    /// Who writes: SQLite lets one at a time, and those that wait for it look again after a sleep.
    writers: Arc<Mutex<()>>,
    hold: Duration,
}

const OFFERS: &str = "
    SELECT id, title, starts_at, (SELECT count(*) FROM seats WHERE show = shows.id),
        (SELECT count(*) FROM seats JOIN reservations ON seat = seats.id
         WHERE show = shows.id AND (sold_at IS NOT NULL OR ends_at > ?1))
    FROM shows ORDER BY id";
const SEATS: &str = "
    SELECT seats.id, row, number, sold_at IS NOT NULL, coalesce(ends_at > ?2, 0)
    FROM seats LEFT JOIN reservations ON seat = seats.id WHERE show = ?1 ORDER BY seats.id";
const LAPSE: &str = "
    DELETE FROM reservations
    WHERE (seat = ?1 OR place = ?2) AND sold_at IS NULL AND ends_at <= ?3";
const OF_PLACE: &str = "SELECT id, seat FROM reservations WHERE place = ?1";
const RESERVE: &str = "
    INSERT INTO reservations (id, seat, place, ends_at) VALUES (?1, ?2, ?3, ?4)
    ON CONFLICT (seat) DO NOTHING";
const PAY: &str = "
    UPDATE reservations SET sold_at = ?2 WHERE id = ?1 AND sold_at IS NULL AND ends_at > ?2";
const RESERVATION: &str = "
    SELECT reservations.id, sold_at, ends_at, shows.id, title, starts_at,
        seats.id, row, number
    FROM reservations JOIN seats ON seats.id = seat JOIN shows ON shows.id = show
    WHERE reservations.id = ?1";

impl Shop {
    /// The schedule, and what is left of it.
    pub fn offers(&self) -> Result<Vec<Offer>, Refusal> {
        let mut query = self.connection.prepare_cached(OFFERS)?;
        let offers = query.query_map([now()], |row| {
            let (seats, gone): (i64, i64) = (row.get(3)?, row.get(4)?);
            Ok(Offer { show: show(row, 0)?, seats, free: seats - gone })
        })?;
        Ok(offers.collect::<Result<_, _>>()?)
    }

    /// A show and all its seats.
    pub fn seats(&self, of: i64) -> Result<(Show, Vec<Seat>), Refusal> {
        let mut query = self
            .connection
            .prepare_cached("SELECT id, title, starts_at FROM shows WHERE id = ?1")?;
        let found = query.query_row([of], |row| show(row, 0)).optional()?;
        let found = found.ok_or(Refusal::UnknownShow)?;
        let mut query = self.connection.prepare_cached(SEATS)?;
        let seats = query.query_map([of, now()], |row| {
            let state = match (row.get(3)?, row.get(4)?) {
                (true, _) => SeatState::Sold,
                (false, true) => SeatState::Reserved,
                (false, false) => SeatState::Free,
            };
            Ok(Seat { id: row.get(0)?, row: row.get(1)?, number: row.get(2)?, state })
        })?;
        Ok((found, seats.collect::<Result<_, _>>()?))
    }

    /// Reserves a seat, for a visitor with this place in the waiting room, if any. Called again for
    /// the same place and seat it answers the same.
    pub fn reserve(
        &mut self,
        of: i64,
        seat: i64,
        place: Option<&str>,
    ) -> Result<Reservation, Refusal> {
        let hold = self.hold;
        self.write(|connection| {
            let now = now();
            let is_there: bool = connection
                .prepare_cached("SELECT EXISTS (SELECT 1 FROM seats WHERE id = ?1 AND show = ?2)")?
                .query_row([seat, of], |row| row.get(0))?;
            if !is_there {
                return Err(Refusal::UnknownSeat);
            }
            connection.prepare_cached(LAPSE)?.execute((seat, place, now))?;
            let mut query = connection.prepare_cached(OF_PLACE)?;
            let own: Option<(String, i64)> =
                query.query_row([place], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
            let id = match own {
                Some((id, same)) if seat == same => id,
                Some(_) => return Err(Refusal::AlreadyReserved),
                None => {
                    let id = format!("{:032x}", rand::random::<u128>());
                    let ends_at = now.saturating_add(millis(hold));
                    let mut insert = connection.prepare_cached(RESERVE)?;
                    if insert.execute((&id, seat, place, ends_at))? == 0 {
                        return Err(Refusal::SeatTaken);
                    }
                    id
                }
            };
            reservation(connection, &id, now)
        })
    }

    /// The state of a reservation.
    pub fn reservation(&self, id: &str) -> Result<Reservation, Refusal> {
        reservation(&self.connection, id, now())
    }

    /// Sells a reserved seat. A second call answers the same.
    pub fn pay(&mut self, id: &str) -> Result<Reservation, Refusal> {
        self.write(|connection| {
            let now = now();
            connection.prepare_cached(PAY)?.execute((id, now))?;
            let reservation = reservation(connection, id, now)?;
            match reservation.state {
                ReservationState::Sold => Ok(reservation),
                ReservationState::Reserved | ReservationState::Lapsed => Err(Refusal::Lapsed),
            }
        })
    }

    /// One transaction that has the write lock from its beginning; it is undone when refused.
    fn write<T>(
        &mut self,
        decide: impl FnOnce(&Connection) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        // One time for both waits: else a call that waits for its turn behind others that wait for
        // the file would wait for as long as all of them together.
        let until = Instant::now() + BUSY_TIMEOUT;
        let _turn = self.writers.try_lock_until(until).ok_or(Refusal::Busy)?;
        self.connection.busy_timeout(until.saturating_duration_since(Instant::now()))?;
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let done = decide(&transaction)?;
        transaction.commit()?;
        Ok(done)
    }
}

fn reservation(connection: &Connection, id: &str, now: i64) -> Result<Reservation, Refusal> {
    let mut query = connection.prepare_cached(RESERVATION)?;
    let found = query.query_row([id], |row| {
        let (paid_at, ends_at): (Option<i64>, i64) = (row.get(1)?, row.get(2)?);
        let left = u64::try_from(ends_at - now).ok().filter(|left| *left > 0 && paid_at.is_none());
        let state = match (paid_at, left) {
            (Some(_), _) => ReservationState::Sold,
            (None, Some(_)) => ReservationState::Reserved,
            (None, None) => ReservationState::Lapsed,
        };
        Ok(Reservation {
            id: row.get(0)?,
            state,
            expires_in: left.map(|left| Millis(Duration::from_millis(left))),
            paid_at,
            show: show(row, 3)?,
            seat: SeatName { id: row.get(6)?, row: row.get(7)?, number: row.get(8)? },
        })
    });
    found.optional()?.ok_or(Refusal::UnknownReservation)
}

/// A show, from three columns.
fn show(row: &Row<'_>, at: usize) -> rusqlite::Result<Show> {
    Ok(Show { id: row.get(at)?, title: row.get(at + 1)?, starts_at: row.get(at + 2)? })
}

/// Milliseconds since 1970, by the machine's clock: a reservation outlives the process.
fn now() -> i64 {
    millis(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
}

fn millis(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_that_is_full_differs_from_a_fault() {
        let folder = tempfile::tempdir().expect("a folder");
        let schedule = Schedule { shows: 1, rows: 20, seats: 50 };
        let file = folder.path().join("shop.sqlite");
        let database = Database::open(&file, schedule, Duration::from_secs(60)).expect("a shop");
        let mut shop = database.connect().expect("a connection");
        // The file may not grow any more: what SQLite makes of it is what it makes of a full disk.
        shop.connection.pragma_update(None, "max_page_count", 1).expect("a bound");
        let refused = (1..=1_000).find_map(|seat| shop.reserve(1, seat, None).err());
        assert!(matches!(refused, Some(Refusal::DiskFull)), "{refused:?}");
        shop.connection.pragma_update(None, "max_page_count", 1 << 20).expect("room");
        shop.reserve(1, 1_000, None).expect("a seat");
    }
}
