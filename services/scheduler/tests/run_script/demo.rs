//! What `make run` shows: a visitor of the concert is led to the waiting room and back, chooses a
//! seat, pays, and makes room for the next.

use std::process::Command;

use anteroom_testkit::{Chromium, PATIENCE, free_port, until_some};
use tempfile::TempDir;

use crate::run::Run;

/// A browser without a script: curl, with cookies that belong to a host and not to a port.
struct Visitor {
    jar: TempDir,
}

/// A page, and where it is.
#[derive(Debug)]
struct Page {
    status: u16,
    address: String,
    html: String,
}

impl Visitor {
    fn new() -> Self {
        Self { jar: tempfile::tempdir().expect("a temporary directory") }
    }

    /// Looks at a page, and follows where it leads.
    fn open(&self, address: &str) -> Page {
        self.curl(&[address])
    }

    /// Presses a button of a page: the first form that leads to an address with this in it.
    fn press(&self, page: &Page, part: &str) -> Page {
        let forms = page.html.split(" formaction=\"").flat_map(|part| part.split(" action=\""));
        let action = forms.skip(1).filter_map(|rest| rest.split('"').next());
        let action = action.into_iter().find(|action| action.contains(part));
        let to = join(&page.address, action.unwrap_or_else(|| panic!("no {part}: {page:?}")));
        self.curl(&["--data", "", &to])
    }

    fn curl(&self, arguments: &[&str]) -> Page {
        let jar = self.jar.path().join("cookies");
        let mut curl = Command::new("curl");
        curl.args(["--silent", "--show-error", "--location", "--max-time", "20"]);
        curl.args(["--header", "accept: text/html", "--cookie"]).arg(&jar).arg("--cookie-jar");
        curl.arg(&jar).args(["--write-out", "\n%{http_code} %{url_effective}"]).args(arguments);
        let output = curl.output().expect("curl");
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        let (html, last) = stdout.rsplit_once('\n').unwrap_or_else(|| panic!("{stdout} {stderr}"));
        let (status, address) = last.split_once(' ').expect("status and address");
        let status = status.parse().expect("a number");
        Page { status, address: address.to_owned(), html: html.to_owned() }
    }
}

/// Where a link of a page leads.
fn join(page: &str, link: &str) -> String {
    let link = link.replace("&amp;", "&");
    let (scheme, rest) = page.split_once("://").expect("an address");
    let (host, path) = rest.split_once('/').expect("a path");
    let folder = path.split('?').next().and_then(|path| path.rsplit_once('/'));
    match link.strip_prefix('/') {
        Some(path) => format!("{scheme}://{host}/{path}"),
        None => format!("{scheme}://{host}/{}/{link}", folder.map_or("", |(folder, _)| folder)),
    }
}

/// The demo at ports of its own, with room for one, and the addresses of room and concert.
pub async fn demo() -> (Run, String, String) {
    let [room, concert] = [free_port(), free_port()].map(|port| format!("127.0.0.1:{port}"));
    let mut run = Run::start(&[
        ("ANTEROOM_ADMISSION__LISTEN", &room),
        ("CONCERT_LISTEN", &concert),
        ("ANTEROOM_QUEUES__CONCERT__CAPACITY", "1"),
    ]);
    run.until_running().await;
    assert_eq!(run.address("the concert"), concert);
    (run, format!("http://{room}/queues/concert"), format!("http://{concert}/"))
}

#[tokio::test]
async fn visitors_wait_choose_a_seat_and_make_room_for_the_next() {
    let (run, room, concert) = demo().await;
    let (first, second) = (Visitor::new(), Visitor::new());
    // A visitor of the concert is sent to the room, joins there, and the page leads back.
    let enter = |visitor: &Visitor| {
        let page = visitor.open(&concert);
        assert!(page.address.starts_with(&format!("{room}?return_to=")), "{page:?}");
        let page = visitor.press(&page, "concert?return_to=");
        assert_eq!(page.status, 200, "{page:?}");
        page
    };
    let leads_on = format!("<a id=\"go_on\" href=\"{concert}\">");
    let page = enter(&first);
    assert!(page.html.contains(&leads_on), "the line is empty: {page:?}");
    let page = enter(&second);
    assert!(page.html.contains("data-status=\"waiting\""), "there is room for one: {page:?}");

    let shows = first.open(&concert);
    assert_eq!((shows.status, &shows.address), (200, &concert), "{shows:?}");
    assert!(shows.html.contains("Your visit ends in"), "{shows:?}");
    let seats = first.open(&format!("{concert}shows/1/seats"));
    let reserved = first.press(&seats, "/reservation");
    assert!(reserved.html.contains("Reserved for you"), "{reserved:?}");
    // The visit is over, and who comes back is in the room again; the seat can be paid.
    let again = first.open(&concert);
    assert!(again.address.starts_with(&room) && again.html.contains("data-status=\"gone\""));
    let paid = first.press(&reserved, "/payment");
    assert!(paid.html.contains("Done: the seat is yours"), "{paid:?}");

    let shows = until_some("the second's turn comes", PATIENCE, async || {
        Some(second.open(&concert)).filter(|page| page.address == concert)
    })
    .await;
    assert!(shows.html.contains("47 of 48 seats free"), "{shows:?}");
    let over = second.press(&shows, "/finish");
    assert!(over.html.contains("Your visit is over"), "{over:?}");
    run.script.term();
    run.ends_with(0).await;
}

#[tokio::test]
async fn a_browser_enters_by_itself_when_the_line_is_empty() {
    let Some(chromium) = Chromium::find() else { return };
    let (run, _, concert) = demo().await;
    // So long, by the page's clock, until the page shows what it has become.
    let dom = chromium.dom(&["--virtual-time-budget=20000"], &concert).await;
    assert!(dom.contains("48 of 48 seats free"), "{dom}");
    assert!(dom.contains("Leave without a seat"), "{dom}");
    run.script.term();
    run.ends_with(0).await;
}
