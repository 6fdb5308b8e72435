//! The connections, with their limits, and the routes.
//!
//! Everything runs on one thread that only moves bytes; services run on a few others. A client can be
//! slow, send too much or open too many connections: each of these has a limit.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Path, Request, State};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use super::desk::{PageDesk, session_id};
use super::guard::RefusedRequest;
use super::stream::EventBody;
use super::{api, begin, guard, page, settings};
use crate::error::{Error, ExitKind, Result};
use crate::mailbox::MAX_REPLY;
use crate::protocol::Event;

/// How many connections there are at a time; more wait.
const MAX_CONNECTIONS: usize = 64;
/// How many headers a request may have.
const MAX_HEADERS: usize = 64;
/// How long they may be, in bytes.
const MAX_HEADER_BYTES: usize = 32 * 1024;
/// How long a request may take to arrive: its headers, then its body.
const HEADER_TIME: Duration = Duration::from_secs(10);
const BODY_TIME: Duration = Duration::from_secs(30);
/// The longest body, in bytes; only a reply is longer.
const MAX_BODY: usize = 256 * 1024;
/// The longest reply as JSON, in which every character may be escaped.
#[expect(clippy::cast_possible_truncation, reason = "16 MiB")]
const MAX_REPLY_BODY: usize = 2 * MAX_REPLY as usize;

/// The header that tells which page this server has, so that one that is older notices.
const PAGE_VERSION: HeaderName = HeaderName::from_static("agent-page");

const TOO_LARGE: RefusedRequest = RefusedRequest {
    status: StatusCode::PAYLOAD_TOO_LARGE,
    why: "This is too long.",
};
const TOO_SLOW: RefusedRequest = RefusedRequest {
    status: StatusCode::REQUEST_TIMEOUT,
    why: "This took too long.",
};

/// Answers requests for ever.
pub(super) async fn run(listener: TcpListener, desk: Arc<PageDesk>) {
    let router = routes(desk);
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let place = places.clone().acquire_owned().await;
        let Ok((connection, _)) = listener.accept().await else {
            // Too many open files, most likely: they become fewer.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let service = TowerToHyperService::new(router.clone());
        tokio::spawn(async move {
            let _place = place;
            // An error of a connection concerns only its client.
            let _ = hyper::server::conn::http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEADER_TIME)
                .max_headers(MAX_HEADERS)
                .max_buf_size(MAX_HEADER_BYTES)
                .serve_connection(TokioIo::new(connection), service)
                .await;
        });
    }
}

fn routes(desk: Arc<PageDesk>) -> Router {
    Router::new()
        .route("/api/sign-in", post(sign_in))
        .route("/api/link", post(new_link))
        .route("/api/new", get(offer))
        .route("/api/place", post(place))
        .route("/api/cost", post(cost))
        .route("/api/search", post(search))
        .route("/api/settings", get(show_settings).post(change_setting))
        .route("/api/sessions", get(sessions).post(begin_session))
        .route("/api/sessions/{id}", get(open_session))
        .route("/api/sessions/{id}/events", get(events))
        .route("/api/sessions/{id}/{what}", get(look).post(act))
        .route("/api/sessions/{id}/{what}/{number}", get(look_at))
        .fallback(assets)
        .layer(middleware::from_fn_with_state(desk.clone(), pass))
        .with_state(desk)
}

/// The middleware of every request: the guard, the limits of its body, and the headers of its
/// answer.
async fn pass(State(desk): State<Arc<PageDesk>>, request: Request, next: Next) -> Response {
    let mut response = match admitted(&desk, request).await {
        Ok(request) => next.run(request).await,
        Err(refused) => refusal(refused.status, refused.why),
    };
    guard::protect(response.headers_mut());
    let headers = response.headers_mut();
    headers.insert(PAGE_VERSION, page::version().clone());
    response
}

