//! Admission, 2 to 5 to 2.

use crate::{run::Run, workloads::settled};

const ADMISSION: &str = "deployment/admission";

/// Up and down again.
pub async fn admission(run: &Run) -> anyhow::Result<()> {
    for (step, replicas) in [("scale 2 to 5", 5), ("scale 5 to 2", 2)] {
        let scales = async {
            let replicas = format!("--replicas={replicas}");
            run.kubectl.run(&["scale", ADMISSION, &replicas]).await?;
            settled(&run.kubectl, ADMISSION).await
        };
        run.undisturbed(step, format!("{replicas} are there"), scales).await?;
    }
    Ok(())
}
