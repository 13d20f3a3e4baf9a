//! What cheaters try, and what must come of it.

use anteroom_witness::{Call, Heard, Shown, Token};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use clap::ValueEnum;
use rand::Rng;
use serde::{Deserialize, Serialize};

use super::tab::Tab;
use crate::report::name;

/// A way to cheat, and its name for people. A cheater tries them in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Trick {
    /// The own token, with the first ticket in it.
    #[value(name = "a forged token")]
    ForgedToken,
    #[value(name = "a token of another queue")]
    ForeignToken,
    #[value(name = "a gateway check without a token")]
    NoToken,
    #[value(name = "a gateway check without a turn")]
    GateWithoutTurn,
    #[value(name = "a claim before the turn")]
    EarlyClaim,
    /// To stand further in front.
    #[value(name = "a second join under a new key")]
    SecondJoin,
}

/// What came of a trick.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Came {
    /// Refused, as it must be.
    Refused,
    /// Honest: the turn had come meanwhile.
    TurnHadCome,
    /// Accepted, which it must not be.
    Accepted,
    /// The answer says neither.
    Unclear,
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
        format!("promise 6: {}: {call:?} gets {how}", name(trick))
    }
}

/// What came of a trick, or the call and the answer by which the room fell for it.
type Tried = Result<Came, (Call, String)>;

/// Tries a trick from a tab whose visitor waits. `spare` is an identity that no other visitor has.
pub async fn tries(trick: Trick, tab: &mut Tab, spare: (u32, u32), random: &mut (impl Rng + Send)) {
    let tried = match trick {
        Trick::NoToken => forges(trick, Call::Authorize, None, tab).await,
        Trick::ForgedToken | Trick::ForeignToken => {
            let queue = (trick == Trick::ForeignToken).then_some("elsewhere");
            let token = tab.token.as_ref().and_then(|token| altered(&token.text, queue));
            let calls = [Call::Authorize, Call::Claim, Call::Place, Call::Renew, Call::Leave];
            forges(trick, calls[random.random_range(0..calls.len())], token, tab).await
        }
        Trick::GateWithoutTurn => is_early(Call::Authorize, tab).await,
        Trick::EarlyClaim => is_early(Call::Claim, tab).await,
        Trick::SecondJoin => joins_again(tab, spare).await,
    };
    let mut counts = tab.stage.counts();
    let came = tried.unwrap_or_else(|(call, how)| {
        counts.fell_for.push(FellFor { trick, call, how });
        Came::Accepted
    });
    counts.tried(trick, came);
}

/// Makes a call with a token that is no visitor's, or with none.
async fn forges(trick: Trick, call: Call, token: Option<String>, tab: &mut Tab) -> Tried {
    let Heard { status, code, .. } = tab.send(call, token.as_deref()).await;
    Ok(match status.and_then(|status| takes(status, &code, trick)) {
        // Without its store the room may have to pass a visitor who shows nothing.
        Some(true)
            if trick == Trick::NoToken && tab.ask(Call::Place).await.shown == Shown::Nothing =>
        {
            Came::Unclear
        }
        Some(true) => {
            let how = format!("{} {code}", status.unwrap_or_default());
            return Err((call, how.trim_end().to_owned()));
        }
        Some(false) => Came::Refused,
        None => Came::Unclear,
    })
}

/// Makes a call before the turn. Whether it was too early the witness knows, who counts all that
/// are inside.
async fn is_early(call: Call, tab: &mut Tab) -> Tried {
    let heard = tab.ask(call).await;
    Ok(match (heard.shown, heard.status) {
        (Shown::Waiting { .. }, _) => Came::Refused,
        (Shown::Ready { .. } | Shown::Active { .. }, _) => Came::TurnHadCome,
        // A pass that says no more, and the place is still in line afterwards.
        (Shown::Nothing, Some(status @ 200..300)) => {
            let then = tab.ask(Call::Place).await;
            if let (Shown::Waiting { .. }, Some(ticket)) = (then.shown, then.ticket) {
                return Err((call, format!("{status}, and then ticket {ticket} waits")));
            }
            Came::Unclear
        }
        _ => Came::Unclear,
    })
}

/// Joins once more under a new key, and leaves.
async fn joins_again(tab: &Tab, (visitor, identity): (u32, u32)) -> Tried {
    let mut second = Tab::new(&tab.stage, visitor, identity);
    let got = second.ask(Call::Join).await.ticket;
    let (Some(got), Some(has)) = (got, tab.token.as_ref().map(|it| it.place)) else {
        return Ok(Came::Unclear);
    };
    let is_same_epoch = second.token.as_ref().is_some_and(|it| it.place.epoch == has.epoch);
    second.ask(Call::Leave).await;
    if is_same_epoch && got < has.ticket {
        return Err((Call::Join, format!("ticket {got} after {}", has.ticket)));
    }
    Ok(Came::Refused)
}

/// Whether an answer takes a token that is no visitor's for one; nothing where it says neither.
///
/// Without a token only a pass does. A forged one is refused for itself: a room that looks for
/// its place has taken it.
fn takes(status: u16, code: &str, trick: Trick) -> Option<bool> {
    match status {
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
