//! The checks of a request, in calls.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use anteroom_authorize::limit::{LimitState, Verdict, check};
use anteroom_core::limit::{Call, CallError, Check, Checked, MAX_CHECKS, Outcome};
use envoy_types::pb::envoy::service::ratelimit::v3::RateLimitRequest;

use tokio::time::{Instant, timeout_at};

use super::descriptors;
use crate::app::App;

/// The checks of one request.
pub struct Checks {
    /// For each descriptor its check, by its place in `checks`; `None` without a limit.
    of_descriptors: Vec<Option<usize>>,
    checks: Vec<LimitCheck>,
}

/// The check of one counter. Descriptors that mean the same counter are one check.
struct LimitCheck {
    limit: Arc<LimitState>,
    key: String,
    group: String,
    cost: u64,
}

impl LimitCheck {
    fn check(&self) -> Check<'_> {
        let Self { limit, key, group, cost } = self;
        let rule = limit.config.rule();
        Check { limit: &limit.name, rule, key, group: Some(group), cost: *cost }
    }
}

/// What became of a request.
pub struct Results {
    /// Whether all of it is allowed.
    pub allowed: bool,
    /// Whether Redis did not answer, and `on_store_error` refused.
    pub failed: bool,
    /// For each descriptor its limit and result; `None` if it has no limit, or was not checked.
    pub of_descriptors: Vec<Option<(Arc<LimitState>, CheckResult)>>,
}

/// The result of one check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckResult {
    pub allowed: bool,
    /// Units that are left; unknown while Redis is down.
    pub remaining: Option<u32>,
    /// Until all units are available; of a refusal until there is room.
    pub reset: Duration,
}

impl Checks {
    /// Finds the limit of each descriptor.
    pub fn of(app: &App, request: RateLimitRequest) -> Self {
        let live = app.live();
        let rules = &live.config.envoy.descriptors;
        let of_all = request.hits_addend.max(1);
        let mut checks: Vec<LimitCheck> = Vec::new();
        let mut seen = HashMap::new();
        let of_descriptors = request.descriptors.iter().map(|descriptor| {
            let meant = descriptors::find(rules, &request.domain, &descriptor.entries);
            let found = meant.and_then(|meant| Some((live.limit(meant.limit)?.clone(), meant)));
            let Some((limit, meant)) = found else {
                app.metrics.unmatched.inc();
                return None;
            };
            // Anteroom gives no units back: a negative cost takes none.
            let cost = match descriptor.hits_addend {
                _ if descriptor.is_negative_hits => 0,
                Some(own) => own.value,
                None => of_all.into(),
            };
            let group = meant.group.unwrap_or_else(|| meant.key.clone());
            let counter = (limit.name.clone(), group.clone(), meant.key.clone());
            let at = *seen.entry(counter).or_insert_with(|| {
                checks.push(LimitCheck { limit, key: meant.key, group, cost: 0 });
                checks.len() - 1
            });
            checks[at].cost = checks[at].cost.saturating_add(cost);
            Some(at)
        });
        Self { of_descriptors: of_descriptors.collect(), checks }
    }

    /// Checks group by group, up to the first refusal. The deadline is for all groups together.
    ///
    /// # Errors
    ///
    /// When the reply of Redis cannot be read.
    pub async fn run(self, app: &App, deadline: Instant) -> Result<Results, String> {
        let mut results: Vec<Option<CheckResult>> = vec![None; self.checks.len()];
        let (mut allowed, mut failed) = (true, false);
        for group in self.groups() {
            let of_group: Vec<_> = group.iter().map(|at| &self.checks[*at]).collect();
            let decided = decide(app, &of_group, deadline).await?;
            for (at, result) in group.iter().zip(&decided.results) {
                results[*at] = *result;
            }
            allowed = decided.results.iter().flatten().all(|result| result.allowed);
            failed |= decided.failed && !allowed;
            if !allowed {
                break;
            }
        }
        let of_descriptor = |at: &Option<usize>| {
            let at = (*at)?;
            Some((self.checks[at].limit.clone(), results[at]?))
        };
        let of_descriptors = self.of_descriptors.iter().map(of_descriptor).collect();
        Ok(Results { allowed, failed, of_descriptors })
    }

