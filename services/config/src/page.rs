//! `[queues.NAME.page]`: what the waiting page of a queue looks like.

use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::{Deserialize, Deserializer};
use url::Url;

use crate::{
    error::Fault,
    parse::{self, FromText, words},
    read::bounded_bytes,
};

/// The languages of the waiting page, and the rule that names them.
macro_rules! languages {
    ($first:literal $($tag:literal)*) => {
        /// The languages of the waiting page, as HTML names them. The first is the fallback.
        pub const PAGE_LANGUAGES: &[&str] = &[$first, $($tag),*];
        const LANGUAGES_RULE: &str =
            concat!("must be languages of the page: ", $first $(, ", ", $tag)*);
    };
}

languages! { "en" "ko" "ja" "zh-Hans" "zh-Hant" "es" "fr" "de" "pt-BR" "vi" "ar" }

const MOST_TITLE: usize = 200;
const MOST_MESSAGE: usize = 1_000;
const MOST_LOGO: u64 = 32 * 1024;
const MOST_BACKGROUND: u64 = 256 * 1024;
/// The most pixels a side.
const MOST_PIXELS: u32 = 4_096;

/// One table `[queues.NAME.page]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct PageConfig {
    /// The title of the page.
    #[serde(default, deserialize_with = "parse::some_text")]
    pub title: Option<String>,
    /// The message of the operator, by language.
    #[serde(default)]
    pub message: BTreeMap<String, String>,
    /// The colour of numbers and buttons.
    #[serde(default, deserialize_with = "parse::some_parsed")]
    pub accent: Option<Colour>,
    /// What is behind the card.
    #[serde(default, deserialize_with = "parse::some_parsed")]
    pub background: Option<Background>,
    /// The file with the logo.
    #[serde(default)]
    pub logo_file: Option<PathBuf>,
    /// The content of `logo_file`.
    #[serde(skip)]
    pub logo: Option<Picture>,
    /// Where visitors find help.
    #[serde(default, deserialize_with = "parse::some_parsed")]
    pub support_url: Option<SupportUrl>,
    /// Light or dark.
    #[serde(default, deserialize_with = "parse::parsed")]
    pub theme: PageTheme,
    /// The languages that the page may have; empty for all.
    #[serde(default, deserialize_with = "parse::list::<_, _, { PAGE_LANGUAGES.len() }>")]
    pub languages: Vec<PageLanguage>,
}

impl PageConfig {
    /// Reads the pictures; `key` is that of the table.
    pub(crate) fn read_pictures(&mut self, key: &str) -> Result<(), Fault> {
        if let Some(file) = &self.logo_file {
            let logo = Picture::read(file, MOST_LOGO);
            self.logo = Some(logo.map_err(|rule| Fault::new(format!("{key}.logo_file"), rule))?);
        }
        if let Some(Background::File(file, picture)) = &mut self.background {
            let read = Picture::read(file, MOST_BACKGROUND);
            let fault = |rule| {
                Fault::new(
                    format!("{key}.background"),
                    format!("is no colour, and as a file {rule}"),
                )
            };
            *picture = Some(read.map_err(fault)?);
        }
        Ok(())
    }

    /// The files of its pictures.
    pub(crate) fn files(&self) -> impl Iterator<Item = &PathBuf> {
        let background = match &self.background {
            Some(Background::File(file, _)) => Some(file),
            _ => None,
        };
        self.logo_file.iter().chain(background)
    }

    /// The rules between the keys; `title` is that of the queue.
    pub(crate) fn check(&self, title: Option<&str>) -> Result<(), Fault> {
        Fault::unless(
            title.is_none() || self.title.is_none(),
            "page.title",
            "must be unset while `title` of the queue itself is set: both are the title of the page",
        )?;
        for (key, title) in [("title", title), ("page.title", self.title.as_deref())] {
            let title = title.unwrap_or("-");
            Fault::unless(
                title.chars().count() <= MOST_TITLE && !title.contains(char::is_control),
                key,
                "must be 1 to 200 characters without control characters",
            )?;
        }
        for (language, text) in &self.message {
            let key = format!("page.message.{language}");
            Fault::unless(
                PAGE_LANGUAGES.contains(&language.as_str()),
                &key,
                format!("unknown language, expected one of {}", PAGE_LANGUAGES.join(", ")),
            )?;
            Fault::unless(
                self.languages.is_empty() || self.languages.iter().any(|it| it.tag() == language),
                &key,
                "the page does not have this language: add it to `languages`",
            )?;
            let is_text = |char: char| !char.is_control() || char == '\n';
            Fault::unless(
                (1..=MOST_MESSAGE).contains(&text.chars().count()) && text.chars().all(is_text),
                &key,
                "must be 1 to 1000 characters without control characters but line breaks",
            )?;
        }
        Ok(())
    }
}

/// The table, for a key that may be absent.
pub(crate) fn some<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PageConfig, D::Error> {
    PageConfig::deserialize(deserializer)
}

/// A colour: red, green and blue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Colour(pub [u8; 3]);

impl FromText for Colour {
    const RULE: &'static str = "must be a colour such as \"#2457d6\"";

    fn from_text(text: &str) -> Option<Self> {
        let digits = text.strip_prefix('#')?;
        if digits.len() != 6 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let [_, red, green, blue] = u32::from_str_radix(digits, 16).ok()?.to_be_bytes();
        Some(Self([red, green, blue]))
    }
}

/// What is behind the card: a colour, or a picture with its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Background {
    /// One colour.
    Colour(Colour),
    /// The path of a picture, and what it holds.
    File(PathBuf, Option<Picture>),
}

