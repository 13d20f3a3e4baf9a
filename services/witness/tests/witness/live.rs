//! A record is checked while visitors go on: what is under way may have had its effect.

use anteroom_witness::{Call, Held, Line, Record, Rules, check};

use crate::story::{Story, active, ready};

/// One at a time.
fn rules() -> Rules {
    Rules { capacity: Some(1), ..Rules::default() }
}

/// A visitor is active; gives up the place, unanswered as yet; the next is ready.
fn handed_over() -> (Record, anteroom_witness::Request) {
    let story = Story::default().joins(1, (0, 2), 1, ready(60_000));
    let story = story.claims(1, (3, 5), 1, active(300_000));
    let record = Record::new();
    story.lines.into_iter().for_each(|line| record.write(line));
    let holds = Some(Held { epoch: 7, ticket: 1 });
    let leaves = record.request(Line::sent(1, 1, Call::Leave, 10_000, holds));
    let next = Story::default().joins(2, (12, 14), 2, ready(60_000));
    next.lines.into_iter().for_each(|line| record.write(line));
    (record, leaves)
}

#[test]
fn what_is_under_way_may_have_had_its_effect() {
    let (record, leaves) = handed_over();
    let mut lines = Vec::new();
    let under_way = record.take(&mut lines);
    assert_eq!((lines.len(), under_way.len()), (3, 1));
    assert_eq!(check(&lines, &rules()).len(), 1, "without it two were inside");
    lines.extend(under_way);
    assert!(check(&lines, &rules()).is_empty());
    drop(leaves);
}

#[test]
fn a_request_that_is_cut_short_stays_in_the_record() {
    let (record, leaves) = handed_over();
    drop(leaves);
    let mut lines = Vec::new();
    assert!(record.take(&mut lines).is_empty());
    assert!(lines.len() == 4 && check(&lines, &rules()).is_empty());
    assert!(record.lines().is_empty(), "each line is taken once");
}
