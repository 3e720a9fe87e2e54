//! HTTP server: metrics, incidents as JSON, pages.
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tiny_http::{Header, Method, Request, Response, Server};

use crate::board::Board;
use crate::error::WatchError;
use crate::page;

/// Copy of the watch's board that the server shows.
pub type Shown = Arc<Mutex<Board>>;

/// Listens at an address, `HOST:PORT`, and answers in a thread of its own: `/metrics`, `/incidents`, `/healthy`, and for
/// people `/` and `/incidents/N`. The address that it listens at, with the port that the system gave for port 0.
///
/// # Errors
/// [`WatchError::Metrics`] for an address that cannot be listened at.
pub fn serve(address: &str, state: &Path, shown: Shown) -> Result<String, WatchError> {
    let wrong = |problem: String| WatchError::Metrics { address: address.to_owned(), problem };
    let server = Server::http(address).map_err(|error| wrong(error.to_string()))?;
    let at = server.server_addr().to_string();
    let state = state.to_owned();
    std::thread::spawn(move || {
        for request in server.incoming_requests() {
            // Who asked may be gone.
            let _ = answer(request, &state, &shown);
        }
    });
    Ok(at)
}

fn answer(request: Request, state: &Path, shown: &Shown) -> std::io::Result<()> {
    if !matches!(request.method(), Method::Get | Method::Head) {
        return request.respond(Response::from_string("only GET\n").with_status_code(405));
    }
    let path = request.url().split(['?', '#']).next().unwrap_or("/").to_owned();
    let board = || shown.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let (kind, body) = match path.as_str() {
        "/metrics" => ("text/plain; version=0.0.4; charset=utf-8", Some(board().metrics())),
        "/incidents" => ("application/json", Some(format!("{:#}\n", board().json()))),
        "/healthy" => ("text/plain; charset=utf-8", Some("ok\n".to_owned())),
        "/" => ("text/html; charset=utf-8", Some(page::index(&board()))),
        other => ("text/html; charset=utf-8", page_of(other).and_then(|id| read(&page::path(state, id)))),
    };
    let Some(body) = body else {
        return request.respond(Response::from_string("there is no such page\n").with_status_code(404));
    };
    let mut response = Response::from_string(body);
    if let Ok(header) = Header::from_bytes("Content-Type", kind) {
        response.add_header(header);
    }
    request.respond(response)
}

fn page_of(path: &str) -> Option<u64> {
    path.strip_prefix("/incidents/")?.parse().ok()
}

fn read(path: &PathBuf) -> Option<String> {
    std::fs::read_to_string(path).ok()
}
