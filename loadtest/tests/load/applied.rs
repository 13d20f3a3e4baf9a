//! The plan of a run, set live at a real room.

use std::sync::{Arc, Mutex};

use anteroom_testkit::{Anteroom, PATIENT};
use serde_json::Value;

use super::common::stderr;
use super::ramp::{ONE, folder, limited, ramp, read};
use super::service::Service;

const KEY: &str = "ark1.operator-key";
/// The digest is the key's.
const ROOM: &str = "
[queues.hall]
capacity = 70
batch = 1
[keys.ops]
digest = \"sha256:69f5c80ffeb1742d98900176d49c2ec1d40003ecca0c35f5780287c3b8032534\"
role = \"operator\"
";

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_is_set_live_at_a_room_by_the_operators_key_alone() {
    let (room, service) = tokio::join!(Anteroom::start(ROOM, &PATIENT), limited());
    room.admission.until_ready().await;
    let url = room.url("service");
    let live = || async {
        let view = reqwest::Client::new().get(format!("{url}/v1/admin/queues/hall"));
        let view = view.bearer_auth(KEY).send().await.unwrap().error_for_status().unwrap();
        view.json::<Value>().await.unwrap()["rules"].clone()
    };
    let folder = folder(ONE);
    let before = live().await;
    assert_eq!((&before["capacity"], &before["batch"]), (&70.into(), &1.into()), "{before}");
    for (queue, key, says) in [
        ("hall", "ark1.another-key", Some("/queues/hall: 401")),
        ("unknown", KEY, Some("/queues/unknown: 404")),
        ("hall", KEY, None),
    ] {
        assert_eq!(live().await, before);
        let open = format!("--rate 150 --hold 3s --queue {queue} --apply {url}");
        let mut command = ramp(&folder, &service.url(), &open);
        let output = command.env("ANTEROOM_KEY", key).output().await.unwrap();
        let code = if says.is_some() { 70 } else { 0 };
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
        assert!(stderr(&output).contains(says.unwrap_or_default()), "{}", stderr(&output));
    }
    let (plan, after) = (read(&folder, "plan.json"), live().await);
    for rule in ["batch", "interval_ms", "pace"] {
        assert_eq!(after[rule], plan[rule], "{rule}: {after} by {plan}");
    }
    // The scenario does not think, so the plan knows no capacity.
    assert_eq!(after["capacity"], 70);
}

/// The key goes to the service port alone, and what that does not do is not reported as done.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_goes_through_no_proxy_and_after_no_redirect() {
    let service = limited().await;
    let requests = Arc::new(Mutex::new(Vec::new()));
    let listens = async |status, body: &'static str| {
        let requests = Arc::clone(&requests);
        Service::start(move |method| {
            requests.lock().unwrap().push(method);
            async move { (status, body.to_owned()) }
        })
        .await
    };
    let folder = folder(ONE);
    // Answers 200 to everything, and follows no plan.
    let proxy = listens(200, r#"{"rules":{"batch":1}}"#).await;
    let apply = async |url: &str, proxy: Option<&str>| {
        let apply = format!("--rate 150 --hold 2s --apply {url}");
        let mut command = ramp(&folder, &service.url(), &apply);
        if let Some(proxy) = proxy {
            command.env("http_proxy", proxy).env("no_proxy", "");
        }
        let output = command.env("ANTEROOM_KEY", KEY).output().await.unwrap();
        assert_eq!(output.status.code(), Some(70), "{url}: {}", stderr(&output));
        stderr(&output)
    };
    let through = apply("http://127.0.0.1:9", Some(&proxy.url())).await;
    assert!(through.contains("not applied"), "{through}");
    assert!(through.contains("http://127.0.0.1:9/v1/admin/queues/concert"), "{through}");
    assert!(requests.lock().unwrap().is_empty(), "the proxy had a request");
    let elsewhere = listens(307, "").await;
    let moved = apply(&elsewhere.url(), None).await;
    assert!(moved.contains("/queues/concert: 307"), "{moved}");
    let ignored = apply(&proxy.url(), None).await;
    assert!(ignored.contains("not applied: batch is 1 in the queue"), "{ignored}");
}
