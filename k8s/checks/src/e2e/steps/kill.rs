//! Pods are deleted by force: they have a second or two, far less than they ask for.

use std::time::Duration;

use anyhow::Context as _;

use crate::{
    progress::pause,
    run::Run,
    seen::Seen,
    table::Line,
    workloads::{pods, settled},
};

/// What must hold while a pod of a kind dies and another one takes its place.
enum Must {
    /// Nothing is lost, and promotion goes on: there is another one.
    LoseNothing,
    /// What was under way there is lost, and no more than that: there is another one.
    Recover,
    /// It is the only one, so its requests are lost until it is back.
    Return,
    /// It is the store: nothing is lost, visitors are put off.
    PutOff,
}

/// Requests that were under way break off; balancers notice within seconds.
const RECOVERED_SECONDS: f64 = 15.0;
/// A tick is 100 ms. More than this is no late tick any more.
const GAP_SECONDS: f64 = 5.0;

/// A pod that dies by force leaves half-closed connections in the table of its node (conntrack). A
/// new connection from the same port to the same Service goes to the dead pod's address, until the
/// client gives up (100 s) and the entry ends (30 s). So those that visitors or the gate connect to
/// die last, and the steps after them begin later.
const FORGOTTEN: Duration = Duration::from_secs(150);

/// One pod of each that the overlay has.
pub async fn pods_of_every_kind(run: &Run) -> anyhow::Result<()> {
    for (workload, must) in [
        ("deployment/scheduler", Must::LoseNothing),
        ("deployment/issuer", Must::LoseNothing),
        ("deployment/prometheus", Must::LoseNothing),
        ("statefulset/redis", Must::PutOff),
        ("deployment/admission", Must::Recover),
        ("deployment/gate", Must::Recover),
        ("deployment/envoy", Must::Recover),
        ("deployment/concert", Must::Return),
    ] {
        if !run.has(workload) {
            continue;
        }
        let dies = async {
            let pods = pods(&run.kubectl, workload).await?;
            let pod = &pods.first().with_context(|| format!("no pod of {workload}"))?.name;
            let delete = ["delete", "pod", pod, "--wait=false"];
            // What holds a volume is never there twice, and a store that syncs every second has the
            // time to write: it goes as a node that is drained lets it go.
            let how = match workload.starts_with("statefulset") {
                true => &[][..],
                false => &["--grace-period=0", "--force"],
            };
            run.kubectl.run(&[&delete[..], how].concat()).await?;
            settled(&run.kubectl, workload).await
        };
        let (_, took, seen) = run.under_load(dies).await?;
        let (says, held) = judge(&must, &seen);
        let kind = workload.rsplit('/').next().unwrap_or_default();
        run.add(Line::new(format!("kill {kind}"), says, Some(held)).took(took).under(seen));
    }
    pause("until the node has no connection of a dead pod left", FORGOTTEN).await;
    Ok(())
}

fn judge(must: &Must, seen: &Seen) -> (String, bool) {
    let losing = format!("requests were lost for {:.0} s", seen.losing_seconds);
    match must {
        Must::LoseNothing => {
            let goes_on = seen.gap_seconds < Some(GAP_SECONDS);
            ("the others go on".to_owned(), seen.undisturbed() && goes_on)
        }
        Must::Recover => (losing, seen.losing_seconds < RECOVERED_SECONDS),
        Must::Return => (format!("it is back; {losing}"), true),
        Must::PutOff => ("it is back".to_owned(), seen.lost() == 0),
    }
}
