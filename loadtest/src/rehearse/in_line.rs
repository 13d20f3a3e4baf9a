//! How a visitor waits in line: what it looks at, and what it does meanwhile.

use std::time::{Duration, Instant};

use anteroom_witness::{Call, Heard, Shown};
use clap::ValueEnum;
use rand::Rng as _;
use tokio::time::sleep;

use super::board::{Next, PlaceShown, Reader};
use super::cheat::{self, Trick};
use super::counts::End;
use super::mix::Habit;
use super::stream::{Opened, Seen, Stream};
use super::visitor::Visitor;

/// How visitors in line learn their position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Polls {
    /// Each visitor polls its place (GET …/token)
    #[default]
    Place,
    /// Visitors far back read the board, which a cache can serve, and poll rarely
    Board,
    /// Each visitor keeps an event stream (GET …/token/events)
    Events,
}

/// The same, as far as one visitor has come with it.
pub enum Way {
    /// It polls.
    Place,
    /// It reads the board; nothing before its join.
    Board(Option<Box<Reader>>),
    /// Its stream, while that is open.
    Events(Option<Box<Stream>>),
}

impl From<Polls> for Way {
    fn from(polls: Polls) -> Self {
        match polls {
            Polls::Place => Self::Place,
            Polls::Board => Self::Board(None),
            Polls::Events => Self::Events(None),
        }
    }
}

/// What comes of waiting.
pub enum Waited {
    /// The visit has ended.
    End(End),
    /// The visitor is to look at its place.
    Look,
    /// The stream shows this of its place.
    Heard(Heard),
}

impl Visitor {
    /// Waits from an answer that shows the place in line until the next look at it, and does as its
    /// habit is; some end their visit here.
    pub(super) async fn in_line(&mut self, heard: &Heard) -> Waited {
        match self.way {
            Way::Place => self.polls(heard).await,
            Way::Board(_) => self.reads_boards(heard).await,
            Way::Events(_) => self.follows_events().await,
        }
    }

    async fn polls(&mut self, heard: &Heard) -> Waited {
        if let Some(waited) = self.does_as_its_habit_is().await {
            return waited;
        }
        self.pauses(poll_after(heard)).await;
        self.plays().await;
        Waited::Look
    }

    async fn reads_boards(&mut self, heard: &Heard) -> Waited {
        let (place, now) = (place_shown(heard), Instant::now());
        let reader = match std::mem::replace(&mut self.way, Way::Place) {
            Way::Board(Some(reader)) => reader.place(place, now, &mut self.random),
            _ => Reader::new(place, now, &mut self.random),
        };
        let mut reader = Box::new(reader);
        let waited = loop {
            if let Some(waited) = self.does_as_its_habit_is().await {
                break waited;
            }
            self.pauses(reader.pause()).await;
            self.plays().await;
            if !reader.is_next(Instant::now()) {
                break Waited::Look;
            }
            let answer = Box::pin(self.tab.board()).await;
            let (status, body) =
                answer.map(|(status, body)| (Some(status), body)).unwrap_or_default();
            match reader.read(status, &body, Instant::now()) {
                Next::Board(standing) => self.tab.has_position(standing.position),
                Next::Place(within) => {
                    sleep(within.mul_f64(self.random.random())).await;
                    break Waited::Look;
                }
            }
        };
        self.way = Way::Board(Some(reader));
        waited
    }

    async fn follows_events(&mut self) -> Waited {
        loop {
            if let Some(waited) = self.does_as_its_habit_is().await {
                self.way = Way::Events(None);
                return waited;
            }
            let Some(heard) = self.next_event().await else {
                self.way = Way::Place;
                return Waited::Look;
            };
            if !matches!(heard.shown, Shown::Waiting { .. }) {
                self.way = Way::Events(None);
                return Waited::Heard(heard);
            }
            self.plays().await;
        }
    }

    /// The next event that shows the place; none if the visitor is to poll instead.
    async fn next_event(&mut self) -> Option<Heard> {
        loop {
            let retry = match &mut self.way {
                Way::Events(Some(stream)) => match stream.next(&mut self.tab).await {
                    Seen::Place(heard) => return Some(heard),
                    Seen::Nothing => continue,
                    Seen::PollInstead => return None,
                    Seen::Ended(retry) => retry,
                },
                _ => match Box::pin(self.tab.stream()).await {
                    Opened::Stream(stream) => {
                        self.way = Way::Events(Some(stream));
                        continue;
                    }
                    Opened::PollInstead => return None,
                    Opened::Failed(retry) => retry,
                },
            };
            self.way = Way::Events(None);
            self.pauses(retry).await;
        }
    }

    /// About so long.
    async fn pauses(&mut self, time: Duration) {
        sleep(time.mul_f64(self.random.random_range(1.0..1.1))).await;
    }

    /// Some end their visit in line, and a phone sleeps once.
    async fn does_as_its_habit_is(&mut self) -> Option<Waited> {
        let now_or_later = self.random.random_bool(0.3);
        match self.habit {
            Habit::DropsOut if now_or_later => return Some(Waited::End(End::DroppedOut)),
            Habit::GivesUp if now_or_later => {
                Box::pin(self.tab.ask(Call::Leave)).await;
                return Some(Waited::End(End::GaveUp));
            }
            Habit::Sleeps if now_or_later && !self.done_once => {
                self.done_once = true;
                if let Way::Events(stream) = &mut self.way {
                    *stream = None;
                }
                self.away(self.stage.args.sleep, 0.5..1.5).await;
                return Some(Waited::Look);
            }
            _ => {}
        }
        None
    }

    /// What some do besides, at each look.
    async fn plays(&mut self) {
        match self.habit {
            Habit::Tabs => Box::pin(self.five_tabs()).await,
            Habit::Cheats => {
                if let Some(trick) = Trick::value_variants().get(self.tricks) {
                    self.tricks += 1;
                    // The numbers after those of all visitors.
                    let spare = (self.number, self.stage.args.visitors + self.number);
                    Box::pin(cheat::tries(*trick, &mut self.tab, spare, &mut self.random)).await;
                }
            }
            _ => {}
        }
    }

    /// All tabs ask at once; some join again, in another browser without the token.
    async fn five_tabs(&mut self) {
        let others = self.others.get_or_insert_with(|| {
            let tab = |with_token| self.tab.another(with_token);
            Box::new([tab(true), tab(true), tab(false), tab(false)])
        });
        let [second, third, fourth, fifth] = &mut **others;
        tokio::join!(
            second.ask(Call::Place),
            third.ask(Call::Join),
            fourth.ask(Call::Join),
            fifth.ask(Call::Join),
        );
    }
}

fn poll_after(heard: &Heard) -> Duration {
    Duration::from_millis(heard.poll_after_ms.unwrap_or(1_000))
}

fn place_shown(heard: &Heard) -> PlaceShown {
    PlaceShown {
        ticket: heard.ticket.unwrap_or_default(),
        poll_after: poll_after(heard),
        board_until_ticket: heard.board_until_ticket,
    }
}
