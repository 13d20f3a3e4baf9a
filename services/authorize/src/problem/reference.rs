//! The page `docs/reference/errors.md`, generated from the codes.

use anteroom_testkit::docs;

use super::code::{Code, Reference, Retry, all_codes};
use super::queue::GATE;

const HEAD: &str = r##"# Errors

Every error of the public and the service port is `application/problem+json` (RFC 9457). Decide by `code`: it is stable.
`title` and `detail` are for people, and can change. `docs` is the address of the entry on this page.

```json
{
  "type": "urn:anteroom:problem:queue_full",
  "title": "The queue is full",
  "status": 503,
  "code": "queue_full",
  "detail": "Retry after `Retry-After`.",
  "docs": "https://github.com/anteroom/anteroom/blob/main/docs/reference/errors.md#queue_full",
  "retry_after_ms": 12000
}
```

| member | when | meaning |
|---|---|---|
| `type`, `title`, `status`, `code` | always | The error. `status` is the status of the answer. |
| `detail` | always | What is wrong with this request, or what to do. |
| `docs` | unless [`docs_url`](configuration.md#admissiondocs_url) is `""` | The entry of this error. |
| `reason` | `place_gone` | Why the place ended: `completed`, `left`, `unclaimed`, `expired`, `abandoned`, `evicted`, `lost`, `ended`. |
| `retry_after_ms` | when a retry makes sense | When to retry. The header `Retry-After` has the same in whole seconds. |

- **Gateway check.** At `…/authorize` the status of a refusal is always 401 or 403, with the same codes. Gateways turn
  other statuses into errors of their own, and some let a 5xx pass.
- **Gateway.** A gateway can write the body of a refusal itself. The bodies of the NGINX example have no `detail`, no
  `docs` and no `reason`. Its own code [`gate_unavailable`](../how-to/integrate/nginx.md#handle-503-gate_unavailable)
  (503) means that Anteroom did not answer.

| code | status | title |
|---|---|---|
"##;

/// The page that has more on an error.
fn more(code: &str) -> Option<&'static str> {
    Some(match code {
        "assertion_invalid" | "assertion_missing" => {
            "[Identify visitors](../how-to/identify-visitors.md)"
        }
        "effect_unknown" => "[Durability and failures](../explanation/durability.md)",
        "event_not_open" | "sold_out" => "[Give away limited stock](../how-to/give-away.md)",
        "groups_differ" => "[Rate limit](../how-to/rate-limit.md)",
        "insufficient_balance" => "[Budget](../how-to/budget-pool.md)",
        "join_limited" => {
            "[Troubleshooting](../operate/troubleshooting.md#all-visitors-share-one-address)"
        }
        "key_forbidden" | "key_invalid" | "key_missing" => {
            "[Troubleshooting](../operate/troubleshooting.md#the-service-port-refuses-calls)"
        }
        "place_gone" => {
            "[Troubleshooting](../operate/troubleshooting.md#visitors-lost-their-place)"
        }
        "not_admitted" => {
            "[Troubleshooting](../operate/troubleshooting.md#a-visitor-gets-not_admitted-for-ever)"
        }
        "not_found" => {
            "[Troubleshooting](../operate/troubleshooting.md#finishing-a-place-returns-404)"
        }
        "origin_refused" => "[Headers and cookies](headers-and-cookies.md)",
        "overloaded" => "[AnteroomConnectionsRefused](../operate/runbooks/connections-refused.md)",
        "pool_unconfirmed" => "[AnteroomPoolUnconfirmed](../operate/runbooks/pool-unconfirmed.md)",
        "primary_unseen" => "[Set up Redis](../how-to/redis.md)",
        "store_unavailable" => {
            "[AnteroomStoreDown](../operate/runbooks/store-down.md), \
             [AnteroomStoreRefuses](../operate/runbooks/store-refuses.md), \
             [what a crash of Redis can lose](../explanation/durability.md)"
        }
        "token_invalid" | "token_missing" => {
            "[Troubleshooting](../operate/troubleshooting.md#every-visitor-gets-401)"
        }
        _ => return None,
    })
}

fn entry(code: Code) -> String {
    let Reference { meaning, retry, remedy } = code.reference();
    let (name, title, status) = (code.name(), code.title(), code.status().as_u16());
    let meaning = meaning.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ");
    let retry = match retry {
        Retry::No => "No. The same request fails until something else changes.",
        Retry::Later => "Yes, after `Retry-After`.",
        Retry::SameId => {
            "Yes, after `Retry-After`. Use the same token, `Idempotency-Key` or id: the call can have \
             had its effect. Without one of them a retry is another call."
        }
    };
    let gate_status = code.gate_status().as_u16();
    let is_of_gate = GATE.iter().any(|group| group.contains(&code));
    let status = match is_of_gate && gate_status != status {
        true => format!("{status} (gateway check: {gate_status})"),
        false => status.to_string(),
    };
    let more = more(name).map_or_else(String::new, |links| format!("\n- **More:** {links}"));
    format!(
        "\n## `{name}`\n\n{title}, status {status}. {meaning}\n\n- **Retry?** {retry}\n- **What to \
         do:** {remedy}{more}\n"
    )
}

#[test]
fn the_reference_of_errors_is_generated() {
    let mut codes: Vec<_> = all_codes().collect();
    codes.sort_by_key(|code| (code.status().as_u16(), code.name()));
    let row = |code: &Code| {
        let (name, status) = (code.name(), code.status().as_u16());
        format!("| [`{name}`](#{name}) | {status} | {} |\n", code.title())
    };
    let rows: String = codes.iter().map(row).collect();
    let entries: String = codes.into_iter().map(entry).collect();
    docs::is_generated(docs::ERRORS, &format!("{HEAD}{rows}{entries}"));
}