async fn admitted(
    desk: &PageDesk,
    request: Request,
) -> std::result::Result<Request, RefusedRequest> {
    let (parts, body) = request.into_parts();
    guard::admit(&parts, &desk.own, &desk.keys)?;
    let limit = if parts.uri.path().ends_with("/reply") {
        MAX_REPLY_BODY
    } else {
        MAX_BODY
    };
    if length(&parts.headers).is_some_and(|length| length > limit) {
        return Err(TOO_LARGE);
    }
    let body = tokio::time::timeout(BODY_TIME, to_bytes(body, limit)).await;
    let body = body.map_err(|_| TOO_SLOW)?.map_err(|_| TOO_LARGE)?;
    Ok(Request::from_parts(parts, Body::from(body)))
}

fn length(headers: &HeaderMap) -> Option<usize> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

fn refusal(status: StatusCode, why: &str) -> Response {
    answer(
        status,
        &json!({ "error": { "message": why, "causes": [], "hints": [] } }),
    )
}

fn answer(status: StatusCode, value: &Value) -> Response {
    let headers = [(CONTENT_TYPE, "application/json; charset=utf-8")];
    (status, headers, value.to_string()).into_response()
}

/// A failure of a service, as the page shows it.
fn failure(error: &Error) -> Response {
    let status = match error.kind() {
        ExitKind::Usage => StatusCode::BAD_REQUEST,
        ExitKind::Defect => StatusCode::INTERNAL_SERVER_ERROR,
        _ => StatusCode::CONFLICT,
    };
    let Event::Trouble {
        message,
        causes,
        hints,
    } = Event::from(error)
    else {
        return refusal(status, "something failed");
    };
    answer(
        status,
        &json!({ "error": { "message": message, "causes": causes, "hints": hints } }),
    )
}

/// Runs a service beside the thread that moves bytes.
async fn call<F>(desk: Arc<PageDesk>, service: F) -> Response
where
    F: FnOnce(&Arc<PageDesk>) -> Result<Value> + Send + 'static,
{
    match tokio::task::spawn_blocking(move || service(&desk)).await {
        Ok(Ok(value)) => answer(StatusCode::OK, &value),
        Ok(Err(error)) => failure(&error),
        Err(_) => failure(&Error::new(
            ExitKind::Defect,
            "this is a defect of `agent`; nothing of the session is lost",
        )),
    }
}

fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T> {
    serde_json::from_slice(body)
        .map_err(|cause| Error::usage("this request cannot be read").because(cause))
}

/// The document and its parts.
async fn assets(request: Request) -> Response {
    match page::asset(request.uri().path()) {
        Some((kind, text)) => {
            let mut response = text.into_response();
            let kind = HeaderValue::from_static(kind);
            response.headers_mut().insert(CONTENT_TYPE, kind);
            response
        }
        None => refusal(StatusCode::NOT_FOUND, "There is nothing here."),
    }
}

async fn sign_in(State(desk): State<Arc<PageDesk>>, body: Bytes) -> Response {
    let request: Value = serde_json::from_slice(&body).unwrap_or_default();
    let code = request["code"].as_str().unwrap_or_default();
    match desk.keys.exchange(code) {
        Some(token) => answer(StatusCode::OK, &json!({ "token": token })),
        None => refusal(
            StatusCode::UNAUTHORIZED,
            "This link was used already. Press Enter where `agent serve` runs for a new one.",
        ),
    }
}

/// A link that opens the page once more, for another window.
async fn new_link(State(desk): State<Arc<PageDesk>>) -> Response {
    match desk.link() {
        Ok(link) => answer(StatusCode::OK, &json!({ "link": link })),
        Err(error) => failure(&error),
    }
}

async fn sessions(State(desk): State<Arc<PageDesk>>) -> Response {
    call(desk, |desk| api::sessions(desk)).await
}

async fn offer(State(desk): State<Arc<PageDesk>>) -> Response {
    call(desk, |desk| begin::offer(desk)).await
}

async fn place(State(desk): State<Arc<PageDesk>>, body: Bytes) -> Response {
    call(desk, move |desk| begin::place(desk, &read(&body)?)).await
}

async fn show_settings(State(desk): State<Arc<PageDesk>>) -> Response {
    call(desk, |desk| settings::show(desk)).await
}

