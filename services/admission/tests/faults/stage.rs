//! A small room in full use: services, a store to break, and visitors who go through meanwhile.

use std::{
    collections::{BTreeSet, HashSet},
    time::Duration,
};

use anteroom_testkit::{
    Deployment, PATIENCE, Redis, Service, local_answers, until, until_some,
    witness::{
        Busiest, Call, Caller, Crowd, Doors, Ended, Habit, Line, Record, Rules, Scene, Shown,
    },
};
use tokio::{sync::SemaphorePermit, task::JoinHandle};

use crate::{HEAVY, machine};

const QUEUE: &str = "capacity = 25\nbatch = 40\ninterval = \"1s\"\n\
    claim_ttl = \"5s\"\nsession_ttl = \"5s\"\nsession_max = \"10s\"\n\
    joins_per_address = \"none\"\nplaces_per_address = 0\nrequests_per_place = 0\n";

/// One operation with its repeat, by default.
const BUDGET: Duration = Duration::from_secs(1);
/// After the return of Redis (docs/explanation/durability.md).
const NEXT_TURN: Duration = Duration::from_secs(2);
/// What a slow machine may add to either: these tests take some seconds of processor time each.
const MARGIN: Duration = Duration::from_secs(8);

/// What callers get while Redis is down; overloaded: the budget was over before the call could be
/// sent.
const UNAVAILABLE: [(u16, &str); 4] = [
    (503, "store_unavailable"),
    (503, "overloaded"),
    (504, "effect_unknown"),
    (403, "store_unavailable"),
];

/// Services that run through the fault, and the record of what visitors got.
pub struct Stage {
    pub site: Deployment,
    pub record: Record,
    pub admission: Service,
    pub scheduler: Service,
    scene: Scene,
    crowds: Vec<JoinHandle<Ended>>,
    rules: Rules,
    _alone: SemaphorePermit<'static>,
}

/// The rules of every queue.
pub fn rules() -> Rules {
    Rules {
        capacity: Some(25),
        batch: Some(40),
        interval: Duration::from_secs(1),
        claim_ttl: Duration::from_secs(5),
        session_ttl: Duration::from_secs(5),
        local_answers: local_answers(),
        ..Rules::default()
    }
}

/// How the services came back.
#[derive(Debug)]
struct Recovery {
    /// From the store's return to the first answer that it gave.
    answers: Duration,
    /// From the store's return to the first turn given to a visitor who waited then.
    promotes: Duration,
}

impl Stage {
    /// Opens on this store.
    pub async fn open(redis: Redis) -> Self {
        Self::open_with(redis, &[]).await
    }

    /// Opens on this store, with an environment for the services.
    pub async fn open_with(redis: Redis, env: &[(&str, &str)]) -> Self {
        Self::open_beside(&[], redis, env).await
    }

    /// Opens with further queues beside it that have the same rules; [`visit`](Self::visit) fills
    /// them.
    pub async fn open_beside(queues: &[&str], redis: Redis, env: &[(&str, &str)]) -> Self {
        let alone = machine(HEAVY).await;
        let all = ["hall"].iter().chain(queues);
        let file: String = all.map(|name| format!("[queues.{name}]\n{QUEUE}")).collect();
        let site = Deployment::new(redis, &file, env);
        let (admission, scheduler) = (site.admission().await, site.scheduler().await);
        let doors = Doors::new([admission.url("public")]);
        // Every call has an answer; the record shows how late.
        let scene = Scene { patience: 2 * PATIENCE, ..Scene::new(doors, "hall") };
        Self {
            site,
            record: scene.record.clone(),
            admission,
            scheduler,
            scene,
            crowds: Vec::new(),
            rules: rules(),
            _alone: alone,
        }
    }

    /// Visitors come; returns when some have been served and many wait.
    pub async fn fills(&mut self) {
        self.fills_with(160).await;
    }