impl FromText for Background {
    const RULE: &'static str = "must be a colour such as \"#f4f6f9\", or the path of a picture";

    fn from_text(text: &str) -> Option<Self> {
        match text {
            "" => None,
            text if text.starts_with('#') => Colour::from_text(text).map(Self::Colour),
            text => Some(Self::File(text.into(), None)),
        }
    }
}

/// Where visitors find help.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SupportUrl(Url);

impl SupportUrl {
    /// The address as text.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl FromText for SupportUrl {
    const RULE: &'static str = "must be an http, https or mailto address";

    fn from_text(text: &str) -> Option<Self> {
        let url = Url::parse(text).ok()?;
        let is_web = matches!(url.scheme(), "http" | "https") && url.has_host();
        let is_mail = url.scheme() == "mailto" && url.path().contains('@');
        (is_web || is_mail).then_some(Self(url))
    }
}

/// Which scheme the page has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PageTheme {
    /// That of the visitor's device.
    #[default]
    Auto,
    /// Light.
    Light,
    /// Dark.
    Dark,
}

words! { PageTheme { "auto" => Auto, "light" => Light, "dark" => Dark, } }

/// One of [`PAGE_LANGUAGES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageLanguage(&'static str);

impl PageLanguage {
    /// Its tag.
    pub fn tag(self) -> &'static str {
        self.0
    }
}

impl FromText for PageLanguage {
    const RULE: &'static str = LANGUAGES_RULE;

    fn from_text(text: &str) -> Option<Self> {
        PAGE_LANGUAGES.iter().find(|tag| **tag == text).map(|tag| Self(tag))
    }
}

/// A picture: a PNG or an SVG.
#[derive(Clone, PartialEq, Eq)]
pub struct Picture {
    /// Whether it is an SVG.
    pub is_svg: bool,
    /// The content of the file.
    pub content: Arc<[u8]>,
}

impl Picture {
    fn read(path: &Path, most: u64) -> Result<Self, String> {
        let content = bounded_bytes(path, most)?.filter(|it| is_png(it) || is_svg(it));
        let content = content.ok_or_else(|| {
            let kib = most / 1024;
            format!(
                "must be an SVG, or a PNG of at most {MOST_PIXELS} × {MOST_PIXELS} pixels, of at \
                 most {kib} KiB"
            )
        })?;
        Ok(Self { is_svg: !is_png(&content), content: content.into() })
    }
}

impl fmt::Debug for Picture {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Picture of {} bytes", self.content.len())
    }
}

/// Whether it begins as a PNG of a sensible size and has its end.
fn is_png(content: &[u8]) -> bool {
    let Some(rest) = content.strip_prefix(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR") else { return false };
    let Some((size, _)) = rest.split_first_chunk::<8>() else { return false };
    let mut sides = size
        .chunks_exact(4)
        .map(|side| side.iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte)));
    sides.all(|side| (1..=MOST_PIXELS).contains(&side)) && content.ends_with(b"IEND\xaeB`\x82")
}

/// Whether it is text whose first element is `svg`.
fn is_svg(content: &[u8]) -> bool {
    let Ok(mut rest) = std::str::from_utf8(content) else { return false };
    // What may come before it: a byte order mark, the declaration, comments, a document type.
    loop {
        rest = rest.trim_start_matches(['\u{feff}', ' ', '\n', '\r', '\t']);
        let end = match rest {
            _ if rest.starts_with("<?") => "?>",
            _ if rest.starts_with("<!--") => "-->",
            _ if rest.starts_with("<!") => ">",
            _ => break,
        };
        let Some((before, after)) = rest.split_once(end) else { return false };
        // The declarations of a document type end with "]>".
        rest = match after.split_once("]>") {
            Some((_, after)) if end == ">" && before.contains('[') => after,
            _ => after,
        };
    }
    let name = rest.strip_prefix("<svg").unwrap_or_default();
    name.starts_with([' ', '>', '/', '\n', '\r', '\t'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_are_what_they_begin_with() {
        let png = |size: [u8; 8]| {
            let head = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".iter().chain(&size);
            let rest = b"\x08\x06\0\0\0....\0\0\0\0IEND\xaeB`\x82";
            head.chain(rest).copied().collect::<Vec<u8>>()
        };
        assert!(is_png(&png([0, 0, 0, 1, 0, 0, 16, 0])));
        assert!(!is_png(&png([0, 0, 0, 0, 0, 0, 0, 1])), "no pixels");
        assert!(!is_png(&png([0, 0, 16, 1, 0, 0, 0, 1])), "too wide");
        let whole = png([0, 0, 0, 1, 0, 0, 0, 1]);
        assert!(!is_png(&whole[..whole.len() - 1]), "cut off");
        for svg in [
            "<svg>",
            "<svg/>",
            "\u{feff}<?xml version=\"1.0\"?>\n<!-- <b> -->\n<svg xmlns=\"x\"/>",
            "<!DOCTYPE svg PUBLIC \"-//W3C//DTD SVG 1.1//EN\" \"x.dtd\">\n<svg\n>",
            "<!DOCTYPE svg [ <!ENTITY a \"b\"> <!ENTITY c \"d\"> ]><svg>",
        ] {
            assert!(is_svg(svg.as_bytes()), "{svg}");
        }
        for other in [
            "",
            "<html><svg></svg></html>",
            "<!-- <svg --><html>",
            "<!-- <svg>",
            "<?xml",
            "<svgx/>",
            "GIF89a",
            "svg",
        ] {
            assert!(!is_svg(other.as_bytes()), "{other}");
        }
        assert!(!is_svg(b"<svg>\xff"), "not UTF-8");
    }
}
