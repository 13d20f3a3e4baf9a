//! The shell that every Anteroom binary shares.
