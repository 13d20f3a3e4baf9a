//! What an admitted visitor does at the protected service.

use std::{
    str::FromStr,
    time::{Duration, Instant},
};

use http_body_util::Full;
use rand::Rng;

use crate::rehearse::{
    connection::{Connection, Peer},
    tally::Tally,
};

/// One request of a visit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    method: String,
    /// With its query.
    path: String,
}

impl Default for Step {
    fn default() -> Self {
        Self { method: "GET".to_owned(), path: "/".to_owned() }
    }
}

impl FromStr for Step {
    type Err = String;

    /// Reads `METHOD /PATH`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (method, path) = text.trim().split_once(' ').unwrap_or(("GET", text.trim()));
        let is_method = http::Method::from_bytes(method.as_bytes()).is_ok()
            && method.bytes().all(|byte| byte.is_ascii_uppercase());
        let is_path = path.starts_with('/') && path.parse::<http::uri::PathAndQuery>().is_ok();
        if is_method && is_path {
            Ok(Self { method: method.to_owned(), path: path.to_owned() })
        } else {
            Err("must be METHOD /PATH, such as `GET /seats`".to_owned())
        }
    }
}

/// The visit of everybody who is inside.
pub struct Visit {
    /// The protected service; without it a visitor only stays.
    pub target: Option<Peer>,
    /// Its requests, one after another.
    pub steps: Vec<Step>,
    /// How long it takes, spread over the steps, half to one and a half of it.
    pub stay: Duration,
    /// How long a visitor waits for an answer.
    pub patience: Duration,
}

impl Visit {
    /// How many parts it has: each is a request and the time that a visitor takes over its answer.
    pub fn parts(&self) -> usize {
        self.steps.len().max(1)
    }

    /// Sends the request of a part, counts it, and takes the time over its answer. `from` is the
    /// visitor's address.
    pub async fn part(
        &self,
        part: usize,
        connection: &mut Option<Connection>,
        token: Option<&str>,
        from: &str,
        tally: &Tally,
        random: &mut (impl Rng + Send),
    ) {
        if let (Some(connection), Some(step)) = (connection, self.steps.get(part)) {
            let request = connection.peer().request(&step.method, &step.path);
            let request = request.header("x-forwarded-for", from);
            // A gateway in front of the service, or the service itself, asks the room by it.
            let request = match token {
                Some(token) => request.header("x-anteroom-token", token),
                None => request,
            };
            let request = request.body(Full::default()).expect("a path that was read and ASCII");
            let sent = Instant::now();
            let answer = connection.send(request, self.patience).await;
            tally.asked_service(sent, answer.as_ref().map_err(|failure| *failure));
        }
        let parts = u32::try_from(self.parts()).unwrap_or(u32::MAX);
        tokio::time::sleep((self.stay / parts).mul_f64(random.random_range(0.5..1.5))).await;
    }
}

#[cfg(test)]
mod tests {
    use super::Step;

    #[test]
    fn a_step_is_a_method_and_a_path() {
        let step = |method: &str, path: &str| {
            Ok(Step { method: method.to_owned(), path: path.to_owned() })
        };
        assert_eq!("POST /seats/7?row=2".parse(), step("POST", "/seats/7?row=2"));
        assert_eq!("/seats".parse(), step("GET", "/seats"));
        for wrong in ["", "seats", "get /seats", "GET seats", "GET /a b"] {
            assert!(wrong.parse::<Step>().is_err(), "{wrong}");
        }
    }
}
