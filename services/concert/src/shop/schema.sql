CREATE TABLE shows (
    id INTEGER PRIMARY KEY,
    title TEXT NOT NULL,
    starts_at TEXT NOT NULL
) STRICT;

CREATE TABLE seats (
    id INTEGER PRIMARY KEY,
    show INTEGER NOT NULL REFERENCES shows (id),
    row TEXT NOT NULL,
    number INTEGER NOT NULL,
    UNIQUE (show, row, number)
) STRICT;

-- At most one for each seat and for each place in the waiting room; one that has lapsed goes when
-- its seat, or its place, is reserved for again. Times are milliseconds since 1970.
CREATE TABLE reservations (
    id TEXT PRIMARY KEY,
    seat INTEGER NOT NULL UNIQUE REFERENCES seats (id),
    place TEXT UNIQUE,
    ends_at INTEGER NOT NULL,
    sold_at INTEGER
) STRICT, WITHOUT ROWID;
