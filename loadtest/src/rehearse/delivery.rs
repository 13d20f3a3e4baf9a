//! Whether requests were answered, by the kind of connection that they went out on.

use std::collections::BTreeMap;

use anteroom_witness::{Call, Heard};
use serde::{Deserialize, Serialize};

use crate::client::{Answer, Fault};
use crate::load::merges;
use crate::report::list;

/// All requests of a run, to the room and to the service.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Deliveries {
    /// On connections that visitors keep.
    pub kept: Delivery,
    /// Each on a connection of its own.
    pub new: Delivery,
}

/// Requests on connections of one kind.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Delivery {
    /// Sent.
    pub requests: u64,
    /// How many of them were lost, by what came instead of an answer: nothing, or a status from
    /// 500 on.
    pub lost: BTreeMap<String, u64>,
    /// Answered by the room with a 5xx of its own: the store is away or slow, the queue is full or
    /// closed. Nothing is lost by it, the answer says when to come again.
    pub put_off: u64,
}

impl Deliveries {
    /// One more, on a kept connection or a new one, and what came of it.
    pub fn add(&mut self, is_kept: bool, answer: &Result<Answer, Fault>) {
        (if is_kept { &mut self.kept } else { &mut self.new }).add(answer);
    }
}

merges!(Deliveries { kept, new });
merges!(Delivery { requests, lost, put_off });

/// The codes of such answers.
const PUT_OFF: [&str; 5] =
    ["store_unavailable", "effect_unknown", "overloaded", "queue_full", "queue_closed"];

impl Delivery {
    fn add(&mut self, answer: &Result<Answer, Fault>) {
        self.requests += 1;
        let lost = match answer {
            Ok(answer) if !answer.status.is_server_error() => return,
            Ok(answer) => {
                let status = answer.status.as_u16();
                let code = Heard::answer(Call::Place, status, |_| None, &answer.body).code;
                if PUT_OFF.contains(&code.as_str()) {
                    self.put_off += 1;
                    return;
                }
                format!("{status} {code}").trim_end().to_owned()
            }
            Err(fault) => fault.to_string(),
        };
        *self.lost.entry(lost).or_default() += 1;
    }

    /// For a person to read.
    pub fn line(&self) -> String {
        let lost: u64 = self.lost.values().sum();
        let why = if lost > 0 { format!(" ({})", list(&self.lost)) } else { String::new() };
        format!("{} sent, {lost} lost{why}, {} to retry later", self.requests, self.put_off)
    }
}
