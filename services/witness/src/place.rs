//! What the record proves of one place.
//!
//! Answers show ends as the time that is left by queue time, which never runs faster than real
//! time: a turn lasts at least as long as was shown, and began at least as long ago as its share of
//! `claim_ttl` that is used up.

use std::collections::HashMap;

use crate::{Call, Held, Line, Rules, Shown, rules::micros};

/// A line with its index in the record.
pub(crate) type Entry<'r> = (usize, &'r Line);

/// What rounding to milliseconds may hide, and a little more.
const MARGIN: u64 = 2_000;
/// With `local_answers` a poll shows the line as it was up to so long before the request.
const LINE_AGE: u64 = 2_000_000;

/// A span of the record in which the store lost nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Life {
    from: u64,
    to: u64,
}

impl Life {
    /// All of the record, cut at its losses.
    pub fn all(rules: &Rules) -> Vec<Self> {
        let mut lives = vec![Self { from: 0, to: u64::MAX }];
        for (lost, back) in &rules.losses {
            if let Some(last) = lives.last_mut() {
                last.to = *lost;
            }
            lives.push(Self { from: *back, to: u64::MAX });
        }
        lives
    }

    fn holds(self, line: &Line) -> bool {
        self.from <= line.sent && line.received <= self.to
    }

    /// Whether the answer shows what the store knew. The gate may answer from the memory of its
    /// process while the store is away, which is as good until the store has lost something.
    fn believes(self, line: &Line) -> bool {
        self.from == 0 || line.call != Call::Authorize
    }
}

/// A place of an identity, as answers showed it in one life of the store.
pub(crate) struct Place<'r> {
    pub identity: u32,
    pub held: Held,
    /// The answers about it, in order of reception.
    pub lines: Vec<Entry<'r>>,
    /// When it may have been given up: the first request to do so, answered or not.
    pub left_at: u64,
    /// It did not exist before this; none where it may be older than the record.
    pub created_after: Option<u64>,
    rules: &'r Rules,
}

/// When a place was promoted, at the earliest and at the latest.
pub(crate) struct Promoted {
    /// Not before this, by time itself.
    pub after: u64,
    /// Not before this, as far as spans of queue time shorter than an interval are concerned; none
    /// where it may have been before the record.
    pub since: Option<u64>,
    pub by: u64,
    /// The answer that shows the latest.
    pub line: usize,
}

/// A span in which a place was certainly ready or active.
pub(crate) struct Admitted {
    pub from: u64,
    pub until: u64,
    /// The answers that show the beginning, the end, and that it was not given up before.
    pub lines: [usize; 3],
}

impl<'r> Place<'r> {
    /// All places of a life, in order of their first line.
    pub fn all(record: &'r [Line], rules: &'r Rules, life: Life) -> Vec<Self> {
        let mut found: HashMap<(u32, Held), usize> = HashMap::new();
        let mut places: Vec<Self> = Vec::new();
        let (mut joined, mut left) = (HashMap::new(), HashMap::new());
        for line in record {
            let key = |held| (line.identity, held);
            // An answer 200 has the place of another join.
            if line.call == Call::Join && line.status != Some(200) {
                let first = joined.entry((line.identity, None)).or_insert(line.sent);
                *first = line.sent.min(*first);
                if let (Some(201), Some(held)) = (line.status, line.given) {
                    let created = joined.entry((line.identity, Some(held))).or_insert(line.sent);
                    *created = line.sent.min(*created);
                }
            }
            if let (Call::Leave, Some(held)) = (line.call, line.holds) {
                let first = left.entry(key(held)).or_insert(line.sent);
                *first = line.sent.min(*first);
            }
        }
        for entry @ (_, line) in record.iter().enumerate() {
            let Some(held) = line.place() else { continue };
            if line.shown == Shown::Nothing || !life.holds(line) || !life.believes(line) {
                continue;
            }
            let key = (line.identity, held);
            let at = *found.entry(key).or_insert_with(|| {
                let perhaps = || joined.get(&(line.identity, None));
                let perhaps = || perhaps().filter(|sent| **sent < line.received);
                let created = joined.get(&(line.identity, Some(held))).or_else(perhaps);
                places.push(Self {
                    identity: line.identity,
                    held,
                    lines: Vec::new(),
                    left_at: left.get(&key).copied().unwrap_or(u64::MAX),
                    created_after: created.copied(),
                    rules,
                });
                places.len() - 1
            });
            places[at].lines.push(entry);
        }
        for place in &mut places {
            place.lines.sort_by_key(|(_, line)| line.received);
            if life.from > 0 {
                place.forget_its_namesake();
            }
        }
        places
    }

    /// After a loss a ticket is given again, perhaps to the same identity: what was shown before
    /// that join is about the place that was lost.
    fn forget_its_namesake(&mut self) {
        let created = self.lines.iter().find(|(_, line)| line.status == Some(201));
        if let Some(created) = created.map(|(_, line)| line.sent) {
            self.lines.retain(|(_, line)| line.received > created);
        }
    }

