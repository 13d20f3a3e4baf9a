//! Looks a name up and gives out only addresses that may be reached.
//!
//! The client connects to the very addresses that were given out, so a name that leads elsewhere at
//! the second look changes nothing.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};

use anteroom_config::Guard;
use hyper_util::client::legacy::connect::dns::Name;
use tower::Service;

/// The resolver of a client.
#[derive(Clone, Debug)]
pub struct Resolver(pub Guard);

impl Service<Name> for Resolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        Box::pin(resolve(self.0, name))
    }
}

async fn resolve(guard: Guard, name: Name) -> io::Result<std::vec::IntoIter<SocketAddr>> {
    // The client sets the port.
    let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
    let (mut allowed, mut refused) = (Vec::new(), None);
    for address in found {
        match guard.check(address.ip()) {
            Ok(()) => allowed.push(address),
            Err(error) => refused = Some(error),
        }
    }
    match refused {
        Some(error) if allowed.is_empty() => Err(io::Error::other(error)),
        _ => Ok(allowed.into_iter()),
    }
}

#[cfg(test)]
mod tests {
    use anteroom_config::EndpointError;

    use super::*;

    async fn resolved(guard: Guard, name: &str) -> Result<Vec<SocketAddr>, String> {
        let name = name.parse().expect("a name");
        let found = resolve(guard, name).await;
        found.map(Iterator::collect).map_err(|error| error.to_string())
    }

    /// `localhost` is the name that every machine resolves, to an address that is not public.
    #[tokio::test]
    async fn a_name_is_judged_by_where_it_leads() {
        let refused = resolved(Guard::PublicOnly, "localhost").await;
        assert_eq!(refused, Err(EndpointError::Private.to_string()));
        for guard in [Guard::PrivateToo, Guard::ThisMachine] {
            let found = resolved(guard, "localhost").await.expect("it is allowed");
            assert!(found.iter().all(|address| address.ip().is_loopback()), "{found:?}");
            assert!(!found.is_empty());
        }
    }
}