    /// The checks by their group, in the order of the first of each; as many as a call can have.
    fn groups(&self) -> Vec<Vec<usize>> {
        let mut groups: Vec<Vec<usize>> = Vec::new();
        let mut last_of: HashMap<&str, usize> = HashMap::new();
        for (at, check) in self.checks.iter().enumerate() {
            match last_of.get(&*check.group) {
                Some(last) if groups[*last].len() < MAX_CHECKS => groups[*last].push(at),
                _ => {
                    last_of.insert(&check.group, groups.len());
                    groups.push(vec![at]);
                }
            }
        }
        groups
    }
}

struct Decided {
    /// In the order of the checks; `None` for one that was not checked.
    results: Vec<Option<CheckResult>>,
    failed: bool,
}

/// One call. A cost that its limit can never take refuses the call, which then takes nothing; a
/// limit in shadow refuses nothing, so that only its check is left out. It comes last: the `log`
/// limits of a call share their units.
async fn decide(app: &App, of_group: &[&LimitCheck], deadline: Instant) -> Result<Decided, String> {
    let mut results: Vec<Option<CheckResult>> = vec![None; of_group.len()];
    let mut places: Vec<usize> = (0..of_group.len()).collect();
    places.sort_by_key(|place| of_group[*place].limit.config.shadow);
    let call = loop {
        if places.is_empty() {
            return Ok(Decided { results, failed: false });
        }
        let checks: Vec<_> = places.iter().map(|place| of_group[*place].check()).collect();
        match Call::several(&checks, None) {
            Ok(call) => break call,
            Err(CallError::Cost { at, .. }) => {
                let place = places.remove(at);
                let config = &of_group[place].limit.config;
                let (allowed, reset) = (config.shadow, config.window);
                results[place] = Some(CheckResult { allowed, remaining: None, reset });
                if !allowed {
                    return Ok(Decided { results, failed: false });
                }
            }
            // Counts, groups and repeated counters are as a call needs them.
            Err(error) => return Err(format!("{error:?}")),
        }
    };
    let of: Vec<_> = places.iter().map(|place| of_group[*place]).collect();
    let (answers, failed) = ask(app, call, &of, deadline).await?;
    for (place, answer) in places.into_iter().zip(answers) {
        results[place] = Some(answer);
    }
    Ok(Decided { results, failed })
}

/// The results of a call, and whether Redis did not answer.
async fn ask(
    app: &App,
    call: Call,
    of: &[&LimitCheck],
    deadline: Instant,
) -> Result<(Vec<CheckResult>, bool), String> {
    let with_costs: Vec<_> = of.iter().map(|check| (&*check.limit, check.cost)).collect();
    let verdict = timeout_at(deadline, check(&app.limits, call, &with_costs)).await;
    let allowed: Vec<bool> = match verdict {
        Ok(Ok(Verdict::Decided(checked))) => {
            return Ok((checked.iter().map(result).collect(), false));
        }
        Ok(Ok(Verdict::Degraded { allowed, .. })) => allowed,
        Ok(Ok(Verdict::Mismatch)) => return Err("a call without an id has one".to_owned()),
        Ok(Err(error)) => return Err(error.to_string()),
        // As if Redis did not answer.
        Err(_) => of.iter().map(|check| check.limit.without_store()).collect(),
    };
    let results = allowed.into_iter().map(|allowed| {
        let reset = if allowed { Duration::ZERO } else { app.retries.schedule_default() };
        CheckResult { allowed, remaining: None, reset }
    });
    Ok((results.collect(), true))
}

fn result(checked: &Checked) -> CheckResult {
    let allowed = checked.outcome != Outcome::Refused;
    let reset = if allowed { checked.reset } else { checked.retry_after };
    CheckResult { allowed, remaining: Some(checked.remaining), reset }
}
