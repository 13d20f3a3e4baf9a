//! The file: created with its schedule, opened again as it is.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rusqlite::{Connection, MAIN_DB, TransactionBehavior};

use super::Shop;

const SCHEMA: &str = include_str!("schema.sql");
/// Of [`SCHEMA`], as the file says it (`user_version`); 0 is a file without one.
const VERSION: i64 = 1;
/// How long a connection waits where another program has locked the file.
pub const BUSY_TIMEOUT: Duration = Duration::from_secs(1);

/// What a new file is filled with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    pub shows: u32,
    /// Of each show.
    pub rows: u32,
    /// Of each row.
    pub seats: u32,
}

/// Why there is no shop.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("--database {}: {reason}", file.display())]
    File { file: PathBuf, reason: rusqlite::Error },
    #[error("--database {}: may be read, but not written", file.display())]
    ReadOnly { file: PathBuf },
    #[error(
        "--database {}: a database of something else, or of another version (schema {found}, \
         not {VERSION})",
        file.display()
    )]
    Version { file: PathBuf, found: i64 },
    #[error(
        "--database {}: holds {} shows of {} rows of {} seats, and --shows, --rows, --seats say \
         another number: name another file, or the numbers of this one",
        file.display(), holds.shows, holds.rows, holds.seats
    )]
    Schedule { file: PathBuf, holds: Schedule },
}

/// The shop's file, to open connections to.
#[derive(Clone, Debug)]
pub struct Database {
    file: PathBuf,
    hold: Duration,
    writers: Arc<Mutex<()>>,
}

impl Database {
    /// Opens the file, or makes it with this schedule. Reservations last for `hold`.
    ///
    /// # Errors
    ///
    /// It cannot be read or written, is no database of ours, or holds another schedule; it is
    /// unchanged then.
    pub fn open(file: &Path, schedule: Schedule, hold: Duration) -> Result<Self, OpenError> {
        let failed = |reason| OpenError::File { file: file.to_owned(), reason };
        let mut connection = connect(file).map_err(failed)?;
        match (version(&connection), tables(&connection)) {
            (Ok(VERSION), _) => {}
            (Ok(0), Ok(0)) => fill(&mut connection, schedule).map_err(failed)?,
            (Ok(found), Ok(_)) => {
                return Err(OpenError::Version { file: file.to_owned(), found });
            }
            (Err(reason), _) | (_, Err(reason)) => return Err(failed(reason)),
        }
        // SQLite opens it for reading, then, and is content.
        if connection.is_readonly(MAIN_DB).map_err(failed)? {
            return Err(OpenError::ReadOnly { file: file.to_owned() });
        }
        let holds = holds(&connection).map_err(failed)?;
        if holds != schedule {
            return Err(OpenError::Schedule { file: file.to_owned(), holds });
        }
        Ok(Self { file: file.to_owned(), hold, writers: Arc::default() })
    }

    /// A connection of its own.
    pub fn connect(&self) -> Result<Shop, OpenError> {
        let connection = connect(&self.file)
            .map_err(|reason| OpenError::File { file: self.file.clone(), reason })?;
        Ok(Shop { connection, writers: self.writers.clone(), hold: self.hold })
    }
}

/// With FULL a commit is on the disk when it returns.
fn connect(file: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(file)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update(None, "synchronous", "full")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    Ok(connection)
}

fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

fn tables(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
}

/// Two that start at once on a new file fill it once.
fn fill(connection: &mut Connection, schedule: Schedule) -> rusqlite::Result<()> {
    // Readers and the writer do not wait for each other then. The file keeps it.
    connection.pragma_update(None, "journal_mode", "wal")?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if version(&transaction)? == VERSION {
        return Ok(());
    }
    transaction.execute_batch(SCHEMA)?;
    {
        let mut show = transaction.prepare(
            "INSERT INTO shows VALUES (?1, 'Winter concert, evening ' || ?1, \
             date('2027-01-14', ?1 || ' days') || ' 20:00')",
        )?;
        let mut seat =
            transaction.prepare("INSERT INTO seats (show, row, number) VALUES (?1, ?2, ?3)")?;
        for id in 1..=schedule.shows {
            show.execute([id])?;
            for row in 0..schedule.rows {
                for number in 1..=schedule.seats {
                    seat.execute((id, row_name(row), number))?;
                }
            }
        }
    }
    transaction.pragma_update(None, "user_version", VERSION)?;
    transaction.commit()
}

fn holds(connection: &Connection) -> rusqlite::Result<Schedule> {
    let count = "SELECT (SELECT count(*) FROM shows), count(DISTINCT row), max(number) FROM seats";
    connection.query_row(count, [], |row| {
        Ok(Schedule { shows: row.get(0)?, rows: row.get(1)?, seats: row.get(2)? })
    })
}

/// A to Z, then AA, AB …, as spreadsheets name their columns.
fn row_name(mut row: u32) -> String {
    let mut name = String::new();
    loop {
        // Below 26, so a letter.
        name.insert(0, char::from(b'A' + u8::try_from(row % 26).unwrap_or_default()));
        match (row / 26).checked_sub(1) {
            Some(next) => row = next,
            None => return name,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::row_name;

    #[test]
    fn rows_are_named_like_columns_of_a_spreadsheet() {
        for (row, name) in [(0, "A"), (25, "Z"), (26, "AA"), (51, "AZ"), (52, "BA"), (702, "AAA")] {
            assert_eq!(row_name(row), name);
        }
    }
}
