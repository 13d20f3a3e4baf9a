//! Looks a name up and gives out only addresses that may be reached.
//!
//! The client connects to the very addresses that were given out, so a name that leads elsewhere at
//! the second look changes nothing.

use anteroom_runtime::config::Guard;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// The resolver of a client.
pub struct Resolver(pub Guard);

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let guard = self.0;
        Box::pin(async move {
            // The client puts the port in.
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let (mut allowed, mut refused) = (Vec::new(), None);
            for address in found {
                match guard.check(address.ip()) {
                    Ok(()) => allowed.push(address),
                    Err(error) => refused = Some(error),
                }
            }
            match refused {
                Some(error) if allowed.is_empty() => Err(error.into()),
                _ => Ok(Box::new(allowed.into_iter()) as Addrs),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use anteroom_runtime::config::EndpointError;

    use super::*;

    async fn resolved(guard: Guard, name: &str) -> Result<Vec<SocketAddr>, String> {
        let name = name.parse().expect("a name");
        let found = Resolver(guard).resolve(name).await;
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
