//! The measure of all rows: what anyone would call a bare axum hello-world, built with the same
//! profile and run by the same runtime as admission. It prints its address and serves for ever.

use std::io::Write as _;

use axum::serve::ListenerExt as _;
use axum::{Router, routing::get};

fn main() -> std::io::Result<()> {
    // The shell of admission makes the same runtime: a worker for each core.
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await?;
        writeln!(std::io::stdout(), "address {}", listener.local_addr()?)?;
        let listener = listener.tap_io(|stream| {
            // Without it an answer waits for nothing here either: it goes out in one piece.
            let _ = stream.set_nodelay(true);
        });
        axum::serve(listener, Router::new().route("/", get(async || "hello"))).await
    })
}
