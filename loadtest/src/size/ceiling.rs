//! What all loads together say of the ceiling: how well each possible ceiling agrees with them.
//!
//! For each ceiling of a grid, and for each of some slopes, a logistic curve says which share of
//! the requests is beyond its limit at a load (a psychometric function). A load multiplies the
//! likelihood of each by that of what it showed, so that no step is lost and none decides alone
//! (probabilistic bisection: M. Horstein 1963). The least ceiling means none: each load has
//! the same share beyond its limit.

/// The distance of two ceilings of the grid, as a logarithm.
const CELL: f64 = 0.005;
/// By how many powers of the load the odds grow of a request beyond its limit.
const SLOPES: [f64; 5] = [4.0, 10.0, 25.0, 60.0, 150.0];
/// The probability that a load shows anything at all, such as in a hiccup of the machine.
const LAPSE: f64 = 0.02;
/// The probability that an estimate of the ceiling is none.
const WRONG: f64 = 0.15;
/// The probability that there is no ceiling: the objectives are missed at every load.
const NONE: f64 = 0.02;
/// Of the share that is the limit, so much is beyond it at loads far below the ceiling.
const STALLS: f64 = 0.1;
/// At a load that is at its limit, a step that shows so many beyond it is as rare as this; how far
/// more it shows says nothing further.
const CLEAR: f64 = 0.01;

/// What a load showed.
#[derive(Clone, Copy, Debug)]
pub struct Evidence {
    /// Visitors a second.
    pub rate: f64,
    /// Of so many independent observations…
    pub all: u64,
    /// … so many were beyond the limit…
    pub beyond: f64,
    /// … of this share, above 0 and below 1.
    pub limit: f64,
    /// The ceiling as worked out from this load alone, and the standard deviation of its logarithm.
    pub estimate: Option<(f64, f64)>,
}

/// The likelihood of each ceiling.
pub struct Ceiling {
    least: f64,
    cells: Vec<[f64; SLOPES.len()]>,
}

impl Evidence {
    /// Whether a service at its limit would hardly ever show as many beyond it.
    pub fn is_clear_miss(&self) -> bool {
        at_least(self.beyond.round() as u64, self.all, self.limit) <= CLEAR
    }

    /// The likelihood of what was seen where a request is beyond its limit with this probability,
    /// from 0 to 1.
    fn likelihood(&self, clear: Option<u64>, share: f64) -> f64 {
        if let Some(clear) = clear {
            return at_least(clear, self.all, share);
        }
        let (beyond, within) = (self.beyond, self.all as f64 - self.beyond);
        let ratio = |count: f64, share: f64| {
            if count > 0.0 { count * (share / (count / self.all as f64)).ln() } else { 0.0 }
        };
        (ratio(beyond, share) + ratio(within, 1.0 - share)).exp()
    }
}

impl Ceiling {
    /// Each ceiling above the least, up to the most, is as likely as another.
    pub fn between(least: f64, most: f64) -> Self {
        let cells = ((most / least).ln() / CELL).ceil() as usize + 1;
        let mut cells = vec![[0.0; SLOPES.len()]; cells];
        cells[0] = [(NONE * cells.len() as f64).ln(); SLOPES.len()];
        Self { least, cells }
    }

    fn at(&self, cell: usize) -> f64 {
        self.least * (cell as f64 * CELL).exp()
    }

    /// Takes in what a load showed.
    pub fn learn(&mut self, seen: &Evidence) {
        let odds = (seen.limit / (1.0 - seen.limit)).ln();
        let clear = seen.is_clear_miss().then(|| {
            let beyond = seen.beyond.round() as u64;
            let mut rare = 0..beyond;
            rare.find(|it| at_least(*it, seen.all, seen.limit) <= CLEAR).unwrap_or(beyond)
        });
        for index in 0..self.cells.len() {
            let ceiling = self.at(index);
            let over = (seen.rate / ceiling).ln();
            let estimate = seen.estimate.map_or(1.0, |(estimate, deviation)| {
                let away = (ceiling / estimate).ln() / deviation;
                WRONG + (1.0 - WRONG) * (-away * away / 2.0).exp()
            });
            for (slope, cell) in SLOPES.iter().zip(&mut self.cells[index]) {
                let curve = 1.0 / (1.0 + (-odds - slope * over).exp());
                // Without a ceiling the five are shares from 1.3 to 8 times the limit.
                let share = if index == 0 { seen.limit * slope.sqrt() / 1.5 } else { curve };
                let share = share.clamp(STALLS * seen.limit, 1.0 - 1e-9);
                let likelihood = LAPSE + (1.0 - LAPSE) * seen.likelihood(clear, share);
                *cell += (likelihood * estimate).ln();
            }
        }
        let most = self.cells.iter().flatten().copied().fold(f64::NEG_INFINITY, f64::max);
        self.cells.iter_mut().flatten().for_each(|cell| *cell -= most);
    }

    fn weights(&self) -> impl Iterator<Item = f64> {
        self.cells.iter().map(|slopes| slopes.iter().map(|log| log.exp()).sum())
    }

    /// The ceiling below which so much of the probability lies, 0 to 1.
    pub fn quantile(&self, share: f64) -> f64 {
        let mut left = share * self.weights().sum::<f64>();
        let found = self.weights().position(|weight| {
            left -= weight;
            left <= 0.0
        });
        self.at(found.unwrap_or(self.cells.len() - 1))
    }

    /// The probability that the ceiling is within these bounds.
    pub fn within(&self, low: f64, high: f64) -> f64 {
        let within = |(cell, weight)| (low..=high).contains(&self.at(cell)).then_some(weight);
        let part: f64 = self.weights().enumerate().filter_map(within).sum();
        part / self.weights().sum::<f64>()
    }
}

/// The probability that of so many each with this probability, 0 to below 1, at least `many` are:
/// the upper tail of the binomial distribution.
fn at_least(many: u64, all: u64, share: f64) -> f64 {
    let mut term = (1.0 - share).powf(all as f64);
    let mut fewer = 0.0;
    for count in 0..many {
        fewer += term;
        term *= (all - count) as f64 / (count + 1) as f64 * share / (1.0 - share);
    }
    (1.0 - fewer).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_is_that_of_the_binomial_distribution() {
        // 1 − 0.99^40 = 0.331; 1 − 0.99^40 − 40 × 0.01 × 0.99^39 = 0.061.
        assert!((at_least(1, 40, 0.01) - 0.331).abs() < 1e-3);
        assert!((at_least(2, 40, 0.01) - 0.061).abs() < 1e-3);
    }
}
