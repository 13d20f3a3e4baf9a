//! Prints scripts as Redis gets them, for reading and for `redis-cli --eval`.
//!
//! `cargo run -p anteroom-core --example scripts -- queue.join` prints one, without a name all.

use std::io::Write as _;

fn main() -> std::io::Result<()> {
    let wanted = std::env::args().nth(1);
    let mut out = std::io::stdout().lock();
    for script in anteroom_core::scripts() {
        if wanted.as_deref().is_none_or(|wanted| wanted == script.name) {
            writeln!(out, "-- {}\n{}", script.name, script.source())?;
        }
    }
    Ok(())
}
