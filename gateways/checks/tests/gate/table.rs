//! What each gateway must do, and which one does it. One row is a case, a test for each gateway;
//! `docs/reference/gateways.md` is made of the same rows.

use std::fmt::Write as _;

use anteroom_testkit::repository;

/// The gateways, by the names of their test modules.
const GATEWAYS: &[&str] = &["nginx", "caddy", "haproxy", "envoy"];

macro_rules! table {
    ($($title:literal => $file:ident::$case:ident;)*) => {
        /// Title, module and name of each case.
        const ROWS: &[(&str, &str, &str)] =
            &[$(($title, stringify!($file), stringify!($case)),)*];

        table!(@ nginx Nginx $($file::$case)*);
        table!(@ caddy Caddy $($file::$case)*);
        table!(@ haproxy Haproxy $($file::$case)*);
        table!(@ envoy Envoy $($file::$case)*);
    };
    (@ $module:ident $program:ident $($file:ident::$case:ident)*) => {
        mod $module {
            use crate::gateway::Program;

            $(#[tokio::test]
            async fn $case() {
                let program = Program::$program;
                if program.is_installed() {
                    crate::$file::$case(program).await;
                }
            })*
        }
    };
}

table! {
    "A visitor without a place does not pass. A page load goes to the waiting page, a script gets 401."
        => nginx::promise_06_without_a_place_no_visitor_passes;
    "Who waits is refused, who is called passes, who has finished is refused."
        => nginx::a_visitor_waits_and_passes_when_the_service_finishes_another;
    "Method, path, query and body (700 KB, chunked too) arrive as the visitor sent them."
        => nginx::get_post_and_options_pass_with_a_place;
    "The service gets the headers of the check, and never a client's own."
        => nginx::the_service_sees_our_headers_and_never_a_client_s;
    "A forged token never passes, and a dead cookie is removed. Other `Authorization` headers and cookies arrive."
        => nginx::promise_6_a_forged_token_never_passes;
    "No attack of the table passes: paths in disguise, hosts, absolute form, doubled and underscore headers."
        => attacks::no_attack_passes;
    "Anteroom down or silent: 503, and no visitor passes."
        => nginx::admission_down_lets_no_visitor_pass;
    "The gateway check and the service port cannot be called from outside."
        => nginx::the_gate_s_own_call_is_not_for_visitors;
    "A visitor joins on the protected host. The cookie is for this host, and another site's page changes nothing."
        => joining::a_browser_joins_on_the_protected_host_and_its_cookie_passes_there;
    "With `join=1` a page load joins with the check."
        => joining::a_navigation_joins_at_the_gate_when_it_may;
    "Joins are counted by the address of the visitor."
        => joining::joins_are_counted_by_the_visitor_s_address_and_not_by_the_gate_s;
    "The waiting page works, also without JavaScript."
        => page::without_javascript_a_visitor_joins_waits_and_goes_on;
    "The files of the waiting page pass and stay cacheable."
        => page::the_files_of_the_page_pass_and_no_other_path_below_them;
    "Each event of the stream comes at once."
        => sse::the_place_comes_as_it_changes;
    "The status of an application to an event passes."
        => nginx::a_visitor_without_a_place_asks_for_an_application;
    "A CORS preflight needs a place, or `pass_preflight`."
        => nginx::a_preflight_needs_a_place_unless_it_may_pass;
    "An answer of the service arrives unchanged, but as `private, no-store`."
        => nginx::what_the_service_answers_stays_its_own_but_for_caches;
    "A roll-out of Anteroom under load loses no request."
        => rollout::no_request_is_lost_in_a_roll_out;
}

/// The page of the documentation.
fn page() -> String {
    let mut page = String::from(
        "# What each gateway does\n\nThis page compares the examples for gateways in `gateways/`. It is for operators who \
         choose one, and for reviewers. It is\ngenerated: each cell is a test that runs the example with the real program \
         in front of a real Anteroom.\n\n| case |",
    );
    for name in GATEWAYS {
        let _ = write!(page, " {name} |");
    }
    page.push_str("\n|---|");
    page.push_str(&"---|".repeat(GATEWAYS.len()));
    for (title, ..) in ROWS {
        let _ = write!(page, "\n| {title} |{}", " yes |".repeat(GATEWAYS.len()));
    }
    page.push('\n');
    let tests = ROWS.iter().map(|(_, file, case)| format!("gate::{file}::{case}"));
    let _ = writeln!(page, "\n<!-- shown by: {} -->", tests.collect::<Vec<_>>().join(", "));
    page
}

#[test]
fn the_table_is_that_of_the_documentation() {
    let file = repository::root().join("docs/reference/gateways.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&file, page()).expect("written");
    }
    let written = std::fs::read_to_string(&file).expect("docs/reference/gateways.md");
    assert_eq!(written, page(), "UPDATE_DOCS=1 make docs writes it");
}
