//! What cheaters try, and what must come of it.

use std::sync::Arc;

use anteroom_witness::{Call, Heard, Token, Told};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use rand::Rng;
use serde::{Deserialize, Serialize};

use crate::{
    client::Answer,
    rehearse::{Stage, tab::Tab},
};

/// A way to cheat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trick {
    /// The own token, with the first ticket in it.
    ForgedToken,
    /// A token that names another queue.
    ForeignToken,
    /// The gate without a token.
    NoToken,
    /// The gate before the turn has come.
    GateWithoutTurn,
    /// A claim before the turn has come.
    EarlyClaim,
    /// Another join under a new key, to stand further in front.
    SecondJoin,
}

/// How often something was tried, and with what success.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tried {
    /// Tried.
    pub tried: u64,
    /// Refused, as it must be.
    pub refused: u64,
    /// Honest: the turn had come meanwhile.
    pub turn_had_come: u64,
    /// Accepted, which it must not be.
    pub accepted: u64,
}

impl Tried {
    /// Adds those of another.
    pub fn merge(&mut self, other: &Self) {
        self.tried += other.tried;
        self.refused += other.refused;
        self.turn_had_come += other.turn_had_come;
        self.accepted += other.accepted;
    }
}

/// A trick that the room fell for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FellFor {
    trick: Trick,
    call: Call,
    /// What it answered.
    how: String,
}

impl FellFor {
    /// Whether a gate that keeps its promises may do so: in bypass all pass, and without the store
    /// (`on_store_error = "open"`) all but forged tokens.
    pub fn is_excused(&self, bypass: bool, store_away: bool) -> bool {
        let forged = matches!(self.trick, Trick::ForgedToken | Trick::ForeignToken);
        self.call == Call::Authorize && (bypass || store_away && !forged)
    }

    /// For a person to read.
    pub fn report(&self) -> String {
        let Self { trick, call, how } = self;
        format!("promise 6: {}: {call:?} is answered {how}", trick.name())
    }
}

/// All of them, in the order in which a cheater tries.
pub const TRICKS: [Trick; 6] = [
    Trick::ForgedToken,
    Trick::ForeignToken,
    Trick::NoToken,
    Trick::GateWithoutTurn,
    Trick::EarlyClaim,
    Trick::SecondJoin,
];

impl Trick {
    /// For a person to read.
    pub fn name(self) -> &'static str {
        match self {
            Self::ForgedToken => "a forged token",
            Self::ForeignToken => "a token of another queue",
            Self::NoToken => "the gate without a token",
            Self::GateWithoutTurn => "the gate without a turn",
            Self::EarlyClaim => "a claim before the turn",
            Self::SecondJoin => "a second join under a new key",
        }
    }
}