    /// So many come: 160 are through in some six seconds.
    pub async fn fills_with(&mut self, visitors: u32) {
        self.come(visitors, Duration::from_secs(3));
        self.until_line("a visitor is served", |line| {
            line.call == Call::Leave && line.status == Some(204)
        })
        .await;
        until("a line forms", 2 * PATIENCE, async || {
            self.record.count(|line| matches!(line.shown, Shown::Waiting { position: Some(20..) }))
                > 0
        })
        .await;
    }

    /// Some more come, and have their places.
    pub async fn more_come(&mut self) {
        let now = self.record.now();
        self.come(20, Duration::ZERO);
        until("they have joined", PATIENCE, async || {
            self.record.count(|line| line.sent > now && line.status == Some(201)) >= 20
        })
        .await;
    }

    /// Returns when so many places were given.
    pub async fn until_joined(&self, places: usize) {
        until("they have joined", PATIENCE, async || {
            self.record.count(|line| line.status == Some(201)) >= places
        })
        .await;
    }

    /// One more visitor, who does as the test says.
    pub fn caller(&self) -> Caller {
        Caller::new(&self.scene, 1_000_000)
    }

    fn come(&mut self, visitors: u32, arrive_within: Duration) {
        let first = 1_000 * u32::try_from(self.crowds.len()).expect("a few");
        self.crowds.push(visit(self.scene.clone(), first, visitors, arrive_within));
    }

    /// Lets visitors come to another queue of this admission, with a record of its own.
    pub fn visit(
        &self,
        queue: &str,
        visitors: u32,
        within: Duration,
    ) -> (Record, JoinHandle<Ended>) {
        let record = Record::new();
        let scene = Scene { record: record.clone(), queue: queue.to_owned(), ..self.scene.clone() };
        (record, visit(scene, 0, visitors, within))
    }

    /// Each call has a good answer again.
    pub async fn until_each_call_works(&mut self) {
        let since = self.record.now();
        self.more_come().await;
        for call in
            [Call::Join, Call::Place, Call::Claim, Call::Authorize, Call::Renew, Call::Leave]
        {
            let works = |line: &Line| {
                line.sent >= since && line.call == call && line.shown != Shown::Nothing
            };
            self.until_line(&format!("{call:?} works"), works).await;
        }
    }

    /// Waits for a line such as this one.
    pub async fn until_line(&self, what: &str, is: impl Fn(&Line) -> bool) {
        until(what, 2 * PATIENCE, async || self.record.count(&is) > 0).await;
    }

    /// Waits until callers have been refused many times since then, for seconds.
    pub async fn until_refused_since(&self, since: u64) {
        until("callers are refused", 2 * PATIENCE, async || {
            let refused = |line: &Line| line.sent >= since && line.code == "store_unavailable";
            self.record.now() > since + 2_500_000 && self.record.count(refused) > 100
        })
        .await;
    }

    /// More come to a Redis without memory, and are refused; no other visitor is.
    pub async fn until_joins_are_refused_since(&mut self, since: u64) {
        self.come(40, Duration::ZERO);
        until("joins are refused", 2 * PATIENCE, async || {
            let refused = |line: &Line| line.sent >= since && line.code == "store_unavailable";
            self.record.count(|line| refused(line) && line.call == Call::Join) > 20
        })
        .await;
    }

    /// Answers may be lost from `from` on, until the store came back at `back`.
    pub fn loses(&mut self, from: u64, back: u64) {
        self.rules.losses.push((from, back));
    }

    /// How many callers were refused since then because of the store.
    pub fn refused_since(&self, since: u64) -> usize {
        self.record.count(|line| {
            let refusal = (line.status.unwrap_or(0), line.code.as_str());
            line.sent >= since && UNAVAILABLE.contains(&refusal)
        })
    }

    /// The queue has had one epoch, and every ticket of it is a visitor's.
    pub fn no_ticket_is_missing(&self) {
        let lines = self.record.lines();
        let places: BTreeSet<_> = lines.iter().filter_map(|line| line.given).collect();
        let epochs: BTreeSet<_> = places.iter().map(|place| place.epoch).collect();
        assert_eq!(epochs.len(), 1, "one epoch");
        assert!(places.iter().map(|place| place.ticket).eq(1..=places.len() as u64), "{places:?}");
    }

