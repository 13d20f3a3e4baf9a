//! What is issued without a call: units that are counted, and codes.

use std::collections::BTreeSet;

use anteroom_core::event::Application;

use crate::stage::Stage;

#[tokio::test]
async fn promise_09_as_many_are_issued_as_there_are_in_the_order_of_applications() {
    let stage = Stage::new("stock = 150\nover_apply = 2.0\n").await;
    stage.apply(0..200).await;
    let issuer = stage.deployment.issuer().await;
    issuer.until_ready().await;
    stage.until_all_ended().await;
    let applications = stage.applications(0..200).await;
    let (first, last) = applications.split_at(150);
    assert!(first.iter().all(|it| matches!(it, Application::Issued { code: None, .. })));
    assert!(last.iter().all(|it| *it == Application::SoldOut));
    let issued = "anteroom_event_attempts_total{event=\"coupon\",outcome=\"issued\"}";
    issuer.until_metric(issued, |it| it == Some(150.0)).await;
    let seconds = "anteroom_event_issue_seconds_count{event=\"coupon\"}";
    assert_eq!(issuer.metric(seconds).await, Some(150.0));
    assert_eq!(issuer.metric("anteroom_success_ratio{service=\"issuer\"}").await, Some(1.0));
    for (gauge, value) in [("stock", 150.0), ("issued", 150.0), ("pending", 0.0), ("dead", 0.0)] {
        let gauge = format!("anteroom_event_{gauge}{{event=\"coupon\"}}");
        issuer.until_metric(&gauge, |it| it == Some(value)).await;
    }
    issuer.end().await;
}

#[tokio::test]
async fn promise_09_each_code_is_given_once_and_those_without_one_wait_for_more() {
    let stage = Stage::new("stock = 100\nissue = \"codes\"\n").await;
    let codes: Vec<String> = (0..100).map(|code| format!("CODE-{code}")).collect();
    stage.event.load_codes(&codes[..70]).await.expect("they are loaded");
    stage.apply(0..100).await;
    let issuer = stage.deployment.issuer().await;
    stage.until("the codes are given", |it| it.issued == 70).await;
    stage.until("the others wait", |it| (it.pending, it.claimed) == (30, 0)).await;
    stage.event.load_codes(&codes).await.expect("they are loaded");
    stage.until_all_ended().await;
    let (issued, given) = stage.issued(0..100).await;
    assert_eq!(issued, 100);
    assert_eq!(given, codes.into_iter().collect::<BTreeSet<_>>());
    assert_eq!(stage.snapshot().await.dead, 0, "no attempt was burnt");
    issuer.end().await;
}

#[tokio::test]
async fn max_per_second_holds_for_all_issuers_together() {
    let stage = Stage::new("stock = 60\nmax_per_second = 20\n").await;
    stage.apply(0..60).await;
    let (one, two) = tokio::join!(stage.deployment.issuer(), stage.deployment.issuer());
    stage.until_all_ended().await;
    let issued_at = |it| match it {
        Application::Issued { issued_at, .. } => issued_at,
        other => panic!("{other:?}"),
    };
    let moments: Vec<u64> = stage.applications(0..60).await.into_iter().map(issued_at).collect();
    let (first, last) = (moments.iter().min().unwrap(), moments.iter().max().unwrap());
    // Sixty at twenty a second, by a clock of whole seconds.
    assert!(last - first >= 2, "{moments:?}");
    one.end().await;
    two.end().await;
}
