//! The languages of the page: its texts with their plural forms, and how each writes numbers.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use fixed_decimal::Decimal;
use http::HeaderMap;
use http::header::ACCEPT_LANGUAGE;
use icu_decimal::DecimalFormatter;
use icu_locale_core::Locale;
use icu_plurals::{PluralCategory, PluralRules};
use serde::Deserialize;

/// One language.
#[derive(Debug)]
pub struct Language {
    /// As HTML names it.
    pub tag: &'static str,
    /// Its name in the language itself.
    pub name: &'static str,
    /// `ltr` or `rtl`.
    pub dir: &'static str,
    /// Its texts as JSON, for the script.
    pub json: &'static str,
    texts: BTreeMap<&'static str, Text>,
    plural: PluralRules,
    decimal: DecimalFormatter,
}

/// A text, or its forms by the plural category of `{n}`.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Text {
    Fixed(String),
    Plural(BTreeMap<String, String>),
}

/// The languages that there are: tag, name, direction and file. The first is the fallback.
macro_rules! languages {
    ($($tag:literal $name:literal $dir:literal)*) => {
        static ALL: LazyLock<Vec<Language>> = LazyLock::new(|| vec![
            $(Language::new($tag, $name, $dir, include_str!(concat!("texts/", $tag, ".json"))),)*
        ]);
    };
}

languages! {
    "en" "English" "ltr"
    "ko" "한국어" "ltr"
    "ja" "日本語" "ltr"
    "zh-Hans" "简体中文" "ltr"
    "zh-Hant" "繁體中文" "ltr"
    "es" "Español" "ltr"
    "fr" "Français" "ltr"
    "de" "Deutsch" "ltr"
    "pt-BR" "Português (Brasil)" "ltr"
    "vi" "Tiếng Việt" "ltr"
    "ar" "العربية" "rtl"
}

impl Language {
    /// # Panics
    ///
    /// If a file of ours is no JSON, which a test would have found.
    #[expect(clippy::expect_used, reason = "files that are part of the program")]
    fn new(tag: &'static str, name: &'static str, dir: &'static str, json: &'static str) -> Self {
        let locale: Locale = tag.parse().expect("a language tag");
        Self {
            tag,
            name,
            dir,
            json,
            texts: serde_json::from_str(json).expect("texts"),
            plural: PluralRules::try_new(locale.clone().into(), Default::default())
                .expect("plural rules"),
            decimal: DecimalFormatter::try_new(locale.into(), Default::default())
                .expect("a number format"),
        }
    }

    /// All of them.
    pub fn all() -> &'static [Self] {
        &ALL
    }

    /// The language with this tag.
    pub fn named(tag: &str) -> Option<&'static Self> {
        Self::all().iter().find(|language| language.tag == tag)
    }

    /// The language that `wish`, a tag of Accept-Language, means.
    fn meant(wish: &str) -> Option<&'static Self> {
        let wish = wish.to_ascii_lowercase();
        let mut parts = wish.split('-');
        let primary = parts.next().unwrap_or_default();
        let is_traditional = parts.any(|part| matches!(part, "hant" | "tw" | "hk" | "mo"));
        Self::named(match primary {
            "zh" if is_traditional && !wish.contains("hans") => "zh-Hant",
            "zh" => "zh-Hans",
            "pt" => "pt-BR",
            other => other,
        })
    }

    /// The language that the visitor prefers among `offered`; else the first of these.
    pub fn preferred<'a>(headers: &HeaderMap, offered: &'a [&'static Self]) -> &'a &'static Self {
        let lines = headers.get_all(ACCEPT_LANGUAGE).iter();
        let wanted = lines.filter_map(|line| line.to_str().ok()).flat_map(|line| line.split(','));
        let mut best: Option<(f32, &Self)> = None;
        // Browsers send a few. A long list would cost more than the page.
        for wish in wanted.take(50) {
            let (tag, weight) = wish.split_once(';').unwrap_or((wish, "q=1"));
            let weight = weight.trim().strip_prefix("q=").and_then(|weight| weight.parse().ok());
            let language = Self::meant(tag.trim());
            let (Some(weight), Some(language)) = (weight, language) else { continue };
            let is_offered = offered.iter().any(|it| it.tag == language.tag);
            // Of equals the first.
            if is_offered && weight > best.map_or(0.0, |(weight, _)| weight) {
                best = Some((weight, language));
            }
        }
        let best = best.and_then(|(_, best)| offered.iter().find(|it| it.tag == best.tag));
        best.unwrap_or(&offered[0])
    }

    /// A text without a number; nothing if there is none of this name.
    pub fn text(&self, name: &str) -> &str {
        match self.texts.get(name) {
            Some(Text::Fixed(text)) => text,
            _ => "",
        }
    }

    /// A text about `n`, a whole number of halves.
    pub fn count(&self, name: &str, halves: u64) -> String {
        let n = decimal(halves);
        let form = match self.texts.get(name) {
            Some(Text::Plural(forms)) => {
                let category = category_name(self.plural.category_for(&n));
                forms.get(category).or_else(|| forms.get("other")).map_or("", String::as_str)
            }
            _ => self.text(name),
        };
        form.replace("{n}", &self.decimal.format(&n).to_string())
    }

    /// A whole number.
    pub fn number(&self, number: u64) -> String {
        self.decimal.format(&Decimal::from(number)).to_string()
    }

    /// Half a number.
    pub fn halves(&self, halves: u64) -> String {
        self.decimal.format(&decimal(halves)).to_string()
    }

    /// A number of two digits.
    pub fn two_digits(&self, number: u64) -> String {
        let mut number = Decimal::from(number);
        number.pad_start(2);
        self.decimal.format(&number).to_string()
    }
}

