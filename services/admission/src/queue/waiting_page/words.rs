//! What the page says, in the visitor's language. All of it comes from one table, so that title,
//! texts and script agree.

use std::fmt::Display;
use std::time::Duration;

use http::HeaderMap;
use http::header::ACCEPT_LANGUAGE;
use serde::Serialize;

use crate::durations::millis;
use crate::problem::Code;
use crate::queue::views::queue::{PausedBy, StateView};

/// The texts of one language; `{}` is a number.
#[derive(Debug, Serialize)]
pub struct Words {
    /// The language, as HTML names it.
    #[serde(skip)]
    pub lang: &'static str,
    /// The title, unless the operator set one.
    #[serde(skip)]
    pub title: &'static str,
    /// The button that joins …
    #[serde(skip)]
    pub join: &'static str,
    /// … and that retries a join that did not work …
    #[serde(skip)]
    pub retry: &'static str,
    /// … with this text beside it: without a script nothing retries automatically.
    #[serde(skip)]
    pub later: &'static str,
    /// The link to where the visitor goes when the turn has come.
    #[serde(skip)]
    pub go_on: &'static str,
    /// The button that takes the turn, on a page without `return_to` …
    #[serde(skip)]
    pub enter: &'static str,
    /// … and the one that ends the visit.
    #[serde(skip)]
    pub finish: &'static str,
    /// For a visitor without a place.
    #[serde(skip)]
    pub no_place: &'static str,
    /// For a visitor whose place has ended …
    pub ended: &'static str,
    /// … what can be done about it.
    pub ended_detail: &'static str,
    pub number: &'static str,
    /// The separator of thousands.
    pub thousands: &'static str,
    /// The wait: less than a minute, about one, about so many, about so many hours.
    pub wait: [&'static str; 4],
    /// It is the visitor's turn.
    pub turn: &'static str,
    /// The visitor is in, on a page without `return_to` …
    pub inside: &'static str,
    /// … for so long …
    pub left: &'static str,
    /// … and has finished.
    pub over: &'static str,
    /// After a refusal that is for now.
    pub again: &'static str,
    /// After one that is not.
    pub failed: &'static str,
    /// The queue is full.
    pub full: &'static str,
    /// The queue takes no joins.
    pub closed: &'static str,
    /// Too many from the same address.
    pub limited: &'static str,
    /// An identified visitor's place has ended.
    pub identity_ended: &'static str,
    /// The browser keeps no cookie.
    pub cookies: &'static str,
    /// Any other refusal.
    pub busy: &'static str,
    /// … for a visitor who has a place.
    #[serde(skip)]
    pub kept: &'static str,
    /// The line does not move.
    pub paused: &'static str,
    /// … because the service that visitors wait for is unhealthy.
    pub recovering: &'static str,
}

const ENGLISH: Words = Words {
    lang: "en",
    title: "Waiting room",
    join: "Join the line",
    retry: "Try again",
    later: "You can try again later.",
    go_on: "Continue",
    enter: "Enter",
    finish: "Finish",
    no_place: "You are not in line yet.",
    ended: "Your place has ended.",
    ended_detail: "You can join again at the end of the line.",
    number: "You are number {} in line.",
    thousands: ",",
    wait: [
        "Expected wait: less than a minute.",
        "Expected wait: about a minute.",
        "Expected wait: about {} minutes.",
        "Expected wait: about {} hours.",
    ],
    turn: "It is your turn.",
    inside: "You are in.",
    left: "Time left: {}.",
    over: "Your visit is over.",
    again: "This page tries again automatically.",
    failed: "Something went wrong. Please try again.",
    full: "The queue is full.",
    closed: "The queue is closed to new visitors.",
    limited: "Too many people are joining from your network. Please wait a moment.",
    identity_ended: "Your place has expired. Please go back to the site you came from and try again.",
    cookies: "This page needs cookies. Please allow cookies for this site.",
    busy: "The waiting room is not responding right now.",
    kept: "Your place is kept.",
    paused: "The line is paused.",
    recovering: "The service is recovering. Places in line are kept.",
};

const KOREAN: Words = Words {
    lang: "ko",
    title: "대기실",
    join: "줄 서기",
    retry: "다시 시도",
    later: "잠시 후 다시 시도할 수 있습니다.",
    go_on: "계속하기",
    enter: "입장하기",
    finish: "마치기",
    no_place: "아직 줄을 서지 않았습니다.",
    ended: "자리가 만료되었습니다.",
    ended_detail: "줄의 맨 뒤에 다시 설 수 있습니다.",
    number: "현재 {}번째로 기다리고 있습니다.",
    thousands: ",",
    wait: [
        "예상 대기 시간: 1분 미만",
        "예상 대기 시간: 약 1분",
        "예상 대기 시간: 약 {}분",
        "예상 대기 시간: 약 {}시간",
    ],
    turn: "차례가 되었습니다.",
    inside: "입장했습니다.",
    left: "남은 시간: {}",
    over: "이용이 끝났습니다.",
    again: "이 페이지가 자동으로 다시 시도합니다.",
    failed: "요청을 처리하지 못했습니다. 다시 시도해 주세요.",
    full: "대기열이 가득 찼습니다.",
    closed: "지금은 새로 줄을 설 수 없습니다.",
    limited: "같은 네트워크에서 접속한 사람이 너무 많습니다. 잠시 기다려 주세요.",
    identity_ended: "자리가 만료되었습니다. 이전 사이트로 돌아가 다시 시도해 주세요.",
    cookies: "이 페이지를 이용하려면 쿠키가 필요합니다. 이 사이트의 쿠키를 허용해 주세요.",
    busy: "지금은 대기실이 응답하지 않습니다.",
    kept: "자리는 그대로 유지됩니다.",
    paused: "입장이 잠시 멈추었습니다.",
    recovering: "서비스가 회복되는 중입니다. 줄 선 자리는 그대로 유지됩니다.",
};

const ALL: [&Words; 2] = [&ENGLISH, &KOREAN];

impl Words {
    /// In the language that the visitor prefers among those that there are; else in English.
    pub fn of(headers: &HeaderMap) -> &'static Self {
        let lines = headers.get_all(ACCEPT_LANGUAGE).iter();
        let wanted = lines.filter_map(|line| line.to_str().ok()).flat_map(|line| line.split(','));
        let mut best: Option<(f32, &Self)> = None;
        for wish in wanted {
            let (tag, weight) = wish.split_once(';').unwrap_or((wish, "q=1"));
            let weight = weight.trim().strip_prefix("q=").and_then(|weight| weight.parse().ok());
            let language = tag.trim().split('-').next().unwrap_or_default();
            let words = ALL.into_iter().find(|words| words.lang.eq_ignore_ascii_case(language));
            let (Some(weight), Some(words)) = (weight, words) else { continue };
            // Of equals the first.
            if weight > best.map_or(0.0, |(weight, _)| weight) {
                best = Some((weight, words));
            }
        }
        best.map_or(&ENGLISH, |(_, words)| words)
    }

