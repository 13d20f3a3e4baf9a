//! The ledger: every movement, paged; what is old is summed up; the audit finds what is wrong.

use std::time::Duration;

use anteroom_core::pool::{LedgerFrom, Movement, Rules, Sums};

use super::money::{draw, funded, hold, opened, pass, sums, tick, units};
use super::support::START;

#[tokio::test]
async fn every_movement_has_a_line() {
    let (world, pool) = opened(funded(100)).await;
    let (one, two) = (hold(&pool, 10, "1").await, hold(&pool, 20, "2").await);
    draw(&pool, 5, "d").await;
    pool.settle(one.id, units(4)).await.expect("an answer");
    pool.cancel(two.id).await.expect("an answer");
    let three = hold(&pool, 7, "3").await;
    pass(&world, &pool, 60).await;
    pool.settle(three.id, units(6)).await.expect("an answer");
    pool.fund(units(1), "f").await.expect("an answer");
    let ledger = pool.ledger(LedgerFrom::After(0), 200).await.expect("a look");
    let lines: Vec<_> =
        ledger.lines.iter().map(|it| (it.movement, it.amount, it.released, it.balance)).collect();
    assert_eq!(
        lines,
        [
            (Movement::Funded, 100, 0, 100),
            (Movement::Held, 10, 0, 90),
            (Movement::Held, 20, 0, 70),
            (Movement::Drawn, 5, 0, 65),
            (Movement::Settled, 4, 10, 71),
            (Movement::Cancelled, 0, 20, 91),
            (Movement::Held, 7, 0, 84),
            (Movement::Expired, 0, 7, 91),
            (Movement::Settled, 6, 0, 85),
            (Movement::Funded, 1, 0, 86),
        ]
    );
    let holds: Vec<_> = ledger.lines.iter().map(|line| line.hold).collect();
    assert_eq!(holds[4], Some(one.id));
    assert_eq!((holds[7], holds[0]), (Some(three.id), None));
    let named =
        ledger.lines.iter().filter_map(|line| line.operation_id.as_deref().zip(Some(line.seq)));
    assert_eq!(named.collect::<Vec<_>>(), [("d", 4), ("f", 10)]);
    assert_eq!(ledger.lines[0].at_us, START);
    assert_eq!((ledger.last_seq, ledger.opening_seq, ledger.opening), (10, 0, Sums::default()));
    let page = pool.ledger(LedgerFrom::After(3), 2).await.expect("a look");
    assert_eq!(page.lines.iter().map(|line| line.seq).collect::<Vec<_>>(), [4, 5]);
}

/// In pages of each size; in the second round the first lines are summed up.
#[tokio::test]
async fn pages_in_both_directions_show_each_line_once() {
    let rules = Rules { ledger_keep: Duration::from_secs(3_600), ..funded(1_000) };
    let (world, pool) = opened(rules).await;
    for n in 0..7 {
        draw(&pool, 1, &n.to_string()).await;
    }
    for opening in [0, 8] {
        let seqs: Vec<u64> = (opening + 1..=opening + 8).collect();
        for limit in [1, 2, 3, 7, 8, 9, 200] {
            for backwards in [false, true] {
                let (mut seen, mut next) =
                    (Vec::new(), Some(if backwards { u64::MAX >> 11 } else { 0 }));
                while let Some(from) = next {
                    let from =
                        if backwards { LedgerFrom::Before(from) } else { LedgerFrom::After(from) };
                    let page = pool.ledger(from, limit).await.expect("a look");
                    assert_eq!((page.opening_seq, page.last_seq), (opening, opening + 8));
                    assert!(!page.lines.is_empty() && page.lines.len() as u64 <= limit);
                    seen.extend(page.lines.iter().map(|line| line.seq));
                    next = page.next;
                }
                if backwards {
                    seen.reverse();
                }
                assert_eq!(seen, seqs, "pages of {limit}");
            }
        }
        for from in [LedgerFrom::Before(1), LedgerFrom::Before(opening + 1), LedgerFrom::After(99)]
        {
            let page = pool.ledger(from, 3).await.expect("a look");
            assert_eq!((page.lines, page.next), (vec![], None), "{from:?}");
        }
        for _ in 0..721 {
            world.pass(Duration::from_secs(5));
            tick(&pool).await;
        }
        for n in 0..8 {
            draw(&pool, 1, &format!("{opening} {n}")).await;
        }
    }
}

#[tokio::test]
async fn lines_that_are_old_are_summed_up_and_the_audit_still_holds() {
    let rules = Rules { ledger_keep: Duration::from_secs(3_600), ..funded(1_000) };
    let (world, pool) = opened(rules).await;
    for n in 0..250 {
        draw(&pool, 1, &n.to_string()).await;
    }
    let left = hold(&pool, 9, "open").await;
    for _ in 0..720 {
        world.pass(Duration::from_secs(5));
        tick(&pool).await;
        pool.extend(left.id).await.expect("an answer");
    }
    let ledger = pool.ledger(LedgerFrom::After(0), 200).await.expect("a look");
    assert_eq!((ledger.opening_seq, ledger.lines.len()), (252, 0));
    let opening = Sums { balance: 741, held: 9, paid: 250, funded: 1_000 };
    assert_eq!(ledger.opening, opening);
    draw(&pool, 1, "after").await;
    assert_eq!(sums(&pool).await.paid, 251);
    let lines: u64 = world.redis.run(&["XLEN", "anteroom:v1:pool:{reward}:ledger"]).await;
    assert_eq!(lines, 1);
}

#[tokio::test]
async fn an_audit_of_many_lines_goes_in_parts_and_finds_what_is_wrong() {
    let (world, pool) = opened(funded(10_000)).await;
    for n in 0..1_200 {
        draw(&pool, 2, &n.to_string()).await;
    }
    let audit = pool.audit().await.expect("an audit");
    assert!(audit.holds() && audit.lines == 1_201, "{audit:?}");
    let meta = "anteroom:v1:pool:{reward}:meta";
    world.redis.run::<i64>(&["HINCRBY", meta, "balance", "1"]).await;
    let audit = pool.audit().await.expect("an audit");
    assert!(!audit.holds() && audit.kept.balance == audit.computed.balance + 1, "{audit:?}");
    world.redis.run::<i64>(&["HINCRBY", meta, "balance", "-1"]).await;
    world.redis.run::<i64>(&["XDEL", "anteroom:v1:pool:{reward}:ledger", "700-0"]).await;
    let audit = pool.audit().await.expect("an audit");
    assert!(!audit.holds() && audit.missing == 1, "{audit:?}");
}
