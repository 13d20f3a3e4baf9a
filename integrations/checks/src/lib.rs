//! The samples of `integrations/`: `tests/samples` runs them before a real Anteroom.
