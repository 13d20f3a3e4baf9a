//! A key of the service port, that of the sample shop: a second one beside it, the shop takes that,
//! and the first one goes.

use anyhow::{Context as _, ensure};

use super::{read_secret, write_secret};
use crate::{
    configuration::QUEUE,
    forward::{Forward, status},
    place::Place,
    run::Run,
    steps::{
        change,
        watch::{IN_FORCE_WITHIN, Pods},
    },
    table::Line,
    workloads::settled,
};

const SECRET: &str = "anteroom-keys";
/// Its name in the Secret and in the configuration.
const OLD: &str = "concert";
const NEW: &str = "concert-2";
const ADMISSION: &str = "deployment/admission";
const SHOP: &str = "deployment/concert";

/// All steps.
pub async fn all_steps(run: &Run) -> anyhow::Result<()> {
    let old = read_secret(run, SECRET, OLD).await?;
    let (new, digest) = new_key(run).await?;
    let service = Pods::of(run, ADMISSION, 8081).await?;

    let adds = async {
        run.configuration().add_key(OLD, NEW, &digest)?;
        change::write(run).await?;
        let both = async |way: &Forward| Ok(takes(way, &old).await? && takes(way, &new).await?);
        service.all("both keys at each admission", both).await
    };
    run.in_force("add key", "every admission takes both", adds).await?;

    let hands_over = async {
        write_secret(run, SECRET, OLD, &new).await?;
        run.kubectl.run(&["rollout", "restart", SHOP]).await?;
        settled(&run.kubectl, SHOP).await
    };
    let says = "the shop is rolled out with the new one";
    run.undisturbed("hand key over", says, hands_over).await?;

    let removes = async {
        run.configuration().remove_key(OLD);
        change::write(run).await?;
        let new_only =
            async |way: &Forward| Ok(!takes(way, &old).await? && takes(way, &new).await?);
        service.all("the new key alone at each admission", new_only).await
    };
    let (took, _, seen) = run.under_load(removes).await?;
    let ended = shop_ends_a_visit(run).await?;
    let held = ended && took < IN_FORCE_WITHIN && seen.undisturbed();
    let says = match ended {
        true => "no admission takes the old one; the shop ends a visit with the new one",
        false => "the shop cannot end a visit",
    };
    run.add(Line::new("remove key", says, Some(held)).took(took).under(seen));
    Ok(())
}

/// A key and its digest, as an operator makes one.
async fn new_key(run: &Run) -> anyhow::Result<(String, String)> {
    let new_key = ["anteroom-admission", "new-key", "--name", NEW];
    let printed = run.kubectl.run(&[&["exec", ADMISSION, "--"], &new_key[..]].concat()).await?;
    let word = |prefix: &str| {
        let of = |character: char| character.is_whitespace() || character == '"';
        let mut words = printed.split(of);
        words.find(|word| word.starts_with(prefix)).map(str::to_owned)
    };
    word("ark1.").zip(word("sha256:")).with_context(|| format!("new-key printed {printed}"))
}

/// Whether an admission knows the key, which it checks before it looks for the place.
async fn takes(way: &Forward, key: &str) -> anyhow::Result<bool> {
    let renew = way.request("POST", &format!("/v1/queues/{QUEUE}/places/none/renew"));
    let answer = status(renew.bearer_auth(key)).await?;
    ensure!(answer == 401 || (400..500).contains(&answer), "a renewal is answered {answer}");
    Ok(answer != 401)
}

/// A visitor leaves the shop, which ends the visit at admission by its key.
async fn shop_ends_a_visit(run: &Run) -> anyhow::Result<bool> {
    let way = Forward::open(&run.kubectl, "service/admission", 8080).await?;
    let gate = Forward::open(&run.kubectl, "service/gate", 80).await?;
    let place = Place::join(&way).await?;
    place.take_turn(&way).await?;
    let answer = status(place.holds(gate.request("POST", "/api/finish"))).await?;
    let look = place.holds(way.request("GET", &format!("/v1/queues/{QUEUE}/token")));
    let gone = status(look).await? == 410;
    Ok(answer == 204 && gone)
}
