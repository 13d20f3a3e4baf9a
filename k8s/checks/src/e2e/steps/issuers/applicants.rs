//! Applicants to the event, whose backend applies for them on the service port, and who ask at the
//! gate what has become of it; the witness judges the answers.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use anteroom_witness::event::{Call, Line, Outcome, check_ended};
use anyhow::ensure;
use futures_util::{StreamExt as _, stream};
use reqwest::RequestBuilder;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::{
    configuration::EVENT,
    forward::{Forward, status},
    run::Run,
};

/// So many ask at once.
const AT_ONCE: usize = 16;
/// How often a call without an answer is repeated.
const TRIES: usize = 20;
const AGAIN: Duration = Duration::from_millis(500);
/// Every so many of them apply twice.
const TWICE: u32 = 10;

/// The event as a whole.
#[derive(Deserialize)]
pub struct Event {
    pub issued: u64,
    pub pending: u64,
    pub claimed: u64,
    pub dead: u64,
}

/// All visitors who apply.
pub struct Applicants {
    service: Forward,
    gate: Forward,
    key: String,
    began: Instant,
    record: Mutex<Record>,
}

#[derive(Default)]
struct Record {
    lines: Vec<Line>,
    /// Of those who were accepted.
    tokens: BTreeMap<u32, String>,
}

impl Record {
    fn note(&mut self, line: Line, token: Option<&str>) {
        self.tokens.extend(token.map(|token| (line.visitor, token.to_owned())));
        self.lines.push(line);
    }
}

impl Applicants {
    pub async fn of(run: &Run) -> anyhow::Result<Self> {
        Ok(Self {
            service: Forward::open(&run.kubectl, "service/admission", 8081).await?,
            gate: Forward::open(&run.kubectl, "service/gate", 80).await?,
            key: run.key.clone(),
            began: Instant::now(),
            record: Mutex::default(),
        })
    }

    /// Gives the event its stock.
    pub async fn put_in(&self, stock: u64) -> anyhow::Result<()> {
        let call = self.service.request("POST", &format!("/v1/admin/events/{EVENT}/stock"));
        let body = json!({ "add": stock, "operation_id": "e2e" });
        let answer = status(call.bearer_auth(&self.key).json(&body)).await?;
        ensure!(answer == 200, "stock is answered {answer}");
        Ok(())
    }

    /// How far it is.
    pub async fn look(&self) -> anyhow::Result<Event> {
        let look = self.service.request("GET", &format!("/v1/events/{EVENT}"));
        Ok(look.bearer_auth(&self.key).send().await?.error_for_status()?.json().await?)
    }

    /// So many apply.
    pub async fn apply(&self, visitors: u32) {
        let apply = async |visitor: u32| {
            for _ in 0..if visitor.is_multiple_of(TWICE) { 2 } else { 1 } {
                self.hear(visitor, Call::Apply, || {
                    let path = format!("/v1/events/{EVENT}/applications");
                    let body = json!({ "visitor_id": format!("visitor-{visitor}") });
                    self.service.request("POST", &path).bearer_auth(&self.key).json(&body)
                })
                .await;
            }
        };
        stream::iter(0..visitors).for_each_concurrent(AT_ONCE, apply).await;
    }

    /// All who were accepted ask what has become of it.
    pub async fn ask(&self) {
        let ask = async |(visitor, token): (u32, String)| {
            self.hear(visitor, Call::Status, || {
                let path = format!("/v1/events/{EVENT}/application");
                self.gate.request("GET", &path).header("x-anteroom-application", &token)
            })
            .await;
        };
        let tokens = self.record().tokens.clone();
        stream::iter(tokens).for_each_concurrent(AT_ONCE, ask).await;
    }

    /// Repeats the call until there is an answer.
    async fn hear(&self, visitor: u32, call: Call, request: impl Fn() -> RequestBuilder) {
        for _ in 0..TRIES {
            let sent = self.now();
            let (status, body) = heard(request()).await.unzip();
            let body = body.unwrap_or_default();
            let told = status.map_or(Outcome::Nothing, |it| Outcome::read(call, it, &body, |_| 0));
            let received = self.now();
            let line = Line { visitor, call, sent, received, status, outcome: told };
            let answer: Value = serde_json::from_slice(&body).unwrap_or_default();
            self.record().note(line, answer["application_token"].as_str());
            if told != Outcome::Nothing {
                return;
            }
            sleep(AGAIN).await;
        }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the witness says of an event of this stock that is over.
    pub fn verdict(&self, stock: u64) -> Verdict {
        let record = self.record();
        let count = |is: fn(&Line) -> bool| {
            let lines = record.lines.iter().filter(|line| is(line));
            lines.map(|line| line.visitor).collect::<BTreeSet<_>>().len() as u64
        };
        let of = usize::try_from(stock).unwrap_or(usize::MAX);
        let violations = check_ended(&record.lines, of);
        Verdict {
            stock,
            issued: count(|line| matches!(line.outcome, Outcome::Issued { .. })),
            sold_out: count(|line| line.outcome == Outcome::SoldOut && line.status == Some(200)),
            refused: count(|line| line.status == Some(409)),
            violations: violations.iter().map(|it| it.report(&record.lines)).collect(),
        }
    }
}

async fn heard(request: RequestBuilder) -> Option<(u16, Vec<u8>)> {
    let answer = request.send().await.ok()?;
    let status = answer.status().as_u16();
    Some((status, answer.bytes().await.ok()?.to_vec()))
}

/// What applicants knew in the end.
pub struct Verdict {
    stock: u64,
    issued: u64,
    sold_out: u64,
    refused: u64,
    violations: Vec<String>,
}

impl Verdict {
    /// The stock went to as many, and no answer was one that promise 9 forbids.
    pub fn held(&self) -> bool {
        self.issued == self.stock && self.violations.is_empty()
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { stock, issued, sold_out, refused, violations } = self;
        write!(f, "{issued} of {stock} issued, each to another; {sold_out} sold out, ")?;
        write!(f, "{refused} refused; promise 9 ")?;
        if violations.is_empty() { write!(f, "held") } else { f.write_str(&violations.join("; ")) }
    }
}