async fn change_setting(State(desk): State<Arc<PageDesk>>, body: Bytes) -> Response {
    call(desk, move |desk| settings::change(desk, &read(&body)?)).await
}

async fn search(State(desk): State<Arc<PageDesk>>, body: Bytes) -> Response {
    call(desk, move |desk| api::search(desk, &read(&body)?)).await
}

async fn cost(State(desk): State<Arc<PageDesk>>, body: Bytes) -> Response {
    call(desk, move |desk| api::added_cost(desk, &read(&body)?)).await
}

async fn begin_session(State(desk): State<Arc<PageDesk>>, body: Bytes) -> Response {
    call(desk, move |desk| begin::begin(desk, read(&body)?)).await
}

async fn open_session(State(desk): State<Arc<PageDesk>>, Path(id): Path<String>) -> Response {
    call(desk, move |desk| api::open_session(desk, &id)).await
}

async fn look(
    State(desk): State<Arc<PageDesk>>,
    Path((id, what)): Path<(String, String)>,
) -> Response {
    call(desk, move |desk| match what.as_str() {
        "standing" => api::standing(desk, &id),
        "export" => api::export(desk, &id),
        _ => Err(nothing_here()),
    })
    .await
}

async fn look_at(
    State(desk): State<Arc<PageDesk>>,
    Path((id, what, number)): Path<(String, String, u32)>,
) -> Response {
    call(desk, move |desk| match what.as_str() {
        "rounds" => api::rounds(desk, &id, number),
        "round" => api::round(desk, &id, number),
        "sent" | "came" => api::letter(desk, &id, &what, number),
        "message" => api::message(desk, &id, number as usize),
        "diff" => api::difference(desk, &id, number),
        _ => Err(nothing_here()),
    })
    .await
}

async fn act(
    State(desk): State<Arc<PageDesk>>,
    Path((id, what)): Path<(String, String)>,
    body: Bytes,
) -> Response {
    call(desk, move |desk| match what.as_str() {
        "reply" => api::put_reply(desk, &id, &read(&body)?),
        "decide" => api::decide(desk, &id, &read(&body)?),
        "say" => api::say(desk, &id, &read(&body)?),
        "withdraw" => api::withdraw(desk, &id, &read(&body)?),
        "reverse" => api::reverse(desk, &id, &read(&body)?),
        "resume" => begin::resume(desk, &id, read(&body)?),
        "stop" => begin::stop(desk, &id),
        "end" => begin::end(desk, &id),
        "handoff" => api::hand_over(desk, &id),
        "fork" => api::fork(desk, &id, &read(&body)?),
        "rename" => api::rename(desk, &id, &read(&body)?),
        "files" => api::files(desk, &id, &read(&body)?),
        "remove" => api::remove(desk, &id),
        _ => Err(nothing_here()),
    })
    .await
}

fn nothing_here() -> Error {
    Error::usage("there is nothing here")
}

/// The events of a session as they come, after the one that `Last-Event-ID` names.
async fn events(
    State(desk): State<Arc<PageDesk>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Response {
    let Ok(permit) = desk.streams.clone().try_acquire_owned() else {
        return refusal(
            StatusCode::SERVICE_UNAVAILABLE,
            "Too many pages are open. Close some of them.",
        );
    };
    let last = headers.get("last-event-id");
    let last = last.and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    let followed = tokio::task::spawn_blocking(move || {
        let id = session_id(&id)?;
        let files = desk.files()?;
        files.store.load(&id)?;
        let from = last.map_or(1, |last| last.saturating_add(1));
        EventBody::follow(files.store.folder(&id), from, permit)
            .map_err(|cause| Error::mendable("could not follow the session").because(cause))
    });
    match followed.await {
        Ok(Ok(body)) => {
            let headers = [(CONTENT_TYPE, "text/event-stream; charset=utf-8")];
            (headers, Body::new(body)).into_response()
        }
        Ok(Err(error)) => failure(&error),
        Err(_) => failure(&Error::new(ExitKind::Defect, "this is a defect of `agent`")),
    }
}
