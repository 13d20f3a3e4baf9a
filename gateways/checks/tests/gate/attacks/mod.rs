//! Attacks on a gateway: each a request as it goes over the wire, and what must not come of it.
//!
//! [`cases`] is the table. It knows nothing of a program: a test per gateway sets up what
//! [`Attacked`] describes and plays all of it, so that a gateway that comes later meets the same
//! attacks. The service behind reads paths in every way that some server does ([`reading`]), so
//! what should not reach it really would.

mod cases;
mod crowd;
mod http2;
mod reading;

use anteroom_testkit::PATIENCE;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use self::cases::{CASES, Case, Holds};
use self::reading::{Area, areas};
use crate::program::Program;
use crate::shop::{Arrival, Shop};
use crate::site::{Plan, Site};
use crate::tls::Tls;

/// A gateway under test.
///
/// In front of the shop it protects everything by the queue `concert`, except `/public/`, which is
/// open; `/shows/NAME/` and the host `NAME.shop.example` by the queue of that name, which it takes
/// from the request; and it serves the visitors' calls. There are the queues `concert`, with room
/// for all, and `vip`.
struct Attacked<'a> {
    /// Host and port where visitors come in.
    address: &'a str,
    /// The same for HTTP/2.
    fast: &'a str,
    /// What connects there, if it speaks TLS.
    tls: Option<&'a Tls>,
    /// What it protects.
    shop: &'a Shop,
}

/// A place in `concert`.
struct Place {
    ticket: u64,
    token: String,
}

impl<'a> Attacked<'a> {
    fn of(site: &'a Site) -> Self {
        let address = site.url.trim_start_matches("http://");
        Self { address, fast: &site.fast, tls: site.tls.as_ref(), shop: &site.shop }
    }

    /// Plays the whole table; returns what went wrong, a line for each case.
    async fn play(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        let mut place = self.join().await;
        for case in CASES {
            let before = self.shop.arrivals().len();
            let answer = self.send(case.name, &case.bytes(self.address, &place.token)).await;
            let arrivals = self.shop.arrivals().split_off(before);
            let held = (case.holds == Holds::Concert).then_some(place.ticket);
            let next = self.join().await;
            let verdict = judge(case, &answer, &arrivals, held).and_then(|()| {
                let none_joined = next.ticket == place.ticket + 1;
                none_joined.then_some(()).ok_or_else(|| "a visitor joined".to_owned())
            });
            if let Err(why) = verdict {
                wrong.push(format!("{}: {why}", case.name));
            }
            place = next;
        }
        wrong
    }

    /// A client that is no browser joins.
    async fn join(&self) -> Place {
        let url = format!("http://{}/v1/queues/concert/tokens", self.address);
        let answer = anteroom_testkit::client().post(url).json(&json!({})).send().await;
        let place: Value = answer.expect("an answer").json().await.expect("JSON");
        let ticket = place["ticket"].as_u64().expect("a ticket");
        Place { ticket, token: place["token"].as_str().expect("a token").to_owned() }
    }

    /// Sends these bytes on a connection of their own; returns all that comes until its end.
    async fn send(&self, name: &str, bytes: &[u8]) -> String {
        let mut stream = TcpStream::connect(self.address).await.expect("a connection");
        // A server that refuses early may close before the last byte has come.
        let _ = stream.write_all(bytes).await;
        // A head without an end is waited for, until nothing more can come.
        if !bytes.ends_with(b"\r\n\r\n") {
            let _ = stream.shutdown().await;
        }
        let mut answer = Vec::new();
        let read = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut answer)).await;
        // A reset after the answer is an end like any other.
        let _ = read.unwrap_or_else(|_| panic!("the gateway does not close: {name}"));
        String::from_utf8_lossy(&answer).into_owned()
    }
}

