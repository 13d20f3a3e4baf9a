//! A report as Markdown and as a page.

use std::sync::LazyLock;

use regex::Regex;

use super::{Part, Report};
use crate::progress::shown;

/// Follows the reader's light or dark; the plots have colours that can be read on both.
const STYLE: &str = "\
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
body { max-width: 62rem; margin: 2rem auto; padding: 0 1rem }
figure { margin: 1rem 0 } svg { max-width: 100%; height: auto }
table { border-collapse: collapse; display: block; overflow-x: auto }
th, td { padding: .2rem .8rem; border-bottom: 1px solid #8884; text-align: right }
th:first-child, td:first-child { text-align: left }
pre { overflow-x: auto }";

impl Report {
    /// As Markdown, with the plots as files beside it.
    pub fn markdown(&self) -> String {
        let mut out = format!("# {}\n", plain(&self.title));
        for part in &self.parts {
            let text = match part {
                Part::Heading(text) => format!("## {}", plain(text)),
                Part::Text(text) => plain(text),
                Part::Code(text) => {
                    let fence = fence(text);
                    format!("{fence}\n{}\n{fence}", shown(text.trim_end()))
                }
                Part::Plot(name, plot) => format!("![{}]({name}.svg)", plot.title),
                Part::Table(head, rows) => {
                    let rule = vec!["---".to_owned(); head.len()];
                    // A bar would end the cell.
                    let cell = |it: &String| plain(it).replace('|', "\\|");
                    let row = |cells: &Vec<String>| {
                        format!("| {} |", cells.iter().map(cell).collect::<Vec<_>>().join(" | "))
                    };
                    [head, &rule].into_iter().chain(rows).map(row).collect::<Vec<_>>().join("\n")
                }
            };
            out += &format!("\n{text}\n");
        }
        out
    }

    /// As one HTML page that needs no other file.
    pub fn html(&self) -> String {
        let title = escape(&self.title);
        let parts = self.parts.iter().map(|part| match part {
            Part::Heading(text) => format!("<h2>{}</h2>\n", escape(text)),
            Part::Text(text) => format!("<p>{}</p>\n", escape(text)),
            Part::Code(text) => format!("<pre><code>{}</code></pre>\n", escape(text)),
            Part::Plot(_, plot) => format!("<figure>{}</figure>\n", plot.svg()),
            Part::Table(head, rows) => {
                let row = |cells: &Vec<String>, tag: &str| {
                    let cell = |cell: &String| format!("<{tag}>{}</{tag}>", escape(cell));
                    format!("<tr>{}</tr>", cells.iter().map(cell).collect::<String>())
                };
                let rows: String = rows.iter().map(|cells| row(cells, "td")).collect();
                format!("<table>{}{rows}</table>\n", row(head, "th"))
            }
        });
        format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width\">\n\
             <title>{title}</title>\n<style>{STYLE}</style></head>\n<body>\n<h1>{title}</h1>\n\
             {}</body></html>\n",
            parts.collect::<String>()
        )
    }
}

/// A text of which Markdown makes no tag, link or heading: it may hold what a service answered.
fn plain(text: &str) -> String {
    // Of an objective, such as p95<200ms, there is nothing to escape.
    static TAG: LazyLock<Regex> = LazyLock::new(|| Regex::new("<[A-Za-z/!?]").expect("constant"));
    let text = shown(text).replace('\n', " ").replace("](", "]\\(");
    TAG.replace_all(&text, "\\$0").into_owned()
}

/// Longer than any that the text holds.
fn fence(text: &str) -> String {
    let runs = text.split(|c| c != '`').map(str::len);
    "`".repeat(runs.max().unwrap_or(0).max(2) + 1)
}

pub(super) fn escape(text: &str) -> String {
    let text = shown(text).replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Curve, Plot};

    #[test]
    fn what_a_service_answered_is_no_markup() {
        let mut report = Report::new("a\n# b");
        report.text("code <img src=x>, [all](javascript:), p95<200ms \u{1b}[31m");
        report.parts.push(Part::Code("```\n# out\n````".to_owned()));
        let text = report.markdown();
        assert!(text.starts_with("# a # b\n"), "{text}");
        let shown = "code \\<img src=x>, [all]\\(javascript:), p95<200ms \\u{1b}[31m\n";
        assert!(text.contains(shown), "{text}");
        assert!(text.ends_with("\n`````\n```\n# out\n````\n`````\n"), "{text}");
        assert!(!report.html().contains('\u{1b}'));
    }

    #[test]
    fn a_report_is_a_text_a_page_a_json_and_its_plots() {
        let mut report = Report::new("5 < 6 & more");
        report.heading("Steps");
        report.text("<b>plain</b>");
        report.table(["load", "p95"], vec![["a|b".to_owned(), "200 ms".to_owned()]]);
        let curves = vec![Curve::new("depth", vec![(0.0, 1.0), (1.0, 3.0)])];
        report.plot("line", Plot::new("The line", "time (s)", "visitors", curves));
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        let result = serde_json::json!({ "schema_version": 1, "held": 203.042_17 });
        report.write(folder, "size", &result).expect("files");
        let read = |file: &str| std::fs::read_to_string(folder.join(file)).expect(file);

        let text = read("size.md");
        assert!(text.starts_with("# 5 < 6 & more\n\n## Steps\n"), "{text}");
        assert!(text.contains("| load | p95 |\n| --- | --- |\n| a\\|b | 200 ms |\n"), "{text}");
        assert!(text.contains("![The line](line.svg)"), "{text}");
        assert!(read("line.svg").starts_with("<svg"));
        let page = read("size.html");
        assert!(page.contains("<h1>5 &lt; 6 &amp; more</h1>"), "{page}");
        assert!(page.contains("&lt;b&gt;plain"), "no text becomes a tag: {page}");
        assert!(page.contains("<figure><svg") && page.contains("</svg>"), "{page}");
        assert!(!page.contains("src="), "it needs no other file: {page}");
        assert!(read("size.json").contains("\"held\": 203.0,"), "4 digits");
        let error = report.write(&folder.join("line.svg"), "size", &result).expect_err("a file");
        assert!(error.to_string().contains("line.svg"), "{error}");
    }
}
