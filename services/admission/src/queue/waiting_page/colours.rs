//! The page's colours: of the accent, shades that can be read on the page by day and by night.

use std::fmt::Write as _;

use anteroom_config::{Background, Colour, PageConfig, PageTheme};

/// The contrast of text that WCAG 2.2 AA asks for.
const READABLE: f64 = 4.5;

/// The colours of one queue's page.
#[derive(Debug)]
pub struct Palette {
    accent: Colour,
    /// What is behind the card, if the operator set it.
    ground: Option<Colour>,
    theme: PageTheme,
}

const BLACK: Colour = Colour([0; 3]);
const WHITE: Colour = Colour([255; 3]);
const ACCENT: Colour = Colour([0x24, 0x57, 0xd6]);

/// The neutral colours of a scheme. On `ground` and `card` the others can be read.
struct Scheme {
    name: &'static str,
    ground: Colour,
    card: Colour,
    ink: Colour,
    soft: Colour,
    line: Colour,
    edge: Colour,
    /// Towards this colour an accent becomes readable.
    strong: Colour,
}

const LIGHT: Scheme = Scheme {
    name: "light",
    ground: Colour([0xf4, 0xf6, 0xf9]),
    card: WHITE,
    ink: Colour([0x16, 0x19, 0x20]),
    soft: Colour([0x4b, 0x55, 0x66]),
    line: Colour([0xdb, 0xe0, 0xe8]),
    edge: Colour([0x79, 0x84, 0x96]),
    strong: BLACK,
};

const DARK: Scheme = Scheme {
    name: "dark",
    ground: Colour([0x0f, 0x12, 0x17]),
    card: Colour([0x18, 0x1d, 0x25]),
    ink: Colour([0xf2, 0xf4, 0xf8]),
    soft: Colour([0xab, 0xb5, 0xc4]),
    line: Colour([0x32, 0x3a, 0x47]),
    edge: Colour([0x7f, 0x8b, 0x9e]),
    strong: WHITE,
};

impl Palette {
    pub fn new(page: &PageConfig, theme: PageTheme) -> Self {
        let ground = match page.background {
            Some(Background::Colour(colour)) => Some(colour),
            _ => None,
        };
        Self { accent: page.accent.unwrap_or(ACCENT), ground, theme }
    }

    /// The accent as it was set.
    pub fn accent(&self) -> String {
        hex(self.accent)
    }

    /// The colours as CSS variables.
    pub fn css(&self) -> String {
        let rule = |scheme: &Scheme| format!(":root {{ {} }}\n", self.variables(scheme));
        match self.theme {
            PageTheme::Light => rule(&LIGHT),
            PageTheme::Dark => rule(&DARK),
            PageTheme::Auto => format!(
                "{}@media (prefers-color-scheme: dark) {{ {} }}\n",
                rule(&LIGHT),
                rule(&DARK).trim_end()
            ),
        }
    }

    fn variables(&self, scheme: &Scheme) -> String {
        let accent = self.readable(scheme);
        let ground = self.ground.unwrap_or(scheme.ground);
        let on_ground = self.ground.map_or(scheme.soft, on);
        let mut css = format!("color-scheme: {};", scheme.name);
        for (name, colour) in [
            ("ground", ground),
            ("on-ground", on_ground),
            ("inset", scheme.ground),
            ("card", scheme.card),
            ("ink", scheme.ink),
            ("soft", scheme.soft),
            ("line", scheme.line),
            ("edge", scheme.edge),
            ("accent", accent),
            ("on-accent", on(accent)),
        ] {
            // Writing to a string cannot fail.
            let _ = write!(css, " --{name}: {};", hex(colour));
        }
        css
    }

    /// The accent, or the nearest shade of it that can be read on the page.
    fn readable(&self, scheme: &Scheme) -> Colour {
        let shades = (0..=100).map(|part| towards(self.accent, scheme.strong, part));
        let is_readable = |shade: &Colour| {
            contrast(*shade, scheme.ground) >= READABLE && contrast(*shade, scheme.card) >= READABLE
        };
        shades.into_iter().find(is_readable).unwrap_or(scheme.strong)
    }
}

fn hex(Colour([red, green, blue]): Colour) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// The relative luminance of WCAG 2.2.
fn luminance(colour: Colour) -> f64 {
    let [red, green, blue] = colour.0.map(|value| {
        let value = f64::from(value) / 255.0;
        if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    });
    0.2126 * red + 0.7152 * green + 0.0722 * blue
}

fn contrast(one: Colour, other: Colour) -> f64 {
    let (one, other) = (luminance(one) + 0.05, luminance(other) + 0.05);
    one.max(other) / one.min(other)
}

/// White or black: one of them can be read on any colour.
fn on(colour: Colour) -> Colour {
    if contrast(colour, WHITE) >= READABLE { WHITE } else { BLACK }
}

/// So many percent of the way to another colour.
fn towards(Colour(mut mixed): Colour, other: Colour, percent: u16) -> Colour {
    for (value, target) in mixed.iter_mut().zip(other.0) {
        let sum = u16::from(*value) * (100 - percent) + u16::from(target) * percent;
        *value = u8::try_from(sum / 100).unwrap_or(u8::MAX);
    }
    Colour(mixed)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn palette(accent: Option<Colour>, theme: PageTheme) -> Palette {
        Palette::new(&PageConfig { accent, ..PageConfig::default() }, theme)
    }

    #[test]
    fn black_on_white_has_the_contrast_of_wcag() {
        assert!((contrast(BLACK, WHITE) - 21.0).abs() < 1e-9);
        assert!((contrast(Colour([0x76; 3]), WHITE) - 4.54).abs() < 0.01);
    }

    #[test]
    fn the_neutral_colours_can_be_read() {
        for scheme in [LIGHT, DARK] {
            for text in [scheme.ink, scheme.soft] {
                assert!(contrast(text, scheme.ground) >= READABLE, "{}", scheme.name);
                assert!(contrast(text, scheme.card) >= READABLE, "{}", scheme.name);
            }
            assert!(contrast(scheme.edge, scheme.card) >= 3.0, "{}", scheme.name);
        }
    }

    #[test]
    fn an_accent_that_can_be_read_stays_as_it_is() {
        let light = palette(None, PageTheme::Light).css();
        assert!(light.contains("--accent: #2457d6;") && !light.contains("@media"), "{light}");
        assert!(palette(None, PageTheme::Dark).css().contains("color-scheme: dark;"));
        let auto = palette(None, PageTheme::Auto).css();
        assert!(auto.contains("prefers-color-scheme: dark"), "{auto}");
    }

    proptest! {
        #[test]
        fn each_colour_becomes_readable(colour: [u8; 3]) {
            let colour = Colour(colour);
            prop_assert!(contrast(on(colour), colour) >= READABLE);
            let palette = palette(Some(colour), PageTheme::Auto);
            for scheme in [LIGHT, DARK] {
                let shade = palette.readable(&scheme);
                prop_assert!(contrast(shade, scheme.ground) >= READABLE);
                prop_assert!(contrast(shade, scheme.card) >= READABLE);
            }
        }
    }
}
