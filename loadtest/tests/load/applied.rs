//! The plan of a run, set live at a real room.

use anteroom_testkit::Anteroom;
use serde_json::Value;

use super::ramp::{folder, limited, ramp, read, told};

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
    let (room, service) = tokio::join!(Anteroom::start(ROOM, &[]), limited());
    room.admission.until_ready().await;
    let url = room.url("service");
    let live = || async {
        let view = reqwest::Client::new().get(format!("{url}/v1/admin/queues/hall"));
        let view = view.bearer_auth(KEY).send().await.unwrap().error_for_status().unwrap();
        view.json::<Value>().await.unwrap()["rules"].clone()
    };
    let folder = folder("[[steps]]\npath = '/'");
    let open = ["--rate", "150", "--hold", "3s", "--queue", "hall", "--apply", &url];
    let before = live().await;
    assert_eq!((&before["capacity"], &before["batch"]), (&70.into(), &1.into()), "{before}");
    let mut command = ramp(folder.path(), &service.url(), &open);
    let output = command.env("ANTEROOM_KEY", "ark1.somebody-else").output().await.unwrap();
    assert_eq!(output.status.code(), Some(70), "{}", told(&output));
    assert!(told(&output).contains("not applied: 401"), "{}", told(&output));
    assert_eq!(live().await, before);

    let mut command = ramp(folder.path(), &service.url(), &open);
    let output = command.env("ANTEROOM_KEY", KEY).output().await.unwrap();
    assert!(output.status.success(), "{}", told(&output));
    let (plan, after) = (read(&folder, "plan.json"), live().await);
    for rule in ["batch", "interval_ms", "pace"] {
        assert_eq!(after[rule], plan[rule], "{rule}: {after} by {plan}");
    }
    // The scenario does not think, so the plan knows no capacity.
    assert_eq!(after["capacity"], 70);
}