/// What is wrong with what an attack achieved.
fn judge(case: &Case, answer: &str, arrivals: &[Arrival], held: Option<u64>) -> Result<(), String> {
    arrived(arrivals, held)?;
    let status = answer.split(' ').nth(1).and_then(|status| status.parse::<u16>().ok());
    answered(case.must_pass, status, arrivals)
}

/// What is wrong with what reached the service, of the visitor with this ticket or of one without a
/// place.
fn arrived(arrivals: &[Arrival], held: Option<u64>) -> Result<(), String> {
    for arrival in arrivals {
        let connection = arrival.header("connection").join(",").to_ascii_lowercase();
        if connection.contains("anteroom") {
            return Err(format!("a proxy behind would drop headers: {connection}"));
        }
        let found = areas(arrival);
        let may_enter = |area: &Area| match area {
            Area::Open => true,
            Area::Queue(name) => held.is_some() && name == "concert",
        };
        if !found.iter().all(may_enter) {
            return Err(format!("{} reached {found:?}", arrival.path));
        }
        let named = held.filter(|_| found.iter().all(|area| *area != Area::Open));
        names_the_visitor(arrival, named)?;
    }
    Ok(())
}

/// What is wrong with the status, beside what reached the service.
fn answered(must_pass: bool, status: Option<u16>, arrivals: &[Arrival]) -> Result<(), String> {
    if must_pass {
        let passed = status == Some(200) && arrivals.len() == 1;
        return passed.then_some(()).ok_or_else(|| format!("did not pass: {status:?}"));
    }
    // What is open may be served; all else is refused, sent elsewhere, or ends without a word.
    let refused = status.is_none_or(|status| (300..500).contains(&status));
    let fine = refused == arrivals.is_empty();
    fine.then_some(()).ok_or_else(|| format!("{} arrived, answered {status:?}", arrivals.len()))
}

/// Compares the headers of ours that arrived with the gateway check: all of a visitor that passed,
/// none of any other.
fn names_the_visitor(arrival: &Arrival, ticket: Option<u64>) -> Result<(), String> {
    let ours = |name: &str| name.replace('_', "-").starts_with("x-anteroom");
    let mut names: Vec<_> =
        arrival.headers.keys().map(http::HeaderName::as_str).filter(|name| ours(name)).collect();
    names.sort_unstable();
    let (expected, truth): (&[&str], bool) = match ticket {
        None => (&[], true),
        Some(ticket) => {
            let lives = arrival.header("x-anteroom-expires-in").concat().parse::<u64>();
            let truth = arrival.header("x-anteroom-visitor") == [ticket.to_string()]
                && arrival.header("x-anteroom-visitor-kind") == ["anonymous"]
                && arrival.header("x-anteroom-place").iter().all(|place| place.len() > 20)
                && lives.is_ok_and(|seconds| seconds <= 300);
            (&NAMES, truth)
        }
    };
    let fine = truth && names == expected;
    fine.then_some(()).ok_or_else(|| format!("the service got: {:?}", arrival.headers))
}

/// The headers about a visitor that passes.
const NAMES: [&str; 4] =
    ["x-anteroom-expires-in", "x-anteroom-place", "x-anteroom-visitor", "x-anteroom-visitor-kind"];

/// A site with two queues, as [`Attacked`] describes it.
async fn site(plan: impl Into<Plan<'static>>) -> Site {
    let queue = "capacity = 1000\nsession_ttl = \"5m\"\n[queues.vip]\ncapacity = 1";
    Site::with(Plan { queue, several_queues: true, ..plan.into() }).await
}

pub async fn no_attack_passes(program: Program) {
    let site = site(program).await;
    let wrong = Attacked::of(&site).play().await;
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

pub async fn no_attack_over_http2_passes(program: Program) {
    no_attack_over_http2(Plan { program, http2: true, ..Plan::default() }).await;
}

/// The same of a gateway that speaks HTTP/2, with TLS or without.
pub async fn no_attack_over_http2(plan: Plan<'static>) {
    let site = site(plan).await;
    let wrong = Attacked::of(&site).play_http2().await;
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}
