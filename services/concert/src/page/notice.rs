//! Pages with one message and one way on.

use http::Response;
use hyper::body::Bytes;

use super::layout::{Width, escaped, page};

/// The visit has ended, as the visitor wanted.
pub fn goodbye() -> Response<Bytes> {
    notice(
        "Your visit is over",
        "Your place is free for the next visitor.",
        ("/", "Visit the shop again"),
    )
}

/// What did not work.
pub fn problem(title: &str, detail: Option<&str>) -> Response<Bytes> {
    let detail = detail.map(|detail| format!("{}.", escaped(detail))).unwrap_or_default();
    notice(&escaped(title), &detail, ("/", "To the tickets"))
}

/// For a visitor who pressed a button when the visit was over.
pub fn not_admitted(room: &str) -> Response<Bytes> {
    notice(
        "You are not admitted at the moment",
        "Nothing was changed. Please wait for your turn.",
        (&escaped(room), "To the waiting room"),
    )
}

/// All parts are escaped already.
fn notice(title: &str, text: &str, (to, button): (&str, &str)) -> Response<Bytes> {
    let text = if text.is_empty() { String::new() } else { format!("<p>{text}</p>\n") };
    let card = format!(
        "<h1>{title}</h1>\n{text}\
         <p class=\"go\"><a class=\"button\" href=\"{to}\">{button}</a></p>\n"
    );
    page(title, Width::Column, &card)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_filled_in_stays_text() {
        let html = problem("<script>alert('1')</script>", Some("\"&\"")).into_body();
        let html = String::from_utf8(html.to_vec()).expect("text");
        assert!(html.contains("<h1>&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;</h1>"));
        assert!(html.contains("<title>&lt;script&gt;"));
        assert!(html.contains("<p>&quot;&amp;&quot;.</p>"));
    }
}
