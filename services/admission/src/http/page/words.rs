//! What the page says, in the visitor's language. All of it comes from one table, so that title, texts
//! and script agree.

use std::fmt::Display;

use http::HeaderMap;
use http::header::ACCEPT_LANGUAGE;
use serde::Serialize;

use crate::http::problem::Code;
use crate::queue_view::StateView;

/// The texts of one language; `{}` stands for a number.
#[derive(Debug, Serialize)]
pub struct Words {
    /// The language, as HTML names it.
    #[serde(skip)]
    pub lang: &'static str,
    /// The title, unless the operator set one.
    #[serde(skip)]
    pub title: &'static str,
    /// The button that joins.
    #[serde(skip)]
    pub join: &'static str,
    /// The link to where the visitor goes when the turn has come.
    #[serde(skip)]
    pub go_on: &'static str,
    /// The button that takes the turn, where there is nowhere to go on to …
    #[serde(skip)]
    pub enter: &'static str,
    /// … and the one that ends the visit.
    #[serde(skip)]
    pub finish: &'static str,
    /// To somebody without a place.
    #[serde(skip)]
    pub nobody: &'static str,
    /// To somebody whose place is over …
    pub ended: &'static str,
    /// … what can be done about it.
    pub ended_detail: &'static str,
    /// The position.
    pub number: &'static str,
    /// The wait: less than a minute, about one, about so many.
    pub wait: [&'static str; 3],
    /// It is the visitor's turn.
    pub turn: &'static str,
    /// The visitor is in, where there is nowhere to go on to …
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
    /// A known visitor's place is over.
    pub vouched: &'static str,
    /// What can be done about that, where the page knows no way back.
    pub go_back: &'static str,
    /// Any other refusal.
    pub busy: &'static str,
    /// The line does not move.
    pub paused: &'static str,
}

const ENGLISH: Words = Words {
    lang: "en",
    title: "Waiting room",
    join: "Join the line",
    go_on: "Continue",
    enter: "Come in",
    finish: "Finish",
    nobody: "You are not in line yet.",
    ended: "Your place has ended.",
    ended_detail: "You can join again at the end of the line.",
    number: "You are number {} in line.",
    wait: [
        "Expected wait: less than a minute.",
        "Expected wait: about a minute.",
        "Expected wait: about {} minutes.",
    ],
    turn: "It is your turn.",
    inside: "You are in.",
    left: "Time left: {}.",
    over: "Your visit is over.",
    again: "This page tries again by itself.",
    failed: "That did not work.",
    full: "The queue is full.",
    closed: "The queue is closed.",
    limited: "Too many visitors come from your address.",
    vouched: "Your place has ended: you must be vouched for anew by the site that sent you.",
    go_back: "Go back to where you came from.",
    busy: "The waiting room does not answer at the moment.",
    paused: "The line is paused.",
};

const KOREAN: Words = Words {
    lang: "ko",
    title: "대기실",
    join: "줄 서기",
    go_on: "계속하기",
    enter: "입장하기",
    finish: "마치기",
    nobody: "아직 줄을 서지 않았습니다.",
    ended: "자리가 만료되었습니다.",
    ended_detail: "줄의 맨 뒤에 다시 설 수 있습니다.",
    number: "현재 {}번째로 기다리고 있습니다.",
    wait: ["예상 대기 시간: 1분 미만", "예상 대기 시간: 약 1분", "예상 대기 시간: 약 {}분"],
    turn: "차례가 되었습니다.",
    inside: "입장했습니다.",
    left: "남은 시간: {}",
    over: "방문이 끝났습니다.",
    again: "이 페이지가 자동으로 다시 시도합니다.",
    failed: "요청을 처리하지 못했습니다.",
    full: "대기열이 가득 찼습니다.",
    closed: "대기열이 닫혔습니다.",
    limited: "같은 주소에서 온 방문자가 너무 많습니다.",
    vouched: "자리가 만료되었습니다. 보내 준 사이트에서 다시 확인을 받아야 합니다.",
    go_back: "오셨던 곳으로 돌아가 주세요.",
    busy: "지금은 대기실이 응답하지 않습니다.",
    paused: "입장이 잠시 멈추었습니다.",
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
            Code::QueueFull => self.full,
            Code::QueueClosed => self.closed,
            Code::JoinLimited => self.limited,
            Code::AssertionMissing => self.vouched,
            _ => self.busy,
        }
    }

    /// Why the line does not go on as usual, if so, and what the operator says of it.
    pub fn notice(&self, state: StateView, reason: Option<&str>) -> Option<String> {
        let text = match state {
            StateView::Paused => self.paused,
            StateView::Closed => self.closed,
            StateView::Open | StateView::Bypass => return None,
        };
        Some(reason.map_or_else(|| text.to_owned(), |reason| format!("{text} {reason}")))
    }

    /// The number in its text.
    pub fn with(text: &str, number: impl Display) -> String {
        text.replace("{}", &number.to_string())
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

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
            let texts = serde_json::to_string(words).expect("JSON") + words.title + words.nobody;
            assert!(!texts.contains("\"\""), "{}", words.lang);
        }
    }
}
