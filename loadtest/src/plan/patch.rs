//! A plan for Kubernetes: a kustomize patch.

use super::Plan;

/// A patch of the ConfigMap `anteroom-rules`, whose keys the services take as their environment
/// (`envFrom`): only the rules of this queue change, whatever else the ConfigMap holds.
pub fn patch(plan: &Plan, queue: &str) -> String {
    let prefix = format!("ANTEROOM_QUEUES__{}__", queue.to_ascii_uppercase());
    let mut text = format!(
        "# In kustomization.yaml: patches: [{{ path: {queue}.patch.yaml }}]\n\
         apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: anteroom-rules\ndata:\n  \
         {prefix}BATCH: \"{}\"\n  {prefix}INTERVAL: \"{}ms\"\n  {prefix}PACE: \"{}\"\n",
        plan.batch,
        plan.interval_ms,
        plan.pace.name()
    );
    if let Some(capacity) = plan.capacity {
        text.push_str(&format!("  {prefix}CAPACITY: \"{capacity}\"\n"));
    }
    text
}