    /// Every visit comes to its end, without a restart of the services; every answer was given
    /// within the budget and with a known code, and every promise kept.
    pub async fn ends_well(&mut self) -> Busiest {
        let (mut served, mut unfinished) = (0, 0);
        for crowd in self.crowds.drain(..) {
            let ended = crowd.await.expect("visitors do not panic");
            served += ended.done.iter().filter(|habit| **habit <= Habit::ManyTabs).count();
            unfinished += ended.unfinished;
        }
        assert!(self.admission.process.try_exit().is_none(), "{}", self.admission.process.stdout());
        assert!(self.scheduler.process.try_exit().is_none(), "{}", self.scheduler.process.stdout());
        let busiest = self.record.hold_to(&self.rules);
        assert_eq!(unfinished, 0, "every visit came to its end");
        assert!(served > 100, "{served} served");
        self.answers_are_clear_and_in_time();
        busiest
    }

    /// Whatever the store does, a caller hears a word, a clear one, within the request's budget.
    fn answers_are_clear_and_in_time(&self) {
        let lines = self.record.lines();
        let mut took = Vec::new();
        for line in &lines {
            let refusal = (line.status.unwrap_or(0), line.code.as_str());
            let is_clear = line.code.is_empty()
                || ["not_ready", "not_active", "not_admitted", "place_gone"].contains(&refusal.1)
                || UNAVAILABLE.contains(&refusal);
            assert!(line.status.is_some() && is_clear, "{line:?}");
            took.push(line.received - line.sent);
        }
        took.sort_unstable();
        let at = |share: usize| Duration::from_micros(took[(took.len() - 1) * share / 1_000]);
        let (half, longest) = (at(500), at(1_000));
        assert!(half < BUDGET * 2 && longest < BUDGET + MARGIN, "{half:?}, {longest:?}");
    }

    /// Waits until both services say of the store that it is there, or not; they are ready either
    /// way.
    pub async fn until_both_see_the_store(&self, is_up: bool) {
        let up = if is_up { 1.0 } else { 0.0 };
        for service in [&self.admission, &self.scheduler] {
            service.until_metric("anteroom_store_up", |it| it == Some(up)).await;
            if is_up {
                // A script has run.
                service.until_ready().await;
            }
            assert_eq!(service.get("/readyz").await, (200, "ready\n".to_owned()));
            assert_eq!(service.get("/livez").await.0, 200, "no reason to restart it");
        }
    }

    /// Waits until all goes on after the store's return at `back`, and looks how long that took.
    pub async fn recovers(&self, back: u64) {
        let recovery = until_some("turns are given again", 2 * PATIENCE, async || {
            recovery(&self.record.lines(), back)
        })
        .await;
        let slower = recovery.answers.max(recovery.promotes);
        assert!(slower < NEXT_TURN + MARGIN, "{recovery:?}");
    }
}

fn visit(scene: Scene, first: u32, visitors: u32, arrive_within: Duration) -> JoinHandle<Ended> {
    let crowd = Crowd {
        first,
        visitors,
        arrive_within,
        look_every: Duration::from_millis(300),
        stay: Duration::from_millis(300),
        seed: rand::random(),
    };
    tokio::spawn(async move { crowd.visit(&scene, 8 * PATIENCE).await })
}

/// Both, when both have happened.
fn recovery(lines: &[Line], back: u64) -> Option<Recovery> {
    let (mut answers, mut promotes) = (None, None);
    let mut waited = HashSet::new();
    for line in lines.iter().filter(|line| line.sent >= back) {
        // The gate may answer from memory.
        if line.call == Call::Authorize || line.shown == Shown::Nothing {
            continue;
        }
        let since = Duration::from_micros(line.received - back);
        answers = answers.or(Some(since));
        match line.shown {
            Shown::Waiting { .. } => _ = waited.insert(line.place()),
            Shown::Ready { .. } if waited.contains(&line.place()) => {
                promotes = promotes.or(Some(since));
            }
            _ => {}
        }
    }
    Some(Recovery { answers: answers?, promotes: promotes? })
}
