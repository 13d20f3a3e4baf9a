//! The load of gRPC: as many calls at a time as there would be connections, on few connections, as
//! Envoy sends them.

use std::{sync::atomic::Ordering, time::Instant};

use anyhow::{Context as _, ensure};
use bytes::Bytes;
use futures_util::{
    FutureExt as _, TryStreamExt as _, future::BoxFuture, stream::FuturesUnordered,
};
use h2::client::SendRequest;
use http::Request;

use super::{Shared, Worker, connect};
use crate::request::Calls;

/// Calls at a time on one connection.
const STREAMS: usize = 16;
/// What gRPC puts before a message.
const PREFIX: usize = 5;
/// The tag of a number in the first field.
const FIRST_FIELD: u8 = 0x08;

impl Shared {
    /// So many calls at a time, until the end.
    pub(super) async fn calls(
        &self,
        worker: usize,
        at_a_time: usize,
        calls: &Calls,
        tally: &Worker,
    ) -> anyhow::Result<()> {
        let mut all = FuturesUnordered::<BoxFuture<'_, anyhow::Result<()>>>::new();
        for connection in 0..at_a_time.div_ceil(STREAMS) {
            let address = self.plan.addresses[(worker + connection) % self.plan.addresses.len()];
            let (sender, connection_task) = h2::client::handshake(connect(address).await?).await?;
            // It ends when the last of its streams has.
            all.push(connection_task.map(|ended| Ok(ended?)).boxed());
            let streams = STREAMS.min(at_a_time - connection * STREAMS);
            all.extend((0..streams).map(|_| self.stream(sender.clone(), calls, tally).boxed()));
        }
        all.try_collect().await
    }

    async fn stream(
        &self,
        mut sender: SendRequest<Bytes>,
        calls: &Calls,
        tally: &Worker,
    ) -> anyhow::Result<()> {
        let request = || {
            Request::post(format!("http://anteroom{}", calls.method))
                .header("content-type", "application/grpc")
                .header("te", "trailers")
                .body(())
        };
        while !self.stop.load(Ordering::Relaxed) {
            let n = self.begun.fetch_add(1, Ordering::Relaxed);
            let begun = self.plan.times.then(Instant::now);
            sender = sender.ready().await?;
            let (answer, mut body) = sender.send_request(request()?, false)?;
            body.send_data(calls.get(n), true)?;
            let code = code(answer.await?).await?;
            let expect = self.plan.expect;
            ensure!(code == expect, "the code {code} instead of {expect}");
            tally.count(begun);
        }
        Ok(())
    }
}

/// The first field of the answer's message, which is a number in all answers of rate limits. All
/// servers write fields in the order of their numbers.
async fn code(answer: http::Response<h2::RecvStream>) -> anyhow::Result<u16> {
    let (head, mut body) = answer.into_parts();
    let mut message = Vec::new();
    while let Some(data) = body.data().await {
        let data = data?;
        body.flow_control().release_capacity(data.len())?;
        message.extend_from_slice(&data);
    }
    // An answer without a message has its status in the head.
    let trailers = body.trailers().await?.unwrap_or(head.headers);
    let status = trailers.get("grpc-status").context("no grpc-status")?;
    ensure!(status == "0", "grpc-status {status:?}: {:?}", trailers.get("grpc-message"));
    match message.get(PREFIX..) {
        Some([FIRST_FIELD, code, ..]) => Ok((*code).into()),
        _ => Ok(0),
    }
}