    /// Why the visitor was refused.
    pub fn problem(&self, code: Code) -> &'static str {
        match code {
            Code::QUEUE_FULL => self.full,
            Code::QUEUE_CLOSED => self.closed,
            Code::JOIN_LIMITED => self.limited,
            Code::ASSERTION_MISSING => self.identity_ended,
            _ => self.busy,
        }
    }

    /// Why the line does not go on as usual, if so, and what the operator says of it; but nothing
    /// that the page's `message` says already.
    pub fn notice(
        &self,
        state: StateView,
        paused_by: Option<PausedBy>,
        reason: Option<&str>,
        message: &str,
    ) -> String {
        let text = match (paused_by, state) {
            (Some(PausedBy::Health), _) => self.recovering,
            (None, StateView::Paused) => self.paused,
            (None, StateView::Closed) => self.closed,
            (None, StateView::Open | StateView::Bypass) => return String::new(),
        };
        let parts = [Some(text).filter(|text| *text != message), reason];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    /// The visitor's position.
    pub fn position(&self, position: u64) -> String {
        let digits = position.to_string();
        let mut grouped = String::new();
        for (index, digit) in digits.chars().enumerate() {
            if index > 0 && (digits.len() - index).is_multiple_of(3) {
                grouped.push_str(self.thousands);
            }
            grouped.push(digit);
        }
        Self::with(self.number, grouped)
    }

    /// How long it is to be waited, rounded up: nothing is promised too early. The script says the
    /// same (a table holds the two together).
    pub fn wait(&self, eta: Duration) -> String {
        let ms = millis(eta);
        match ms.div_ceil(60_000) {
            _ if ms <= 30_000 => self.wait[0].into(),
            1 => self.wait[1].into(),
            minutes @ ..=120 => Self::with(self.wait[2], minutes),
            minutes => Self::with(self.wait[3], minutes.div_ceil(30) as f64 / 2.0),
        }
    }

    /// How long the turn or the visit lasts; as the script says it, too.
    pub fn time_left(&self, left: Duration) -> String {
        let seconds = millis(left).div_ceil(1_000);
        let (hours, minutes, seconds) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
        let clock = match hours {
            0 => format!("{minutes}:{seconds:02}"),
            _ => format!("{hours}:{minutes:02}:{seconds:02}"),
        };
        Self::with(self.left, clock)
    }

    /// The number in its text.
    fn with(text: &str, number: impl Display) -> String {
        text.replace("{}", &number.to_string())
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn a_pause_for_health_is_shown_in_every_state() {
        for words in ALL {
            for state in [StateView::Open, StateView::Paused, StateView::Closed] {
                let notice = words.notice(state, Some(PausedBy::Health), Some("soon"), "");
                assert_eq!(notice, format!("{} soon", words.recovering));
            }
            assert_eq!(words.notice(StateView::Open, None, Some("soon"), ""), "");
        }
    }

    #[test]
    fn the_language_is_the_one_that_is_wanted_most() {
        for (accepted, lang) in [
            (&[][..], "en"),
            (&["ko-KR,ko;q=0.9,en-US;q=0.8,en;q=0.7"], "ko"),
            (&["en-US,en;q=0.9,ko;q=0.8"], "en"),
            (&["KO"], "ko"),
            (&["fr-FR, ko;q=0.2"], "ko"),
            (&["fr", "ko;q=0.3, en;q=0.4"], "en"),
            (&["fr-FR,de;q=0.5"], "en"),
            (&["ko;q=0, *"], "en"),
            (&["ko;q=nan"], "en"),
            (&["ko ; q=0.5 , en;q=0.1"], "ko"),
            (&["kok"], "en"),
            (&[";;;,,q=1,-"], "en"),
        ] {
            let mut headers = HeaderMap::new();
            for line in accepted {
                headers.append(ACCEPT_LANGUAGE, HeaderValue::from_static(line));
            }
            assert_eq!(Words::of(&headers).lang, lang, "{accepted:?}");
        }
    }

    #[test]
    fn every_language_says_everything() {
        for words in ALL {
            assert!(words.number.contains("{}") && words.wait[2].contains("{}"), "{}", words.lang);
            let texts = serde_json::to_string(words).expect("JSON") + words.title + words.no_place;
            assert!(!texts.contains("\"\""), "{}", words.lang);
        }
    }
}
