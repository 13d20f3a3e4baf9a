//! Histories that failed once.
