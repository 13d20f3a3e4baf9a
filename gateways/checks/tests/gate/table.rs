//! What each gateway must do, and which one does it. One row is a case, a test for each gateway;
//! `docs/reference/gateways.md` is made of the same rows.

use std::fmt::Write as _;

use anteroom_testkit::repository;

macro_rules! table {
    (
        [$($module:ident $program:ident),*]
        $($title:literal => $file:ident::$case:ident
            $(, no in $gateway:ident: $guide:literal)*;)*
    ) => {
        /// The names of the gateways.
        const GATEWAYS: &[&str] = &[$(stringify!($module)),*];
        /// Title, module and name of each case, and which gateways do not meet it: the part of the
        /// guide that says why.
        const ROWS: &[(&str, &str, &str, &[(&str, &str)])] = &[$((
            $title,
            stringify!($file),
            stringify!($case),
            &[$((stringify!($gateway), $guide)),*],
        ),)*];

        table!(@ [$($module $program),*] [$($file::$case),*]);
    };
    // Each case for each gateway.
    (@ [$($module:ident $program:ident),*] $cases:tt) => {
        $(table!(@ $module $program $cases);)*
    };
    (@ $module:ident $program:ident [$($file:ident::$case:ident),*]) => {
        mod $module {
            use crate::program::Program;

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
    [nginx Nginx, caddy Caddy, haproxy Haproxy, envoy Envoy, envoy_grpc EnvoyGrpc, traefik Traefik]

    "A visitor without a place does not pass. A page load is redirected to the waiting page. A script gets 401."
        => nginx::promise_06_without_a_place_no_visitor_passes;
    "A waiting visitor is refused. A called visitor passes. After the visit it is refused again."
        => nginx::a_visitor_waits_and_passes_when_the_service_finishes_another;
    "The service gets method, path, query and body as the visitor sent them (700 KB, and chunked)."
        => nginx::get_post_and_options_pass_with_a_place;
    "The service gets the headers of the check, and never a client's own."
        => nginx::the_service_sees_our_headers_and_never_a_client_s;
    "A forged token never passes, and an invalid cookie is removed. The service still gets its own `Authorization` header."
        => nginx::promise_6_a_forged_token_never_passes;
    "No header in which a client names another host, path, method or address reaches the check or the service."
        => arrives::no_header_about_the_request_is_a_client_s;
    "A visitor's token never reaches the service: no header and no cookie of Anteroom. Its own cookies do."
        => arrives::promise_6_a_visitor_s_token_never_reaches_the_service;
    "A visitor passes with its place in any of several `Cookie` lines."
        => arrives::promise_4_a_place_is_found_in_each_cookie_line;
    "White space before a token does not hide it, over HTTP/1 and HTTP/2."
        => arrives::promise_6_white_space_before_a_token_hides_it_in_neither_version_of_http;
    "No attack passes: ambiguous paths, false hosts, duplicate headers, headers with underscores."
        => attacks::no_attack_passes;
    "No attack over HTTP/2 passes. There the method, the host and the path are headers."
        => attacks::no_attack_over_http2_passes;
    "Over HTTP/2 with TLS (ALPN `h2`), as browsers connect, a visitor passes after its turn and not before."
        => tls::promise_06_no_visitor_passes_before_its_turn;
    "Over HTTP/2 with TLS, the service gets the request as the visitor sent it, the scheme `https`, the headers of the check, and never a client's own."
        => tls::the_service_gets_the_request_and_our_headers;
    "Over HTTP/2 with TLS, a visitor passes with its place in any of several `Cookie` lines, as browsers send them. Its token never reaches the service."
        => tls::promise_6_a_token_in_any_cookie_passes_and_stays_here;
    "No attack over HTTP/2 with TLS passes."
        => tls::no_attack_over_http2_with_tls_passes;
    "If Anteroom is down or does not answer, the visitor gets 503, and no visitor passes."
        => nginx::admission_down_lets_no_visitor_pass;
    "The gateway check and the service port cannot be called from outside."
        => nginx::the_gate_s_own_call_is_not_for_visitors;
    "A visitor joins on the protected host. The cookie is for this host only. A page of another site cannot change the place."
        => joining::a_browser_joins_on_the_protected_host_and_its_cookie_passes_there;
    "The header `x-anteroom-position` reaches Anteroom: a position never gets worse for a client."
        => joining::the_last_position_of_a_client_reaches_anteroom;
    "With `join=1`, a page load joins with the check."
        => joining::a_navigation_joins_at_the_gate_when_it_may;
    "Joins are counted for each address of a visitor, not for the gateway."
        => joining::joins_are_counted_by_the_visitor_s_address_and_not_by_the_gate_s;
    "The waiting page works, also without JavaScript."
        => page::without_javascript_a_visitor_joins_waits_and_goes_on;
    "The files of the waiting page pass and stay cacheable."
        => page::the_files_of_the_page_pass_and_no_other_path_below_them;
    "Each event of the stream comes at once."
        => sse::the_place_comes_as_it_changes;
    "Each visitor can read the board, without a place and without a check."
        => board::each_visitor_can_read_the_board;
    "The gateway has a cache for the board: 2 000 reads of 8 clients cost Anteroom a few requests a second."
        => board::the_board_is_cached,
            no in caddy: "caddy.md#cache-the-board",
            no in envoy: "envoy.md#cache-the-board",
            no in envoy_grpc: "envoy.md#cache-the-board",
            no in traefik: "traefik.md#cache-the-board";
    "The board of each queue has nothing of the visitor whose request filled the cache: no token, cookie, header or query."
        => board::the_cache_has_nothing_of_a_visitor;
    "A refusal to read the board (404, 503) is not cached."
        => board::refusals_of_the_board_are_not_cached;
    "A visitor can read the status of an application to an event."
        => nginx::a_visitor_without_a_place_asks_for_an_application;
    "A CORS preflight needs a place, or `pass_preflight`."
        => nginx::a_preflight_needs_a_place_unless_it_may_pass;
    "The visitor gets the service's answer unchanged, except for `Cache-Control: private, no-store`."
        => nginx::what_the_service_answers_stays_its_own_but_for_caches;
    "A WebSocket needs a place at its handshake. Then it carries bytes in both directions."
        => websocket::a_websocket_needs_a_place;
    "Over TLS a WebSocket needs a place too: over HTTP/2 if the gateway offers that (RFC 8441), and over HTTP/1.1 otherwise."
        => websocket::a_websocket_over_tls_needs_a_place;
    "A request with 100 headers of its own passes, and the service gets all of them."
        => large::a_request_with_100_headers_passes;
    "An upload of 10 MB passes unchanged. Without a place it does not reach the service."
        => large::an_upload_of_10_mb_passes_whole;
    "If Redis is down, visitors pass as `on_store_error` says: `hold`, `closed`, `open`."
        => outage::redis_down_admits_as_on_store_error_says;
    "A cache that obeys `Cache-Control`, in front of the gateway or behind it, keeps the open paths and the board."
        => caching::the_caches_keep_what_they_may;
    "Such a cache gives no visitor the cookie or the place of another."
        => caching::no_visitor_gets_another_s_cookie_or_place;
    "Such a cache lets no visitor pass with the pass of another."
        => caching::no_visitor_passes_by_another_s_pass;
    "With `join=1`, such a cache gives no visitor the place of another."
        => caching::a_join_at_the_gate_is_for_one_visitor;
    "The calls that its guide makes with `curl` print what the guide says."
        => guide::the_calls_of_the_guide_print_what_it_says;
    "A roll-out of Anteroom under load loses no request."
        => rollout::no_request_is_lost_in_a_roll_out;
    "The gateway is restarted under load. No visitor passes without a place, and each place stays."
        => restart::places_survive_a_restart_of_the_gateway;
    "The gateway reads changed files under load, without a lost request."
        => restart::no_request_is_lost_when_the_gateway_reads_changed_files,
            no in caddy: "caddy.md#known-pitfalls";
}

/// The name of a gateway for its reader.
fn heading(name: &'static str) -> &'static str {
    if name == "envoy_grpc" { "envoy (gRPC)" } else { name }
}

/// The page of the documentation.
fn page() -> String {
    let mut page = String::from(
        "# What each gateway does\n\nThis page compares the examples for gateways in `gateways/`. It is for operators who \
         choose one, and for reviewers. It is\ngenerated: each cell is a test that runs the example with the real program \
         in front of a real Anteroom. A \"no\" links\nto the reason.\n\n| case |",
    );
    for name in GATEWAYS {
        let _ = write!(page, " {} |", heading(name));
    }
    page.push_str("\n|---|");
    page.push_str(&"---|".repeat(GATEWAYS.len()));
    for (title, _, _, exceptions) in ROWS {
        let _ = write!(page, "\n| {title} |");
        for gateway in GATEWAYS {
            let exception = exceptions.iter().find(|(name, _)| name == gateway);
            let _ = match exception {
                Some((_, guide)) => write!(page, " [no](../how-to/integrate/{guide}) |"),
                None => write!(page, " yes |"),
            };
        }
    }
    page.push('\n');
    let tests = ROWS.iter().map(|(_, file, case, _)| format!("gate::{file}::{case}"));
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
