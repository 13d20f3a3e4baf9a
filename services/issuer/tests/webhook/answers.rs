//! What each behaviour of a receiver comes to.

use std::io::{Read as _, Write as _};
use std::time::Duration;

use anteroom_issuer::webhook::{Answer, Application, Webhook};
use anteroom_testkit::{PATIENCE, Receiver};

use crate::calls::{ANN, failure, signed_by, webhook};

/// Long enough for an answer that comes, short enough to wait for one that does not.
const SHORT: Duration = Duration::from_secs(1);

/// A webhook that leads to this path.
fn to(receiver: &Receiver, path: &str) -> Webhook {
    webhook(&receiver.url(path), PATIENCE)
}

#[tokio::test]
async fn an_application_is_issued_once_however_often_it_is_sent() {
    let receiver = Receiver::start().await;
    let webhook = to(&receiver, "/issue");
    for attempt in 1..=3 {
        assert_eq!(webhook.issue(&ANN, attempt).await, Answer::Issued, "201, then 409");
    }
    let other = Application { visitor_id: "bob", sequence: 18, ..ANN };
    assert_eq!(webhook.issue(&other, 1).await, Answer::Issued);
    assert_eq!(receiver.issued().await, [ANN.idempotency_key(), other.idempotency_key()]);
}

#[tokio::test]
async fn a_receiver_that_issued_without_an_answer_is_called_again() {
    let receiver = Receiver::start().await;
    let webhook = to(&receiver, "/silent/2");
    for attempt in 1..=2 {
        let error = failure(webhook.issue(&ANN, attempt).await);
        assert!(error.starts_with("the answer broke off"), "{error}");
    }
    assert_eq!(webhook.issue(&ANN, 3).await, Answer::Issued);
    assert_eq!(receiver.issued().await, [ANN.idempotency_key()]);
}

#[tokio::test]
async fn what_may_pass_is_tried_again_and_what_may_not_is_not() {
    let receiver = Receiver::start().await;
    for status in [400, 404, 422] {
        let answer = to(&receiver, &format!("/status/{status}")).issue(&ANN, 1).await;
        assert!(matches!(&answer, Answer::Refused { .. }), "{status}: {answer:?}");
    }
    for status in [408, 429, 500, 503] {
        let answer = to(&receiver, &format!("/status/{status}")).issue(&ANN, 1).await;
        let Answer::Failed { error, retry_after, .. } = answer else {
            panic!("{status}: {answer:?}")
        };
        assert!(error.contains(&status.to_string()), "{error}");
        assert_eq!(retry_after, Some(Duration::from_secs(3)));
    }
    assert_eq!(receiver.issued().await, [""; 0]);
}

#[tokio::test]
async fn a_receiver_that_hangs_costs_a_time_out() {
    let receiver = Receiver::start().await;
    let hangs = webhook(&receiver.url("/hang"), SHORT);
    assert_eq!(failure(hangs.issue(&ANN, 1).await), "no answer in time");
}

/// hyper reads them in one go, as many as the runtime lets it read at a time. All else on the same
/// thread waits meanwhile, as this test does.
#[tokio::test]
async fn informational_answers_without_end_cost_a_time_out_and_stop_no_other_task() {
    for status in ["100 Continue", "102 Processing"] {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            let mut stream = listener.accept().unwrap().0;
            assert_ne!(stream.read(&mut [0; 4_096]).unwrap(), 0, "the request has come");
            let answers = format!("HTTP/1.1 {status}\r\n\r\n").repeat(4_096);
            while stream.write_all(answers.as_bytes()).is_ok() {}
        });
        let webhook = webhook(&url, SHORT);
        let (mut turns, mut ticks) = (0, tokio::time::interval(SHORT / 100));
        let issued = webhook.issue(&ANN, 1);
        tokio::pin!(issued);
        let answer = loop {
            tokio::select! {
                biased;
                answer = &mut issued => break answer,
                _ = ticks.tick() => turns += 1,
            }
        };
        assert_eq!(failure(answer), "no answer in time");
        assert!(turns > 3, "{turns} turns of 100");
    }
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let receiver = Receiver::start().await;
    let error = failure(to(&receiver, "/redirect").issue(&ANN, 1).await);
    assert!(error.contains("redirects are not followed"), "{error}");
    assert_eq!(receiver.issued().await, [""; 0]);
}

/// The time-out of the webhook is as long as the test's: only an answer that is cut ends in time.
#[tokio::test]
async fn an_endless_answer_is_cut() {
    let receiver = Receiver::start().await;
    let webhook = to(&receiver, "/endless");
    let answer = tokio::time::timeout(PATIENCE / 2, webhook.issue(&ANN, 1)).await;
    assert_eq!(answer, Ok(Answer::Issued));
}

#[tokio::test]
async fn any_of_the_secrets_is_believed_and_no_other() {
    let receiver = Receiver::start().await;
    let url = receiver.url("/issue");
    let secrets = |secrets| signed_by(&url, PATIENCE, secrets);
    for forged in [&[][..], &["another-secret"]] {
        let answer = secrets(forged).issue(&ANN, 1).await;
        assert!(matches!(&answer, Answer::Refused { .. }), "{answer:?}");
    }
    let both = secrets(&["another-secret", Receiver::SECRET]);
    assert_eq!(both.issue(&ANN, 1).await, Answer::Issued);
}