/// Tries a trick from a tab whose visitor waits. What is heard about the own place is told.
///
/// `spare` is an identity that nobody else has.
pub async fn tries(
    trick: Trick,
    tab: &mut Tab,
    stage: &Arc<Stage>,
    spare: (u32, u32),
    random: &mut (impl Rng + Send),
) -> Option<Heard> {
    let mut result = Tried { tried: 1, ..Tried::default() };
    let mut own = None;
    let mut fell_for = None;
    match trick {
        Trick::ForgedToken | Trick::ForeignToken | Trick::NoToken => {
            let token = tab.token.as_ref().map(|it| it.text.clone()).unwrap_or_default();
            let token = match trick {
                Trick::ForgedToken => altered(&token, None),
                Trick::ForeignToken => altered(&token, Some("elsewhere")),
                _ => None,
            };
            let calls = [Call::Authorize, Call::Claim, Call::Place, Call::Renew, Call::Leave];
            let call = match trick {
                Trick::NoToken => Call::Authorize,
                _ => calls[random.random_range(0..calls.len())],
            };
            if let Ok(answer) = tab.send(call, token.as_deref()).await {
                let code = Heard::answer(call, answer.status.as_u16(), |_| None, &answer.body).code;
                match takes(&answer, &code, trick) {
                    Some(true) => {
                        let how = format!("{} {code}", answer.status.as_u16());
                        // Without its store the room may have to pass whoever shows nothing.
                        let has_store = trick != Trick::NoToken || {
                            let heard = own.insert(tab.ask(Call::Place).await);
                            heard.told != Told::Nothing
                        };
                        let how = has_store.then(|| how.trim_end().to_owned());
                        fell_for = how.map(|how| (call, how));
                    }
                    Some(false) => result.refused = 1,
                    None => {}
                }
            }
        }
        Trick::GateWithoutTurn | Trick::EarlyClaim => {
            let early = trick == Trick::EarlyClaim;
            let call = if early { Call::Claim } else { Call::Authorize };
            let mut heard = tab.ask(call).await;
            // Whether it was too early the witness knows, who counts all that are inside.
            match heard.told {
                Told::Waiting { .. } => result.refused = 1,
                Told::Ready { .. } | Told::Active { .. } => result.turn_had_come = 1,
                // A pass that says no more, and the place is still in line afterwards.
                Told::Nothing if heard.status.is_some_and(|it| (200..300).contains(&it)) => {
                    let status = heard.status.unwrap_or_default();
                    heard = tab.ask(Call::Place).await;
                    if let (Told::Waiting { .. }, Some(ticket)) = (&heard.told, heard.ticket) {
                        let how = format!("{status}, and then ticket {ticket} waits");
                        fell_for = Some((call, how));
                    }
                }
                Told::Nothing | Told::Gone { .. } => {}
            }
            own = Some(heard);
        }
        Trick::SecondJoin => {
            let (visitor, identity) = spare;
            let mut second = Tab::new(stage, visitor, identity);
            let heard = second.ask(Call::Join).await;
            if let (Some(got), Some(has)) = (heard.ticket, tab.token.as_ref().map(|it| it.place)) {
                let jumped = second.token.as_ref().is_some_and(|it| it.place.epoch == has.epoch)
                    && got < has.ticket;
                if jumped {
                    fell_for = Some((Call::Join, format!("ticket {got} after {}", has.ticket)));
                } else {
                    result.refused = 1;
                }
                second.ask(Call::Leave).await;
            }
        }
    }
    result.accepted = u64::from(fell_for.is_some());
    let mut counts = stage.tally.counts();
    counts.tricks.entry(trick).or_default().merge(&result);
    counts.fell_for.extend(fell_for.map(|(call, how)| FellFor { trick, call, how }));
    own
}

/// Whether an answer takes a token that is no visitor's for one; nothing where it says neither.
///
/// Without a token only a pass does. A forged one is refused for itself: whoever looks for its
/// place has taken it.
fn takes(answer: &Answer, code: &str, trick: Trick) -> Option<bool> {
    match answer.status.as_u16() {
        200..300 => Some(true),
        401 => Some(false),
        403 | 410 if matches!(code, "token_invalid" | "token_missing") => Some(false),
        403 if trick == Trick::NoToken => Some(false),
        _ if trick == Trick::NoToken => None,
        300..=399 | 409 | 410 => Some(true),
        403 if matches!(code, "not_admitted" | "not_active" | "place_gone") => Some(true),
        _ => None,
    }
}

/// A token with the first ticket of its queue, or one that names another queue, under the old
/// signature. Its form is that which [`Token::read`] reads.
fn altered(token: &str, queue: Option<&str>) -> Option<String> {
    let mut bytes = URL_SAFE_NO_PAD.decode(token.strip_prefix("art1.")?).ok()?;
    let place = 5 + usize::from(*bytes.get(4)?);
    match queue {
        None => bytes.get_mut(place + 22..place + 30)?.copy_from_slice(&1_u64.to_be_bytes()),
        Some(name) => {
            bytes[4] = u8::try_from(name.len()).ok()?;
            bytes.splice(5..place, name.bytes());
        }
    }
    let forged = format!("art1.{}", URL_SAFE_NO_PAD.encode(bytes));
    Token::read(&forged).filter(|_| forged != token)?;
    Some(forged)
}
