//! `GET …/board`: the line, for all visitors the same, so that any HTTP cache can serve it.

use anteroom_authorize::problem::{Code, Problem};
use anteroom_authorize::queue::line::Board;
use anteroom_authorize::queue::state::QueueState;
use axum::body::{Body, Bytes, HttpBody as _};
use axum::response::{IntoResponse as _, Response};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::StatusCode;
use http::header::{
    CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, ETAG, HeaderMap, HeaderValue,
    IF_NONE_MATCH,
};
use sha2::{Digest as _, Sha256};

use super::problems::BoardProblems;
use super::views::board::BoardView;
use crate::http::encoding::{encoded, gzip};
use crate::http::extract::At;

/// Its path.
pub const BOARD: &str = "/v1/queues/{queue}/board";

const CACHED: &str = "public, max-age=1, stale-while-revalidate=5";

/// Get the board: the line as ticket numbers.
///
/// The same for all visitors, without ids, so an HTTP cache can serve it. From it and its ticket a
/// client computes its position and wait, while the head of the line is below the
/// `board_until_ticket` of its place. It calls `GET …/token` when its last place is older than
/// `heartbeat_ms`, within a random part of 10 s if `check_in` turns true or `epoch` changes, and as
/// `poll_after_ms` says near the head. Supports `If-None-Match`. At most 5 s old; each cache can
/// add 6 s. The reference of the HTTP API has the algorithm, with test vectors.
#[utoipa::path(
    get, path = "/v1/queues/{queue}/board", tag = "visitors",
    responses(
        (status = 200, description = "the board", body = BoardView<'static>, headers(
            ("etag" = String, description = "changes with the board"),
            ("cache-control" = String, description = "any cache may keep it"),
            ("vary" = String, description = "`accept-encoding`"),
        )),
        (status = 304, description = "the board is the one that the client has"),
        BoardProblems,
    ),
)]
pub async fn board(At(queue): At<QueueState>, headers: HeaderMap) -> Result<Response, Problem> {
    if !queue.config.board {
        return Err(Problem::new(Code::NOT_FOUND)
            .detail(format!("queues.{}.board is false.", queue.name())));
    }
    let unavailable = || Problem::new(Code::STORE_UNAVAILABLE).retry_after(queue.retry());
    let line = queue.line.shown().await.ok_or_else(unavailable)?;
    let seen = queue.latest.get().ok_or_else(unavailable)?;
    let board = line.board(|line| made(&BoardView::new(queue.name(), line, &seen)));
    Ok(answer(board, &headers))
}

fn made(view: &BoardView<'_>) -> Board {
    // Strings and numbers only: this cannot fail.
    let plain = Bytes::from(serde_json::to_vec(view).unwrap_or_default());
    let digest = URL_SAFE_NO_PAD.encode(&Sha256::digest(&plain)[..9]);
    // Weak, because both forms of the body have it.
    let etag = HeaderValue::try_from(format!("W/\"{digest}\""));
    let etag = etag.unwrap_or(HeaderValue::from_static("W/\"\""));
    Board { gzip: gzip(&plain), plain, etag }
}

fn answer(board: &Board, headers: &HeaderMap) -> Response {
    let head = [(CACHE_CONTROL, CACHED), (CONTENT_TYPE, "application/json")];
    let mut response = (head, encoded(headers, &board.plain, board.gzip.as_ref())).into_response();
    if is_known(board, headers) {
        // The length is that of the body which is left out (RFC 9110, 8.6).
        let length = response.body().size_hint().exact().map(HeaderValue::from);
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        *response.body_mut() = Body::empty();
        response.headers_mut().remove(CONTENT_ENCODING);
        response.headers_mut().extend(length.map(|length| (CONTENT_LENGTH, length)));
    }
    response.headers_mut().insert(ETAG, board.etag.clone());
    response
}

/// Whether the client has this board (RFC 9110, 13.1.2).
fn is_known(board: &Board, headers: &HeaderMap) -> bool {
    let lines = headers.get_all(IF_NONE_MATCH).iter().filter_map(|line| line.to_str().ok());
    let strong = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
    let own = board.etag.to_str().map(strong).unwrap_or_default();
    lines.flat_map(|line| line.split(',')).map(strong).any(|tag| tag == own || tag == "*")
}
