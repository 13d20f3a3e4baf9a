//! What the page shows in which state: `views.json`, which the script reads too.

use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::time::Duration;

use anteroom_authorize::durations::millis;
use anteroom_authorize::problem::Code;
use anteroom_core::queue::GoneReason;
use serde::Deserialize;

use super::languages::Language;
use crate::queue::views::place::{PlaceView, StatusView};
use crate::queue::views::queue::{PausedBy, StateView};

const TABLE: &str = include_str!("views.json");

/// A row of the table: names of texts, and ids of the page's elements.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Row {
    /// The text of the heading.
    pub heading: String,
    /// The label of the countdown.
    pub clock: Option<String>,
    /// What is below the heading …
    pub detail: Vec<String>,
    /// … and, where it differs, without a script.
    pub plain: Vec<String>,
    /// Whether the script shows it while it tries again.
    pub wait: bool,
    /// `good` or `warning`.
    pub tone: Option<String>,
    /// The elements that are shown …
    pub show: Vec<String>,
    /// … and without a script these too.
    pub plain_show: Vec<String>,
}

impl Row {
    /// Whether an operator usually says why it is so.
    fn gives_reason(&self) -> bool {
        self.tone.as_deref() == Some("warning") || self.clock.as_deref() == Some("opens_in")
    }
}

/// The table for the script, without white space.
pub fn for_script() -> String {
    let table: serde_json::Value = serde_json::from_str(TABLE).unwrap_or_default();
    table.to_string()
}

/// # Panics
///
/// If the file of ours is no JSON, which a test would have found.
#[expect(clippy::expect_used, reason = "a file that is part of the program")]
static ROWS: LazyLock<BTreeMap<String, Row>> =
    LazyLock::new(|| serde_json::from_str(TABLE).expect("views"));

/// The names of all views.
pub fn names() -> impl Iterator<Item = &'static str> {
    ROWS.keys().map(String::as_str)
}

/// One view with its values.
#[derive(Clone, Debug, Default)]
pub struct View {
    name: &'static str,
    /// What the script starts from.
    pub status: &'static str,
    /// Of a waiting place; 0 otherwise.
    pub position: u64,
    pub wait: Option<(Duration, Option<Duration>)>,
    /// The rest of the countdown.
    pub clock: Option<Duration>,
    pub keep: Option<Duration>,
    pub reason: Option<String>,
    /// Why the place has ended.
    pub why: Option<GoneReason>,
    /// When a browser without JavaScript loads the page again; `None` if it does not. That is a
    /// GET, which never joins.
    pub look_after: Option<Duration>,
}

/// A page is more than a poll: without a script not every second.
const SOONEST_LOOK: Duration = Duration::from_secs(3);

impl View {
    /// The view of this name, if there is one, with sample values.
    pub fn sample(name: &str, reason: Option<&str>) -> Option<Self> {
        let (name, row) = ROWS.get_key_value(name)?;
        let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
        Some(Self {
            position: 1_241,
            wait: Some((minutes(8), Some(minutes(12)))),
            clock: row.clock.as_ref().map(|_| Duration::from_secs(299)),
            // What follows from a wait of 8 to 12 minutes, and from that clock.
            keep: Some(minutes(5)),
            reason: reason.filter(|_| row.gives_reason()).map(str::to_owned),
            why: Some(GoneReason::Unclaimed),
            ..Self::of(name, "none")
        })
    }

    fn of(name: &'static str, status: &'static str) -> Self {
        Self { name, status, ..Self::default() }
    }

