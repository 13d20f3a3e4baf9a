//! Values that flags of several commands take: shares, and times in the bounds of a queue's rules.

use std::time::Duration;

/// A share: `20%`, or the same as `0.2`. An error names the range.
pub fn share(text: &str) -> Result<f64, String> {
    let number = |text: &str| text.trim().parse::<f64>().ok();
    let share = match text.trim().strip_suffix('%') {
        Some(percent) => number(percent).map(|percent| percent / 100.0),
        None => number(text),
    };
    share
        .filter(|share| (0.0..=1.0).contains(share))
        .ok_or_else(|| "must be a share from 0% to 100%, such as 20% or 0.2".to_owned())
}

/// A [`share`] of which there is some.
pub fn share_above_none(text: &str) -> Result<f64, String> {
    share(text).and_then(|share| (share > 0.0).then_some(share).ok_or("must be above 0%".into()))
}

/// A [`share`] that leaves some.
pub fn share_below_all(text: &str) -> Result<f64, String> {
    share(text).and_then(|share| (share < 1.0).then_some(share).ok_or("must be below 100%".into()))
}

/// The shortest and the longest time.
pub type Bounds = (&'static str, &'static str);

/// `interval` of a queue.
pub const INTERVAL: Bounds = ("1s", "1h");
/// `claim_ttl` of a queue.
pub const CLAIM_TTL: Bounds = ("5s", "1h");
/// `session_max` of a queue.
pub const SESSION_MAX: Bounds = ("5s", "7d");
/// `idle_ttl` of a queue.
pub const IDLE_TTL: Bounds = ("60s", "24h");

/// Reads whole milliseconds within bounds; an error names these.
pub fn time(bounds: Bounds) -> impl Fn(&str) -> Result<Duration, String> + Clone {
    move |text| whole(text, bounds, (1_000_000, "milliseconds"))
}

/// The same of whole seconds.
pub fn seconds(bounds: Bounds) -> impl Fn(&str) -> Result<Duration, String> + Clone {
    move |text| whole(text, bounds, (1_000_000_000, "seconds"))
}

fn whole(
    text: &str,
    (least, most): Bounds,
    (nanos, unit): (u128, &str),
) -> Result<Duration, String> {
    let read = |text| crate::durations::parse_duration(text).map_err(|error| error.to_string());
    let time = read(text)?;
    if time.as_nanos() % nanos == 0 && (read(least)?..=read(most)?).contains(&time) {
        return Ok(time);
    }
    Err(format!("must be {least} to {most}, in whole {unit}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Arguments;
    use clap::CommandFactory as _;

    #[test]
    fn a_share_is_a_percentage_or_a_part_of_1() {
        for (text, value) in
            [("80%", 0.8), ("0.8", 0.8), ("0 %", 0.0), ("0", 0.0), ("1", 1.0), (" 100%", 1.0)]
        {
            assert_eq!(share(text), Ok(value), "{text}");
        }
        for wrong in ["5", "101%", "-1", "-1%", "NaN", "NaN%", "%", "x", ""] {
            assert!(share(wrong).is_err(), "{wrong}");
        }
        assert!(share_above_none("0%").is_err() && share_above_none("0.01").is_ok());
        assert!(share_below_all("100%").is_err() && share_below_all("0.99").is_ok());
    }

    #[test]
    fn times_have_the_bounds_of_a_queue() {
        for (bounds, right, wrong) in [
            (INTERVAL, ["1s", "1h"], ["999ms", "2h"]),
            (CLAIM_TTL, ["5s", "1h"], ["4s", "61m"]),
            (IDLE_TTL, ["60s", "1day"], ["59s", "25h"]),
            (SESSION_MAX, ["5s", "7days"], ["1s", "8days"]),
        ] {
            for (texts, is_right) in [(right, true), (wrong, false)] {
                assert!(texts.iter().all(|it| time(bounds)(it).is_ok() == is_right), "{texts:?}");
            }
        }
        for wrong in ["10s 1us", "10"] {
            assert!(time(INTERVAL)(wrong).is_err(), "{wrong}");
        }
        let defaults = include_str!("../../../services/config/default.toml");
        for (key, (least, most)) in
            [("interval", INTERVAL), ("claim_ttl", CLAIM_TTL), ("idle_ttl", IDLE_TTL)]
        {
            let (before, _) = defaults.split_once(&format!("\n{key} = ")).expect(key);
            assert!(before.ends_with(&format!("{least} to {most}.")), "{key}: {least} to {most}");
        }
    }

    /// So that callers find no range by trying.
    #[test]
    fn the_help_of_a_bounded_flag_names_its_range() {
        for command in ["ramp", "size", "simulate"] {
            let all = Arguments::command();
            let command = all.find_subcommand(command).expect(command);
            for (flag, range) in [
                ("interval", "1s to 1h"),
                ("claim_ttl", "5s to 1h"),
                ("idle_ttl", "60s to 24h"),
                ("session_max", "5s to 7d"),
                ("headroom", "below 100%"),
                ("show_up", "above 0%"),
                ("no_shows", "0% to 100%"),
                ("seeds", "1 to 100"),
            ] {
                let Some(flag) = command.get_arguments().find(|it| it.get_id() == flag) else {
                    continue;
                };
                let help = flag.get_help().expect("a text").to_string();
                assert!(help.contains(range), "{}: {help}", flag.get_id());
            }
        }
    }
}
