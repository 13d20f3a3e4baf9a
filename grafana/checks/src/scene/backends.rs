//! Those who call the service port: they report, ask limits, give money out and apply for visitors.

use reqwest::Client;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::{CALL, Part, json_of, share};

/// A backend that reports what came of its calls, and asks whether to call where some failed.
pub async fn report(service: String, whole: Part) {
    let client = Client::new();
    while !whole.is_over() {
        let failures = if whole.is_in(share::FAILURES) { 8 } else { 0 };
        let permit: Value =
            json_of(client.post(format!("{service}/v1/targets/reservations/permits"))).await;
        let mut body = json!({"successes": 10 - failures, "failures": failures, "latency_ms": 80});
        if let Some(permit) = permit["permit"].as_str() {
            body = json!({"success": failures == 0, "permit": permit});
        }
        json_of(client.post(format!("{service}/v1/targets/reservations/outcomes")).json(&body))
            .await;
        sleep(CALL).await;
    }
}

/// A backend that checks a limit, of a few keys, a little too often.
pub async fn check_limits(service: String, whole: Part) {
    let client = Client::new();
    for number in 0_u64.. {
        if whole.is_over() {
            break;
        }
        let body = json!({"key": format!("customer-{}", number % 2)});
        json_of(client.post(format!("{service}/v1/limits/login/check")).json(&body)).await;
        sleep(CALL).await;
    }
}

/// A backend that gives money out: it draws, holds what it settles and what it never does, and asks
/// for more than there is.
pub async fn give_out(service: String, whole: Part) {
    let client = Client::new();
    for number in 0_u64.. {
        if whole.is_over() {
            break;
        }
        let pool = if number % 2 == 0 { "reward" } else { "prize" };
        let pool = format!("{service}/v1/pools/{pool}");
        let body = json!({"amount": 7, "operation_id": format!("{service} {number}")});
        json_of(client.post(format!("{pool}/draws")).json(&body)).await;
        let too_much = json!({"amount": 2_000_000, "operation_id": format!("{number}")});
        json_of(client.post(format!("{pool}/draws")).json(&too_much)).await;
        let hold = json_of(client.post(format!("{pool}/holds")).json(&body)).await;
        if let Some(id) = hold["hold_id"].as_str().filter(|_| number % 4 < 2) {
            let body = json!({"amount": 3});
            json_of(client.post(format!("{pool}/holds/{id}/settle")).json(&body)).await;
        }
        sleep(CALL).await;
    }
}

/// A backend that applies for visitors to each event in turn; some other applies for each of them
/// too.
pub async fn apply(service: String, whole: Part) {
    let client = Client::new();
    for number in 0_u64.. {
        if whole.is_over() {
            break;
        }
        let event = ["voucher", "coupon", "gift"][(number % 3) as usize];
        let applications = format!("{service}/v1/events/{event}/applications");
        let body = json!({"visitor_id": format!("customer-{number}")});
        json_of(client.post(applications).json(&body)).await;
        sleep(CALL).await;
    }
}
