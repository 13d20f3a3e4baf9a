//! What visitors do that not everyone does, and how many of them.

use clap::ValueEnum;
use rand::Rng;
use rand::seq::IndexedRandom as _;
use serde::{Deserialize, Serialize};

use crate::report::name;

/// What a visitor does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Habit {
    /// Joins, waits, enters, finishes.
    Faithful,
    /// Its phone sleeps while it waits: the connection is gone, and it comes back.
    Sleeps,
    /// Has the page open in five tabs.
    Tabs,
    /// Does not take its turn.
    NoShow,
    /// Takes its turn after it has lapsed, and joins again.
    Late,
    /// Is not heard of any more while it waits.
    DropsOut,
    /// Gives its place up while it waits.
    GivesUp,
    /// Tries forged and foreign tokens, the gate without a turn, an early claim, a second join.
    Cheats,
}

/// Habits by weight.
#[derive(Clone, Debug)]
pub struct Mix {
    /// As it was given.
    pub text: String,
    weights: Vec<(Habit, u32)>,
}

impl Mix {
    /// Of a hundred visitors.
    pub const OF_A_HUNDRED: &str =
        "faithful=70,sleeps=8,tabs=6,no-show=5,late=2,drops-out=3,gives-up=3,cheats=3";

    /// Reads `faithful=90,no-show=10`; habits that are not named do not occur.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut weights = Vec::new();
        for part in text.split(',') {
            let (habit, weight) =
                part.split_once('=').ok_or(format!("`{part}` must be HABIT=WEIGHT"))?;
            let habit = Habit::from_str(habit.trim(), false).map_err(|_| {
                let known: Vec<_> = Habit::value_variants().iter().map(name).collect();
                format!("`{habit}` must be one of {}", known.join(", "))
            })?;
            if weights.iter().any(|(named, _)| *named == habit) {
                return Err(format!("`{}` must be named once", name(&habit)));
            }
            let weight = weight.trim().parse().ok().filter(|weight| *weight <= 1_000_000);
            let weight = weight.ok_or(format!("the weight in `{part}` must be 0 to 1000000"))?;
            weights.push((habit, weight));
        }
        if weights.iter().all(|(_, weight)| *weight == 0) {
            return Err("one weight at least must be more than 0".to_owned());
        }
        Ok(Self { text: text.to_owned(), weights })
    }

    /// The habit of one more visitor.
    pub fn choose(&self, random: &mut impl Rng) -> Habit {
        // One weight at least is not 0.
        self.weights.choose_weighted(random, |it| it.1).map_or(Habit::Faithful, |it| it.0)
    }
}
