//! Small HTTP servers on loopback.

use std::convert::Infallible;

use http_body_util::Full;
use hyper::{
    Request, Response,
    body::{Bytes, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

pub type Asked = Request<Incoming>;
pub type Answer = Response<Full<Bytes>>;

/// Serves on a free port until the runtime of the test ends; returns its address.
pub async fn serve<F, A>(handle: F) -> String
where
    F: Fn(Asked) -> A + Clone + Send + Sync + 'static,
    A: Future<Output = Answer> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let handle = handle.clone();
            let service = service_fn(move |asked| {
                let answer = handle(asked);
                async move { Ok::<_, Infallible>(answer.await) }
            });
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
        }
    });
    address
}

/// An answer in JSON.
pub fn json(status: u16, body: &serde_json::Value) -> Answer {
    Response::builder().status(status).body(Full::new(body.to_string().into())).unwrap()
}
