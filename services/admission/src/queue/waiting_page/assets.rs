//! The page's files: each has the digest of its content in its name, so that browsers keep it for
//! ever, and a changed file has another name.

use std::sync::LazyLock;

use anteroom_config::{Background, PageConfig, PageTheme, Picture};
use axum::body::Bytes;
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use http::HeaderMap;
use sha2::{Digest as _, Sha256};

use super::colours::Palette;
use super::views;
use crate::http::file::File;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
/// What the script has for the table of the views, which is put there.
const VIEWS: &str = "/* views.json */ {}";

/// The icons show the progress in tenths.
const STEPS: usize = 11;

/// What a picture behind the page needs.
const BEHIND: &str = ":root { background-image: url(FILE); }\nheader, footer { background: \
                      var(--card); --on-ground: var(--soft); padding: 1rem; border-radius: 1rem; \
                      margin: 1rem 0; }\n";

/// One file.
#[derive(Debug)]
pub struct Asset {
    /// With its digest.
    pub name: String,
    /// Its SHA-256 in Base64, as policies and `integrity` name it.
    pub digest: String,
    file: File,
}

impl Asset {
    pub fn new(stem: &str, ending: &str, kind: &'static str, content: Bytes) -> Self {
        let name = format!("{stem}-{}.{ending}", short_digest(&content));
        let digest = STANDARD.encode(Sha256::digest(&content));
        Self { name, digest, file: File::new(kind, content) }
    }

    /// The same as an address that holds the content.
    pub fn to_data(&self) -> String {
        let kind = self.file.kind.split(';').next().unwrap_or_default();
        format!("data:{kind};base64,{}", STANDARD.encode(&self.file.plain))
    }

    /// The content as text; nothing if it is none.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.file.plain).unwrap_or_default()
    }
}

/// The part of a digest that file names have.
fn short_digest(content: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(&Sha256::digest(content)[..9])
}

/// The script, which is the same for all queues.
pub static PAGE_SCRIPT: LazyLock<Asset> = LazyLock::new(|| {
    let script = SCRIPT.replace(VIEWS, &views::for_script());
    Asset::new("page", "js", "text/javascript; charset=utf-8", script.into())
});

/// The files of one queue's page.
#[derive(Debug)]
pub struct Assets {
    pub style: Asset,
    pub icons: Vec<Asset>,
    pub logo: Option<Asset>,
    pub background: Option<Asset>,
}

impl Assets {
    /// The files by the configuration of a page, in this theme.
    pub fn new(page: &PageConfig, theme: PageTheme) -> Self {
        let picture = |stem: &str, picture: &Picture| {
            let (ending, kind) =
                if picture.is_svg { ("svg", "image/svg+xml") } else { ("png", "image/png") };
            Asset::new(stem, ending, kind, Bytes::copy_from_slice(&picture.content))
        };
        let background = match &page.background {
            Some(Background::File(_, Some(content))) => Some(picture("background", content)),
            _ => None,
        };
        let palette = Palette::new(page, theme);
        let mut style = format!("{}{STYLE}", palette.css());
        if let Some(background) = &background {
            // Beside the style. On a picture no colour of text is sure to be readable.
            style.push_str(&BEHIND.replace("FILE", &background.name));
        }
        let icons: Vec<_> = (0..STEPS).map(|step| icon(&palette.accent(), step)).collect();
        // One digest of all: the script puts the step into the name of the first.
        let digest = short_digest(icons.concat().as_bytes());
        let icon = |(step, svg): (usize, String)| {
            let asset = Asset::new("icon", "svg", "image/svg+xml", svg.into());
            Asset { name: format!("icon-{step}-{digest}.svg"), ..asset }
        };
        Self {
            style: Asset::new("page", "css", "text/css; charset=utf-8", style.into()),
            icons: icons.into_iter().enumerate().map(icon).collect(),
            logo: page.logo.as_ref().map(|logo| picture("logo", logo)),
            background,
        }
    }

    /// The file of this name, if it is one of the page's.
    pub fn answer(&self, name: &str, headers: &HeaderMap) -> Option<Response> {
        let own = [&*PAGE_SCRIPT, &self.style].into_iter().chain(&self.icons);
        let all = own.chain(&self.logo).chain(&self.background);
        let asset = all.into_iter().find(|asset| asset.name == name)?;
        Some(asset.file.response(headers))
    }
}

/// A ring that fills with the way to the front of the line.
fn icon(accent: &str, step: usize) -> String {
    // The ring is 100 long.
    let way = step * 10;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 36 36\"><g fill=\"none\" \
         stroke-width=\"6\" transform=\"rotate(-90 18 18)\"><circle cx=\"18\" cy=\"18\" \
         r=\"15\" stroke=\"#8a94a6\"/><circle cx=\"18\" cy=\"18\" r=\"15\" pathLength=\"100\" \
         stroke=\"{accent}\" stroke-dasharray=\"{way} 100\"/></g></svg>"
    )
}
