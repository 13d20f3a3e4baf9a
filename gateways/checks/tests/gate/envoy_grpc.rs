//! What Envoy does over gRPC only: it asks for a rate limit too, and needs no admission for a
//! check.

use anteroom_testkit::Answer;
use http::Method;

use crate::browser::AtGate as _;
use crate::gateway::example;
use crate::program::Program;
use crate::site::{Plan, Site};

const LIMITS: &str = r#"capacity = 2
[limits.seats]
limit = 2
window = "1h"
[[envoy.descriptors]]
domain = "shop"
entries = [{ key = "visitor" }]
limit = "seats"
"#;

/// The commented blocks of an example, and the same in force. A comment's text has one blank after
/// its sign; a commented line has none, or as many as it is indented.
fn options(text: &str) -> Vec<(String, String)> {
    let is_option = |line: &str| {
        let rest = line.trim_start().strip_prefix('#');
        rest.is_some_and(|rest| !rest.starts_with(' ') || rest.starts_with("  "))
    };
    let mut blocks: Vec<Vec<&str>> = Vec::new();
    let mut before = false;
    for line in text.lines() {
        let is = is_option(line);
        match blocks.last_mut() {
            Some(block) if is && before => block.push(line),
            _ if is => blocks.push(vec![line]),
            _ => {}
        }
        before = is;
    }
    let in_force = |block: &Vec<&str>| {
        let lines: Vec<_> = block.iter().map(|line| line.replacen('#', "", 1)).collect();
        (block.join("\n"), lines.join("\n"))
    };
    blocks.iter().map(in_force).collect()
}

/// The example's commented lines are put in force.
#[tokio::test]
async fn envoy_limits_the_requests_of_each_visitor() {
    let program = Program::EnvoyGrpc;
    if !program.is_installed() {
        return;
    }
    let options = options(&example(program, "envoy-grpc.yaml"));
    assert_eq!(options.len(), 2, "the filter, and the action: {options:?}");
    let edits: Vec<_> = options.iter().map(|(old, new)| (&**old, &**new)).collect();
    let plan = Plan { program, queue: LIMITS, edits: &edits, ..Plan::default() };
    let site = Site::with(plan).await;
    let (first, second) = (site.token().await, site.token().await);
    for left in [1, 0] {
        let answer = site.call(Method::GET, "/seats", &first).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(answer.header("ratelimit-policy"), "\"seats\";q=2;w=3600");
        let limit = answer.header("ratelimit");
        assert!(limit.starts_with(&format!("\"seats\";r={left};")), "{limit}");
    }
    let refused = site.call(Method::GET, "/seats", &first).await;
    assert_eq!(refused.status, 429, "{refused:?}");
    let seconds: u64 = refused.header("retry-after").parse().expect("seconds");
    assert!((1..=3600).contains(&seconds), "{seconds}");
    assert!(refused.header("ratelimit").starts_with("\"seats\";r=0;"), "{refused:?}");
    // A name that a client writes is no other counter.
    let ask = site.client.get(format!("{}/seats", site.url)).header("x-anteroom-token", &first);
    let renamed = Answer::of(ask.header("x-anteroom-visitor", "another")).await;
    assert_eq!(renamed.status, 429, "{renamed:?}");
    assert_eq!(site.shop.arrivals().len(), 2);

    // Each visitor has a counter, and what has no visitor has none.
    assert_eq!(site.call(Method::GET, "/seats", &second).await.status, 200);
    for _ in 0..3 {
        assert_eq!(site.call(Method::GET, "/public/logo", &first).await.status, 200);
    }
    site.call(Method::GET, "/seats", "").await.is_problem(401, "token_missing");
}

#[tokio::test]
async fn with_admission_down_a_visitor_inside_still_passes() {
    let program = Program::EnvoyGrpc;
    if !program.is_installed() {
        return;
    }
    let mut site = Site::of(program).await;
    let (known, waits) = (site.token().await, site.token().await);
    assert_eq!(site.call(Method::GET, "/seats", &known).await.status, 200);
    site.anteroom.admission.process.kill();
    assert_eq!(site.call(Method::GET, "/seats", &known).await.status, 200);
    site.call(Method::GET, "/seats", &waits).await.is_problem(403, "not_admitted");
}
