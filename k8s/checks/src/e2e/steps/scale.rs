//! Admission, 2 to 5 to 2.

use crate::{run::Run, table::Line, workloads::settled};

const ADMISSION: &str = "deployment/admission";

/// Up and down again.
pub async fn admission(run: &Run) -> anyhow::Result<()> {
    for (step, replicas) in [("scale 2 to 5", 5), ("scale 5 to 2", 2)] {
        let scales = async {
            let replicas = format!("--replicas={replicas}");
            run.kubectl.run(&["scale", ADMISSION, &replicas]).await?;
            settled(&run.kubectl, ADMISSION).await
        };
        let (_, took, seen) = run.under_load(scales).await?;
        let held = seen.undisturbed();
        let says = format!("{replicas} are there");
        run.add(Line::new(step, says, Some(held)).took(took).under(seen));
    }
    Ok(())
}