    /// The lines that show it in line or admitted.
    pub fn alive(&self) -> impl Iterator<Item = Entry<'r>> {
        self.lines.iter().copied().filter(|(_, line)| !is_gone(line))
    }

    /// The lines that show it in line.
    pub fn waiting(&self) -> impl Iterator<Item = Entry<'r>> {
        self.alive().filter(|(_, line)| matches!(line.shown, Shown::Waiting { .. }))
    }

    /// The latest moment of which an answer proves what it shows.
    pub fn as_of(&self, line: &Line) -> u64 {
        let is_waiting = matches!(line.shown, Shown::Waiting { .. });
        let may_be_old = self.rules.local_answers && line.call == Call::Place && is_waiting;
        line.sent.saturating_sub(if may_be_old { LINE_AGE } else { 0 })
    }

    /// The lines that show it ready or active.
    pub fn admissions(&self) -> impl Iterator<Item = Entry<'r>> {
        self.alive().filter(|(_, line)| !matches!(line.shown, Shown::Waiting { .. }))
    }

    /// The lines that say it is over.
    pub fn gone(&self) -> impl Iterator<Item = Entry<'r>> {
        self.lines.iter().copied().filter(|(_, line)| is_gone(line))
    }

    /// From when until when it certainly existed, and the line that shows the beginning.
    pub fn existed(&self) -> Option<(u64, u64, usize)> {
        let (from, line) = self.alive().map(|(at, line)| (line.received, at)).min()?;
        Some((from, self.exists_until()?.0.min(self.given_up().0).min(self.shown_gone()), line))
    }

    /// Until when it was to exist by what was shown, unless it is given up, and the line that
    /// showed it.
    pub fn exists_until(&self) -> Option<(u64, usize)> {
        self.alive().map(|(at, line)| (self.lasts(line), at)).max()
    }

    /// When it may have been given up at the earliest, and the line that shows that it had not been
    /// since that request: not of the gate, which may answer from the memory of its process.
    fn given_up(&self) -> (u64, Option<usize>) {
        let shown = self.alive().filter(|(_, line)| line.call != Call::Authorize);
        let last = shown.map(|(at, line)| (line.sent, Some(at))).max();
        last.filter(|(sent, _)| *sent > self.left_at).unwrap_or((self.left_at, None))
    }

    /// When the request was sent whose answer first showed that it is gone.
    fn shown_gone(&self) -> u64 {
        self.gone().map(|(_, line)| line.sent).min().unwrap_or(u64::MAX)
    }

    /// From when until when it was certainly ready or active.
    pub fn admitted(&self) -> Option<Admitted> {
        let promoted = self.promoted()?;
        let (until, line) = self.admissions().map(|(at, line)| (self.lasts(line), at)).max()?;
        let (given_up, shown) = self.given_up();
        let until = until.min(given_up).min(self.shown_gone());
        let lines = [promoted.line, line, shown.unwrap_or(line)];
        Some(Admitted { from: promoted.by, until, lines })
    }

    /// Until when the place exists after this answer, unless it is given up.
    fn lasts(&self, line: &Line) -> u64 {
        // A turn that is claimed right after the answer lasts as long as a session from then on.
        let (claim_ttl, session_ttl) =
            (micros(self.rules.claim_ttl), micros(self.rules.session_ttl));
        let least = match line.shown {
            Shown::Waiting { .. } => self.present_for(line).min(claim_ttl).min(session_ttl),
            Shown::Ready { left_ms } => (1_000 * left_ms).min(session_ttl),
            Shown::Active { left_ms } => 1_000 * left_ms,
            Shown::Nothing | Shown::Gone { .. } => 0,
        };
        line.sent + least.saturating_sub(MARGIN)
    }

    /// How long a place in line counts as present after this answer.
    fn present_for(&self, line: &Line) -> u64 {
        let is_new = line.call == Call::Join && line.status == Some(201);
        micros(if is_new { self.rules.first_poll_ttl } else { self.rules.idle_ttl })
    }

    /// Until when it was present in line, unless its turn came or it was given up: before that
    /// it cannot be abandoned, however soon a turn would lapse.
    pub fn present_until(&self) -> u64 {
        self.presence().map(|(_, until)| until).max().unwrap_or(0)
    }

    /// The spans in which it certainly was in line, present, the ends included; a later answer
    /// must have shown that it still did.
    pub fn presence(&self) -> impl Iterator<Item = (u64, u64)> {
        self.waiting().map(|(_, line)| {
            (line.received, (line.sent + self.present_for(line)).saturating_sub(MARGIN))
        })
    }

    /// When it was promoted.
    pub fn promoted(&self) -> Option<Promoted> {
        let (by, line) = self
            .admissions()
            .map(|(at, line)| (line.received.saturating_sub(self.used_up(line)), at))
            .min()?;
        let waited = self.waiting().map(|(_, line)| self.as_of(line)).max();
        let after = waited.max(self.created_after);
        let interval = micros(self.rules.interval);
        let since = self
            .admissions()
            .filter(|(_, line)| matches!(line.shown, Shown::Ready { .. }))
            .map(|(_, line)| (line.sent, self.used_up(line) + MARGIN))
            .filter(|(_, elapsed)| *elapsed < interval)
            .map(|(sent, elapsed)| sent.saturating_sub(elapsed))
            .max();
        Some(Promoted { after: after.unwrap_or(0), since: after.max(since), by, line })
    }

    /// How much of its `claim_ttl` a ready place had used up at least: so long ago it was promoted.
    fn used_up(&self, line: &Line) -> u64 {
        match line.shown {
            Shown::Ready { left_ms } => {
                micros(self.rules.claim_ttl).saturating_sub(1_000 * left_ms)
            }
            _ => 0,
        }
    }
}

fn is_gone(line: &Line) -> bool {
    matches!(line.shown, Shown::Gone { .. })
}
