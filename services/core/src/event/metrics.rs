//! The metrics of events that several services export, and so under the same names.

use super::{Issue, Snapshot};

/// A gauge: its name, its meaning, and its value in a snapshot, if it has one there.
type Gauge = (&'static str, &'static str, fn(&Snapshot) -> Option<f64>);

/// A gauge that says which of some words holds: its name, its meaning, the words, and the one of a
/// snapshot.
type StateGauge =
    (&'static str, &'static str, &'static [&'static str], fn(&Snapshot) -> &'static str);

impl Snapshot {
    /// Which of some words holds of an event, with the labels `event` and `state`.
    pub const STATES: [StateGauge; 1] = [(
        "anteroom_event_state",
        "1 for the state of the event, 0 for the others: `upcoming` (before `opens_at`), `open`, \
         `no_stock` (no stock was added yet), `sold_out` (all stock is handed out), `ended` (from \
         `ends_at` on).",
        &["upcoming", "open", "no_stock", "sold_out", "ended"],
        Self::state,
    )];

    /// What a snapshot shows of an event. All have the one label `event`.
    pub const GAUGES: [Gauge; 8] = [
        ("anteroom_event_stock", "All items that were added since the event was created.", |it| {
            Some(it.stock as f64)
        }),
        ("anteroom_event_issued", "Items that were handed out.", |it| Some(it.issued as f64)),
        (
            "anteroom_event_pending",
            "Applications that wait for an issuer, including those that will be retried.",
            |it| Some(it.pending as f64),
        ),
        ("anteroom_event_claimed", "Applications that an issuer is working on.", |it| {
            Some(it.claimed as f64)
        }),
        (
            "anteroom_event_dead",
            "Dead letters: failed applications. An operator retries them or gives them up.",
            |it| Some(it.dead as f64),
        ),
        (
            "anteroom_event_given_up",
            "Dead letters that an operator gave up. The API counts `anteroom_event_dead` + \
             `anteroom_event_given_up` as `failed`.",
            |it| Some(it.failed as f64),
        ),
        ("anteroom_event_sold_out", "Accepted applications for which no item was left.", |it| {
            Some(it.sold_out as f64)
        }),
        (
            "anteroom_event_codes",
            "Codes that are left. Absent unless the event hands out codes.",
            |it| (it.rules.issue == Issue::Codes).then_some(it.codes as f64),
        ),
    ];

    /// Whether applications are taken, and why not.
    fn state(&self) -> &'static str {
        let now = self.store_time_us / 1_000_000;
        let has_come = |moment: Option<u64>| moment.is_some_and(|it| now >= it);
        match self {
            it if has_come(it.rules.ends_at) => "ended",
            it if it.rules.opens_at.is_some_and(|opens_at| now < opens_at) => "upcoming",
            it if it.stock == 0 => "no_stock",
            it if it.issued >= it.stock => "sold_out",
            _ => "open",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Rules;
    use super::*;

    #[test]
    fn each_state_is_one_of_the_words() {
        let (_, _, words, state) = Snapshot::STATES[0];
        let at = |store_time_s: u64, stock, issued| Snapshot {
            store_time_us: store_time_s * 1_000_000,
            stock,
            issued,
            pending: 0,
            claimed: 0,
            dead: 0,
            failed: 0,
            sold_out: 0,
            codes: 0,
            rules: Rules { opens_at: Some(10), ends_at: Some(20), ..Rules::default() },
        };
        let snapshots = [at(9, 5, 0), at(10, 5, 4), at(10, 0, 0), at(19, 5, 5), at(20, 5, 4)];
        assert_eq!(snapshots.each_ref().map(state).as_slice(), words);
    }
}
