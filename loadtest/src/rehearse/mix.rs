//! What visitors do that not everyone does, and how many of them.

use std::fmt;
use std::str::FromStr;

use clap::ValueEnum;
use rand::Rng;
use rand::seq::IndexedRandom as _;
use serde::{Deserialize, Serialize};

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

impl fmt::Display for Habit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // No habit is hidden, so each has a name.
        f.write_str(self.to_possible_value().as_ref().map_or("", |value| value.get_name()))
    }
}

/// Habits by weight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mix(Vec<(Habit, u32)>);

impl Mix {
    /// The habit of one more visitor.
    pub fn choose(&self, random: &mut impl Rng) -> Habit {
        // One weight at least is not 0.
        self.0.choose_weighted(random, |(_, weight)| *weight).map_or(Habit::Faithful, |it| it.0)
    }
}

impl Default for Mix {
    fn default() -> Self {
        Self(vec![
            (Habit::Faithful, 70),
            (Habit::Sleeps, 8),
            (Habit::Tabs, 6),
            (Habit::NoShow, 5),
            (Habit::Late, 2),
            (Habit::DropsOut, 3),
            (Habit::GivesUp, 3),
            (Habit::Cheats, 3),
        ])
    }
}

impl fmt::Display for Mix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let weights = self.0.iter().map(|(habit, weight)| format!("{habit}={weight}"));
        f.write_str(&weights.collect::<Vec<_>>().join(","))
    }
}

impl FromStr for Mix {
    type Err = String;

    /// Reads `faithful=90,no-show=10`; habits that are not named do not occur.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut mix = Vec::new();
        for part in text.split(',') {
            let (name, weight) =
                part.split_once('=').ok_or(format!("`{part}` must be HABIT=WEIGHT"))?;
            let habit = Habit::from_str(name.trim(), false).map_err(|_| {
                let known = Habit::value_variants().iter().map(Habit::to_string);
                format!("`{name}` must be one of {}", known.collect::<Vec<_>>().join(", "))
            })?;
            if mix.iter().any(|(named, _)| *named == habit) {
                return Err(format!("`{name}` must be named once"));
            }
            let weight = weight.trim().parse::<u32>().ok().filter(|weight| *weight <= 1_000_000);
            let weight = weight.ok_or(format!("the weight in `{part}` must be 0 to 1000000"))?;
            mix.push((habit, weight));
        }
        if mix.iter().all(|(_, weight)| *weight == 0) {
            return Err("one weight at least must be more than 0".to_owned());
        }
        Ok(Self(mix))
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng as _;
    use rand::rngs::StdRng;

    use super::*;

    #[test]
    fn a_mix_is_read_as_it_is_written() {
        let mix = Mix::default();
        assert_eq!(mix.to_string().parse(), Ok(mix));
        let mut random = StdRng::seed_from_u64(1);
        let late: Mix = "faithful=0,late=1".parse().expect("a mix");
        assert!((0..100).all(|_| late.choose(&mut random) == Habit::Late));
        let mix = Mix::default();
        let all = Habit::value_variants();
        assert!(all.iter().all(|habit| (0..2_000).any(|_| mix.choose(&mut random) == *habit)));
    }

    #[test]
    fn what_is_wrong_with_a_mix_is_said() {
        for (text, rule) in [
            ("faithful", "must be HABIT=WEIGHT"),
            ("greedy=1", "`greedy` must be one of faithful, "),
            ("late=1,late=2", "`late` must be named once"),
            ("late=-1", "must be 0 to 1000000"),
            ("late=0", "one weight at least"),
        ] {
            let error = text.parse::<Mix>().expect_err(text);
            assert!(error.contains(rule), "{text}: {error}");
        }
    }
}
