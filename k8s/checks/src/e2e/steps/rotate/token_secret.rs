//! A token secret is rotated as in docs/how-to/rotate-secrets.md: append the new one, move it to
//! the front, and once no token of the old one is left take that away.

use std::time::Duration;

use anyhow::Context as _;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use rand::Rng as _;

use crate::{
    configuration::QUEUE,
    forward::{Forward, status},
    hex::hex,
    place::Place,
    progress::pause,
    run::Run,
    steps::watch::{IN_FORCE_WITHIN, Pods},
    table::Line,
};

const SECRET: &str = "anteroom-tokens";
const KEY: &str = "token_secrets";
/// What checks tokens, with the port of its metrics. Each must have the new secret before tokens of
/// it are given out.
const CHECK_TOKENS: [(&str, u16); 2] = [("deployment/admission", 9090), ("deployment/envoy", 9093)];
/// No visit of this load lasts as long: all tokens are of the new secret then.
const ALL_ANEW: Duration = Duration::from_secs(40);

/// All steps; no visitor is to notice.
pub async fn all_steps(run: &Run) -> anyhow::Result<()> {
    let old = super::read_secret(run, SECRET, KEY).await?;
    let new = hex(&rand::rng().random::<[u8; 32]>());
    let public = Pods::of(run, "deployment/admission", 8080).await?;
    let metrics = Pods::of_each(run, &CHECK_TOKENS).await?;
    let first = public.ways().next().context("no admission")?;
    let (before, signed_by) = join_and_leave(first).await?;

    let accepted = metrics.accepted().await?;
    let appends = async {
        write(run, &format!("{old}\n{new}\n")).await?;
        metrics.more_accepted("the second secret at each pod", &accepted).await
    };
    run.in_force("append secret", "every pod that checks tokens takes both", appends).await?;

    let moves = async {
        write(run, &format!("{new}\n{old}\n")).await?;
        let signs = async |way: &Forward| anyhow::Ok(join_and_leave(way).await?.1 != signed_by);
        public.all("tokens of the new secret from each admission", signs).await
    };
    let (took, _, seen) = run.under_load(moves).await?;
    let mut taken = 0;
    for way in public.ways() {
        taken += usize::from(is_taken(way, &before).await?);
    }
    let of = public.ways().count();
    let held = taken == of && took < IN_FORCE_WITHIN && seen.undisturbed();
    let says = format!("new tokens are of the new one; {taken} of {of} admissions take an old one");
    run.add(Line::new("move to front", says, Some(held)).took(took).under(seen));

    pause("until no token of the old secret is left", ALL_ANEW).await;
    let removes = async {
        write(run, &format!("{new}\n")).await?;
        let refuses = async |way: &Forward| anyhow::Ok(!is_taken(way, &before).await?);
        public.all("the old secret is out at each admission", refuses).await
    };
    let says = "no admission takes an old token; no visitor has one";
    run.in_force("remove secret", says, removes).await
}

async fn write(run: &Run, secrets: &str) -> anyhow::Result<()> {
    super::write_secret(run, SECRET, KEY, secrets).await
}

/// A place that is given up at once: its token, and which secret has signed that.
async fn join_and_leave(way: &Forward) -> anyhow::Result<(Place, Vec<u8>)> {
    let place = Place::join(way).await?;
    place.leave(way).await?;
    // The id of the key is its first four bytes.
    let token = place.token.strip_prefix("art1.").and_then(|it| URL_SAFE_NO_PAD.decode(it).ok());
    let key = token.as_deref().and_then(|token| token.get(..4)).context("a token")?.to_vec();
    Ok((place, key))
}

/// Whether a token counts as signed by us, though its place is over.
async fn is_taken(way: &Forward, place: &Place) -> anyhow::Result<bool> {
    let look = way.request("GET", &format!("/v1/queues/{QUEUE}/token"));
    Ok(status(place.holds(look)).await? != 401)
}
