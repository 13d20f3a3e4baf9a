//! What the tests of Anteroom stand on.
