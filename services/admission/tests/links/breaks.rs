//! Services that reach their store through a link, and the ways in which it breaks.

use std::time::Duration;

use anteroom_testkit::{Cut, Deployment, Fault, PATIENCE, Proxy, Redis, Service, until};
use rand::seq::SliceRandom as _;
use tokio::time::sleep;

/// Every call of an operation holds this.
const CALL: &[u8] = b"EVALSHA";
/// Longer than a command may take by default.
const TOO_LONG: Duration = Duration::from_millis(400);

/// Services, and the link between them and the store.
pub struct Linked {
    pub admission: Service,
    link: Proxy,
    _scheduler: Service,
    site: Deployment,
}

/// How the link breaks.
#[derive(Clone, Copy, Debug)]
enum Break {
    /// It is reset with a call on its way.
    Cut(Cut),
    /// It is reset, and stays so for a while.
    Refused,
    /// Nothing comes through for a while, and then all that was sent meanwhile.
    Hole,
    /// Replies come late.
    Late(Duration),
    /// Replies come byte by byte.
    Drops,
    /// The connections are dead, without an error.
    HalfOpen,
}

const BREAKS: [Break; 9] = [
    Break::Cut(Cut::Before),
    Break::Cut(Cut::After),
    Break::Cut(Cut::Amid),
    Break::Refused,
    Break::Hole,
    Break::Late(Duration::from_millis(20)),
    Break::Late(TOO_LONG),
    Break::Drops,
    Break::HalfOpen,
];

impl Linked {
    /// Starts the services with these queues.
    pub async fn start(queues: &str) -> Self {
        Self::patient(queues, &[]).await
    }

    /// The same with these settings.
    pub async fn patient(queues: &str, env: &[(&str, &str)]) -> Self {
        let redis = Redis::start().await;
        let link = Proxy::start(redis.port()).await;
        let url = link.url();
        let env = [&[("ANTEROOM_STORE__URL", &*url)], env].concat();
        let site = Deployment::new(redis, queues, &env);
        let admission = site.admission().await;
        Self { admission, link, _scheduler: site.scheduler().await, site }
    }

    /// An admission that needs no link.
    pub async fn direct(&self) -> Service {
        let url = self.site.redis.url();
        let admission = self.site.admission_with(&[("ANTEROOM_STORE__URL", &url)]).await;
        admission.until_ready().await;
        admission
    }

    /// The link.
    pub fn link(&self) -> &Proxy {
        &self.link
    }

    /// Breaks the link in every way, so many times each, in any order; between two of them `calm`
    /// waits until all goes on.
    pub async fn breaks(&self, times: usize, calm: impl AsyncFn()) {
        for _ in 0..times {
            let mut breaks = BREAKS;
            breaks.shuffle(&mut rand::rng());
            for kind in breaks {
                self.breaks_by(kind).await;
                calm().await;
            }
        }
    }

    async fn breaks_by(&self, kind: Break) {
        match kind {
            Break::Cut(cut) => {
                let before = self.link.cuts();
                self.link.cut(CALL, cut);
                until("a call is cut", PATIENCE, async || self.link.cuts() > before).await;
            }
            Break::Refused => self.suffers(Fault::Refuse, TOO_LONG).await,
            // Calls are given up meanwhile, and take effect nevertheless.
            Break::Hole => self.suffers(Fault::Blackhole, TOO_LONG * 2).await,
            Break::Late(delay) => self.suffers(Fault::Delay(delay), TOO_LONG * 2).await,
            Break::Drops => {
                self.suffers(Fault::Trickle(Duration::from_millis(1)), TOO_LONG * 2).await;
            }
            Break::HalfOpen => self.link.silence_open(),
        }
    }

    async fn suffers(&self, fault: Fault, lasts: Duration) {
        self.link.set(fault);
        sleep(lasts).await;
        self.link.set(Fault::Pass);
    }
}
