//! Records made by hand, line by line, in milliseconds.

use std::time::Duration;

use anteroom_witness::{Call, Held, Line, Rules, Shown, Violation, check};

/// Two at a time, three a second, turns of five seconds.
pub fn rules() -> Rules {
    Rules {
        capacity: Some(2),
        batch: Some(3),
        interval: Duration::from_secs(1),
        claim_ttl: Duration::from_secs(5),
        session_ttl: Duration::from_secs(10),
        ..Rules::default()
    }
}

pub fn waiting(position: u64) -> Shown {
    Shown::Waiting { position: Some(position) }
}

pub fn ready(left_ms: u64) -> Shown {
    Shown::Ready { left_ms }
}

pub fn active(left_ms: u64) -> Shown {
    Shown::Active { left_ms }
}

pub fn gone(reason: &str) -> Shown {
    Shown::Gone { reason: reason.to_owned() }
}

/// A record in the making.
#[derive(Clone, Default)]
pub struct Story {
    pub lines: Vec<Line>,
}

impl Story {
    /// A visitor, who is an identity of its own, asks for its place and hears this; the times are
    /// those of the sending and of the reception. A join is the first of its place.
    pub fn hears(
        mut self,
        who: u32,
        call: Call,
        times: (u64, u64),
        ticket: u64,
        shown: Shown,
    ) -> Self {
        let held = Held { epoch: 7, ticket };
        let joins = call == Call::Join;
        let again = self.lines.iter().any(|line| line.place() == Some(held));
        self.lines.push(Line {
            visitor: who,
            identity: who,
            call,
            door: 0,
            sent: 1_000 * times.0,
            received: 1_000 * times.1,
            holds: (!joins).then_some(held),
            position: None,
            status: Some(if joins && !again { 201 } else { 200 }),
            code: String::new(),
            ticket: Some(ticket),
            shown,
            given: joins.then_some(held),
            token: joins.then_some(ticket),
        });
        self
    }

    pub fn joins(self, who: u32, times: (u64, u64), ticket: u64, shown: Shown) -> Self {
        self.hears(who, Call::Join, times, ticket, shown)
    }

    pub fn looks(self, who: u32, times: (u64, u64), ticket: u64, shown: Shown) -> Self {
        self.hears(who, Call::Place, times, ticket, shown)
    }

    pub fn claims(self, who: u32, times: (u64, u64), ticket: u64, shown: Shown) -> Self {
        self.hears(who, Call::Claim, times, ticket, shown)
    }

    pub fn leaves(self, who: u32, times: (u64, u64), ticket: u64) -> Self {
        self.hears(who, Call::Leave, times, ticket, gone("left"))
    }

    /// The last line had no answer: its effect may come at any time, or never.
    pub fn unanswered(mut self) -> Self {
        let line = self.last();
        (line.status, line.ticket, line.shown) = (None, None, Shown::Nothing);
        (line.given, line.token) = (None, None);
        self
    }

    /// The last request had this position with it.
    pub fn sends(mut self, position: u64) -> Self {
        self.last().position = Some(position);
        self
    }

    pub fn last(&mut self) -> &mut Line {
        self.lines.last_mut().expect("a line")
    }

    pub fn check(&self, rules: &Rules) -> Vec<Violation> {
        check(&self.lines, rules)
    }

    #[track_caller]
    pub fn is_clean(&self) {
        self.is_clean_by(&rules());
    }

    #[track_caller]
    pub fn is_clean_by(&self, rules: &Rules) {
        let found = self.check(rules);
        assert!(found.is_empty(), "{}", reports(&found, &self.lines));
    }

    /// Exactly one violation, of this promise, in these words, proven by these lines (counted from
    /// 1).
    #[track_caller]
    pub fn breaks(&self, promise: u8, what: &str, lines: &[usize]) {
        self.breaks_by(&rules(), promise, what, lines);
    }

    #[track_caller]
    pub fn breaks_by(&self, rules: &Rules, promise: u8, what: &str, lines: &[usize]) {
        let found = self.check(rules);
        let all = reports(&found, &self.lines);
        assert_eq!(found.len(), 1, "{all}");
        assert!(found[0].promise == promise && found[0].what.contains(what), "{all}");
        let proof: Vec<_> = found[0].lines.iter().map(|line| line + 1).collect();
        assert_eq!(proof, lines, "{all}");
    }
}

pub fn reports(found: &[Violation], lines: &[Line]) -> String {
    found.iter().map(|it| it.report(lines)).collect::<Vec<_>>().join("\n")
}