fn decimal(halves: u64) -> Decimal {
    let mut number = Decimal::from(halves * 5);
    number.multiply_pow10(-1);
    number.trim_end();
    number
}

fn category_name(category: PluralCategory) -> &'static str {
    match category {
        PluralCategory::Zero => "zero",
        PluralCategory::One => "one",
        PluralCategory::Two => "two",
        PluralCategory::Few => "few",
        PluralCategory::Many => "many",
        PluralCategory::Other => "other",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use anteroom_config::PAGE_LANGUAGES;
    use http::HeaderValue;

    use super::*;

    fn forms(text: &Text) -> Vec<(&str, &str)> {
        match text {
            Text::Fixed(text) => vec![("", text)],
            Text::Plural(forms) => forms.iter().map(|(name, text)| (&**name, &**text)).collect(),
        }
    }

    #[test]
    fn the_configuration_knows_the_same_languages() {
        assert!(
            Language::all().iter().map(|language| language.tag).eq(PAGE_LANGUAGES.iter().copied())
        );
    }

    #[test]
    fn every_language_has_every_text_in_every_plural_form() {
        let english = Language::named("en").expect("English");
        for language in Language::all() {
            let tag = language.tag;
            assert!(language.texts.keys().eq(english.texts.keys()), "{tag}: other texts");
            let categories: BTreeSet<_> = language.plural.categories().map(category_name).collect();
            for (name, text) in &language.texts {
                let placeholders = |text: &str| {
                    ["{n}", "{low}", "{time}"].map(|placeholder| text.matches(placeholder).count())
                };
                let (_, reference) = *forms(&english.texts[name]).last().expect("a form");
                for (form, text) in forms(text) {
                    assert!(!text.trim().is_empty() && !text.contains('<'), "{tag}: {name}");
                    // "One person", in words.
                    let in_words = ["zero", "one", "two"].contains(&form) && !text.contains("{n}");
                    let is_same = placeholders(text) == placeholders(reference);
                    assert!(is_same || in_words, "{tag}: {name}: {form}: {text}");
                }
                if let Text::Plural(forms) = text {
                    let given: BTreeSet<_> = forms.keys().map(String::as_str).collect();
                    // The upper end of a range is 2 or more.
                    let optional =
                        if name.ends_with("_range") { &["one", "zero"][..] } else { &[] };
                    let missing = categories.difference(&given).filter(|it| !optional.contains(it));
                    assert_eq!(missing.count(), 0, "{tag}: {name}");
                    assert_eq!(given.difference(&categories).count(), 0, "{tag}: {name}");
                }
            }
        }
    }

    #[test]
    fn the_language_is_the_one_that_is_wanted_most() {
        let all: Vec<_> = Language::all().iter().collect();
        for (accepted, tag) in [
            (&[][..], "en"),
            (&["ko-KR,ko;q=0.9,en-US;q=0.8,en;q=0.7"], "ko"),
            (&["en-US,en;q=0.9,ko;q=0.8"], "en"),
            (&["KO"], "ko"),
            (&["it-IT, ko;q=0.2"], "ko"),
            (&["it", "ko;q=0.3, en;q=0.4"], "en"),
            (&["it-IT,nl;q=0.5"], "en"),
            (&["ko;q=0, *"], "en"),
            (&["ko;q=nan"], "en"),
            (&["ko ; q=0.5 , en;q=0.1"], "ko"),
            (&["kok"], "en"),
            (&[";;;,,q=1,-"], "en"),
            (&["zh"], "zh-Hans"),
            (&["zh-CN"], "zh-Hans"),
            (&["zh-TW,zh;q=0.9"], "zh-Hant"),
            (&["zh-Hant-HK"], "zh-Hant"),
            (&["zh-Hans-TW"], "zh-Hans"),
            (&["pt-PT"], "pt-BR"),
            (&["ar-EG"], "ar"),
        ] {
            let mut headers = HeaderMap::new();
            for line in accepted {
                headers.append(ACCEPT_LANGUAGE, HeaderValue::from_static(line));
            }
            assert_eq!(Language::preferred(&headers, &all).tag, tag, "{accepted:?}");
        }
        let few: Vec<_> = ["de", "fr"].into_iter().filter_map(Language::named).collect();
        let headers =
            HeaderMap::from_iter([(ACCEPT_LANGUAGE, HeaderValue::from_static("en,fr;q=0.1"))]);
        assert_eq!(Language::preferred(&headers, &few).tag, "fr");
        assert_eq!(Language::preferred(&HeaderMap::new(), &few).tag, "de");
    }
}
