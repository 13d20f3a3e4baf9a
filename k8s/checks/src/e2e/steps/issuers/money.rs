//! Money that moves all the while, and the audit of the pool that it moves in.

use std::{cell::Cell, time::Duration};

use anyhow::Context as _;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::{configuration::POOL, forward::Forward, run::Run};

/// A call without an answer is repeated, by the same name.
const AGAIN: Duration = Duration::from_millis(500);
const TRIES: usize = 20;
const AMOUNT: u64 = 700;
/// What a hold pays in the end.
const SETTLED: u64 = 300;

/// The pool, and what its answers add up to.
pub struct Money {
    service: Forward,
    key: String,
    paid_before: u64,
    /// Calls, and what they paid.
    answered: Cell<(u64, u64)>,
}

impl Money {
    pub async fn of(run: &Run) -> anyhow::Result<Self> {
        let service = Forward::open(&run.kubectl, "service/admission", 8081).await?;
        let answered = Cell::new((0, 0));
        let money = Self { service, key: run.key.clone(), paid_before: 0, answered };
        let paid_before = money.paid().await?;
        Ok(Self { paid_before, ..money })
    }

    /// Draws, and holds that are settled or cancelled in turn, until it is over.
    pub async fn moves(&self, over: &Cell<bool>) -> anyhow::Result<()> {
        for round in 0.. {
            if over.get() {
                break;
            }
            let body =
                |what| json!({ "amount": AMOUNT, "operation_id": format!("{what}-{round}") });
            self.call("POST", "draws", &body("draw")).await?;
            let hold = self.call("POST", "holds", &body("hold")).await?;
            let hold = format!("holds/{}", hold["hold_id"].as_str().context("a hold's name")?);
            let settles = round % 2 == 0;
            if settles {
                let settle = json!({ "amount": SETTLED });
                self.call("POST", &format!("{hold}/settle"), &settle).await?;
            } else {
                self.call("DELETE", &hold, &Value::Null).await?;
            }
            let (calls, paid) = self.answered.get();
            self.answered.set((calls + 3, paid + AMOUNT + if settles { SETTLED } else { 0 }));
        }
        Ok(())
    }

    /// What the ledger says, beside what the answers said.
    pub async fn audit(&self) -> anyhow::Result<(String, bool)> {
        let audit = self.service.request("POST", &format!("/v1/admin/pools/{POOL}/audit"));
        let audit = audit.bearer_auth(&self.key).send().await?.error_for_status()?;
        let audit: Value = audit.json().await?;
        let paid = self.paid().await? - self.paid_before;
        let (calls, answered) = self.answered.get();
        let drift = i128::from(paid) - i128::from(answered);
        let held = audit["holds"] == true
            && audit["missing"] == 0
            && audit["computed"] == audit["kept"]
            && drift == 0
            && calls > 0;
        let audit = if held { "its ledger agrees".to_owned() } else { audit.to_string() };
        Ok((format!("{calls} calls paid {paid}, {drift} more than was told; {audit}"), held))
    }

    async fn paid(&self) -> anyhow::Result<u64> {
        let look = self.service.request("GET", &format!("/v1/pools/{POOL}"));
        let look = look.bearer_auth(&self.key).send().await?.error_for_status()?;
        look.json::<Value>().await?["paid"].as_u64().context("what was paid")
    }

    /// The answer of a call that must be done.
    async fn call(&self, method: &str, path: &str, body: &Value) -> anyhow::Result<Value> {
        let mut tries = 1;
        loop {
            let call = self.service.request(method, &format!("/v1/pools/{POOL}/{path}"));
            let call = call.bearer_auth(&self.key);
            let call = if body.is_null() { call } else { call.json(body) };
            match call.send().await.and_then(reqwest::Response::error_for_status) {
                Ok(answer) => return Ok(answer.json().await.unwrap_or_default()),
                Err(error) if tries == TRIES => return Err(error).context(path.to_owned()),
                Err(_) => {}
            }
            tries += 1;
            sleep(AGAIN).await;
        }
    }
}
