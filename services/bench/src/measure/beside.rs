//! What backends call, beside our own authorize: each round runs between two runs of authorize, and
//! is compared with the mean of these two.

use std::sync::Arc;

use anyhow::Context as _;

use crate::{
    meter::{self, Question, Window, beside, over},
    report::{Bound, Row},
    request::Requests,
    settings::Settings,
    stats::{least, median, most},
    world::{World, room},
};

/// Active places that authorize is requested for.
pub const VISITORS: u64 = 10_000;

/// What is requested of admission.
pub struct Call {
    /// Its name in the report.
    pub name: &'static str,
    pub operation: &'static str,
    pub path: &'static str,
    /// The body up to the number with which it ends.
    pub json: &'static str,
    /// So many numbers in turn; absent: each call has one that no call had before.
    pub numbers: Option<u64>,
    pub expect: u16,
    /// Its budget: requests per second of authorize's.
    pub least_of_authorize: Option<f64>,
}

/// What was measured so far; of authorize one window more, since each round is between two.
pub struct Rounds<'a> {
    world: World,
    settings: &'a Settings,
    question: Question,
    calls: &'static [Call],
    pub authorize: Vec<Window>,
    pub windows: Vec<Vec<Window>>,
}

impl<'a> Rounds<'a> {
    /// Starts services with these sections of the configuration, and measures authorize.
    pub async fn start(
        settings: &'a Settings,
        sections: &str,
        calls: &'static [Call],
    ) -> anyhow::Result<Self> {
        let visitors = settings.scaled(VISITORS);
        let world = World::start(&[room("inside", visitors), sections.to_owned()]).await?;
        let question = world.authorize("inside", visitors, VISITORS).await?;
        let windows = vec![Vec::new(); calls.len()];
        let mut rounds = Self { world, settings, question, calls, authorize: Vec::new(), windows };
        rounds.authorize().await?;
        Ok(rounds)
    }

    pub async fn authorize(&mut self) -> anyhow::Result<()> {
        self.authorize.push(meter::measure(&self.world, self.settings, &self.question).await?);
        Ok(())
    }

    /// Measures each call.
    pub async fn calls(&mut self, round: usize) -> anyhow::Result<()> {
        for (call, windows) in self.calls.iter().zip(&mut self.windows) {
            let (numbers, json) = match call.numbers {
                Some(numbers) => (numbers, call.json.to_owned()),
                None => (u64::MAX, format!("{}round {round:04}, ", call.json)),
            };
            let requests = Arc::new(Requests::posts(call.path, &json, numbers, "\"}"));
            let question = Question { operation: call.operation, requests, expect: call.expect };
            let window = meter::measure(&self.world, self.settings, &question).await;
            windows.push(window.with_context(|| format!("row {}", call.name))?);
        }
        Ok(())
    }

    /// Of each call its last window, and what that is of authorize's.
    pub fn last(&self) -> impl Iterator<Item = (&'static Call, Window, f64)> {
        self.calls.iter().zip(&self.windows).filter_map(|(call, windows)| {
            let ratios = beside(windows, &self.authorize, |it| it.rate);
            Some((call, *windows.last()?, ratios.last().copied().unwrap_or(f64::NAN)))
        })
    }

    /// The row of authorize, and one of each call; `more` adds what is compared besides.
    pub fn rows(&self, more: impl Fn(Row, Option<&Call>, &[Window]) -> Row) -> Vec<Row> {
        let row = |call: Option<&Call>, windows: &[Window]| {
            let of = |of: fn(&Window) -> f64| match call {
                Some(_) => beside(windows, &self.authorize, of),
                None => vec![1.0],
            };
            let (ratios, bound) = (of(|it| it.rate), call.and_then(|it| it.least_of_authorize));
            let row = Row::new(call.map_or("authorize", |it| it.name))
                .figure("requests/s", over(windows, |it| it.rate))
                .within("of authorize", median(&ratios), bound.map(Bound::AtLeast))
                .figure("least", least(&ratios))
                .figure("most", most(&ratios))
                .figure("CPU", median(&of(Window::all_us)));
            more(row, call, windows)
                .figure("EVALSHA/request", over(windows, Window::calls_a_request))
        };
        let calls = self.calls.iter().zip(&self.windows);
        let calls = calls.map(|(call, windows)| row(Some(call), windows));
        [row(None, &self.authorize)].into_iter().chain(calls).collect()
    }
}