    pub fn name(&self) -> &'static str {
        self.name
    }

    pub fn row(&self) -> &'static Row {
        static NONE: LazyLock<Row> = LazyLock::new(Row::default);
        ROWS.get(self.name).unwrap_or(&NONE)
    }

    /// The visitor has no place and may join.
    pub fn no_place(reason: Option<String>) -> Self {
        Self { reason, ..Self::of("not_in_line", "none") }
    }

    /// No place can be had before the queue opens.
    pub fn not_open(opens_in: Duration, reason: Option<String>) -> Self {
        let look_after = Some(opens_in.clamp(SOONEST_LOOK, Duration::from_secs(60)));
        Self { clock: Some(opens_in), reason, look_after, ..Self::of("not_open", "none") }
    }

    /// No place can be had now.
    pub fn closed(reason: Option<String>) -> Self {
        Self { reason, ..Self::of("closed", "none") }
    }

    /// The place has ended.
    pub fn ended(why: GoneReason) -> Self {
        match why {
            GoneReason::Completed => Self::of("finished", "gone"),
            GoneReason::Left => Self::of("left", "gone"),
            _ => Self { why: Some(why), ..Self::of("ended", "gone") },
        }
    }

    /// The visit that was here is over.
    pub fn finished() -> Self {
        Self::of("finished", "gone")
    }

    /// A join was refused.
    pub fn refused(code: Code) -> Self {
        match code {
            Code::QUEUE_FULL => Self::of("full", "none"),
            Code::JOIN_LIMITED => Self::of("limited", "none"),
            Code::ASSERTION_MISSING => Self::of("identity", "none"),
            _ => Self::of("busy", "none"),
        }
    }

    /// The visitor has a place whose state is unknown now.
    pub fn kept(look_after: Option<Duration>) -> Self {
        let look_after = Some(look_after.unwrap_or(Duration::from_secs(5)));
        Self { look_after, ..Self::of("busy_kept", "waiting") }
    }

    /// A place. `leads_on`: the page has an address to go on to.
    pub fn place(place: &PlaceView<'_>, leads_on: bool) -> Self {
        let ms = |ms: Option<u64>| ms.map(Duration::from_millis);
        let look_after = Some(place.poll_after().max(SOONEST_LOOK));
        let expires_in = ms(place.expires_in_ms);
        match (place.status, leads_on) {
            (StatusView::Waiting, _) => {
                let opens_in = ms(place.opens_in_ms);
                let name = match place.queue_state {
                    _ if place.paused_by == Some(PausedBy::Health) => "recovering",
                    _ if opens_in.is_some() => "entry_starts",
                    StateView::Paused => "paused",
                    _ => "waiting",
                };
                Self {
                    position: place.position,
                    wait: ms(place.eta_ms).map(|eta| (eta, ms(place.eta_p90_ms))),
                    clock: opens_in,
                    keep: ms(place.keep_ms),
                    reason: place.reason.clone(),
                    look_after,
                    ..Self::of(name, "waiting")
                }
            }
            (StatusView::Ready, true) => {
                Self { clock: expires_in, ..Self::of("admitted", "ready") }
            }
            (StatusView::Active, true) => Self::of("admitted", "active"),
            (StatusView::Ready, false) => {
                Self { clock: expires_in, look_after, ..Self::of("ready", "ready") }
            }
            (StatusView::Active, false) => {
                Self { clock: expires_in, look_after, ..Self::of("inside", "active") }
            }
        }
    }

    /// Whether an element is shown.
    pub fn shows(&self, id: &str) -> bool {
        self.row().show.iter().any(|it| it == id)
    }

    /// Whether an element is shown without a script.
    pub fn shows_plain(&self, id: &str) -> bool {
        self.row().plain_show.iter().any(|it| it == id)
    }

    /// The heading: before its big number, the number, and after it.
    pub fn heading(&self, language: &Language) -> (String, String, String) {
        match self.row().heading.as_str() {
            "ahead" if self.position > 1 => {
                let number = language.number(self.position - 1);
                let text = language.count("ahead", 2 * (self.position - 1));
                match text.split_once(&number) {
                    Some((before, after)) => {
                        (before.trim().to_owned(), number.clone(), after.trim().to_owned())
                    }
                    // Some languages write "one" and "two" as words.
                    None => (text, String::new(), String::new()),
                }
            }
            "ahead" => (language.text("next").to_owned(), String::new(), String::new()),
            name => (language.text(name).to_owned(), String::new(), String::new()),
        }
    }

    /// What is below the heading.
    pub fn detail(&self, language: &Language, has_script: bool) -> String {
        let Row { detail, plain, .. } = self.row();
        let names = if plain.is_empty() || has_script { detail } else { plain };
        let texts = names.iter().map(|name| match (name.as_str(), self.why) {
            ("why", Some(why)) => language.text(&format!("ended_{}", why.name())),
            (name, _) => language.text(name),
        });
        texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" ")
    }

    /// How many are ahead, where that is not the heading.
    pub fn ahead(&self, language: &Language) -> String {
        match self.position {
            0 => String::new(),
            1 => language.text("next").to_owned(),
            position => language.count("ahead", 2 * (position - 1)),
        }
    }

    /// The expected wait, rounded up, so that no visitor is called later than shown. The script
    /// shows the same: a test compares both.
    pub fn wait(&self, language: &Language) -> String {
        let Some((eta, eta_p90)) = self.wait else {
            return language.text("wait_unknown").to_owned();
        };
        let minutes = |time: Duration| millis(time).div_ceil(60_000).max(1);
        let (low, high) = (minutes(eta), minutes(eta_p90.unwrap_or(eta).max(eta)));
        let halves = |minutes: u64| minutes.div_ceil(30);
        if high == 1 && millis(eta) <= 30_000 {
            language.text("wait_short").to_owned()
        } else if low == high {
            duration(language, high)
        } else if high <= MOST_MINUTES {
            language.count("minutes_range", 2 * high).replace("{low}", &language.number(low))
        } else if halves(low) == halves(high) {
            duration(language, high)
        } else {
            let low = language.halves(halves(low));
            language.count("hours_range", halves(high)).replace("{low}", &low)
        }
    }

    /// For how long the page may be closed; nothing if that is no time.
    pub fn keep(&self, language: &Language) -> String {
        match self.keep.map_or(0, |keep| millis(keep) / 60_000) {
            0 | 1 => language.text("keep_open").to_owned(),
            minutes @ 2..=MOST_MINUTES => language.count("keep_minutes", 2 * minutes),
            minutes => language.count("keep_hours", 2 * (minutes / 60)),
        }
    }

    /// The rest of the countdown as a clock; of a day and more in hours.
    pub fn time(&self, language: &Language) -> String {
        let Some(left) = self.clock else { return String::new() };
        let seconds = millis(left).div_ceil(1_000);
        if seconds >= 86_400 {
            return duration(language, millis(left).div_ceil(60_000));
        }
        let (hours, minutes, seconds) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
        let [minutes_of_two, seconds] = [minutes, seconds].map(|it| language.two_digits(it));
        match hours {
            0 => format!("{}:{seconds}", language.number(minutes)),
            _ => format!("{}:{minutes_of_two}:{seconds}", language.number(hours)),
        }
    }
}

/// Up to so many minutes a time is in minutes.
const MOST_MINUTES: u64 = 120;

pub fn duration(language: &Language, minutes: u64) -> String {
    if minutes <= MOST_MINUTES {
        language.count("minutes", 2 * minutes)
    } else {
        language.count("hours", minutes.div_ceil(30))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const PAGE: &str = include_str!("page.html");
    const NUMBERS: &str = "tests/page_script/numbers.json";

    #[test]
    fn each_view_names_texts_and_elements_that_are_there() {
        let english = Language::named("en").expect("English");
        for (name, row) in &*ROWS {
            let texts = [&row.heading].into_iter().chain(&row.clock).chain(&row.detail);
            for text in texts.chain(&row.plain).filter(|text| *text != "why") {
                let is_there = !english.text(text).is_empty() || *text == "ahead";
                assert!(is_there, "{name}: {text}");
            }
            for id in row.show.iter().chain(&row.plain_show) {
                assert!(PAGE.contains(&format!("id=\"{id}\"")), "{name}: {id}");
            }
        }
    }

    #[test]
    fn each_end_of_a_place_that_has_a_reason_shows_it() {
        let english = Language::named("en").expect("English");
        for why in [
            GoneReason::Unclaimed,
            GoneReason::Expired,
            GoneReason::Abandoned,
            GoneReason::Evicted,
            GoneReason::Lost,
        ] {
            let detail = View::ended(why).detail(english, true);
            assert!(detail.ends_with("You can join again at the end of the line."), "{detail}");
            assert!(detail.matches('.').count() == 2, "{detail}");
        }
    }

    /// The numbers and times of the page, in each language. `tests/ports/page_script` compares them
    /// with the script.
    #[test]
    fn numbers_and_times_are_as_in_the_table() {
        let ms = Duration::from_millis;
        let minutes = |minutes: u64| ms(60_000 * minutes);
        let mut table = serde_json::Map::new();
        for language in Language::all() {
            let position =
                [1, 2, 3, 4, 7, 12, 101, 104, 1_000, 1_001, 10_001, 1_000_001, 1_234_568];
            let position = position.map(|position| {
                let view = View { position, ..View::of("waiting", "waiting") };
                let (before, number, after) = view.heading(language);
                json!([position, [before, number, after]])
            });
            let wait = [
                (ms(0), None),
                (ms(30_000), None),
                (ms(30_001), None),
                (ms(60_001), Some(ms(60_001))),
                (ms(20_000), Some(minutes(2))),
                (minutes(8), Some(minutes(12))),
                (minutes(3), Some(minutes(2))),
                (minutes(100), Some(minutes(120))),
                (minutes(100), Some(minutes(130))),
                (minutes(121), Some(minutes(140))),
                (minutes(3_000), Some(minutes(4_320))),
            ];
            let wait = wait.map(|(eta, eta_p90)| {
                let view = View { wait: Some((eta, eta_p90)), ..View::no_place(None) };
                json!([[millis(eta), eta_p90.map(millis)], view.wait(language)])
            });
            let keep = [1, 2, 11, 40, 120, 121, 1_600].map(|kept| {
                let view = View { keep: Some(minutes(kept)), ..View::no_place(None) };
                json!([60_000 * kept, view.keep(language)])
            });
            let left = [0, 1, 59_000, 59_001, 61_000, 3_599_000, 3_599_001, 36_061_000, 86_400_000];
            let left = left.map(|left| {
                let view = View { clock: Some(ms(left)), ..View::no_place(None) };
                json!([left, view.time(language)])
            });
            let rows: Value = json!({
                "position": position, "wait": wait, "keep": keep, "left": left,
            });
            table.insert(language.tag.to_owned(), rows);
        }
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(NUMBERS);
        if std::env::var_os("UPDATE_DOCS").is_some() {
            let lines = table.iter().map(|(language, rows)| format!("\"{language}\": {rows}"));
            let text = format!("{{\n{}\n}}\n", lines.collect::<Vec<_>>().join(",\n"));
            std::fs::write(&path, text).expect("written");
        }
        let kept = std::fs::read_to_string(&path).expect("the table");
        let kept: Value = serde_json::from_str(&kept).expect("JSON");
        for (language, rows) in &table {
            assert_eq!(kept[language], *rows, "{language}: UPDATE_DOCS=1 writes it");
        }
    }
}
